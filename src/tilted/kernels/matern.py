"""The Matern covariance functions of smoothness 3/2 and 5/2 [Rasmussen & Williams 2006, eq. 4.17].

With r^2 = sum_d (x_d - x'_d)^2 / lengthscale_d^2 and s = sqrt(2 smoothness) r:

    3/2: k = variance (1 + s) exp(-s),              dk / dr^2 = -3/2 variance exp(-s)
    5/2: k = variance (1 + s + s^2 / 3) exp(-s),    dk / dr^2 = -5/6 variance (1 + s) exp(-s)

The derivatives in r^2 are finite at r = 0, so that gradients are right for points that coincide. There is one
lengthscale for all dimensions (isotropic) or one for each (ARD).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilted.kernels.stationary import Radial

SMOOTHNESSES = (1.5, 2.5)


@dataclass(frozen=True)
class Matern(Radial):
    """Matern covariance.

    Parameters
    ----------
    variance : float > 0
        In units of f squared.
    lengthscale : float > 0, or array [D] of such for ARD
        In the units of the inputs.
    smoothness : 1.5 or 2.5
        Functions have one derivative (3/2) or two (5/2); it is no parameter of a search.

    Raises
    ------
    ValueError
        If a parameter is not finite and positive, or for another smoothness.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.kernels import Matern
    >>> kernel = Matern(variance=2.0, smoothness=2.5)
    >>> kernel.matrix(np.array([[0.0], [1.0]])).round(3)
    array([[2.   , 1.048],
           [1.048, 2.   ]])
    """

    smoothness: float = 1.5

    def __post_init__(self) -> None:
        if self.smoothness not in SMOOTHNESSES:
            raise ValueError(f"smoothness must be 1.5 or 2.5, got {self.smoothness}")
        super().__post_init__()

    def _profile(self, squares: np.ndarray) -> np.ndarray:
        s = self._roots(squares)
        polynomial = 1.0 + s if self.smoothness == 1.5 else 1.0 + s + s**2 / 3.0
        return polynomial * np.exp(-s)

    def _falls(self, squares: np.ndarray, K: np.ndarray) -> np.ndarray:
        s = self._roots(squares)
        if self.smoothness == 1.5:
            return 3.0 * self.variance * np.exp(-s)
        return 5.0 / 3.0 * self.variance * (1.0 + s) * np.exp(-s)

    def _roots(self, squares: np.ndarray) -> np.ndarray:
        """s = sqrt(2 smoothness) r."""
        return np.sqrt(2.0 * self.smoothness * squares)
