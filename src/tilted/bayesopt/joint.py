"""q of every function: a Gaussian, from its data and the sites of EP [PESC supplement, section 2].

A site on f sees only u_n = f(x_n) - f(x*): the matrix A of (7) is tau [[1, -1], [-1, 1]], of rank one. So
all sites, of f and of the constraints, are scalar, on projections of the whitened values of `surrogate`, and
q is improper exactly where I + A^T T A has no Cholesky factor. With many x* at once only one coordinate is
added to those that all have in common.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack
from scipy.linalg.blas import dsyrk, dtrsm

from tilted.bayesopt.surrogate import NOTHING, Rows, Surrogate, positive_part

SAME = 1e-9
"""Of the prior variance: that of f(x_n) - f(x*) below this means one place."""


@dataclass(frozen=True)
class Projections:
    """Projections of the sites of one function, for every x*: prior_mean + directions zeta.

    Attributes
    ----------
    directions : array [S, n, R + 1]
        The last coordinate is x*'s own. Of f: u_n at the N points; of a constraint: c_n, then c(x*).
    means : array [S, n]
        Given the data.
    optimum : Rows
        The function at all x* [S].
    own : array [S]
        Standard deviation of x*'s own coordinate, 0 where the points determine the function there.
    """

    directions: np.ndarray = field(repr=False)
    means: np.ndarray = field(repr=False)
    optimum: Rows = field(repr=False)
    own: np.ndarray = field(repr=False)


@dataclass(frozen=True)
class Gaussian:
    """q of one function for every x*, in the coordinates of zeta.

    Attributes
    ----------
    factor : list of arrays [R + 1, R + 1]
        For every x*, L with L L^T the precision of zeta; only the lower triangle counts.
    shift : array [S, R + 1]
        L^-1 times precision times mean.
    mean, variance : arrays [S, n]
        Of what the sites see.
    """

    factor: list[np.ndarray] = field(repr=False)
    shift: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    variance: np.ndarray = field(repr=False)


def cavity(
    mean: np.ndarray, variance: np.ndarray, tau: np.ndarray, nu: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance without the own site [eqs 15 to 18, 28]; infinite precision stays so."""
    shrinkage = 1.0 - tau * variance
    return (mean - variance * nu) / shrinkage, variance / shrinkage


def _own(optimum: Rows, scale: float) -> np.ndarray:
    return np.where(optimum.rest > NOTHING * scale, np.sqrt(optimum.rest), 0.0)


def apart(function: Surrogate, optima: np.ndarray) -> np.ndarray:
    """Return which points are not x* itself [S, N]: a priori f differs by more than `SAME`."""
    points, optimum = function.rows(function.points), function.rows(optima)
    differences = points.prior[None] - optimum.prior[:, None]
    variance = np.einsum("snr,snr->sn", differences, differences) + optimum.rest[:, None]
    return variance > SAME * function.scale


def of_objective(function: Surrogate, optima: np.ndarray) -> Projections:
    """u_n = f(x_n) - f(x*)."""
    points, optimum = function.rows(function.points), function.rows(optima)
    own = _own(optimum, function.scale)
    shared = points.root[None] - optimum.root[:, None]
    last = np.broadcast_to(-own[:, None, None], (*shared.shape[:2], 1))
    means = points.mean[None] - optimum.mean[:, None]
    return Projections(np.concatenate([shared, last], axis=2), means, optimum, own)


def of_constraint(function: Surrogate, optima: np.ndarray) -> Projections:
    """c_n, and c(x*)."""
    points, optimum = function.rows(function.points), function.rows(optima)
    own = _own(optimum, function.scale)
    n, rank = points.root.shape
    directions = np.zeros((len(optima), n + 1, rank + 1))
    directions[:, :n, :rank], directions[:, n, :rank], directions[:, n, rank] = points.root, optimum.root, own
    means = np.column_stack([np.broadcast_to(points.mean, (len(optima), n)), optimum.mean])
    return Projections(directions, means, optimum, own)


def loads(
    function: Surrogate, projections: Projections, rows: Rows, Xs: np.ndarray, optima: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the loads of f at ``Xs`` [n, D] on every x*'s own coordinate, and the residual variance [S, n].

    ``rows`` are those of the function there.
    """
    optimum, has = projections.optimum, (projections.own > 0)[:, None]
    shared = function.kernel.matrix(optima, Xs) - optimum.prior @ rows.prior.T
    load = np.where(has, shared / np.where(has, projections.own[:, None], 1.0), 0.0)
    return load, positive_part(rows.rest - load**2, function.scale)


def refresh(
    projections: Projections, which: np.ndarray, tau: np.ndarray, nu: np.ndarray
) -> tuple[Gaussian, np.ndarray]:
    """q for some x* from its sites [eqs 10, 11], and where it is proper; elsewhere it is NaN."""
    n, rank = projections.directions.shape[1:]
    factor, shift = [], np.full((len(which), rank), np.nan)
    mean, variance = np.full((len(which), n), np.nan), np.full((len(which), n), np.nan)
    for i, s in enumerate(which):
        A, prior = projections.directions[s], projections.means[s]
        L, info = lapack.dpotrf(_precision(A, tau[i]), lower=1, clean=0, overwrite_a=1)
        factor.append(L)
        if info == 0:
            W = dtrsm(1.0, L, A.T, lower=1)
            shift[i] = W @ (nu[i] - tau[i] * prior)
            mean[i] = prior + shift[i] @ W
            variance[i] = np.einsum("rn,rn->n", W, W)
    proper = np.all(np.isfinite(variance), axis=1) & np.all(np.isfinite(mean), axis=1)
    return Gaussian(factor, shift, mean, variance), proper


def _precision(A: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Lower triangle of I + A^T diag(tau) A [R, R], A [n, R]."""
    B = np.zeros((A.shape[1], A.shape[1]), order="F")
    for sign in (1.0, -1.0):
        some = sign * tau > 0
        if np.any(some):
            scaled = A[some] * np.sqrt(np.abs(tau[some, None]))
            B = dsyrk(sign, scaled.T, beta=1.0, c=B, lower=1, overwrite_c=1)
    B.flat[:: len(B) + 1] += 1.0
    return B
