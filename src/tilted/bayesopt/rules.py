"""Rules for the next evaluation: PESC, expected improvement where it is likely feasible, chance.

A rule sees the surrogates in the unit cube and proposes a place, and whether one function alone is to be
observed there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr

from tilted.bayesopt import optima
from tilted.bayesopt.acquisition import entropy_reduction
from tilted.bayesopt.nfcpd import infer
from tilted.bayesopt.surrogate import Surrogate
from tilted.inference.options import require_whole
from tilted.likelihoods.normal import hazard, loss_of_variance, remaining_curvature

if TYPE_CHECKING:
    from typing import Any

STARTS, STEPS, DIFFERENCE = 3, 15, 1e-4  # of the search for the best place
AROUND = 0.02  # from known places to places beside them, of the box
INSIDE = 1e-6  # of a log probability: how far within the confident region a recommendation is sought


@dataclass(frozen=True)
class Settings:
    """Settings of the work that a proposal takes.

    Parameters
    ----------
    optima : int
        Places x* sampled.
    candidates : int
        Random places compared, before the best are refined.
    decoupled : bool
        Whether to observe the one function that promises most, by `pesc` alone. Then most places have no
        value of some function, and the best evaluation is one of the few that have all.
    confidence : float
        Probability that each constraint has to hold with, by itself, where the minimum is recommended.

    Raises
    ------
    ValueError
        Numbers below 1, a confidence outside (0, 1).
    """

    optima: int = 30
    candidates: int = 1000
    decoupled: bool = False
    confidence: float = 0.975

    def __post_init__(self) -> None:
        for name in ("optima", "candidates"):
            require_whole(name, getattr(self, name), 1)
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence must be between 0 and 1, got {self.confidence}")


@dataclass(frozen=True)
class Proposal:
    """A place [D] in the unit cube, the one function to observe there (None: all), and what led to it."""

    place: np.ndarray
    function: int | None
    why: dict[str, Any]


def pesc(functions: Sequence[Surrogate], rng: np.random.Generator, settings: Settings) -> Proposal:
    """Maximise the expected reduction of entropy; without any x*, the probability of feasibility."""
    box = np.tile([0.0, 1.0], (functions[0].points.shape[1], 1))
    places = optima.sample(functions[0], functions[1:], box, settings.optima, rng, settings.candidates)
    counts: dict[str, float] = {
        "optima": len(places.places),
        "infeasible_draws": places.infeasible,
        "unrefined": places.unrefined,
    }
    if not len(places.places):
        place, value = highest(lambda X: log_feasible(functions, X), box, rng, settings.candidates)
        return Proposal(place, None, {"rule": "feasibility", **counts, "value": value})
    nfcpd = infer(functions[0], functions[1:], places.places)
    counts |= {
        "unconverged": int(np.sum(~nfcpd.status.converged)),
        "iterations": float(np.mean(nfcpd.status.iterations)),
        "halvings": int(np.sum(nfcpd.status.halvings)),
        "dropped": int(np.sum(nfcpd.status.dropped)),
    }

    def promised(X: np.ndarray) -> np.ndarray:
        reductions = entropy_reduction(nfcpd, X)
        return reductions.max(axis=0) if settings.decoupled else reductions.sum(axis=0)

    place, value = highest(promised, box, rng, settings.candidates, places.places)
    best = int(np.argmax(entropy_reduction(nfcpd, place[None])[:, 0])) if settings.decoupled else None
    return Proposal(place, best, {"rule": "pesc", **counts, "value": value})


def improvement(functions: Sequence[Surrogate], rng: np.random.Generator, settings: Settings) -> Proposal:
    """Expected improvement times probability of feasibility [Schonlau et al. 1998; Gardner et al. 2014].

    Over the best posterior mean at a point where the means of all constraints are positive; where there is
    none, the probability of feasibility alone.
    """
    box = np.tile([0.0, 1.0], (functions[0].points.shape[1], 1))
    means = [function.rows(function.points).mean for function in functions]
    feasible = np.all([c > 0 for c in means[1:]], axis=0) & np.ones(len(means[0]), dtype=bool)
    if not np.any(feasible):
        place, value = highest(lambda X: log_feasible(functions, X), box, rng, settings.candidates)
        return Proposal(place, None, {"rule": "feasibility", "value": value})
    best = float(np.min(means[0][feasible]))
    place, value = highest(
        lambda X: log_improvement(functions[0], best, X) + log_feasible(functions, X),
        box,
        rng,
        settings.candidates,
        functions[0].points[feasible],
    )
    return Proposal(place, None, {"rule": "improvement", "value": value})


def chance(functions: Sequence[Surrogate], rng: np.random.Generator, settings: Settings) -> Proposal:
    """A uniformly random place."""
    dimension: int = functions[0].points.shape[1]
    return Proposal(rng.random(dimension), None, {"rule": "random"})


RULES: dict[str, Callable[[Sequence[Surrogate], np.random.Generator, Settings], Proposal]] = {
    "pesc": pesc,
    "improvement": improvement,
    "random": chance,
}


def log_feasible(functions: Sequence[Surrogate], Xs: np.ndarray) -> np.ndarray:
    """Log probability [n] that all constraints hold."""
    return sum((_log_probability(function, Xs) for function in functions[1:]), np.zeros(len(Xs)))


def log_improvement(objective: Surrogate, best: float, Xs: np.ndarray) -> np.ndarray:
    """Log of the expected improvement sd (z Phi(z) + phi(z)), z = (best - mean) / sd.

    z + hazard(z) cancels below 0, where it is the loss of variance by the hazard.
    """
    mean, variance = objective.predict(Xs)
    sd = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    z = (best - mean) / sd
    low = np.minimum(z, 0.0)
    r = hazard(low)
    below = loss_of_variance(low, r, remaining_curvature(low, r)) / r
    return np.log(sd) + np.log(np.where(z > 0.0, z + hazard(z), below)) + log_ndtr(z)


def highest(
    value: Callable[[np.ndarray], np.ndarray],
    box: np.ndarray,
    rng: np.random.Generator,
    candidates: int,
    near: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """A maximum of ``value`` (places [n, D] -> [n]) in a box [D, 2]: random places, the best refined.

    Parameters
    ----------
    near : array [n, D], optional
        Places to look around.
    """
    low, high = box.T
    places = rng.uniform(low, high, (candidates, len(box)))
    if near is not None:
        around = near + AROUND * (high - low) * rng.standard_normal(near.shape)
        places = np.vstack([places, np.clip(np.vstack([near, around]), low, high)])
    values = value(places)
    ranked = np.argsort(-values)[:STARTS]
    best, top = places[ranked[0]], float(values[ranked[0]])
    for start in places[ranked]:
        end = minimize(
            _with_slope(value, low, high),
            start,
            jac=True,
            bounds=box,
            method="L-BFGS-B",
            options={"maxiter": STEPS, "maxfun": 2 * STEPS},
        )
        if -end.fun > top:
            best, top = np.clip(end.x, low, high), float(-end.fun)
    return best, top


def _with_slope(
    value: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """-value and its gradient by central differences, one-sided at the box's walls."""
    steps = DIFFERENCE * np.diag(high - low)

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        up, down = np.minimum(x + steps, high), np.maximum(x - steps, low)
        values = value(np.vstack([x[None], up, down]))
        n = len(x)
        width = np.sum(up - down, axis=1)
        return -float(values[0]), -(values[1 : n + 1] - values[n + 1 :]) / width

    return negative


def recommend(
    functions: Sequence[Surrogate], rng: np.random.Generator, settings: Settings
) -> tuple[np.ndarray, bool]:
    """Minimise the posterior mean of f over the places that are feasible with the settings' confidence.

    Returns
    -------
    place : array [D]
    confident : bool
        Whether there is such a place; if not, ``place`` is the one where all most likely hold.
    """
    box = np.tile([0.0, 1.0], (functions[0].points.shape[1], 1))
    needed = np.log(settings.confidence)

    def holds(X: np.ndarray) -> np.ndarray:
        margins = [_log_probability(function, X) - needed for function in functions[1:]]
        return np.min(margins, axis=0) if margins else np.ones(len(X))

    places = np.vstack([functions[0].points, rng.random((settings.candidates, len(box)))])
    allowed = holds(places) >= 0
    if not np.any(allowed):  # by chance: is there one?
        near = box, rng, settings.candidates, functions[0].points
        place, margin = highest(holds, *near)
        if margin < 0:
            return highest(lambda X: log_feasible(functions, X), *near)[0], False
        around = place + AROUND * rng.standard_normal((settings.candidates, len(box)))
        places = np.vstack([place, np.clip(around, 0.0, 1.0)])
        allowed = np.append(True, holds(places[1:]) >= 0)
    mean = np.where(allowed, functions[0].predict(places)[0], np.inf)
    start = places[np.argmin(mean)]
    # SLSQP ends on a boundary up to its accuracy, on either side
    rules = [
        {"type": "ineq", "fun": lambda x, c=c: _log_probability(c, x[None])[0] - needed - INSIDE}
        for c in functions[1:]
    ]
    end = minimize(
        lambda x: functions[0].predict(x[None])[0][0],
        start,
        bounds=box,
        constraints=rules,
        method="SLSQP",
        options={"maxiter": 60, "ftol": 0.1 * INSIDE},
    )
    x = np.clip(end.x, 0.0, 1.0)
    better = np.all(np.isfinite(x)) and holds(x[None])[0] >= 0
    return (x if better and functions[0].predict(x[None])[0][0] <= np.min(mean) else start), True


def _log_probability(function: Surrogate, Xs: np.ndarray) -> np.ndarray:
    mean, variance = function.predict(Xs)
    return log_ndtr(mean / np.sqrt(np.maximum(variance, np.finfo(float).tiny)))
