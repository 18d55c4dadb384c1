"""Compact records of the relaxed-EP paper: what is kept, replaced, passed over and refused."""

import numpy as np
import pytest

from papers.core import records, store
from papers.rep.records import BOUNDARY, CHOICES, CURVES, EPSILONS, EXACT, FITS, POINTS

STAMP = {"commit": "aa", "version": "1", "protocol": "", "environment": "numpy 2", "date": "2026-01-02"}
LATER = {"run": {**STAMP, "date": "2026-01-03"}}
EARLIER = {"run": {**STAMP, "date": "2026-01-01"}}
FIT = {
    "paper": "rep",
    "dataset": "blobs",
    "flips": 0.1,
    "chosen_on": 0,
    "split": 0,
    "method": "ep",
    "value": 1.0,
    "lengthscale": 0.25 * np.sqrt(2.0),
    "epsilon": 0.1,
    "n_train": 400,
    "n_test": 39600,
    "outcome": "converged",
    "sweeps": 3,
    "negative_sites": 2,
    "error": 0.0512345678901,
    "nll": 0.3,
    "seconds": 1.23456,
    "reason": "",
    "changes": [1.0, 0.5, 0.12345678],
}
NOTHING = {
    "outcome": "failed",
    "sweeps": 0,
    "negative_sites": 0,
    "error": None,
    "nll": None,
    "changes": [],
    "reason": 'I + Lambda, "T": not positive definite',
}
CHOICE = {
    "paper": "rep",
    "dataset": "heart",
    "flips": 0.0,
    "split": 0,
    "method": "pep",
    "value": 0.8,
    "lengthscale": 0.25 * np.sqrt(13.0),
    "error": 0.2,
    "nll": 0.5,
    "n_converged": 2,
    "n_diverged": 1,
    "n_unsettled": 0,
    "n_failed": 0,
    "seconds": 2.0,
}
POINT = {
    "set": -1,
    "method": "pep",
    "value": 0.8,
    "outcome": "converged",
    "sweeps": 7,
    "mean_error": 1 / 3e3,
    "covariance_error": 2e-3,
    "mean_0": -0.9,
    "mean_1": 0.2,
    "seconds": 0.001,
}
BAYES = {
    "flips": 0.1,
    "split": 0,
    "method": "bayes",
    "value": None,
    "lengthscale": None,
    "outcome": "",
    "sweeps": 0,
    "x": -6.0,
    "y": 0.1,
    "probability": 0.25,
}


@pytest.fixture
def fold(tmp_path):
    """Function: join lines of a study to the tables of a folder; what changed, by file."""
    made = iter(range(1000))

    def run(study, *lines):
        name = study.file.removeprefix("rep/").removesuffix(".csv.gz")
        path = tmp_path / f"data/fits/rep/{name}/{next(made)}.jsonl.gz"
        store.write_records(path, [{"run": STAMP, **line} for line in lines])
        return records.collect([path], tmp_path / "results")

    return run


@pytest.fixture
def had(tmp_path):
    """Function: a record of that folder."""
    return lambda study: records.find(study, tmp_path / "results")


@pytest.fixture
def content(tmp_path):
    """Function: bytes of all its files."""
    folder = tmp_path / "results"
    return lambda: {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_failures_have_no_scores_and_keep_their_reason(fold, had):
    fold(FITS, {**FIT, **NOTHING}, {**FIT, "split": 1})
    fits = had(FITS)
    assert np.isnan(fits["error"][0]) and np.isnan(fits["nll"][0]) and not np.isnan(fits["error"][1])
    assert fits["reason"].tolist() == [NOTHING["reason"], ""]
    assert set(had(CURVES)["split"]) == {1}


@pytest.mark.parametrize(
    "study, line",
    [
        (FITS, FIT),
        (CHOICES, CHOICE),
        (POINTS, POINT),
        (EPSILONS, {**POINT, "epsilon": 0.1}),
        (BOUNDARY, BAYES),
    ],
)
def test_the_same_lines_again_change_nothing(study, line, fold, had, content):
    key = "set" if study in (POINTS, EPSILONS) else "split"
    lines = [{**line, key: number} for number in (3, 1, 2)]
    fold(study, *lines)
    before = content()
    change = fold(study, *reversed(lines))[study.file]
    assert change.same == 3 and content() == before
    change = fold(study, lines[1])[study.file]
    assert change.same == 1
    assert had(study)[key].tolist() == [1, 2, 3]


def test_lengthscales_that_only_the_file_rounds_name_the_same_line(fold, had):
    fold(CHOICES, CHOICE)
    assert fold(CHOICES, {**CHOICE, "error": 0.25})[CHOICES.file].added == 0
    assert had(CHOICES)["error"].tolist() == [0.25]
    other = {**CHOICE, "lengthscale": 2 * CHOICE["lengthscale"]}
    assert fold(CHOICES, other)[CHOICES.file].added == 1


@pytest.mark.parametrize(
    "lines, message",
    [
        ([FIT, {**FIT, "error": 0.3}], "blobs.*split 0, method ep: two lines of one name"),
        ([{**FIT, "outcome": "fine"}], "unknown outcome"),
        ([{**FIT, "error": None}], "scores do not agree"),
        ([{**FIT, **NOTHING, "error": 0.1}], "scores do not agree"),
        ([{**FIT, "error": 1.2}], "error is no share"),
    ],
)
def test_contradictions_are_refused_and_nothing_is_written(lines, message, fold, content):
    fold(FITS, {**FIT, "split": 9})
    before = content()
    with pytest.raises(store.RecordError, match=message):
        fold(FITS, *lines)
    assert content() == before


def test_curves_come_with_the_fits_of_the_made_up_set(fold, had):
    fold(FITS, FIT, {**FIT, "split": 1, "dataset": "heart"})
    curves = had(CURVES)
    assert curves["sweep"].tolist() == [1, 2, 3] and set(curves["dataset"]) == {"blobs"}
    fold(FITS, {**FIT, **LATER, "sweeps": 1, "changes": [0.01]})
    assert had(CURVES)["change"].tolist() == [0.01] and had(FITS)["sweeps"].tolist() == [1, 3]
    fold(FITS, {**FIT, "sweeps": 5, "changes": [2.0] * 5})  # of an earlier day: passed over with its fit
    assert len(had(CURVES)) == 1 and had(FITS)["sweeps"].tolist() == [1, 3]


def test_each_folder_of_fits_goes_into_its_record(had, tmp_path):
    made = {
        "epsilons": {**POINT, "epsilon": 0.25},
        "fits": FIT,
        "own": {**FIT, "split": 1, "chosen_on": 1},
        "choices": CHOICE,
    }
    for name, line in {**made, "points": POINT, "boundary": BAYES}.items():
        store.write_records(tmp_path / f"data/fits/rep/{name}/blobs/0.jsonl.gz", [{"run": STAMP, **line}])
    changes = records.collect((tmp_path / "data").rglob("*.gz"), tmp_path / "results")
    assert {file: change.added for file, change in changes.items()} == {
        FITS.file: 2,
        CURVES.file: 2,
        CHOICES.file: 1,
        POINTS.file: 1,
        EPSILONS.file: 1,
        BOUNDARY.file: 1,
    }
    assert had(FITS)["chosen_on"].tolist() == [0, 1] and had(EXACT) is None
