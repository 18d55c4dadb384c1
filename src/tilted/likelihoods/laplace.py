"""Laplace noise p(y|f) = exp(-|y - f| / scale) / (2 scale): regression that outliers do not pull far.

Log-concave. A power is Laplace noise too, of scale / power, times a constant. The tilted distribution is a
mixture of two normals truncated at y, one a side, with means m -+ v / scale: with b the distance of that mean
from y on the wrong side in units of sqrt(v), what is left has mean sqrt(v) (r - b) from y and variance v H, r
and H being hazard and remaining curvature at -b (``likelihoods.normal``). Nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr

from tilted.likelihoods.contract import OneParameter, Reals, Tilted, require_powers
from tilted.likelihoods.normal import LOG_SQRT_2PI, hazard, remaining_curvature
from tilted.likelihoods.shape import FromTilted
from tilted.numerics.quadrature import TiltedDensity, fallen_off, panel_edges

DROP = 50.0
LOSS = 0.1  # of variance, relatively, above which d1 and d2 are taken from mean and variance


@dataclass(frozen=True)
class LaplaceNoise(Reals, OneParameter, FromTilted):
    """Real targets with independent noise of density exp(-|r| / scale) / (2 scale).

    Parameters
    ----------
    scale : float > 0
        Mean absolute noise, in units of y. Learned where a fit learns the likelihood.

    Raises
    ------
    ValueError
        If the scale is not finite and positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.likelihoods import LaplaceNoise
    >>> likelihood = LaplaceNoise()
    >>> likelihood.log_predictive(np.array([1.0]), np.array([0.5]), np.array([1.0])).round(3)
    array([-1.406])
    """

    scale: float = 1.0
    name: ClassVar[str] = "laplace"
    log_concave: ClassVar[bool] = True
    searched: ClassVar[str] = "scale"

    def __post_init__(self) -> None:
        if not 0 < self.scale < np.inf:
            raise ValueError(f"the scale must be finite and positive, got {self.scale}")

    def kinks(self, y: np.ndarray) -> np.ndarray:
        """Return the kinks of p(y|f) in f, in the shape of ``y``."""
        return y

    def tilted(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0) -> Tilted:
        """Moments of N(f; m, v) p(y|f)^power, arrays [N].

        d1 is the mean of the slope of power log p, d2 its variance less the kink's share; of wide cavities,
        where that cancels, they are from mean and variance.
        """
        power = require_powers(power, m)
        scale, sd, r = self.scale / power, np.sqrt(v), y - m
        a, b = -r / sd - sd / scale, r / sd - sd / scale  # minus the distances, for f > y and f < y
        above, below = _log_side(a, r, v, scale), _log_side(b, -r, v, scale)
        both = np.logaddexp(above, below)
        up, down = np.exp(above - both), np.exp(below - both)
        (above_y, Ha), (below_y, Hb) = _truncated(a, sd), _truncated(b, sd)
        inner = up * Ha + down * Hb
        offset = up * above_y - down * below_y
        variance = v * inner + up * down * (above_y + below_y) ** 2
        kink = np.exp(-0.5 * r**2 / v - LOG_SQRT_2PI - both) / sd
        d2 = 4.0 * up * down / scale**2 - 2.0 * kink / scale
        changed = np.abs(variance - v) > LOSS * v
        d1 = np.where(changed, (r + offset) / v, (down - up) / scale)
        d2 = np.where(changed, (variance - v) / v**2, d2)
        log_z = both - power * np.log(2.0 * self.scale)
        return Tilted(log_z, d1, d2, y + offset, variance)

    def tilted_density(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0
    ) -> TiltedDensity:
        """Density [N] of f under N(f; m, v) p(y|f)^power, from its mode; panels break at y."""
        power = require_powers(power, m)
        rate, side = power / self.scale, np.sign(m - y)
        away = np.abs(m - y) - rate * v
        mode = y + side * np.maximum(away, 0.0)  # soft threshold

        def log_density(t: np.ndarray) -> np.ndarray:
            column = (slice(None),) + (None,) * (t.ndim - 1)
            gaussian = (
                -((t + (mode - m)[column]) ** 2) / (2.0 * v[column]) - 0.5 * np.log(v[column]) - LOG_SQRT_2PI
            )
            noise = np.abs(t + (mode - y)[column]) * rate[column]
            return gaussian - noise - power[column] * np.log(2.0 * self.scale)

        reach = np.sqrt(2.0 * DROP * v)

        def fallen(t: np.ndarray) -> np.ndarray:
            """Without what cancels: from a mode off the kink the density is normal until beyond the kink."""
            beyond = 2.0 * rate * np.maximum(-side * t - away, 0.0)
            return DROP - 0.5 * t**2 / v - np.where(away > 0, beyond, rate * np.abs(t) + t * (y - m) / v)

        high, low = fallen_off(fallen, reach), -fallen_off(lambda t: fallen(-t), reach)
        return TiltedDensity(log_density, mode, panel_edges(low, high, 30, (y - mode)[:, None]))

    def expected_log(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[log p(y|f)] under N(m, v) and its derivatives in m and v, arrays [N]."""
        sd = np.sqrt(v)
        z = (y - m) / sd
        density = np.exp(-0.5 * z**2 - LOG_SQRT_2PI)
        balance = np.exp(log_ndtr(z)) - np.exp(log_ndtr(-z))  # probability of f < y minus that of f > y
        distance = sd * (2.0 * density + z * balance)
        value = -distance / self.scale - np.log(2.0 * self.scale)
        return value, balance / self.scale, -density / (sd * self.scale)

    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log p(y|f), broadcast."""
        return -np.abs(y - f) / self.scale - np.log(2.0 * self.scale)

    def draw(self, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """New targets given ``f``, of its shape."""
        return rng.laplace(f, self.scale)

    def target_moments(self, m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N] of new targets where f ~ N(m, v)."""
        return m, v + 2.0 * self.scale**2


def _log_side(z: np.ndarray, r: np.ndarray, v: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """log of the mass of exp(r / scale + v / (2 scale^2)) Phi(z), z = -r / sd - sd / scale.

    On the left z^2 / 2 is taken out of Phi, and -r^2 / (2 v) is left of the exponent.
    """
    inside = np.log(0.5 * erfcx(-np.minimum(z, 0.0) / np.sqrt(2.0))) - 0.5 * r**2 / v
    return np.where(z <= 0, inside, log_ndtr(z) + r / scale + 0.5 * v / scale**2)


def _truncated(z: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean excess and variance / sd^2 of what is left of a normal whose mean is -z sd before its end."""
    r = hazard(z)
    H = remaining_curvature(z, r)
    return sd * np.where(z < -4.0, (1.0 - H) / np.where(z < -4.0, r, 1.0), z + r), H
