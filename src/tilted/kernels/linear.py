"""Linear functions: k(x, x') = sum_d variance_d x_d x'_d [Rasmussen & Williams 2006, section 4.2.2].

Each column has a weight w_d ~ N(0, variance_d). They are 0 at the origin of the inputs, which matters; add a
``Constant`` for the intercept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tilted.kernels.compound import Operators


@dataclass(frozen=True)
class Linear(Operators):
    """Linear covariance.

    Parameters
    ----------
    variance : float > 0, or array [D] of such for ARD
        Of the weights, in units of f squared over those of the inputs squared.

    Raises
    ------
    ValueError
        If a variance is not finite and positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.kernels import Linear
    >>> kernel = Linear(2.0)
    >>> kernel.matrix(np.array([[0.0], [1.0]])).round(3)
    array([[0., 0.],
           [0., 2.]])
    """

    variance: float | tuple[float, ...] = 1.0
    stationary: ClassVar[bool] = False

    def __post_init__(self) -> None:
        values = np.asarray(self.variance, dtype=float)
        if values.ndim > 1 or values.size == 0 or not np.all((values > 0) & (values < np.inf)):
            raise ValueError(f"variance must be finite and positive, got {self.variance}")
        object.__setattr__(self, "variance", tuple(values.tolist()) if values.ndim else float(values))

    def parameters(self) -> np.ndarray:
        """The variance(s) as a vector."""
        return np.array(self.variance, ndmin=1)

    def with_parameters(self, values: np.ndarray) -> Self:
        """Return the kernel with other variances."""
        return type(self)(tuple(values) if np.ndim(self.variance) else float(values[0]))

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: None = None) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        A = X * self._roots(X)
        return A @ (A if X2 is None else X2 * self._roots(X2)).T

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        A = X * self._roots(X)
        return np.einsum("nd,nd->n", A, A)

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        return self.contract_cross(X, X, K, G)[0]

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        weighted = G @ X
        return self._by_variance(np.einsum("md,md->d", Z, weighted)), weighted * self.variance

    def contract_diagonal(self, X: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i dk(x_i, x_i)/dtheta [P], and the derivatives in the rows of ``X`` [N, D]."""
        return self._by_variance(g @ X**2), 2.0 * g[:, None] * X * self.variance

    def _roots(self, X: np.ndarray) -> np.ndarray:
        """Roots of the variances."""
        if np.ndim(self.variance) and np.size(self.variance) != X.shape[1]:
            raise ValueError(f"{np.size(self.variance)} variances for inputs of dimension {X.shape[1]}")
        return np.sqrt(self.variance)

    def _by_variance(self, by_column: np.ndarray) -> np.ndarray:
        """Derivatives [P] from those in a variance for each column [D]."""
        return by_column if np.ndim(self.variance) else np.atleast_1d(by_column.sum())
