"""Poisson likelihood with square link, p(y | f) = Poisson(y; f^2) [Zhang 2020, appendix C.2].

The tilted density is proportional to f^(2y) exp(-(f - b)^2 / a), a = 2v / (1 + 2v), b = m / (1 + 2v).
Its moments come from a two-term recurrence in y with positive terms only (e_j: mean with count j,
p_j: second moment), which replaces the confluent hypergeometric functions of the paper, whose printed
second derivative is wrong (last fraction: the denominator must be squared).

f and -f have the same likelihood: with a zero prior mean and flat sites f = 0 is a symmetric fixed point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.special import dawsn, gammaln, xlogy

from tilted.likelihoods.contract import Shape, Tilted, require_finite, require_powers
from tilted.likelihoods.new_counts import draw_counts
from tilted.likelihoods.shape import shape_by_panels
from tilted.numerics.gamma import log_rising
from tilted.numerics.quadrature import (
    NODES,
    TiltedDensity,
    bisect,
    gauss_hermite,
    gauss_legendre,
    integrate,
    panel_edges,
)

DROP = 50.0
HALVINGS = 14
EULER = 0.5772156649015329
FORMS = ("exact", "negative-binomial")
# panels refined towards 0, in units of |mode|; at powers alpha < 1 there is the cusp of |f|^(2 alpha y)
SMOOTH, CUSP = 2.0 ** -np.arange(1.0, 9.0), 2.0 ** np.arange(-30.0, 17.0)
FAR = 20.0  # |m| in sd beyond which nothing of a cavity is near 0
CHUNK = 256  # sites that are integrated at once
LARGEST = 100_000  # count
LARGER = "the exponential links take larger ones ('poisson-exp', 'negative-binomial')"
MANY = 300  # counts from which quadrature, whose time does not depend on them, is faster than the recurrence
NARROW = 1e-3  # variance below which d2 of the recurrence, exact to 1e-16 y / v, has lost 1e-11 and more
LARGE_SHAPE = 1e4  # of a Gamma mixture, from which log Gamma of it loses 1e-11 and more
FAR_OUT, TERMS = 150.0, 5  # from which t the derivative of D is its asymptotic series, and its terms


@dataclass(frozen=True)
class PoissonSquare:
    """Counts y = 0, 1, 2, ..., at most `LARGEST`, with rate f^2.

    Parameters
    ----------
    predictive : "exact" or "negative-binomial"
        The exact integral of Poisson(y; f^2) over N(f; m, v), or the moment-matched Gamma mixture of
        [Zhang 2020, appendix H], which is an approximation (exact only at m = 0).

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.likelihoods import PoissonSquare
    >>> likelihood = PoissonSquare()
    >>> likelihood.log_predictive(np.array([2.0]), np.array([0.5]), np.array([1.0])).round(3)
    array([-2.268])
    """

    predictive: str = "exact"
    name: ClassVar[str] = "poisson-square"
    log_concave: ClassVar[bool] = False
    rates: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.predictive not in FORMS:
            raise ValueError(f"predictive must be one of {FORMS}, got '{self.predictive}'")

    def domain(self, y: np.typing.ArrayLike) -> np.ndarray:
        """Counts [N] as floats; ValueError below 0, above `LARGEST`, and, but for rates, between integers."""
        y = require_finite(y)
        wrong = (y < 0) | ((y != np.floor(y)) & (not self.rates)) | (y > LARGEST)
        if np.any(wrong):
            row, kind = int(np.flatnonzero(wrong)[0]), "numbers" if self.rates else "integers"
            link = f"; {LARGER}" if y[row] > LARGEST else ""
            raise ValueError(f"counts must be {kind} from 0 to {LARGEST}, got {y[row]:g} at row {row}{link}")
        return y

    check = domain

    def tilted(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0) -> Tilted:
        """Moments of N(f; m, v) Poisson(y; f^2)^power, arrays [N].

        ``power`` is a float or an array [N], in (0, 1]. At power 1 counts below `MANY` take the recurrence,
        but for narrow cavities far from 0, whose d2 it loses; all else is integrated.
        """
        powers = require_powers(power, m)
        many = (np.asarray(y) >= MANY) | ((np.asarray(v) < NARROW) & far_from_zero(m, v))
        if np.any(powers != 1.0):
            return self._powered(y, m, v, powers)
        if not np.any(many):
            return self._few(y, m, v)
        out = np.empty((5, len(y)))
        for rows, moments in ((~many, self._few), (many, self._many)):
            if np.any(rows):
                tilted = moments(y[rows], m[rows], v[rows])
                out[:, rows] = tilted.log_z, tilted.d1, tilted.d2, tilted.mean, tilted.variance
        return Tilted(*out)

    def _many(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Tilted:
        """Moments by quadrature; where m is 0 the mean is, not its rounding."""
        tilted, odd = self._powered(y, m, v, np.ones(len(y))), m != 0
        return replace(tilted, d1=np.where(odd, tilted.d1, 0.0), mean=np.where(odd, tilted.mean, 0.0))

    def _few(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Tilted:
        """Moments by recurrence over the counts."""
        sign, spread = np.where(m < 0, -1.0, 1.0), 1.0 + 2.0 * v
        b, a = np.abs(m) / spread, 2.0 * v / spread
        mean, before, ratio, log_product = _recurrence(y, a, b)
        log_z = log_product - gammaln(y + 1.0) - 0.5 * np.log(spread) - m**2 / spread
        d1 = 2.0 * y * before / spread - 2.0 * b
        d2 = 2.0 * (y * (1.0 - ratio) - v) / (v * spread)
        variance = a * (0.5 + y * (1.0 - ratio))
        return Tilted(log_z, sign * d1, d2, sign * mean, variance)

    def _powered(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, powers: np.ndarray) -> Tilted:
        """Moments about the mode where 0 is far, by panels elsewhere, so many sites at once."""
        out, far = np.empty((5, len(y))), far_from_zero(m, v)
        for kind, moments in ((far, _about_the_mode), (~far, self._by_panels)):
            places = np.flatnonzero(kind)
            for first in range(0, len(places), CHUNK):
                rows = places[first : first + CHUNK]
                out[:, rows] = moments(y[rows], m[rows], v[rows], powers[rows])
        return Tilted(*out)

    def _by_panels(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray, powers: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """log Z, d1, d2, mean and variance by quadrature; in closed form where the count is 0."""
        density = self.tilted_density(y, m, v, powers)
        panels = integrate(density)
        offset = panels.expectation(panels.offsets)
        variance = panels.expectation((panels.offsets - offset[:, None, None]) ** 2)
        mean, spread = density.origin + offset, 1.0 + 2.0 * powers * v
        d1, d2 = (density.origin - m + offset) / v, (variance - v) / v**2
        none, log_z = y == 0, panels.log_z
        d1, d2 = np.where(none, -2.0 * powers * m / spread, d1), np.where(none, -2.0 * powers / spread, d2)
        log_z = np.where(none, -0.5 * np.log(spread) - powers * m**2 / spread, log_z)
        return log_z, d1, d2, np.where(none, m / spread, mean), np.where(none, v / spread, variance)

    def tilted_shape(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Shape:
        """Skewness and excess kurtosis of N(f; m, v) Poisson(y; f^2) / Z, arrays [N], by panels.

        0 where the count is; two lobes of equal mass, at m = 0, have a kurtosis down to -2.
        """
        skewness, kurtosis = shape_by_panels(self, y, m, v)
        return Shape(np.where((y == 0) | (m == 0), 0.0, skewness), np.where(y == 0, 0.0, kurtosis))

    def tilted_density(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0
    ) -> TiltedDensity:
        """The tilted densities [N] on both half lines, each log-concave, with panels refined towards 0."""
        power, count = np.broadcast_to(power, np.shape(m)), 2.0 * power * y
        sign, spread = np.where(m < 0, -1.0, 1.0), 1.0 + 2.0 * power * v
        b, a = np.abs(m) / spread, 2.0 * v / spread
        root = np.sqrt(b**2 + 2.0 * a * count)
        modes = 0.5 * (b - root), 0.5 * (b + root)
        constant = -power * (gammaln(y + 1.0) + m**2 / spread) - 0.5 * np.log(2.0 * np.pi * v)

        def log_f(f: np.ndarray) -> np.ndarray:
            with np.errstate(divide="ignore"):
                peaked = xlogy(count[:, None], np.abs(f))
            return peaked - (f - b[:, None]) ** 2 / a[:, None] + constant[:, None]

        breaks = SMOOTH if np.all(power == 1.0) else CUSP
        edges = _lobe_edges(lambda f: log_f(f[:, None])[:, 0], modes, np.sqrt(a), breaks)
        origin = modes[1]
        column = sign[:, None]
        offsets = edges - origin[:, None]
        offsets = np.where(column > 0, offsets, -offsets[:, ::-1])
        return TiltedDensity(lambda t: log_f(origin[:, None] + column * t), sign * origin, offsets)

    def expected_log(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[log Poisson(y; f^2)] under N(m, v) and its derivatives in m and v, arrays [N].

        E[log f^2] has the derivative 2 sqrt(2/v) D(t) in m, D Dawson's function, t = m / sqrt(2v); the
        derivative in v is half the second derivative in m although E[d^2 log p / df^2] does not exist.
        """
        t = np.abs(m) / np.sqrt(2.0 * v)
        value = y * _expected_log_square(t, v) - (m**2 + v) - gammaln(y + 1.0)
        d_mean = y * 2.0 * np.sqrt(2.0 / v) * np.sign(m) * dawsn(t) - 2.0 * m
        return value, d_mean, y * _dawson_slope(t) / v - 1.0

    def log_predictive(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """log predictive probability of the counts, exact or negative binomial, arrays [N]."""
        if self.predictive == "exact":
            return self.tilted(y, m, v).log_z
        shape, scale = gamma_parameters(m, v)
        by_gammas = gammaln(shape + y) - gammaln(shape) - gammaln(y + 1.0) + y * np.log(scale)
        by_ratio = log_rising(shape, y) - gammaln(y + 1.0) + y * np.log(m**2 + v)  # shape scale = m^2 + v
        return np.where(shape < LARGE_SHAPE, by_gammas, by_ratio) - (shape + y) * np.log1p(scale)

    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log Poisson(y; f^2), broadcast; -inf for a positive count at f = 0."""
        with np.errstate(divide="ignore"):
            return xlogy(2.0 * y, np.abs(f)) - f**2 - gammaln(y + 1.0)

    def predicted_count(self, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Modes [N] of the negative binomial of appendix H: floor(c (k - 1)), or 0 when k <= 1."""
        shape, scale = gamma_parameters(m, v)
        return np.where(shape > 1.0, np.floor(scale * (shape - 1.0)), 0.0)

    def draw(self, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """New counts given ``f``, of its shape; ValueError where the rate overflows.

        Of rates from `new_counts.NORMAL` on normal variables, rounded.
        """
        with np.errstate(over="ignore"):  # refused by name
            return draw_counts(f**2, f, rng)

    def log_given(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of mean and variance of new counts given ``f``, of its shape; -inf at 0."""
        with np.errstate(divide="ignore"):
            log_rate = 2.0 * np.log(np.abs(f))
        return log_rate, log_rate

    def target_moments(self, m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N] of new counts where f ~ N(m, v): E[f^2], and that plus Var[f^2]."""
        mean = m**2 + v
        return mean, mean + 4.0 * m**2 * v + 2.0 * v**2

    def errors(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Absolute error of the predicted count [N]."""
        return np.abs(y - self.predicted_count(m, v))


def far_from_zero(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return where [N] a cavity is far from 0 and so narrow that recurrences lose their digits."""
    return (np.abs(m) > FAR * np.sqrt(v)) & (v < 1.0)


def _about_the_mode(
    y: np.ndarray, m: np.ndarray, v: np.ndarray, powers: np.ndarray
) -> tuple[np.ndarray, ...]:
    """log Z, d1, d2, mean and variance of N(f; m, v) Poisson(y; f^2)^power where 0 is far.

    There the density is a normal one, of the curvature at its mode, times exp(c (log(1 + r) - r + r^2 / 2)),
    c = 2 power y and r = f / mode - 1: smooth, for the mode is 11 sd or more from 0. `NODES` of Gauss-Hermite
    are enough (they lie within 7 sd). The derivatives are means of those of log p, whose digits do not depend
    on how narrow the cavity is: d1 = E[g'], d2 = E[g''] + Var[g'], g = power log p.
    """
    x, w = gauss_hermite(NODES)
    sign, peak = np.where(m < 0, -1.0, 1.0), np.abs(m)
    count, spread = 2.0 * powers * y, 1.0 + 2.0 * powers * v
    b, a = peak / spread, 2.0 * v / spread
    mode = 0.5 * (b + np.sqrt(b**2 + 2.0 * a * count))
    sd = 1.0 / np.sqrt(2.0 / a + count / mode**2)
    t = sd[:, None] * x
    r, c, power = t / mode[:, None], count[:, None], 2.0 * powers[:, None]
    weights = w * np.exp(c * (np.log1p(r) - r + 0.5 * r**2))
    total = np.sum(weights, axis=1)
    weights /= total[:, None]
    log_z = xlogy(count, mode) - powers * (mode**2 + gammaln(y + 1.0)) - 0.5 * (mode - peak) ** 2 / v
    log_z += np.log(total * sd) - 0.5 * np.log(v)
    offset = np.sum(weights * t, axis=1)
    variance = np.sum(weights * (t - offset[:, None]) ** 2, axis=1)
    f = mode[:, None] + t
    slope = c / f - power * f
    d1 = np.sum(weights * slope, axis=1)
    d2 = np.sum(weights * ((slope - d1[:, None]) ** 2 - c / f**2 - power), axis=1)
    return log_z, sign * d1, d2, sign * (mode + offset), variance


def gamma_parameters(m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shape k and scale c of the Gamma matched to f^2, f ~ N(m, v) [Zhang 2020, appendix H]."""
    second = m**2 + v
    variance = 2.0 * v * (2.0 * m**2 + v)
    return second**2 / variance, variance / second


def _recurrence(
    y: np.ndarray, a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Moments of f^(2y) exp(-(f - b)^2 / a) for b >= 0 by recurrence over the count.

    Returns
    -------
    mean : e_y
    before : e_{y-1} / p_{y-1} (0 where y = 0)
    ratio : e_y e_{y-1} / p_{y-1}
    log_product : sum of log p_j over j < y
    """
    mean, before = b.copy(), np.zeros_like(b)
    log_product = np.zeros_like(b)
    for j in range(int(y.max(initial=0.0))):
        second = b * mean + a * (j + 0.5)
        active = y > j
        next_mean = b + a * (j + 1.0) * mean / second
        before = np.where(active, mean / second, before)
        log_product = log_product + np.where(active, np.log(second), 0.0)
        mean = np.where(active, next_mean, mean)
    return mean, before, mean * before, log_product


def _lobe_edges(
    log_f: Callable[[np.ndarray], np.ndarray],
    modes: tuple[np.ndarray, np.ndarray],
    width: np.ndarray,
    breaks: np.ndarray,
) -> np.ndarray:
    """Panel edges [N, P + 1] covering f < 0 and f > 0 down to exp(-DROP) of the higher mode.

    ``breaks`` are further edges in units of |mode|.
    """
    floor = np.maximum(log_f(modes[0]), log_f(modes[1])) - DROP

    def above(side: float, sign: float, f: np.ndarray) -> np.ndarray:
        return sign * (log_f(side * f) - floor)

    pieces = []
    for mode, side in zip(modes, (-1.0, 1.0), strict=True):
        peak = np.abs(mode)
        present = log_f(side * peak) > floor
        far = bisect(partial(above, side, 1.0), peak, peak + 10.0 * width, HALVINGS)
        inner = np.maximum(peak - 10.0 * width, 0.0)
        near = bisect(partial(above, side, -1.0), inner, peak, HALVINGS)
        near = np.maximum(near - (peak - inner) * 0.5 ** (HALVINGS + 1), 0.0)  # what the search leaves open
        far, near = np.where(present, far, 0.0), np.where(present & (peak > 0), near, 0.0)
        edges = panel_edges(near, far, 16, peak[:, None] * breaks)
        pieces.append(edges if side > 0 else -edges[:, ::-1])
    return np.concatenate(pieces, axis=1)


def _dawson_slope(t: np.ndarray) -> np.ndarray:
    """The derivative D'(t) = 1 - 2 t D(t) [N] of Dawson's function for t >= 0.

    Far out it is -sum_k (2k - 1)!! / (2 t^2)^k, where the two terms cancel.
    """
    twice, far = 2.0 * np.maximum(t, FAR_OUT) ** 2, np.zeros_like(t)
    for k in range(TERMS, 0, -1):
        far = (2 * k - 1) / twice * (1.0 + far)
    return np.where(t < FAR_OUT, 1.0 - 2.0 * t * dawsn(t), -far)


def _expected_log_square(t: np.ndarray, v: np.ndarray) -> np.ndarray:
    """E[log f^2] for f ~ N(m, v), t = |m| / sqrt(2v): log v - gamma - log 2 + 4 int_0^t D."""
    x, w, _ = gauss_legendre(48)
    inner = np.minimum(t, 7.0)
    integral = 0.5 * inner * (dawsn(0.5 * inner[:, None] * (1.0 + x)) @ w)
    near = np.log(v) - EULER - np.log(2.0) + 4.0 * integral
    if not np.any(t > 7.0):
        return near
    far_t = np.maximum(t, 7.0)
    term, total = np.ones_like(t), np.zeros_like(t)
    for j in range(1, 25):
        term = term * (2 * j - 1) / (2.0 * far_t**2)
        total = total - term / j
    return np.where(t > 7.0, np.log(2.0 * v * far_t**2) + total, near)
