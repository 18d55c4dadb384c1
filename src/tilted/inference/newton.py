"""A Newton step towards the fixed point of all sites at once.

With the marginals' response to a change of sites, dv = -(Sigma o Sigma) dtau, dm = Sigma (dnu - m dtau), and
the rule's response to its marginals (two more evaluations of the rule give it by differences), the fixed
point equation is linearised. The linear system needs products with Sigma and Sigma o Sigma only, so that
GMRES solves it in a few multiples of N^2 operations.

Everything is in the units of the marginals, p = v dtau and q = sqrt(v) (dnu - m dtau), in which Sigma is the
posterior correlation P. A rule that sees sites and marginals only through its cavities answers to
(P - I) q and (P o P - I) p; a variational rule to P q and (P o P) p.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsymv
from scipy.sparse.linalg import LinearOperator, gmres

from tilted.gaussian import Marginals

DIFFERENCE = 1e-6  # of a marginal's sd and variance, for the rule's derivatives
PRECISE = 0.01  # largest relative residual of the linear system; less near the fixed point
VECTORS = 25


def scaled(tau, nu, marginals: Marginals):
    """Changes of sites [N] in units of the marginals: p = v dtau, q = sqrt(v) (dnu - m dtau)."""
    return tau * marginals.variance, (nu - tau * marginals.mean) * np.sqrt(marginals.variance)


def step(posterior, point, rule, likelihood, y, residual: float):
    """Changes (dtau, dnu) [N] of the sites, or None where the posterior offers no correlations."""
    state, update = point.state, point.update
    others = posterior.correlations(state)
    if others is None:
        return None
    weight, off, off_square = others
    marginals, sites = state.marginals, state.sites
    n, m, v = len(y), marginals.mean, marginals.variance
    s = np.sqrt(v)

    def response(moved):
        new = rule.update(moved, sites, likelihood, y).sites
        p, q = scaled(new.tau - update.sites.tau, new.nu - update.sites.nu, marginals)
        return p / DIFFERENCE, q / DIFFERENCE

    p_mean, q_mean = response(Marginals(m + DIFFERENCE * s, v, marginals.extra))
    p_var, q_var = response(Marginals(m, v * (1.0 + DIFFERENCE), marginals.extra))
    own = 0.0 if rule.cavity else 1.0
    target = update.sites
    if not np.all(target.tau > 0):
        return None
    rise = np.clip(np.log(target.tau / sites.tau), -4.0, 4.0)
    back = np.exp(-rise)
    mu, mu_t = sites.nu / sites.tau, target.nu / target.tau
    shift = (mu_t - mu) / s

    def apply(u):
        p, q = u[:n], u[n:]
        mean = own * q - weight * dsymv(1.0, off, weight * q, lower=1)
        var = -own * p - weight**2 * dsymv(1.0, off_square, weight**2 * p, lower=1)
        by_p = p_mean * mean + p_var * var
        by_q = q_mean * mean + q_var * var
        return np.concatenate([p - back * by_p, q - back * (by_q - shift * by_p)])

    right = np.concatenate([v * sites.tau * rise, s * sites.tau * (mu_t - mu + (mu - m) * rise)])
    tolerance = min(PRECISE, residual)
    u, _ = gmres(LinearOperator((2 * n, 2 * n), apply), right, rtol=max(tolerance, 1e-6), restart=VECTORS, maxiter=1)
    p, q = u[:n], u[n:]
    x = p / (v * sites.tau)
    tau = sites.tau * np.exp(np.clip(x, -4.0, 4.0))
    nu = tau * (mu + q / (s * sites.tau) - (mu - m) * x)
    return tau - sites.tau, nu - sites.nu
