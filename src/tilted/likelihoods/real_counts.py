"""The Poisson likelihood with square link for targets that are no whole numbers.

p(y | f) = f^(2y) exp(-f^2) / Gamma(y + 1) for every real y >= 0: what [Zhang 2020, appendix C.2] has, with
the factorial continued. Summed over whole y it is 1; as a density of real y it is not normalised, so that log
evidences of such targets compare models of the same targets and nothing else.

Moments come from the recurrence of `likelihoods.poisson`, which holds for real counts and starts here at the
fractional part r of y. There, with z = b^2 / a and Kummer's M (positive, so nothing cancels),

    E|f|^(2r) = a^r Gamma(r + 1/2) / sqrt(pi) M(-r, 1/2, -z),
    E[f |f|^(2r - 2)] / E|f|^(2r) = (2 b / a) M(1 - r, 3/2, -z) / M(-r, 1/2, -z).

Powers of the likelihood need nothing else: with g = sqrt(power) f, p(y | f)^power is that of the real count
power y at g, but for a constant.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, hyp1f1, xlogy

from tilted.likelihoods.contract import Tilted
from tilted.likelihoods.poisson import MANY, PoissonSquare, far_from_zero
from tilted.numerics.quadrature import TiltedDensity

FAR = 40.0  # z beyond which Kummer's function is its asymptotic series, exact to rounding by then
TERMS = 30


@dataclass(frozen=True)
class RealCounts(PoissonSquare):
    """Targets y >= 0, at most ``likelihoods.poisson.LARGEST``, as counts of rate f^2; whole ones as there."""

    rates: ClassVar[bool] = True

    def _few(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Tilted:
        """Moments by recurrence over the counts."""
        real = y != np.floor(y)
        if not np.any(real):
            return super()._few(y, m, v)
        out = np.empty((5, len(y)))
        for rows, moments in ((~real, super()._few), (real, _real_moments)):
            if np.any(rows):
                tilted = moments(y[rows], m[rows], v[rows])
                out[:, rows] = tilted.log_z, tilted.d1, tilted.d2, tilted.mean, tilted.variance
        return Tilted(*out)

    def _powered(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, powers: np.ndarray) -> Tilted:
        """Moments by recurrence too, but for large counts and narrow cavities far from 0, where digits go."""
        count, scale = powers * y, np.sqrt(powers)
        by_base, out = (count >= MANY) | far_from_zero(m, v), np.empty((5, len(y)))
        if np.any(by_base):
            tilted = super()._powered(y[by_base], m[by_base], v[by_base], powers[by_base])
            out[:, by_base] = [getattr(tilted, item.name) for item in fields(tilted)]
        rows = ~by_base
        if np.any(rows):
            count, scale, y, powers = count[rows], scale[rows], y[rows], powers[rows]
            tilted = _real_moments(count, scale * m[rows], powers * v[rows])
            constant = gammaln(count + 1.0) - powers * gammaln(y + 1.0) - xlogy(count, powers)
            log_z, d1, d2 = tilted.log_z + constant, scale * tilted.d1, powers * tilted.d2
            out[:, rows] = log_z, d1, d2, tilted.mean / scale, tilted.variance / powers
        return Tilted(*out)

    def tilted_density(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0
    ) -> TiltedDensity:
        """The tilted density with panels for quadrature.

        f^(2y) with a fraction has a cusp at 0, around which `PoissonSquare` places panels at powers below 1
        only. In units of g = sqrt(2) f the likelihood is that of the count 2y to half the power.
        """
        if np.all(y == np.floor(y)):
            return super().tilted_density(y, m, v, power)
        power = np.broadcast_to(power, np.shape(m))
        root = np.sqrt(2.0)
        wide = super().tilted_density(2.0 * y, root * m, 2.0 * v, 0.5 * power)
        scale = power * (0.5 * gammaln(2.0 * y + 1.0) - y * np.log(2.0) - gammaln(y + 1.0)) + 0.5 * np.log(
            2.0
        )

        def log_density(t: np.ndarray) -> np.ndarray:
            return wide.log_density(root * t) + scale[:, None]

        return TiltedDensity(log_density, wide.origin / root, wide.edges / root)


def _real_moments(y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Tilted:
    """Moments [N] of N(f; m, v) p(y|f) for y >= 0 with a fraction."""
    sign, spread = np.where(m < 0, -1.0, 1.0), 1.0 + 2.0 * v
    b, a = np.abs(m) / spread, 2.0 * v / spread
    floor = np.floor(y)
    r = y - floor
    log_even, log_odd = _log_kummer(-r, 0.5, b**2 / a), _log_kummer(1.0 - r, 1.5, b**2 / a)
    before = 2.0 * b / a * np.exp(log_odd - log_even)
    mean = b + a * r * before
    log_product = r * np.log(a) + gammaln(r + 0.5) - 0.5 * np.log(np.pi) + log_even
    for j in range(int(floor.max(initial=0.0))):
        active, second = floor > j, b * mean + a * (r + j + 0.5)
        log_product = log_product + np.where(active, np.log(second), 0.0)
        before = np.where(active, mean / second, before)
        mean = np.where(active, b + a * (r + j + 1.0) * mean / second, mean)
    ratio = mean * before
    log_z = log_product - gammaln(y + 1.0) - 0.5 * np.log(spread) - m**2 / spread
    d1 = 2.0 * y * before / spread - 2.0 * b
    d2 = 2.0 * (y * (1.0 - ratio) - v) / (v * spread)
    return Tilted(log_z, sign * d1, d2, sign * mean, a * (0.5 + y * (1.0 - ratio)))


def _log_kummer(p: np.ndarray, q: float, z: np.ndarray) -> np.ndarray:
    """log M(p, q, -z) [N] for z >= 0 and p < q, by M(p, q, -z) = exp(-z) M(q - p, q, z)."""
    near = np.minimum(z, FAR)
    log_m = np.log(hyp1f1(q - p, q, near)) - near
    if not np.any(z > FAR):
        return log_m
    far = np.maximum(z, FAR)
    term, total = np.ones_like(far), np.ones_like(far)
    for s in range(TERMS):
        term = term * (p + s) * (p - q + 1.0 + s) / ((s + 1.0) * far)
        total = total + term
    beyond = gammaln(q) - gammaln(q - p) - p * np.log(far) + np.log(total)
    return np.where(z > FAR, beyond, log_m)
