"""The derivative of Dawson's function D(t) = e^(-t^2) int_0^t e^(s^2) ds, without cancellation."""

from __future__ import annotations

import numpy as np
from scipy.special import dawsn

FAR, TERMS = 150.0, 5  # from which t the derivative is its asymptotic series, and its terms


def dawson_slope(t: np.ndarray) -> np.ndarray:
    """D'(t) = 1 - 2 t D(t) [N] for t >= 0; far out -sum_k (2k - 1)!! / (2 t^2)^k, where the two cancel."""
    twice, far = 2.0 * np.maximum(t, FAR) ** 2, np.zeros_like(t)
    for k in range(TERMS, 0, -1):
        far = (2 * k - 1) / twice * (1.0 + far)
    return np.where(t < FAR, 1.0 - 2.0 * t * dawsn(t), -far)
