"""Sampled marginals: the exact posterior of probit classification, by weighted draws (``exact.orthant``).

Given a draw z every latent is Gaussian, so densities are mixtures. Nothing of EP is left in them; their error
is of the draws, and known: relative to a variance about (2 / effective number of draws)^1/2. The draws are
always the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from tilted.corrections.densities import LOG_SQRT_2PI
from tilted.exact import orthant
from tilted.gaussian import require_positive
from tilted.likelihoods.probit import Probit
from tilted.numerics import linalg
from tilted.posteriors.dense import Dense
from tilted.posteriors.sparse import Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilted.exact.orthant import Posterior
    from tilted.likelihoods.contract import Likelihood

ONLY_PROBIT = (
    "correction='sampled' is of the probit likelihood, of dense models, and of kernels without white noise"
)
SEED = 0
GOAL, MOST = 10_000, 2**19  # effective draws, and draws at most
LEAST = 1_000  # effective draws to be trusted
FEW = 10  # draws below which a probability rests on too few to be told from a smaller or larger one
NUMBERS = 4e6  # centres of mixtures at once


@dataclass(frozen=True)
class Sampled:
    """The exact posterior at the data, and its log evidence."""

    posterior: Posterior = field(repr=False)

    @classmethod
    def of(cls, prior: Dense, y: np.ndarray) -> Sampled:
        """For a prior at the data and labels ``y`` [N]."""
        rng = np.random.default_rng(SEED)
        return cls(orthant.sample(prior.K, y, prior.mean, rng, GOAL, MOST))

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the draws [n]; they sum to 1."""
        return self.posterior.draws.weights

    @cached_property
    def effective(self) -> float:
        """Effective number of draws."""
        return self.posterior.draws.effective

    @property
    def trusted(self) -> bool:
        """Return whether there are enough effective draws."""
        return self.effective >= LEAST

    @property
    def message(self) -> str:
        """Describe the draws."""
        return f"{len(self.weights)} draws, {self.effective:.0f} of them effective"

    @property
    def value(self) -> float:
        """The exact log evidence, give or take ``standard_error``; an estimate too where not ``trusted``."""
        return self.posterior.draws.log_evidence

    @property
    def standard_error(self) -> float:
        """Standard error of the log evidence."""
        return self.posterior.draws.standard_error

    def derivative(self) -> np.ndarray:
        """d log evidence / d K [N, N]: half of E[a a^T] - (K + I)^-1, a = (K + I)^-1 (f + e - mean)."""
        orthant, z = self.posterior.orthant, self.posterior.draws.z
        excess = (z * self.weights) @ z.T
        excess.flat[:: len(excess) + 1] -= 1.0
        half = linalg.solve_lower(orthant.factor, excess, transpose=True)
        ordered = 0.5 * linalg.solve_lower(orthant.factor, half.T, transpose=True)
        G = np.empty_like(ordered)
        G[np.ix_(orthant.order, orthant.order)] = ordered * np.outer(orthant.y, orthant.y)
        return G


@dataclass(frozen=True)
class Mixtures:
    """Densities of Q latents: Gaussians about as many centres as there are draws, of one variance each.

    Attributes
    ----------
    sampled : Sampled
    half : array [N, Q]
    level : array [Q]
        Prior means.
    variance : array [Q]
        Of each Gaussian.
    likelihood : Likelihood
    """

    sampled: Sampled = field(repr=False)
    half: np.ndarray = field(repr=False)
    level: np.ndarray
    variance: np.ndarray
    likelihood: Likelihood = field(repr=False)

    @classmethod
    def of(
        cls,
        sampled: Sampled,
        cross: np.ndarray,
        level: np.ndarray,
        variance: np.ndarray,
        likelihood: Likelihood,
    ) -> Mixtures:
        """From prior covariances ``cross`` [Q, N] with the latents of the data, prior means and variances.

        ArithmeticError if a variance given the draws is lost to rounding.
        """
        half = sampled.posterior.orthant.half(cross)
        conditional = require_positive(variance - np.einsum("nq,nq->q", half, half))
        return cls(sampled, half, level, conditional, likelihood)

    def _centres(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Centres [Q, n], in parts: which latents, and theirs."""
        z = self.sampled.posterior.draws.z
        size = max(1, int(NUMBERS / z.shape[1]))
        for first in range(0, len(self.level), size):
            rows = slice(first, first + size)
            yield rows, self.level[rows, None] + self.half[:, rows].T @ z

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean, variance and skewness [Q]."""
        w, chunks = self.sampled.weights, []
        for rows, centres in self._centres():
            mean = centres @ w
            centres -= mean[:, None]
            second, third = centres**2 @ w, centres**3 @ w
            variance = self.variance[rows] + second
            chunks.append((mean, variance, third / variance**1.5))
        mean, variance, skewness = (np.concatenate(values) for values in zip(*chunks, strict=True))
        return mean, variance, skewness

    def log_density(self, f: np.ndarray) -> np.ndarray:
        """log density at f [Q, K]."""
        log_p, log_w = np.empty_like(f), self.sampled.posterior.draws.log_shares
        for rows, centres in self._centres():
            sd = np.sqrt(self.variance[rows])[:, None]
            for k in range(f.shape[1]):
                x = (f[rows, k, None] - centres) / sd
                log_p[rows, k] = logsumexp(log_w - 0.5 * x**2 - np.log(sd), axis=1) - LOG_SQRT_2PI
        return log_p

    def log_predictive(self, y: np.ndarray) -> np.ndarray:
        """log predictive probability [Q] of y [Q]."""
        return self.predictive(y)[0]

    def predictive(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log predictive probability [Q] of y [Q], and how many draws it rests on [Q].

        These are (sum of w p)^2 / sum of (w p)^2 over the draws; one over them is about the square of the
        probability's standard error, relative to it. Far fewer than the effective draws say that most of
        these tell nothing of it: then it is no more known than that it is about 1 / effective or less.
        """
        log_p, rests_on = np.empty(len(y)), np.empty(len(y))
        log_w = self.sampled.posterior.draws.log_shares
        for rows, centres in self._centres():
            variance = np.broadcast_to(self.variance[rows, None], centres.shape)
            labels = np.broadcast_to(y[rows, None], centres.shape)
            terms = log_w + self.likelihood.log_predictive(labels, centres, variance)
            log_p[rows] = logsumexp(terms, axis=1)
            rests_on[rows] = np.exp(2.0 * log_p[rows] - logsumexp(2.0 * terms, axis=1))
        return log_p, rests_on


def require_sampled(likelihood: Likelihood, prior: Dense | Sparse | None = None) -> None:
    """ValueError unless there is a sampler for that."""
    if not isinstance(likelihood, Probit) or isinstance(prior, Sparse) or (prior and np.any(prior.extra)):
        raise ValueError(ONLY_PROBIT)
