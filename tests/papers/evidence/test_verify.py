"""Making lines again: the sample, what is written down, what may be believed of it."""

import shutil
from dataclasses import replace
from functools import lru_cache

import pandas as pd
import pytest

from papers.evidence import records, runs, store
from papers.evidence.files import MissingData
from papers.evidence.store import RecordError
from papers.evidence.verification import standing, verified, verify
from papers.evidence.verification.outcome import (
    BY_SEARCH,
    DIFFERS,
    FIXED,
    PASSED,
    REPORTED,
    SCRATCH,
    Outcome,
    outcome_of,
)


def good(lines, context):
    """Every line as it was."""
    for line in lines.to_dict("records"):
        outcomes = [Outcome(FIXED, PASSED, 1e-9)]
        yield line, [*outcomes, Outcome(SCRATCH, PASSED, 1e-8, 0.5)] if line["scratch"] else outcomes


def half(lines, context):
    """Odd seeds differ."""
    for line in lines.to_dict("records"):
        bad = line["seed"] % 2
        yield (
            line,
            [Outcome(FIXED, DIFFERS if bad else PASSED, 1.0 if bad else 0.0, note="odd" if bad else "")],
        )


def chaotic(lines, context):
    for line in lines.to_dict("records"):
        yield line, [Outcome(SCRATCH, REPORTED, 1.0, note="another end")]


def absent(lines, context):
    for line in lines.to_dict("records"):
        yield line, "no such data"


def torn(lines, context):
    """The data of half of the sets are not to be had, of one from its third line on."""
    yield from list(good(lines[:2], context))
    if context.every["dataset"].iloc[0] == "wine":
        raise MissingData("no such data")
    yield from good(lines[2:], context)


EVERY = verify.Selection({})


@pytest.fixture(scope="module")
def recorded(study, make, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    fits = [
        make(dataset=name, method=m, seed=k)
        for name in ("wine", "iono")
        for m in ("ep", "vb")
        for k in range(40)
    ]
    fits += [make(method="qp", seed=k, outcome="failed", score=None) for k in range(3)]
    records.fold_in(study, [store.write_records(folder / "fits.jsonl.gz", fits)], folder)
    return folder


@pytest.fixture
def folder(recorded, tmp_path):
    """A copy of the records, to verify or change."""
    return shutil.copytree(recorded, tmp_path / "recorded")


def of(study, folder, again, selection=EVERY, **more):
    study = replace(study, again=again)
    return study, verify.verify([study], folder, selection, **more)


def test_a_sample_of_every_group_is_made_again_some_from_scratch_too(study, folder):
    study, found = of(study, folder, good)
    assert len(found.checks) == 4 * (30 + 2) + 3 + 2 and not found.missing
    groups = standing.groups(study, folder)
    assert [(g.name, g.fits, g.good, g.scratch) for g in groups] == [
        ("wine ep", 40, 30, 2),
        ("wine qp", 3, 3, 2),
        ("wine vb", 40, 30, 2),
        ("iono ep", 40, 30, 2),
        ("iono vb", 40, 30, 2),
    ]
    assert standing.loud(groups) == []
    text = " ".join(standing.note(groups))
    assert "163 lines made 2026-11-22; 123 made again" in text
    assert "of which 123 gave the record (10 from scratch too)." in text


def test_the_draw_is_seeded_and_methods_share_it(study, folder):
    study = replace(study, again=good)
    frame = records.load(study, folder)

    def drawn(**more):
        lines = verify.sample(study, frame, verify.Selection({}, **more), set())
        return {m: set(part["seed"]) for m, part in lines[lines["dataset"] == "wine"].groupby("method")}

    assert drawn() == drawn() and drawn() != drawn(seed=1)
    assert drawn()["ep"] == drawn()["vb"] and len(drawn()["ep"]) == 30
    assert len(drawn(fits=None)["ep"]) == 40 and len(drawn(fits=5)["ep"]) == 5


def test_a_selection_leaves_the_rest(study, folder):
    selection = verify.Selection({"dataset": ["wine"], "method": ["ep"]}, fits=4)
    study, found = of(study, folder, good, selection)
    assert {check.group for check in found.checks} == {"wine ep"}
    with pytest.raises(ValueError, match="no line to make again"):
        of(study, folder, good, verify.Selection({"dataset": ["nonesuch"]}))
    with pytest.raises(ValueError, match="no line to make again"):
        of(study, folder, good, verify.Selection({"colour": ["red"]}))


def test_what_differs_is_loud_and_named(study, folder):
    study, found = of(study, folder, half, verify.Selection({"method": ["ep"]}))
    loud = standing.loud(standing.groups(study, folder))
    assert loud[0].startswith("NOT REPRODUCED: toy/fits.csv.gz: wine ep (") and "iono ep (" in loud[0]
    assert loud[1] == "NEVER SAMPLED: toy/fits.csv.gz: wine qp; wine vb; iono vb."
    assert any(
        line.startswith("- DIFFERS: toy/fits.csv.gz wine ep seed=") for line in verify.summary_lines(found)
    )


def test_too_few_are_loud(study, folder):
    study, _ = of(study, folder, good, verify.Selection({}, fits=10))
    (line,) = standing.loud(standing.groups(study, folder))
    assert line.startswith("SAMPLED TOO LITTLE") and "wine ep (10 of 30)" in line and "qp" not in line


def test_chaotic_lines_are_said_to_be(study, folder):
    study, _ = of(study, folder, chaotic)
    groups = standing.groups(study, folder)
    assert standing.loud(groups) == [] and "123 chaotic ones ended elsewhere" in " ".join(
        standing.note(groups)
    )


def test_what_cannot_be_made_again_says_why(study, folder):
    study, found = of(study, folder, absent)
    assert not found.checks and found.missing[0] == "toy/fits.csv.gz wine ep: no such data"
    assert not (folder / verified.FILE).exists()


def test_lines_whose_data_are_missing_are_said_and_the_others_made_again(study, folder):
    selection = verify.Selection({"method": ["ep"]}, fits=12)
    _, found = of(study, folder, torn, selection)
    assert found.missing == ["toy/fits.csv.gz wine ep: no such data"] * (10 - 2)
    assert {(c.group, c.fit) for c in found.checks if c.group == "iono ep"}
    assert len(found.checks) == len(verified.read(folder))


def test_lines_are_appended_and_the_last_counts(study, folder):
    of(study, folder, half, verify.Selection({"method": ["ep"]}))
    before = (folder / verified.FILE).read_bytes()
    study, _ = of(study, folder, good, verify.Selection({"method": ["ep"]}))
    assert (folder / verified.FILE).read_bytes().startswith(before)
    assert not any(
        line.startswith("NOT REPRODUCED") for line in standing.loud(standing.groups(study, folder))
    )


def test_only_new_ones_if_asked(study, folder, monkeypatch):
    monkeypatch.setattr(verify.runs, "commit", lambda: "one")
    of(study, folder, good)
    study, found = of(study, folder, good, verify.Selection({}, new=True))
    assert found.checks == []
    monkeypatch.setattr(verify.runs, "commit", lambda: "another")
    assert of(study, folder, good, verify.Selection({}, new=True))[1].checks


def test_a_commit_made_meanwhile_is_not_that_of_the_code_that_ran(study, folder, monkeypatch):
    head, make = ["one"], verify._make

    def slow(*piece):
        head[0] = "another"
        return make(*piece)

    monkeypatch.setattr(verify.runs, "commit", lru_cache(maxsize=1)(lambda: head[0]))
    monkeypatch.setattr(verify, "_make", slow)
    _, found = of(study, folder, good)
    assert head == ["another"] and {check.commit for check in found.checks} == {"one"}


def test_workers_name_the_commit_that_the_run_began_with(study, folder, monkeypatch):
    """Each asks git by itself, when its first fit has ended."""
    monkeypatch.setattr(verify.runs, "commit", lambda: "one")
    _, found = of(study, folder, good, jobs=2)
    assert {check.commit for check in found.checks} == {"one"}


@pytest.mark.parametrize("commit", ["one+", ""])
def test_what_other_edits_verified_is_verified_again(study, folder, monkeypatch, commit):
    """A commit with edits, or none, may stand for any code: `--new` left all out and said nothing."""
    monkeypatch.setattr(verify.runs, "commit", lambda: commit)
    of(study, folder, good)
    assert of(study, folder, half, verify.Selection({}, new=True))[1].checks


def test_only_what_groups_lack_if_asked(study, folder, monkeypatch):
    monkeypatch.setattr(verify.runs, "commit", lambda: "one")
    first = of(study, folder, good, verify.Selection({}, fits=10))[1].checks
    monkeypatch.setattr(verify.runs, "commit", lambda: "another")
    rest = of(study, folder, good, verify.Selection({}, lacking=True))[1].checks
    assert rest and not {(c.group, c.fit) for c in rest} & {(c.group, c.fit) for c in first}
    assert all(group.sampled == group.needed for group in standing.groups(study, folder))
    other_draw = verify.Selection({}, seed=1, lacking=True)
    assert of(study, folder, good, other_draw)[1].checks == []


def test_what_differed_alone_if_asked(study, folder):
    """However many were drawn; by a search where the search differed; what passes then, no more."""

    def searched(lines, context):
        for line in lines.to_dict("records"):
            way = SCRATCH if line["scratch"] else FIXED
            yield line, [Outcome(way, DIFFERS if line["seed"] % 4 == 1 else PASSED, 0.0)]

    asked = verify.Selection({}, fits=1, differing=True)
    assert of(study, folder, good, asked)[1].checks == []
    first = of(study, folder, searched, verify.Selection({}, fits=20, scratches=10))[1].checks
    differed = {(c.group, c.fit, c.how) for c in first if c.passed == DIFFERS}
    assert {how for _, _, how in differed} == {FIXED, SCRATCH}
    again = of(study, folder, searched, asked)[1].checks
    assert {(c.group, c.fit, c.how) for c in again} == differed and len(again) == len(differed)
    of(study, folder, good, replace(asked, wanted={"dataset": ["wine"]}))
    rest = of(study, folder, searched, asked)[1].checks
    assert {(c.group, c.fit, c.how) for c in rest} == {name for name in differed if "wine" not in name[0]}
    assert 0 < len(rest) < len(differed)


def test_a_line_made_anew_is_not_verified_any_more(study, folder, files, make):
    study, _ = of(study, folder, good)
    again = [make(seed=k, score=0.4, date="2026-11-23") for k in range(40)]
    records.fold_in(study, files(again), folder)
    assert standing.loud(standing.groups(study, folder)) == ["NEVER SAMPLED: toy/fits.csv.gz: wine ep."]


def test_many_groups_are_counted_unless_they_differ(study, folder):
    every = standing.groups(study, folder)
    many = [every[0]._replace(name=f"set {k}", good=0, differing=0, chaotic=0, stale=0) for k in range(13)]
    assert standing.loud(many) == [
        "NEVER SAMPLED: toy/fits.csv.gz: 13 groups, set 0; set 1; set 2 and 10 more."
    ]
    (told,) = standing.loud([group._replace(good=40, differing=1) for group in many])
    assert told.startswith("NOT REPRODUCED") and all(group.name in told for group in many)


def test_another_protocol_is_loud(study, folder):
    study = replace(study, protocol=lambda line: "p" if line["dataset"] == "wine" else "q")
    loud = standing.loud(standing.groups(study, folder))
    assert "ANOTHER PROTOCOL THAN TODAY'S: toy/fits.csv.gz: iono ep (40 fits); iono vb (40 fits)." in loud


def test_by_search_counts_as_reproduced(study, folder):
    def by_search(lines, context):
        for line in lines.to_dict("records"):
            yield line, [Outcome(FIXED, BY_SEARCH, 1.0, note="ends elsewhere"), Outcome(SCRATCH, PASSED, 0.0)]

    study, _ = of(study, folder, by_search)
    groups = standing.groups(study, folder)
    assert groups[0].good == 30 and groups[0].scratch == 30 and not standing.loud(groups)


def test_processes_give_the_same(study, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "two")
    _, one = of(study, folder, half)
    _, two = of(study, tmp_path / "two", half, jobs=2)
    assert sorted(map(str, one.checks)) == sorted(map(str, two.checks))


def test_lines_beside_a_drawn_one_are_of_its_data_set(study, folder):
    def lonely(lines, context):
        assert set(context.every["dataset"]) == set(lines["dataset"]) and len(context.every) > len(lines)
        assert len(lines) <= verify.CHUNK and context.mirror == "here"
        return good(lines, context)

    assert of(study, folder, lonely, mirror="here")[1].checks


def test_groups_whose_units_are_made_together_are_made_again_together(study, folder):
    calls = []

    def once_a_unit(lines, context):
        for _, of_unit in lines.groupby(["dataset", "seed"], sort=False):
            calls.append(tuple(of_unit.iloc[0][["dataset", "seed"]]))
        return good(lines, context)

    both = replace(study, unit=("dataset", "seed"))
    _, found = of(both, folder, once_a_unit, verify.Selection({"dataset": ["iono"]}))
    assert {check.group for check in found.checks} == {"iono ep", "iono vb"}
    assert len(calls) == len(set(calls)) == verify.FITS


def test_a_damaged_file_is_named(study, folder):
    of(study, folder, good)
    path = folder / verified.FILE
    path.write_bytes(path.read_bytes().replace(b"yes", b"no", 1))
    with pytest.raises(RecordError, match="verified.csv: differs"):
        verified.read(folder)


@pytest.mark.parametrize("name, value", [("how", "guessed"), ("passed", "perhaps"), ("gain", "much")])
def test_a_check_that_cannot_be_is_named(study, folder, name, value):
    of(study, folder, good)
    table = pd.read_csv(folder / verified.FILE, dtype=str).assign(**{name: value})
    records.save(folder, {}, [], {verified.FILE: table.to_csv(index=False).encode()})
    with pytest.raises(RecordError, match=rf"verified.csv: .*'{value}'"):
        verified.read(folder)


def test_a_file_that_is_gone_is_not_begun_anew(study, folder):
    """Its check sum was replaced, and with it what said that it was lost."""
    of(study, folder, good)
    (folder / verified.FILE).unlink()
    sums = (folder / records.SUMS).read_bytes()
    for use in (lambda: verified.read(folder), lambda: of(study, folder, good)):
        with pytest.raises(RecordError, match="verified.csv: missing, though SHA256SUMS has it"):
            use()
    assert (folder / records.SUMS).read_bytes() == sums


def test_differences_are_held_against_the_tolerance():
    assert outcome_of(FIXED, {"a": 1e-7, "b": -1e-7}, 1e-6)[:3] == (FIXED, PASSED, 1e-7)
    worse = outcome_of(FIXED, {"a": 1e-7, "b": float("nan")}, 1e-6)
    assert worse.passed == DIFFERS and worse.note == "b beyond 1e-06"


def test_a_stamp_says_where_and_when():
    stamp = runs.stamp({"rule": "ep"})
    assert set(stamp) == set(runs.STAMP) and "numpy" in stamp["environment"] and len(stamp["protocol"]) == 16
    assert stamp["protocol"] != runs.stamp({"rule": "qp"})["protocol"] and runs.stamp()["protocol"] == ""


def test_a_difference_that_is_no_number_is_beyond_every_tolerance():
    found = outcome_of(SCRATCH, {"a": 0.0, "b": float("nan")}, 1e-6)
    assert found.passed == DIFFERS and found.note == "b beyond 1e-06"
    assert outcome_of(SCRATCH, {"a": 1e-7}, 1e-6).passed == PASSED
