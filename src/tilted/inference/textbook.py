"""Sweeps as the textbooks write them, without any rescue, so that divergence can be seen and counted.

One site after the other takes its full new value [Minka 2001, section 5.4; Rasmussen & Williams 2006,
algorithm 3.5] and is folded in by a rank-one step. Nothing is repaired: an improper cavity or posterior ends
the run as diverged. It has converged when the weights a of the posterior mean K a change by less than a
tolerance in a sweep, ||a - a_before||_2 < tolerance [Qi & Guo 2012, section 6.2]. A constant step below 1 is
the plain damping of textbooks. For everything else there is the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import dger

from tilted.gaussian import Marginals, Sites
from tilted.inference.rule import Rule
from tilted.numerics.linalg import NotPositiveDefinite

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import Dense, DenseState

CONVERGED, DIVERGED, UNSETTLED = OUTCOMES = ("converged", "diverged", "unsettled")
"""Unsettled: neither converged nor diverged when the sweeps were used up."""


@dataclass(frozen=True)
class Sweeps:
    """The result of a run.

    Attributes
    ----------
    sites : Sites
        The last ones that gave a proper posterior, after a whole sweep.
    state : DenseState
        The posterior conditioned on them.
    changes : array [sweeps]
        ||a - a_before||_2 of each whole sweep.
    outcome : str
        One of `OUTCOMES`.
    reason : str
        Why it diverged, in the sweep after the whole ones; else empty.
    """

    sites: Sites
    state: DenseState = field(repr=False)
    changes: np.ndarray
    outcome: str
    reason: str = ""


class _Improper(ArithmeticError):
    """An improper cavity, posterior, or a number lost."""


def sweep_on(
    posterior: Dense,
    likelihood: Likelihood,
    y: np.ndarray,
    rule: Rule,
    max_sweeps: int = 100,
    tolerance: float = 1e-3,
    step: float = 1.0,
    start: Sites | None = None,
) -> Sweeps:
    """Sequential sweeps until the weights settle, something is improper, or the sweeps are used up.

    Parameters
    ----------
    posterior : Dense
    likelihood : Likelihood
    y : array [N]
    rule : Rule
    max_sweeps : int
    tolerance : float
        Of the change of the weights in a sweep.
    step : float in (0, 1]
        How far a site moves towards its new value.
    start : Sites, optional
        Flat sites by default.

    Returns
    -------
    Sweeps

    Raises
    ------
    NotPositiveDefinite
        If the starting sites do not give a proper posterior.
    ValueError
        For a step outside (0, 1].
    """
    if not 0 < step <= 1:
        raise ValueError(f"step must lie in (0, 1], got {step}")
    state = posterior.condition(start or Sites.zeros(len(y)))
    changes: list[float] = []
    for _ in range(max_sweeps):
        try:
            sites = _sweep(posterior, state, likelihood, y, rule, step)
            following = posterior.condition(sites)
        except (_Improper, NotPositiveDefinite) as error:
            return Sweeps(state.sites, state, np.array(changes), DIVERGED, str(error))
        changes.append(float(np.linalg.norm(following.weights - state.weights)))
        state = following
        if changes[-1] < tolerance:
            return Sweeps(state.sites, state, np.array(changes), CONVERGED)
    return Sweeps(state.sites, state, np.array(changes), UNSETTLED)


def _sweep(
    posterior: Dense, state: DenseState, likelihood: Likelihood, y: np.ndarray, rule: Rule, step: float
) -> Sites:
    """The sites after each was moved in order."""
    covariance = np.array(posterior.covariance(state), order="F")
    mean, extra = np.array(state.marginals.mean), state.marginals.extra
    tau, nu = np.array(state.sites.tau, dtype=float), np.array(state.sites.nu, dtype=float)
    for i in range(len(y)):
        row = slice(i, i + 1)
        column = covariance[:, i].copy()
        marginal = Marginals(mean[row], column[row], extra[row])
        if not 0 < column[i] < np.inf:
            raise _Improper(f"the marginal of point {i + 1} is improper")
        update = rule.at(i).update(marginal, Sites(tau[row], nu[row]), likelihood, y[row])
        if update.skipped:
            raise _Improper(f"the cavity of point {i + 1} is improper")
        d_tau = step * float(update.sites.tau[0] - tau[i])
        d_nu = step * float(update.sites.nu[0] - nu[i])
        remaining = 1.0 + d_tau * column[i]
        if not 0 < remaining < np.inf:
            raise _Improper(f"the posterior is improper after the site of point {i + 1}")
        # as `Dense.update_one`, with divisions: the last digits decide where what does not converge ends
        mean += column * ((d_nu - d_tau * mean[i]) / remaining)
        dger(-d_tau / remaining, column, column, a=covariance, overwrite_a=1)
        tau[i] += d_tau
        nu[i] += d_nu
    return Sites(tau, nu)
