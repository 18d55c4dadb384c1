"""The evidence of the data given one latent, by EP and corrected, for many values at once.

Given f* = f the other latents have the prior mean m_0 + k (f - m*) / k** and covariance K - k k^T / k**, and

    p(f* | y) ~ N(f; m*, k**) Z(y | f* = f),

with Z by EP: EP-FULL of [Cseke & Heskes 2011]; here Z is corrected besides [Opper, Paquet & Winther 2013].
Data whose latents f* determines take no part in EP: their likelihoods multiply Z as they are.

A batch is B pairs of a query and a value. Each step conditions all of them, O(N^3) a pair, in the form
B = I + S^1/2 K S^1/2; B^-1 gives the marginals, the cavities (1 - tau_i v_i = B^-1_ii, without cancellation)
and the correlations P. Then Newton's method: with changes p = v dtau, q = sd (dnu - m dtau) of the sites,
their cavities in natural parameters change by A = (P - I) q and C = (P o P - I) p, and matching moments
again means

    q = mu + (r - 1) A - (lambda_3 / 2 + r mu) C,
    p = 1 - r - lambda_3 A + (lambda_4 / 2 + r^2 + mu lambda_3 - 1) C,

with the mean mu and variance r of the tilted distribution in units of the marginal, and its standardised
cumulants (times powers of r). The evidence is stationary in the sites: a residual of 5e-3 leaves about 1e-4
of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import lapack

from tilted.corrections.evidence import second_order
from tilted.corrections.expansion import expand
from tilted.corrections.factors import undetermined
from tilted.gaussian import Sites, log_site_integral
from tilted.likelihoods.contract import Shape
from tilted.likelihoods.shape import shape_of
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.corrections.expansion import Expansion, Queries

MEMORY = 12e6  # bytes of the matrices of a batch, unless one pair needs more
MATRICES = 6  # [N, N] a pair, at most
RESIDUAL, STEPS = 5e-3, 12  # of the moments, in sd and relative; of Newton's method
VECTORS = 12  # of its linear solver
COMPLETE = 1e-12  # share of a new vector of its basis that rounding leaves
RIDGE = 1e-14  # of their trace, added to the squares that it solves by
LARGEST, RISE = 2.0, 5.0  # fall of log tau, and rise of tau in units of tau (or of 1 / v if more), in a step
WEAK = 1e-5  # of its variance that a site takes, below which the variance comes from K


class Conditioned(NamedTuple):
    """Evidences given values of latents, arrays [Q, K].

    Attributes
    ----------
    log_z : EP's log Z(y | f* = f), with the sites of the data that f* determines for their likelihoods
    correction : its second-order terms
    settled : whether the sites converged, and no tilted distribution has two lobes
    """

    log_z: np.ndarray
    correction: np.ndarray
    settled: np.ndarray


def queries_at_once(n: int) -> int:
    """Return the number of queries that fit a batch of N data."""
    return max(1, int(MEMORY / (8.0 * MATRICES * n * n)))


def evidences(base: Expansion, queries: Queries, f: np.ndarray) -> Conditioned:
    """Evidences given that the queried latents are f [Q, K], increasing, K odd.

    The middle value starts from EP's sites, those on either side from their neighbours'. What Newton's method
    does not settle, and everything where precisions may be negative, goes through ``inference.engine``.
    """
    K, free = _conditioned_priors(base, queries)
    slope, sites = queries.cross / queries.prior_variance[:, None], base.inference.sites
    conditioned = Conditioned(
        np.full(f.shape, np.nan), np.full(f.shape, np.nan), np.zeros(f.shape, dtype=bool)
    )
    start = Sites(*(np.tile(values, (len(f), 1)) for values in (sites.tau, sites.nu)))

    def visit(k: int, start: Sites) -> Sites:
        mean = base.prior.mean + slope * (f[:, k] - queries.prior_mean)[:, None]
        batch = _Batch(base, K, mean, free, start)
        conditioned.log_z[:, k], conditioned.correction[:, k], conditioned.settled[:, k] = _settle(batch)
        return batch.sites

    middle, last = f.shape[1] // 2, f.shape[1]
    centre = visit(middle, start)
    neighbour = visit(middle + 1, centre) if middle + 1 < last else centre
    for path, arm in (
        ([centre, neighbour], range(middle + 2, last)),
        ([neighbour, centre], range(middle - 1, -1, -1)),
    ):
        for k in arm:
            path = [*path[-2:], visit(k, _ahead(path[-3:]))]
    return conditioned


def _conditioned_priors(base: Expansion, queries: Queries) -> tuple[np.ndarray, np.ndarray]:
    """Covariances [Q, N, N] given the queries, 0 where these determine a latent; free ones [Q, N]."""
    free = undetermined(base, queries)
    assert isinstance(base.prior, Dense)
    root = queries.cross / np.sqrt(queries.prior_variance)[:, None]
    K = base.prior.K - root[:, :, None] * root[:, None, :]
    K *= free[:, :, None]
    K *= free[:, None, :]
    return K, free


def _ahead(path: list[Sites]) -> Sites:
    """The next sites on an evenly spaced path: a parabola, or a line, in log tau and nu / tau."""
    if not all(np.all(sites.tau > 0) for sites in path):
        return path[-1]
    rates, means = [np.log(sites.tau) for sites in path], [sites.nu / sites.tau for sites in path]
    weights = (1.0, -3.0, 3.0) if len(path) == 3 else (-1.0, 2.0)
    rate, mean = (sum(w * x for w, x in zip(weights, values, strict=True)) for values in (rates, means))
    tau = np.exp(np.clip(rate, rates[-1] - LARGEST, rates[-1] + LARGEST))
    return Sites(tau, tau * mean)


def _settle(batch: _Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """EP's log Z, its correction and whether the sites converged, [B] each; moves the batch's sites.

    A step that brings the moments no nearer is halved.
    """
    size = len(batch.mean)
    log_z, correction, settled = np.full(size, np.nan), np.full(size, np.nan), np.zeros(size, dtype=bool)
    rows, best, from_there = np.arange(size), np.full(size, np.inf), batch.select(np.arange(size)).sites
    by_newton = batch.base.likelihood.log_concave and np.all(batch.sites.tau > 0) and np.any(batch.free)
    steps = STEPS if by_newton else 0
    for _ in range(steps):
        active = batch if len(rows) == size else batch.select(rows)
        active.condition()
        active.look()
        P, done = active.correlations(), active.residual < RESIDUAL
        log_z[rows[done]], settled[rows[done]] = active.evidence()[done], True
        for b in np.flatnonzero(done):
            shape = Shape(active.shape.skewness[b], active.shape.kurtosis[b])
            correction[rows[b]] = sum(second_order(P[b], shape))
        if np.all(done):
            return log_z, correction, settled
        moved = active.newton(P if not np.any(done) else P[~done], ~done)
        residual, rows = active.residual[~done], rows[~done]
        worse = ~(residual < np.maximum(1.5 * best[rows], 0.1))
        here = batch.sites.tau[rows], batch.sites.nu[rows]
        there = from_there.tau[rows], from_there.nu[rows]
        tau, nu = (
            np.where(worse[:, None], 0.5 * (now + then), ahead)
            for now, then, ahead in zip(here, there, (moved.tau, moved.nu), strict=True)
        )
        nearer = rows[~worse]
        best[nearer] = residual[~worse]
        from_there.tau[nearer], from_there.nu[nearer] = here[0][~worse], here[1][~worse]
        batch.sites.tau[rows], batch.sites.nu[rows] = tau, nu
    for b in rows:
        log_z[b], correction[b], settled[b] = _by_engine(batch, int(b))
    return log_z, correction, settled


def _by_engine(batch: _Batch, b: int) -> tuple[float, float, bool]:
    """Condition one pair by the general engine, from EP's sites."""
    base, free = batch.base, batch.free[b]
    prior, sites = Dense.build(batch.K[b][np.ix_(free, free)], batch.mean[b, free]), base.inference.sites
    mean, tau, nu = (values[~free] for values in (batch.mean[b], sites.tau, sites.nu))
    constant = float(np.sum(nu * mean - 0.5 * tau * mean**2))
    if not np.any(free):
        return constant, 0.0, True
    try:
        start = Sites(batch.sites.tau[b, free], batch.sites.nu[b, free])
        expansion = expand(prior, base.likelihood, base.y[free], start, base.options)
    except ArithmeticError:
        return np.nan, np.nan, False
    batch.sites.tau[b, free], batch.sites.nu[b, free] = (
        expansion.inference.sites.tau,
        expansion.inference.sites.nu,
    )
    log_z = expansion.inference.log_evidence + constant
    sound = expansion.inference.status.converged and not np.any(expansion.lobes)
    return log_z, sum(second_order(expansion.correlations(), expansion.shape)), sound


@dataclass
class _Batch:
    """Pairs of a conditioned prior and a prior mean, with their sites; arrays [B, N, N] and [B, N]."""

    base: Expansion
    K: np.ndarray
    mean: np.ndarray
    free: np.ndarray
    sites: Sites

    def __post_init__(self) -> None:
        self.sites = Sites(self.sites.tau.copy(), self.sites.nu.copy())

    def select(self, rows: np.ndarray) -> _Batch:
        """Some of the pairs."""
        sites = Sites(self.sites.tau[rows], self.sites.nu[rows])
        return _Batch(self.base, self.K[rows], self.mean[rows], self.free[rows], sites)

    def condition(self) -> None:
        """Marginals, log normaliser and B^-1 of all pairs at their sites."""
        tau, nu, root = self.sites.tau, self.sites.nu, np.sqrt(self.sites.tau)
        B = self.K * root[:, None, :]
        B *= root[:, :, None]
        inverse, log_det = _inverses(B)
        self.inverse, shift = inverse, nu - tau * self.mean
        self.remaining = np.einsum("bii->bi", inverse).copy()
        self.v = (1.0 - self.remaining) / tau
        self._weak(root)
        moved = _times(self.K, root * _times(inverse, shift / root))
        self.m = self.mean + moved
        quadratic = np.sum(shift * moved + self.mean * (2.0 * nu - tau * self.mean), axis=1)
        self.log_normaliser = 0.5 * (quadratic - log_det)

    def _weak(self, root: np.ndarray) -> None:
        """Variances of weak sites, where 1 - B^-1_ii cancels, from K directly."""
        weak = self.free & (self.remaining > 1.0 - WEAK)
        for b in np.flatnonzero(np.any(weak, axis=1)):
            i = np.flatnonzero(weak[b])
            scaled = root[b, :, None] * self.K[b][:, i]
            explained = np.einsum("ij,ij->j", scaled, self.inverse[b] @ scaled)
            self.v[b, i] = np.maximum(self.K[b, i, i] - explained, 1e-12 * self.K[b, i, i])
            self.remaining[b, i] = 1.0 - self.sites.tau[b, i] * self.v[b, i]

    def look(self) -> None:
        """Tilted distributions: in units of the marginals' sd, and the residual [B] of their moments."""
        flat, free = np.flatnonzero(self.free.ravel()), self.free
        v = np.where(free, self.v / self.remaining, 1.0)
        m = np.where(free, (self.m - self.sites.nu * self.v) / self.remaining, 0.0)
        y = np.broadcast_to(self.base.y, free.shape)
        at = y.ravel()[flat], m.ravel()[flat], v.ravel()[flat]
        tilted, shape = self.base.likelihood.tilted(*at), shape_of(self.base.likelihood, *at)
        sd = np.sqrt(np.where(free, self.v, 1.0))
        self.sd, self.cavity = sd, (m, v)

        def spread(values: np.ndarray, otherwise: float) -> np.ndarray:
            out = np.full(free.size, otherwise)
            out[flat] = values
            return out.reshape(free.shape)

        self.log_z = spread(tilted.log_z, 0.0)
        self.mu = np.where(free, (spread(tilted.mean, 0.0) - self.m) / sd, 0.0)
        self.r = np.where(free, spread(tilted.variance, 1.0) / sd**2, 1.0)
        self.shape = Shape(spread(shape.skewness, 0.0), spread(shape.kurtosis, 0.0))
        self.residual = np.max(np.abs(self.mu) + np.abs(np.log(self.r)), axis=1)

    def correlations(self) -> np.ndarray:
        """Posterior correlations [B, N, N], zeros on the diagonal and where a latent is determined."""
        lost = np.maximum(np.where(self.free, 1.0 - self.remaining, np.inf), 1e-12)
        scale = 1.0 / np.sqrt(lost)
        P = self.inverse * (-scale[:, None, :])
        P *= scale[:, :, None]
        np.einsum("bii->bi", P)[...] = 0.0
        return np.clip(P, -1.0, 1.0, out=P)

    def newton(self, P: np.ndarray, rows: np.ndarray) -> Sites:
        """The sites of the pairs ``rows`` after a Newton step."""
        n, mu, r = self.mean.shape[1], self.mu[rows], self.r[rows]
        third, fourth = self.shape.skewness[rows] * r**1.5, self.shape.kurtosis[rows] * r**2
        by_C = 0.5 * third + r * mu, 0.5 * fourth + r**2 + mu * third - 1.0
        square = P * P

        def system(u: np.ndarray) -> np.ndarray:
            q, p = u[:, :n], u[:, n:]
            A, C = _times(P, q), _times(square, p)
            return np.concatenate([q - (r - 1.0) * A + by_C[0] * C, p + third * A - by_C[1] * C], axis=1)

        u = solve(system, np.concatenate([mu, 1.0 - r], axis=1), VECTORS)
        free, tau, nu = self.free[rows], self.sites.tau[rows], self.sites.nu[rows]
        rise = u[:, n:] / (np.where(free, self.v[rows], 1.0) * tau)
        most = np.maximum(RISE, 1.0 / (np.where(free, self.v[rows], 1.0) * tau))
        moved = tau * np.where(rise < 0, np.exp(np.clip(rise, -LARGEST, 0.0)), 1.0 + np.minimum(rise, most))
        change = np.where(free, moved - tau, 0.0)
        step = np.where(free, u[:, :n] / self.sd[rows] + self.m[rows] * change, 0.0)
        return Sites(tau + change, nu + step)

    def evidence(self) -> np.ndarray:
        """EP's log Z(y | f*) [B] at the present sites, which stand for determined data."""
        terms = self.log_z - log_site_integral(*self.cavity, self.sites.tau, self.sites.nu)
        return self.log_normaliser + np.sum(np.where(self.free, terms, 0.0), axis=1)


def _inverses(B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(I + B)^-1 in place of symmetric B [B, N, N], and the log determinants of I + B [B]."""
    log_det = np.empty(len(B))
    for b in range(len(B)):
        A = B[b].T  # Fortran order
        A.flat[:: len(A) + 1] += 1.0
        factor, failed = lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
        log_det[b] = 2.0 * np.sum(np.log(np.diagonal(factor)))
        lapack.dpotri(factor, lower=1, overwrite_c=1)
        if failed:
            raise NotPositiveDefinite("I + S^1/2 K S^1/2", failed, len(A))
    upper = np.triu(
        np.ones(B.shape[1:], dtype=bool), 1
    ).T  # in C order what is wanted lies below the diagonal
    np.copyto(B, B.transpose(0, 2, 1), where=upper)
    return B, log_det


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A x for matrices [B, N, N] and vectors [B, N]."""
    return (A @ x[..., None])[..., 0]


def solve(system: Callable[[np.ndarray], np.ndarray], b: np.ndarray, vectors: int) -> np.ndarray:
    """x [B, M] with system(x) = b nearly, B linear systems side by side [Saad & Schultz 1986].

    A basis that holds a solution is complete: what is left is rounding, and no further vector.
    """
    size = np.linalg.norm(b, axis=1)
    size = np.where(size > 0, size, 1.0)
    basis = [b / size[:, None]]
    vectors = min(vectors, b.shape[1])
    H = np.zeros((len(b), vectors + 1, vectors))
    for k in range(vectors):
        w, span = system(basis[k]), np.stack(basis, axis=1)
        for _ in range(2):  # the second pass makes the basis orthogonal to rounding
            projections = _times(span, w)
            w = w - np.einsum("bk,bkm->bm", projections, span)
            H[:, : k + 1, k] += projections
        norm = np.linalg.norm(w, axis=1)
        norm = np.where(norm > COMPLETE * np.linalg.norm(H[:, :, k], axis=1), norm, 0.0)
        H[:, k + 1, k] = norm
        basis.append(np.where(norm > 0, 1.0 / np.where(norm > 0, norm, 1.0), 0.0)[:, None] * w)
    normal = H.transpose(0, 2, 1) @ H
    diagonal = np.einsum("bii->bi", normal)
    trace = np.sum(diagonal, axis=1, keepdims=True)
    diagonal += RIDGE * np.where(trace > 0, trace, 1.0)
    y = np.linalg.solve(normal, (H[:, 0, :] * size[:, None])[..., None])
    return np.einsum("bk,bkm->bm", y[..., 0], np.stack(basis[:-1], axis=1))
