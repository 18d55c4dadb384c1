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

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.kernels import SquaredExponential
    >>> kernel = SquaredExponential(variance=2.0, lengthscale=1.0)
    >>> kernel.matrix(np.array([[0.0], [1.0]])).round(3)
    array([[2.   , 1.213],
           [1.213, 2.   ]])
    """

    def matrix(
        self, X: np.ndarray, X2: np.ndarray | None = None, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D], made in one place.

        ``distances`` may be :meth:`distances` of ``X``; ValueError if they are given with ``X2`` or for ARD.
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

    # K itself is -2 dk / dr^2: the gradients below need no distances between X and Z, as `Radial`'s would

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        if distances is not None:
            weights = G * K
            by_scale = np.vdot(weights, distances) / self._scale**3
            return np.array([weights.sum() / self.variance, by_scale])
        return self.contract_cross(X, X, K, G)[0]

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        weights, scales = G * K, np.asarray(self.lengthscale)
        by_scale, by_Z = self._by_distance(Z, X, weights)
        return np.append(weights.sum() / self.variance, by_scale / scales), by_Z / scales
