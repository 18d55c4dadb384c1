"""Exact posteriors of linear classifiers with a noisy step: f = X w, w ~ N(0, variance I).

The likelihood depends on the signs of X w only, hence on the direction of w. In two dimensions it is constant
between the directions orthogonal to the inputs, and every moment is a finite sum (``sectors``). In any
dimension there is importance sampling from the prior (``importance``), as the relaxed-EP paper has it
[Qi & Guo 2012, section 6.1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood

CHUNK = 1_000_000  # samples in memory at once


@dataclass(frozen=True)
class Weights:
    """Moments of the posterior of the weights.

    Attributes
    ----------
    mean : array [D]
    covariance : array [D, D]
    log_evidence : float
    effective_size : float
        Of the sample, (sum of its weights)^2 / sum of their squares; infinite where there is none.
    """

    mean: np.ndarray
    covariance: np.ndarray
    log_evidence: float
    effective_size: float = np.inf


def sectors(X: np.ndarray, y: np.ndarray, likelihood: Likelihood, variance: float = 1.0) -> Weights:
    """The exact posterior for inputs ``X`` [N, 2] and labels ``y`` [N].

    ValueError in other dimensions, and for a likelihood that is not one of the sign of f alone.
    """
    if X.shape[1] != 2:
        raise ValueError(f"sectors are those of the plane, not of {X.shape[1]} dimensions")
    near, far = (likelihood.log_likelihood(y, np.full(len(y), f)) for f in (1.0, 2.0))
    if not np.array_equal(near, far):
        raise ValueError(f"the likelihood '{likelihood.name}' is not one of the sign of f alone")
    normals = np.arctan2(X[:, 1], X[:, 0])
    edges = np.unique(np.mod(np.concatenate([normals + np.pi / 2, normals - np.pi / 2]), 2 * np.pi))
    low, high = edges, np.append(edges[1:], edges[0] + 2 * np.pi)
    middle = 0.5 * (low + high)
    f = X @ np.stack([np.cos(middle), np.sin(middle)])
    log_p = np.sum(likelihood.log_likelihood(y[:, None], f), axis=0)
    share = np.exp(log_p - log_p.max()) / (2 * np.pi)
    evidence = float(share @ (high - low))
    first = np.array([np.sin(high) - np.sin(low), np.cos(low) - np.cos(high)]) @ share
    turn, twice = 0.5 * (high - low), 0.25 * (np.sin(2 * high) - np.sin(2 * low))
    xx, yy = share @ (turn + twice), share @ (turn - twice)
    xy = share @ (0.5 * (np.sin(high) ** 2 - np.sin(low) ** 2))
    # the length of w is independent of its direction, with mean sqrt(pi / 2) and mean square 2
    mean = np.sqrt(0.5 * np.pi * variance) * first / evidence
    second = 2.0 * variance * np.array([[xx, xy], [xy, yy]]) / evidence
    log_evidence = float(log_p.max() + np.log(evidence))
    return Weights(mean, second - np.multiply.outer(mean, mean), log_evidence)


def importance(
    X: np.ndarray,
    y: np.ndarray,
    likelihood: Likelihood,
    samples: int,
    rng: np.random.Generator,
    variance: float = 1.0,
    progress: Callable[[int], None] | None = None,
) -> Weights:
    """The posterior by importance sampling from the prior, a chunk at a time.

    Parameters
    ----------
    X, y : arrays [N, D], [N]
    likelihood : Likelihood
    samples : int
    rng : numpy.random.Generator
    variance : float
        Of each weight a priori.
    progress : callable, optional
        Told the number of samples after each chunk.
    """
    dimension = X.shape[1]
    total, squares, shift = 0.0, 0.0, -np.inf  # all sums are times exp(shift)
    first, second = np.zeros(dimension), np.zeros((dimension, dimension))
    for begin in range(0, samples, CHUNK):
        w = np.sqrt(variance) * rng.standard_normal((min(CHUNK, samples - begin), dimension))
        log_p = np.zeros(len(w))
        for x, label in zip(X, y, strict=True):
            log_p += likelihood.log_likelihood(label, w @ x)
        largest = max(shift, float(np.max(log_p)))
        scale, shift = np.exp(shift - largest), largest
        p = np.exp(log_p - shift)
        total, squares = scale * total + float(np.sum(p)), scale**2 * squares + float(p @ p)
        first, second = scale * first, scale * second
        first += p @ w
        second += (p[:, None] * w).T @ w
        if progress is not None:
            progress(begin + len(w))
    mean = first / total
    covariance = second / total - np.multiply.outer(mean, mean)
    return Weights(mean, covariance, float(np.log(total / samples) + shift), total**2 / squares)
