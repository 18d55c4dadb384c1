"""L-BFGS-B as every search here uses it, and maps from the real line to positive parameters."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Transform:
    """A map from the optimiser's real line to positive parameters."""

    forward: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]


WILD = 231.0  # above log 1e100


def _exp(x: np.ndarray) -> np.ndarray:
    """exp(x), infinite or 0 beyond e^+-`WILD`: a line search may try that, and kernels refuse it."""
    return np.exp(np.where(np.abs(x) > WILD, np.copysign(np.inf, x), x))


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
    """The result of a search: its end, the reason, and whether it met its tolerance."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    evaluations: int
    success: bool
    message: str


WORDS = {  # what L-BFGS-B and BFGS say; what is in words stays as it is
    r"(?<!converged: )(?<!point, )(no better point, )?expected gain (\S+) below": (
        r"converged: \1expected gain \2 below"
    ),
    r" \(L-BFGS-B: ABNORMAL\)": "",
    r"CONVERGENCE: NORM.OF.PROJECTED.GRADIENT.<=.PGTOL": "converged: the gradient is within its tolerance",
    r"CONVERGENCE: (REL_|RELATIVE )REDUCTION.OF.F.<=.FACTR\*EPSMCH": "converged: the last step gained little",
    r"STOP: TOTAL NO\. OF ITERATIONS REACHED LIMIT": "stopped at the limit of its iterations",
    r"STOP: TOTAL NO\. OF F,G EVALUATIONS EXCEEDS LIMIT": "stopped at the limit of its evaluations",
}


def in_words(message: str) -> str:
    """A message with the optimisers' own texts put as sentences."""
    for text, words in WORDS.items():
        message = re.sub(text, words, message, flags=re.IGNORECASE)
    return message


def wall(worst: float) -> float:
    """A value from which a line search steps back, ``worst`` being the largest seen."""
    return worst + 10.0 * (1.0 + abs(worst))


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
    result = minimize(
        objective,
        x0,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": limit, "maxfun": limit, "ftol": relative, "gtol": gradient},
    )
    message = str(result.message)
    if message.startswith("ABNORMAL"):
        message = "line search found no better point (L-BFGS-B: ABNORMAL)"
    return Outcome(result.x, float(result.fun), result.jac, int(result.nfev), bool(result.success), message)
