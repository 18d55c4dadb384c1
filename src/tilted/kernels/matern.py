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

from tilted.kernels.stationary import Stationary

SMOOTHNESSES = (1.5, 2.5)


@dataclass(frozen=True)
class Matern(Stationary):
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
    """

    smoothness: float = 1.5

    def __post_init__(self) -> None:
        if self.smoothness not in SMOOTHNESSES:
            raise ValueError(f"smoothness must be 1.5 or 2.5, got {self.smoothness}")
        super().__post_init__()

    def matrix(
        self, X: np.ndarray, X2: np.ndarray | None = None, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D].

        ``distances`` may be :meth:`distances` of ``X``, to save their computation.

        Raises
        ------
        ValueError
            If distances are given with ``X2`` or to an ARD kernel, or the dimensions differ.
        """
        s = self._roots(self._squares(X, X2, distances))
        polynomial = 1.0 + s if self.smoothness == 1.5 else 1.0 + s + s**2 / 3.0
        return self.variance * polynomial * np.exp(-s)

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P], ordered as in :meth:`parameters`.

        Parameters
        ----------
        X : array [N, D]
        K : array [N, N]
            This kernel's matrix at ``X``.
        G : array [N, N]
            Weights, such as the derivative of the evidence with respect to K; need not be symmetric.
        distances : array [N, N], optional
            :meth:`distances` of ``X``.
        """
        if distances is None:
            return self.contract_cross(X, X, K, G)[0]
        squares = self._squares(X, None, distances)
        by_scale = np.vdot(G * self._slopes(squares), squares) * (-2.0 / self._scale)
        return np.array([np.vdot(G, K) / self.variance, by_scale])

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta for a matrix [M, N] between two sets of points.

        Parameters
        ----------
        Z, X : arrays [M, D], [N, D]
        K : array [M, N]
            This kernel's matrix between them.
        G : array [M, N]

        Returns
        -------
        by_parameters : array [P]
        by_Z : array [M, D]
            Derivatives in the points Z, those X held fixed.
        """
        squares, scales = self._squares(Z, X, None), np.asarray(self.lengthscale)
        weights = -2.0 * G * self._slopes(squares)
        spread, by_Z = self._by_distance(Z, X, weights)
        if not self.ard:
            spread = np.atleast_1d(np.vdot(weights, squares))
        by_parameters = np.append(np.vdot(G, K) / self.variance, spread / scales)
        return by_parameters, by_Z / scales

    def _squares(self, X: np.ndarray, X2: np.ndarray | None, distances: np.ndarray | None) -> np.ndarray:
        """Squared distances r^2 [N, N2] in lengthscales."""
        if distances is not None:
            self._require_shareable(X2)
            return distances / self._scale**2
        return self._scaled_squares(X, X2)

    def _roots(self, squares: np.ndarray) -> np.ndarray:
        """s = sqrt(2 smoothness) r."""
        return np.sqrt(2.0 * self.smoothness * squares)

    def _slopes(self, squares: np.ndarray) -> np.ndarray:
        """dk / dr^2."""
        s = self._roots(squares)
        if self.smoothness == 1.5:
            return -1.5 * self.variance * np.exp(-s)
        return -5.0 / 6.0 * self.variance * (1.0 + s) * np.exp(-s)
