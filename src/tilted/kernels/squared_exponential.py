"""The squared-exponential covariance function.

``SquaredExponential``: k(x, x') = variance * exp(-sum_d (x_d - x'_d)^2 / (2 lengthscale_d^2))
[Zhang 2020, section 3.1], with one lengthscale for all dimensions (isotropic) or one for each (ARD).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilted.kernels.stationary import Stationary


@dataclass(frozen=True)
class SquaredExponential(Stationary):
    """Squared-exponential covariance.

    Parameters
    ----------
    variance : float > 0
        In units of f squared.
    lengthscale : float > 0, or array [D] of such for ARD
        In the units of the inputs.

    Raises
    ------
    ValueError
        If a parameter is not finite and positive.
    """

    def matrix(
        self, X: np.ndarray, X2: np.ndarray | None = None, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D].

        ``distances`` may be :meth:`distances` of ``X``, to save their computation.

        Raises
        ------
        ValueError
            If distances are given with ``X2`` or to an ARD kernel.
        """
        if distances is not None:
            self._require_shareable(X2)
            K = distances * (-0.5 / self._scale**2)
        else:
            K = self._scaled_squares(X, X2)
            K *= -0.5
        np.exp(K, out=K)
        K *= self.variance
        return K

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta for each parameter, ordered as in :meth:`parameters`.

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
        if distances is not None:
            weights = G * K
            by_scale = np.vdot(weights, distances) / self._scale**3
            return np.array([weights.sum() / self.variance, by_scale])
        return self.contract_cross(X, X, K, G)[0]

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
        weights, scales = G * K, np.asarray(self.lengthscale)
        by_scale, by_Z = self._by_distance(Z, X, weights)
        return np.append(weights.sum() / self.variance, by_scale / scales), by_Z / scales
