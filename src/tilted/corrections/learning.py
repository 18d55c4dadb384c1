"""Hyperparameters by EP's evidence to second order.

The search climbs log Z_EP + second-order terms (``evidence``) from the optimum of EP's own evidence. Where
the terms are not to be trusted the step is infeasible, as one without a posterior is: a line search comes
back from there, and the status counts how often. If they are not to be trusted at EP's optimum to begin
with, nothing is searched and EP's hyperparameters stand, as EP's answer stands wherever else a correction is
refused. So what is returned is trusted and its corrected evidence no lower than at EP's optimum, or is EP's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.corrections.evidence import correct_evidence, correction_gradient
from tilted.corrections.expansion import expand
from tilted.corrections.marginals import SAMPLED
from tilted.learning.dense import SEARCH, Tuned, flat_ridge, with_prior
from tilted.learning.search import GAIN, Evaluation, climb
from tilted.learning.starts import with_notes
from tilted.numerics.optimise import TRANSFORMS

if TYPE_CHECKING:
    from tilted.corrections.evidence import Evidence
    from tilted.corrections.expansion import Expansion
    from tilted.gaussian import Sites
    from tilted.inference.result import Status
    from tilted.kernels.contract import Kernel
    from tilted.learning.dense import Problem
    from tilted.learning.priors import LogNormal
    from tilted.learning.search import Search

UNTRUSTED = "the corrected evidence is not to be trusted at EP's hyperparameters, which are kept"


class Learned(NamedTuple):
    """The result of a search of the corrected evidence.

    Attributes
    ----------
    tuned : Tuned
        EP's inference there.
    trusted : bool
        Whether there was anything to climb; else the kernel is the one given.
    """

    tuned: Tuned
    trusted: bool


def evidence_of(
    grade: str, problem: Problem, kernel: Kernel, gradient: bool
) -> tuple[float, np.ndarray | None, Status]:
    """The log evidence that goes with a grade of marginals, its gradient [P] in log parameters if asked for.

    EP's to second order, or the exact one of draws; the status says how far it is to be trusted.

    Raises
    ------
    NotPositiveDefinite
        If there is no proper posterior.
    """
    if grade != SAMPLED and gradient:
        base, evidence, slope = evidence_and_gradient(problem, kernel)
        return (
            evidence.value,
            slope * kernel.parameters(),
            with_notes(base.inference.status, evidence.message),
        )
    prior = problem.posterior(kernel)
    base = expand(prior, problem.likelihood, problem.y, options=problem.options)
    status = base.inference.status
    if grade != SAMPLED:
        evidence = correct_evidence(base)
        return evidence.value, None, with_notes(status, evidence.message)
    sampled = base.sampled
    status = with_notes(replace(status, converged=sampled.trusted), sampled.message)
    if not gradient:
        return sampled.value, None, status
    slope = kernel.contract_gradient(problem.X, prior.K, sampled.derivative(), problem.distances)
    return sampled.value, slope * kernel.parameters(), status


class _Untrusted(ArithmeticError):
    """A point of the search at which the evidence's correction is not to be trusted."""


def evidence_and_gradient(
    problem: Problem, kernel: Kernel, start: Sites | None = None
) -> tuple[Expansion, Evidence, np.ndarray]:
    """EP's fixed point at ``kernel``, its corrected evidence, and that value's gradient [P].

    Value and gradient are EP's where the correction is not to be trusted, whatever the rule of the problem.

    Raises
    ------
    NotPositiveDefinite
        If there is no proper posterior.
    """
    prior = problem.posterior(kernel)
    base = expand(prior, problem.likelihood, problem.y, start, problem.options)
    evidence = correct_evidence(base)
    G = prior.evidence_derivative(base.inference.state)
    slope = kernel.contract_gradient(problem.X, prior.K, G, problem.distances)
    if evidence.trusted:

        def expand_near(kernel_near: Kernel) -> Expansion:
            arguments = problem.likelihood, problem.y, base.inference.sites, problem.options
            return expand(problem.posterior(kernel_near), *arguments)

        slope = slope + correction_gradient(expand_near, kernel)
    return base, evidence, slope


def maximise(
    problem: Problem,
    kernel: Kernel,
    search: Search | None = None,
    start: Sites | None = None,
    prior: LogNormal | None = None,
) -> Learned:
    """Climb the corrected evidence from ``kernel``, the optimum of EP's.

    Parameters
    ----------
    problem : Problem
    kernel : Kernel
    search : Search, optional
    start : Sites, optional
        EP's at ``kernel``.
    prior : LogNormal, optional
        On the parameters; its log density is maximised with the evidence.

    Returns
    -------
    Learned
        ``tuned.status.message`` says what was gained, of infeasible evaluations, and of a flat ridge.

    Raises
    ------
    ArithmeticError
        If EP has no posterior at ``kernel``.
    """
    search = search or SEARCH
    transform = TRANSFORMS[search.transform or "softplus"]
    prepared, sites = replace(problem, distances=kernel.distances(problem.X)), start
    sweeps, first, refused = 0, -np.inf, 0

    def evaluate(x: np.ndarray) -> Evaluation[tuple[Kernel, Expansion]]:
        nonlocal sites, sweeps, first, refused
        at = kernel.with_parameters(transform.forward(x))
        base, evidence, slope = evidence_and_gradient(prepared, at, sites)
        sweeps += base.inference.status.sweeps
        if not evidence.trusted:
            refused += 1
            raise _Untrusted(evidence.message)
        sites = base.inference.sites if search.warm else start
        value, slope = with_prior(prior, at, evidence.value, slope)
        first = value if not np.isfinite(first) else first
        return Evaluation(value, slope * transform.slope(x), (at, base))

    x0 = transform.inverse(kernel.parameters())
    try:
        end = climb(evaluate, x0, search, same=GAIN, deadline=problem.options.deadline)
    except _Untrusted as error:
        base = expand(problem.posterior(kernel), problem.likelihood, problem.y, start, problem.options)
        status = replace(base.inference.status, message=f"{UNTRUSTED} ({error})")
        return Learned(Tuned(problem, kernel, base.inference, status), False)
    (at, base), notes = end.result, [end.ending]
    notes.append(f"the corrected evidence rose by {end.best.at.value - first:.3g} from EP's hyperparameters")
    if end.failures:
        notes.append(
            f"{refused} evaluations not to be trusted and {len(end.failures) - refused} without a value, "
            f"taken for infeasible ({end.failures[0]})"
        )
    notes.append(flat_ridge(prepared, at, base.inference))
    status = replace(
        base.inference.status,
        converged=end.converged and base.inference.status.converged,
        sweeps=sweeps,
        evaluations=end.evaluations,
        message="; ".join(note for note in notes if note),
    )
    return Learned(Tuned(problem, at, base.inference, status), True)
