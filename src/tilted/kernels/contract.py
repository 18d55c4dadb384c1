"""What every kernel provides."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np


class Kernel(Protocol):
    """Contract of ``tilted.kernels``; X, X2, Z are arrays [N, D], [N2, D], [M, D], all hyperparameters > 0.

    ``matrix(X)`` is that of one set of points and ``matrix(X, X2)`` that between two sets, which differ for
    kernels with independent noise: these have a property ``noise`` too, how much of k(x, x) no other point
    shares, the same at every x (``white``).
    """

    def parameters(self) -> np.ndarray:
        """The hyperparameters [P], all positive."""

    def with_parameters(self, values: np.ndarray) -> Self:
        """The same kernel with other hyperparameters [P], ordered as in :meth:`parameters`."""

    def distances(self, X: np.ndarray) -> Any:
        """What matrices at the same ``X`` [N, D] share whatever the hyperparameters, or None."""

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: Any = None) -> np.ndarray:
        """Covariance matrix [N, N2]; ``distances`` may be :meth:`distances` of ``X``."""

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N]."""

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: Any = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P], K [N, N] being the matrix at ``X``; G need not be symmetric."""

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same for the matrix K [M, N] between two sets of points; in the parameters [P], in Z [M, D]."""

    def contract_diagonal(self, X: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i dk(x_i, x_i)/dtheta [P], and the derivatives in the rows of ``X`` [N, D]."""
