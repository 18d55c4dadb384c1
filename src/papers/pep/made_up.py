"""The made-up sets of the Power-EP paper's regressions.

The paper says that they are thirty sets of 1000 points with five inputs from a Gaussian process with an ARD
squared-exponential kernel [Bui et al. 2017, section 4.1], and neither the inputs' distribution nor the
hyperparameters. Ours: inputs uniform on [-2, 2]^5, lengthscales log-uniform on [1, 4], variance 1, noise
variance 0.01.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilted.kernels.squared_exponential import SquaredExponential

SYNTHETIC, DRAWN, POINTS = "synthetic", 30, 1000
VARIANCE, HALF_WIDTH, SCALES, DRAWN_NOISE, DRAWN_JITTER = 1.0, 2.0, (1.0, 4.0), 0.01, 1e-10
"""The jitter is relative, on the covariance drawn from, and far below the noise."""


class Drawn(NamedTuple):
    """A made-up set and its generating values: X [N, D], y [N] with noise, f [N] without."""

    X: np.ndarray
    y: np.ndarray
    f: np.ndarray
    kernel: SquaredExponential
    noise: float


def draw(seed: int, n: int = POINTS, dimension: int = 5) -> Drawn:
    """Draw a made-up set of ``n`` points; it has its own seed and generator."""
    rng = np.random.default_rng([seed, n, dimension])
    X = rng.uniform(-HALF_WIDTH, HALF_WIDTH, (n, dimension))
    low, high = np.log(SCALES)
    kernel = SquaredExponential(VARIANCE, tuple(np.exp(rng.uniform(low, high, dimension))))
    K = kernel.matrix(X)
    K.flat[:: n + 1] += DRAWN_JITTER * VARIANCE
    f = np.linalg.cholesky(K) @ rng.standard_normal(n)
    return Drawn(X, f + np.sqrt(DRAWN_NOISE) * rng.standard_normal(n), f, kernel, DRAWN_NOISE)
