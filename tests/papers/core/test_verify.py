"""Repeating a sample of the records: the draw, what is counted, and what may be believed of them."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from papers.core import provenance, records, runs, verified, verify
from papers.core.files import MissingData
from papers.core.store import RecordError
from papers.core.study import Float
from papers.core.verified import Verified

ROOT = Path(__file__).parents[3]


@pytest.fixture
def fits(study, make, tmp_path, monkeypatch):
    """A study of 40 fits by each of two methods on two data sets, its folder, and a study that comes with it.

    ``changes`` maps what repeating a row is to change: a function of the row.
    """
    changes = {"of": lambda row: {}}
    along = replace(study, file="toy/along.csv.gz")

    def again(rows, source):
        for row in rows.to_dict("records"):
            change = changes["of"](row)
            if change is None:
                raise MissingData("no such data")
            yield of, {**row, **change}
            yield along, {**row, **change}

    columns = {**study.columns, "score": Float(6, tolerance=1e-3)}
    columns |= {name: replace(study.columns[name], compared=False) for name in ("outcome", "message")}
    of = replace(
        study,
        columns=columns,
        repeat=again,
        together=("dataset", "seed"),
        kind=lambda row: "chaotic" if row["message"] else "exact",
    )
    rows = [
        make(name, method, seed) for name in ("wine", "iono") for method in ("ep", "vb") for seed in range(40)
    ]
    rows += [make("wine", "qp", seed, score=None, outcome="failed") for seed in range(3)]
    monkeypatch.setattr(records, "studies", lambda: [of, along])
    records.put(tmp_path, {of: rows, along: rows[:5]})
    return of, tmp_path, changes


def run(fits, fits_per_group=None, seed=0, lacking=False, **wanted):
    study, folder, _ = fits
    return verify.verify([study], folder, verify.Selection(wanted, fits_per_group, seed, lacking))


def test_a_sample_of_every_group_is_repeated_and_what_comes_with_it_is_compared(fits):
    study, folder, _ = fits
    found = run(fits, 30)
    counts = {(row.study, row.group): row.rows for row in found.groups}
    assert counts == {
        **{(study.file, f"{name} {m}"): 30 for name in ("wine", "iono") for m in ("ep", "vb")},
        (study.file, "wine qp"): 3,
        ("toy/along.csv.gz", "wine ep"): counts["toy/along.csv.gz", "wine ep"],
    }
    assert all((row.same, row.other, row.different) == (row.rows, 0, 0) for row in found.groups)
    assert found.differences == found.missing == [] and verified.read(folder) == found.groups
    groups = provenance.groups(study, folder)
    assert [(group.name, group.rows, group.repeated) for group in groups][:2] == [
        ("wine ep", 40, 30),
        ("wine qp", 3, 3),
    ]
    assert provenance.warnings(groups) == []
    text = " ".join(provenance.note(groups))
    assert "163 rows made 20" in text and "; 123 repeated 20" in text
    assert text.endswith("of which 123 gave the record.")


def test_same_other_and_different_rows_are_counted(fits, study, make):
    """Odd seeds differ; of the seeds from 20 on, which are chaotic, they count as other."""
    of, folder, changes = fits
    rows = [make("wine", "ep", seed, message="x" * (seed >= 20)) for seed in range(40)]
    records.put(folder, {of: rows})
    changes["of"] = lambda row: {
        "score": row["score"] + 0.0625 * (row["seed"] % 2) * (-1) ** (row["seed"] // 2)
    }
    found = run(fits, dataset=["wine"], method=["ep"])
    (row,) = [row for row in found.groups if row.study == of.file]
    assert (row.rows, row.same, row.other, row.different) == (40, 20, 10, 10)
    assert row.difference == pytest.approx(0.0625)
    stamp = runs.stamp()
    assert (row.date, row.commit, row.environment) == tuple(
        stamp[name] for name in ("date", "commit", "environment")
    )
    named = [line for line in found.differences if line.startswith(of.file)]
    assert len(named) == 10 and named[0] == f"{of.file}: dataset wine, method ep, seed 1: score by 0.062"
    (along,) = [row for row in found.groups if row.study != of.file]
    assert (along.study, along.rows, along.same, along.different) == ("toy/along.csv.gz", 5, 3, 2)
    text = "\n".join(verify.summary_lines(found))
    assert f"DIFFERS: {of.file}: dataset wine, method ep, seed 1" in text and "6.2e-02" in text
    assert provenance.warnings(provenance.groups(of, folder))[0] == (
        f"NOT REPRODUCED: {of.file}: wine ep (10 of 40 differ)."
    )


def test_a_mean_of_chaotic_rows_that_moves_is_named(fits, make):
    of, folder, changes = fits
    records.put(folder, {of: [make("wine", "ep", seed, message="x") for seed in range(40)]})
    changes["of"] = lambda row: {"score": row["score"] + 0.0625}
    found = run(fits, dataset=["wine"], method=["ep"])
    assert found.differences[0] == f"{of.file}: wine ep: mean score by 0.062"


def test_the_draw_is_seeded_and_methods_share_it(fits):
    study, folder, _ = fits
    frame = records.load(study, folder)

    def drawn(fits_per_group=30, seed=0):
        rows = verify.sample(study, frame, verify.Selection({}, fits_per_group, seed))
        return {method: set(of["seed"]) for method, of in rows[rows["dataset"] == "wine"].groupby("method")}

    assert drawn() == drawn() and drawn() != drawn(seed=1)
    assert drawn()["ep"] == drawn()["vb"] and len(drawn()["ep"]) == 30
    assert len(drawn(None)["ep"]) == 40 and len(drawn(5)["ep"]) == 5


def test_a_selection_leaves_the_rest(fits):
    found = run(fits, 4, dataset=["wine"], method=["ep"])
    assert {row.group for row in found.groups} == {"wine ep"}
    for wanted in ({"dataset": ["nonesuch"]}, {"colour": ["red"]}):
        with pytest.raises(ValueError, match="no row to repeat"):
            run(fits, **wanted)


def test_missing_data_are_said_and_the_others_repeated(fits):
    fits[2]["of"] = lambda row: None if row["dataset"] == "iono" else {}
    found = run(fits, 3)
    assert found.missing == ["toy/fits.csv.gz: no such data"] and found.differences == []
    assert {row.group for row in found.groups} == {"wine ep", "wine vb", "wine qp"}
    assert "NOT REPEATED: toy/fits.csv.gz: no such data" in "\n".join(verify.summary_lines(found))


def test_only_groups_of_which_too_few_were_repeated_if_asked(fits):
    run(fits, method=["ep"])
    found = run(fits, 30, lacking=True).groups
    assert {row.group for row in found if row.study == "toy/fits.csv.gz"} == {"wine vb", "wine qp", "iono vb"}
    assert run(fits, 30, lacking=True).groups == []


def test_what_a_reader_is_warned_of(fits):
    of, folder, changes = fits
    study = replace(of, protocol=lambda row: "" if row["dataset"] == "wine" else "changed")
    changes["of"] = lambda row: {"score": row["score"] + (row["method"] == "vb")}
    run(fits, 10, dataset=["wine"])
    text = provenance.warnings(provenance.groups(study, folder))
    assert text == [
        f"TOO FEW REPEATED: {of.file}: wine ep (10 of 30); wine vb (10 of 30).",
        f"NOT REPRODUCED: {of.file}: wine vb (10 of 10 differ).",
        f"NEVER REPEATED: {of.file}: iono ep; iono vb.",
        f"ANOTHER PROTOCOL THAN TODAY'S: {of.file}: iono ep (40 rows); iono vb (40 rows).",
    ]
    notes, every = provenance.of({of: records.load(of, folder), records.studies()[1]: None}, folder)
    assert list(map(bool, notes.values())) == [True, False] and len(every) == 3
    assert "**NOT REPRODUCED:" in " ".join(notes[of])


def test_a_check_of_before_the_rows_were_made_does_not_count(fits):
    of, folder, _ = fits
    row = Verified(of.file, "wine ep", "2020-01-01", "", "", 40, 40, 0, 0, 0.0)
    verified.append(folder, [row, row._replace(date="2999-01-01", rows=7, same=7)])
    (group,) = [group for group in provenance.groups(of, folder) if group.name == "wine ep"]
    assert (group.repeated, group.same, group.checked) == (7, 7, ("2999-01-01",))


def test_many_groups_are_counted_unless_they_differ(fits):
    first = provenance.groups(*fits[:2])[0]
    many = [first._replace(name=f"set {k}") for k in range(13)]
    assert provenance.warnings(many) == [
        "NEVER REPEATED: toy/fits.csv.gz: 13 groups, set 0; set 1; set 2 and 10 more."
    ]
    (told,) = provenance.warnings([group._replace(repeated=40, different=1) for group in many])
    assert told.startswith("NOT REPRODUCED") and all(group.name in told for group in many)


def test_the_file_reads_back_and_damage_is_named(fits):
    found, folder = run(fits, 2).groups, fits[1]
    verified.append(folder, [found[0]._replace(difference=float("nan"))])
    back = verified.read(folder)
    assert back[:-1] == found and back[-1].difference != back[-1].difference
    path = folder / verified.FILE
    for content, what in (
        (path.read_bytes().replace(b"rows", b"lines"), "columns"),
        (path.read_bytes().replace(b",2,2,", b",two,2,"), "'two'"),
    ):
        records.write(folder, {verified.FILE: content})
        with pytest.raises(RecordError, match=rf"verified.csv: .*{what}"):
            verified.read(folder)
    path.unlink()
    with pytest.raises(RecordError, match="verified.csv: missing"):
        verified.append(folder, found)


# The committed file


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("summarise", ROOT / "tools/summarise_verified.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(fit, passed="yes", how="fixed", run="a", date="2026-11-20", difference="1e-9", **more):
    about = {"study": "qp/as-released.csv.gz", "group": "old name", "commit": "c", "environment": "e"}
    return (
        about
        | {"fit": fit, "passed": passed, "how": how, "run": run, "date": date}
        | {"difference": difference}
        | more
    )


def test_the_long_file_is_summed_up(tool):
    checks = [
        check("fold=0", "no"),
        check("fold=0", difference="3e-9"),  # the last check counts
        check("fold=1", run="b"),  # the row is of another run now
        check("fold=2", how="fixed"),
        check("fold=2", "no", how="scratch", date="2026-11-21", difference=""),  # two ways count once
        check("fold=3", "by search"),
        check("fold=4", "reported", difference="2"),
        check("fold=5", date="2026-11-21", difference=""),
        check("fold=9"),  # no row any more
    ]
    current = {
        (row["study"], row["group"], row["fit"]): ("as-released wine12 ep", "a") for row in checks[:-1]
    }
    for method in ("ep", "qp"):  # the methods of a split count once
        checks.append(check(f"split=1 method={method}", study=tool.TRUTH, group="coal"))
        current[tool.TRUTH, "coal", f"split=1 method={method}"] = "coal", "a"
    assert tool.summarise(checks, current) == [
        Verified("qp/as-released.csv.gz", "as-released wine12 ep", "2026-11-20", "c", "e", 3, 2, 1, 0, 2.0),
        Verified("qp/as-released.csv.gz", "as-released wine12 ep", "2026-11-21", "c", "e", 2, 1, 0, 1, 1e-9),
        Verified("qp/truth.csv", "coal", "2026-11-20", "c", "e", 1, 1, 0, 0, 1e-9),
    ]


def test_the_committed_checks_are_of_recorded_groups():
    rows = verified.read(ROOT / "results")
    assert len(rows) > 1000 and all(row.rows == row.same + row.other + row.different > 0 for row in rows)
    studies = {study.file: study for study in records.studies()}
    sizes = {
        (file, group.name): group.rows
        for file in {row.study for row in rows}
        for group in provenance.groups(studies[file], ROOT / "results")
    }
    assert {(row.study, row.group) for row in rows} <= sizes.keys()
    assert all(row.rows <= sizes[row.study, row.group] for row in rows)
