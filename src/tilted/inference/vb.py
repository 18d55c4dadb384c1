"""Variational Bayes as sites: the best Gaussian q(f) in KL(q || p), by fixed-point iteration.

At the optimum of the ELBO every Gaussian q has the form prior times sites with
tau = -2 dE/dv, nu = dE/dm + tau m, where E(m, v) is the expectation of log p(y|f) under the marginal
[Opper & Archambeau 2009, in natural parameters]. The derivative form also serves the Poisson likelihood,
where E[d^2 log p / df^2] does not exist. A damped step is a natural-gradient step.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Sites, anchors, log_sites
from tilted.inference.rule import Rule, Update

if TYPE_CHECKING:
    from tilted.gaussian import Marginals
    from tilted.likelihoods.contract import Likelihood


def variational_update(
    marginals: Marginals,
    sites: Sites,
    likelihood: Likelihood,
    y: np.ndarray,
    weights: float | np.ndarray = 1.0,
) -> Update:
    """New sites from the expected log likelihood of ``y`` [N] under the marginals themselves (no cavity).

    ``weights``, one or [N], multiply it.
    """
    m, v_h = marginals.mean, marginals.variance
    expected = likelihood.expected_log(y, m, v_h + marginals.extra)
    expected_site = log_sites(m, sites, anchors(m, sites.tau)) - 0.5 * sites.tau * v_h
    with np.errstate(over="ignore", invalid="ignore"):  # of rates e^m beyond floats: no residual is
        value, d_mean, d_variance = (weights * values for values in expected)
        tau = -2.0 * d_variance
        nu = d_mean + tau * m
    return Update(Sites(tau, nu), value - expected_site, d_variance)


def _weighted(weights: np.ndarray) -> Rule:
    return replace(
        VB,
        update=partial(variational_update, weights=weights),
        select=partial(_selected, weights),
    )


def _selected(weights: np.ndarray, sites: np.ndarray) -> Rule:
    return _weighted(weights[sites])


VB = Rule(variational_update, ascends=True, power=0.0, weigh=_weighted)
