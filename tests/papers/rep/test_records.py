"""Compact records of the relaxed-EP paper: what is kept, replaced, passed over and refused."""

import numpy as np
import pytest

from papers.core import records, store
from papers.rep.records import CURVES, FITS

STAMP = {"commit": "aa", "version": "1", "protocol": "", "environment": "numpy 2", "date": "2026-01-02"}
LATER = {"run": {**STAMP, "date": "2026-01-03"}}
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


def test_failures_have_no_scores_and_keep_their_reason(fold, had):
    fold(FITS, {**FIT, **NOTHING}, {**FIT, "split": 1})
    fits = had(FITS)
    assert np.isnan(fits["error"][0]) and np.isnan(fits["nll"][0]) and not np.isnan(fits["error"][1])
    assert fits["reason"].tolist() == [NOTHING["reason"], ""]
    assert set(had(CURVES)["split"]) == {1}


def test_curves_come_with_the_fits_of_the_made_up_set(fold, had):
    fold(FITS, FIT, {**FIT, "split": 1, "dataset": "heart"})
    curves = had(CURVES)
    assert curves["sweep"].tolist() == [1, 2, 3] and set(curves["dataset"]) == {"blobs"}
    fold(FITS, {**FIT, **LATER, "sweeps": 1, "changes": [0.01]})
    assert had(CURVES)["change"].tolist() == [0.01] and had(FITS)["sweeps"].tolist() == [1, 3]
    fold(FITS, {**FIT, "sweeps": 5, "changes": [2.0] * 5})  # of an earlier day: passed over with its fit
    assert len(had(CURVES)) == 1 and had(FITS)["sweeps"].tolist() == [1, 3]
