"""Moments of the factors that say where the constrained minimum is [PESC supplement, eqs 4, 5].

    h = prod_k theta(c_k) theta(f - f_0) + 1 - prod_k theta(c_k),    g = theta(c)

under independent normals, u = f - f_0 ~ N(m, s) and c_k ~ N(m_k, v_k), in the standardised means
alpha = m / sqrt(s), alpha_k = m_k / sqrt(v_k). Both marginals of a tilted distribution are mixtures of
normals and truncated normals, and their variances are written as such: nothing is subtracted.
The formulas printed in (19) to (25), (29), (30) and (37) are the same where they are right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from tilted.likelihoods.normal import LOG_SQRT_2PI, hazard, remaining_curvature


@dataclass(frozen=True)
class Tilt:
    """The effect of a factor on one of its variables, without its scale.

    Attributes
    ----------
    shift : array
        beta: by how many standard deviations the mean moves; d log Z / d alpha.
    left : array
        Variance over the variance before; 1 + d2 log Z / d alpha2.
    """

    shift: np.ndarray
    left: np.ndarray

    def moments(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the tilted variable."""
        return mean + np.sqrt(variance) * self.shift, variance * self.left

    def site(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Precision and precision times mean of the Gaussian that does the same to N(mean, variance).

        Precisions may be negative, where the variance grows.
        """
        lost = (1.0 - self.left) / variance
        return lost / self.left, (self.shift / np.sqrt(variance) + mean * lost) / self.left


def positive(alpha: np.ndarray) -> tuple[np.ndarray, Tilt]:
    """Log normaliser and tilt of g = theta(c) [eq. 29]."""
    r = hazard(alpha)
    return log_ndtr(alpha), Tilt(r, remaining_curvature(alpha, r))


def no_better(alpha: np.ndarray, alphas: np.ndarray) -> tuple[np.ndarray, Tilt, Tilt]:
    """Log normaliser of h, its tilt of u and those of the constraints [eqs 19-25, 36, 37].

    Parameters
    ----------
    alpha : array [...]
        Of u = f - f_0.
    alphas : array [K, ...]
        Of the constraints; K may be 0.

    Returns
    -------
    log_z : array [...]
    of_u : Tilt, arrays [...]
    of_c : Tilt, arrays [K, ...]
    """
    inside, outside = log_ndtr(alphas), log_ndtr(-alphas)
    log_better, log_worse = log_ndtr(-alpha), log_ndtr(alpha)
    feasible, infeasible = _all_hold(inside, outside, np.shape(alpha))
    log_z = np.logaddexp(feasible + log_worse, infeasible)
    of_u = _tilt_of_u(alpha, feasible + log_worse - log_z, infeasible - log_z)
    shift, remaining = np.empty_like(alphas), np.empty_like(alphas)
    for k in range(len(alphas)):
        others_hold = _all_hold(np.delete(inside, k, 0), np.delete(outside, k, 0), np.shape(alpha))
        fails, falls = outside[k] - log_z, others_hold[0] + log_better - log_z
        allowed = inside[k] + np.logaddexp(others_hold[0] + log_worse, others_hold[1]) - log_z
        shift[k], remaining[k] = _tilt_of_c(alphas[k], falls, allowed, fails)
    return log_z, of_u, Tilt(shift, remaining)


def _all_hold(
    inside: np.ndarray, outside: np.ndarray, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Log probabilities that all constraints hold, and that not all do, a sum over the first that fails."""
    feasible, infeasible = np.zeros(shape), np.full(shape, -np.inf)
    for holds, fails in zip(inside, outside, strict=True):
        infeasible = np.logaddexp(infeasible, feasible + fails)
        feasible = feasible + holds
    return feasible, infeasible


def _tilt_of_u(alpha: np.ndarray, log_truncated: np.ndarray, log_free: np.ndarray) -> Tilt:
    """A normal truncated to u > 0 and a free one, with these log weights."""
    truncated, free = np.exp(log_truncated), np.exp(log_free)
    r = hazard(alpha)
    remaining = truncated * remaining_curvature(alpha, r) + free * (1.0 + truncated * r**2)
    return Tilt(truncated * r, remaining)


def _tilt_of_c(
    alpha: np.ndarray, falls: np.ndarray, allowed: np.ndarray, fails: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A normal truncated to c > 0, where another constraint fails or u > 0, and one truncated to c < 0.

    ``allowed`` and ``fails`` are their log weights, ``falls`` the log of by how much the density drops at 0.
    """
    shift = -np.exp(falls - 0.5 * alpha**2 - LOG_SQRT_2PI)
    above, below = hazard(alpha), hazard(-alpha)
    holds, violated = np.exp(allowed), np.exp(fails)
    remaining = holds * remaining_curvature(alpha, above) + violated * remaining_curvature(-alpha, below)
    return shift, remaining + holds * violated * (above + below) ** 2
