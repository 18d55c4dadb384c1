"""Sums and products of covariance functions, and the operators + and * that make them.

Operators come with every kernel of this package but the squared exponential, which takes part in them all the
same: ``SquaredExponential() + White()`` is the sum; of two squared exponentials it is ``Sum(a, b)``.

A part may have independent noise (``noise``: how much of its variance no other point shares, see
``tilted.kernels.white``). Matrices of the parts are made again where gradients need them, and then it
matters whether K [N, N] is the matrix of one set of points, with the noise on its diagonal, or that between
two sets of equal size, without: the diagonal of K tells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ONE_POINT = np.zeros((1, 1))


def noise_of(kernel) -> float:
    """How much of the variance of ``kernel`` a point shares with no other; 0 for kernels that do not say."""
    return getattr(kernel, "noise", 0.0)


def variance_of(kernel) -> float:
    """k(x, x), the same at every x."""
    return float(kernel.diagonal(ONE_POINT)[0])


def add(self, other) -> Sum:
    """``self + other``."""
    return Sum(self, other) if _is_kernel(other) else NotImplemented


def add_to(self, other) -> Sum:
    """``other + self``."""
    return Sum(other, self) if _is_kernel(other) else NotImplemented


def multiply(self, other) -> Product:
    """``self * other``."""
    return Product(self, other) if _is_kernel(other) else NotImplemented


def multiply_by(self, other) -> Product:
    """``other * self``."""
    return Product(other, self) if _is_kernel(other) else NotImplemented


@dataclass(frozen=True)
class Sum:
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

    first: object
    second: object

    __add__, __radd__, __mul__, __rmul__ = add, add_to, multiply, multiply_by

    def __post_init__(self):
        _require_kernels(self)

    @property
    def noise(self) -> float:
        """Variance that a point shares with no other."""
        return noise_of(self.first) + noise_of(self.second)

    def parameters(self) -> np.ndarray:
        """Those of both parts as a vector."""
        return np.concatenate([self.first.parameters(), self.second.parameters()])

    def with_parameters(self, values: np.ndarray) -> Sum:
        """The same kernel with other parameter values, ordered as in :meth:`parameters`."""
        return Sum(*_with_parameters(self, values))

    def distances(self, X: np.ndarray) -> tuple | None:
        """What each part's matrices at the same ``X`` [N, D] share."""
        return _distances(self, X)

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: tuple | None = None):
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        first, second = _matrices(self, X, X2, distances)
        return first + second

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return self.first.diagonal(X) + self.second.diagonal(X)

    def contract_gradient(self, X, K, G, distances: tuple | None = None) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        matrices = _matrices(self, X, None, distances)
        return _each_gradient(self, X, matrices, (G, G), distances)

    def contract_cross(self, Z, X, K, G) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        return _each_cross(self, Z, X, _matrices_like(self, Z, X, K), (G, G))

    def contract_diagonal(self, g: np.ndarray) -> np.ndarray:
        """sum_i g_i dk(x_i, x_i)/dtheta [P]."""
        return np.concatenate([self.first.contract_diagonal(g), self.second.contract_diagonal(g)])


@dataclass(frozen=True)
class Product:
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

    first: object
    second: object

    __add__, __radd__, __mul__, __rmul__ = add, add_to, multiply, multiply_by

    def __post_init__(self):
        _require_kernels(self)

    @property
    def noise(self) -> float:
        """Variance that a point shares with no other: that of the product less that of the shared parts."""
        a, b = variance_of(self.first), variance_of(self.second)
        s, t = noise_of(self.first), noise_of(self.second)
        return s * b + t * (a - s)

    def parameters(self) -> np.ndarray:
        """Those of both parts as a vector."""
        return np.concatenate([self.first.parameters(), self.second.parameters()])

    def with_parameters(self, values: np.ndarray) -> Product:
        """The same kernel with other parameter values, ordered as in :meth:`parameters`."""
        return Product(*_with_parameters(self, values))

    def distances(self, X: np.ndarray) -> tuple | None:
        """What each part's matrices at the same ``X`` [N, D] share."""
        return _distances(self, X)

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: tuple | None = None):
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        first, second = _matrices(self, X, X2, distances)
        return first * second

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return self.first.diagonal(X) * self.second.diagonal(X)

    def contract_gradient(self, X, K, G, distances: tuple | None = None) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        first, second = matrices = _matrices(self, X, None, distances)
        return _each_gradient(self, X, matrices, (G * second, G * first), distances)

    def contract_cross(self, Z, X, K, G) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        first, second = matrices = _matrices_like(self, Z, X, K)
        return _each_cross(self, Z, X, matrices, (G * second, G * first))

    def contract_diagonal(self, g: np.ndarray) -> np.ndarray:
        """sum_i g_i dk(x_i, x_i)/dtheta [P]."""
        a, b = variance_of(self.first), variance_of(self.second)
        return np.concatenate([self.first.contract_diagonal(g * b), self.second.contract_diagonal(g * a)])


def _is_kernel(value) -> bool:
    return hasattr(value, "contract_gradient")


def _require_kernels(kernel) -> None:
    """ValueError unless both parts are kernels."""
    for part in (kernel.first, kernel.second):
        if not _is_kernel(part):
            raise ValueError(f"a {type(kernel).__name__} is made of two kernels, got {part!r}")


def _with_parameters(kernel, values):
    """The two parts with their shares of ``values``."""
    first = len(kernel.first.parameters())
    return kernel.first.with_parameters(values[:first]), kernel.second.with_parameters(values[first:])


def _distances(kernel, X):
    """A pair, or None if neither part shares anything."""
    pair = kernel.first.distances(X), kernel.second.distances(X)
    return None if pair[0] is None and pair[1] is None else pair


def _matrices(kernel, X, X2, distances):
    """Matrices of the two parts."""
    one, two = (None, None) if distances is None else distances
    return kernel.first.matrix(X, X2, distances=one), kernel.second.matrix(X, X2, distances=two)


def _matrices_like(kernel, Z, X, K):
    """Matrices of the two parts of K, which is that of the points Z where noise is on its diagonal."""
    among = (
        kernel.noise > 0
        and len(Z) == len(X)
        and np.all(np.diagonal(K) > variance_of(kernel) - 0.5 * kernel.noise)
    )
    return _matrices(kernel, Z, None if among else X, None)


def _each_gradient(kernel, X, matrices, weights, distances):
    """Gradients of both parts, each contracted with its own weights."""
    parts = zip((kernel.first, kernel.second), matrices, weights, distances or (None, None), strict=True)
    return np.concatenate([part.contract_gradient(X, K, G, shared) for part, K, G, shared in parts])


def _each_cross(kernel, Z, X, matrices, weights):
    """The same between two sets of points; derivatives in the points add up."""
    parts = zip((kernel.first, kernel.second), matrices, weights, strict=True)
    by_parameters, by_Z = zip(*(part.contract_cross(Z, X, K, G) for part, K, G in parts), strict=True)
    return np.concatenate(by_parameters), by_Z[0] + by_Z[1]
