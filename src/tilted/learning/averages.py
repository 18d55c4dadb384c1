"""Mean, variance and median of rows with weights, whole weights as good as repeated rows; None: all 1."""

from __future__ import annotations

import numpy as np


def mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    """sum w x / sum w of ``values`` [N]."""
    return float(np.mean(values) if weights is None else np.average(values, weights=weights))


def variance(values: np.ndarray, weights: np.ndarray | None) -> float:
    """Mean squared distance of ``values`` [N] from their mean."""
    return float(np.var(values)) if weights is None else mean((values - mean(values, weights)) ** 2, weights)


def median(values: np.ndarray, weights: np.ndarray | None) -> float:
    """The one of ``values`` [N] that halves the weights; the mean of two where these do."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    sides = (np.searchsorted(below, 0.5 * below[-1], side) for side in ("left", "right"))
    return float(np.mean(values[order[[min(i, len(order) - 1) for i in sides]]]))
