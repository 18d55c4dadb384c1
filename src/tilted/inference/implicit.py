"""Exact evidence gradients where the evidence is not stationary in the sites (QP).

EP's evidence [Zhang 2020, eq. 2] may be differentiated with the sites held fixed; with QP's sites the
same formula is off by a fraction of a per cent, enough to break a line search. Here the fixed point

    r1 = M*(cavity) - m = 0,    r2 = V*(cavity) - v = 0

is differentiated implicitly: with J = dr / d(tau, nu), J^T lambda = dE / d(tau, nu) gives
dE/dtheta = (partial) - lambda^T dr/dtheta. One dense solve of size 2N; for the KL projection lambda is
zero and the usual formula comes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import solve

from tilted.gaussian import cavity

if TYPE_CHECKING:
    from tilted.inference.rule import Sense
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import Dense, DenseState


class Derivatives(NamedTuple):
    """Derivatives of the log evidence E: dE/dtheta = sum_ij G_ij dK_ij/dtheta, G [N, N]; and in the mean."""

    by_covariance: np.ndarray
    by_mean: float


def evidence_derivatives(
    posterior: Dense,
    state: DenseState,
    likelihood: Likelihood,
    y: np.ndarray,
    sensitivity: Sense,
    share: float | np.ndarray = 1.0,
) -> Derivatives:
    """Total derivatives of the log evidence at a converged fixed point, with respect to K and the prior mean.

    Parameters
    ----------
    posterior : Dense
        Without extra variance.
    state : DenseState
        Conditioned on converged sites.
    likelihood : Likelihood
    y : array [N]
    sensitivity : callable
        (likelihood, y, m, v) -> derivatives of the projected mean and variance in the cavity's m and v.
    share : float or array [N]
        How much of its site makes a cavity (`Rule.power`).

    Raises
    ------
    ValueError
        If the posterior has extra variance.
    """
    if np.any(posterior.extra):
        raise ValueError("implicit gradients are for posteriors without extra variance")
    m, v = state.marginals.mean, state.marginals.variance
    tau, nu = state.sites.tau, state.sites.nu
    mc, vc = cavity(m, v, share * tau, share * nu)
    to_cavity = _cavity_partials(m, v, share * tau, share * nu, mc, share)
    moments = likelihood.tilted(y, mc, vc)
    e_mc = moments.d1 - (m - mc) / vc
    e_vc = 0.5 * (moments.d2 + moments.d1**2 - (v - vc) / vc**2 - ((m - mc) / vc) ** 2)
    e = _chain(e_mc, e_vc, to_cavity) / share
    s = sensitivity(likelihood, y, mc, vc)
    r1, r2 = _chain(s.mean_m, s.mean_v, to_cavity), _chain(s.variance_m, s.variance_v, to_cavity)
    r1[0] -= 1.0
    r2[1] -= 1.0
    Sigma = posterior.covariance(state)
    rows = [_to_sites(r, m, Sigma) for r in (r1, r2)]
    lam = solve(np.vstack(rows).T, _gradient_in_sites(e, m, Sigma))
    lam1, lam2 = np.split(lam, 2)
    # dK moves the posterior mean by A dK weights and its covariance by A dK A^T, a prior mean of 1 the former
    # by A 1. The evidence gains this much with the posterior means and variances, each [N]:
    gain_m = e[0] - r1[0] * lam1 - r2[0] * lam2
    gain_v = e[1] - r1[1] * lam1 - r2[1] * lam2
    A = np.eye(len(y)) - Sigma * tau
    through_mean = np.multiply.outer(A.T @ gain_m, state.weights)
    G = posterior.evidence_derivative(state) + through_mean + (A.T * gain_v) @ A
    return Derivatives(G, float(np.sum(state.weights) + np.sum(A.T @ gain_m)))


def _cavity_partials(
    m: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    nu: np.ndarray,
    mc: np.ndarray,
    share: float | np.ndarray,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Partials of (m_cavity, v_cavity) in (m, v, tau, nu): two lists of four arrays [N].

    ``tau`` and ``nu`` are what makes the cavity, the ``share`` of the site.
    """
    q = 1.0 - tau * v
    zero = np.zeros_like(m)
    return (
        [1.0 / q, (tau * m - nu) / q**2, share * v * mc / q, share * (-v / q)],
        [zero, 1.0 / q**2, share * v**2 / q**2, zero],
    )


def _chain(
    by_mc: np.ndarray, by_vc: np.ndarray, to_cavity: tuple[list[np.ndarray], list[np.ndarray]]
) -> np.ndarray:
    """Gradient in (m, v, tau, nu) of a function of the cavity, [4, N]."""
    return np.stack([by_mc * a + by_vc * b for a, b in zip(*to_cavity, strict=True)])


def _to_sites(partials: np.ndarray, m: np.ndarray, Sigma: np.ndarray) -> np.ndarray:
    """Jacobian [N, 2N] in (tau, nu) of functions with partials in (m, v, tau, nu)."""
    p_m, p_v, p_tau, p_nu = partials
    by_tau = -p_m[:, None] * Sigma * m - p_v[:, None] * Sigma**2 + np.diag(p_tau)
    return np.hstack([by_tau, p_m[:, None] * Sigma + np.diag(p_nu)])


def _gradient_in_sites(e: np.ndarray, m: np.ndarray, Sigma: np.ndarray) -> np.ndarray:
    """Gradient [2N] in (tau, nu) of a scalar with partials ``e`` in (m, v, tau, nu)."""
    e_m, e_v, e_tau, e_nu = e
    return np.concatenate([e_tau - m * (Sigma @ e_m) - Sigma**2 @ e_v, e_nu + Sigma @ e_m])
