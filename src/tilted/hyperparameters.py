"""Maximise the log evidence over kernel parameters by L-BFGS-B with analytic gradients.

Sites are warm-started from one evaluation to the next (``warmstarts``), and from the caller's start again
where these lead nowhere; the sites of the best evaluation come back with the result, so that a caller can
pass them on. Nothing is kept between calls.

Where the sites have several fixed points (likelihoods that are not log-concave) a warm start makes the
evidence depend on the path. ``Search(warm=False)`` starts every inference at the caller's sites instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Sites
from tilted.inference import get_rule
from tilted.inference.engine import infer
from tilted.inference.implicit import evidence_derivative
from tilted.inference.options import Options
from tilted.inference.result import Inference, StateT, Status
from tilted.kernels.compound import Product, variance_of
from tilted.kernels.constant import Constant
from tilted.linalg import NotPositiveDefinite
from tilted.optimise import TRANSFORMS, lbfgs, wall
from tilted.posteriors.dense import Dense
from tilted.warmstarts import WarmStarts

if TYPE_CHECKING:
    from tilted.inference.rule import Projector, Rule
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import DenseState

GRADIENTS = ("exact", "sites-fixed")
GAIN = 1e-6  # of the log evidence, relatively, that makes another round worth while
SMALLEST = 1e-15  # lower bound of a parameter; an upper one would change L-BFGS-B's first step


@dataclass(frozen=True)
class Search:
    """How to search: transform, gradient and the stopping rules of L-BFGS-B.

    ``gradient`` is "exact" (implicit differentiation where the rule needs it; with sites clipped at their
    smallest precision it is approximate) or "sites-fixed" (EP's formula whatever the rule, as the QP
    paper's code does; inconsistent for QP). ``warm``: whether an inference starts from earlier ones' sites. A
    search is repeated from its end while that gains, at most ``rounds`` times in all.
    """

    transform: str = "softplus"
    gradient: str = "exact"
    max_iterations: int = 1000
    relative_tolerance: float = 1e-9
    gradient_tolerance: float = 1e-5
    warm: bool = True
    rounds: int = 1

    def __post_init__(self) -> None:
        if not self.max_iterations >= 1:
            raise ValueError(f"need at least one iteration, got {self.max_iterations}")
        for name in ("relative_tolerance", "gradient_tolerance"):
            if not 0.0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be a number >= 0, got {getattr(self, name)}")
        if self.transform not in TRANSFORMS:
            raise ValueError(f"transform must be one of {', '.join(TRANSFORMS)}")
        if self.gradient not in GRADIENTS:
            raise ValueError(f"gradient must be one of {', '.join(GRADIENTS)}")
        if self.rounds < 1:
            raise ValueError(f"need at least one round, got {self.rounds}")


@dataclass(frozen=True)
class Problem:
    """Data and model without hyperparameters: X [N, D], y [N], likelihood, prior mean, method, options.

    ``projection`` replaces QP's quadrature (``inference.get_rule``).
    ``distances`` are those of ``kernel.distances(X)``, for a caller who infers at many hyperparameters.
    """

    X: np.ndarray
    y: np.ndarray
    likelihood: Likelihood
    method: str
    mean: float = 0.0
    options: Options = Options()
    projection: Projector | None = None
    distances: object = None

    def posterior(self, kernel: Kernel) -> Dense:
        """The prior over the training points under ``kernel``."""
        return Dense.build(kernel.matrix(self.X, distances=self.distances), self.mean)

    def rule(self) -> Rule:
        """The local rule of the method."""
        return get_rule(self.method, self.projection)


@dataclass(frozen=True)
class Tuned:
    """Kernel at the best evidence found, the inference there, and how the search ended."""

    kernel: Kernel
    inference: Inference[DenseState]
    status: Status


def infer_at(problem: Problem, kernel: Kernel, start: Sites | None = None) -> Inference[DenseState]:
    """Inference at fixed hyperparameters, from flat sites or a warm start."""
    return infer(
        problem.posterior(kernel),
        problem.likelihood,
        problem.y,
        problem.rule(),
        problem.options,
        start,
    )


def evidence_and_gradient(
    problem: Problem, kernel: Kernel, start: Sites | None = None, gradient: str = "exact"
) -> tuple[Inference[DenseState], np.ndarray]:
    """The inference at ``kernel`` and the gradient of its log evidence in ``kernel.parameters()``.

    Without a finite evidence the gradient is NaN.

    Raises
    ------
    NotPositiveDefinite
        If the posterior is improper at the starting sites.
    """
    rule = problem.rule()
    if gradient == "exact" and rule.sensitivity is None and problem.projection is not None:
        raise ValueError("this projection has no exact evidence gradient; use 'sites-fixed'")
    posterior = problem.posterior(kernel)
    found = infer(posterior, problem.likelihood, problem.y, rule, problem.options, start)
    if not np.isfinite(found.log_evidence):
        return found, np.full(len(kernel.parameters()), np.nan)
    if gradient == "exact" and rule.sensitivity is not None:
        G = evidence_derivative(posterior, found.state, problem.likelihood, problem.y, rule.sensitivity)
    else:
        G = posterior.evidence_derivative(found.state)
    return found, kernel.contract_gradient(problem.X, posterior.K, G, problem.distances)


@dataclass(frozen=True)
class _Best:
    """The best evaluation of a search so far."""

    kernel: Kernel
    inference: Inference[DenseState]


@dataclass
class _Trace:
    """What the objective of one search remembers."""

    starts: WarmStarts
    best: _Best | None = None
    evaluations: int = 0
    sweeps: int = 0
    unconverged: int = 0
    restarted: int = 0
    impossible: int = 0
    message: str = ""
    worst: float = 0.0

    @property
    def top(self) -> _Best:
        """``best`` after the first evaluation, which raises if it fails."""
        assert self.best is not None
        return self.best


class _Abandoned(Exception):
    """There is nothing to climb from; the search ends where it started."""


def maximise(
    problem: Problem, kernel: Kernel, search: Search | None = None, start: Sites | None = None
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
    search = search or Search()
    problem = replace(problem, distances=kernel.distances(problem.X))
    trace = _Trace(WarmStarts(extrapolate=problem.likelihood.log_concave))
    for _ in range(search.rounds):
        before, verdict = trace.best, _climb(problem, kernel, search, trace, start)
        if trace.top is before:
            break
        (ended, message), reached = verdict, trace.top.inference.log_evidence
        if not np.isfinite(reached) or (before and not _differ(before.inference.log_evidence, reached)):
            break
        kernel = trace.top.kernel
    return _tuned(problem, trace, ended, message)


def _climb(
    problem: Problem, kernel: Kernel, search: Search, trace: _Trace, start: Sites | None
) -> tuple[bool, str]:
    """One run of L-BFGS-B from ``kernel``; whether it met its tolerance, and how it ended."""
    transform = TRANSFORMS[search.transform]

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            at = kernel.with_parameters(transform.forward(x))
            found, gradient = _evaluate(problem, at, trace, start, search)
        except (ArithmeticError, ValueError) as error:  # an improper posterior, parameters that overflow
            if trace.best is None:
                raise
            trace.impossible += 1
            trace.message = trace.message or str(error)
            return wall(trace.worst), np.zeros_like(x)
        _note(trace, found, at)
        if not (np.isfinite(found.log_evidence) and np.all(np.isfinite(gradient))):
            if trace.evaluations == 1:
                what = "gradient" if np.isfinite(found.log_evidence) else "evidence"
                raise _Abandoned(f"no finite {what} at the starting point ({found.status.message})")
            return wall(trace.worst), np.zeros_like(x)
        trace.worst = max(trace.worst, -found.log_evidence)
        return -found.log_evidence, -gradient * transform.slope(x)

    x0 = transform.inverse(kernel.parameters())
    bounds = [(float(transform.inverse(np.array(SMALLEST))), None)] * len(x0)
    tolerances = search.max_iterations, search.relative_tolerance, search.gradient_tolerance
    try:
        outcome = lbfgs(objective, x0, *tolerances, bounds)
    except _Abandoned as error:
        return False, f"search abandoned: {error}"
    # only the point where the search ended was tested; another may be the best whose sites converged
    there = not _differ(-outcome.value, trace.top.inference.log_evidence)
    return outcome.success and there, outcome.message


def _differ(one: float, other: float) -> bool:
    """Whether two log evidences differ by more than rounding and tolerances explain."""
    return abs(one - other) > GAIN * (1.0 + abs(one))


def _evaluate(
    problem: Problem, kernel: Kernel, trace: _Trace, start: Sites | None, search: Search
) -> tuple[Inference[DenseState], np.ndarray]:
    """Inference and gradient from a warm start, or from ``start`` where that does not converge."""
    warm = trace.starts.sites(kernel.parameters()) if search.warm else None
    if warm is not None:
        try:
            found = evidence_and_gradient(problem, kernel, warm, search.gradient)
            if found[0].status.converged:
                return found
            trace.sweeps += found[0].status.sweeps
        except NotPositiveDefinite:
            pass  # the warm start, not necessarily the first sites, is improper here
        trace.restarted += 1
    return evidence_and_gradient(problem, kernel, start, search.gradient)


def _note(trace: _Trace, found: Inference[DenseState], kernel: Kernel) -> None:
    """Count an evaluation and keep it if it is the best."""
    trace.evaluations += 1
    trace.sweeps += found.status.sweeps
    trace.unconverged += not found.status.converged
    if found.status.converged:
        trace.starts.record(kernel.parameters(), found.sites)
    usable = found.status.converged and np.isfinite(found.log_evidence)
    best = trace.best.inference if trace.best else None
    if best is None or (usable and not (best.status.converged and best.log_evidence >= found.log_evidence)):
        trace.best = _Best(kernel, found)


def _tuned(problem: Problem, trace: _Trace, ended: bool, message: str) -> Tuned:
    """The best point as a value, with everything worth knowing in its status."""
    best, notes = trace.top, [message]
    if trace.impossible:
        notes.append(f"{trace.impossible} evaluations without a posterior ({trace.message})")
    if trace.restarted:
        notes.append(f"{trace.restarted} evaluations started again from the first sites")
    if trace.unconverged:
        notes.append(f"{trace.unconverged} evaluations with unconverged sites")
    if np.any(best.kernel.parameters() <= 1.01 * SMALLEST):
        notes.append(f"a parameter is at its lower bound of {SMALLEST:g}")
    notes.append(flat_ridge(problem, best.kernel, best.inference))
    status = replace(
        best.inference.status,
        converged=ended and best.inference.status.converged,
        sweeps=trace.sweeps,
        evaluations=trace.evaluations,
        message="; ".join(note for note in notes if note),
    )
    return Tuned(best.kernel, best.inference, status)


def flat_ridge(problem: Problem, kernel: Kernel, found: Inference[DenseState]) -> str:
    """The note of `ridge` on a dense posterior."""
    if problem.distances is not None:
        problem = replace(problem, distances=(None, problem.distances))
    return ridge(problem.likelihood, kernel, found, lambda twice, start: infer_at(problem, twice, start))


def ridge(
    likelihood: Likelihood,
    kernel: Kernel,
    found: Inference[StateT],
    infer_with: Callable[[Kernel, Sites], Inference[StateT]],
) -> str:
    """A note if the evidence of labels hardly depends on the variance of f, as on separable data; else "".

    There the evidence rises ever more slowly with the variance; ``infer_with`` one twice as large tells.
    """
    if not _of_labels(likelihood) or variance_of(kernel) < 100.0:
        return ""
    try:
        steeper = infer_with(Product(Constant(2.0), kernel), found.sites)
    except NotPositiveDefinite:
        return ""
    change = steeper.log_evidence - found.log_evidence
    if not (steeper.status.converged and abs(change) <= 0.1):
        return ""
    what = f"at twice the variance the log evidence changes by {change:+.1e} only"
    return f"flat ridge: {what}, so the variance is set by the search's tolerance"


def _of_labels(likelihood: Likelihood) -> bool:
    """Whether targets are labels -1 and +1, among which 0 is not."""
    try:
        likelihood.domain(np.zeros(1))
    except ValueError:
        return True
    return False
