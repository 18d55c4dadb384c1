"""The normal distribution as the probit needs it: hazard, curvature, moments, without cancellation."""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

from tilted.likelihoods.contract import Shape, Tilted
from tilted.likelihoods.shape import shape_of_hazard, standardised

LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
FAR = -4.0  # z below which 1 - r (z + r) cancels
WIDE = 0.8  # sd above which sites share quadrature nodes around the step of Phi
KNEE, STEP = 7.3, 0.055  # these: KNEE sinh(k STEP), 0.4 apart at the step


def hazard(z: np.ndarray) -> np.ndarray:
    """r(z) = phi(z) / Phi(z), without cancellation or overflow in either tail."""
    with np.errstate(over="ignore"):
        return np.sqrt(2.0 / np.pi) / erfcx(-z / np.sqrt(2.0))


def remaining_curvature(z: np.ndarray, r: np.ndarray) -> np.ndarray:
    """H(z) = 1 - r (z + r), in (0, 1]: the variance of a normal truncated at -z, for every z."""
    H = np.asarray(1.0 - r * (z + r))
    z = np.broadcast_to(z, H.shape)
    far = z < FAR
    if far.any():
        x = fraction = -z[far]
        for k in range(100, 2, -1):
            fraction = x + k / fraction
        d = 1.0 / (x + 2.0 / fraction)
        H[far] = 2.0 * d / fraction - d * d
    return H


def loss_of_variance(z: np.ndarray, r: np.ndarray, H: np.ndarray) -> np.ndarray:
    """1 - H = r (z + r), without the cancellation of either form on one side."""
    far, loss = z < FAR, r * (z + r)
    return np.where(far, 1.0 - H, loss) if far.any() else loss


def probit_moments(mu: np.ndarray, v: np.ndarray) -> Tilted:
    """Moments of N(u; mu, v) Phi(u), arrays [N]."""
    wider = 1.0 + v
    root = np.sqrt(wider)
    z = mu / root
    r = hazard(z)
    H = remaining_curvature(z, r)
    d1 = r / root
    with np.errstate(over="ignore"):  # cavities wider than 1e77: infinite, and refused by the rule
        variance = v * (1.0 + v * H) / wider
    return Tilted(log_ndtr(z), d1, -loss_of_variance(z, r, H) / wider, mu + v * d1, variance)


def probit_shape(mu: np.ndarray, v: np.ndarray) -> Shape:
    """Skewness and excess kurtosis [N] of N(u; mu, v) Phi(u) / Z.

    They are those of a normal truncated at -z, z = mu / sqrt(1 + v), times (v / (v + 1 / H))^(l/2) with its
    variance H. For z < -2.5, where that is nearly an exponential distribution and the textbook derivatives of
    log Phi cancel, from the moments k! rho_1 ... rho_k of what exceeds -z.
    """
    z = mu / np.sqrt(1.0 + v)
    r = hazard(z)
    H = remaining_curvature(z, r)
    power = v * H / (1.0 + v * H)
    near = shape_of_hazard(z, r, H, power)
    far = z < -2.5
    if not np.any(far):
        return near
    a, b, c, d = _ratios_of_excess(-np.where(far, z, -5.0))
    third = a * (6.0 * b * c - 6.0 * a * b + 2.0 * a * a)
    fourth = a * (24.0 * b * c * d - 24.0 * a * b * c - 12.0 * a * b * b + 24.0 * a * a * b - 6.0 * a**3)
    beyond = standardised(third, fourth, a * (2.0 * b - a), power)
    return Shape(*(np.where(far, x, n) for x, n in zip(beyond, near, strict=True)))


def _ratios_of_excess(x: np.ndarray) -> list[np.ndarray]:
    """rho_1 to rho_4 [N]: rho_k = I_k / I_{k-1}, I_k the integral of t^k / k! exp(-x t - t^2 / 2) over t > 0.

    By parts I_{k-1} = x I_k + (k + 1) I_{k+1}, a continued fraction in positive terms.
    """
    fraction, ratios = x, []
    for k in range(100, 0, -1):
        ratio = 1.0 / fraction
        if k <= 4:
            ratios.append(ratio)
        fraction = x + k * ratio
    return ratios[::-1]
