"""Linear models as Gaussian processes: f = X w with w ~ N(0, I), by the kernel ``kernels.linear.Linear``."""

from __future__ import annotations

import numpy as np

from tilted.gaussian import Sites
from tilted.numerics import linalg


def weights(X: np.ndarray, sites: Sites) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean [D] and covariance [D, D] of w under N(0, I) and sites on f = X w.

    Raises
    ------
    NotPositiveDefinite
        If the posterior is improper.
    """
    precision = X.T @ (sites.tau[:, None] * X)
    precision.flat[:: len(precision) + 1] += 1.0
    covariance = linalg.inverse_from_cholesky(linalg.cholesky(precision, "precision of the weights"))
    return covariance @ (X.T @ sites.nu), covariance
