"""The rational quadratic covariance function [Rasmussen & Williams 2006, eq. 4.19].

k = variance (1 + r^2 / (2 shape))^-shape with r^2 = sum_d (x_d - x'_d)^2 / lengthscale_d^2: a mixture of
squared exponentials of many lengthscales, the fewer the larger the shape.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tilted.kernels.stationary import Stationary, squared_distances


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
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
        """The same kernel with other parameter values, ordered as in :meth:`parameters`."""
        return replace(super().with_parameters(values[:-1]), shape=float(values[-1]))

    def matrix(
        self, X: np.ndarray, X2: np.ndarray | None = None, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D].

        ``distances`` may be :meth:`distances` of ``X``; ValueError if they are given with ``X2`` or for ARD.
        """
        return self.variance * np.exp(-self.shape * self._log(self._squares(X, X2, distances)))

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        if distances is None:
            return self.contract_cross(X, X, K, G)[0]
        squares, weights = self._squares(X, None, distances), G * K
        by_scale = np.vdot(weights / self._base(squares), squares) / self._scale
        return np.array([weights.sum() / self.variance, by_scale, self._by_shape(weights, squares)])

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        squares, scales, product = self._squares(Z, X, None), np.asarray(self.lengthscale), G * K
        weights = product / self._base(squares)  # -2 dk / dr^2
        by_scale, by_Z = self._by_distance(Z, X, weights)
        by_parameters = np.concatenate(
            [[product.sum() / self.variance], by_scale / scales, [self._by_shape(product, squares)]]
        )
        return by_parameters, by_Z / scales

    def _base(self, squares: np.ndarray) -> np.ndarray:
        """1 + r^2 / (2 shape)."""
        return 1.0 + squares / (2.0 * self.shape)

    def _log(self, squares: np.ndarray) -> np.ndarray:
        """Its logarithm."""
        return np.log1p(squares / (2.0 * self.shape))

    def _by_shape(self, weights: np.ndarray, squares: np.ndarray) -> float:
        """Derivative in the shape, from weights times K."""
        part = squares / (2.0 * self.shape * self._base(squares))
        return float(np.vdot(weights, part - self._log(squares)))

    def _squares(self, X: np.ndarray, X2: np.ndarray | None, distances: np.ndarray | None) -> np.ndarray:
        """Squared distances r^2 [N, N2] in lengthscales."""
        if distances is not None:
            self._require_shareable(X2)
            return distances / self._scale**2
        A = self._scaled(X)
        return squared_distances(A, A if X2 is None else self._scaled(X2), 1.0)
