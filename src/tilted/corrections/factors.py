"""Cheap marginals: every other datum corrects the marginal of a latent by itself [Cseke & Heskes 2011].

Given a latent f*, the posterior of another is q(f_j | f*) = N(m_j + c_j (f* - m*) / v*, S_jj - c_j^2 / v*).
Taking the eps_j for independent given f* (EP-FACT),

    p(f*) ~ q(f*) prod_j E_q[eps_j(f_j) | f*],

and to first order (EP-1STEP) p(f*) ~ q(f*) (1 + sum_j (E_q[eps_j(f_j) | f*] - 1)). An expectation is the
normaliser of a tilted distribution, with q(f_j | f*) / site_j for its cavity. A datum whose latent f*
determines (a training latent's own) enters as it is. O(N) a latent and node, after O(N^2) for the
covariances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilted.corrections.densities import BREAKS, Densities, Own, Spline, spread_out
from tilted.gaussian import log_site_integral

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.corrections.expansion import Expansion, Queries
    from tilted.likelihoods.contract import Likelihood

    LogNormaliser = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

DETERMINED = 1e-8  # of its variance that f* leaves to a latent, below which it is a function of f*
SIZE = 100_000  # of arrays of pairs times values
SLIGHT = 1e-4  # of the sum of |lambda_3 rho^3| + |lambda_4 rho^4| that a datum needs to correct a latent
LARGEST = 50.0  # logarithm of a factor that EP-1STEP takes
REACH, FALL, WIDENINGS = 8.0, 30.0, 7  # sd of q first; until the log density has fallen so; at most so often
HALF, APART = 12, 0.5  # knots on either side, and their distance, in sd, close to the mean
BENDS = np.linspace(1e-3, 6.0, 600)  # of their sinh
KINKS = BREAKS[np.isin(np.abs(BREAKS), (0.0, 1.0, 2.0, 4.0))]


def own_data(base: Expansion, queries: Queries) -> Own:
    """Data whose latents are linear functions of each query [Q, J]: EP's own at training latents."""
    state, y = base.inference.state, base.y
    slope = queries.cross / queries.prior_variance[:, None]
    determined = ~undetermined(base, queries)
    most = int(np.max(np.sum(determined, axis=1), initial=0))
    order = np.argsort(~determined, axis=1, kind="stable")[:, :most]
    there = np.take_along_axis(determined, order, axis=1)
    slope = np.take_along_axis(slope, order, axis=1)
    offset = base.prior.mean[order] - slope * queries.prior_mean[:, None]
    return Own(there, y[order], offset, slope, state.sites.tau[order], state.sites.nu[order])


def undetermined(base: Expansion, queries: Queries) -> np.ndarray:
    """Return which data [Q, N] are not determined by the query."""
    variance = base.prior_variance + base.prior.extra
    return variance - queries.cross**2 / queries.prior_variance[:, None] >= DETERMINED * variance


def log_factors(base: Expansion, query_batch: Queries, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log of the corrections of q(f*) at f [Q, G]: EP-FACT's, and EP-1STEP's (-inf where it is negative)."""
    queries, data = np.nonzero(_correcting(base, query_batch))  # pairs, query by query
    log_z, fact, first = log_normaliser(base.likelihood), np.zeros_like(f), np.zeros_like(f)
    at_once = max(1, SIZE // f.shape[1])
    for start in range(0, len(queries), at_once):
        q, j = (pairs[start : start + at_once] for pairs in (queries, data))
        logs = _log_factors_of(base, query_batch, q, j, f[q], log_z)
        begins = np.flatnonzero(np.diff(q, prepend=-1))  # where the pairs of another query do
        fact[q[begins]] += np.add.reduceat(logs, begins, axis=0)
        first[q[begins]] += np.add.reduceat(np.expm1(np.minimum(logs, LARGEST)), begins, axis=0)
    positive = first > -1.0
    return fact, np.where(positive, np.log1p(np.where(positive, first, 0.0)), -np.inf)


def _correcting(base: Expansion, queries: Queries) -> np.ndarray:
    """Return which data [Q, N] correct a query, by the third and fourth cumulants that reach it."""
    marginals, shape = base.inference.state.marginals, base.shape
    rho = queries.covariance / np.sqrt(queries.variance[:, None] * marginals.variance)
    rho *= base.retained
    cube = np.abs(rho * rho * rho)
    size = np.abs(shape.skewness) * cube + np.abs(shape.kurtosis * rho) * cube
    return undetermined(base, queries) & (size > SLIGHT * size.sum(axis=1, keepdims=True))


def _log_factors_of(
    base: Expansion, queries: Queries, q: np.ndarray, j: np.ndarray, f: np.ndarray, log_z: LogNormaliser
) -> np.ndarray:
    """log E_q[eps_j(f_j) | f*] of pairs (q, j) [P] at f* = f [P, G]."""
    marginals, sites = base.inference.state.marginals, base.inference.sites
    tau, nu, own = sites.tau[j], sites.nu[j], marginals.variance[j]
    slope = queries.covariance[q, j] / queries.variance[q]
    mean = marginals.mean[j, None] + slope[:, None] * (f - queries.mean[q, None])
    variance = np.maximum(own - slope * queries.covariance[q, j], DETERMINED * own)[:, None]
    remaining = 1.0 - tau[:, None] * variance
    m = (mean - nu[:, None] * variance) / remaining
    v = np.broadcast_to(variance / remaining + base.prior.extra[j, None], mean.shape)
    logs = log_z(np.repeat(base.y[j], f.shape[1]), m.ravel(), v.ravel()).reshape(m.shape)
    logs += log_site_integral(mean, variance, -tau[:, None], -nu[:, None]) - base.log_terms[j, None]
    return logs


def log_normaliser(likelihood: Likelihood) -> LogNormaliser:
    """log of the integral of N(f; m, v) p(y|f), by the likelihood's quickest exact function."""
    if getattr(likelihood, "predictive", "exact") == "exact":
        return likelihood.log_predictive
    return lambda y, m, v: likelihood.tilted(y, m, v).log_z


def cheap(base: Expansion, queries: Queries) -> tuple[Densities, np.ndarray]:
    """EP-FACT's densities, and EP-1STEP's logarithms [Q, G] at their knots.

    Knots reach to where the log density has fallen by 30 below its top, if within about 40 sd of EP's mean.
    """
    sd, own = np.sqrt(queries.variance), own_data(base, queries)
    low, high = np.full(len(sd), -REACH), np.full(len(sd), REACH)
    for _ in range(WIDENINGS):
        x = np.stack([low, np.zeros_like(low), high], axis=1)
        f = queries.mean[:, None] + sd[:, None] * x
        log_p = log_factors(base, queries, f)[0] - 0.5 * x**2 + own.log_ratio(base.likelihood, f)
        below, above = (log_p[:, 1] - log_p[:, end] > FALL for end in (0, 2))
        if np.all(below & above):
            break
        low, high = np.where(below, low, 1.3 * low), np.where(above, high, 1.3 * high)
    x = _knots(queries, low, high)
    fact, first = log_factors(base, queries, queries.mean[:, None] + sd[:, None] * x)
    return Densities(queries.mean, sd, Spline.through(x, fact), own, base.likelihood), first


def gaussians(base: Expansion, queries: Queries) -> Densities:
    """EP's own Gaussians, as densities."""
    reach = np.full(len(queries.mean), REACH)
    x = _knots(queries, -reach, reach)
    none = Own(*(np.zeros((len(x), 0)) for _ in Own._fields))
    return Densities(
        queries.mean, np.sqrt(queries.variance), Spline.through(x, 0.0 * x), none, base.likelihood
    )


def _knots(queries: Queries, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Knots [Q, G] in sd of q: from low to high [Q], close around the mean and around f = 0."""
    sd = np.sqrt(queries.variance)[:, None]
    sides = []
    for reach in (-low, high):
        bend = np.interp(reach / (HALF * APART), np.sinh(BENDS) / BENDS, BENDS)[:, None]
        sides.append(reach[:, None] * np.sinh(bend * np.linspace(0.0, 1.0, HALF + 1)) / np.sinh(bend))
    x = np.concatenate([-sides[0][:, :0:-1], sides[1]], axis=1)
    kinks = np.clip((KINKS - queries.mean[:, None]) / sd, low[:, None], high[:, None])
    return spread_out(np.concatenate([x, kinks], axis=1))
