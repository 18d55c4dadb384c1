"""Exact posteriors of linear classifiers with a noisy step: f = X w, w ~ N(0, I), in two dimensions.

The likelihood depends on the signs of X w only, hence on the direction of w. It is constant between the
directions orthogonal to the inputs, and every moment is a finite sum; the relaxed-EP paper samples instead
[Qi & Guo 2012, section 6.1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood


@dataclass(frozen=True)
class Weights:
    """Moments of the posterior of the weights.

    Attributes
    ----------
    mean : array [D]
    covariance : array [D, D]
    log_evidence : float
    """

    mean: np.ndarray
    covariance: np.ndarray
    log_evidence: float


def sectors(X: np.ndarray, y: np.ndarray, likelihood: Likelihood) -> Weights:
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
    mean = np.sqrt(0.5 * np.pi) * first / evidence
    second = 2.0 * np.array([[xx, xy], [xy, yy]]) / evidence
    log_evidence = float(log_p.max() + np.log(evidence))
    return Weights(mean, second - np.multiply.outer(mean, mean), log_evidence)
