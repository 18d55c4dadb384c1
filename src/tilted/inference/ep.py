"""Expectation propagation: project the tilted distribution, divide by the cavity.

[Zhang 2020, algorithm 1, eqs 3-4; Rasmussen & Williams 2006, algorithm 3.5]. ``tilted_rule`` turns any
projection into a rule; EP is the rule of the KL projection and QP that of the Wasserstein projection.

Sites act on h while the likelihood sees f = h + e, e ~ N(0, D). With the cavity (m, v_h) of h, v = v_h + D
and the projection's d1, d2, the site is tau = -d2 / (1 + v_h d2), nu = (d1 - m d2) / (1 + v_h d2); for
D = 0 this is moment matching divided by the cavity.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Marginals, Sites, anchors, cavity, log_site_integral
from tilted.inference.rule import Rule, Update
from tilted.projections.moments import kl

if TYPE_CHECKING:
    from tilted.inference.rule import Project, Sense
    from tilted.likelihoods.contract import Likelihood


def tilted_rule(project: Project, sensitivity: Sense | None = None, power: float | np.ndarray = 1.0) -> Rule:
    """The rule that projects tilted distributions with ``project(likelihood, y, m, v)``.

    With a ``power`` in (0, 1], a float or an array [N], that fraction of a site makes the cavity, the
    projection is that of the likelihood to the same power, and its site is taken to the power 1 / power.
    """
    return Rule(partial(_update, project, power), power=power, sensitivity=sensitivity)


def _update(
    project: Project,
    power: float | np.ndarray,
    marginals: Marginals,
    sites: Sites,
    likelihood: Likelihood,
    y: np.ndarray,
) -> Update:
    """Cavities, their tilted distributions' projections, and the sites that follow."""
    share = of_sites(power, y)
    removed_tau, removed_nu = share * sites.tau, share * sites.nu
    m, v_h = cavity(marginals.mean, marginals.variance, removed_tau, removed_nu)
    proper = np.isfinite(v_h) & (v_h >= 0) & (v_h + marginals.extra > 0)
    m, v_h = np.where(proper, m, 0.0), np.where(proper, v_h, 1.0)
    v = v_h + marginals.extra
    projection = project(likelihood, y, m, v)
    # 1 + v_h d2 = variance / v - D d2, without the cancellation for strong sites
    scale = projection.variance / v - marginals.extra * projection.d2
    usable = proper & (scale > 0) & np.isfinite(scale)
    scale = share * np.where(usable, scale, 1.0)
    tau = np.where(usable, -projection.d2 / scale, sites.tau)
    nu = np.where(usable, (projection.d1 - m * projection.d2) / scale, sites.nu)
    c = anchors(marginals.mean, sites.tau)
    from_c = np.where(c == 0.0, m, v_h * (removed_tau * marginals.mean - removed_nu))
    log_z = projection.log_z - log_site_integral(from_c, v_h, removed_tau, removed_nu - removed_tau * c)
    log_terms = np.where(proper, log_z / share, -np.inf)
    by_extra = np.where(usable, 0.5 * (projection.d2 + projection.d1**2) / share, 0.0)
    return Update(Sites(tau, nu), log_terms, by_extra, skipped=int(np.sum(~usable)))


def of_sites(power: float | np.ndarray, y: np.ndarray) -> float | np.ndarray:
    """One power for all, or one for each of ``y`` [N]; ValueError if there are more or fewer."""
    if np.ndim(power) and np.size(power) != len(y):
        raise ValueError(f"{np.size(power)} powers for {len(y)} sites")
    return power


EP = tilted_rule(kl)
