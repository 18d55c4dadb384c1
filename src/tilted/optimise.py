"""L-BFGS-B as every search here uses it, and maps from the real line to positive parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from scipy.optimize import minimize

if TYPE_CHECKING:
    from collections.abc import Sequence

BestT = TypeVar("BestT")
SAME = 1e-9  # relative difference of two values that are taken for one


@dataclass(frozen=True)
class Transform:
    """A map from the optimiser's real line to positive parameters."""

    forward: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]


def _exp(x: np.ndarray) -> np.ndarray:
    """exp(x), infinite where that overflows: a line search may try it, and kernels refuse it."""
    with np.errstate(over="ignore"):
        return np.exp(x)


TRANSFORMS = {
    "softplus": Transform(
        lambda x: np.logaddexp(0.0, x),
        lambda p: p + np.log(-np.expm1(-p)),
        lambda x: np.exp(-np.logaddexp(0.0, -x)),
    ),
    "log": Transform(_exp, np.log, _exp),
}


@dataclass(frozen=True)
class Outcome:
    """Where a search ended, how, and whether it met its tolerance."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    evaluations: int
    success: bool
    message: str


def wall(worst: float) -> float:
    """A value from which a line search steps back, ``worst`` being the largest seen."""
    return worst + 10.0 * (1.0 + abs(worst))


@dataclass(frozen=True)
class Climb(Generic[BestT]):
    """How a search for a maximum ended.

    Attributes
    ----------
    best : object
        What the evaluation with the largest value brought.
    value : float
        There.
    slope : float
        Largest entry of the gradient there.
    converged : bool
        Whether the tolerance was met, and there.
    evaluations : int
    message : str
        How the search ended, and of evaluations that failed.
    """

    best: BestT
    value: float
    slope: float
    converged: bool
    evaluations: int
    message: str


def climb(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray, BestT]],
    x0: np.ndarray,
    limit: int,
    relative: float,
    gradient: float,
) -> Climb[BestT]:
    """Maximise by L-BFGS-B, keeping the best evaluation wherever the search ends.

    Parameters
    ----------
    evaluate : callable
        x -> value, gradient [n], anything. ArithmeticError, ValueError and numbers that are not finite are a
        wall from which a line search steps back.
    x0 : array [n]
    limit, relative, gradient
        As for `lbfgs`.

    Raises
    ------
    ArithmeticError, ValueError
        If the first evaluation fails.
    """
    best: list[tuple[float, float, BestT]] = []  # the best evaluation, once there is one
    failures: list[str] = []
    worst = [0.0]

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            value, slope, found = evaluate(x)
            if not (np.isfinite(value) and np.all(np.isfinite(slope))):
                raise ValueError("the energy or its gradient is not finite")
        except (ArithmeticError, ValueError) as error:
            if not best:
                raise
            failures.append(str(error))
            return wall(worst[0]), np.zeros_like(x)
        worst[0] = max(worst[0], -value)
        if not best or value > best[0][0]:
            best[:] = [(value, float(np.max(np.abs(slope))), found)]
        return -value, -slope

    outcome = lbfgs(objective, x0, limit, relative, gradient)
    value, slope, found = best[0]
    there = abs(outcome.value + value) <= SAME * (1.0 + abs(value))
    message = outcome.message
    if failures:
        message += f"; {len(failures)} evaluations without an energy ({failures[0]})"
    return Climb(found, value, slope, outcome.success and there, outcome.evaluations, message)


def lbfgs(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x0: np.ndarray,
    limit: int,
    relative: float,
    gradient: float,
    bounds: Sequence[tuple[float, float | None]] | None = None,
) -> Outcome:
    """Minimise ``objective(x) -> (value, gradient)`` by L-BFGS-B.

    Parameters
    ----------
    limit : int
        On iterations and evaluations.
    relative : float
        Stop when an iteration lowers the value by less than this, relatively.
    gradient : float
        Stop when no entry of the projected gradient is larger.
    """
    found = minimize(
        objective,
        x0,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": limit, "maxfun": limit, "ftol": relative, "gtol": gradient},
    )
    message = str(found.message)
    if message.startswith("ABNORMAL"):
        message = "line search found no better point (L-BFGS-B: ABNORMAL)"
    return Outcome(found.x, float(found.fun), found.jac, int(found.nfev), bool(found.success), message)
