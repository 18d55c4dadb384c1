"""Starts of searches of hyperparameters, and the best of several searches.

Without a kernel the units of inputs are guessed from the median distance between two rows, which single wild
values do not move. Evidences have several maxima: of a coarse grid about the guess, evaluated on a part of
the data, every point that is higher than its neighbours starts a search, the `SEARCHES` highest.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy.spatial.distance import pdist

from tilted.gaussian import Sites
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.inference.result import Status
from tilted.inference.rule import LARGEST_WEIGHT, weighted
from tilted.kernels.around import Around
from tilted.kernels.compound import Pair, is_stationary
from tilted.kernels.contract import require_sound, require_variance
from tilted.kernels.converted import as_kernel
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.kernels.stationary import Stationary
from tilted.learning import averages
from tilted.learning.dense import Problem, infer_at, maximise, of_labels
from tilted.learning.mean import even
from tilted.learning.search import Search
from tilted.learning.site_starts import first_sites
from tilted.likelihoods.contract import has_additive_noise
from tilted.likelihoods.exponential_link import Counts
from tilted.numerics.chunks import among_sorted, some_rows
from tilted.numerics.optimise import in_words

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal
    from tilted.likelihoods.contract import Likelihood

LARGEST, SMALLEST = 1e50, 1e-50  # size of inputs and targets; the largest also of weights
SCALES = 1e-100, 1e100  # of parameters of a kernel
ROWS = 500  # of which distances are taken
PART = 100  # rows on which grids are evaluated
GRID_LENGTHSCALES = (0.25, 1.0, 4.0, 16.0)  # in units of the guess
GRID_VARIANCES = (1.0, 100.0, 1e4)  # of labels, whose f has no unit of its own
NARROW_VARIANCES = (0.1, 1.0, 10.0)  # where the guess is from the targets
SEARCHES = 2
CLIMB = Search("log", relative_tolerance=1e-5, gradient_tolerance=1e-3, max_iterations=60)
CLOSELY = Options(tolerance=1e-4, max_sweeps=50, min_damping=0.02, fallback=False)
FARTHEST = np.log(100.0)  # in log parameters from the highest point of the grid: beyond it may be a ridge
SAME_PLACE = 0.05  # distance in log parameters of two ends of such climbs that are one
ROUGHLY = Options(tolerance=0.1, max_sweeps=8, newton=False)
RESTART_DECADES = 1.0  # restarts multiply every parameter by up to this power of ten, or divide
FAR_FROM_ORIGIN = 10.0  # spreads
CENTRE = (
    "centre the inputs: this kernel depends on their origin, which is {:.0f} of their standard deviations "
    "away, and a search from there often misses a trend (of calendar years, for example)"
)
NO_LENGTHSCALE = "needs a kernel with a lengthscale of its own (kernels.stationary)"  # as a sum has not


Found = TypeVar("Found")
StartT = TypeVar("StartT")


def require_moderate(name: str, values: np.ndarray, least: float = 0.0) -> None:
    """ValueError if powers of a number may overflow, or all numbers are below ``least`` and not all 0."""
    largest = max(float(np.max(values)), -float(np.min(values))) if np.size(values) else 0.0
    if largest > LARGEST:
        raise ValueError(f"{name} has values up to {largest:.1e}, beyond {LARGEST:g}: scale it")
    if 0.0 < largest < least:
        raise ValueError(f"{name} has no values beyond {largest:.1e}, not even {least:g}: scale it")


def typical_distance(X: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The median distance between two rows of ``X`` [N, D] that differ, with ``weights`` [N]; 1 if none do.

    Of at most `ROWS` rows (`some_rows`).
    """
    rows = some_rows(len(X), ROWS)
    distances = pdist(X[rows])
    apart = distances > SCALES[0]
    if not np.any(apart):
        return 1.0
    if weights is None:
        return float(np.median(distances[apart]))
    first, second = np.triu_indices(len(rows), 1)
    return averages.median(distances[apart], (weights[rows][first] * weights[rows][second])[apart])


def units_of(X: np.ndarray) -> np.ndarray:
    """Powers of ten [D] next to the `typical_distance` of each column of ``X`` [N, D]; 1 if standardised."""
    return 10.0 ** np.rint([np.log10(typical_distance(X[:, [d]])) for d in range(X.shape[1])])


def start_kernel(
    kernel: Kernel | None,
    X: np.ndarray,
    ard: bool,
    variance: float = 1.0,
    weights: np.ndarray | None = None,
    varied: bool = True,
) -> Kernel:
    """The kernel a search starts from.

    Parameters
    ----------
    kernel : Kernel, optional
        One that is given, also of scikit-learn's, starts from its own hyperparameters, nothing being guessed
        from the data. None: a
        squared exponential whose lengthscale is the median distance between two rows of ``X`` [N, D] over
        sqrt(2), or sqrt(D / 2) times that of each column (ARD); 1 where a column is constant.
    X : array [N, D]
    ard : bool
        Whether an isotropic kernel gets a lengthscale for every dimension.
    variance : float
        That of the default kernel.
    weights : array [N], optional
        Of the rows, where distances are taken.
    varied : bool
        Whether every row has to have a prior variance, as for inference by sites.

    Raises
    ------
    ValueError
        For what is no kernel, for ``ard`` with a kernel that has no lengthscale of its own, for inputs and
        parameters whose powers may overflow or vanish, and for rows without prior variance.
    """
    require_moderate("X", X, SMALLEST)
    D = X.shape[1]
    if kernel is None:
        if ard:
            each = [np.sqrt(0.5 * D) * typical_distance(X[:, [d]], weights) for d in range(D)]
            return SquaredExponential(variance, tuple(each))
        return SquaredExponential(variance, np.sqrt(0.5) * typical_distance(X, weights))
    kernel = as_kernel(kernel, D)
    at = kernel.parameters()
    if not np.all((at >= SCALES[0]) & (at <= SCALES[1])):
        raise ValueError(
            f"the kernel's parameters must lie between {SCALES[0]:g} and {SCALES[1]:g}, got {kernel!r}"
        )
    if (away := distance_from_origin(kernel, X[some_rows(len(X), ROWS)])) > FAR_FROM_ORIGIN:
        warnings.warn(CENTRE.format(away), stacklevel=3)
    require_sound(kernel, X)
    if varied:
        require_variance(kernel, X)
    if not ard:
        return kernel
    if not isinstance(kernel, Stationary):
        raise ValueError(f"ard {NO_LENGTHSCALE}, got {kernel!r}")
    return kernel if kernel.ard else replace(kernel, lengthscale=(kernel.lengthscale,) * D)


def distance_from_origin(kernel: Kernel, X: np.ndarray) -> float:
    """Return how many spreads inputs [N, D] are from 0, in the column where they are most.

    Of columns that vary, and that a part of ``kernel`` sees whose variance depends on the place; else 0.
    """
    if is_stationary(kernel):
        return 0.0
    if isinstance(kernel, Pair):
        return max(distance_from_origin(summand, X) for summand in (kernel.first, kernel.second))
    if isinstance(kernel, Around):
        return distance_from_origin(kernel.kernel, kernel._inner_inputs(X))
    spreads = X.std(axis=0)
    away = np.abs(X.mean(axis=0))[spreads > 0] / spreads[spreads > 0]
    return float(np.max(away, initial=0.0))


def start_variance(
    likelihood: Likelihood, y: np.ndarray, mean: float, weights: np.ndarray | None = None
) -> float:
    """The variance of f to start from: 1 for labels, else what the targets [N] tell, with their weights."""
    if isinstance(likelihood, Counts):
        return max(0.25, averages.variance(np.log(y + 0.5), weights))
    if not has_additive_noise(likelihood):
        # of a rate of f^2 the root has the noise 1/4
        return max(0.25, averages.variance(np.sqrt(y), weights)) if even(likelihood, y) else 1.0
    require_moderate("y", y, SMALLEST)
    square = averages.mean((y - mean) ** 2, weights)
    return square if square > SCALES[0] else 1.0


def promising(
    X: np.ndarray,
    y: np.ndarray,
    likelihood: Likelihood,
    mean: float,
    kernel: Kernel,
    weights: np.ndarray | None = None,
    deadline: float = np.inf,
) -> list[Kernel]:
    """Kernels of a grid about ``kernel`` at which EP's evidence is higher than beside them.

    The highest first, of those looked at before the ``deadline`` of ``time.monotonic()``. Evaluated roughly
    on about `PART` rows (`among_sorted`); ``kernel`` itself where no point has an evidence.
    """
    rows = among_sorted(y, PART)
    weights = None if weights is None else weights[rows] * min(1.0, LARGEST_WEIGHT / np.max(weights[rows]))
    roughly = replace(ROUGHLY, deadline=deadline)
    problem = Problem(X[rows], y[rows], likelihood, weighted(EP, weights), mean, roughly)
    return peaks(problem, kernel, first_sites(likelihood, y[rows], mean, weights))


def peaks(problem: Problem, kernel: Kernel, start: Sites | None = None) -> list[Kernel]:
    """Kernels of a grid about ``kernel`` where the evidence is higher than beside; itself where none is.

    Those after the problem's deadline are left out.
    """
    at, likelihood = kernel.parameters(), problem.likelihood
    problem = replace(problem, distances=kernel.distances(problem.X))
    variances = GRID_VARIANCES if of_labels(likelihood) else NARROW_VARIANCES
    heights = np.full((len(variances), len(GRID_LENGTHSCALES)), -np.inf)
    kernels: dict[tuple[int, int], Kernel] = {}
    for j, s in enumerate(GRID_LENGTHSCALES):
        sites = start
        for i, v in enumerate(variances):
            if time.monotonic() >= problem.options.deadline:
                break
            kernels[i, j] = kernel.with_parameters(np.append(v, np.full(len(at) - 1, s)) * at)
            try:
                inference = infer_at(problem, kernels[i, j], sites)
            except ArithmeticError:
                continue
            if np.isfinite(inference.log_evidence):
                heights[i, j], sites = inference.log_evidence, inference.sites
    return [kernels[place] for place in _peaks(heights)[:SEARCHES]] or [kernel]


def places(
    X: np.ndarray,
    y: np.ndarray,
    likelihood: Likelihood,
    mean: float,
    kernels: Sequence[Kernel],
    prior: LogNormal | None = None,
    weights: np.ndarray | None = None,
    deadline: float = np.inf,
) -> list[Kernel]:
    """Return where EP's evidence of `promising` rows leads from several ``kernels``, each place once.

    A grid may show one peak as two, and on few rows a search costs little. The kernels themselves where one
    leads beyond the grid, as on flat ridges, or nowhere, and where the rows are over a third of all.
    """
    rows = among_sorted(y, PART)
    kept_kernels: list[Kernel] = []
    if len(kernels) < 2 or 3 * len(rows) > len(y):
        return list(kernels)
    weights = None if weights is None else weights[rows]
    closely = replace(CLOSELY, deadline=deadline)
    problem = Problem(X[rows], y[rows], likelihood, weighted(EP, weights), mean, closely)
    start = first_sites(likelihood, y[rows], mean, weights)
    for kernel in kernels:
        try:
            tuned = maximise(problem, kernel, CLIMB, start, prior)
        except (ArithmeticError, ValueError):
            return list(kernels)
        if not tuned.status.converged or _apart(tuned.kernel, kernels[0]) > FARTHEST:
            return list(kernels)
        if all(_apart(tuned.kernel, kernel_before) > SAME_PLACE for kernel_before in kept_kernels):
            kept_kernels.append(tuned.kernel)
    return kept_kernels


def _apart(first: Kernel, second: Kernel) -> float:
    """The largest difference of two kernels' log parameters."""
    return float(np.max(np.abs(np.log(first.parameters() / second.parameters()))))


def _peaks(heights: np.ndarray) -> list[tuple[int, int]]:
    """Indices of finite entries of a matrix that no neighbour exceeds, the highest first."""
    padded = np.pad(heights, 1, constant_values=-np.inf)
    around = np.max(
        [np.roll(padded, shift, axis=(0, 1)) for shift in ((0, 1), (0, -1), (1, 0), (-1, 0))], axis=0
    )[1:-1, 1:-1]
    places = np.argwhere((heights >= around) & np.isfinite(heights))
    return sorted(((int(i), int(j)) for i, j in places), key=lambda place: -heights[place])


def best_of(
    search: Callable[[StartT], Found],
    starts: Sequence[StartT],
    prior: LogNormal | None = None,
    deadline: float = np.inf,
) -> tuple[Found, str]:
    """The best of the searches from ``starts``.

    Returns
    -------
    model
        The model of the highest `selection_score` plus the prior's log density.
    note : str
        Of how many, how many failed, and how many were left out after the ``deadline``; "" of one.

    Raises
    ------
    ArithmeticError, ValueError
        If all fail: that of the first.
    """
    best: tuple[float, Found] | None = None
    successes = 0
    failures: list[ArithmeticError | ValueError] = []
    for start in starts:
        if best and time.monotonic() >= deadline:
            break
        try:
            model: Any = search(start)
        except (ArithmeticError, ValueError) as error:
            failures.append(error)
            continue
        successes += 1
        height = model.selection_score + (0.0 if prior is None else prior.of(model.kernel)[0])
        if best is None or height > best[0]:  # the others are not kept: there may be thousands
            best = height, model
    if best is None:
        raise failures[0]
    late = len(starts) - successes - len(failures)
    if len(starts) == 1:
        return best[1], ""
    notes = [f"best of {successes} starts"]
    if failures:
        notes.append(f"{len(failures)} failed ({failures[0]})")
    if late:
        notes.append(f"{late} not tried, the time was up")
    return best[1], ", ".join(notes)


def around(kernel: Kernel, number: int, rng: np.random.Generator) -> list[Kernel]:
    """So many kernels whose parameters are each up to ten times smaller or larger."""
    at = kernel.parameters()
    spread = (10.0 ** rng.uniform(-RESTART_DECADES, RESTART_DECADES, len(at)) for _ in range(number))
    return [kernel.with_parameters(at * factors) for factors in spread]


def with_notes(status: Status, *notes: str) -> Status:
    """The status with notes that are not there at the end of its message, and that in words (`in_words`)."""
    messages = [status.message, *(note for note in notes if note not in status.message)]
    return replace(status, message=in_words("; ".join(message for message in messages if message)))
