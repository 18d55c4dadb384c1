"""Maximise the log evidence over kernel parameters by L-BFGS-B with analytic gradients.

Sites are warm-started from one evaluation to the next (``warmstarts``), and from the caller's start again
where these lead nowhere; the sites of the best evaluation come back with the result, so that a caller can
pass them on. Nothing is kept between calls.

Where the sites have several fixed points (likelihoods that are not log-concave) a warm start makes the
evidence depend on the path. ``Search(warm=False)`` starts every inference at the caller's sites instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from tilted.gaussian import Sites
from tilted.inference.engine import infer
from tilted.inference.implicit import evidence_derivatives
from tilted.inference.options import Options
from tilted.inference.result import Inference, StateT, Status
from tilted.kernels.compound import Product
from tilted.kernels.constant import Constant
from tilted.learning.search import GAIN, Best, Evaluation, Search, climb
from tilted.learning.warmstarts import Attempts, WarmStarts
from tilted.likelihoods.contract import has_additive_noise
from tilted.likelihoods.ordinal import Ordinal
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.numerics.optimise import TRANSFORMS
from tilted.posteriors.dense import Dense

if TYPE_CHECKING:
    from tilted.inference.rule import Rule
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import DenseState

SMALLEST, BELOW = 1e-15, 1e-6  # lower bound of a parameter; at most so much of its start
AT_LOWEST = "a parameter is at its lower bound of"
SEARCH = Search(max_iterations=1000)


@dataclass(frozen=True)
class Problem:
    """Data and model without hyperparameters: X [N, D], y [N], likelihood, rule, prior mean, options.

    ``distances`` are those of ``kernel.distances(X)``, for a caller who infers at many hyperparameters;
    ``names`` those of the columns of ``X``, if it came with names.
    """

    X: np.ndarray
    y: np.ndarray
    likelihood: Likelihood
    rule: Rule
    mean: float = 0.0
    options: Options = Options()
    distances: object = None
    names: tuple[str, ...] | None = None

    def posterior(self, kernel: Kernel) -> Dense:
        """The prior over the training points under ``kernel``."""
        return Dense.build(kernel.matrix(self.X, distances=self.distances), self.mean)

    def prepared(self, kernel: Kernel) -> Self:
        """Return the problem with the values that all evaluations of a search from ``kernel`` share."""
        return replace(self, distances=kernel.distances(self.X))

    def slopes(self, kernel: Kernel, posterior: Dense, state: DenseState) -> Slopes:
        """Return the slopes of the log evidence with the sites held fixed."""
        G = posterior.evidence_derivative(state)
        by_kernel = kernel.contract_gradient(self.X, posterior.K, G, self.distances)
        return Slopes(by_kernel, float(np.sum(state.weights)))


@dataclass(frozen=True)
class Tuned:
    """The best evaluation of a search.

    Attributes
    ----------
    problem : Problem
        With the prior mean there.
    kernel : Kernel
    inference : Inference
        There.
    status : Status
        Of the search: converged if it met its tolerance, and there.
    """

    problem: Problem
    kernel: Kernel
    inference: Inference[DenseState]
    status: Status

    @property
    def mean(self) -> float:
        """The prior mean."""
        return self.problem.mean


def infer_at(problem: Problem, kernel: Kernel, start: Sites | None = None) -> Inference[DenseState]:
    """Inference at fixed hyperparameters, from flat sites or a warm start."""
    prior = problem.posterior(kernel)
    return infer(prior, problem.likelihood, problem.y, problem.rule, problem.options, start)


class Slopes(NamedTuple):
    """Derivatives of the log evidence in ``kernel.parameters()`` [P] and in a constant prior mean."""

    by_kernel: np.ndarray
    by_mean: float


def evidence_and_gradient(
    problem: Problem, kernel: Kernel, start: Sites | None = None, gradient: str = "exact"
) -> tuple[Inference[DenseState], np.ndarray]:
    """The inference at ``kernel`` and the gradient of its log evidence in ``kernel.parameters()``.

    Parameters, errors and what there is without a finite evidence are those of `evidence_and_slopes`; a joint
    posterior of several classes, which has no one prior mean, is asked here.
    """
    inference, slopes = evidence_and_slopes(problem, kernel, start, gradient)
    return inference, slopes.by_kernel


def evidence_and_slopes(
    problem: Problem, kernel: Kernel, start: Sites | None = None, gradient: str = "exact"
) -> tuple[Inference[DenseState], Slopes]:
    """The inference at ``kernel`` and the slopes of its log evidence.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
    start : Sites, optional
        Flat by default.
    gradient : str
        As in `Search`: "sites-fixed" leaves out what is missing for QP.

    Returns
    -------
    Inference, Slopes
        Without a finite evidence the slopes are NaN.

    Raises
    ------
    NotPositiveDefinite
        If the posterior is improper at the starting sites.
    ValueError
        For an exact gradient of an evidence that is not stationary in the sites, by a rule that does not say
        how its projections answer.
    """
    rule = problem.rule
    if gradient == "exact" and not rule.stationary and rule.sensitivity is None:
        raise ValueError("this projection has no exact evidence gradient; use 'sites-fixed'")
    posterior = problem.posterior(kernel)
    inference = infer(posterior, problem.likelihood, problem.y, rule, problem.options, start)
    if not np.isfinite(inference.log_evidence):
        return inference, Slopes(np.full(len(kernel.parameters()), np.nan), np.nan)
    state = inference.state
    if gradient == "exact" and rule.sensitivity is not None:
        at = posterior, state, problem.likelihood, problem.y
        total = evidence_derivatives(*at, rule.sensitivity, rule.power)
        by_kernel = kernel.contract_gradient(problem.X, posterior.K, total.by_covariance, problem.distances)
        return inference, Slopes(by_kernel, total.by_mean)
    return inference, problem.slopes(kernel, posterior, state)


def with_prior(
    prior: LogNormal | None, kernel: Kernel, evidence: float, gradient: np.ndarray
) -> tuple[float, np.ndarray]:
    """Evidence and gradient [P] in the kernel's parameters, those of a prior's log density added."""
    if prior is None:
        return evidence, gradient
    value, slope = prior.of(kernel)
    return evidence + value, gradient + slope


@dataclass
class _Trace:
    """The memory of the evaluations of one search."""

    sites: WarmStarts
    lowest: np.ndarray  # bounds of the parameters
    attempts: Attempts = field(default_factory=Attempts)
    evaluations: int = 0
    unconverged: int = 0
    impossible: list[str] = field(default_factory=list)

    def starts(self, kernel: Kernel, start: Sites | None, warm: bool) -> list[Sites | None]:
        """Return the starts of an inference, the best guess first."""
        guess = self.sites.sites(kernel.parameters()) if warm else None
        return [start] if guess is None else [guess, start]

    def note(self, inference: Inference[DenseState], kernel: Kernel) -> None:
        """Count an evaluation and learn from its sites."""
        self.evaluations += 1
        self.unconverged += not inference.status.converged
        if inference.status.converged:
            self.sites.record(kernel.parameters(), inference.sites)


class _Abandoned(Exception):
    """There is nothing to climb from; the search ends where it started, with the inference there."""

    def __init__(self, message: str, inference: Inference[DenseState]) -> None:
        super().__init__(message)
        self.inference = inference


def maximise(
    problem: Problem,
    kernel: Kernel,
    search: Search | None = None,
    start: Sites | None = None,
    prior: LogNormal | None = None,
) -> Tuned:
    """Maximise the log evidence from the parameters of ``kernel``.

    Parameters
    ----------
    problem : Problem
    kernel : SquaredExponential or another kernel
        Its parameters are the starting point.
    search : Search, optional
    start : Sites, optional
        Warm start of the first inference.
    prior : LogNormal, optional
        On the parameters; its log density is maximised with the evidence.

    Returns
    -------
    Tuned
        The best evaluation; ``status.message`` tells how the search ended, of evaluations that did not
        converge, had to start again or had no posterior, of a parameter at its bound, and of a flat ridge.

    Raises
    ------
    NotPositiveDefinite
        If the very first evaluation fails.
    """
    search = search or SEARCH
    transform = TRANSFORMS[search.transform or "softplus"]
    prepared = problem.prepared(kernel)
    first = kernel.parameters()
    # units of inputs are anybody's, and of reals that of f; that of other targets is 1
    sound = has_additive_noise(problem.likelihood) or np.max(kernel.diagonal(problem.X)) > SMALLEST / BELOW
    lowest = np.minimum(SMALLEST, BELOW * first if sound else np.full(len(first), SMALLEST))
    trace = _Trace(WarmStarts(extrapolate=problem.likelihood.log_concave), lowest)

    def evaluate(x: np.ndarray) -> Evaluation[tuple[Kernel, Inference[DenseState]]]:
        try:
            at = kernel.with_parameters(transform.forward(x))
            inference, gradient = trace.attempts.converged_or_last(
                lambda sites: evidence_and_gradient(prepared, at, sites, search.gradient),
                trace.starts(at, start, search.warm),
            )
        except (ArithmeticError, ValueError) as error:  # an improper posterior, parameters that overflow
            trace.impossible.append(str(error))
            raise
        trace.note(inference, at)
        if trace.evaluations == 1 and not np.all(np.isfinite([inference.log_evidence, *gradient])):
            name = "gradient" if np.isfinite(inference.log_evidence) else "evidence"
            raise _Abandoned(
                f"no finite {name} at the starting point ({inference.status.message})", inference
            )
        value, gradient = with_prior(prior, at, inference.log_evidence, gradient)
        slope = gradient * transform.slope(x)
        return Evaluation(value, slope, (at, inference), inference.status.converged)

    def restart(best: Best[tuple[Kernel, Inference[DenseState]]]) -> np.ndarray:
        return transform.inverse(best.at.result[0].parameters())  # off ``best.x`` by rounding

    x0, bounds = transform.inverse(first), transform.inverse(lowest)
    try:
        end = climb(evaluate, x0, search, bounds, restart, same=GAIN, deadline=problem.options.deadline)
    except _Abandoned as error:
        status = _status(prepared, kernel, error.inference, trace, False, f"search abandoned: {error}")
        return Tuned(problem, kernel, error.inference, status)
    highest, inference = end.result
    status = _status(prepared, highest, inference, trace, end.converged, end.ending)
    return Tuned(problem, highest, inference, status)


def _status(
    problem: Problem,
    kernel: Kernel,
    inference: Inference[DenseState],
    trace: _Trace,
    ended: bool,
    message: str,
) -> Status:
    """The status of the best point, with everything worth knowing of the search."""
    notes = [message]
    if trace.impossible:
        notes.append(f"{len(trace.impossible)} evaluations without a posterior ({trace.impossible[0]})")
    if trace.attempts.restarted:
        notes.append(f"{trace.attempts.restarted} evaluations started again from the first sites")
    if trace.unconverged:
        notes.append(f"{trace.unconverged} evaluations with unconverged sites")
    if np.any(at := kernel.parameters() <= 1.01 * trace.lowest):
        notes.append(f"{AT_LOWEST} {trace.lowest[at][0]:g}")
    notes.append(flat_ridge(problem, kernel, inference))
    return replace(
        inference.status,
        converged=ended and inference.status.converged,
        sweeps=trace.attempts.sweeps,
        evaluations=trace.evaluations,
        message="; ".join(note for note in notes if note),
    )


def flat_ridge(problem: Problem, kernel: Kernel, inference: Inference[DenseState]) -> str:
    """The note of `ridge` on a dense posterior; thresholds of levels are in units of f, and go with it."""
    if problem.distances is not None:
        problem = replace(problem, distances=(None, problem.distances))
    likelihood = problem.likelihood
    if isinstance(likelihood, Ordinal):
        problem = replace(problem, likelihood=likelihood.stretched(np.sqrt(2.0)))
    elif not of_labels(likelihood):
        return ""
    return ridge(kernel, problem.X, inference, lambda twice, start: infer_at(problem, twice, start))


def ridge(
    kernel: Kernel,
    X: np.ndarray,
    inference: Inference[StateT],
    infer_with: Callable[[Kernel, Sites], Inference[StateT]],
) -> str:
    """A note if the evidence of labels or levels hardly depends on f's variance, as on separable data; or "".

    There the evidence rises ever more slowly with the variance (at ``X`` [N, D]); ``infer_with`` one twice as
    large tells.
    """
    if np.max(kernel.diagonal(X)) < 100.0:
        return ""
    try:
        steeper = infer_with(Product(Constant(2.0), kernel), inference.sites)
    except NotPositiveDefinite:
        return ""
    change = steeper.log_evidence - inference.log_evidence
    if not (steeper.status.converged and abs(change) <= 0.1):
        return ""
    finding = f"at twice the variance the log evidence changes by {change:+.1e} only"
    return f"flat ridge: {finding}, so the variance is set by the search's tolerance"


def of_labels(likelihood: Likelihood) -> bool:
    """Return whether targets are labels -1 and +1, among which 0 is not."""
    try:
        likelihood.domain(np.zeros(1))
    except ValueError:
        return True
    return False
