"""Compact records of regressions: what a file may hold, and how new fits are folded in."""

import json
import os

import numpy as np
import pytest

from tilted import provenance
from tilted.experiments import pep
from tilted.results import store
from tilted.results.pep import records

HERE = {"source": "aa", "choices": "cc", "environment": {"numpy": "2"}, "date": "2026-01-02"}


@pytest.fixture
def fit(regression_fit):
    return regression_fit


@pytest.fixture
def frame(fit):
    """A frame of fits."""

    def make(*fits):
        return records.frame_of(records.line_of(one) for one in fits)

    return make


def test_a_line_for_each_outcome(fit):
    ok, stopped, failed = (records.line_of(fit(outcome)) for outcome in records.OUTCOMES)
    assert tuple(ok) == records.REGRESSION.columns
    assert [line["outcome"] for line in (ok, stopped, failed)] == ["ok", "stopped", "failed"]
    assert [line["message"] for line in (ok, stopped, failed)] == ["", "STOP: too many", "no Kuu"]
    assert failed["nlml"] is None and ok["evaluations"] == 77
    powers = [records.line_of(fit(alpha=alpha))["alpha"] for alpha in (0, 0.0, 0.05, 1, 1.0, "full")]
    assert powers == ["0", "0", "0.05", "1", "1", "full"]


def test_written_records_are_read_back_in_order(frame, fit, tmp_path):
    fits = [
        fit(dataset="yacht", n_train=277, split=1),
        fit(alpha=1, split=2),
        fit(alpha="full", m=0),
        fit(start="k-means"),
        fit("failed", alpha=0.05, m=50),
        fit("stopped", alpha=0, m=50),
        fit(dataset="synthetic", m=500, n_train=500),
        fit(split=10),
        fit(split=9),
    ]
    path = tmp_path / records.REGRESSION.file
    records.write_records(path, frame(*fits))
    again = records.read_records(path)
    assert list(again.columns) == list(records.REGRESSION.columns)
    names = list(
        zip(again["dataset"], again["start"], again["m"], again["alpha"], again["split"], strict=True)
    )
    assert names == [
        ("synthetic", "data", 500, "0.5", 0),
        ("boston", "data", 0, "full", 0),
        ("boston", "data", 5, "0.5", 9),
        ("boston", "data", 5, "0.5", 10),
        ("boston", "data", 5, "1", 2),
        ("boston", "data", 50, "0", 0),
        ("boston", "data", 50, "0.05", 0),
        ("boston", "k-means", 5, "0.5", 0),
        ("yacht", "data", 5, "0.5", 1),
    ]
    assert np.isnan(again["nlml"][6]) and again["m"].dtype == np.int64
    assert again["nlml"][0] == pytest.approx(123.456789012, rel=1e-12)
    before = path.read_bytes()
    records.write_records(path, again.sample(frac=1, random_state=1))
    assert path.read_bytes() == before
    assert records.frame_of([]).dtypes.equals(again.dtypes) or len(records.frame_of([])) == 0


@pytest.mark.parametrize(
    "change, message",
    [
        ({"dataset": "iris"}, "unknown data set"),
        ({"start": "there"}, "unknown start"),
        ({"alpha": "0.50"}, "alpha is no power"),
        ({"alpha": "1.5"}, "alpha is no power"),
        ({"alpha": "half"}, "alpha is no power"),
        ({"alpha": "full"}, "m does not agree with alpha"),
        ({"m": 0}, "m does not agree with alpha"),
        ({"m": 456}, "m is no number of pseudo-points"),
        ({"m": -1}, "m is no number of pseudo-points"),
        ({"outcome": "fine"}, "unknown outcome"),
        ({"outcome": "failed"}, "scores do not agree with the outcome"),
        ({"smse": np.nan}, "scores do not agree with the outcome"),
        ({"smse": np.inf}, "scores do not agree with the outcome"),
        ({"outcome": "failed", "nlml": np.nan, "message": "x"}, "a failed fit with scores"),
        ({"outcome": "stopped"}, "message does not agree with the outcome"),
        ({"message": "odd"}, "message does not agree with the outcome"),
        ({"seconds": np.nan}, "no processor time"),
    ],
)
def test_lines_that_contradict_themselves_are_refused(change, message, frame, fit, tmp_path):
    wrong = frame(fit(split=3), fit())
    for name, value in change.items():
        wrong.loc[0, name] = value
    with pytest.raises(store.RecordError, match=rf"split 0.*: {message}"):
        records.write_records(tmp_path / records.REGRESSION.file, wrong)
    assert not list(tmp_path.iterdir())


def test_two_records_of_a_fit_and_damaged_files_are_refused(frame, fit, tmp_path):
    path = tmp_path / records.REGRESSION.file
    with pytest.raises(store.RecordError, match="boston split 0, alpha 0.5, m 5, data: two records of one"):
        records.write_records(path, frame(fit(), fit()))
    with pytest.raises(store.RecordError, match="columns"):
        records.write_records(path, frame(fit()).drop(columns="smse"))
    records.write_records(path, frame(fit()))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(store.RecordError, match=records.REGRESSION.file):
        records.read_records(path)
    with pytest.raises(FileNotFoundError):
        records.read_records(tmp_path / "nothing.csv.gz")


@pytest.fixture
def fold(fit, tmp_path):
    """Function: fold fits of a day into the folder of records; the change as text, and the frame."""
    made = iter(range(100))

    def run(*fits, date="2026-01-02", keep=True):
        path = tmp_path / "fits" / f"{next(made)}.jsonl.gz"
        store.write_records(path, (fit(run={**HERE, "date": date}, **one) for one in fits))
        change = records.fold_in([path], tmp_path / "records", keep)
        return str(change), records.read_records(tmp_path / "records" / records.REGRESSION.file)

    return run


def test_new_fits_replace_those_of_an_earlier_or_the_same_day(fold, tmp_path):
    assert fold({}, {"split": 1})[0] == "2 fits added, 0 replaced, 0 kept; 0 of all failed"
    change, frame = fold({"split": 1, "smse": 0.5}, {"alpha": 1}, {"outcome": "failed", "alpha": 0})
    assert change == "2 fits added, 1 replaced, 1 kept; 1 of all failed"
    assert frame.set_index(["alpha", "split"])["smse"]["0.5", 1] == 0.5
    change, after = fold({"smse": 0.7}, date="2026-01-01")
    assert change.endswith("0 replaced, 4 kept; 1 fits passed over, older than the records; 1 of all failed")
    assert after.equals(frame)
    change, frame = fold({"smse": 0.7}, date="2026-01-03", keep=False)
    assert change == "1 fits added, 0 replaced, 0 kept; 0 of all failed" and len(frame) == 1
    before = [path.read_bytes() for path in sorted((tmp_path / "records").iterdir())]
    fold({"smse": 0.7}, date="2026-01-03")
    assert [path.read_bytes() for path in sorted((tmp_path / "records").iterdir())] == before


def test_of_two_files_the_later_day_then_the_later_file_counts(fit, tmp_path):
    def file(name, age, date, smse):
        path = store.write_records(tmp_path / name, [fit(smse=smse, run={**HERE, "date": date})])
        os.utime(path, (age, age))
        return path

    paths = [file("a.gz", 200, "2026-01-02", 0.2), file("b.gz", 100, "2026-01-02", 0.1)]
    records.fold_in(paths, tmp_path / "r")
    assert records.read_records(tmp_path / "r" / records.REGRESSION.file)["smse"].tolist() == [0.2]
    records.fold_in([*paths, file("c.gz", 50, "2026-01-03", 0.3)], tmp_path / "r")
    assert records.read_records(tmp_path / "r" / records.REGRESSION.file)["smse"].tolist() == [0.3]
    twice = store.write_records(tmp_path / "d.gz", [fit(), fit()])
    with pytest.raises(store.RecordError, match="d.gz: boston split 0.*two records of one fit"):
        records.fold_in([twice], tmp_path / "r")


def test_provenance_says_what_made_each_fit(fold, tmp_path):
    fold({}, {"split": 1}, {"split": 2, "outcome": "stopped"}, {"split": 2, "alpha": 1})
    fold({"split": 1}, date="2026-01-05")
    content = json.loads((tmp_path / "records" / "provenance.json").read_text(encoding="utf-8"))
    listed = {(run["alpha"], run["date"]): run for run in content["runs"]}
    first = listed["0.5", "2026-01-02"]
    assert first["splits"] == "0,2" and listed["0.5", "2026-01-05"]["splits"] == "1"
    assert (first["n_attempted"], first["n_converged"], first["core_seconds"]) == (2, 1, 3.0)
    assert list(content["environments"].values()) == [{"numpy": "2"}]
    assert first["source"] == "aa" and len(listed) == 3


def test_records_say_whether_todays_source_made_them(fit, tmp_path):
    stamp = provenance.stamp(provenance.closure_hash(records.REGRESSION.module), {})
    fits = [fit(run=stamp), fit(dataset="synthetic", n_train=500, run={**stamp, "source": "old"})]
    path = store.write_records(tmp_path / "fits.gz", fits)
    records.fold_in([path], tmp_path / "r")
    made = records.made(tmp_path / "r")
    assert [(part.what, part.source == part.today) for part in made] == [
        ("synthetic", False),
        ("boston", True),
    ]
    assert "numpy" in made[0].environment
    assert records.made(tmp_path / "nothing") == []


def test_the_source_of_a_fit_is_what_it_runs():
    names = provenance.closure(records.REGRESSION.module)
    for module in ("posteriors.collapsed", "posteriors.full", "regression", "optimise", "data.regression"):
        assert f"tilted.{module}" in names
    assert not any(name.startswith("tilted.results") for name in names)
    assert pep.__name__ == records.REGRESSION.module
