"""Made-up regression records: every score is set by the test."""

import numpy as np
import pandas as pd
import pytest

from tilted.results.pep.forms import REGRESSION

POWERS = ("0", "0.5", "0.8", "1")
SIZES = (5, 20, 100)
N_TRAIN = 200


def make_fits(
    scores=None, datasets=("boston", "yacht"), splits=4, alphas=POWERS, sizes=SIZES, full=None, outcome=None
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
                line |= {"n_train": N_TRAIN, "n_test": 20, "evaluations": 7, "outcome": what, "seconds": 1.0}
                lines.append(line | {"message": "" if what == "ok" else f"{what}: why; more"})
    return pd.DataFrame(lines)[list(REGRESSION.columns)]


@pytest.fixture(scope="session")
def fits():
    return make_fits
