"""Made-up regression records whose scores are set by the test, records in folders, and fits of jobs."""

import numpy as np
import pytest

from papers.core import records
from papers.pep.records import REGRESSION, power

POWERS = ("0", "0.5", "0.8", "1")
SIZES = (5, 20, 100)
N_TRAIN = 200


def make_fits(
    scores=None,
    datasets=("boston", "yacht"),
    splits=4,
    alphas=POWERS,
    sizes=SIZES,
    full=None,
    outcome=None,
    protocol="as-described",
):
    """Records.

    Parameters
    ----------
    scores : callable
        (data set, split, alpha, M) -> SMSE, SMLL, NLML.
    full : callable, optional
        (data set, split) -> the same of the full GP.
    outcome : dict, optional
        (data set, split, alpha, M) -> outcome of what is not ``ok``.
    protocol : str
    """
    scores = scores or (lambda dataset, split, alpha, m: (0.5, -0.5, 100.0))
    lines = []
    for dataset in datasets:
        for split in range(splits):
            cells = [(alpha, m) for alpha in alphas for m in sizes] + ([("full", 0)] if full else [])
            for alpha, m in cells:
                found = full(dataset, split) if alpha == "full" else scores(dataset, split, alpha, m)
                what = (outcome or {}).get((dataset, split, alpha, m), "ok")
                numbers = [np.nan] * 3 if what == "failed" else found
                line = dict(zip(("smse", "smll", "nlml"), numbers, strict=True))
                line |= {"dataset": dataset, "split": split, "alpha": alpha, "m": m, "start": "data"}
                line["protocol"] = protocol
                line |= {"n_train": N_TRAIN, "n_test": 20, "evaluations": 7, "outcome": what, "seconds": 1.0}
                lines.append(line | {"message": "" if what == "ok" else f"{what}: why; more"})
    return REGRESSION.frame(line | {"run": "r"} for line in lines)


@pytest.fixture(scope="session")
def fits():
    return make_fits


def put_record(folder, study, lines):
    """Rows (or a frame) as the record of a study in a folder, made just now; what the folder gives back."""
    records.put(folder, {study: lines.to_dict("records") if hasattr(lines, "columns") else list(lines)})
    return records.load(study, folder)


@pytest.fixture(scope="session")
def put():
    return put_record


@pytest.fixture
def regression_fit():
    """Function: a row of `papers.pep.regression`, with what is named changed."""

    def make(outcome="ok", run=None, **named):
        message = {"ok": "", "stopped": "STOP: too many", "failed": "no Kuu"}
        record = {
            "dataset": "boston",
            "split": 0,
            "alpha": 0.5,
            "m": 5,
            "start": "data",
            "protocol": "as-described",
            "n_train": 455,
            "n_test": 51,
            "nlml": 123.456789012345,
            "smse": 0.1234567890123,
            "smll": -1.25,
            "hyperparameters": {"variance": 1.0, "lengthscale": [1.0], "noise": 0.1},
            "evaluations": 77,
            "outcome": outcome,
            "message": message[outcome],
            "seconds": 1.5,
        }
        if outcome == "failed":
            record |= dict.fromkeys(("nlml", "smse", "smll", "hyperparameters"))
        record |= {**named, **({"run": run} if run else {})}
        return {**record, "alpha": power(record["alpha"])}

    return make


@pytest.fixture
def classification_fit(regression_fit):
    """The same of `papers.pep.classification`."""

    def make(outcome="ok", run=None, **named):
        given = {"dataset": "crabs", "protocol": "as-released", "error": 0.05, "nll": 0.25}
        record = regression_fit(outcome, run, **{**given, "n_train": 180, "n_test": 20, **named})
        record = {name: value for name, value in record.items() if name not in ("start", "smse", "smll")}
        return record | (dict.fromkeys(("error", "nll")) if outcome == "failed" else {})

    return make
