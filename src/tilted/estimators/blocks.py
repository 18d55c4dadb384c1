"""Models of many rows by a chain of overlapping blocks, and the choice between these and pseudo-points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilted.estimators.models import LatentModel, selection_score
from tilted.estimators.sparse import NEEDS_SEARCH, SparseSettings
from tilted.gaussian import require_positive
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.result import Inference, Status
from tilted.inference.rule import weighted
from tilted.inference.vb import VB
from tilted.kernels.contract import require_variance
from tilted.kernels.restricted import off_bounds
from tilted.learning import dense as hyperparameters
from tilted.learning import likelihood as with_likelihood
from tilted.learning import mean as means
from tilted.learning.blocks import BlockProblem, neighbouring_rows, with_enough_neighbours
from tilted.learning.dense import Problem, Tuned
from tilted.learning.likelihood import coordinates_of, likelihood_derivative
from tilted.learning.search import Search
from tilted.learning.site_starts import first_sites
from tilted.learning.starts import ROUGHLY, around, best_of, peaks, start_kernel, with_notes
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.posteriors.blocks import BlockState, scaled_inputs

if TYPE_CHECKING:
    from tilted.gaussian import Sites
    from tilted.inference.rule import Rule
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal
    from tilted.likelihoods.contract import Likelihood

WINDOW = 600  # neighbouring rows on which the first search is
GRID_ROWS = 300  # of these, on which its starts are compared
TOLERANCE = 1e-4  # of the sites: the evidence, which is stationary in them, is right to about its square
FIRST_SEARCH = Search("log", method="bfgs", max_iterations=100, expected_gain=0.1)
SEARCH = Search("log", method="bfgs", max_iterations=200, expected_gain=0.01)
DENSE_ROWS = 2000  # up to which "auto" is dense
MOST_COLUMNS = 3  # for which it considers blocks: in more dimensions a row has too many near neighbours


@dataclass(frozen=True)
class BlocksModel(LatentModel):
    """A fitted chain of blocks under any likelihood.

    Attributes
    ----------
    problem : BlockProblem
        With the mean, the likelihood and the blocks used.
    kernel : Kernel
    inference : Inference
    status : Status
    """

    problem: BlockProblem
    kernel: Kernel
    inference: Inference[BlockState]
    status: Status

    @property
    def likelihood(self) -> Likelihood:
        return self.problem.likelihood

    @property
    def mean(self) -> float:
        return self.problem.mean

    @property
    def fitted_mean(self) -> np.ndarray:
        return self.inference.state.marginals.mean

    @property
    def window(self) -> np.ndarray:
        """Training inputs [n, D] that are near each other."""
        X = self.problem.X
        return X[neighbouring_rows(scaled_inputs(self.kernel, X), WINDOW)]

    @property
    def theta(self) -> np.ndarray:
        """Logarithms of the kernel's parameters, and of the variance of Gaussian noise after them."""
        noise = [self.likelihood.noise] if isinstance(self.likelihood, GaussianNoise) else []
        return np.log(np.append(self.kernel.parameters(), noise))

    def _moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        posterior = self.problem.posterior(self.kernel)
        mean, variance = posterior.predict(self.inference.state, X, self.mean)
        return mean, require_positive(variance)

    def _means(self, X: np.ndarray) -> np.ndarray:
        return self.problem.posterior(self.kernel).predict(self.inference.state, X, self.mean)[0]

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*] of the latent function; ValueError for rows too far apart."""
        return self.problem.posterior(self.kernel).joint(self.inference.state, X, self.mean)

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        problem, parameters = self.problem, np.exp(theta)
        if isinstance(self.likelihood, GaussianNoise):
            problem = replace(problem, likelihood=GaussianNoise(float(parameters[-1])))
            parameters = parameters[:-1]
        kernel = self.kernel.with_parameters(parameters)
        if not gradient:
            inference = hyperparameters.infer_at(problem, kernel)
            return inference.log_evidence, None, inference.status
        inference, slope = hyperparameters.evidence_and_gradient(problem, kernel)
        slope = slope * parameters
        if isinstance(self.likelihood, GaussianNoise):
            slope = np.append(slope, likelihood_derivative(problem, kernel, inference))
        return inference.log_evidence, slope, inference.status


def fit_blocks(
    X: np.ndarray,
    y: np.ndarray,
    kernel: Kernel,
    settings: SparseSettings,
    rng: np.random.Generator,
    through_pseudo_points: Callable[[], LatentModel],
) -> LatentModel:
    """Fit one latent function by a chain of blocks, or by what ``approximation="auto"`` chooses.

    Parameters
    ----------
    X, y : arrays [N, D], [N]
        ``y`` in the domain of the likelihood.
    kernel : Kernel
        To start from, or to keep.
    settings : SparseSettings
    rng : Generator
        For restarts.
    through_pseudo_points : callable
        Returns the model that is fitted if "auto" chooses pseudo-points.

    Raises
    ------
    ValueError
        For bad data and settings.
    ArithmeticError
        If the first evaluation fails, with the largest number of neighbours.
    """
    auto, optimise = settings.approximation == "auto", settings.optimise is not None
    if settings.learn_mean and not optimise:
        raise ValueError(NEEDS_SEARCH)
    timed = settings.timed()
    tolerance = TOLERANCE if settings.options is None else settings.options.tolerance
    timed = replace(timed, options=replace(timed.options or Options(), tolerance=tolerance, fallback=False))
    model_parameters = timed.likelihood, rule_of(timed), timed.mean, timed.options or Options()
    problem = BlockProblem(X, y, *model_parameters, neighbours=timed.neighbours)
    choice = ""
    if auto and len(y) <= DENSE_ROWS:
        problem = replace(problem, size=len(y))
        choice = f"dense: there are at most {DENSE_ROWS:,} rows"
    elif auto and X.shape[1] > MOST_COLUMNS:
        why = f"pseudo-points: there are more than {MOST_COLUMNS} columns"
        return _with_note(through_pseudo_points(), why)
    require_variance(kernel, X)
    prior = settings.prior(kernel)
    if optimise:
        problem, kernel, prior = _first_search(problem, kernel, timed, rng)
    if auto and not choice:
        cells = cells_of(kernel, X)
        counted = f"the inputs have about {cells:,.0f} cells of a lengthscale, n_pseudo={settings.n_pseudo}"
        if not cells > settings.n_pseudo:
            return _with_note(through_pseudo_points(), f"pseudo-points: {counted}")
        choice = f"blocks, not pseudo-points: {counted}"

    search = partial(_search, timed, SEARCH, prior) if optimise else None
    problem, tuned = with_enough_neighbours(problem, kernel, _first_sites(problem), search)
    problem, inference = replace(problem, options=settings.untimed(problem.options)), tuned.inference
    model = BlocksModel(problem, tuned.kernel, inference, tuned.status)  # type: ignore[arg-type] # of blocks
    return _with_note(model, choice) if choice else model


def rule_of(settings: SparseSettings) -> Rule:
    """Return the local rule that settings describe."""
    return weighted(VB if settings.alpha == 0.0 else power_rule(settings.alpha), settings.weights)


def cells_of(kernel: Kernel, X: np.ndarray) -> float:
    """Return how many cells as wide as the lengthscales cover the box of the inputs [N, D].

    That many pseudo-points are needed to be no farther than a lengthscale from each other. A kernel without
    lengthscales of its own has none.
    """
    if not hasattr(kernel, "lengthscale"):
        return 0.0
    return float(np.prod(1.0 + np.ptp(scaled_inputs(kernel, X), axis=0)))


def _first_search(
    problem: BlockProblem, kernel: Kernel, settings: SparseSettings, rng: np.random.Generator
) -> tuple[BlockProblem, Kernel, LogNormal | None]:
    """Search on a window of neighbouring rows, whose lengthscales a guess from all rows may miss.

    It is by dense inference, which takes lengthscales of any size.

    Returns
    -------
    problem : BlockProblem
        With the mean and the likelihood found.
    kernel : Kernel
        Where the search of all rows starts.
    prior : LogNormal or None
        About the guess.
    """
    rows = neighbouring_rows(scaled_inputs(kernel, problem.X), WINDOW)
    window, kernels = _dense_problem(problem, rows, settings), [kernel := off_bounds(kernel)]
    if settings.guessed:
        ard, variance = getattr(kernel, "ard", False), kernel.parameters()[0]
        kernel = start_kernel(None, window.X, ard, variance, window.rule.weights)
        near = rows[neighbouring_rows(scaled_inputs(kernel, window.X), GRID_ROWS)]
        grid = _dense_problem(problem, near, settings)
        roughly = replace(ROUGHLY, deadline=settings.deadline)
        kernels = peaks(replace(grid, options=roughly), kernel, _first_sites(grid))
    kernels += around(kernels[0], settings.n_restarts, rng)
    prior, sites = settings.prior(kernel), _first_sites(window)

    def search(start: Kernel) -> _First:
        return _First(_search(settings, FIRST_SEARCH, prior, window, start, sites))

    found = best_of(search, kernels, prior, settings.deadline)[0].tuned
    return replace(problem, mean=found.mean, likelihood=found.problem.likelihood), found.kernel, prior


class _First(NamedTuple):
    """The result of a first search, to be compared with others."""

    tuned: Tuned

    @property
    def kernel(self) -> Kernel:
        return self.tuned.kernel

    @property
    def selection_score(self) -> float:
        return selection_score(self.tuned.inference)


def _dense_problem(problem: BlockProblem, rows: np.ndarray, settings: SparseSettings) -> Problem:
    """Return the dense problem of some rows."""
    rule = rule_of(settings.of_rows(rows))
    return Problem(problem.X[rows], problem.y[rows], problem.likelihood, rule, problem.mean, problem.options)


def _search(
    settings: SparseSettings,
    default: Search,
    prior: LogNormal | None,
    problem: Problem,
    kernel: Kernel,
    start: Sites | None,
) -> Tuned:
    """Search kernel, and likelihood and mean where they are learned."""
    search = settings.search or default
    if settings.learn_likelihood is not False and len(coordinates_of(problem.likelihood)):
        return with_likelihood.maximise(problem, kernel, search, start, settings.learn_mean, prior)
    if settings.learn_mean:
        return means.maximise(problem, kernel, search, start, True, prior)
    return hyperparameters.maximise(problem, kernel, search, start, prior)


def _first_sites(problem: Problem) -> Sites | None:
    return first_sites(problem.likelihood, problem.y, problem.mean, problem.rule.weights)


def _with_note(model: Any, note: str) -> LatentModel:
    """Return the model with a note in its status."""
    changed: LatentModel = replace(model, status=with_notes(model.status, note))
    return changed
