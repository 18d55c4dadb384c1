"""The regression experiments of the Power-EP paper: a row for each (data set, split, alpha, M, start).

The paper leaves open the following choices. Inputs and targets are standardised by the training rows. Kuu has
a relative jitter of 1e-6. A search starts at one of `STARTS`: by default at training inputs drawn at random,
variance 1, lengthscales sqrt(D) and noise 0.1. Under the protocol "as-described" a search is L-BFGS-B and
stops at the paper's 2000 evaluations. Under "converged" it is BFGS with a full matrix and goes on until its
next step is expected to gain less than 1e-5 nats.

The made-up sets are thirty sets of 1000 points with five inputs from a Gaussian process with an ARD
squared-exponential kernel [Bui et al. 2017, section 4.1]. The paper states neither the distribution of the
inputs nor the hyperparameters. Ours: inputs uniform on [-2, 2]^5, lengthscales log-uniform on [1, 4],
variance 1, noise variance 0.01.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import metrics
from papers.data import DataError, Dataset, regression
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.learning.regression import Fitted, maximise
from tilted.learning.search import Search
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.collapsed import Regression
from tilted.posteriors.full import FullRegression

if TYPE_CHECKING:
    from typing import Any, TypeVar

    from tilted.learning.sparse import Fitted as SparseFitted

    Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    FitT = TypeVar("FitT", Fitted, SparseFitted)

FULL = "full"

SYNTHETIC, DRAWN, POINTS = "synthetic", 30, 1000
HALF_WIDTH, SCALES, DRAWN_NOISE, DRAWN_JITTER = 2.0, (1.0, 4.0), 0.01, 1e-10
"""The jitter is relative, on the covariance drawn from, and far below the noise."""

VARIANCE, JITTER = 1.0, 1e-6
"""Variance of the function: of the made-up sets, and where a search starts; relative jitter of Kuu."""

SEARCH = Search(max_iterations=2000)
DESCRIBED, CONVERGED = "as-described", "converged"
SEARCHES = {DESCRIBED: SEARCH, CONVERGED: Search(method="bfgs", max_iterations=6000)}
"""By protocol. The largest observed number of evaluations with up to 50 pseudo-points is 2961."""

NAMES = ("dataset", "protocol", "split", "alpha", "m", "start")
"""Columns that name a row."""

OUTCOMES = OK, STOPPED, FAILED = ("ok", "stopped", "failed")
"""``stopped``: numbers, but the search did not converge; ``failed``: no numbers."""


@dataclass(frozen=True)
class Start:
    """The starting point of a search.

    Parameters
    ----------
    points : str
        Pseudo-inputs: "data" (training inputs drawn at random) or "k-means" (centres of their clusters).
    draw : int
        Which of several draws of the points.
    stretch : float
        Lengthscales are this times sqrt(D).
    noise : float
        Noise variance; the targets have variance 1.
    """

    points: str = "data"
    draw: int = 0
    stretch: float = 1.0
    noise: float = 0.1


STARTS = {
    "data": Start(),
    "data-2": Start(draw=1),
    "data-3": Start(draw=2),
    "k-means": Start("k-means"),
    "k-means-2": Start("k-means", draw=1),
    "short": Start(stretch=1 / 3),
    "long": Start(stretch=3.0),
    "quiet": Start(noise=0.001),
}
DEFAULT = "data"


class Drawn(NamedTuple):
    """A made-up set and its generating values: X [N, D], y [N] with noise, f [N] without."""

    X: np.ndarray
    y: np.ndarray
    f: np.ndarray
    kernel: SquaredExponential
    noise: float


def draw(seed: int, n: int = POINTS, dimension: int = 5) -> Drawn:
    """Draw a made-up set of ``n`` points; it has its own seed and generator."""
    rng = np.random.default_rng([seed, n, dimension])
    X = rng.uniform(-HALF_WIDTH, HALF_WIDTH, (n, dimension))
    low, high = np.log(SCALES)
    kernel = SquaredExponential(VARIANCE, tuple(np.exp(rng.uniform(low, high, dimension))))
    K = kernel.matrix(X)
    K.flat[:: n + 1] += DRAWN_JITTER * VARIANCE
    f = np.linalg.cholesky(K) @ rng.standard_normal(n)
    return Drawn(X, f + np.sqrt(DRAWN_NOISE) * rng.standard_normal(n), f, kernel, DRAWN_NOISE)


def datasets() -> list[str]:
    """Return the names of the data sets, the made-up ones first."""
    return [SYNTHETIC, *regression.names()]


def sizes(dataset: str) -> tuple[int, int]:
    """Return the numbers of training points and of splits of a data set."""
    if dataset == SYNTHETIC:
        return POINTS // 2, DRAWN
    try:
        entry = regression.entry_of(dataset)
    except DataError as error:
        raise DataError(f"neither '{SYNTHETIC}', the made-up sets, nor a real one: {error}") from error
    return regression.n_train(entry["shape"][0]), regression.SPLITS


def power(alpha: float | str) -> str:
    """Return a power as the rows name it."""
    return alpha if alpha == FULL else f"{alpha:g}"


def cells(grid: dict[str, Any]) -> list[tuple[float | str, int, str]]:
    """Return (alpha, m, start) of a split's fits: every start, m and alpha; exact ones once for each start.

    Parameters
    ----------
    grid : dict
        ``alphas`` (numbers in [0, 1] or "full"), ``m`` and, unless there is the default one only, ``starts``.
    """
    distinct = []
    for start, m, alpha in itertools.product(grid.get("starts", [DEFAULT]), grid["m"], grid["alphas"]):
        cell = (alpha, 0 if alpha == FULL else m, start)
        if cell not in distinct:
            distinct.append(cell)
    return distinct


def check(grid: dict[str, Any], sizes_of: Callable[[str], tuple[int, int]] = sizes) -> None:
    """Refuse a grid (ValueError) with more splits or pseudo-points than a data set can have."""
    for name, row in grid["rows"].items():
        points, splits = sizes_of(name)
        if row["splits"] > splits:
            raise ValueError(f"{name} has {splits} splits, not {row['splits']}")
        if max(grid["m"]) > points:
            raise ValueError(f"{max(grid['m'])} pseudo-points for the {points} training points of {name}")


def parts_of(name: str, split: int, dataset: Dataset | None) -> Parts:
    """Return X_train, X_test, y_train, y_test of a split of a data set, or of a made-up set in halves."""
    if name != SYNTHETIC:
        assert dataset is not None, f"{name} is not made up: its data have to be given"
        return regression.parts(dataset, split)
    drawn = draw(split)
    order = np.random.default_rng([split, 1]).permutation(len(drawn.y))
    train, test = np.split(order, [len(order) // 2])
    return drawn.X[train], drawn.X[test], drawn.y[train], drawn.y[test]


def standardise(X_train: np.ndarray, X_test: np.ndarray, y_train: np.ndarray, y_test: np.ndarray) -> Parts:
    """Scale inputs and targets to mean 0 and sd 1 on the training rows (constant columns to 0).

    Constancy is read off the values: the computed standard deviation of a constant may be rounding.
    """
    constant = X_train.max(axis=0) == X_train.min(axis=0)
    centre = np.where(constant, X_train[0], X_train.mean(axis=0))
    spread = np.where(constant, 1.0, X_train.std(axis=0))
    mean, sd = y_train.mean(), y_train.std()
    return (
        (X_train - centre) / spread,
        (X_test - centre) / spread,
        (y_train - mean) / sd,
        (y_test - mean) / sd,
    )


def pseudo_inputs(X: np.ndarray, m: int, split: int, start: Start) -> np.ndarray:
    """Return the first pseudo-inputs [m, D] for training inputs ``X`` [N, D].

    Raises
    ------
    ValueError
        For more of them than training inputs.
    """
    if m > len(X):
        raise ValueError(f"{m} pseudo-points for {len(X)} training points")
    rng = np.random.default_rng([split, m, *([start.draw] if start.draw else [])])
    if start.points == "data" or m == 0:
        return X[rng.permutation(len(X))[:m]]
    return centres(X, m, rng)


def centres(X: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """Return the centres [m, D] of clusters of ``X`` [N, D]."""
    from sklearn.cluster import KMeans

    return KMeans(m, n_init=1, random_state=int(rng.integers(2**31))).fit(X).cluster_centers_


def run_cell(
    split_data: Parts,
    dataset: str,
    split: int,
    alpha: float | str,
    m: int,
    start: str = DEFAULT,
    protocol: str = DESCRIBED,
) -> dict[str, Any]:
    """Fit and test one split.

    Parameters
    ----------
    split_data : tuple of arrays
        X_train [N, D], X_test [N*, D], y_train, y_test, not standardised.
    dataset, split : str, int
        For the row; the split seeds the choice of the first pseudo-inputs.
    alpha : float in [0, 1], or "full"
        The power; "full" is exact regression.
    m : int
        Number of pseudo-points; ignored by exact regression.
    start : str
        One of `STARTS`.
    protocol : str
        One of `SEARCHES`.

    Returns
    -------
    dict
        A row of `records.REGRESSION`, with the learned ``hyperparameters``. A failed fit has no numbers.

    Raises
    ------
    ValueError
        For more pseudo-points than training points, or a power outside [0, 1].
    """
    at = STARTS[start]
    X, Xs, y, ys = standardise(*split_data)
    kernel = SquaredExponential(VARIANCE, (at.stretch * float(np.sqrt(X.shape[1])),) * X.shape[1])
    Z = pseudo_inputs(X, 0 if alpha == FULL else m, split, at)
    problem: Regression | FullRegression = (
        FullRegression(X, y) if alpha == FULL else Regression(X, y, float(alpha), jitter=JITTER)
    )
    identity = {
        "dataset": dataset,
        "split": int(split),
        "alpha": power(alpha),
        "m": len(Z),
        "start": start,
        "protocol": protocol,
        "n_train": len(y),
        "n_test": len(ys),
    }
    outcome = attempted(
        lambda: maximise(problem, kernel, Z, at.noise, SEARCHES[protocol]),
        lambda fitted: _tested(fitted, Xs, ys, y),
        ("nlml", "smse", "smll", "hyperparameters"),
    )
    return {**identity, **outcome}


def attempted(
    fit: Callable[[], FitT], test: Callable[[FitT], dict[str, Any]], columns: tuple[str, ...]
) -> dict[str, Any]:
    """Run and test a fit, and return its results, how it ended and its processor seconds.

    Parameters
    ----------
    fit : callable
        Returns a fit, which has a ``status``.
    test : callable
        Fit -> ``columns``.
    columns : tuple of str
        Names of the results; a failed fit has none of them.
    """
    fitted: FitT | None = None
    began = time.process_time()
    try:
        fitted = fit()
        row = test(fitted)
        outcome, message = (OK, "") if fitted.status.converged else (STOPPED, fitted.status.message)
    except (NotPositiveDefinite, ArithmeticError, ValueError) as error:
        row = dict.fromkeys(columns)
        outcome, message = FAILED, str(error)
    seconds = time.process_time() - began
    evaluations = fitted.status.evaluations if fitted else 1
    ended = {"evaluations": evaluations, "outcome": outcome, "message": " ".join(message.split())}
    return {**row, **ended, "seconds": seconds}


def require_finite(mean: np.ndarray) -> None:
    """Raise ArithmeticError if a predictive mean is not finite."""
    if not np.all(np.isfinite(mean)):
        raise ArithmeticError("a predictive mean is not finite")


def _tested(fitted: Fitted, Xs: np.ndarray, ys: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return the scores and hyperparameters of a fit."""
    mean, variance = fitted.state.predict(Xs)
    require_finite(mean)
    kernel_variance, *lengthscale = fitted.state.kernel.parameters().tolist()
    return {
        "nlml": -fitted.state.log_evidence,
        "smse": metrics.standardised_squared_error(ys, mean),
        "smll": metrics.standardised_log_loss(ys, mean, variance + fitted.state.noise, y),
        "hyperparameters": {
            "variance": kernel_variance,
            "lengthscale": lengthscale,
            "noise": fitted.state.noise,
        },
    }
