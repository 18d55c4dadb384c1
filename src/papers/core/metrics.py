"""Scores of predictions: arrays in, floats out."""

from __future__ import annotations

import numpy as np


def negative_log_likelihood(log_density: np.ndarray) -> float:
    """Return the mean negative test log-likelihood (nats) of log densities [N*] [Zhang 2020, section 6.1]."""
    return -float(np.mean(log_density))


def mean_error(errors: np.ndarray) -> float:
    """Return the mean of the pointwise errors [N*]: wrong labels, or absolute errors of predicted counts."""
    return float(np.mean(errors))


def standardised_squared_error(y: np.ndarray, mean: np.ndarray) -> float:
    """Return SMSE: mean squared error over the targets' variance [Rasmussen & Williams 2006, section 2.5].

    Raises
    ------
    ArithmeticError
        The targets, arrays [N*] with the predictive means, are all equal.
    """
    y = np.asarray(y, dtype=float)
    if np.ptp(y) == 0.0:
        raise ArithmeticError(f"the {len(y)} test targets are equal: no error can be standardised by them")
    return float(np.mean((y - mean) ** 2) / np.var(y))


def standardised_log_loss(
    y: np.ndarray, mean: np.ndarray, variance: np.ndarray, y_train: np.ndarray
) -> float:
    """Return SMLL: mean log loss minus that of a Gaussian with the training targets' moments [section 2.5].

    Parameters
    ----------
    y, mean, variance : arrays [N*]
        Test targets, and the predictive mean and variance of y (noise included).
    y_train : array [N]

    Returns
    -------
    float
        In nats; below zero is better than the trivial prediction.

    Raises
    ------
    ArithmeticError
        The training targets are all equal.
    """
    if np.ptp(y_train) == 0.0:
        raise ArithmeticError(f"the {len(y_train)} training targets are equal: no trivial prediction")
    trivial = np.mean(y_train), np.var(y_train)
    return float(np.mean(_log_loss(y, mean, variance) - _log_loss(y, *trivial)))


def _log_loss(y: np.ndarray, mean: float | np.ndarray, variance: float | np.ndarray) -> np.ndarray:
    return 0.5 * (np.log(2.0 * np.pi * variance) + (y - mean) ** 2 / variance)
