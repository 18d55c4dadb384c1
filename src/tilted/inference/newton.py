"""Newton's method for the fixed point of all sites at once.

At small changes dtau, dnu of the sites the marginals answer by dv = -(Sigma o Sigma) dtau and
dm = Sigma (dnu - m dtau) [Rasmussen & Williams 2006, eq. 3.53, to first order], and the rule answers to its
marginals site by site, found by two more evaluations of the rule. The system that results needs products
with Sigma and Sigma o Sigma only, so that GMRES solves it in a few multiples of N^2 operations, a fraction
of what conditioning the posterior costs.

The equations are those of log tau and of the sites' means mu = nu / tau: log tau_new = log tau, mu_new = mu.
Where a point is far on its side of the boundary tau falls exponentially, and on separable data it is
inversely proportional to the prior variance: in these coordinates both are close to linear, and precisions
stay positive. Unknowns are p = v dtau and q = sqrt(v) (dnu - m dtau), for which Sigma is the correlation
matrix P. A rule that divides the power alpha of the site out of the marginal answers to (P - alpha I) q and
(P o P - alpha I) p: EP has alpha = 1, VB, which sees the marginals themselves, alpha = 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Marginals, Sites
from tilted.numerics import linalg

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.posteriors.contract import Posterior, StateT

DIFFERENCE = 1e-6  # of a marginal's sd and variance, for the rule's derivatives
FORCING = 1e-2, 1e-6  # largest and smallest relative residual of the linear system
VECTORS = 25  # products of one linear solve, at most
REACH = 4.0  # largest change of log tau
LEAST = 1e-35  # precision of a site, in units of its marginal's, that single precision can take


def newton_sites(
    posterior: Posterior[StateT],
    state: StateT,
    target: Sites,
    respond: Callable[[Marginals], Sites],
    power: float | np.ndarray,
    residual: float,
    costly: bool = False,
    response: Sites | None = None,
) -> Sites | None:
    """The sites that a Newton step leads to.

    Parameters
    ----------
    posterior : Dense or another posterior
    state : DenseState or another posterior's
        Conditioned on the present sites.
    target : Sites
        The rule's new sites there.
    respond : callable
        The rule's new sites [2N] at two sets of marginals [2N], one after the other (`perturbed`), and the
        present sites.
    power : float or array [N]
        How much of its site the rule divides out of a marginal (`Rule.power`).
    residual : float
        How far the present sites are from the fixed point; the linear system is solved the more precisely.
    costly : bool
        Whether products with the correlations may cost as much as conditioning.
    response : Sites, optional
        The answer of ``respond``, if it is available.

    Returns
    -------
    Sites or None
        None where a precision is not positive, so that the coordinates do not exist, or so small that they
        overflow in single precision (Laplace noise far from its target), and where the linear system does.
    """
    sites, marginals = state.sites, state.marginals
    there = (np.minimum(sites.tau, target.tau) * marginals.variance > LEAST).all()
    correlations = posterior.correlations(state, costly) if there else None
    if correlations is None:
        return None
    n, m, v, s = len(sites.tau), marginals.mean, marginals.variance, np.sqrt(marginals.variance)
    mu, mu_new = sites.nu / sites.tau, target.nu / target.tau
    rise = _within_reach(np.log(target.tau / sites.tau))
    relative, shift = np.exp(-rise), (mu_new - mu) / s

    new = respond(perturbed(marginals)) if response is None else response
    d_tau = (new.tau.reshape(2, n) - target.tau) / DIFFERENCE
    d_nu = (new.nu.reshape(2, n) - target.nu) / DIFFERENCE
    by_mean, by_variance = by = np.empty((2, 2, n))  # derivatives of p and q
    by[:, 0] = relative * v * d_tau
    by[:, 1] = relative * s * (d_nu - m * d_tau) - shift * by[:, 0]
    own = 1.0 - power
    unit_power = not np.any(own)  # every call of numpy counts where N is small

    def system(u: np.ndarray) -> np.ndarray:
        result = u.reshape(2, n)
        p, q = result
        mean, variance = correlations.product(q), correlations.square_product(p)
        if not unit_power:
            mean, variance = mean + own * q, variance + own * p
        result = result - by_mean * mean
        result += by_variance * variance  # which falls
        return result.reshape(-1)

    weight = v * sites.tau
    right = np.concatenate([weight * rise, weight * (shift + (mu - m) / s * rise)])
    precision = min(max(residual, FORCING[1]), FORCING[0])
    with np.errstate(over="ignore", invalid="ignore"):  # products are of single precision
        u = linalg.gmres(system, right, precision, VECTORS)
    if not np.isfinite(u).all():
        return None
    change, d_mu = _within_reach(u[:n] / weight), s * u[n:] / weight
    tau = sites.tau * np.exp(change)
    return Sites(tau, tau * (mu + d_mu - (mu - m) * change))


def perturbed(marginals: Marginals) -> Marginals:
    """Marginals [2N] with moved means, and after these with moved variances, for the rule's derivatives."""
    m, v = marginals.mean, marginals.variance
    return Marginals(
        np.concatenate([m + DIFFERENCE * np.sqrt(v), m]),
        np.concatenate([v, v * (1.0 + DIFFERENCE)]),
        np.concatenate([marginals.extra, marginals.extra]),
    )


def _within_reach(change: np.ndarray) -> np.ndarray:
    """Changes of log tau, at most `REACH`; np.clip takes thrice as long on a few hundred."""
    return np.minimum(np.maximum(change, -REACH), REACH)
