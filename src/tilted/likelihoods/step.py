"""Noisy step p(y | f) = eps + (1 - 2 eps) [y f > 0], y in {-1, +1}: labels flipped at random [Qi & Guo 2012].

A power is a step too, from eps^alpha up to (1 - eps)^alpha, so that every moment has its closed form. It is
not log-concave: at points far on the wrong side sites have negative precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr

from tilted.likelihoods.contract import Labels, Shape, Tilted, require_powers
from tilted.likelihoods.normal import LOG_SQRT_2PI
from tilted.likelihoods.shape import FromTilted, shape_of_hazard
from tilted.numerics.quadrature import TiltedDensity, panel_edges

TAIL = 10.0  # standard deviations, or 50 decay lengths of a tail beyond zero, that panels cover
EVEN = np.linspace(-TAIL, TAIL, 21)  # panel ends around the cavity's mean, in standard deviations
NEAR = 2.0 ** -np.arange(1.0, 13.0)  # further panel ends towards the step, in units of the reach


@dataclass(frozen=True)
class NoisyStep(Labels, FromTilted):
    """Binary labels y in {-1, +1}, each flipped with the same probability.

    Parameters
    ----------
    flips : float in (0, 1/2)
        Probability eps that a label is wrong.

    Raises
    ------
    ValueError
        For a probability that is not between 0 and 1/2.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.likelihoods import NoisyStep
    >>> likelihood = NoisyStep(0.1)
    >>> likelihood.log_predictive(np.array([1.0]), np.array([0.5]), np.array([1.0])).round(3)
    array([-0.426])
    """

    flips: float = 0.1
    name: ClassVar[str] = "noisy-step"
    log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0.0 < self.flips < 0.5:
            raise ValueError(f"the probability of a flip must lie between 0 and 1/2, got {self.flips}")

    def kinks(self, y: np.ndarray) -> np.ndarray:
        """Return the jumps of p(y|f) in f, in the shape of ``y``."""
        return np.zeros_like(y)

    def tilted(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0) -> Tilted:
        """Moments of N(f; m, v) p(y|f)^power, arrays [N]; ``power`` is a float or an array [N], in (0, 1].

        With z = y m / sqrt(v), Z = a Phi(z) + b Phi(-z), a = (1 - eps)^power, b = eps^power, and
        w = (a - b) phi(z) / Z: mean m + y sqrt(v) w, variance v (1 - w (z + w)).
        """
        sd = np.sqrt(v)
        z = y * m / sd
        log_z, w = self._hazard(z, require_powers(power, m))
        loss = w * (z + w)
        return Tilted(log_z, y * w / sd, -loss / v, m + y * sd * w, v * (1.0 - loss))

    def tilted_shape(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Shape:
        """Skewness and excess kurtosis of N(f; m, v) p(y|f) / Z, arrays [N]: w' = -w (z + w)."""
        z = y * m / np.sqrt(v)
        _, w = self._hazard(z, np.ones_like(z))
        skewness, kurtosis = shape_of_hazard(z, w, 1.0 - w * (z + w))
        return Shape(y * skewness, kurtosis)

    def _hazard(self, z: np.ndarray, power: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log Z and w = d log Z / dz, arrays [N]."""
        log_a, log_b = power * np.log1p(-self.flips), power * np.log(self.flips)
        log_z = np.logaddexp(log_a + log_ndtr(z), log_b + log_ndtr(-z))
        return log_z, -np.expm1(log_b - log_a) * np.exp(log_a - 0.5 * z**2 - LOG_SQRT_2PI - log_z)

    def tilted_expected_log(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """E[log p(y|f)] under the tilted distribution N(f; m, v) p(y|f) / Z, arrays [N]."""
        z = y * m / np.sqrt(v)
        high, low = np.log1p(-self.flips), np.log(self.flips)
        right, wrong = high + log_ndtr(z), low + log_ndtr(-z)
        log_z = np.logaddexp(right, wrong)
        return high * np.exp(right - log_z) + low * np.exp(wrong - log_z)

    def tilted_density(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> TiltedDensity:
        """The tilted densities [N], Gaussians with a step at zero, with panels refined towards the step."""
        mu, sd = y * m, np.sqrt(v)
        reach = np.maximum(np.abs(mu) + TAIL * sd, sd)
        low, high = np.minimum(mu - TAIL * sd, 0.0), np.maximum(mu + TAIL * sd, 0.0)
        steps = np.concatenate([-NEAR[::-1], [0.0], NEAR])
        breaks = np.concatenate([reach[:, None] * steps, mu[:, None] + sd[:, None] * EVEN], axis=1)
        edges = panel_edges(low, high, 1, breaks)
        flips = np.log(self.flips), np.log1p(-self.flips)
        sign = y[:, None]

        def log_density(t: np.ndarray) -> np.ndarray:
            column = (slice(None),) + (None,) * (t.ndim - 1)
            u = y[column] * t
            gaussian = -((u - mu[column]) ** 2) / (2.0 * v[column]) - 0.5 * np.log(v[column]) - LOG_SQRT_2PI
            return gaussian + np.where(u > 0, flips[1], flips[0])

        edges = np.where(sign > 0, edges, -edges[:, ::-1])
        return TiltedDensity(log_density, np.zeros_like(m), edges)

    def expected_log(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[log p(y|f)] under N(m, v) and its derivatives in m and v, arrays [N]."""
        sd = np.sqrt(v)
        z = y * m / sd
        low, high = np.log(self.flips), np.log1p(-self.flips)
        value = high * np.exp(log_ndtr(z)) + low * np.exp(log_ndtr(-z))
        slope = (high - low) * np.exp(-0.5 * z**2 - LOG_SQRT_2PI)
        return value, y * slope / sd, -0.5 * slope * z / v

    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log p(y|f), broadcast; at f = 0 that of the wrong side."""
        right, wrong = float(np.log1p(-self.flips)), float(np.log(self.flips))
        return np.where(y * f > 0, right, wrong)
