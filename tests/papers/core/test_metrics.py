"""Scores, by hand."""

import numpy as np
import pytest
from scipy.stats import norm

from papers.core import metrics


def test_standardised_squared_error():
    y = np.array([1.0, 2.0, 3.0])
    assert metrics.standardised_squared_error(y, y) == 0.0
    assert metrics.standardised_squared_error(y, np.full(3, 2.0)) == pytest.approx(1.0)
    assert metrics.standardised_squared_error(y, y + 1.0) == pytest.approx(1.5)


def test_equal_targets_standardise_nothing():
    equal, y = np.full(3, 2.5), np.arange(3.0)
    with pytest.raises(ArithmeticError, match="the 3 test targets are equal"):
        metrics.standardised_squared_error(equal, y)
    with pytest.raises(ArithmeticError, match="the 3 training targets are equal"):
        metrics.standardised_log_loss(y, y, np.ones(3), equal)


def test_standardised_log_loss():
    rng = np.random.default_rng(0)
    y, train = rng.standard_normal(20), 2 + 3 * rng.standard_normal(30)
    trivial = np.full(20, train.mean()), np.full(20, train.var())
    assert metrics.standardised_log_loss(y, *trivial, train) == pytest.approx(0.0, abs=1e-14)
    mean, variance = rng.standard_normal(20), rng.uniform(0.5, 2, 20)
    expected = np.mean(norm(train.mean(), train.std()).logpdf(y) - norm(mean, np.sqrt(variance)).logpdf(y))
    assert metrics.standardised_log_loss(y, mean, variance, train) == pytest.approx(expected)
