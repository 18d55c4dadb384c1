"""Scores of predictions: arrays in, floats out."""

from __future__ import annotations

import numpy as np


def negative_log_likelihood(log_density) -> float:
    """Mean negative test log-likelihood in nats [Zhang 2020, section 6.1], from log densities [N*]."""
    return -float(np.mean(log_density))


def mean_error(errors) -> float:
    """Mean of the pointwise errors [N*]: wrong labels, or absolute error of the predicted count."""
    return float(np.mean(errors))
