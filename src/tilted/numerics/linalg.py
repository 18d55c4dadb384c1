"""Factorisations, triangular inverses and linear solves, with errors that name the matrix.

Only lower triangles in Fortran order are factorised: OpenBLAS is 1.5 to 2 times faster there than on
upper triangles, and ``np.linalg.cholesky`` copies besides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dtrmm, dtrsm

if TYPE_CHECKING:
    from collections.abc import Callable

LEAF, SPLIT = 64, 1500  # rows: triangles are inverted directly up to LEAF and above SPLIT, by halves between
BLOCK = 128  # rows mirrored at once
ABOVE = np.triu(np.ones((BLOCK, BLOCK), dtype=bool), 1)
CANCELLED = 0.01  # share of a square that orthogonalisation has to leave, or it is repeated
RESIDUAL = 10.0  # times N eps max diag K: what a root of a semidefinite K may miss of an entry


class NotPositiveDefinite(ArithmeticError):
    """A matrix that has to be positive definite is not; ``name`` says which one."""

    def __init__(self, name: str, pivot: int, size: int) -> None:
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
    if info != 0 or not np.isfinite(L.diagonal()).all():
        raise NotPositiveDefinite(name, abs(info), len(A))
    return L


def inverse_lower(L: np.ndarray, overwrite: bool = False) -> np.ndarray:
    """Inverse [N, N] of a lower triangular matrix with a non-zero diagonal, in Fortran order.

    OpenBLAS's trtri is slow for small matrices; up to ``SPLIT`` rows the inverse is assembled from halves by
    triangular products, [[A, 0], [C, B]]^-1 = [[A^-1, 0], [-B^-1 C A^-1, B^-1]].

    Parameters
    ----------
    L : array [N, N]
        Fortran order.
    overwrite : bool
        Whether the inverse replaces ``L``.
    """
    inverse = L if overwrite else L.copy("F")
    if len(L) > SPLIT:
        return _inverse_directly(inverse)
    _invert_halves(inverse)
    return inverse


def _inverse_directly(L: np.ndarray) -> np.ndarray:
    inverse, info = lapack.dtrtri(L, lower=1, overwrite_c=1)
    if info != 0:
        raise NotPositiveDefinite("triangular factor", info, len(L))
    return inverse


def _invert_halves(L: np.ndarray) -> None:
    """Replace the lower triangle of ``L`` by its inverse."""
    n = len(L)
    if n <= LEAF:
        L[...] = _inverse_directly(L)
        return
    half = -(-n // 16) * 8
    A, B, C = L[:half, :half], L[half:, half:], L[half:, :half]
    _invert_halves(A)
    _invert_halves(B)
    C[...] = dtrmm(
        -1.0, B, dtrmm(1.0, A, C.copy("F"), side=1, lower=1, overwrite_b=1), lower=1, overwrite_b=1
    )


def gram_lower(L: np.ndarray, overwrite: bool = False) -> np.ndarray:
    """L^T L [N, N] of a lower triangular L, Fortran order, in the precision of L; only the lower triangle.

    ``overwrite`` says whether it may replace ``L``.
    """
    lauum = lapack.slauum if L.dtype == np.float32 else lapack.dlauum  # a look-up costs as much as a small L
    return lauum(L, lower=1, overwrite_c=int(overwrite))[0]


def mirror_lower(A: np.ndarray) -> np.ndarray:
    """Copy the lower triangle of ``A`` [N, N] over the upper one, in place, block by block; returns ``A``."""
    n = len(A)
    for first in range(0, n, BLOCK):
        rows = slice(first, min(first + BLOCK, n))
        corner = A[rows, rows]
        np.copyto(corner, corner.T, where=ABOVE[: len(corner), : len(corner)])
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


def gmres(
    product: Callable[[np.ndarray], np.ndarray], b: np.ndarray, tolerance: float, vectors: int
) -> np.ndarray:
    """Solve A x = b until |A x - b| <= tolerance |b|, or ``vectors`` products are used [Saad & Schultz 1986].

    `scipy.sparse.linalg.gmres` takes about twice as long per solve at N = 117 to 659, which makes a fit of
    ``GPClassifier`` up to 14 % slower (0.204 instead of 0.182 s of processor time at N = 117, one thread).

    Parameters
    ----------
    product : callable
        x [N] -> A x [N].
    b : array [N]
    tolerance : float
    vectors : int
        Products with A, at most.
    """
    size = math.sqrt(b @ b)
    if size == 0.0:
        return np.zeros_like(b)
    basis = np.empty((vectors + 1, len(b)))
    basis[0] = b / size
    turns: list[tuple[float, float]] = []  # cosines and sines
    columns, right = [], [size]
    for k in range(vectors):
        vectors_so_far, w = basis[: k + 1], product(basis[k])
        along = vectors_so_far @ w
        w = w - along @ vectors_so_far
        norm, column = math.sqrt(w @ w), along.tolist()
        sure = norm * norm > CANCELLED * float(along @ along)
        if not sure:  # a second pass makes it orthogonal to rounding
            correction = vectors_so_far @ w
            w -= correction @ vectors_so_far
            norm, column = math.sqrt(w @ w), (along + correction).tolist()
        for i, (c, s) in enumerate(turns):
            column[i], column[i + 1] = c * column[i] + s * column[i + 1], c * column[i + 1] - s * column[i]
        radius = math.hypot(column[k], norm)
        if not 0.0 < radius < math.inf:
            break
        c, s = column[k] / radius, norm / radius
        column[k] = radius
        columns.append(column)
        turns.append((c, s))
        right[k:] = [c * right[k], -s * right[k]]
        if norm == 0.0 or abs(right[-1]) <= tolerance * size:
            break
        basis[k + 1] = w / norm
    weights = right[: len(turns)]
    for k in reversed(range(len(turns))):  # back substitution: the k-th column ends at its pivot
        weights[k] /= columns[k][k]
        for i in range(k):
            weights[i] -= weights[k] * columns[k][i]
    return np.array(weights) @ basis[: len(turns)]


def log_determinant(L: np.ndarray) -> float:
    """log det(L L^T) from the factor."""
    return 2.0 * float(np.log(L.diagonal()).sum())


def semidefinite_root(K: np.ndarray, name: str) -> np.ndarray:
    """A root Lambda [N, R] with Lambda Lambda^T = K for a positive semidefinite K.

    Pivoted Cholesky (LAPACK pstrf): it stops when the largest remaining pivot is below
    N * eps * max(diag K), so that smooth kernels, whose matrices are singular to rounding, need no
    jitter; R is the numerical rank.

    Raises
    ------
    NotPositiveDefinite
        If the diagonal is not positive, the entries are not finite, or K is not semidefinite: there the root
        misses more of the diagonal, or of the product with one vector, than is left after the last pivot.
    """
    diagonal = np.diagonal(K)
    if not np.all(np.isfinite(K)) or not np.all(diagonal > 0):
        raise NotPositiveDefinite(name, 0, len(K))
    root = pivoted_cholesky(K)[0]
    missed = np.abs(diagonal - np.einsum("ij,ij->i", root, root))
    probe = 1.0 + 0.5 * np.cos(np.arange(len(K)))
    across = np.abs(K @ probe - root @ (root.T @ probe)) / np.sum(probe)
    tolerance = RESIDUAL * len(K) * np.finfo(float).eps * np.max(diagonal)
    if not (np.all(missed <= tolerance) and np.all(across <= tolerance)):
        raise NotPositiveDefinite(name, root.shape[1] + 1, len(K))
    return root


def pivoted_cholesky(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The root [N, R] of :func:`semidefinite_root` and its pivots [R].

    ``root[pivots]`` is lower triangular: these R values of a Gaussian with covariance K determine all
    others to rounding.
    """
    factor, pivots, rank, _ = lapack.dpstrf(K, lower=1)
    root = np.zeros((len(K), rank), order="F")
    root[pivots - 1] = np.tril(factor)[:, :rank]
    return root, pivots[:rank] - 1
