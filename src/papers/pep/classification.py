"""The classification experiments of the Power-EP paper: a row for each (protocol, set, split, alpha, M).

The paper updates sites a little between steps of Adam on minibatches [Bui et al. 2017, section 4.3]. Here
every evaluation has converged sites, on all data. Under "as-released" the search is L-BFGS-B, at most 1000
evaluations of it, and searches that reach this limit say so in their status; under "corrected" it is BFGS,
which converges (`SEARCHES`). The paper leaves open the following choices. Inputs are standardised by the
training rows. Kuu has a relative jitter of 1e-6. A search starts at distinct training inputs drawn at random
(equal ones would have equal gradients and never separate), with variance 1 and lengthscales sqrt(D).
"""

from __future__ import annotations

import itertools
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from papers.core import metrics
from papers.core.runs import content_hash
from papers.data import Dataset, classification, regression
from papers.data.registry import user_data
from papers.pep import regression as pep
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.learning.search import Search
from tilted.learning.sparse import Fitted, Problem, maximise
from tilted.likelihoods.probit import Probit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MADE_UP = "banana"
POINTS, DRAWN, NOISE = 400, 20, 0.3
"""Size and number of the made-up sets, and the standard deviation around their crescents."""
NAMES = ("dataset", "protocol", "split", "alpha", "m")
"""Columns that name a row."""

SEARCH = Search(max_iterations=1000, relative_tolerance=1e-7)
SEARCHES = {classification.RELEASED: SEARCH, classification.CORRECTED: pep.SEARCHES[pep.CONVERGED]}
"""By protocol."""


def datasets() -> list[str]:
    """Return the names of the data sets, the made-up one first."""
    return [MADE_UP, *classification.names()]


def sizes(dataset: str, protocol: str = classification.RELEASED) -> tuple[int, int]:
    """Return the numbers of training points and of splits of a data set."""
    if dataset == MADE_UP:
        return regression.n_train(POINTS), DRAWN
    rows = classification.entry_of(dataset)["shapes"][protocol][0]
    return regression.n_train(rows), regression.SPLITS


def choices(protocol: str) -> dict[str, Any]:
    """Return a protocol's settings of its search as JSON values; empty for the default search."""
    search = SEARCHES[protocol]
    return {} if search == SEARCH else {"search": asdict(search)}


def todays(line: Mapping[str, Any]) -> str:
    """Return the hash of a row's `choices` and of a user's own set, as its run has it; empty for neither."""
    chosen = choices(line["protocol"]) | user_data(line["dataset"])
    return content_hash(chosen) if chosen else ""


def cells(grid: dict[str, Any]) -> list[tuple[float, int]]:
    """Return (alpha, m) of the fits of a split: every power with every number of pseudo-points."""
    return [(alpha, m) for m, alpha in itertools.product(grid["m"], grid["alphas"])]


def check(grid: dict[str, Any]) -> None:
    """Refuse a grid (ValueError) with more splits or pseudo-points than a data set can have."""
    for protocol in grid["protocols"]:
        pep.check(grid, partial(sizes, protocol=protocol))


def parts_of(name: str, split: int, dataset: Dataset | None) -> pep.Parts:
    """Return X_train, X_test, y_train, y_test of a split of a data set, or of a made-up set."""
    if name != MADE_UP:
        assert dataset is not None, f"{name} is not made up: its data have to be given"
        return regression.parts(dataset, split)
    X, y = draw_banana(split, POINTS)
    n = regression.n_train(POINTS)
    return X[:n], X[n:], y[:n], y[n:]


def run_cell(
    split_data: pep.Parts,
    dataset: str,
    split: int,
    alpha: float,
    m: int,
    protocol: str,
) -> dict[str, Any]:
    """Fit and test one split.

    Parameters
    ----------
    split_data : tuple of arrays
        X_train [N, D], X_test [N*, D], and labels -1, +1 y_train, y_test; inputs not standardised.
    dataset, split : str, int
        For the row; the split seeds the choice of the first pseudo-inputs.
    alpha : float in [0, 1]
        The power; 0 is VB.
    m : int
        Number of pseudo-points.
    protocol : str
        One of `SEARCHES`.

    Returns
    -------
    dict
        A row of `records.CLASSIFICATION`, with the learned ``hyperparameters``. ``nlml`` is the energy that
        was minimised; ``error`` the share of wrong labels and ``nll`` the mean negative log predictive
        probability of the test labels.

    Raises
    ------
    ValueError
        For more pseudo-points than distinct training inputs, a power outside [0, 1], or wrong labels.
    """
    X, Xs, y, ys = prepared(split_data)
    problem, kernel, Z = start(X, y, alpha, m, split)
    identity = {
        "protocol": protocol,
        "dataset": dataset,
        "split": int(split),
        "alpha": pep.power(alpha),
        "m": m,
        "n_train": len(y),
        "n_test": len(ys),
    }
    outcome = pep.attempted(
        lambda: maximise(problem, kernel, Z, SEARCHES[protocol]),
        lambda fitted: _tested(fitted, Xs, ys),
        ("nlml", "error", "nll", "hyperparameters"),
    )
    return {**identity, **outcome}


def draw_banana(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs [n, 2] and labels -1, +1 [n] of a set of `papers.pep.banana`, half of each, shuffled."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.where(np.arange(n) < n // 2, 1.0, -1.0))
    t = rng.uniform(0.0, np.pi, n)
    centre = np.where(y > 0, [np.cos(t), np.sin(t)], [1.0 - np.cos(t), 0.5 - np.sin(t)]).T
    return centre + NOISE * rng.standard_normal((n, 2)), y


def prepared(split_data: pep.Parts) -> pep.Parts:
    """Return X_train, X_test standardised by X_train, y_train, y_test; ValueError for wrong labels."""
    X, Xs, y, ys = split_data
    y, ys = Probit().check(y), Probit().domain(ys)
    return *pep.standardise(X, Xs, y, ys)[:2], y, ys


def start(
    X: np.ndarray, y: np.ndarray, alpha: float, m: int, seed: int
) -> tuple[Problem, SquaredExponential, np.ndarray]:
    """Return the problem, kernel and pseudo-inputs [m, D] from which a search starts.

    Raises
    ------
    ValueError
        As `run_cell`.
    """
    problem = Problem(X, y, Probit(), alpha, jitter=pep.JITTER)
    kernel = SquaredExponential(pep.VARIANCE, (float(np.sqrt(X.shape[1])),) * X.shape[1])
    distinct = np.unique(X, axis=0)
    return problem, kernel, pep.pseudo_inputs(distinct, m, seed, pep.STARTS[pep.DEFAULT])


def _tested(fitted: Fitted, Xs: np.ndarray, ys: np.ndarray) -> dict[str, Any]:
    """Return the scores and hyperparameters of a fit."""
    mean, variance = fitted.predict(Xs)
    pep.require_finite(mean)
    kernel_variance, *lengthscale = fitted.posterior.pseudo.kernel.parameters().tolist()
    return {
        "nlml": -fitted.inference.log_evidence,
        "error": metrics.mean_error(Probit().errors(ys, mean, variance)),
        "nll": metrics.negative_log_likelihood(Probit().log_predictive(ys, mean, variance)),
        "hyperparameters": {"variance": kernel_variance, "lengthscale": lengthscale},
    }
