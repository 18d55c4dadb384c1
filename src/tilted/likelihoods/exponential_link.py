"""Counts with rate exp(f): Poisson, and negative binomial whose variance is mean + dispersion mean^2.

With r = 1 / dispersion the latter is p(y|f) = Gamma(y + r) / (Gamma(r) y!) e^(y f) r^r / (r + e^f)^(y + r), a
Poisson whose rate is e^f times a Gamma variable of mean 1 and variance 1 / r. Both are log-concave in f.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, gammaln, log_expit

from tilted.likelihoods.contract import OneParameter, require_finite
from tilted.likelihoods.logit import Logit
from tilted.likelihoods.new_counts import draw_counts
from tilted.likelihoods.panels import ByPanels
from tilted.numerics.gamma import log_largest_negative_binomial, log_largest_poisson, log_rising

HIGHEST = 700.0  # of f, beyond which a rate is no number
LARGE = 1000.0  # counts from which the terms of log p lose more than 1e-12 to each other


class Counts(ByPanels):
    """The base of the likelihoods of counts with an exponential link."""

    log_concave: ClassVar[bool] = True
    rates: ClassVar[bool] = False

    def domain(self, y: np.typing.ArrayLike) -> np.ndarray:
        """Counts [N] as floats; ValueError for what is negative or, but for rates, no whole number."""
        y = require_finite(y)
        wrong = (y < 0) | ((y != np.floor(y)) & (not self.rates))
        if np.any(wrong):
            row, kind = int(np.flatnonzero(wrong)[0]), "numbers" if self.rates else "whole numbers"
            raise ValueError(f"counts must be {kind} of at least 0, got {y[row]:g} at row {row}")
        return y

    check = domain

    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log p(y|f), broadcast; of counts from `LARGE` on relative to its maximum, where f is log y.

        There the terms, each about y log y, take digits from each other.
        """
        large = y >= LARGE
        if not np.any(large):
            return self._by_terms(y, f)
        log_p = self._from_peak(np.maximum(y, LARGE), f)
        return log_p if np.all(large) else np.where(large, log_p, self._by_terms(y, f))

    @abc.abstractmethod
    def _by_terms(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log p(y|f), broadcast, as it is written."""

    @abc.abstractmethod
    def _from_peak(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the log likelihood for y of at least `LARGE`, by its distance from the maximum."""

    def bend(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """About the rate that is the count, arrays [N]; e^f turns over a length of 1."""
        return np.log(np.maximum(y, 1.0)), np.ones_like(y)

    def errors(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Absolute error of the expected count [N]."""
        return np.abs(y - _rate(m + 0.5 * v))


@dataclass(frozen=True)
class PoissonExponential(Counts):
    """Counts with p(y | f) = Poisson(y; e^f).

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.likelihoods import PoissonExponential
    >>> likelihood = PoissonExponential()
    >>> likelihood.log_predictive(np.array([2.0]), np.array([0.5]), np.array([1.0])).round(3)
    array([-1.845])
    """

    name: ClassVar[str] = "poisson-exp"

    def _by_terms(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """y f - e^f - log y!, broadcast."""
        return y * f - _rate(f) - gammaln(y + 1.0)

    def _from_peak(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """y (d - expm1(d)) and log Poisson(y; y), broadcast, with d = f - log y."""
        log_y = np.log(y)
        return y * (f - log_y - np.expm1(np.minimum(f, HIGHEST) - log_y)) + log_largest_poisson(y)

    def slopes(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y - e^f and -e^f, broadcast."""
        rate = _rate(f)
        return y - rate, -rate

    def expected_log(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[log p(y|f)] under N(m, v) and its derivatives in m and v, arrays [N], in closed form."""
        rate = _rate(m + 0.5 * v)
        value = y * m - rate - gammaln(y + 1.0)
        if np.any(y >= LARGE):  # E[e^f] - e^m = rate (1 - e^(-v / 2))
            value = np.where(y >= LARGE, self.log_likelihood(y, m) + rate * np.expm1(-0.5 * v), value)
        return value, y - rate, -0.5 * rate

    def draw(self, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """New counts given ``f``, of its shape; ValueError where the rate overflows.

        Of rates from `new_counts.NORMAL` on normal variables, rounded.
        """
        with np.errstate(over="ignore"):  # refused by name
            return draw_counts(np.exp(f), f, rng)

    def log_given(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of mean and variance of new counts given ``f``, of its shape."""
        return f, f

    def target_moments(self, m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N] of new counts where f ~ N(m, v)."""
        mean = _rate(m + 0.5 * v)
        with np.errstate(over="ignore"):  # an infinite variance says so
            return mean, mean + mean**2 * np.expm1(np.minimum(v, HIGHEST))


@dataclass(frozen=True)
class PoissonRates(PoissonExponential):
    """Poisson likelihood of real counts, the factorial continued by the Gamma function.

    Counts by their exposure, weighted by it, have the posterior of the counts at e^f times the exposure.
    """

    rates: ClassVar[bool] = True


@dataclass(frozen=True)
class NegativeBinomial(OneParameter, Counts):
    """Counts with mean e^f and variance e^f + dispersion e^2f.

    Parameters
    ----------
    dispersion : float > 0
        Towards 0 it is the Poisson likelihood. Learned where a fit learns the likelihood.

    Raises
    ------
    ValueError
        If it is not finite and positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.likelihoods import NegativeBinomial
    >>> likelihood = NegativeBinomial(0.5)
    >>> likelihood.log_predictive(np.array([2.0]), np.array([0.5]), np.array([1.0])).round(3)
    array([-2.015])
    """

    dispersion: float = 1.0
    name: ClassVar[str] = "negative-binomial"
    searched: ClassVar[str] = "dispersion"

    def __post_init__(self) -> None:
        if not 0 < self.dispersion < np.inf:
            raise ValueError(f"the dispersion must be finite and positive, got {self.dispersion}")

    def _by_terms(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        r, u = 1.0 / self.dispersion, f + np.log(self.dispersion)
        return y * f - (y + r) * np.logaddexp(0.0, u) + log_rising(r, y) - gammaln(y + 1.0)

    def _from_peak(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """k s - (y + r) log1p(k / (y + r) expm1(s)), k the lesser of y and r, s = +-(f - log y)."""
        r, d = 1.0 / self.dispersion, f - np.log(y)
        lesser, s = np.minimum(y, r), np.where(y <= r, d, -d)
        share = lesser / (y + r)
        near = np.log1p(share * np.expm1(np.minimum(s, HIGHEST)))
        log_mean = np.where(s < HIGHEST, near, s + np.log(share))
        return lesser * s - (y + r) * log_mean + log_largest_negative_binomial(y, r)

    def slopes(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y - (y + r) s and -(y + r) s (1 - s) with s = e^f / (r + e^f), broadcast."""
        r, u = 1.0 / self.dispersion, f + np.log(self.dispersion)
        sigma, complement = expit(u), expit(-u)
        return y * complement - r * sigma, -(y + r) * sigma * complement

    def expected_log(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[log p(y|f)] under N(m, v) and its derivatives in m and v, arrays [N], by those of the logit."""
        r, mu = 1.0 / self.dispersion, m + np.log(self.dispersion)
        large = y >= LARGE
        side = np.where(large & (r < y), 1.0, -1.0)  # of the logit, whose probability is the lesser
        expected, d_m, d_v = Logit().expected_log(side, mu, v)
        value = y * m + log_rising(r, y) - gammaln(y + 1.0) + (y + r) * expected
        if np.any(large):
            change = (y + r) * (expected - log_expit(side * mu))
            value = np.where(large, self.log_likelihood(y, m) + change, value)
        return value, np.where(side > 0, -r, y) + (y + r) * d_m, (y + r) * d_v

    def draw(self, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """New counts given ``f``, of its shape; ValueError where the rate overflows.

        Of rates from `new_counts.NORMAL` on normal variables, rounded.
        """
        with np.errstate(over="ignore"):  # refused by name
            rate = rng.gamma(1.0 / self.dispersion, self.dispersion * np.exp(f))
        return draw_counts(rate, f, rng)

    def log_given(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logarithms of mean and variance of new counts given ``f``, of its shape."""
        return f, np.logaddexp(f, np.log(self.dispersion) + 2.0 * f)

    def target_moments(self, m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N] of new counts where f ~ N(m, v)."""
        mean = _rate(m + 0.5 * v)
        more = np.expm1(np.minimum(v, HIGHEST))
        with np.errstate(over="ignore"):  # an infinite variance says so
            return mean, mean + mean**2 * (more + self.dispersion * (1.0 + more))


def _rate(f: np.ndarray) -> np.ndarray:
    """e^f, short of overflow."""
    return np.exp(np.minimum(f, HIGHEST))
