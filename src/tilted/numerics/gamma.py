"""Ratios of Gamma functions of large numbers, whose logarithms lose what they are subtracted for."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

STIRLING = 100.0  # from here on the rest of Stirling's series is below 1e-17


def log_rising(r: np.ndarray | float, y: np.ndarray | float) -> np.ndarray:
    """log Gamma(r + y) / (Gamma(r) r^y) for r > 0, y >= 0, broadcast, to some 1e-16 of y.

    By Stirling's series from `STIRLING` on.
    """
    if np.all(small := np.asarray(r) < STIRLING):
        return _by_gammas(r, y)
    series = _beyond_stirling(r + y) - _beyond_stirling(r)
    value = np.asarray((r + y - 0.5) * np.log1p(y / r) - y + series)
    return np.where(small, _by_gammas(r, y), value) if np.any(small) else value


def log_largest_poisson(y: np.ndarray) -> np.ndarray:
    """y log y - y - log Gamma(y + 1) for y of at least `STIRLING`, as ``y``: log Poisson(y; y)."""
    return np.asarray(-0.5 * np.log(2.0 * np.pi * y) - _beyond_stirling(y))


def log_largest_negative_binomial(y: np.ndarray, r: float) -> np.ndarray:
    """log Gamma(y + r) / (Gamma(r) y!) y^y r^r / (y + r)^(y + r) for y of at least `STIRLING`, as ``y``.

    The probability of y where y is the mean, 1 / r the dispersion; of large r `log_largest_poisson`.
    """
    if r < STIRLING:
        gammas = log_rising(y, r) + (r - 1.0) * np.log(y) - gammaln(r)
        return np.asarray(gammas - y * np.log1p(r / y) - r * np.log1p(y / r))
    series = _beyond_stirling(y + r) - _beyond_stirling(r) - _beyond_stirling(y)
    return np.asarray(-0.5 * np.log(2.0 * np.pi * y * (1.0 + y / r)) + series)


def _by_gammas(r: np.ndarray | float, y: np.ndarray | float) -> np.ndarray:
    """`log_rising` as it stands."""
    return np.asarray(gammaln(r + y) - gammaln(r) - y * np.log(r))


def _beyond_stirling(x: np.ndarray | float) -> np.ndarray | float:
    """log Gamma(x) less Stirling's approximation of it."""
    small = 1.0 / x
    square = small * small
    return small * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))
