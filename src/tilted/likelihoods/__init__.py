"""Likelihoods p(y | f), one file each, all behind one contract.

A likelihood answers for whole vectors of sites, in log space:

``domain(y)``, ``check(y)``  values in its domain, fit for training, or ``ValueError``
``tilted(y, m, v, power)``   log Z, derivatives, mean and variance of N(f; m, v) p(y|f)^power
``tilted_shape(y, m, v)``     skewness and excess kurtosis of the same, from its third and fourth cumulants
``tilted_density(y, m, v)``  the same density, with panels, for quadrature
``expected_log(y, m, v)``    E[log p] under N(m, v), with derivatives in m and v
``log_predictive(y, m, v)``  log of the integral of N(f; m, v) p(y|f)
``log_likelihood(y, f)``     log p(y|f) itself, for sampling and ground truth
``errors(y, m, v)``          error of the point prediction
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilted.likelihoods.exponential_link import NegativeBinomial, PoissonExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.laplace import LaplaceNoise
from tilted.likelihoods.logit import Logit
from tilted.likelihoods.ordinal import Ordinal
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.step import NoisyStep
from tilted.likelihoods.student_t import StudentT
from tilted.numerics.words import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.likelihoods.contract import Likelihood

_BY_NAME: dict[str, Callable[..., Likelihood]] = {
    "logit": Logit,
    "probit": Probit,
    "poisson-square": PoissonSquare,
    "noisy-step": NoisyStep,
    "gaussian": GaussianNoise,
    "laplace": LaplaceNoise,
    "negative-binomial": NegativeBinomial,
    "ordinal": Ordinal,
    "poisson-exp": PoissonExponential,
    "student-t": StudentT,
}


def names() -> list[str]:
    """Names that :func:`get` accepts.

    Examples
    --------
    >>> from tilted import likelihoods
    >>> likelihoods.names()[:3]
    ['gaussian', 'laplace', 'logit']
    """
    return sorted(_BY_NAME)


def get(likelihood: str | Likelihood, **parameters: Any) -> Likelihood:
    """A likelihood by name, or the object itself if it is one already.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> from tilted import likelihoods
    >>> likelihoods.get("student-t", df=5.0)
    StudentT(scale=1.0, df=5.0)
    """
    if not isinstance(likelihood, str):
        return likelihood
    if likelihood not in _BY_NAME:
        near = nearest(likelihood, _BY_NAME)
        raise ValueError(f"unknown likelihood '{likelihood}'; known: {', '.join(names())}{near}")
    return _BY_NAME[likelihood](**parameters)
