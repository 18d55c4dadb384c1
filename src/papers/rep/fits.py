"""The classifiers of the relaxed-EP paper: data, fits and scores [Qi & Guo 2012, section 6].

All have the noisy step, a zero-mean process and a squared-exponential kernel of variance 1 (labels depend on
the sign of f only, so its scale says nothing). A run that diverges is scored at its last proper posterior,
and counted (`papers.rep.methods`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from papers.core import metrics
from papers.data import Dataset, relaxed
from papers.rep import blobs
from papers.rep.methods import MAX_SWEEPS, METHODS, Problem
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.likelihoods.step import NoisyStep
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense

if TYPE_CHECKING:
    from typing import Any

    from papers.rep.methods import Outcome

    Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

BLOBS = "blobs"
BLOBS_REPEATS = 100
"""The paper has ten, which leave REP4 open."""
EPSILON = 0.1
FEWER = 40
"""Most sweeps where convergence is not judged."""

FAILED = "failed"
CHUNK = 4096  # test points at once


def datasets() -> list[str]:
    """Return the names of the data sets, the made-up one first."""
    return [BLOBS, *relaxed.names()]


def splits_of(dataset: str) -> int:
    """Return the number of available splits of a data set; the paper's come first."""
    return BLOBS_REPEATS if dataset == BLOBS else relaxed.SPLITS[dataset]


def epsilon_of(dataset: str, flips: float) -> float:
    """Return the likelihood's flip probability: the made-up set's true share, else at least `EPSILON`."""
    return flips if dataset == BLOBS else max(EPSILON, flips)


def max_sweeps_of(dataset: str) -> int:
    """Return `MAX_SWEEPS` on the made-up set, where convergence is judged; elsewhere `FEWER`."""
    return MAX_SWEEPS if dataset == BLOBS else FEWER


def parts_of(name: str, split: int, flips: float, dataset: Dataset | None = None) -> Parts:
    """Return X_train, X_test, y_train, y_test of a split; real inputs are standardised by X_train."""
    if name == BLOBS:
        X, y, Xs, ys = blobs.draw(split, flips=flips)
        return X, Xs, y, ys
    assert dataset is not None
    X, Xs, y, ys = relaxed.parts(dataset, split, flips)
    return *relaxed.standardised(X, Xs), y, ys


def prior_of(X: np.ndarray, lengthscale: float) -> Dense:
    """Return the prior at inputs ``X`` [N, D], ready to be conditioned."""
    return Dense.build(SquaredExponential(1.0, lengthscale).matrix(X))


def predicted(
    end: Outcome, X: np.ndarray, Xs: np.ndarray, lengthscale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return latent means and variances [N*] at ``Xs`` [N*, D], from the posterior at ``X`` [N, D]."""
    return end.state.predict(SquaredExponential(1.0, lengthscale).matrix(Xs, X), 1.0)


def score(
    end: Outcome, X: np.ndarray, Xs: np.ndarray, ys: np.ndarray, lengthscale: float, likelihood: NoisyStep
) -> dict[str, Any]:
    """Return error rate and mean negative log predictive probability (nats) of test labels.

    Raises
    ------
    ArithmeticError
        If a mean or a variance is lost.
    """
    errors, log_p = [], []
    for rows in np.array_split(np.arange(len(ys)), -(-len(ys) // CHUNK)):
        mean, variance = predicted(end, X, Xs[rows], lengthscale)
        if not (np.all(np.isfinite(mean)) and np.all(variance > 0)):
            raise ArithmeticError("a predictive mean or variance is lost to rounding")
        errors.append(likelihood.errors(ys[rows], mean, variance))
        log_p.append(likelihood.log_predictive(ys[rows], mean, variance))
    return {
        "error": metrics.mean_error(np.concatenate(errors)),
        "nll": metrics.negative_log_likelihood(np.concatenate(log_p)),
    }


def run_split(
    name: str,
    flips: float,
    split: int,
    chosen: dict[str, tuple[float, float]],
    dataset: Dataset | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the records of all methods on a split.

    Parameters
    ----------
    name : str
        One of ``datasets()``.
    flips : float
        Share of flipped labels.
    split : int
    chosen : dict
        Method -> (value of its parameter, lengthscale), as `cross_validation.chosen` has it.
    dataset : Dataset, optional
        The data; the made-up set is drawn.
    """
    data = parts_of(name, split, flips, dataset)
    for method, (value, lengthscale) in chosen.items():
        fit = run_cell(data, method, value, lengthscale, epsilon_of(name, flips), max_sweeps_of(name))
        yield {"dataset": name, "flips": flips, "split": split, **fit}


def run_cell(
    split_data: Parts,
    method: str,
    value: float,
    lengthscale: float,
    epsilon: float,
    max_sweeps: int = MAX_SWEEPS,
    prior: Dense | None = None,
) -> dict[str, Any]:
    """Fit and test one method on one split.

    Parameters
    ----------
    split_data : tuple of arrays
        X_train [N, D], X_test [N*, D], and labels -1, +1 y_train, y_test.
    method : str
        One of `METHODS`.
    value : float
        Of its parameter.
    lengthscale : float
    epsilon : float
        The likelihood's probability of a flipped label.
    max_sweeps : int
    prior : Dense, optional
        That of `prior_of`, to save its computation.

    Returns
    -------
    dict
        ``error`` and ``nll`` of the test part, at the last proper posterior whatever the outcome; a fit
        without any, or with numbers lost, has None and the reason.
    """
    X, Xs, y, ys = split_data
    likelihood, began = NoisyStep(epsilon), time.process_time()
    record = {"method": method, "value": value, "lengthscale": lengthscale, "epsilon": epsilon}
    record |= {"n_train": len(y), "n_test": len(ys)}
    try:
        prior = prior_of(X, lengthscale) if prior is None else prior
        end = METHODS[method].run(Problem(prior, likelihood, y, max_sweeps), value)
        seconds = time.process_time() - began
        scores = score(end, X, Xs, ys, lengthscale, likelihood)
    except (NotPositiveDefinite, ArithmeticError) as error:
        nothing = {"outcome": FAILED, "sweeps": 0, "reason": str(error), "negative_sites": 0, "changes": []}
        return {**record, **nothing, "error": None, "nll": None, "seconds": time.process_time() - began}
    record |= {"outcome": end.outcome, "sweeps": end.sweeps, "reason": end.reason}
    record |= {"negative_sites": end.state.negative_sites, "changes": end.changes.tolist()}
    return {**record, **scores, "seconds": seconds}
