"""Gaussian likelihood p(y | f) = N(y; f, noise): with it every method must equal exact regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tilted.likelihoods.contract import OneParameter, Reals, Shape, Tilted, require_powers
from tilted.numerics.quadrature import TiltedDensity, panel_edges


@dataclass(frozen=True)
class GaussianNoise(Reals, OneParameter):
    """Real targets with independent noise.

    Parameters
    ----------
    noise : float > 0
        Variance, in units of y squared. Learned where a fit learns the likelihood, else kept.

    Raises
    ------
    ValueError
        If the noise is not finite and positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.likelihoods import GaussianNoise
    >>> likelihood = GaussianNoise()
    >>> likelihood.log_predictive(np.array([1.0]), np.array([0.5]), np.array([1.0])).round(3)
    array([-1.328])
    """

    noise: float = 1.0
    name: ClassVar[str] = "gaussian"
    log_concave: ClassVar[bool] = True
    searched: ClassVar[str] = "noise"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.noise) and self.noise > 0):
            raise ValueError(f"the noise variance must be finite and positive, got {self.noise}")

    def draw(self, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """New targets given ``f``, of its shape."""
        return rng.normal(f, np.sqrt(self.noise))

    def target_moments(self, m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N] of new targets where f ~ N(m, v)."""
        return m, v + self.noise

    def tilted(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0) -> Tilted:
        """Moments of N(f; m, v) N(y; f, noise)^power, arrays [N].

        The power is N(y; f, noise / power) times a constant.
        """
        power = require_powers(power, m)
        noise = self.noise / power
        total = v + noise
        d1 = (y - m) / total
        constant = 0.5 * (1.0 - power) * np.log(2.0 * np.pi * self.noise) - 0.5 * np.log(power)
        return Tilted(
            log_z=constant - 0.5 * (np.log(2.0 * np.pi * total) + (y - m) ** 2 / total),
            d1=d1,
            d2=-1.0 / total,
            mean=m + v * d1,
            variance=v * noise / total,
        )

    def tilted_shape(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Shape:
        """Zeros [N]: the tilted distribution is Gaussian."""
        return Shape(np.zeros_like(m), np.zeros_like(m))

    def tilted_density(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> TiltedDensity:
        """The tilted densities [N], Gaussian, on 10 standard deviations to either side."""
        moments = self.tilted(y, m, v)
        reach = 10.0 * np.sqrt(moments.variance)
        peak = moments.log_z - 0.5 * np.log(2.0 * np.pi * moments.variance)

        def log_density(t: np.ndarray) -> np.ndarray:
            return peak[:, None] - t**2 / (2.0 * moments.variance[:, None])

        return TiltedDensity(log_density, moments.mean, panel_edges(-reach, reach, 20))

    def expected_log(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[log N(y; f, noise)] under N(m, v) and its derivatives in m and v, arrays [N]."""
        value = -0.5 * np.log(2.0 * np.pi * self.noise) - ((y - m) ** 2 + v) / (2.0 * self.noise)
        return value, (y - m) / self.noise, np.full_like(m, -0.5 / self.noise)

    def log_predictive(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """log N(y; m, v + noise), arrays [N]."""
        total = v + self.noise
        return -0.5 * (np.log(2.0 * np.pi * total) + (y - m) ** 2 / total)

    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log N(y; f, noise), broadcast."""
        return -0.5 * (np.log(2.0 * np.pi * self.noise) + (y - f) ** 2 / self.noise)
