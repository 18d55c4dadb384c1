"""Likelihoods p(y | f), one file each, all behind one contract.

A likelihood answers for whole vectors of sites, in log space:

``domain(y)``, ``check(y)``  values in its domain, fit for training, or ``ValueError``
``tilted(y, m, v, power)``   log Z, derivatives, mean and variance of N(f; m, v) p(y|f)^power
``tilted_density(y, m, v)``  the same density, with panels, for quadrature
``expected_log(y, m, v)``    E[log p] under N(m, v), with derivatives in m and v
``log_predictive(y, m, v)``  log of the integral of N(f; m, v) p(y|f)
``log_likelihood(y, f)``     log p(y|f) itself, for sampling and ground truth
``errors(y, m, v)``          error of the point prediction
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood

_BY_NAME = {
    "logit": ("tilted.likelihoods.logit", "Logit"),
    "probit": ("tilted.likelihoods.probit", "Probit"),
    "poisson-square": ("tilted.likelihoods.poisson", "PoissonSquare"),
    "noisy-step": ("tilted.likelihoods.step", "NoisyStep"),
    "gaussian": ("tilted.likelihoods.gaussian", "GaussianNoise"),
}


def names() -> list[str]:
    """Names that :func:`get` accepts."""
    return sorted(_BY_NAME)


def module_of(name: str) -> str:
    """Module that implements the likelihood called ``name``."""
    return _BY_NAME[name][0]


def get(likelihood: str | Likelihood, **parameters: object) -> Likelihood:
    """A likelihood by name, or the object itself if it is one already.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the known ones.
    """
    if not isinstance(likelihood, str):
        return likelihood
    if likelihood not in _BY_NAME:
        raise ValueError(f"unknown likelihood '{likelihood}'; known: {', '.join(names())}")
    module, name = _BY_NAME[likelihood]
    return getattr(import_module(module), name)(**parameters)
