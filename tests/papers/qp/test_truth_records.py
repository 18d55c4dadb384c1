"""Records of ground truth: whose they are, folded in as one, and their approximations made again."""

import shutil
from pathlib import Path

import pytest

from papers.data import DataError
from papers.evidence import records, runs, store
from papers.evidence.store import RecordError
from papers.evidence.verification import standing
from papers.evidence.verification.verify import Selection, verify
from papers.qp import rerun
from papers.qp.records import TRUTH
from papers.qp.truth import records as truth_records
from papers.qp.truth.experiment import METHODS

RESULTS = Path(__file__).resolve().parents[3] / "results"
WINE = "qp/truth/wine13.json.gz"


@pytest.fixture
def record():
    """The committed record of a small data set, as the job made it."""
    return store.read_records(RESULTS / WINE)[0]


@pytest.fixture
def folded(record, tmp_path, stamp):
    """Function: fold the record into a folder, with another stamp; names of what is new."""

    def fold(name="wine13", **changes):
        made = {**record, "run": {**stamp, **changes.pop("stamp", {})}, **changes}
        path = store.write_records(tmp_path / "fits" / f"{name}.json.gz", [made])
        return truth_records.fold_in([path], tmp_path / "results")

    return fold


def test_committed_records_come_in_the_order_of_the_table():
    found = truth_records.read(RESULTS)
    assert [found[0]["dataset"], found[-1]["dataset"]] == ["ionosphere", "coal"]
    assert len({record["dataset"] for record in found}) == 10
    lines = records.load(TRUTH, RESULTS)
    assert list(lines.columns) == ["dataset", "split", "method", "run"]
    assert len(lines) == 3 * len(found)


def test_another_fold_has_a_file_of_its_own(folded, tmp_path):
    assert folded() == [WINE]
    assert folded("wine13-3", fold=3) == ["qp/truth/wine13-3.json.gz"]
    assert [record["fold"] for record in truth_records.read(tmp_path / "results")] == [0, 3]
    with pytest.raises(RecordError, match=r"wine13-4\.json\.gz: the record of wine13 as-released"):
        folded("wine13-4", fold=3)


def test_a_record_is_folded_in_once(folded, tmp_path, record):
    results = tmp_path / "results"
    assert folded() == [WINE]
    (back,) = truth_records.read(results)
    assert {**back, "run": None} == {**record, "run": None}
    known = records.read_runs(results)
    assert (known[back["run"]].study, known[back["run"]].lines) == (WINE, 1)
    before = (results / "runs.csv").read_bytes()
    assert folded() == [] and (results / "runs.csv").read_bytes() == before


def test_the_later_record_stands(folded, tmp_path):
    folded()
    assert folded(n_test=11, stamp={"date": "2026-01-01"}) == []
    assert folded(n_test=11, stamp={"date": "2026-01-03"}) == [WINE]
    (back,) = truth_records.read(tmp_path / "results")
    assert back["n_test"] == 11
    assert [run.replaced for run in records.read_runs(tmp_path / "results").values()] == [0, 1]


@pytest.mark.parametrize("change", [{"dataset": "wine12"}, {"protocol": "corrected"}, {"run": None}])
def test_what_is_not_the_record_of_its_file_is_not_folded_in(folded, tmp_path, change):
    with pytest.raises(RecordError, match=r"wine13\.json\.gz"):
        folded(**change)
    assert not (tmp_path / "results").exists() or not truth_records.read(tmp_path / "results")


def rewritten(results, name, record):
    """Write a file of a record as if it had been folded in."""
    content = store.encoded([record], name)
    records.save(results, {}, [], {name: content})


def test_a_file_in_the_wrong_place_is_named(folded, tmp_path):
    results = tmp_path / "results"
    folded()
    (wine,) = truth_records.read(results)
    rewritten(results, "qp/truth/wine12.json.gz", wine)
    with pytest.raises(RecordError, match=r"wine12\.json\.gz: the record of wine13 as-released does not"):
        truth_records.read(results)
    rewritten(results, "qp/truth/wine12.json.gz", {**wine, "dataset": "wine12"})
    with pytest.raises(RecordError, match=r"wine12\.json\.gz: run '.*' is of qp/truth/wine13"):
        truth_records.read(results)
    rewritten(results, "qp/truth/wine12.json.gz", {**wine, "dataset": "wine12", "run": "x"})
    with pytest.raises(RecordError, match="run 'x' is not known"):
        truth_records.read(results)


def test_damage_is_named(folded, tmp_path):
    results = tmp_path / "results"
    folded()
    (results / "qp/truth/iris.json.gz").write_bytes(b"")
    with pytest.raises(RecordError, match="iris.* no data set of the paper's table"):
        truth_records.read(results)
    (results / "qp/truth/iris.json.gz").unlink()
    (results / WINE).write_bytes((results / WINE).read_bytes()[:-9])
    with pytest.raises(RecordError, match=r"wine13\.json\.gz: differs from its check sum"):
        truth_records.read(results)
    (results / WINE).unlink()
    with pytest.raises(RecordError, match=r"wine13\.json\.gz: missing"):
        truth_records.read(results)


@pytest.fixture
def results(tmp_path):
    """The committed records of two data sets."""
    folder = tmp_path / "results"
    names = ("runs.csv", WINE, "qp/truth/coal.json.gz")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(RESULTS / name, folder / name)
    sums = records.sums(RESULTS)
    (folder / records.SUMS).write_text("".join(f"{sums[name]}  {name}\n" for name in names))
    return folder


def test_every_method_is_made_again(results):
    found = verify([TRUTH], results, Selection({}))
    assert not found.missing and {c.passed for c in found.checks} == {"yes"}
    assert [(c.group, c.fit) for c in found.checks] == [
        (name, f"method={method}") for name in ("wine13", "coal") for method in METHODS
    ]
    groups = standing.groups(TRUTH, results)
    assert [(g.name, g.fits, g.good) for g in groups] == [("wine13", 3, 3), ("coal", 3, 3)]
    assert not standing.loud(groups)


@pytest.mark.parametrize("part", ["log_evidence", "log_density", "train", "test", "one", "both"])
def test_every_altered_number_is_found(results, record, part):
    recorded = record["methods"]["qp"]
    if part == "log_evidence":
        recorded[part] += 2e-6
    elif part == "log_density":
        recorded[part][3] += 4e-6
    elif part in ("one", "both"):
        recorded["test"]["mean"].pop()
        if part == "both":
            recorded["test"]["variance"].pop()
    else:
        name, scale = ("variance", 1.0) if part == "train" else ("mean", 10.0)
        recorded[part][name][0] *= 1 + 3e-6 * scale
    rewritten(results, WINE, record)
    found = verify([TRUTH], results, Selection({"dataset": ["wine13"]}))
    assert {c.fit: c.passed for c in found.checks} == {
        "method=ep": "yes",
        "method=qp": "no",
        "method=vb": "yes",
    }
    assert standing.loud(standing.groups(TRUTH, results))[0].startswith("NOT REPRODUCED: qp/truth: wine13")


def test_missing_data_are_said(results, monkeypatch):
    def unavailable(*_, **__):
        raise DataError("no such file")

    rerun.loaded.cache_clear()
    monkeypatch.setattr(rerun.data, "load", unavailable)
    found = verify([TRUTH], results, Selection({"dataset": ["coal"]}))
    assert set(found.missing) == {"qp/truth coal: no such file"} and not found.checks


def test_a_stamp_has_everything_that_a_run_says(stamp):
    assert set(stamp) == set(runs.STAMP)
