"""The last factor with g kept exact: equations (34) to (37) if c(x*) > 0 were not made Gaussian.

Next to x*, c(x) and c(x*) are almost one variable, and a Gaussian for c(x*) lets c(x) be negative where it
cannot be. Here the factor at x and g_k act together on the pair (c_k(x), c_k(x*)) without g_k's site, a
bivariate normal truncated to c_k(x*) > 0, whose probabilities come from Owen's T and whose moments are known
[Rosenbaum 1961]. This is not in the paper; it shows how much of the error is due to that step. f stays as it
is there.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.special import log_ndtr, ndtr, owens_t

from tilted.bayesopt.joint import loads
from tilted.bayesopt.nfcpd import ROUNDING, Nfcpd, Predicted, before_last_factor
from tilted.likelihoods.normal import hazard, remaining_curvature

CLOSEST = 1.0 - 1e-9
"""Correlations of c(x) and c(x*) nearer to 1 count as this."""

LEAST = 1e-9
"""Probabilities below it are differences that have lost too many digits, and moments of them all."""


def predict(nfcpd: Nfcpd, Xs: np.ndarray) -> Predicted:
    """Means and variances [K + 1, S, n] as `nfcpd.predict`, with g exact.

    They are NaN where c(x*) > 0 has a probability below `LEAST`, for an x* the data exclude.
    """
    Xs = np.atleast_2d(np.asarray(Xs, dtype=float))
    under_q, u_mean, u_variance, with_u = before_last_factor(nfcpd, Xs)
    resolved = u_variance > ROUNDING * under_q.variance[0]
    s = np.where(resolved, u_variance, 1.0)
    alpha = np.where(resolved, u_mean, 0.0) / np.sqrt(s)
    better = np.where(resolved, np.exp(log_ndtr(alpha)), 1.0)  # at x* itself h is 1
    pairs = [_pair(nfcpd, k, Xs) for k in range(1, len(nfcpd.functions))]
    halves = [truncated(*standard(*pair)) for pair in pairs]
    holds = [_share(above[0], below[0]) for above, below in halves]
    feasible = np.prod(holds, axis=0) if holds else np.ones_like(alpha)
    Z = feasible * better + 1.0 - feasible
    mean, variance = under_q.mean.copy(), under_q.variance.copy()
    weight = feasible * better / Z
    r = hazard(alpha)
    remaining = weight * remaining_curvature(alpha, r) + (1.0 - weight) * (1.0 + weight * r**2)
    mean[0] += np.where(resolved, with_u * weight * r / np.sqrt(s), 0.0)
    variance[0] -= np.where(resolved, with_u**2 * (1.0 - remaining) / s, 0.0)
    for k, ((m, v, *_), (above, below)) in enumerate(zip(pairs, halves, strict=True), 1):
        others_hold = np.prod(holds[: k - 1] + holds[k:], axis=0) if len(holds) > 1 else 1.0
        passes = others_hold * better + 1.0 - others_hold
        total, first, second = (passes * a + b for a, b in zip(above, below, strict=True))
        total = np.where(above[0] + below[0] > LEAST, total, np.nan)
        mean[k] = m + np.sqrt(v) * first / total
        variance[k] = v * (second / total - (first / total) ** 2)
    return Predicted(mean, variance)


def _share(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """above / (above + below); NaN where their sum is at most `LEAST`."""
    total = above + below
    return np.divide(above, total, out=np.full_like(total, np.nan), where=total > LEAST)


def _pair(nfcpd: Nfcpd, k: int, Xs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mean and variance of c(x), mean and variance of c(x*), their covariance [S, n], without g's site."""
    function, projections, q = nfcpd.functions[k], nfcpd.projections[k], nfcpd.posteriors[k]
    rows = function.rows(Xs)
    load, residual = loads(function, projections, rows, Xs, nfcpd.optima)
    out = []
    for s, L in enumerate(q.factor):
        W = dtrsm(1.0, L, np.column_stack([rows.root, load[s]]).T, lower=1)
        w = dtrsm(1.0, L, projections.directions[s, -1][:, None], lower=1)[:, 0]
        mean, variance = rows.mean + q.shift[s] @ W, np.einsum("rn,rn->n", W, W) + residual[s]
        m0, v0, c = projections.means[s, -1] + q.shift[s] @ w, w @ w, w @ W
        tau, nu = nfcpd.tau[k][s, -1], nfcpd.nu[k][s, -1]
        shrinkage = 1.0 - tau * v0
        pulled = (tau * m0 - nu) / shrinkage
        out.append(
            (
                mean + c * pulled,
                variance + tau * c**2 / shrinkage,
                m0 + v0 * pulled + 0 * c,
                v0 / shrinkage + 0 * c,
                c / shrinkage,
            )
        )
    return tuple(np.array(column) for column in zip(*out, strict=True))


def standard(
    m: np.ndarray, v: np.ndarray, m0: np.ndarray, v0: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardised thresholds of c(x) and c(x*), and their correlation."""
    return -m / np.sqrt(v), -m0 / np.sqrt(v0), np.clip(c / np.sqrt(v * v0), -CLOSEST, CLOSEST)


def truncated(a: np.ndarray, b: np.ndarray, r: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Probability and first two moments of X on {X > a, Y > b} and on {X < a, Y > b}, not normalised.

    X, Y are standard normal with correlation r.
    """
    s = np.sqrt(1.0 - r**2)
    density_a, density_b = (np.exp(-0.5 * t**2) / np.sqrt(2.0 * np.pi) for t in (a, b))
    probability = upper(a, b, r)
    near, far = (r * a - b) / s, (r * b - a) / s
    first = density_a * ndtr(near) + r * density_b * ndtr(far)
    second = probability + a * density_a * ndtr(near) + r**2 * b * density_b * ndtr(far)
    second = second + r * s * density_b * np.exp(-0.5 * far**2) / np.sqrt(2.0 * np.pi)
    mass = ndtr(-b)
    below = [mass - probability, r * density_b - first, mass + r**2 * b * density_b - second]
    return [probability, first, second], below


def upper(a: np.ndarray, b: np.ndarray, r: np.ndarray) -> np.ndarray:
    """P(X > a, Y > b) of standard normals with correlation r, by Owen's T [Owen 1956]."""
    h, k = -a, -b
    s = np.sqrt(1.0 - r**2)
    tiny = 1e-300
    h = np.where(np.abs(h) < tiny, tiny, h)
    k = np.where(np.abs(k) < tiny, tiny, k)
    beta = np.where(h * k < 0, 0.5, 0.0)
    T = owens_t(h, (k - r * h) / (h * s)) + owens_t(k, (h - r * k) / (k * s))
    return np.clip(0.5 * (ndtr(h) + ndtr(k)) - T - beta, 0.0, 1.0)
