"""A line search with the strong Wolfe conditions [Nocedal & Wright 2006, algorithms 3.5 and 3.6]."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]

DECREASE, SLOPE = 1e-4, 0.9  # of the strong Wolfe conditions
TRIALS = 25
ROUNDING = 1e-13  # relative error of a value that a trial may have
NARROWEST = 1e-14  # relative width of a bracket


class Point(NamedTuple):
    """A point of a search [n], its value, which is minimised, and the gradient [n]."""

    x: np.ndarray
    value: float
    gradient: np.ndarray


class Trial(NamedTuple):
    """A point on the line: how many steps away, and the slope along the step."""

    length: float
    point: Point
    slope: float

    @property
    def value(self) -> float:
        """At the point."""
        return self.point.value


def line_search(
    objective: Objective, at: Point, step: np.ndarray, first: float, limit: int
) -> tuple[Point, float]:
    """A point along a step that meets the strong Wolfe conditions, or else the lowest that was tried.

    Parameters
    ----------
    objective : callable
        x [n] -> value (infinite: a wall, to step back from) and gradient [n].
    at : Point
        Where the line begins.
    step : array [n]
        A direction of descent.
    first : float
        First trial, in steps.
    limit : int
        On evaluations; there are at most `TRIALS`.

    Returns
    -------
    point : Point
    length : float
        Its distance in steps; 0 if nothing better was tried.
    """
    down = float(at.gradient @ step)
    slack = ROUNDING * (1.0 + abs(at.value))
    low, high = Trial(0.0, at, down), None
    length = first
    for k in range(min(TRIALS, limit)):
        point = Point(at.x + length * step, *objective(at.x + length * step))
        trial = Trial(length, point, float(point.gradient @ step))
        highest = min(at.value + DECREASE * length * down, low.value) + slack
        if not trial.value <= highest:
            high = trial
        elif abs(trial.slope) <= SLOPE * abs(down):
            return trial.point, length
        else:
            ahead = 1.0 if high is None else high.length - low.length
            if trial.slope * ahead > 0.0:
                high = low
            low = trial
        if high is None:
            length *= 4.0 if k == 0 else 2.0
        elif abs(high.length - low.length) <= NARROWEST * max(high.length, low.length):
            break
        else:
            length = between(low, high)
    return low.point, low.length


def between(low: Trial, high: Trial) -> float:
    """Return the minimum of the cubic through two trials, a tenth of the bracket away from either end.

    Equation 3.59 of Nocedal & Wright (2006); a fifth of the way to a wall, halfway where the cubic has no
    minimum.
    """
    width = high.length - low.length
    if not np.isfinite(high.value):
        return low.length + 0.2 * width
    d1 = low.slope + high.slope - 3.0 * (low.value - high.value) / -width
    square = d1 * d1 - low.slope * high.slope
    if square < 0.0:
        return low.length + 0.5 * width
    d2 = float(np.copysign(np.sqrt(square), width))
    bottom = high.slope - low.slope + 2.0 * d2
    share = 1.0 - (high.slope + d2 - d1) / bottom if bottom else 0.5
    return low.length + min(max(share, 0.1), 0.9) * width
