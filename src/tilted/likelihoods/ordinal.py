"""Ordered levels by thresholds: p(y = c | f) = Phi(b_{c+1} - f) - Phi(b_c - f) [Chu & Ghahramani 2005].

With b_0 = -inf and b_C = inf, a level is where f plus noise of variance 1 falls; two levels are the probit.
Log-concave. Under N(m, v) the same holds with u = (f + noise - m) / sqrt(1 + v), a standard normal truncated
to [(b_c - m) / sqrt(1 + v), (b_{c+1} - m) / sqrt(1 + v)]: with its mean E and variance V, d1 is
E / sqrt(1 + v), d2 is -(1 - V) / (1 + v) and the tilted variance v (1 + v V) / (1 + v), of which nothing
cancels if E, V and 1 - V keep their digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import erf, erfc, erfcx, ndtri

from tilted.likelihoods.contract import Shape, Tilted, as_floats, require_finite, require_powers
from tilted.likelihoods.normal import LOG_SQRT_2PI
from tilted.likelihoods.panels import ByPanels
from tilted.likelihoods.shape import standardised
from tilted.numerics.quadrature import gauss_legendre

ROOT_2, SQRT_HALF_PI = np.sqrt(2.0), np.sqrt(0.5 * np.pi)
NODES, BLOCK = 48, 4096  # of one interval; intervals integrated at once
MANY = 20  # levels, of which nobody asks for more than are there
NEAR = 5.0  # half widths of levels with one set of panels
STEEP, NARROW = 100.0, 0.5  # distance of an interval and its width beyond which closed forms lose digits
ONE_LEVEL = "ordinal needs at least two levels in the training targets, got only one"
DROP = 50.0  # the density is integrated down to exp(-DROP) of its highest value in the interval


class Truncated(NamedTuple):
    """A standard normal truncated to intervals; arrays of their shape.

    ``loss`` is 1 - variance; ``third`` and ``fourth`` are cumulants.
    """

    log_mass: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    loss: np.ndarray
    third: np.ndarray
    fourth: np.ndarray


@dataclass(frozen=True)
class Ordinal(ByPanels):
    """Levels 0 to C - 1 between C - 1 thresholds.

    Parameters
    ----------
    thresholds : tuple of float
        Increasing, in units of the noise of f. Learned where a fit learns the likelihood; as the level of f
        is theirs to take, its prior mean is best left at 0.

    Raises
    ------
    ValueError
        If they are not finite and increasing.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.likelihoods import Ordinal
    >>> likelihood = Ordinal((-1.0, 1.0))
    >>> likelihood.log_predictive(np.array([1.0]), np.array([0.5]), np.array([1.0])).round(3)
    array([-0.706])
    """

    thresholds: tuple[float, ...] = (-1.0, 1.0)
    name: ClassVar[str] = "ordinal"
    log_concave: ClassVar[bool] = True

    def __post_init__(self) -> None:
        thresholds = tuple(float(b) for b in self.thresholds)
        if not (thresholds and np.all(np.isfinite(thresholds)) and np.all(np.diff(thresholds) > 0)):
            raise ValueError(f"thresholds must be finite and increasing, got {self.thresholds}")
        object.__setattr__(self, "thresholds", thresholds)

    @classmethod
    def of_levels(cls, y: np.ndarray, variance: float = 1.0, weights: np.ndarray | None = None) -> Self:
        """Thresholds at which f ~ N(0, variance) gives the shares of the levels ``y`` [N], with weights [N].

        Half a count is added to every level. ValueError unless they are whole numbers from 0, two of them at
        least; from `MANY` levels on half of them have to occur: years, say, have to be numbered first.
        """
        y = require_finite(as_floats(y, "levels"))
        if not (y.size and np.all((y >= 0) & (y == np.floor(y)))):
            raise ValueError("levels are whole numbers from 0")
        there = np.unique(y)
        if len(there) < 2:
            raise ValueError(ONE_LEVEL)
        if there[-1] >= max(2 * len(there), MANY):
            raise ValueError(
                f"most of the levels 0 to {there[-1]:.0f} have no row; number those there are from 0 "
                "(np.unique(y, return_inverse=True)[1]), as GPOrdinalClassifier does"
            )
        counts = np.bincount(y.astype(int), weights) + 0.5
        below = np.cumsum(counts)[:-1] / np.sum(counts)
        return cls(tuple(np.sqrt(1.0 + variance) * ndtri(below)))

    @classmethod
    def of_all_levels(cls, y: np.ndarray, variance: float = 1.0, mean: float = 0.0) -> Self:
        """Return thresholds by f ~ N(mean, variance); ValueError for a missing lower level too."""
        y = require_finite(as_floats(y, "levels"))
        likelihood = cls.of_levels(y, variance)
        missing = np.setdiff1d(np.arange(len(likelihood.thresholds) + 1), y)
        if len(missing):
            raise ValueError(
                f"no row has level {missing[0]}: number those there are from 0 "
                "(np.unique(y, return_inverse=True)[1]), or give thresholds"
            )
        return cls(tuple(mean + b for b in likelihood.thresholds))

    def domain(self, y: np.typing.ArrayLike) -> np.ndarray:
        """Levels [N] as floats; ValueError if one is none of 0 to C - 1."""
        y, highest = require_finite(y), len(self.thresholds)
        wrong = (y < 0) | (y > highest) | (y != np.floor(y))
        if np.any(wrong):
            row = int(np.flatnonzero(wrong)[0])
            more = "; Ordinal.of_levels(y) has thresholds for more" if np.all(y[wrong] > highest) else ""
            message = f"levels must be whole numbers from 0 to {highest}"
            raise ValueError(f"{message}, got {y[row]:g} at row {row}{more}")
        return y

    def check(self, y: np.typing.ArrayLike) -> np.ndarray:
        """Check levels [N]; ValueError also if only one level is present."""
        y = self.domain(y)
        if len(np.unique(y)) < 2:
            raise ValueError(ONE_LEVEL)
        return y

    def coordinates(self) -> np.ndarray:
        """The first threshold and logarithms of the gaps [C - 1]: what a search moves."""
        return np.append(self.thresholds[0], np.log(np.diff(self.thresholds)))

    def at(self, coordinates: np.ndarray) -> Self:
        """Return the likelihood with other thresholds."""
        with np.errstate(over="ignore"):  # refused
            return type(self)(tuple(coordinates[0] + np.append(0.0, np.cumsum(np.exp(coordinates[1:])))))

    def stretched(self, factor: float) -> Self:
        """Return the likelihood with thresholds ``factor`` > 0 times as far from 0."""
        return type(self)(tuple(factor * np.array(self.thresholds)))

    def tilted(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0) -> Tilted:
        """Moments of N(f; m, v) p(y|f)^power, arrays [N]; by panels for powers other than 1."""
        if np.any(require_powers(power, m) != 1.0):
            return super().tilted(y, m, v, power)
        u, root = self._between(y, m, np.sqrt(1.0 + v)), np.sqrt(1.0 + v)
        d1 = u.mean / root
        variance = v * (1.0 + v * u.variance) / (1.0 + v)
        return Tilted(u.log_mass, d1, -u.loss / (1.0 + v), m + v * d1, variance)

    def tilted_shape(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Shape:
        """Skewness and excess kurtosis [N] of N(f; m, v) p(y|f) / Z, v / (1 + v) of f being u's."""
        u = self._between(y, m, np.sqrt(1.0 + v))
        return standardised(u.third, u.fourth, u.variance, v * u.variance / (1.0 + v * u.variance))

    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self._given(y, f)[0]

    def slopes(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, mean, loss = self._given(y, f)
        return mean, -loss

    def bend(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """At the ends of levels [N], over at least the noise's length of 1; one place for both if near."""
        low, high = self._ends(y)
        low, high = np.where(np.isinf(low), high, low), np.where(np.isinf(high), low, high)
        half = 0.5 * (high - low)
        if np.all(half < NEAR):
            return low + half, np.maximum(half, 1.0)
        places = np.stack([low, high], axis=1)
        return places, np.ones_like(places)

    def log_levels(self, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Log probabilities [N, C] of all levels where f ~ N(m, v)."""
        levels = np.arange(len(self.thresholds) + 1.0)
        return self._between(levels, m[:, None], np.sqrt(1.0 + v)[:, None]).log_mass

    def draw(self, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """New levels given ``f``, of its shape."""
        return np.searchsorted(self.thresholds, f + rng.normal(size=np.shape(f))).astype(float)

    def target_moments(self, m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N] of the numbers of new levels where f ~ N(m, v)."""
        p, levels = np.exp(self.log_levels(m, v)), np.arange(len(self.thresholds) + 1.0)
        mean = p @ levels
        return mean, np.sum(p * (levels - mean[:, None]) ** 2, axis=1)

    def errors(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """By how many levels the most probable one is off [N]."""
        return np.abs(y - np.argmax(self.log_levels(m, v), axis=1))

    def _ends(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ends, level = np.array([-np.inf, *self.thresholds, np.inf]), np.asarray(y).astype(int)
        return ends[level], ends[level + 1]

    def _between(self, y: np.ndarray, m: np.ndarray, root: np.ndarray) -> Truncated:
        """Truncate f + noise ~ N(m, root^2) to the levels' intervals, in units of root about m."""
        low, high = self._ends(y)
        with np.errstate(over="ignore"):
            ends = np.broadcast_arrays((low - m) / root, (high - m) / root, (high - low) / root)
        return Truncated(*_in_blocks(truncated, ends))

    def _given(self, y: np.ndarray, f: np.ndarray) -> list[np.ndarray]:
        """Log mass, mean and 1 - variance of the noise where levels and f are given, broadcast."""
        low, high = self._ends(y)
        return _in_blocks(by_ends, np.broadcast_arrays(low - f, high - f, high - low))


def _in_blocks(function: Callable[..., Sequence[np.ndarray]], ends: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Apply a function of intervals [N] to intervals of any shape."""
    flat = [np.ravel(end) for end in ends]
    blocks = range(0, max(len(flat[0]), 1), BLOCK)
    results = [function(*(end[first : first + BLOCK] for end in flat)) for first in blocks]
    return [np.concatenate(values).reshape(ends[0].shape) for values in zip(*results, strict=True)]


def truncated(low: np.ndarray, high: np.ndarray, width: np.ndarray) -> Truncated:
    """A standard normal truncated to [low, high], arrays [N], of which one end may be infinite.

    Mirrored so that the end near zero is to the left, and integrated about the mode where the density counts;
    ``width`` is high - low, which may have lost its digits in them. Moments about the mean cancel nowhere.
    The mean and, with zero inside, 1 - variance are from the densities at the ends: they may be tiny.
    """
    sign, near, far = _mirrored(low, high)
    mode, inside = np.maximum(near, 0.0), np.minimum(near, 0.0)
    lower = np.maximum(inside, -np.sqrt(2.0 * DROP))
    reach = 2.0 * DROP / (mode + np.sqrt(mode**2 + 2.0 * DROP))
    right = np.minimum(np.where(near > 0, width, far), reach)
    x, w, _ = gauss_legendre(NODES)
    half = 0.5 * (right - lower)
    s = lower[:, None] + half[:, None] * (1.0 + x)
    density = w * np.exp(-s * (mode[:, None] + 0.5 * s))
    mass = np.sum(density, axis=1)
    density /= mass[:, None]
    mass *= half  # in units of the density at the mode
    s -= np.sum(density * s, axis=1)[:, None]
    second, third, fourth = (np.sum(density * s**k, axis=1) for k in (2, 3, 4))

    at_near = np.exp(-0.5 * inside**2) / mass  # density in units of the mass
    mean, loss = _by_densities(near, far, width, at_near)
    loss = np.where(near > 0, 1.0 - second, loss)
    log_mass = np.log(mass) - 0.5 * mode**2 - LOG_SQRT_2PI
    log_mass = _log_of_most(near, far, log_mass)
    return Truncated(log_mass, sign * mean, second, loss, sign * third, fourth - 3.0 * second**2)


def by_ends(low: np.ndarray, high: np.ndarray, width: np.ndarray) -> list[np.ndarray]:
    """Log mass, mean and 1 - variance alone, in closed form where that keeps its digits: much cheaper."""
    sign, near, far = _mirrored(low, high)
    tail, inside = np.maximum(near, 0.0), np.minimum(near, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        fallen = np.exp(-0.5 * width * (near + far))
        mills = SQRT_HALF_PI * (erfcx(tail / ROOT_2) - fallen * erfcx(far / ROOT_2))
        across = SQRT_HALF_PI * (erf(far / ROOT_2) - erf(inside / ROOT_2))
    mass = np.where(near > 0, mills, across)
    hard = (near > STEEP) | ((near > 0) & (width * (1.0 + tail) < NARROW))
    mass[hard] = 1.0
    mean, loss = _by_densities(near, far, width, np.exp(-0.5 * inside**2) / mass)
    log_mass = np.log(mass) - 0.5 * tail**2 - LOG_SQRT_2PI
    values = [_log_of_most(near, far, log_mass), sign * mean, loss]
    if np.any(hard):
        u = truncated(low[hard], high[hard], width[hard])
        for target, value in zip(values, (u.log_mass, u.mean, u.loss), strict=True):
            target[hard] = value
    return values


def _mirrored(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """-1 where an interval is mirrored, else 1, and its nearer and farther end, the latter positive."""
    mirrored = low + high < 0
    return np.where(mirrored, -1.0, 1.0), np.where(mirrored, -high, low), np.where(mirrored, -low, high)


def _by_densities(
    near: np.ndarray, far: np.ndarray, width: np.ndarray, at_near: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and 1 - variance from the density at the near end, in units of the mass."""
    with np.errstate(over="ignore", invalid="ignore"):
        fallen = -0.5 * width * (near + far)  # from one end to the other, its logarithm
        mean = at_near * -np.expm1(fallen)
        return mean, mean**2 + at_near * (np.where(np.isinf(far), 0.0, far) * np.exp(fallen) - near)


def _log_of_most(near: np.ndarray, far: np.ndarray, log_mass: np.ndarray) -> np.ndarray:
    """The log mass, from what is outside where that is less than half."""
    outside = np.minimum(0.5 * (erfc(-near / ROOT_2) + erfc(far / ROOT_2)), 0.5)
    return np.where(outside < 0.5, np.log1p(-outside), log_mass)
