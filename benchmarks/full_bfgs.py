"""Quasi-Newton search with a full matrix and a stop by expected gain, for some thousand parameters.

BFGS as in [Nocedal & Wright 2006, section 6.1], with three additions that sparse searches need: the inverse
Hessian is inflated where the energy turns out flatter than expected [Al-Baali 1998] (pseudo-inputs are flat
in most directions, so a first guess from the steepest one is far too small), the first trial of every line
search is bounded, and the search stops when the step that it would take next promises less than ``gain``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from scipy.linalg.blas import dsymv, dsyr2

BestT = TypeVar("BestT")
Energy = Callable[[np.ndarray], tuple[float, np.ndarray]]

DENSE = 3000  # parameters up to which the inverse Hessian is a matrix; above it is a product of `PAIRS` pairs
PAIRS = 200
DECREASE, SLOPE = 1e-4, 0.9  # strong Wolfe conditions
TRIALS = 25  # of a line search
CAUTIOUS = 30  # first updates, before which nothing is inflated
LEARNT = 30  # updates since a restart, before which no promise is believed (fewer if n is less)
HOLD = 3  # iterations in a row that must promise less than ``gain``
ROUNDING = 1e-13  # relative error of an energy that a line search lets pass
CURVED = 1e-12  # cosine of step and gradient difference below which a pair says nothing


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
    gain : float
        What a full quasi-Newton step from the last point was expected to add to the value, g^T H g / 2.
    converged : bool
        Whether the gain fell below the tolerance.
    evaluations : int
    message : str
        How the search ended, and of evaluations that failed.
    """

    best: BestT
    value: float
    slope: float
    gain: float
    converged: bool
    evaluations: int
    message: str


class Point(NamedTuple):
    """A point of a search, with the value that is minimised and its gradient."""

    x: np.ndarray
    value: float
    gradient: np.ndarray


def climb(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray, BestT]],
    x0: np.ndarray,
    limit: int,
    gain: float = 1e-5,
    stride: float | np.ndarray = 0.3,
) -> Climb[BestT]:
    """Maximise, keeping the best evaluation wherever the search ends.

    Parameters
    ----------
    evaluate : callable
        x -> value, gradient [n], anything. ArithmeticError, ValueError and numbers that are not finite are a
        wall from which a line search steps back.
    x0 : array [n]
    limit : int
        On evaluations.
    gain : float
        Stop when the model's next step promises less than this, in units of the value, `HOLD` times running.
    stride : float or array [n]
        Largest first trial of a line search in each coordinate; a line search may lengthen it.

    Raises
    ------
    ArithmeticError, ValueError
        If the first evaluation fails.
    """
    best: list[tuple[float, float, BestT]] = []  # the best evaluation, once there is one
    failures: list[str] = []
    evaluations = 0

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        try:
            value, slope, found = evaluate(x)
            if not (np.isfinite(value) and np.all(np.isfinite(slope))):
                raise ValueError("the energy or its gradient is not finite")
        except (ArithmeticError, ValueError) as error:
            if not best:
                raise
            failures.append(str(error))
            return np.inf, np.zeros_like(x)
        if not best or value > best[0][0]:
            best[:] = [(value, float(np.max(np.abs(slope))), found)]
        return -value, -slope

    at = Point(x0, *objective(x0))
    inverse = inverse_hessian(len(x0))
    step, promise, held, message = inverse.restart(at.gradient), np.inf, 0, ""
    while not message:
        promise = 0.5 * abs(float(at.gradient @ step))
        held = held + 1 if promise < gain and inverse.updates >= min(LEARNT, len(x0)) else 0
        if held >= HOLD or promise == 0:
            message = f"the next step promises less than {gain:g}"
        elif evaluations >= limit:
            message = "limit of evaluations"
        else:
            first = min(1.0, float(np.min(stride / np.maximum(np.abs(step), 1e-300))))
            if not inverse.known:
                first = min(first, 1.0 / float(np.linalg.norm(step)))
            end, length = line_search(objective, at, step, first, limit - evaluations)
            if length > 0.0:
                step = inverse.update(at, end, step, length)
                at = end
            elif inverse.known:
                step = inverse.restart(at.gradient)
            else:
                message = "line search found no better point"
    value, slope, found = best[0]
    converged = message.startswith("the next step")
    if failures:
        message += f"; {len(failures)} evaluations without an energy ({failures[0]})"
    return Climb(found, value, slope, promise, converged, evaluations, message)


def line_search(
    objective: Energy, at: Point, step: np.ndarray, first: float, limit: int
) -> tuple[Point, float]:
    """A point along ``step`` with the strong Wolfe conditions, or else the lowest seen; length 0 if none is.

    Brackets by growing the trial, then halves or interpolates by cubics, a tenth away from either end.

    Parameters
    ----------
    objective : callable
        x -> value to minimise (infinite: step back) and gradient.
    at : Point
    step : array [n]
        A direction of descent.
    first : float
        First trial, in steps.
    limit : int
        On evaluations.
    """
    down = float(at.gradient @ step)
    slack = ROUNDING * (1.0 + abs(at.value))
    low = (0.0, at.value, down)
    high: tuple[float, float, float] | None = None
    lowest, length, trial = at, 0.0, first
    for k in range(min(TRIALS, limit)):
        x = at.x + trial * step
        value, gradient = objective(x)
        slope = float(gradient @ step) if np.isfinite(value) else np.nan
        if value > at.value + DECREASE * trial * down + slack or value > low[1] + slack:
            high = (trial, value, slope)
        else:
            if abs(slope) <= SLOPE * abs(down):
                return Point(x, value, gradient), trial
            if value < lowest.value:
                lowest, length = Point(x, value, gradient), trial
            if slope > 0.0:
                high = (trial, value, slope)
            else:
                low = (trial, value, slope)
        if high is None:
            trial *= 4.0 if k == 0 else 2.0
        elif high[0] - low[0] <= 1e-14 * high[0]:
            break
        else:
            trial = between(low, high)
    return lowest, length


def between(low: tuple[float, float, float], high: tuple[float, float, float]) -> float:
    """Where the cubic through two (place, value, slope) is least, kept inside; a fifth on if unknown."""
    (a, value_a, slope_a), (b, value_b, slope_b) = low, high
    if not np.isfinite(value_b):
        return a + 0.2 * (b - a)
    d1 = slope_a + slope_b - 3.0 * (value_a - value_b) / (a - b)
    square = d1 * d1 - slope_a * slope_b
    if square < 0.0:
        return 0.5 * (a + b)
    d2 = float(np.sqrt(square))
    bottom = slope_b - slope_a + 2.0 * d2
    place = b - (b - a) * (slope_b + d2 - d1) / bottom if bottom else 0.5 * (a + b)
    return min(max(place, a + 0.1 * (b - a)), b - 0.1 * (b - a))


def inverse_hessian(n: int) -> Matrix | Pairs:
    """The model of the inverse Hessian that ``n`` parameters afford."""
    return Matrix(n) if n <= DENSE else Pairs()


class Matrix:
    """BFGS's inverse Hessian, ``scale`` times the lower triangle of ``H``; an update is a symv and a syr2."""

    def __init__(self, n: int) -> None:
        self.n, self.updates, self.scale = n, 0, 1.0
        self.H = np.empty((0, 0))

    @property
    def known(self) -> bool:
        """Whether there was an update since the last restart."""
        return self.updates > 0

    def restart(self, gradient: np.ndarray) -> np.ndarray:
        """Forget all; the next step is down the gradient."""
        self.updates = 0
        return -gradient

    def update(self, at: Point, end: Point, step: np.ndarray, length: float) -> np.ndarray:
        """Learn from a line search of ``length`` along ``step``; the next step from its end."""
        s, y, g = end.x - at.x, end.gradient - at.gradient, end.gradient
        curvature = float(s @ y)
        usable = curvature > CURVED * float(np.linalg.norm(s) * np.linalg.norm(y))
        if not usable:
            return self.restart(g) if not self.known else self._descend(self._times(g), g)
        if not self.known:
            self.H = np.eye(self.n, order="F")
            self.scale = curvature / float(y @ y)
            Hg, Hy = self.scale * g, self.scale * y
        else:
            Hg = self._times(g)
            Hy = Hg + step  # step = -H times the gradient before
            expected = -length * float(s @ at.gradient)  # s^T H^-1 s
            if self.updates >= CAUTIOUS and expected > curvature:
                self.scale *= expected / curvature
                Hg, Hy = Hg * (expected / curvature), Hy * (expected / curvature)
        v = (0.5 * (1.0 + float(y @ Hy) / curvature) * s - Hy) / curvature
        self.H = dsyr2(1.0 / self.scale, s, v, lower=1, a=self.H, overwrite_a=1)
        self.updates += 1
        return self._descend(Hg + s * float(v @ g) + v * float(s @ g), g)

    def _times(self, g: np.ndarray) -> np.ndarray:
        return np.asarray(dsymv(self.scale, self.H, g, lower=1))

    def _descend(self, Hg: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The step -H g, or down the gradient where rounding has made H indefinite."""
        return -Hg if np.all(np.isfinite(Hg)) and float(g @ Hg) > 0.0 else self.restart(g)


class Pairs:
    """L-BFGS's inverse Hessian, of the last `PAIRS` steps and gradient differences."""

    def __init__(self) -> None:
        self.updates = 0
        self.pairs: list[tuple[np.ndarray, np.ndarray, float]] = []

    @property
    def known(self) -> bool:
        """Whether there was an update since the last restart."""
        return bool(self.pairs)

    def restart(self, gradient: np.ndarray) -> np.ndarray:
        """Forget all; the next step is down the gradient."""
        self.updates = 0
        self.pairs.clear()
        return -gradient

    def update(self, at: Point, end: Point, step: np.ndarray, length: float) -> np.ndarray:
        """Learn from a line search; the next step from its end [Nocedal & Wright 2006, algorithm 7.4]."""
        s, y = end.x - at.x, end.gradient - at.gradient
        curvature = float(s @ y)
        if curvature > CURVED * float(np.linalg.norm(s) * np.linalg.norm(y)):
            self.pairs.append((s, y, curvature))
            del self.pairs[:-PAIRS]
            self.updates += 1
        q, weights = end.gradient.copy(), []
        for s, y, curvature in reversed(self.pairs):
            weights.append(float(s @ q) / curvature)
            q -= weights[-1] * y
        if self.pairs:
            s, y, curvature = self.pairs[-1]
            q *= curvature / float(y @ y)
        for (s, y, curvature), weight in zip(self.pairs, reversed(weights), strict=True):
            q += s * (weight - float(y @ q) / curvature)
        return -q if float(q @ end.gradient) > 0.0 else self.restart(end.gradient)
