"""A constant function of unknown height: k(x, x') = variance for all points.

Added to a kernel it is a prior N(mean, variance) on the level of f, which is integrated out; its matrix has
rank one. Times a kernel it is a factor of that one's variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tilted.kernels.compound import Operators

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True)
class OfVariance(Operators):
    """The base of kernels whose only parameter is the variance.

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

    def __post_init__(self) -> None:
        variance = float(self.variance)
        if not 0 < variance < np.inf:
            raise ValueError(f"variance must be finite and positive, got {variance:g}")
        object.__setattr__(self, "variance", variance)

    def parameters(self) -> np.ndarray:
        """[variance] as a vector."""
        return np.array([self.variance])

    def with_parameters(self, values: np.ndarray) -> Self:
        """Return the kernel with another variance."""
        return type(self)(float(values[0]))

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return np.full(len(X), self.variance)

    def contract_diagonal(self, X: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i dk(x_i, x_i)/dtheta [1], and the derivatives in the rows of ``X`` [N, D]: none."""
        return np.array([np.sum(g)]), np.zeros(np.shape(X))


class Constant(OfVariance):
    """Constant covariance.

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
    >>> from tilted.kernels import Constant
    >>> kernel = Constant(2.0)
    >>> kernel.matrix(np.array([[0.0], [1.0]])).round(3)
    array([[2., 2.],
           [2., 2.]])
    """

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: None = None) -> np.ndarray:
        """The variance [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        return np.full((len(X), len(X if X2 is None else X2)), self.variance)

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [1], the sum of G [N, N]."""
        return np.array([np.sum(G)])

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [1] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        return np.array([np.sum(G)]), np.zeros(np.shape(Z))
