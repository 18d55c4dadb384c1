"""The base of kernels that evaluate another kernel at other inputs, or with other parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tilted.kernels.compound import Operators, free_parameters_of, is_stationary, noise_of

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel


@dataclass(frozen=True)
class Around(Operators):
    """The kernel itself, but for what a subclass changes of inputs, parameters and derivatives in either.

    Parameters
    ----------
    kernel : Kernel
    """

    kernel: Kernel

    @property
    def stationary(self) -> bool:
        """Return whether k(x, x) is the same at every x."""
        return is_stationary(self.kernel)

    @property
    def noise(self) -> float:
        """Variance that a point shares with no other."""
        return noise_of(self.kernel)

    def parameters(self) -> np.ndarray:
        """The parameters of the inner kernel."""
        return self.kernel.parameters()

    def free_parameters(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the inner kernel's parameters [P], and their derivatives in :meth:`parameters` [P]."""
        return free_parameters_of(self.kernel)

    def with_parameters(self, values: np.ndarray) -> Self:
        """Return the kernel with other parameter values, ordered as in :meth:`parameters`."""
        return replace(self, kernel=self.kernel.with_parameters(values))

    def distances(self, X: np.ndarray) -> Any:
        """Return the distances of the inner kernel at its inputs from ``X`` [N, D]."""
        return self.kernel.distances(self._inner_inputs(X))

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: Any = None) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        return self.kernel.matrix(
            self._inner_inputs(X), None if X2 is None else self._inner_inputs(X2), distances=distances
        )

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return self.kernel.diagonal(X if self.stationary else self._inner_inputs(X))

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: Any = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        return self._pulled_back(self.kernel.contract_gradient(self._inner_inputs(X), K, G, distances))

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        by_parameters, by_inputs = self.kernel.contract_cross(
            self._inner_inputs(Z), self._inner_inputs(X), K, G
        )
        return self._pulled_back(by_parameters), self._spread(by_inputs, Z)

    def contract_diagonal(self, X: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i dk(x_i, x_i)/dtheta [P], and the derivatives in the rows of ``X`` [N, D]."""
        by_parameters, by_inputs = self.kernel.contract_diagonal(self._inner_inputs(X), g)
        return self._pulled_back(by_parameters), self._spread(by_inputs, X)

    def _inner_inputs(self, X: np.ndarray) -> np.ndarray:
        """The inputs of the kernel."""
        return X

    def _spread(self, by_inputs: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Derivatives in ``X`` from those in what the kernel sees of it."""
        return by_inputs

    def _pulled_back(self, by_parameters: np.ndarray) -> np.ndarray:
        """Derivatives in this kernel's parameters from those in the other's."""
        return by_parameters
