"""Records of regressions made up for tests."""

import pytest


@pytest.fixture
def fit():
    """Function: a fit record of `tilted.experiments.pep`, with what is named changed."""

    def make(outcome="ok", run=None, **named):
        message = {"ok": "CONVERGENCE: done", "stopped": "STOP:  too many\n", "failed": "failed: no Kuu"}
        record = {
            "paper": "pep", "dataset": "boston", "split": 0, "alpha": 0.5, "m": 5, "start": "data",
            "n_train": 455, "n_test": 51, "nlml": 123.456789012345, "smse": 0.1234567890123, "smll": -1.25,
            "hyperparameters": {"variance": 1.0, "lengthscale": [1.0], "noise": 0.1},
            "status": {"converged": outcome == "ok", "evaluations": 77, "message": message[outcome]},
            "seconds": 1.5,
        }  # fmt: skip
        if outcome == "failed":
            record |= dict.fromkeys(("nlml", "smse", "smll", "hyperparameters"))
        return {**record, **named, **({"run": run} if run else {})}

    return make
