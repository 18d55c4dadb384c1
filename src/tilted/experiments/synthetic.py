"""Made-up regression problems whose truth is known [Bui et al. 2017, section 4.1].

The paper draws thirty data sets of 1000 points with five inputs from a Gaussian process with an ARD squared
exponential kernel and does not give the inputs' distribution or the hyperparameters. Ours: inputs uniform on
[-2, 2]^5, lengthscales log-uniform on [1, 4], variance 1, noise variance 0.01.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilted.kernels.squared_exponential import SquaredExponential

HALF_WIDTH, SCALES, VARIANCE, NOISE = 2.0, (1.0, 4.0), 1.0, 0.01
POINTS = 1000
JITTER = 1e-10  # relative, on the covariance that is drawn from; far below the noise


@dataclass(frozen=True)
class Drawn:
    """A data set and what it was drawn from: X [N, D], y [N] with noise, f [N] without."""

    X: np.ndarray
    y: np.ndarray
    f: np.ndarray
    kernel: SquaredExponential
    noise: float


def draw(seed: int, n: int = POINTS, dimension: int = 5) -> Drawn:
    """One data set.

    Parameters
    ----------
    seed : int
        Of its own generator.
    n, dimension : int
    """
    rng = np.random.default_rng([seed, n, dimension])
    X = rng.uniform(-HALF_WIDTH, HALF_WIDTH, (n, dimension))
    low, high = np.log(SCALES)
    kernel = SquaredExponential(VARIANCE, tuple(np.exp(rng.uniform(low, high, dimension))))
    K = kernel.matrix(X)
    K.flat[:: n + 1] += JITTER * VARIANCE
    f = np.linalg.cholesky(K) @ rng.standard_normal(n)
    return Drawn(X, f + np.sqrt(NOISE) * rng.standard_normal(n), f, kernel, NOISE)
