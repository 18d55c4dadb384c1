"""The regression experiments of the Power-EP paper: one record for each (data set, split, alpha, M).

What the paper leaves open is decided here and written into every record: inputs and targets standardised by
the training part, pseudo-inputs starting at training inputs drawn at random, variance 1, lengthscales sqrt(D)
and noise 0.1, a relative jitter of 1e-6 on Kuu.
"""

from __future__ import annotations

import time

import numpy as np

from tilted import metrics
from tilted.experiments import synthetic
from tilted.kernels import SquaredExponential
from tilted.linalg import NotPositiveDefinite
from tilted.posteriors.collapsed import Regression
from tilted.posteriors.full import FullRegression
from tilted.regression import Search, maximise

PAPER = "pep"
FULL = "full"
VARIANCE, NOISE, JITTER = 1.0, 0.1, 1e-6
SEARCH = Search(max_evaluations=2000)


def standardise(X_train, X_test, y_train, y_test):
    """Inputs and targets with mean 0 and standard deviation 1 on the training part (constant columns 0)."""
    centre, spread = X_train.mean(axis=0), X_train.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    mean, sd = y_train.mean(), y_train.std()
    return (
        (X_train - centre) / spread,
        (X_test - centre) / spread,
        (y_train - mean) / sd,
        (y_test - mean) / sd,
    )


def synthetic_split(seed: int):
    """Training and test half of a made-up data set: X_train, X_test, y_train, y_test."""
    drawn = synthetic.draw(seed)
    order = np.random.default_rng([seed, 1]).permutation(len(drawn.y))
    train, test = np.split(order, [len(order) // 2])
    return drawn.X[train], drawn.X[test], drawn.y[train], drawn.y[test]


def run_cell(parts, dataset: str, split: int, alpha, m: int, search: Search = SEARCH) -> dict:
    """Fit and test one split.

    Parameters
    ----------
    parts : tuple of arrays
        X_train [N, D], X_test [N*, D], y_train, y_test, not standardised.
    dataset, split : str, int
        For the record; the split seeds the choice of the first pseudo-inputs.
    alpha : float in [0, 1], or "full"
        The power; "full" is exact regression.
    m : int
        Number of pseudo-points; ignored by exact regression.
    search : Search, optional

    Returns
    -------
    dict
        A failed fit is a record with its reason in ``status.message``.
    """
    began = time.process_time()
    X, Xs, y, ys = standardise(*parts)
    kernel = SquaredExponential(VARIANCE, (float(np.sqrt(X.shape[1])),) * X.shape[1])
    chosen = np.random.default_rng([split, m]).permutation(len(X))[: 0 if alpha == FULL else m]
    problem = FullRegression(X, y) if alpha == FULL else Regression(X, y, alpha, jitter=JITTER)
    identity = {"paper": PAPER, "dataset": dataset, "split": int(split), "alpha": alpha, "m": len(chosen)}
    sizes = {"n_train": len(y), "n_test": len(ys)}
    try:
        fitted = maximise(problem, kernel, X[chosen], NOISE, search)
        mean, variance = fitted.state.predict(Xs)
        variance = variance + fitted.state.noise
        if not np.all(variance > 0):
            raise ArithmeticError("a predictive variance is lost to rounding")
    except (NotPositiveDefinite, ArithmeticError, ValueError) as error:
        return {**identity, **sizes, "status": {"converged": False, "message": f"failed: {error}"},
                "seconds": time.process_time() - began}  # fmt: skip
    return {
        **identity,
        **sizes,
        "nlml": -fitted.state.log_evidence,
        "smse": metrics.standardised_squared_error(ys, mean),
        "smll": metrics.standardised_log_loss(ys, mean, variance, y),
        "hyperparameters": {
            "variance": fitted.state.kernel.variance,
            "lengthscale": list(fitted.state.kernel.lengthscale),
            "noise": fitted.state.noise,
        },
        "status": fitted.status.as_dict(),
        "seconds": time.process_time() - began,
    }
