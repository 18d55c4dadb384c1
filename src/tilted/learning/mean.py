"""Maximise the log evidence over a constant prior mean as well: dense posteriors, sparse regression.

Of a dense posterior the mean is one more coordinate of the search (`Level`). With the sites held fixed the
derivative of the log evidence in it is the sum of the weights K^-1 (posterior mean - prior mean), which is
all of it where the evidence is stationary in the sites (EP, Power EP, VB). QP's is not: there the sites' own
answer is differentiated implicitly (``inference.implicit``).

In sparse regression the best mean at given hyperparameters is that of generalised least squares, so that a
search goes over the hyperparameters alone (`Levelled`).

To integrate the level of f out instead, add a ``Constant`` to the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from tilted.gaussian import Sites
from tilted.inference.result import Inference
from tilted.learning.dense import SEARCH, Problem, Tuned, evidence_and_slopes, flat_ridge, with_prior
from tilted.learning.search import Best, Evaluation, Search, climb
from tilted.learning.warmstarts import Attempts
from tilted.numerics.optimise import TRANSFORMS
from tilted.posteriors.collapsed import Collapsed, Gradient, Regression, condition, energy_and_gradient

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import DenseState

PROBE = 0.7  # a latent value at which likelihoods of f and -f are compared
EVEN = "f and -f have the same likelihood, so that no search leaves a prior mean of 0: start from another"


@dataclass(frozen=True)
class Level:
    """The prior mean as a coordinate c of a search: mean = start + c unit, unit^2 = k(x, x) + its start.

    On a ridge towards infinite variance, as on separable data, a mean that matters grows with the prior
    standard deviation; where the variance vanishes it does not.

    Parameters
    ----------
    start : float
    place : array [1, D]
        x: where f varies most at the start of the search.
    variance : float
        k(x, x) there and then.
    """

    start: float
    place: np.ndarray
    variance: float

    @classmethod
    def of(cls, start: float, kernel: Kernel, X: np.ndarray) -> Level:
        """At the start of a search, for inputs ``X`` [N, D]."""
        place = X[[int(np.argmax(kernel.diagonal(X)))]]
        return cls(start, place, float(kernel.diagonal(place)[0]))

    def unit(self, kernel: Kernel) -> float:
        """The unit of the coordinate, under a kernel."""
        return float(np.sqrt(kernel.diagonal(self.place)[0] + self.variance))

    def mean(self, kernel: Kernel, c: float) -> float:
        """The prior mean."""
        return self.start + c * self.unit(kernel)

    def pull_back(self, kernel: Kernel, c: float, by_mean: float) -> tuple[np.ndarray, float]:
        """Derivatives in the kernel's parameters [P] by way of the unit, and in c, from that in the mean."""
        unit = self.unit(kernel)
        by_parameters, _ = kernel.contract_diagonal(self.place, np.ones(1))
        return by_mean * c / (2.0 * unit) * by_parameters, by_mean * unit


class Point(NamedTuple):
    """An evaluation: where, and what was found there."""

    problem: Problem
    kernel: Kernel
    inference: Inference[DenseState]


def maximise(
    problem: Problem,
    kernel: Kernel,
    search: Search | None = None,
    start: Sites | None = None,
    move_kernel: bool = True,
    prior: LogNormal | None = None,
) -> Tuned:
    """Maximise the log evidence from the parameters of ``kernel`` and the mean of ``problem``.

    An evaluation whose sites do not converge has failed, a wall: its gradient would be wrong.

    Parameters
    ----------
    problem : Problem
        Its mean is the starting point. For "poisson-square" the evidence is even in the mean, and 0 refused
        unless there are sites to start from.
    kernel : SquaredExponential or another kernel
        Its parameters are the starting point.
    search : Search, optional
        As of ``hyperparameters.maximise``; parameters have no lower bound here.
    start : Sites, optional
        Of the first inference, and of those that earlier ones do not help; flat by default.
    move_kernel : bool
        Whether the kernel's parameters are searched too.
    prior : LogNormal, optional
        As of ``learning.dense.maximise``.

    Returns
    -------
    Tuned
        Its status tells how the search ended, of failed evaluations, of such as had to start again, and of a
        flat ridge.

    Raises
    ------
    ArithmeticError, ValueError
        If the very first evaluation fails (no proper posterior, sites that do not converge), or nothing tells
        f from -f at the start.
    """
    if problem.mean == 0.0 and start is None and even(problem.likelihood, problem.y):
        raise ValueError(EVEN)
    search = search or SEARCH
    transform = TRANSFORMS[search.transform or "softplus"]
    level = Level.of(problem.mean, kernel, problem.X)
    prepared = problem.prepared(kernel)
    attempts, starts = Attempts(), [start]

    def evaluate(x: np.ndarray) -> Evaluation[Point]:
        nonlocal starts
        at = kernel.with_parameters(transform.forward(x[:-1])) if move_kernel else kernel
        here, c = replace(prepared, mean=level.mean(at, float(x[-1]))), float(x[-1])
        inference, slopes = attempts.converged(
            lambda sites: evidence_and_slopes(here, at, sites, search.gradient), starts
        )
        starts = [inference.sites, start] if search.warm else [start]
        through_unit, by_c = level.pull_back(at, c, slopes.by_mean)
        value, slope = with_prior(prior, at, inference.log_evidence, slopes.by_kernel)
        by_kernel = (slope + through_unit) * transform.slope(x[:-1]) if move_kernel else np.zeros(0)
        return Evaluation(value, np.append(by_kernel, by_c), Point(here, at, inference))

    def restart(best: Best[Point]) -> np.ndarray:
        nonlocal starts
        if search.warm:
            starts = [best.at.result.inference.sites, *starts]
        return best.x

    x0 = np.append(transform.inverse(kernel.parameters()) if move_kernel else [], 0.0)
    end = climb(evaluate, x0, search, restart=restart, deadline=problem.options.deadline)
    notes = [end.message]
    if attempts.restarted:
        notes.append(f"{attempts.restarted} evaluations started again from the first sites")
    if move_kernel:
        notes.append(flat_ridge(*end.result))
    status = replace(
        end.result.inference.status,
        converged=end.converged,
        sweeps=attempts.sweeps,
        evaluations=end.evaluations,
        message="; ".join(note for note in notes if note),
    )
    return Tuned(replace(end.result.problem, distances=None), end.result.kernel, end.result.inference, status)


def even(likelihood: Likelihood, y: np.ndarray) -> bool:
    """Return whether a likelihood has two modes and cannot tell f from -f at targets ``y`` [N]."""
    probe = np.full(len(y), PROBE)
    at, mirrored = (likelihood.log_likelihood(y, f) for f in (probe, -probe))
    return not likelihood.log_concave and bool(np.array_equal(at, mirrored))


def best_level(problem: Regression, state: Collapsed) -> float:
    """The prior mean with the highest energy at the hyperparameters of ``state``.

    Generalised least squares: 1^T S^-1 y / 1^T S^-1 1, S = Q + C being the covariance of the targets ``y`` of
    the problem [Bui et al. 2017, sections 3.5-3.7]; what its energy has beside log N(y; mean, S) does not
    depend on the mean.

    Parameters
    ----------
    problem : Regression
    state : Collapsed
        Conditioned on any targets: pseudo-points and noise count.
    """
    pseudo, X = state.pseudo, problem.X
    V = pseudo.root @ pseudo.cross(X)
    C = problem.noises(state.noise) + problem.shares * (
        pseudo.kernel.diagonal(X) - np.einsum("mn,mn->n", V, V)
    )
    W = state.factor @ V
    weights = (1.0 - (W @ (1.0 / C)) @ W) / C  # S^-1 1
    return float(weights @ problem.y / np.sum(weights))


class Levelled(Regression):
    """A sparse regression with the best prior mean at any hyperparameters; for ``regression.maximise``."""

    def centred(self, kernel: Kernel, Z: np.ndarray, noise: float) -> Self:
        """The problem less its best mean at these hyperparameters."""
        return replace(self, y=self.y - best_level(self, condition(self, kernel, Z, noise)))

    def evaluate(self, kernel: Kernel, Z: np.ndarray, noise: float) -> tuple[Collapsed, Gradient]:
        """Posterior of f - mean and gradient of the energy, which at the best mean is that at a fixed one."""
        return energy_and_gradient(self.centred(kernel, Z, noise), kernel, Z, noise)
