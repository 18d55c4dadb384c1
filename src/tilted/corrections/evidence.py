"""The evidence beyond EP's: second order in the cumulants that EP neglects [Opper, Paquet & Winther 2013].

    log Z = log Z_EP + 1/2 sum_{i != j} sum_{l = 3, 4} c_li c_lj / l! (S_ij / (S_ii S_jj))^l + ...

with the l-th cumulants c_li of the tilted distributions and the posterior covariance S (their second-order
term of section 4, for fully factorised sites). In standardised cumulants and correlations P that is a sum of
lambda_li lambda_lj P_ij^l / l!, O(N^2) after EP. First order, and l = 1 and 2, vanish at EP's fixed point.

What follows the two terms says how far to believe them: the same sum for l = 5 to 8 (with the coefficients
of Hermite polynomials, E[He_l], which are cumulants up to l = 5), and the leading terms of third order,

    1/8 sum lambda_3i lambda_3j lambda_4k P_ij P_ik^2 P_jk^2
    + 1/48 sum lambda_4i lambda_4j lambda_4k (P_ij P_ik P_jk)^2

over distinct i, j, k. They are not added: signs alternate from order to order, and on nine of the ten
data sets of the QP paper the sum without them was the nearer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.hermite_e import hermeval

from tilted.numerics.chunks import in_chunks

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.corrections.expansion import Expansion
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Shape

HIGHER = range(5, 9)
LARGEST_HIGHER = 0.25  # of the second-order terms
LARGEST_THIRD = {True: 2.0, False: 0.5}  # of log-concave likelihoods and of others
NEGLIGIBLE = 1e-6  # nats
CORRELATED = 0.05  # from where a distribution with two lobes concerns another datum
GAUSSIAN = 0.01  # skewness and kurtosis of a tilted distribution that has no higher cumulants to speak of
GRID = np.linspace(-9.0, 9.0, 145)  # sd
POLYNOMIALS = np.stack([hermeval(GRID, np.eye(HIGHER[-1] + 1)[order]) for order in HIGHER])
STEP = 1e-3  # of logarithms of parameters, for differences of the correction


@dataclass(frozen=True)
class Evidence:
    """A corrected log evidence.

    Attributes
    ----------
    value : float
        The corrected log evidence, or EP's where the correction is not to be trusted.
    ep : float
    skewness_term, kurtosis_term : float
        Second order, l = 3 and 4.
    higher_terms, third_order : float
        What comes next (module's docstring); not part of the value. Of third order there is none, NaN, where
        correlations are made in blocks.
    trusted : bool
    message : str
        Why not, or how large the terms are.
    """

    value: float
    ep: float
    skewness_term: float
    kurtosis_term: float
    higher_terms: float
    third_order: float
    trusted: bool
    message: str

    @property
    def correction(self) -> float:
        """Second-order terms, whether trusted or not."""
        return self.skewness_term + self.kurtosis_term

    @property
    def trust(self) -> float:
        """|higher terms| over |second-order terms|; small is good."""
        return abs(self.higher_terms) / max(abs(self.skewness_term) + abs(self.kurtosis_term), NEGLIGIBLE)


def correct_evidence(base: Expansion) -> Evidence:
    """The log evidence to second order, with what is known of its error; O(N^3), less than EP's inference.

    Parameters
    ----------
    base : Expansion

    Returns
    -------
    Evidence
        ``value`` is EP's, and ``trusted`` false, if EP did not converge, if the posterior has a second lobe
        at -f or where other data count (`Expansion.rival_odds`), if a tilted distribution with two lobes is
        correlated with other data, or if the next terms are not small.
    """
    ep = base.inference.log_evidence
    if base.concern:
        return Evidence(ep, ep, 0.0, 0.0, 0.0, 0.0, False, f"not corrected: {base.concern}")
    terms, higher, beyond, strongest = np.zeros(2), 0.0, 0.0, np.zeros(len(base.y))
    coefficients = _coefficients(base)
    for rows, P in base.blocks():
        here = np.array(second_order(P, base.shape, rows))
        terms += here
        strongest[rows] = np.max(np.abs(P), axis=1, initial=0.0)
        if np.sum(np.abs(here)) <= NEGLIGIBLE:
            continue
        higher += _higher_terms(coefficients, P, rows)
        beyond += _third_order(P, base.shape) if len(P) == len(base.y) else np.nan
    third, fourth = (float(term) for term in terms)
    size = abs(third) + abs(fourth)
    lobes = int(np.sum(base.lobes & (strongest > CORRELATED)))
    concern = ""
    if lobes:
        concern = f"{lobes} tilted distributions have two lobes"
    elif not np.isfinite(size) or abs(higher) > LARGEST_HIGHER * size:
        concern = f"terms of higher cumulants are {abs(higher) / size:.2g} of the correction"
    elif abs(beyond) > LARGEST_THIRD[base.likelihood.log_concave] * size:
        concern = f"terms of third order are {abs(beyond) / size:.2g} of the correction"
    message = f"not corrected: {concern}" if concern else f"corrected by {third + fourth:+.3g}"
    value = ep if concern else ep + third + fourth
    return Evidence(value, ep, third, fourth, higher, beyond, not concern, message)


def second_order(P: np.ndarray, shape: Shape, rows: slice = slice(None)) -> tuple[float, float]:
    """Terms l = 3 and 4 from ``rows`` of the correlations, [rows, N] with a zero diagonal.

    [Opper, Paquet & Winther 2013]
    """
    square = P * P
    third = shape.skewness[rows] @ ((square * P) @ shape.skewness) / 12.0
    return float(third), float(shape.kurtosis[rows] @ ((square * square) @ shape.kurtosis) / 48.0)


def _third_order(P: np.ndarray, shape: Shape) -> float:
    """The leading terms of third order; two matrix products."""
    square = P * P
    V = square * shape.skewness[:, None]
    mixed = np.sum(shape.kurtosis * np.einsum("ik,ik->k", V, P @ V)) / 8.0
    weighted = square * shape.kurtosis
    return float(mixed + np.sum((weighted @ weighted) * weighted.T) / 48.0)


def _coefficients(base: Expansion) -> np.ndarray:
    """a_l = E[He_l] [4, N] of the tilted distributions, l = 5 to 8; 0 where they are as good as Gaussian.

    By sums over a grid about each mean, which is good enough for a figure of trust.
    """
    a = np.zeros((len(HIGHER), len(base.y)))
    skewed = np.flatnonzero(np.abs(base.shape.skewness) + np.abs(base.shape.kurtosis) > GAUSSIAN)
    for rows in in_chunks(skewed):
        m, v = (values[rows, None] for values in base.cavity)
        f = base.tilted.mean[rows, None] + np.sqrt(base.tilted.variance[rows])[:, None] * GRID
        log_w = base.likelihood.log_likelihood(base.y[rows, None], f) - 0.5 * (f - m) ** 2 / v
        w = np.exp(log_w - np.max(log_w, axis=1, keepdims=True, initial=-np.inf))
        a[:, rows] = POLYNOMIALS @ (w / w.sum(axis=1, keepdims=True)).T
    return a


def _higher_terms(a: np.ndarray, P: np.ndarray, rows: slice) -> float:
    """1/2 sum_{i != j} a_li a_lj P_ij^l / l! over l = 5 to 8 and i in ``rows``."""
    square = P * P
    power, total = square * square * P, 0.0
    for k, order in enumerate(HIGHER):
        total += float(a[k, rows] @ (power @ a[k])) / (2.0 * math.factorial(order))
        power *= P
    return total


def correction_gradient(expand_at: Callable[[Kernel], Expansion], kernel: Kernel) -> np.ndarray:
    """Gradient of the second-order terms in ``kernel.parameters()`` [P], by central differences.

    The terms are small and smooth, so that differences of 1e-3 in the logarithms leave 1e-6 of them.

    Parameters
    ----------
    expand_at : callable
        EP's fixed point at a kernel beside ``kernel``, best from the sites there: a few sweeps.

    Raises
    ------
    NotPositiveDefinite
        If there is no proper posterior beside ``kernel``.
    """
    parameters = kernel.parameters()
    gradient = np.empty(len(parameters))
    for p in range(len(parameters)):
        ends = []
        for sign in (1.0, -1.0):
            factors = np.ones(len(parameters))
            factors[p] = np.exp(sign * STEP)
            base = expand_at(kernel.with_parameters(parameters * factors))
            ends.append(sum(sum(second_order(P, base.shape, rows)) for rows, P in base.blocks()))
        gradient[p] = (ends[0] - ends[1]) / (2.0 * STEP * parameters[p])
    return gradient
