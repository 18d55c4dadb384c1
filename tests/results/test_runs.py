"""Provenance: stamps by seed, counts from the lines, and what is not today's."""

import json

import pytest

from tilted import provenance
from tilted.results import runs, spans

EP = ("as-released", "wine12", "ep")


@pytest.fixture
def stamped(line, failed, frame):
    """Seeds 0-2 of one run, seed 3 of a later one, seed 4 of none."""
    found = runs.Runs()
    for seed in range(4):
        stamp = {
            "source": "ab",
            "choices": "cd",
            "environment": {"cpu": "fast"},
            "date": f"2026-01-0{1 + seed // 3}",
        }
        found.add((*EP, seed), stamp)
    lines = [line(seed=s, seconds=0.5) for s in (0, 1, 3, 4)] + [failed(seed=2, seconds=0.25)]
    return found, frame(lines)


def test_entries_count_what_the_lines_say(stamped):
    entries = list(runs.entries(*stamped))
    assert [(e["seeds"], e["date"]) for e in entries] == [
        ("0-2", "2026-01-01"),
        ("3", "2026-01-02"),
        ("4", ""),
    ]
    first = entries[0]
    assert (first["n_attempted"], first["n_converged"], first["core_seconds"]) == (3, 2, 1.25)


def test_written_and_read_back(stamped, tmp_path):
    found, lines = stamped
    path = runs.write(found, lines, tmp_path)
    back = runs.read(tmp_path)
    assert {key: back.seeds[key] for key in found.seeds} == found.seeds
    assert back.seeds[(*EP, 4)] == runs.UNKNOWN
    assert back.environments == found.environments
    before = path.read_bytes()
    assert runs.write(back, lines, tmp_path).read_bytes() == before
    assert json.loads(before)["runs"][0]["dataset"] == "wine12"


def test_no_file_is_no_provenance_but_a_damaged_one_is_named(tmp_path):
    assert runs.read(tmp_path) == runs.Runs()
    for bad in ("{", '{"runs": []}', '{"environments": {}, "runs": [{"seeds": "0-x"}]}'):
        (tmp_path / "provenance.json").write_text(bad)
        with pytest.raises(runs.RecordError, match=r"provenance\.json: damaged"):
            runs.read(tmp_path)


def test_todays_stamp_is_the_one_fits_get():
    source, choices = runs.todays(*EP)
    stamp = provenance.stamp(source, {"a": 1})
    assert stamp["source"] == source and len(choices) == len(stamp["choices"]) == 16
    assert runs.todays("as-released", "wine12", "ep-tune") == (source, choices)  # one job writes both
    assert runs.todays("as-released", "coal", "ep")[1] != choices
    assert runs.todays("as-released", "wine12", "laplace") is None


def test_content_hash_depends_on_the_content_alone():
    assert provenance.content_hash({"a": 1, "b": 2}) == provenance.content_hash({"b": 2, "a": 1})
    assert provenance.content_hash({"a": 1}) != provenance.content_hash({"a": 2})


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([3], "3"), ([2, 0, 1, 5], "0-2,5"), ([0, 1], "0-1"), ([10, 12, 11], "10-12")],
)
def test_spans_name_every_number(numbers, text):
    assert spans.spans(numbers) == text
    assert spans.numbers(text) == sorted(numbers)
