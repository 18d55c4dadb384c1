"""White noise: variance that a point shares with no other.

Between two sets of points the covariance is zero **even where inputs are equal**: a noise is drawn for every
row, and a test point at a training input has a noise of its own. Duplicate rows of one set have independent
noises too. So ``matrix(X)`` is variance * I while ``matrix(X, X)`` is zero, and ``diagonal`` is the variance.

Predictions of f at new points therefore include a new noise. For labels that is seldom wanted but harmless:
under the probit, white noise of variance s is a likelihood Phi(y f / sqrt(1 + s)).

With pseudo-points the values they stand for are noisy as well, so that no number of them explains f exactly:
a legitimate model, but noise of regressions belongs to the likelihood.
"""

from __future__ import annotations

import numpy as np

from tilted.kernels.constant import OfVariance


class White(OfVariance):
    """Independent noise.

    Parameters
    ----------
    variance : float > 0
        In units of f squared.

    Raises
    ------
    ValueError
        If it is not finite and positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.kernels import White
    >>> kernel = White(0.1)
    >>> kernel.matrix(np.array([[0.0], [1.0]])).round(3)
    array([[0.1, 0. ],
           [0. , 0.1]])
    """

    @property
    def noise(self) -> float:
        """Variance that a point shares with no other: all of it."""
        return self.variance

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: None = None) -> np.ndarray:
        """variance * I [N, N] for the rows of ``X`` [N, D]; zeros [N, N2] between ``X`` and any ``X2``."""
        return self.variance * np.eye(len(X)) if X2 is None else np.zeros((len(X), len(X2)))

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [1], the trace of G [N, N]."""
        return np.array([np.trace(G)])

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [1] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D].

        Zero between two sets; where K is that of the points Z, which its diagonal tells, the trace of G.
        """
        return np.array([np.trace(G) if np.any(K) else 0.0]), np.zeros(np.shape(Z))
