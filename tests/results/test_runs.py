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


def entry(**changes):
    source, choices = runs.todays(*EP)
    names = dict(zip(("protocol", "dataset", "method"), EP, strict=True))
    today = {**names, "source": source, "choices": choices, "environment": "e", "date": "2026-01-01"}
    return {**today, "seeds": "0", "n_attempted": 10, "n_converged": 9, "core_seconds": 3600.0} | changes


def test_todays_stamp_is_the_one_fits_get():
    source, choices = runs.todays(*EP)
    stamp = provenance.stamp(source, {"a": 1})
    assert stamp["source"] == source and len(choices) == len(stamp["choices"]) == 16
    assert runs.todays("as-released", "wine12", "ep-tune") == (source, choices)  # one job writes both
    assert runs.todays("as-released", "coal", "ep")[1] != choices
    assert runs.todays("as-released", "wine12", "laplace") is None


def test_what_is_not_todays_is_listed_with_its_reason():
    assert runs.outdated([entry()]) == []
    listed = [entry(source="old"), entry(source="old", dataset="wine13", choices=runs.todays(*EP)[1])]
    (text,) = runs.outdated(listed)
    assert text == "as-released ep, 20 fits of Wine1, Wine2: source old of 2026-01-01, today's differs"
    (text,) = runs.outdated([entry(choices="old")])
    assert text.endswith("protocol old of 2026-01-01, today's differs")
    assert "unknown source" in runs.outdated([entry(source="")])[0]
    assert "not a method" in runs.outdated([entry(method="laplace")])[0]


def test_lines_of_the_table_are_loud_about_it():
    machines = {"e": {"numpy": "2", "cpu": "fast"}}
    good = "\n".join(runs.summary_lines([entry(), entry(date="2026-01-03")], machines))
    assert "| as-released | ep     |   20 |        18 |      2.000 | 2026-01-01 to 2026-01-03 |" in good
    assert "- numpy 2, cpu fast" in good and "by today's source and protocols" in good
    bad = "\n".join(runs.summary_lines([entry(source="old")], machines))
    assert "NOT BY TODAY'S SOURCE" in bad and "source old" in bad


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
