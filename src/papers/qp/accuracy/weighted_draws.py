"""The exact posterior of a split with labels by weighted draws (`tilted.exact.orthant`) instead of chains.

Where the chains of `papers.qp.accuracy.exact_posterior` mix slowly and take an hour, draws take minutes.
Standard errors are those of the jackknife over batches of draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from tilted.exact.orthant import Orthant

if TYPE_CHECKING:
    from papers.data import Split
    from tilted.kernels.squared_exponential import SquaredExponential

BATCHES = 50


class Estimate(NamedTuple):
    """A number, or numbers, and their standard errors."""

    value: np.ndarray
    error: np.ndarray


class Drawn(NamedTuple):
    """The exact posterior.

    Attributes
    ----------
    log_evidence : Estimate
    mean, variance : Estimate
        Mean and variance of latents [Q].
    log_density : Estimate
        Log density of the labels of the last latents.
    effective : float
        Effective number of draws.
    heaviest : float
        Largest weight over the sum of all.
    """

    log_evidence: Estimate
    mean: Estimate
    variance: Estimate
    log_density: Estimate
    effective: float
    heaviest: float


def draw(
    kernel: SquaredExponential,
    points: Split,
    mean: float,
    inputs: np.ndarray,
    n_draws: int,
    rng: np.random.Generator,
) -> Drawn:
    """Draw the exact posterior of latents at ``inputs`` [U, D], then at the test inputs, under the probit.

    ``n_draws`` is a multiple of `BATCHES`.
    """
    X, labels = np.concatenate([inputs, points.X_test]), points.y_test
    orthant = Orthant.build(kernel.matrix(points.X_train), points.y_train, mean)
    half = orthant.half(kernel.matrix(X, points.X_train))
    residual = kernel.diagonal(X) - np.einsum("nq,nq->q", half, half)
    slope = labels / np.sqrt(1.0 + residual[-len(labels) :])
    sums, squares, heaviest = [], 0.0, 0.0
    around, shift = np.zeros(len(X)), 0.0
    for batch in range(BATCHES):
        draws = orthant.draw(rng, n_draws // BATCHES)
        if not batch:
            around, shift = half.T @ (draws.z @ draws.weights), draws.log_evidence
        w = np.exp(draws.log_weights - shift)
        centres = half.T @ draws.z
        p = np.exp(log_ndtr(slope[:, None] * (mean + centres[-len(labels) :])))
        centres -= around[:, None]
        sums.append(np.concatenate([[np.sum(w)], centres @ w, centres**2 @ w, p @ w]))
        squares, heaviest = squares + float(w @ w), max(heaviest, float(np.max(w)))
    batches = np.array(sums)
    total = np.sum(batches, axis=0)
    evidence, first, variance, density = _jackknifed(batches, len(X))
    return Drawn(
        Estimate(evidence.value + shift - np.log(n_draws // BATCHES), evidence.error),
        Estimate(mean + around + first.value, first.error),
        Estimate(residual + variance.value, variance.error),
        density,
        float(total[0] ** 2 / squares),
        heaviest / float(total[0]),
    )


def _jackknifed(batches: np.ndarray, latents: int) -> list[Estimate]:
    """Estimate log mean weight of a batch, means, variances and log densities, from sums [batches, ...]."""
    total, n = np.sum(batches, axis=0), len(batches)
    estimates = _statistics(total[None] / n, latents)
    without = _statistics((total - batches) / (n - 1), latents)
    return [
        Estimate(value[0], np.sqrt((n - 1) * np.mean((each - np.mean(each, axis=0)) ** 2, axis=0)))
        for value, each in zip(estimates, without, strict=True)
    ]


def _statistics(sums: np.ndarray, latents: int) -> list[np.ndarray]:
    w, first, second, p = np.split(sums, [1, 1 + latents, 1 + 2 * latents], axis=1)
    mean = first / w
    return [np.log(w[:, 0]), mean, second / w - mean**2, np.log(p / w)]
