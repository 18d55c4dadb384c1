"""Maximise the log evidence over parameters of the likelihood too: noise, dispersion, thresholds.

A likelihood that has such parameters offers them as ``coordinates()``, real numbers in the scale of a search,
and ``at(coordinates)``. At their fixed point the evidence of EP, Power EP and VB is stationary in the sites,
so that its derivative in a coordinate is that of the rule's local terms at the marginals and sites as they
are: by central differences, two answers of the rule each. QP's is not, and whole inferences are
differenced, two more for each coordinate and evaluation, by quadrature: QP takes far longer here than the
others, and a deadline in the options bounds it.

Gaussian noise is searched in units of the prior variance and has a lower bound in these (`Noise`): of targets
without noise the evidence has no other end than where rounding takes the variances. Student's noise has one
in units of the targets' variance, or of the prior's at the start if that is less: where more than df in df
+ 1 targets are alike the evidence grows without end as scale and prior variance vanish together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tilted.inference.result import Inference
from tilted.learning.dense import (
    SEARCH,
    Problem,
    Tuned,
    evidence_and_slopes,
    flat_ridge,
    infer_at,
    with_prior,
)
from tilted.learning.mean import Level, Point
from tilted.learning.search import GAIN, Evaluation, Search, climb
from tilted.learning.warmstarts import Attempts
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.student_t import StudentT
from tilted.numerics.optimise import TRANSFORMS

if TYPE_CHECKING:
    from tilted.gaussian import Sites
    from tilted.inference.rule import Rule
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import DenseState
    from tilted.posteriors.sparse import SparseState

PATIENCE = 5  # evaluations without sound sites after which a search is given up
TOO_HIGH = "unconverged sites with an evidence above those that converged, which is no evidence"
STEP, STEP_OF_INFERENCES = 1e-4, 1e-3  # of central differences, in coordinates
LOST = 1e5  # times N eps max k(x, x): the least noise, of which variances by an explicit inverse keep a digit
LEAST_NOISE = (
    "the noise ended at its lower bound, next to none: the fit passes through targets; if they are not "
    "exact, look for many that are alike, and for weights that mean precision and not repetition"
)


@dataclass(frozen=True)
class Noise:
    """Gaussian noise as the coordinate c of a search: noise = exp(c) max k(x, x) / its start.

    Parameters
    ----------
    X : array [N, D]
    variance : float
        max k(x, x) at the start.
    least : float
        Lower bound of c.
    """

    X: np.ndarray
    variance: float
    least: float

    @classmethod
    def of(cls, problem: Problem, kernel: Kernel) -> Noise | None:
        """At the start of a search; None for other likelihoods, and where f is 0."""
        variance = float(np.max(kernel.diagonal(problem.X)))
        if not isinstance(problem.likelihood, GaussianNoise) or variance == 0.0:
            return None
        return cls(problem.X, variance, _least(problem, variance))

    def shift(self, kernel: Kernel) -> float:
        """log noise - c under a kernel."""
        return float(np.log(np.max(kernel.diagonal(self.X)) / self.variance))

    def pull_back(self, kernel: Kernel, by_log_noise: float) -> np.ndarray:
        """Derivatives in the kernel's parameters [P] by way of the unit, from that in log noise."""
        diagonal = kernel.diagonal(self.X)
        place = [int(np.argmax(diagonal))]
        return kernel.contract_diagonal(self.X[place], by_log_noise / diagonal[place])[0]


def _least(problem: Problem, variance: float) -> float:
    """The logarithm of the least noise variance beside a prior variance (`LOST`)."""
    weights = problem.rule.weights
    rows = len(problem.y) if weights is None else max(len(problem.y), float(np.sum(weights)))
    return float(np.log(LOST * rows * np.finfo(float).eps * variance))


def coordinates_of(likelihood: Likelihood) -> np.ndarray:
    """Return the coordinates of its parameters [Q] in a search; none if it has no such parameters."""
    return likelihood.coordinates() if hasattr(likelihood, "coordinates") else np.zeros(0)


def likelihood_derivative(problem: Problem, kernel: Kernel, inference: Inference[DenseState]) -> np.ndarray:
    """Derivatives [Q] of the log evidence in the coordinates, at converged sites, those of ``inference``."""
    if problem.rule.stationary:
        return local_derivative(problem.rule, problem.likelihood, inference.state, problem.y)
    return _central(
        lambda likelihood: (
            infer_at(replace(problem, likelihood=likelihood), kernel, inference.sites).log_evidence
        ),
        problem.likelihood,
        STEP_OF_INFERENCES,
    )


def local_derivative(
    rule: Rule, likelihood: Likelihood, state: DenseState | SparseState, y: np.ndarray
) -> np.ndarray:
    """Return the derivative of a stationary rule's evidence, from its local terms at converged sites."""
    return _central(
        lambda there: float(np.sum(rule.update(state.marginals, state.sites, there, y).log_terms)),
        likelihood,
        STEP,
    )


def _central(value: Callable[[Likelihood], float], likelihood: Any, h: float) -> np.ndarray:
    """Central differences [Q] in the coordinates of the likelihood."""
    x = likelihood.coordinates()
    return np.array(
        [(value(likelihood.at(x + e)) - value(likelihood.at(x - e))) / (2.0 * h) for e in h * np.eye(len(x))]
    )


def maximise(
    problem: Problem,
    kernel: Kernel,
    search: Search | None = None,
    start: Sites | None = None,
    move_mean: bool = False,
    prior: LogNormal | None = None,
) -> Tuned:
    """Maximise the log evidence from the parameters of ``kernel`` and of the likelihood of ``problem``.

    Parameters
    ----------
    problem : Problem
        Its likelihood, and with ``move_mean`` its mean, are the starting point.
    kernel : Kernel
        Its parameters are the starting point.
    search : Search, optional
    start : Sites, optional
        Of the first inference, and of those that earlier ones do not help; flat by default.
    move_mean : bool
        Whether the prior mean is searched too (``mean.Level``).
    prior : LogNormal, optional
        On the kernel's parameters; its log density is maximised with the evidence.

    Returns
    -------
    Tuned
        With the likelihood found in its problem. Evaluations whose sites did not converge show the way, and
        are the best only if none converged.

    Raises
    ------
    ArithmeticError, ValueError
        If the very first evaluation fails (no proper posterior, no finite evidence).
    """
    search = search or SEARCH
    transform = TRANSFORMS[search.transform or "softplus"]
    level, first = Level.of(problem.mean, kernel, problem.X), coordinates_of(problem.likelihood)
    noise = Noise.of(problem, kernel)
    prepared = problem.prepared(kernel)
    attempts, starts, P = Attempts(), [start], len(kernel.parameters())
    unconverged, highest = 0, -np.inf

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # as noise vanishes: a wall
    def evaluate(x: np.ndarray) -> Evaluation[Point]:
        nonlocal starts, unconverged, highest
        at, c = kernel.with_parameters(transform.forward(x[:P])), float(x[P])
        likelihood: Any = problem.likelihood
        own = x[P + 1 :] + noise.shift(at) if noise else x[P + 1 :]
        likelihood = likelihood.at(own) if len(first) else likelihood
        here = replace(prepared, likelihood=likelihood, mean=level.mean(at, c))
        inference, slopes = attempts.converged_or_last(
            lambda sites: evidence_and_slopes(here, at, sites, search.gradient), starts
        )
        unconverged += not inference.status.converged
        if inference.status.converged and search.warm:
            starts = [inference.sites, start]
        if not inference.status.converged and inference.log_evidence > highest > -np.inf:
            raise ArithmeticError(TOO_HIGH)
        by_kernel, by_c = slopes.by_kernel, 0.0
        if move_mean:
            through_unit, by_c = level.pull_back(at, c, slopes.by_mean)
            by_kernel = by_kernel + through_unit
        by_likelihood = likelihood_derivative(here, at, inference) if len(first) else first
        if noise:
            by_kernel = by_kernel + noise.pull_back(at, by_likelihood[0])
        value, by_kernel = with_prior(prior, at, inference.log_evidence, by_kernel)
        if inference.status.converged:
            highest = max(highest, inference.log_evidence)
        gradient = np.concatenate([by_kernel * transform.slope(x[:P]), [by_c], by_likelihood])
        point = Point(here, at, inference)
        return Evaluation(value, gradient, point, inference.status.converged)

    x0 = np.concatenate([transform.inverse(kernel.parameters()), [0.0], first])
    least = noise.least if noise else -np.inf
    if isinstance(problem.likelihood, StudentT):
        at_start = float(np.max(kernel.diagonal(problem.X)))
        spread = min(float(np.var(problem.y)) if np.ptp(problem.y) > 0 else at_start, at_start)
        least = min(0.5 * _least(problem, spread), float(first[0])) if spread > 0 else -np.inf
    lowest = np.append(np.full(len(x0) - 1, -np.inf), least) if least > -np.inf else None
    if lowest is not None:
        x0 = np.maximum(x0, lowest)
    deadline = problem.options.deadline
    end = climb(evaluate, x0, search, lowest, same=GAIN, deadline=deadline, patience=PATIENCE)
    tuned_point = end.result
    notes = [end.message, flat_ridge(*tuned_point)]
    if lowest is not None and end.best.x[-1] <= least + 0.01:
        notes.append(LEAST_NOISE)
    if unconverged:
        notes.append(f"{unconverged} evaluations with unconverged sites")
    if attempts.restarted:
        notes.append(f"{attempts.restarted} evaluations started again from the first sites")
    if not tuned_point.inference.status.converged:
        notes.append(tuned_point.inference.status.message)
    status = replace(
        tuned_point.inference.status,
        converged=end.converged and tuned_point.inference.status.converged,
        sweeps=attempts.sweeps,
        evaluations=end.evaluations,
        message="; ".join(note for note in notes if note),
    )
    return Tuned(
        replace(tuned_point.problem, distances=None), tuned_point.kernel, tuned_point.inference, status
    )
