"""Linear models as Gaussian processes: f = X w with w ~ N(0, variance I).

``Linear`` is their kernel; ``weights`` takes sites on f back to the Gaussian posterior of w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilted.gaussian import Sites
from tilted.numerics import linalg


@dataclass(frozen=True)
class Linear:
    """k(x, x') = variance x'x, without a constant.

    Parameters
    ----------
    variance : float > 0
        Of each weight, in units of f squared over x squared.

    Raises
    ------
    ValueError
        If the variance is not finite and positive.
    """

    variance: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.variance < np.inf:
            raise ValueError(f"variance must be finite and positive, got {self.variance:g}")

    def parameters(self) -> np.ndarray:
        """[variance]."""
        return np.array([self.variance])

    def with_parameters(self, values: np.ndarray) -> Linear:
        """The same kernel with another variance."""
        return replace(self, variance=float(values[0]))

    def distances(self, X: np.ndarray) -> None:
        """Nothing that matrices at the same ``X`` could share."""
        return

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: None = None) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        return self.variance * (X @ (X if X2 is None else X2).T)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return self.variance * np.einsum("nd,nd->n", X, X)

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij / dvariance, [1], from this kernel's matrix ``K`` [N, N] at ``X``."""
        return np.array([np.vdot(G, K) / self.variance])


def weights(X: np.ndarray, sites: Sites, variance: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean [D] and covariance [D, D] of w under N(0, variance I) and sites on f = X w.

    Raises
    ------
    NotPositiveDefinite
        If the posterior is improper.
    """
    precision = X.T @ (sites.tau[:, None] * X)
    precision.flat[:: len(precision) + 1] += 1.0 / variance
    covariance = linalg.inverse_from_cholesky(linalg.cholesky(precision, "precision of the weights"))
    return covariance @ (X.T @ sites.nu), covariance
