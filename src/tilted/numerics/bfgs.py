"""BFGS with a full matrix, for some thousand parameters, and a stop by the gain that it expects.

The inverse Hessian is updated as in [Nocedal & Wright 2006, section 6.1], and before that made larger where
the function turned out flatter than expected, by max(1, s^T B s / s^T y) [Al-Baali 1998, Comput. Optim. Appl.
9, self-scaling]: pseudo-inputs are flat in most directions, so that a first guess from the steepest one is
far too small in all others. It is made smaller by that ratio only where the function turned out more than
1 / `OVERSHOT` times as steep: a model so wrong in one direction is as wrong in others, and would send step
after step far away (to a noise of zero, or a lengthscale without end).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsymv, dsyr2

from tilted.numerics.line_search import Objective, Point, line_search
from tilted.numerics.optimise import Outcome

DENSE = 3000  # parameters up to which the inverse Hessian is a matrix; above there are `PAIRS` pairs
PAIRS = 200
LEARNT = 30  # updates since a restart before which no expectation is believed; fewer parameters need fewer
HOLD = 3  # iterations in a row that have to expect too little
BARREN = 3  # line searches in a row that gain nothing, after which the model is given up, or the search
HARDLY = 0.01  # share of a little gain that was expected below which rounding hides what is left
OVERSHOT = 1e-3  # s^T B s / s^T y below which the model is scaled down
CURVED = 1e-12  # cosine of step and gradient difference below which a pair says nothing


def bfgs(objective: Objective, x0: np.ndarray, limit: int, gain: float) -> Outcome:
    """Minimise ``objective(x) -> (value, gradient)`` by BFGS.

    It has converged when the next step is expected to gain less than ``gain``, by the quadratic model that
    all steps have taught: g^T H g / 2, the gradient's size in the units of the function itself. That is a
    local test, which a saddle point passes too. So it has where that little is expected and a line search, or
    `BARREN` in a row before much was learnt, find next to nothing of it. Memory is n^2 numbers up to `DENSE`
    parameters (72 MB there) and 2 n `PAIRS` above (L-BFGS).

    Parameters
    ----------
    objective : callable
        An infinite value is a wall, from which a line search steps back.
    x0 : array [n]
    limit : int
        On evaluations.
    gain : float
        In units of the value.

    Returns
    -------
    Outcome
        With the last point, which is the lowest but for rounding.
    """
    evaluations = 0

    def counted(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        return objective(x)

    at = Point(x0, *counted(x0))
    inverse = inverse_hessian(len(x0))
    step = inverse.restart(at.gradient)
    small_steps, barren, message, converged = 0, 0, "", False
    while not message:
        expected = 0.5 * abs(float(at.gradient @ step))
        little = expected < gain and inverse.updates >= min(LEARNT, len(x0))
        small_steps = small_steps + 1 if little else 0
        if not np.any(at.gradient):
            message, converged = "the gradient is zero", True
        elif small_steps >= HOLD:
            message, converged = f"expected gain {expected:.1e} below {gain:g}", True
        elif evaluations >= limit:
            message = f"limit of {limit} evaluations, expected gain {expected:.1e}"
        else:
            first = 1.0 if inverse.updates else min(1.0, 1.0 / float(np.linalg.norm(step)))
            end, length = line_search(counted, at, step, first, limit - evaluations)
            gained = at.value - end.value
            barren = 0 if gained > 0.0 else barren + 1
            sure = little or barren >= BARREN and inverse.updates > 0 and expected < gain
            if sure and not gained > HARDLY * expected:
                message, converged = f"no better point, expected gain {expected:.1e} below {gain:g}", True
                at = end if gained > 0.0 else at
            elif length > 0.0 and barren < BARREN:
                step, at = inverse.update(at, end, step, length), end
            elif inverse.updates:
                step = inverse.restart(at.gradient)
            elif evaluations < limit:
                message = "line search found no better point"
    return Outcome(at.x, at.value, at.gradient, evaluations, converged, message)


def inverse_hessian(n: int) -> Matrix | Pairs:
    """The model that ``n`` parameters afford."""
    return Matrix() if n <= DENSE else Pairs()


class Matrix:
    """The inverse Hessian H of BFGS: ``scale`` times a matrix, of which the lower triangle is kept.

    An update is a product with a vector and one of rank two, n^2 multiplications each.
    """

    def __init__(self) -> None:
        self.updates, self.scale = 0, 1.0
        self.triangle = np.empty((0, 0))

    def restart(self, gradient: np.ndarray) -> np.ndarray:
        """Forget all; the next step is down the gradient."""
        self.updates = 0
        return -gradient

    def update(self, at: Point, end: Point, step: np.ndarray, length: float) -> np.ndarray:
        """Learn from a line search that went ``length`` times ``step``; the next step from its end."""
        s, y, g = end.x - at.x, end.gradient - at.gradient, end.gradient
        curvature = float(s @ y)
        if not _says_something(s, y, curvature):
            return self._descent(self._times(g), g) if self.updates else self.restart(g)
        if not self.updates:
            self.triangle = np.eye(len(s), order="F")
            self.scale = curvature / float(y @ y)  # [Nocedal & Wright 2006, eq. 6.20]
            Hg, Hy = self.scale * g, self.scale * y
        else:
            Hg = self._times(g)
            Hy = Hg + step  # the step is minus H times the gradient before
            flatter = -length * float(s @ at.gradient) / curvature  # s^T B s / s^T y
            factor = flatter if flatter > 1.0 or 0.0 < flatter < OVERSHOT else 1.0
            self.scale *= factor
            Hg, Hy = factor * Hg, factor * Hy
        v = (0.5 * (1.0 + float(y @ Hy) / curvature) * s - Hy) / curvature
        self.triangle = dsyr2(1.0 / self.scale, s, v, lower=1, a=self.triangle, overwrite_a=1)
        self.updates += 1
        return self._descent(Hg + s * float(v @ g) + v * float(s @ g), g)

    def _times(self, g: np.ndarray) -> np.ndarray:
        return np.asarray(dsymv(self.scale, self.triangle, g, lower=1))

    def _descent(self, Hg: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The step -H g, or down the gradient where rounding has made H indefinite."""
        return -Hg if np.all(np.isfinite(Hg)) and float(g @ Hg) > 0.0 else self.restart(g)


class Pairs:
    """The inverse Hessian of L-BFGS, of the last `PAIRS` steps and differences of gradients."""

    def __init__(self) -> None:
        self.updates = 0
        self.pairs: list[tuple[np.ndarray, np.ndarray, float]] = []

    def restart(self, gradient: np.ndarray) -> np.ndarray:
        """Forget all; the next step is down the gradient."""
        self.updates = 0
        self.pairs.clear()
        return -gradient

    def update(self, at: Point, end: Point, step: np.ndarray, length: float) -> np.ndarray:
        """Learn from a line search; the next step from its end [Nocedal & Wright 2006, algorithm 7.4]."""
        s, y, g = end.x - at.x, end.gradient - at.gradient, end.gradient
        curvature = float(s @ y)
        if _says_something(s, y, curvature):
            self.pairs.append((s, y, curvature))
            del self.pairs[:-PAIRS]
            self.updates += 1
        if not self.pairs:
            return self.restart(g)
        q, weights = g.copy(), []
        for s, y, curvature in reversed(self.pairs):
            weights.append(float(s @ q) / curvature)
            q -= weights[-1] * y
        s, y, curvature = self.pairs[-1]
        q *= curvature / float(y @ y)
        for (s, y, curvature), weight in zip(self.pairs, reversed(weights), strict=True):
            q += s * (weight - float(y @ q) / curvature)
        return -q if float(q @ g) > 0.0 else self.restart(g)


def _says_something(s: np.ndarray, y: np.ndarray, curvature: float) -> bool:
    """Return whether a step and its difference of gradients have a curvature above rounding."""
    return curvature > CURVED * float(np.linalg.norm(s) * np.linalg.norm(y))
