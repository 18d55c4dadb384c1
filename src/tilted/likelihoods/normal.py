"""The normal distribution as the probit needs it: hazard, curvature, moments, without cancellation."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

from tilted.likelihoods.contract import Tilted

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
WIDE = 0.8  # sd above which sites share quadrature nodes around the step of Phi
KNEE, STEP = 7.3, 0.055  # these: KNEE sinh(k STEP), 0.4 apart at the step


def hazard(z: np.ndarray) -> np.ndarray:
    """r(z) = phi(z) / Phi(z), without cancellation or overflow in either tail."""
    with np.errstate(over="ignore"):
        return np.sqrt(2.0 / np.pi) / erfcx(-z / np.sqrt(2.0))


def remaining_curvature(z: np.ndarray, r: np.ndarray) -> np.ndarray:
    """H(z) = 1 - r (z + r), in (0, 1]: the variance of a normal truncated at -z, for every z."""
    direct = 1.0 - r * (z + r)
    far = z < -4.0
    if not np.any(far):
        return direct
    x = -np.where(far, z, -5.0)
    fraction = x
    for k in range(100, 2, -1):
        fraction = x + k / fraction
    d = 1.0 / (x + 2.0 / fraction)
    return np.where(far, 2.0 * d / fraction - d * d, direct)


def loss_of_variance(z: np.ndarray, r: np.ndarray, H: np.ndarray) -> np.ndarray:
    """1 - H = r (z + r), without the cancellation of either form on one side."""
    return np.where(z < -4.0, 1.0 - H, r * (z + r))


def probit_moments(mu: np.ndarray, v: np.ndarray) -> Tilted:
    """Moments of N(u; mu, v) Phi(u), arrays [N]."""
    root = np.sqrt(1.0 + v)
    z = mu / root
    r = hazard(z)
    H = remaining_curvature(z, r)
    d1 = r / root
    with np.errstate(over="ignore"):  # cavities wider than 1e77: infinite, and refused by the rule
        variance = v * (1.0 + v * H) / (1.0 + v)
    return Tilted(log_ndtr(z), d1, -loss_of_variance(z, r, H) / (1.0 + v), mu + v * d1, variance)
