"""Sums and products of covariance functions, and the operators + and * that make them.

Operators come with every kernel of this package, and take kernels only: a number is a ``Constant``.

A part may have independent noise (``noise``: how much of its variance no other point shares, see
``tilted.kernels.white``). Matrices of the parts are made again where gradients need them, and then it
matters whether K [N, N] is the matrix of one set of points, with the noise on its diagonal, or that between
two sets of equal size, without: the diagonal of K tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any, Self, TypeGuard

    from tilted.kernels.contract import Kernel

    Shared = tuple[Any, Any]

ONE_POINT = np.zeros((1, 1))


def noise_of(kernel: Kernel) -> float:
    """How much of the variance of ``kernel`` a point shares with no other; 0 for kernels that do not say."""
    return getattr(kernel, "noise", 0.0)


def variance_of(kernel: Kernel) -> float:
    """k(x, x), the same at every x."""
    return float(kernel.diagonal(ONE_POINT)[0])


def add(self: Kernel, other: object) -> Sum:
    """``self + other``."""
    return Sum(self, other) if _is_operand(other) else NotImplemented


def add_to(self: Kernel, other: object) -> Sum:
    """``other + self``."""
    return Sum(other, self) if _is_operand(other) else NotImplemented


def multiply(self: Kernel, other: object) -> Product:
    """``self * other``."""
    return Product(self, other) if _is_operand(other) else NotImplemented


def multiply_by(self: Kernel, other: object) -> Product:
    """``other * self``."""
    return Product(other, self) if _is_operand(other) else NotImplemented


@dataclass(frozen=True)
class Pair:
    """What sums and products of two kernels share.

    Parameters
    ----------
    first, second : kernels
        Parameters are those of the first, then those of the second.

    Raises
    ------
    ValueError
        If one is not a kernel.
    """

    first: Kernel
    second: Kernel

    __add__, __radd__, __mul__, __rmul__ = add, add_to, multiply, multiply_by

    def __post_init__(self) -> None:
        for part in (self.first, self.second):
            if not _is_kernel(part):
                raise ValueError(f"a {type(self).__name__} is made of two kernels, got {part!r}")

    def parameters(self) -> np.ndarray:
        """Those of both parts as a vector."""
        return np.concatenate([self.first.parameters(), self.second.parameters()])

    def with_parameters(self, values: np.ndarray) -> Self:
        """The same kernel with other parameter values, ordered as in :meth:`parameters`."""
        P = len(self.first.parameters())
        return type(self)(self.first.with_parameters(values[:P]), self.second.with_parameters(values[P:]))

    def distances(self, X: np.ndarray) -> Shared | None:
        """What each part's matrices at the same ``X`` [N, D] share; None if nothing."""
        pair = self.first.distances(X), self.second.distances(X)
        return None if pair[0] is None and pair[1] is None else pair

    def _matrices(
        self, X: np.ndarray, X2: np.ndarray | None, distances: Shared | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Matrices of the two parts."""
        one, two = distances or (None, None)
        return self.first.matrix(X, X2, distances=one), self.second.matrix(X, X2, distances=two)

    def _each_gradient(
        self,
        X: np.ndarray,
        matrices: tuple[np.ndarray, np.ndarray],
        weights: tuple[np.ndarray, np.ndarray],
        distances: Shared | None,
    ) -> np.ndarray:
        """Gradients of both parts, each contracted with its own weights."""
        parts = zip((self.first, self.second), matrices, weights, distances or (None, None), strict=True)
        return np.concatenate([part.contract_gradient(X, K, G, shared) for part, K, G, shared in parts])

    def _each_cross(
        self,
        Z: np.ndarray,
        X: np.ndarray,
        matrices: tuple[np.ndarray, np.ndarray],
        weights: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same between two sets of points; derivatives in the points add up."""
        parts = zip((self.first, self.second), matrices, weights, strict=True)
        by_parameters, by_Z = zip(*(part.contract_cross(Z, X, K, G) for part, K, G in parts), strict=True)
        return np.concatenate(by_parameters), by_Z[0] + by_Z[1]


class Sum(Pair):
    """k(x, x') = first(x, x') + second(x, x').

    Parameters
    ----------
    first, second : kernels
        Parameters are those of the first, then those of the second.

    Raises
    ------
    ValueError
        If one is not a kernel.
    """

    @property
    def noise(self) -> float:
        """Variance that a point shares with no other."""
        return noise_of(self.first) + noise_of(self.second)

    def matrix(
        self, X: np.ndarray, X2: np.ndarray | None = None, distances: Shared | None = None
    ) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        first, second = self._matrices(X, X2, distances)
        return first + second

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return self.first.diagonal(X) + self.second.diagonal(X)

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: Shared | None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        matrices = self._matrices(X, None, distances)
        return self._each_gradient(X, matrices, (G, G), distances)

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        return self._each_cross(Z, X, _matrices_like(self, Z, X, K), (G, G))

    def contract_diagonal(self, g: np.ndarray) -> np.ndarray:
        """sum_i g_i dk(x_i, x_i)/dtheta [P]."""
        return np.concatenate([self.first.contract_diagonal(g), self.second.contract_diagonal(g)])


class Product(Pair):
    """k(x, x') = first(x, x') second(x, x').

    Only the product of the two variances matters: a search leaves their ratio where it happens to be.

    Parameters
    ----------
    first, second : kernels
        Parameters are those of the first, then those of the second.

    Raises
    ------
    ValueError
        If one is not a kernel.
    """

    @property
    def noise(self) -> float:
        """Variance that a point shares with no other: that of the product less that of the shared parts."""
        a, b = variance_of(self.first), variance_of(self.second)
        s, t = noise_of(self.first), noise_of(self.second)
        return s * b + t * (a - s)

    def matrix(
        self, X: np.ndarray, X2: np.ndarray | None = None, distances: Shared | None = None
    ) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        first, second = self._matrices(X, X2, distances)
        return first * second

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return self.first.diagonal(X) * self.second.diagonal(X)

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: Shared | None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        first, second = matrices = self._matrices(X, None, distances)
        return self._each_gradient(X, matrices, (G * second, G * first), distances)

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        first, second = matrices = _matrices_like(self, Z, X, K)
        return self._each_cross(Z, X, matrices, (G * second, G * first))

    def contract_diagonal(self, g: np.ndarray) -> np.ndarray:
        """sum_i g_i dk(x_i, x_i)/dtheta [P]."""
        a, b = variance_of(self.first), variance_of(self.second)
        return np.concatenate([self.first.contract_diagonal(g * b), self.second.contract_diagonal(g * a)])


def _matrices_like(
    pair: Sum | Product, Z: np.ndarray, X: np.ndarray, K: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of the two parts of K, which is that of the points Z where noise is on its diagonal."""
    among = (
        pair.noise > 0 and len(Z) == len(X) and np.all(np.diagonal(K) > variance_of(pair) - 0.5 * pair.noise)
    )
    return pair._matrices(Z, None if among else X, None)


def _is_operand(value: object) -> TypeGuard[Kernel]:
    """Whether it is a kernel; TypeError for a number, while other things may know what to do themselves."""
    if isinstance(value, Number):
        raise TypeError(f"sums and products are of two kernels, such as Constant({value!r}), got {value!r}")
    return _is_kernel(value)


def _is_kernel(value: object) -> TypeGuard[Kernel]:
    return hasattr(value, "contract_gradient")
