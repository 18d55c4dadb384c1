"""The methods of the relaxed-EP paper's experiments, and their outcomes [Qi & Guo 2012].

EP, Power EP and REP are sequential sweeps without rescue, as the paper describes them, up to a limit. A run
that diverges ends at its last proper posterior. There is no released code, and the paper leaves choices open.
REP is run with the three meanings of its divergence, with relaxations held after ten sweeps. The printed
version is ``rep-as-described``: eq. 36, step (e), searched to the end. EP is also run with plain damping, and
EP and REP also by this package's engine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.inference import rep
from tilted.inference.engine import infer
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.relaxations import NORMALISED, PRINTED, UNNORMALISED, Relaxation
from tilted.inference.textbook import CONVERGED, UNSETTLED, sweep_on

if TYPE_CHECKING:
    from tilted.inference.result import Inference
    from tilted.inference.rule import Rule
    from tilted.inference.textbook import Sweeps
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import Dense, DenseState

TOLERANCE = 1e-3
"""The paper's limit on the change of the weights in a sweep; for the engine, on its own residual."""

MAX_SWEEPS = 100
ENGINE = Options(tolerance=TOLERANCE)
DAMPING = 0.5
POWERS = (0.5, 0.8, 0.9)
PENALTIES = {NORMALISED: (0.03, 0.1, 0.3), UNNORMALISED: (0.01, 0.03, 0.1), PRINTED: (1.0, 3.0, 10.0)}
"""Values a parameter is chosen from; with a prior variance of 1 larger penalties are EP."""


class Problem(NamedTuple):
    """A prior at the training inputs, a likelihood, labels [N], and the limits of the sweeps."""

    prior: Dense
    likelihood: Likelihood
    y: np.ndarray
    max_sweeps: int = MAX_SWEEPS
    tolerance: float = TOLERANCE


class Outcome(NamedTuple):
    """The result of an inference.

    Attributes
    ----------
    state : DenseState
        The last proper posterior.
    outcome : str
        One of ``textbook.OUTCOMES``.
    sweeps : int
        Number of complete sweeps.
    changes : array
        Of the weights in each sweep; empty for the engine.
    reason : str
        Of a divergence.
    """

    state: DenseState
    outcome: str
    sweeps: int
    changes: np.ndarray
    reason: str


class Method(NamedTuple):
    """A method and the values from which its parameter is chosen.

    Attributes
    ----------
    about : str
    run : callable
        (problem, value) -> Outcome.
    name : str
        Of the parameter: "u", the power; "c", the penalty; empty if there is none.
    values : tuple of float
    """

    about: str
    run: Callable[[Problem, float], Outcome]
    name: str = ""
    values: tuple[float, ...] = (1.0,)


def swept(problem: Problem, rule: Rule, step: float = 1.0) -> Outcome:
    """Run sweeps of a rule."""
    prior, likelihood, y, most, tolerance = problem
    return _outcome(sweep_on(prior, likelihood, y, rule, most, tolerance, step))


def relaxed(problem: Problem, relaxation: Relaxation, searched: int = rep.SEARCHED) -> Outcome:
    """Run sweeps of REP, whose relaxations are held after a number of searched sweeps."""
    prior, likelihood, y, most, tolerance = problem
    return _outcome(rep.sweeps(prior, likelihood, y, relaxation, most, tolerance, searched))


def _outcome(end: Sweeps) -> Outcome:
    """Return the outcome of sweeps; a divergence names its sweep."""
    sweeps = len(end.changes)
    reason = f"sweep {sweeps + 1}: {end.reason}" if end.reason else ""
    return Outcome(end.state, end.outcome, sweeps, end.changes, reason)


def _settled(end: Inference[DenseState] | rep.Relaxed[DenseState]) -> Outcome:
    """Return the outcome of an inference by the engine, which does not diverge."""
    outcome, reason = (CONVERGED, "") if end.status.converged else (UNSETTLED, end.status.message)
    return Outcome(end.state, outcome, end.status.sweeps, np.empty(0), reason)


def _rep(reading: str, problem: Problem, c: float) -> Outcome:
    return relaxed(problem, Relaxation(c, reading))


READINGS = {
    NORMALISED: "REP, KL of normalised distributions",
    UNNORMALISED: "REP, KL of unnormalised distributions",
    PRINTED: "REP, eq. 36 as printed",
}
METHODS = {
    "ep": Method("EP, sequential, without rescue", lambda problem, _: swept(problem, EP)),
    "ep-damped": Method("the same with step 1/2", lambda problem, _: swept(problem, EP, DAMPING)),
    "ep-engine": Method(
        "EP by this package's engine",
        lambda problem, _: _settled(infer(problem.prior, problem.likelihood, problem.y, EP, ENGINE)),
    ),
    "pep": Method(
        "Power EP, sequential, without rescue", lambda problem, u: swept(problem, power_rule(u)), "u", POWERS
    ),
    **{
        f"rep-{reading}": Method(about, partial(_rep, reading), "c", PENALTIES[reading])
        for reading, about in READINGS.items()
    },
    "rep-as-described": Method(
        "REP, eq. 36 and step (e) as printed",
        lambda problem, c: relaxed(problem, Relaxation(c, PRINTED, printed_step=True), problem.max_sweeps),
        "c",
        PENALTIES[PRINTED][1:],
    ),
    "rep-engine": Method(
        "REP (normalised) by the engine",
        lambda problem, c: _settled(
            rep.infer(problem.prior, problem.likelihood, problem.y, Relaxation(c), ENGINE)
        ),
        "c",
        PENALTIES[NORMALISED],
    ),
}
"""Methods by name."""
