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

from dataclasses import dataclass

import numpy as np

from tilted.kernels.compound import add, add_to, multiply, multiply_by


@dataclass(frozen=True)
class White:
    """Independent noise.

    Parameters
    ----------
    variance : float > 0
        In units of f squared.

    Raises
    ------
    ValueError
        If it is not finite and positive.
    """

    variance: float = 1.0

    __add__, __radd__, __mul__, __rmul__ = add, add_to, multiply, multiply_by

    def __post_init__(self):
        variance = float(self.variance)
        if not 0 < variance < np.inf:
            raise ValueError(f"variance must be finite and positive, got {variance:g}")
        object.__setattr__(self, "variance", variance)

    @property
    def noise(self) -> float:
        """Variance that a point shares with no other: all of it."""
        return self.variance

    def parameters(self) -> np.ndarray:
        """[variance] as a vector."""
        return np.array([self.variance])

    def with_parameters(self, values: np.ndarray) -> White:
        """The same kernel with another variance."""
        return White(float(values[0]))

    def distances(self, X: np.ndarray) -> None:
        """None for every ``X`` [N, D]: there is nothing to share."""
        return

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: None = None) -> np.ndarray:
        """variance * I [N, N] for the rows of ``X`` [N, D]; zeros [N, N2] between ``X`` and any ``X2``."""
        return self.variance * np.eye(len(X)) if X2 is None else np.zeros((len(X), len(X2)))

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return np.full(len(X), self.variance)

    def contract_gradient(self, X, K, G, distances: None = None) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [1], the trace of G [N, N]."""
        return np.array([np.trace(G)])

    def contract_cross(self, Z, X, K, G) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [1] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D].

        Zero between two sets; where K is that of the points Z, which its diagonal tells, the trace of G.
        """
        return np.array([np.trace(G) if np.any(K) else 0.0]), np.zeros(np.shape(Z))

    def contract_diagonal(self, g: np.ndarray) -> np.ndarray:
        """sum_i g_i dk(x_i, x_i)/dtheta [1]."""
        return np.array([np.sum(g)])
