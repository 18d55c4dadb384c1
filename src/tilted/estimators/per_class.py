"""A kernel for every class of a joint model: what a search, a posterior and a prior know as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tilted.kernels.compound import free_parameters_of
from tilted.learning.priors import LogNormal

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel


@dataclass(frozen=True)
class PerClass:
    """Kernels of C functions, all of one kind.

    What a kernel has for gradients and predictions at dense posteriors, with matrices [C, N, N2] and
    diagonals [C, N]; parameters are those of one class after the other.
    """

    each: tuple[Kernel, ...]

    @classmethod
    def alike(cls, kernel: Kernel, classes: int) -> Self:
        """So many times the same kernel."""
        return cls((kernel,) * classes)

    def parameters(self) -> np.ndarray:
        """Those of all classes [C P]."""
        return np.concatenate([kernel.parameters() for kernel in self.each])

    def free_parameters(self) -> tuple[np.ndarray, np.ndarray]:
        """Those of all classes [C P], and their derivatives in :meth:`parameters` [C P]."""
        values, slopes = zip(*(free_parameters_of(kernel) for kernel in self.each), strict=True)
        return np.concatenate(values), np.concatenate(slopes)

    def with_parameters(self, values: np.ndarray) -> Self:
        """The same with other parameter values, ordered as in :meth:`parameters`."""
        parts = np.split(np.asarray(values), len(self.each))
        return type(self)(tuple(k.with_parameters(part) for k, part in zip(self.each, parts, strict=True)))

    def distances(self, X: np.ndarray) -> Any:
        """What matrices of all classes at the same ``X`` [N, D] share."""
        return self.each[0].distances(X)

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: Any = None) -> np.ndarray:
        """Covariance matrices [C, N, N2]."""
        return np.stack([kernel.matrix(X, X2, distances=distances) for kernel in self.each])

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [C, N]."""
        return np.stack([kernel.diagonal(X) for kernel in self.each])

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: Any = None
    ) -> np.ndarray:
        """sum_ij G_cij dK_cij/dtheta [C P] for the matrices K [C, N, N] at ``X``."""
        parts = zip(self.each, K, G, strict=True)
        return np.concatenate([k.contract_gradient(X, K_c, G_c, distances) for k, K_c, G_c in parts])


def kernels_of(kernel: Kernel) -> tuple[Kernel, ...]:
    """Those of every class, or the one."""
    return kernel.each if isinstance(kernel, PerClass) else (kernel,)


def prior_of_each(prior: LogNormal | None, classes: int) -> LogNormal | None:
    """The same prior on the parameters of every class."""
    return prior and LogNormal(prior.medians * classes, prior.sds * classes)
