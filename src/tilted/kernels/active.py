"""A kernel that sees some columns of the inputs: ``Active(Matern(), (0, 2)) + Active(Periodic(), 1)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tilted.kernels.compound import add, add_to, is_kernel, is_stationary, multiply, multiply_by, noise_of

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel


@dataclass(frozen=True)
class Active:
    """A kernel of some columns.

    Parameters
    ----------
    kernel : Kernel
        Its parameters are those of this one; lengthscales of ARD are those of the columns.
    columns : int or sequence of int
        Numbers of columns of X, from 0, each once.

    Raises
    ------
    ValueError
        For what is no kernel, for no columns and such that are no numbers of columns or stand twice.
    """

    kernel: Kernel
    columns: int | Sequence[int] = (0,)

    __add__, __radd__, __mul__, __rmul__ = add, add_to, multiply, multiply_by
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        if not is_kernel(self.kernel):
            raise ValueError(f"Active is made of a kernel and columns, got {self.kernel!r}")
        given = np.atleast_1d(self.columns)
        whole = np.issubdtype(given.dtype, np.integer) and np.all(given >= 0)
        if given.ndim != 1 or len(given) == 0 or not whole or len(np.unique(given)) < len(given):
            raise ValueError(f"columns are different numbers from 0, got {self.columns!r}")
        object.__setattr__(self, "columns", tuple(given.tolist()))

    @property
    def stationary(self) -> bool:
        """Whether k(x, x) is the same at every x."""
        return is_stationary(self.kernel)

    @property
    def noise(self) -> float:
        """Variance that a point shares with no other."""
        return noise_of(self.kernel)

    def parameters(self) -> np.ndarray:
        """Those of the kernel."""
        return self.kernel.parameters()

    def with_parameters(self, values: np.ndarray) -> Self:
        """The same kernel with other parameter values."""
        return replace(self, kernel=self.kernel.with_parameters(values))

    def distances(self, X: np.ndarray) -> Any:
        """Those of the kernel at the columns of ``X`` [N, D]."""
        return self.kernel.distances(self._seen(X))

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: Any = None) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        return self.kernel.matrix(self._seen(X), None if X2 is None else self._seen(X2), distances=distances)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return self.kernel.diagonal(X if self.stationary else self._seen(X))

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: Any = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        return self.kernel.contract_gradient(self._seen(X), K, G, distances)

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        by_parameters, by_seen = self.kernel.contract_cross(self._seen(Z), self._seen(X), K, G)
        return by_parameters, self._spread(by_seen, Z)

    def contract_diagonal(self, X: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i dk(x_i, x_i)/dtheta [P], and the derivatives in the rows of ``X`` [N, D]."""
        by_parameters, by_seen = self.kernel.contract_diagonal(self._seen(X), g)
        return by_parameters, self._spread(by_seen, X)

    def _seen(self, X: np.ndarray) -> np.ndarray:
        if max(self.columns) >= X.shape[1]:  # type: ignore[arg-type]  # a tuple by now
            raise ValueError(f"column {max(self.columns)} of inputs of dimension {X.shape[1]}")  # type: ignore[arg-type]
        return X[:, self.columns]

    def _spread(self, by_seen: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Derivatives in all columns from those in the seen ones."""
        out = np.zeros(np.shape(X))
        out[:, self.columns] = by_seen
        return out
