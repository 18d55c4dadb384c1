"""The rational quadratic covariance function [Rasmussen & Williams 2006, eq. 4.19].

k = variance (1 + r^2 / (2 shape))^-shape with r^2 = sum_d (x_d - x'_d)^2 / lengthscale_d^2: a mixture of
squared exponentials of many lengthscales, the fewer the larger the shape.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tilted.kernels.stationary import Radial


@dataclass(frozen=True)
class RationalQuadratic(Radial):
    """Rational quadratic covariance.

    Parameters
    ----------
    variance : float > 0
        In units of f squared.
    lengthscale : float > 0, or array [D] of such for ARD
        In the units of the inputs.
    shape : float > 0
        Without dimension; at infinity it is the squared exponential.

    Raises
    ------
    ValueError
        If a parameter is not finite and positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.kernels import RationalQuadratic
    >>> kernel = RationalQuadratic(shape=0.5)
    >>> kernel.matrix(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """

    shape: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < float(self.shape) < np.inf:
            raise ValueError(f"shape must be finite and positive, got {self.shape:g}")
        object.__setattr__(self, "shape", float(self.shape))

    def parameters(self) -> np.ndarray:
        """[variance, lengthscale(s), shape] as a vector."""
        return np.append(super().parameters(), self.shape)

    def with_parameters(self, values: np.ndarray) -> Self:
        return replace(super().with_parameters(values[:-1]), shape=float(values[-1]))

    def _profile(self, squares: np.ndarray) -> np.ndarray:
        return np.exp(-self.shape * self._log(squares))

    def _falls(self, squares: np.ndarray, K: np.ndarray) -> np.ndarray:
        return K / (1.0 + squares / (2.0 * self.shape))

    def _by_others(self, squares: np.ndarray, K: np.ndarray, G: np.ndarray) -> tuple[float]:
        share = squares / (2.0 * self.shape + squares)
        return (float(np.vdot(G * K, share - self._log(squares))),)

    def _log(self, squares: np.ndarray) -> np.ndarray:
        """log(1 + r^2 / (2 shape))."""
        return np.log1p(squares / (2.0 * self.shape))
