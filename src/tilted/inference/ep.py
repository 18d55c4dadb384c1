"""Expectation propagation: project the tilted distribution, divide by the cavity.

[Zhang 2020, algorithm 1, eqs 3-4; Rasmussen & Williams 2006, algorithm 3.5]. ``tilted_rule`` turns any
projection into a rule; EP is the rule of the KL projection and QP that of the Wasserstein projection.

Sites act on h while the likelihood sees f = h + e, e ~ N(0, D). With the cavity (m, v_h) of h, v = v_h + D
and the projection's d1, d2, the site is tau = -d2 / (1 + v_h d2), nu = (d1 - m d2) / (1 + v_h d2); for
D = 0 this is moment matching divided by the cavity.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.gaussian import Marginals, Sites, anchors, cavity, log_site_integral
from tilted.inference.rule import Rule, Update
from tilted.projections.moments import kl

if TYPE_CHECKING:
    from typing import Any

    from tilted.inference.rule import Project, Sense
    from tilted.likelihoods.contract import Likelihood
    from tilted.projections.moments import Projection

    Shares = float | np.ndarray


def tilted_rule(
    project: Project,
    sensitivity: Sense | None = None,
    share: float | np.ndarray = 1.0,
    power: float | np.ndarray = 1.0,
    stationary: bool = True,
) -> Rule:
    """The rule that projects tilted distributions with ``project(likelihood, y, m, v)``.

    With a ``share`` in (0, 1], a float or an array [N], that fraction of a site makes the cavity, and what
    the projection leaves is taken to the power 1 / share. The ``power`` in (0, 1], likewise, is that of the
    likelihood in the tilted distribution, a fifth argument of ``project`` where it is not 1. Power EP has
    both alike [Bui et al. 2017]; ``stationary`` is `Rule.stationary`.
    """
    unit_power = bool(np.all(np.equal(power, 1.0)))
    how = project if unit_power else partial(_powered, project, power), share
    arguments = project, sensitivity, share, power, stationary
    return Rule(
        partial(_update, *how),
        power=share,
        stationary=stationary,
        sensitivity=sensitivity,
        select=partial(_selected, *arguments) if np.ndim(share) else None,
        weigh=partial(_weighted, *arguments),
        sites=partial(_sites, *how),
    )


def _powered(
    project: Project,
    power: float | np.ndarray,
    likelihood: Likelihood,
    y: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
) -> Projection:
    return project(likelihood, y, m, v, of_sites(power, y))


def _selected(
    project: Project,
    sensitivity: Sense | None,
    share: Shares,
    power: Shares,
    stationary: bool,
    sites: np.ndarray,
) -> Rule:
    share, power = (np.broadcast_to(values, np.shape(share))[sites] for values in (share, power))
    return tilted_rule(project, sensitivity, share, power, stationary)


def _weighted(
    project: Project,
    sensitivity: Sense | None,
    share: Shares,
    power: Shares,
    stationary: bool,
    weights: np.ndarray,
) -> Rule:
    """The rule of p(y|f)^w: the likelihood to the power min(1, w), the site's share 1 / max(1, w) of it.

    A site of weight w stands for w rows that share one site, so that whole weights are repeated rows.
    """
    if project is not kl and np.any(weights < 1.0):
        raise ValueError("only moment matching takes weights below 1 (the likelihood to a power), not QP")
    return tilted_rule(
        project, sensitivity, share / np.maximum(weights, 1.0), power * np.minimum(weights, 1.0), stationary
    )


class _Answer(NamedTuple):
    """The projections of N marginals and sites.

    Attributes
    ----------
    m, v_h : arrays [N]
        Cavities of h, N(0, 1) where not ``proper``.
    removed_tau, removed_nu : arrays [N]
        What was divided out.
    projection : Projection
    sites : Sites
        The new ones, and the present ones where not ``usable``; ``every`` says that all are.
    """

    m: np.ndarray
    v_h: np.ndarray
    removed_tau: np.ndarray
    removed_nu: np.ndarray
    projection: Projection
    sites: Sites
    proper: np.ndarray
    usable: np.ndarray
    every: bool


def _answer(
    project: Project,
    share: float | np.ndarray,
    marginals: Marginals,
    sites: Sites,
    likelihood: Likelihood,
    y: np.ndarray,
) -> _Answer:
    """Cavities, their tilted distributions' projections, and the sites that follow."""
    share = of_sites(share, y)
    unit_share = isinstance(share, float) and share == 1.0  # calls of numpy count where N is small
    removed_tau, removed_nu = (sites.tau, sites.nu) if unit_share else (share * sites.tau, share * sites.nu)
    m, v_h = cavity(marginals.mean, marginals.variance, removed_tau, removed_nu)
    v = v_h + marginals.extra
    proper = np.isfinite(v_h) & (v_h >= 0) & (v > 0)
    if not proper.all():
        m, v_h = np.where(proper, m, 0.0), np.where(proper, v_h, 1.0)
        v = v_h + marginals.extra
    projection = project(likelihood, y, m, v)
    # 1 + v_h d2 = variance / v - D d2, without the cancellation for strong sites
    scale = projection.variance / v - marginals.extra * projection.d2
    usable = proper & (scale > 0) & np.isfinite(scale)
    every = bool(usable.all())
    if not every:
        scale = np.where(usable, scale, 1.0)
    if not unit_share:
        scale = share * scale
    tau = -projection.d2 / scale
    nu = (projection.d1 - m * projection.d2) / scale
    if not every:
        tau, nu = np.where(usable, tau, sites.tau), np.where(usable, nu, sites.nu)
    return _Answer(m, v_h, removed_tau, removed_nu, projection, Sites(tau, nu), proper, usable, every)


def _update(
    project: Project,
    share: float | np.ndarray,
    marginals: Marginals,
    sites: Sites,
    likelihood: Likelihood,
    y: np.ndarray,
) -> Update:
    """New sites, and what the evidence and its gradient take from them."""
    at = _answer(project, share, marginals, sites, likelihood, y)
    projection = at.projection
    c = anchors(marginals.mean, sites.tau)
    from_c, nu_of_c = at.m, at.removed_nu
    if c.any():
        from_c = np.where(c == 0.0, at.m, at.v_h * (at.removed_tau * marginals.mean - at.removed_nu))
        nu_of_c = at.removed_nu - at.removed_tau * c
    log_z = projection.log_z - log_site_integral(from_c, at.v_h, at.removed_tau, nu_of_c)
    log_terms, by_extra = log_z / share, 0.5 * (projection.d2 + projection.d1**2) / share
    if at.every:
        return Update(at.sites, log_terms, by_extra)
    skipped = len(at.usable) - int(np.count_nonzero(at.usable))
    log_terms = np.where(at.proper, log_terms, -np.inf)
    return Update(at.sites, log_terms, np.where(at.usable, by_extra, 0.0), skipped)


def _sites(*arguments: Any) -> Sites:
    """The new sites alone; of what `_answer` takes."""
    return _answer(*arguments).sites


def of_sites(power: float | np.ndarray, y: np.ndarray) -> float | np.ndarray:
    """One power for all, or one for each of ``y`` [N]; ValueError if there are more or fewer."""
    if np.ndim(power) and np.size(power) != len(y):
        raise ValueError(f"{np.size(power)} powers for {len(y)} sites")
    return power


EP = tilted_rule(kl)
