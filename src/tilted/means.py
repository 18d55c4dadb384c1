"""Maximise the log evidence over a constant prior mean as well, for the dense posterior.

The mean is one more coordinate of the search, in prior standard deviations at the start. With the sites held
fixed the derivative of the log evidence in it is the sum of the weights K^-1 (posterior mean - prior mean),
which is all of it where the evidence is stationary in the sites (EP, Power EP, VB). QP's is not: there the
sites' own answer is differentiated implicitly (``inference.implicit``).

To integrate the level of f out instead, add a ``Constant`` to the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Sites
from tilted.hyperparameters import Problem, Search, evidence_and_gradient
from tilted.inference.implicit import evidence_derivative
from tilted.inference.result import Inference, Status
from tilted.linalg import NotPositiveDefinite
from tilted.optimise import TRANSFORMS, climb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilted.kernels.contract import Kernel
    from tilted.posteriors.dense import DenseState


@dataclass(frozen=True)
class Centred:
    """The best evaluation of a search.

    Attributes
    ----------
    problem : Problem
        With the prior mean found.
    kernel : Kernel
    inference : Inference
        There.
    status : Status
        Converged if the search met its tolerance, and there.
    """

    problem: Problem
    kernel: Kernel
    inference: Inference[DenseState]
    status: Status

    @property
    def mean(self) -> float:
        """The prior mean."""
        return self.problem.mean


def mean_derivative(
    problem: Problem, kernel: Kernel, found: Inference[DenseState], gradient: str = "exact"
) -> float:
    """Derivative of the log evidence in the prior mean at converged sites, those of ``found``.

    ``gradient`` is as in `Search`: "sites-fixed" leaves out what is missing for QP.
    """
    explicit = float(np.sum(found.state.weights))
    sensitivity = problem.rule().sensitivity
    if gradient != "exact" or sensitivity is None:
        return explicit
    # A change dK moves the posterior mean by A dK weights, a change of the prior mean by A 1. The total
    # derivative in K is even in the weights but for the outer product of A^T (dE / dm) with them.
    posterior, n = problem.posterior(kernel), len(problem.y)
    sides = [
        evidence_derivative(
            posterior,
            replace(found.state, weights=np.full(n, sign)),
            problem.likelihood,
            problem.y,
            sensitivity,
        )
        for sign in (1.0, -1.0)
    ]
    return explicit + float(np.sum(sides[0] - sides[1])) / (2.0 * n)


def maximise(
    problem: Problem, kernel: Kernel, search: Search | None = None, start: Sites | None = None
) -> Centred:
    """Maximise the log evidence from the parameters of ``kernel`` and the mean of ``problem``.

    An evaluation whose sites do not converge has failed, a wall: its gradient would be wrong.

    Parameters
    ----------
    problem : Problem
        Its mean is the starting point. For "poisson-square" 0 is a trap: the evidence is even in the mean, so
        that its derivative vanishes there.
    kernel : SquaredExponential or another kernel
        Its parameters are the starting point.
    search : Search, optional
        ``rounds`` are ignored.
    start : Sites, optional
        Of the first inference, and of those that earlier ones do not help; flat by default.

    Returns
    -------
    Centred
        Its status tells how the search ended, of failed evaluations, and of such as had to start again.

    Raises
    ------
    ArithmeticError, ValueError
        If the very first evaluation fails (no proper posterior, sites that do not converge).
    """
    search, P = search or Search(), len(kernel.parameters())
    transform, unit = TRANSFORMS[search.transform], float(np.sqrt(kernel.diagonal(problem.X[:1])[0]))
    problem = replace(problem, distances=kernel.distances(problem.X))
    counts = {"sweeps": 0, "restarted": 0}
    last: list[Sites] = []  # the sites to start from, if any

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray, tuple[Problem, Kernel, Inference[DenseState]]]:
        at = kernel.with_parameters(transform.forward(x[:P]))
        here = replace(problem, mean=problem.mean + unit * float(x[P]))
        found, slope = _converged(here, at, [*last, start], search.gradient, counts)
        last[:] = [found.sites] if search.warm else []
        by_mean = mean_derivative(here, at, found, search.gradient)
        gradient = np.append(slope * transform.slope(x[:P]), by_mean * unit)
        return found.log_evidence, gradient, (here, at, found)

    x0 = np.append(transform.inverse(kernel.parameters()), 0.0)
    end = climb(evaluate, x0, search.max_iterations, search.relative_tolerance, search.gradient_tolerance)
    here, at, found = end.best
    notes = [end.message]
    if counts["restarted"]:
        notes.append(f"{counts['restarted']} evaluations started again from the first sites")
    status = replace(
        found.status,
        converged=end.converged,
        sweeps=counts["sweeps"],
        evaluations=end.evaluations,
        message="; ".join(notes),
    )
    return Centred(replace(here, distances=None), at, found, status)


def _converged(
    problem: Problem, kernel: Kernel, starts: Sequence[Sites | None], gradient: str, counts: dict[str, int]
) -> tuple[Inference[DenseState], np.ndarray]:
    """Inference and gradient in the kernel's parameters from the first of ``starts`` that converges.

    Raises
    ------
    ArithmeticError
        If none does.
    """
    for i, start in enumerate(starts, 1):
        final = i == len(starts)
        try:
            found, slope = evidence_and_gradient(problem, kernel, start, gradient)
        except NotPositiveDefinite:
            if final:
                raise
        else:
            counts["sweeps"] += found.status.sweeps
            if found.status.converged:
                return found, slope
        counts["restarted"] += not final
    raise ArithmeticError(f"the sites did not converge ({found.status.message})")
