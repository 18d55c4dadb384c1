"""Sums and products of covariance functions, and the operators + and * that make them.

Operators come with every kernel of this package. A kernel times a number is the same with so many times the
variance, which adds no parameter to a search; a number that is added has to be a ``Constant``.

A part may have independent noise (``noise``: how much of its variance no other point shares, see
``tilted.kernels.white``). Matrices of the parts are made again where gradients need them, and then it
matters whether K [N, N] is the matrix of one set of points, with the noise on its diagonal, or that between
two sets of equal size, without: the diagonal of K tells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any, Self, TypeGuard

    from tilted.kernels.contract import Kernel

    Shared = tuple[Any, Any]

ONE_POINT = np.zeros((1, 1))


def noise_of(kernel: Kernel) -> float:
    """Return the variance of ``kernel`` that a point shares with no other; 0 where it is unknown."""
    return getattr(kernel, "noise", 0.0)


def is_kernel(value: object) -> TypeGuard[Kernel]:
    """Return whether it is an object with the kernels' contract (their classes are not)."""
    return hasattr(value, "contract_gradient") and not isinstance(value, type)


def is_stationary(kernel: Kernel) -> bool:
    """Return whether k(x, x) is the same at every x; true where it is unknown."""
    return getattr(kernel, "stationary", True)


def free_parameters_of(kernel: Kernel) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters that a search varies [P], and their derivatives in ``parameters()`` [P].

    The parameters themselves and 1, but of kernels that show a search others (``restricted``).
    """
    own = getattr(kernel, "free_parameters", None)
    if own is not None:
        return own()
    values = kernel.parameters()
    return values, np.ones(len(values))


def variance_of(kernel: Kernel) -> float:
    """k(x, x) of a kernel for which it is the same at every x."""
    return float(kernel.diagonal(ONE_POINT)[0])


class Operators:
    """The base of all kernels: + and *, a number being a factor of the variance."""

    __array_ufunc__ = None  # an array leaves the operators to the kernel, which refuses it

    def __add__(self: Kernel, second: object) -> Sum:
        _refuse_number(second)
        return Sum(self, second) if is_kernel(second) else NotImplemented

    def __radd__(self: Kernel, first: object) -> Sum:
        _refuse_number(first)
        return Sum(first, self) if is_kernel(first) else NotImplemented

    def __mul__(self: Kernel, second: object) -> Kernel:
        if isinstance(second, Real):
            return scaled(self, float(second))
        return Product(self, second) if is_kernel(second) else NotImplemented

    def __rmul__(self: Kernel, first: object) -> Kernel:
        if isinstance(first, Real):
            return scaled(self, float(first))
        return Product(first, self) if is_kernel(first) else NotImplemented

    def distances(self, X: np.ndarray) -> Any:
        """None for every ``X`` [N, D]: there is nothing to share."""
        return None


def scaled(kernel: Kernel, factor: float) -> Kernel:
    """The kernel with ``factor`` times the variance, and no parameter more where it has a variance.

    ValueError for a factor that is not finite and positive.
    """
    if isinstance(kernel, Sum):
        return Sum(scaled(kernel.first, factor), scaled(kernel.second, factor))
    if isinstance(kernel, Product):
        return Product(scaled(kernel.first, factor), kernel.second)
    inner, variance = (getattr(kernel, name, None) for name in ("kernel", "variance"))
    if inner is not None:  # kernels around another
        return replace(kernel, kernel=scaled(inner, factor))  # type: ignore[type-var]  # a dataclass
    if variance is None:
        raise TypeError(f"only a kernel with a variance can be multiplied by a number, got {kernel!r}")
    more = tuple(factor * np.array(variance)) if np.ndim(variance) else factor * variance
    return replace(kernel, variance=more)  # type: ignore[type-var]  # a dataclass


def _refuse_number(value: object) -> None:
    """TypeError for a number, of which it is not said what kernel it stands for."""
    if isinstance(value, Real):
        raise TypeError(f"sums are of two kernels, such as Constant({value!r}), got {value!r}")


@dataclass(frozen=True)
class Pair(Operators):
    """The base of sums and products of two kernels.

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

    def __post_init__(self) -> None:
        for kernel in (self.first, self.second):
            if not is_kernel(kernel):
                raise ValueError(f"a {type(self).__name__} is made of two kernels, got {kernel!r}")

    @property
    def stationary(self) -> bool:
        """Return whether k(x, x) is the same at every x."""
        return is_stationary(self.first) and is_stationary(self.second)

    def parameters(self) -> np.ndarray:
        """The parameters of both kernels as a vector."""
        return np.concatenate([self.first.parameters(), self.second.parameters()])

    def free_parameters(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameters of both kernels [P], and their derivatives in :meth:`parameters` [P]."""
        pairs = zip(free_parameters_of(self.first), free_parameters_of(self.second), strict=True)
        values, slopes = (np.concatenate(pair) for pair in pairs)
        return values, slopes

    def with_parameters(self, values: np.ndarray) -> Self:
        """Return the kernel with other parameter values, ordered as in :meth:`parameters`."""
        P = len(self.first.parameters())
        return type(self)(self.first.with_parameters(values[:P]), self.second.with_parameters(values[P:]))

    def distances(self, X: np.ndarray) -> Shared | None:
        """Return the values that matrices of each kernel at ``X`` [N, D] share; None if there are none."""
        pair = self.first.distances(X), self.second.distances(X)
        return None if pair[0] is None and pair[1] is None else pair

    def _matrices(
        self, X: np.ndarray, X2: np.ndarray | None, distances: Shared | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Matrices of the two parts."""
        first_distances, second_distances = distances or (None, None)
        return self.first.matrix(X, X2, distances=first_distances), self.second.matrix(
            X, X2, distances=second_distances
        )

    def _each_gradient(
        self,
        X: np.ndarray,
        matrices: tuple[np.ndarray, np.ndarray],
        weights: tuple[np.ndarray, np.ndarray],
        distances: Shared | None,
    ) -> np.ndarray:
        """Gradients of both parts, each contracted with its own weights."""
        terms = zip((self.first, self.second), matrices, weights, distances or (None, None), strict=True)
        return np.concatenate([kernel.contract_gradient(X, K, G, shared) for kernel, K, G, shared in terms])

    def _each_diagonal(self, X: np.ndarray, *weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients of the diagonals of both parts; derivatives in the points add up."""
        terms = zip((self.first, self.second), weights, strict=True)
        by_parameters, by_X = zip(*(kernel.contract_diagonal(X, g) for kernel, g in terms), strict=True)
        return np.concatenate(by_parameters), by_X[0] + by_X[1]

    def _each_cross(
        self,
        Z: np.ndarray,
        X: np.ndarray,
        matrices: tuple[np.ndarray, np.ndarray],
        weights: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients between two sets of points; derivatives in the points add up."""
        terms = zip((self.first, self.second), matrices, weights, strict=True)
        by_parameters, by_Z = zip(*(kernel.contract_cross(Z, X, K, G) for kernel, K, G in terms), strict=True)
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

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.kernels import SquaredExponential, White
    >>> kernel = SquaredExponential() + White(0.1)
    >>> kernel.matrix(np.array([[0.0], [1.0]])).round(3)
    array([[1.1  , 0.607],
           [0.607, 1.1  ]])
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

    def contract_diagonal(self, X: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i dk(x_i, x_i)/dtheta [P], and the derivatives in the rows of ``X`` [N, D]."""
        return self._each_diagonal(X, g, g)


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
        If one is not a kernel, and for independent noise times a kernel whose variance depends on the place.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.kernels import Periodic, SquaredExponential
    >>> kernel = SquaredExponential() * Periodic(period=2.0)
    >>> kernel.matrix(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.082],
           [0.082, 1.   ]])
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for factor, cofactor in ((self.first, self.second), (self.second, self.first)):
            if noise_of(factor) and not is_stationary(cofactor):
                raise ValueError(
                    f"noise has one variance everywhere, which a product with {cofactor!r} has not"
                )

    @property
    def noise(self) -> float:
        """Variance that a point shares with no other: that of the product less that of the shared parts."""
        s, t = noise_of(self.first), noise_of(self.second)
        # beside noise the variance is the same everywhere
        return (s * variance_of(self.second) if s else 0.0) + (
            t * (variance_of(self.first) - s) if t else 0.0
        )

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

    def contract_diagonal(self, X: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i dk(x_i, x_i)/dtheta [P], and the derivatives in the rows of ``X`` [N, D]."""
        return self._each_diagonal(X, g * self.second.diagonal(X), g * self.first.diagonal(X))


def _matrices_like(
    pair: Sum | Product, Z: np.ndarray, X: np.ndarray, K: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Matrices of the two parts of K, which is that of the points Z where noise is on its diagonal."""
    among = (
        pair.noise > 0
        and len(Z) == len(X)
        and np.all(np.abs(np.diagonal(K) - pair.diagonal(Z)) < 0.5 * pair.noise)
    )
    return pair._matrices(Z, None if among else X, None)
