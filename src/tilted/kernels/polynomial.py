"""Polynomials: k(x, x') = variance (offset + x . x')^degree [Rasmussen & Williams 2006, section 4.2.2].

All monomials up to the degree. The origin and the units of the inputs matter; ``Linear`` is degree 1 without
offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tilted.kernels.compound import Operators


@dataclass(frozen=True)
class Polynomial(Operators):
    """Polynomial covariance.

    Parameters
    ----------
    variance : float > 0
    offset : float > 0
        In units of the inputs squared: weight of lower powers against higher ones.
    degree : int >= 1
        No parameter of a search.

    Raises
    ------
    ValueError
        If a parameter is not finite and positive, or the degree no whole number of at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.kernels import Polynomial
    >>> kernel = Polynomial(degree=2)
    >>> kernel.matrix(np.array([[0.0], [1.0]])).round(3)
    array([[1., 1.],
           [1., 4.]])
    """

    variance: float = 1.0
    offset: float = 1.0
    degree: int = 2
    stationary: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if int(self.degree) != self.degree or self.degree < 1:
            raise ValueError(f"degree must be a whole number of at least 1, got {self.degree}")
        for name in ("variance", "offset"):
            value = float(getattr(self, name))
            if not 0 < value < np.inf:
                raise ValueError(f"{name} must be finite and positive, got {value:g}")
            object.__setattr__(self, name, value)

    def parameters(self) -> np.ndarray:
        """[variance, offset] as a vector."""
        return np.array([self.variance, self.offset])

    def with_parameters(self, values: np.ndarray) -> Self:
        """Return the kernel with other parameter values."""
        return replace(self, variance=float(values[0]), offset=float(values[1]))

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Scalar products [N, N] among the rows of ``X`` [N, D]."""
        return _products(X, X)

    def matrix(
        self, X: np.ndarray, X2: np.ndarray | None = None, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        products = _products(X, X if X2 is None else X2) if distances is None else distances
        return self.variance * (self.offset + products) ** self.degree

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return self.variance * (self.offset + np.einsum("nd,nd->n", X, X, dtype=float)) ** self.degree

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        base = self.offset + (_products(X, X) if distances is None else distances)
        return self._by_parameters(base, G)

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        base = self.offset + _products(Z, X)
        return self._by_parameters(base, G), (G * self._slope(base)) @ X

    def contract_diagonal(self, X: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i dk(x_i, x_i)/dtheta [P], and the derivatives in the rows of ``X`` [N, D]."""
        base = self.offset + np.einsum("nd,nd->n", X, X, dtype=float)
        return self._by_parameters(base, g), (2.0 * g * self._slope(base))[:, None] * X

    def _slope(self, base: np.ndarray) -> np.ndarray:
        """Derivative in the base."""
        return self.variance * self.degree * base ** (self.degree - 1)

    def _by_parameters(self, base: np.ndarray, G: np.ndarray) -> np.ndarray:
        return np.array([np.vdot(G, base**self.degree), np.vdot(G, self._slope(base))])


def _products(X: np.ndarray, X2: np.ndarray) -> np.ndarray:
    """Scalar products [N, N2], in double precision whatever the inputs'."""
    return np.asarray(X, dtype=float) @ np.asarray(X2, dtype=float).T
