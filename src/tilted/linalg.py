"""Factorisations that say what they did.

Only lower triangles in Fortran order are factorised: OpenBLAS is 1.5 to 2 times faster there than on
upper triangles, and ``np.linalg.cholesky`` copies besides.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dtrmm, dtrsm

LEAF = 64  # rows: triangles are inverted directly up to this size, by halves above
BLOCK = 128  # rows mirrored at once


class NotPositiveDefinite(ArithmeticError):
    """A matrix that has to be positive definite is not; ``name`` says which one."""

    def __init__(self, name: str, pivot: int, size: int):
        self.name, self.pivot, self.size = name, pivot, size
        super().__init__(f"{name} is not positive definite (pivot {pivot} of {size})")


def cholesky(A: np.ndarray, name: str, overwrite: bool = False) -> np.ndarray:
    """Lower Cholesky factor of a symmetric matrix, without any jitter.

    Parameters
    ----------
    A : array [N, N]
        Symmetric; only the lower triangle is read.
    name : str
        What the matrix is, for the error message.
    overwrite : bool
        Allow the factor to replace ``A`` (when ``A`` is in Fortran order).

    Returns
    -------
    L : array [N, N], Fortran order
        A = L L^T, zeros above the diagonal.

    Raises
    ------
    NotPositiveDefinite
        With the name of the matrix and the failing pivot.
    """
    L, info = lapack.dpotrf(A, lower=1, clean=1, overwrite_a=overwrite)
    if info != 0 or not np.isfinite(L[-1, -1]):
        raise NotPositiveDefinite(name, abs(info), len(A))
    return L


def inverse_lower(L: np.ndarray) -> np.ndarray:
    """Inverse [N, N] of a lower triangular matrix with a non-zero diagonal, in Fortran order.

    LAPACK's trtri is slow for small matrices; the inverse is assembled from halves by triangular matrix
    products, [[A, 0], [C, B]]^-1 = [[A^-1, 0], [-B^-1 C A^-1, B^-1]].
    """
    out = np.zeros(L.shape, order="F")
    _invert_halves(L, out)
    return out


def _invert_halves(L, out) -> None:
    """Write the inverse of ``L`` into the lower triangle of ``out``."""
    n = len(L)
    if n <= LEAF:
        inverse, info = lapack.dtrtri(L, lower=1)
        if info != 0:
            raise NotPositiveDefinite("triangular factor", info, n)
        out[...] = inverse
        return
    half = -(-n // 16) * 8
    first, second = slice(0, half), slice(half, n)
    _invert_halves(L[first, first], out[first, first])
    _invert_halves(L[second, second], out[second, second])
    corner = dtrmm(1.0, out[first, first], L[second, first].copy("F"), side=1, lower=1, overwrite_b=1)
    out[second, first] = dtrmm(-1.0, out[second, second], corner, lower=1, overwrite_b=1)


def gram_lower(L: np.ndarray) -> np.ndarray:
    """L^T L [N, N] of a lower triangular L, Fortran order; only the lower triangle is meaningful."""
    return lapack.dlauum(L, lower=1)[0]


def mirror_lower(A: np.ndarray) -> np.ndarray:
    """Copy the lower triangle of ``A`` [N, N] over the upper one, in place, block by block; returns ``A``."""
    n = len(A)
    for first in range(0, n, BLOCK):
        rows = slice(first, min(first + BLOCK, n))
        corner = A[rows, rows]
        corner[...] = np.tril(corner) + np.tril(corner, -1).T
        A[rows, rows.stop :] = A[rows.stop :, rows].T
    return A


def inverse_from_cholesky(L: np.ndarray) -> np.ndarray:
    """(L L^T)^-1 as a full symmetric array [N, N], from the lower factor L."""
    inverse, info = lapack.dpotri(L, lower=1)
    if info != 0:
        raise NotPositiveDefinite("triangular factor", info, len(L))
    return mirror_lower(inverse)


def solve_lower(L: np.ndarray, B: np.ndarray, transpose: bool = False) -> np.ndarray:
    """Solve L x = B (or L^T x = B) for a lower triangular L; B is [N] or [N, M]."""
    columns = B[:, None] if B.ndim == 1 else B
    solution = dtrsm(1.0, L, columns, lower=1, trans_a=int(transpose))
    return solution[:, 0] if B.ndim == 1 else solution


def log_determinant(L: np.ndarray) -> float:
    """log det(L L^T) from the factor."""
    return 2.0 * float(np.sum(np.log(np.diagonal(L))))


def semidefinite_root(K: np.ndarray, name: str) -> np.ndarray:
    """A root Lambda [N, R] with Lambda Lambda^T = K for a positive semidefinite K.

    Pivoted Cholesky (LAPACK pstrf): it stops when the largest remaining pivot is below
    N * eps * max(diag K), so that smooth kernels, whose matrices are singular to rounding, need no
    jitter; R is the numerical rank.

    Raises
    ------
    NotPositiveDefinite
        If the diagonal is not positive or the entries are not finite.
    """
    if not np.all(np.isfinite(K)) or not np.all(np.diagonal(K) > 0):
        raise NotPositiveDefinite(name, 0, len(K))
    return pivoted_cholesky(K)[0]


def pivoted_cholesky(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The root [N, R] of :func:`semidefinite_root` and its pivots [R].

    ``root[pivots]`` is lower triangular: these R values of a Gaussian with covariance K determine all
    others to rounding.
    """
    factor, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    root = np.zeros((len(K), rank), order="F")
    root[pivots - 1] = np.tril(factor)[:, :rank]
    return root, pivots[:rank] - 1
