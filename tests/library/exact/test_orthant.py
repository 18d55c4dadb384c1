"""Weighted draws of probit posteriors against orthant probabilities, closed forms and draws of the prior."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from tilted.exact.orthant import Orthant, sample
from tilted.kernels import SquaredExponential
from tilted.likelihoods.probit import Probit
from tilted.numerics.linalg import NotPositiveDefinite

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 2))
Y = np.where(np.sin(2.0 * X[:, 0]) + 0.3 * RNG.normal(size=40) > 0, 1.0, -1.0)
K = SquaredExponential(4.0, 0.8).matrix(X)


def three_dimensional(K, y):
    """log P of an orthant of N(0, Y (K + I) Y) [Sheppard 1899]."""
    A = np.outer(y, y) * (K + np.eye(3))
    sd = np.sqrt(np.diagonal(A))
    return np.log(0.125 + np.sum(np.arcsin((A / np.outer(sd, sd))[np.triu_indices(3, 1)])) / (4.0 * np.pi))


@pytest.mark.parametrize("variance", [0.1, 3.0, 1e5])
def test_evidence_of_three_data_is_an_orthant_probability(variance):
    K = SquaredExponential(variance, 1.0).matrix(X[:3])
    for y in ([1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]):
        draws = Orthant.build(K, np.array(y)).draw(np.random.default_rng(0), 100_000)
        assert 0 < draws.standard_error < 0.01
        assert abs(draws.log_evidence - three_dimensional(K, np.array(y))) < 4.0 * draws.standard_error


def test_one_datum_is_in_closed_form():
    """Also far out, where the label is against a prior mean of thirty."""
    v, mean = 2.5, -30.0
    made, draws = sample(np.array([[v]]), np.ones(1), mean, np.random.default_rng(0), 1e5, 100_000)
    assert draws.log_evidence == pytest.approx(log_ndtr(mean / np.sqrt(1.0 + v)), abs=1e-9)
    tilted = Probit().tilted(np.ones(1), np.array([mean]), np.array([v]))
    half = made.half(np.array([[v]]))
    centres = mean + half[0] * draws.z[0]
    assert np.mean(centres) == pytest.approx(tilted.mean[0], abs=1e-3)
    assert v - half[0, 0] ** 2 + np.var(centres) == pytest.approx(tilted.variance[0], rel=1e-3)


def test_moments_are_those_of_draws_of_the_prior():
    """Weighed by the likelihood itself, for a mean that is not zero."""
    rng, n, mean = np.random.default_rng(1), 2_000_000, 0.7
    some, y = K[:5, :5], Y[:5]
    f = mean + np.linalg.cholesky(some) @ rng.standard_normal((5, n))
    log_w = np.sum(log_ndtr(y[:, None] * f), axis=0)
    w = np.exp(log_w)
    made, draws = sample(some, y, mean, rng, 1e6, 400_000)
    assert draws.log_evidence == pytest.approx(np.log(np.mean(w)), abs=5e-3)
    first = f @ w / np.sum(w)
    half = made.half(some)
    centres = mean + half.T @ draws.z
    means = centres @ draws.weights
    np.testing.assert_allclose(means, first, atol=0.01)
    left = np.diagonal(some) - np.sum(half**2, axis=0)
    variances = left + (centres - means[:, None]) ** 2 @ draws.weights
    np.testing.assert_allclose(variances, (f - first[:, None]) ** 2 @ w / np.sum(w), rtol=0.01)


@pytest.mark.parametrize("variance", [1.0, 1e2, 1e4])
def test_no_weight_is_above_the_bound(variance):
    """And it is one that the weights come near to, which another tilt has not."""
    made = Orthant.build(variance * K, Y)
    draws = made.draw(np.random.default_rng(2), 20_000)
    assert np.isfinite(made.log_bound)
    assert np.max(draws.log_weights) <= made.log_bound
    assert draws.log_evidence > made.log_bound - 12.0


def test_rows_may_be_equal_and_contradict_each_other():
    """Equal rows make the prior singular, contradictory ones keep f small."""
    twice, labels = np.concatenate([X[:6], X[:6]]), np.concatenate([Y[:6], -Y[:6]])
    prior = SquaredExponential(1e4, 1.0).matrix(twice)
    made, draws = sample(prior, labels, 0.0, np.random.default_rng(4), 5_000, 100_000)
    assert draws.effective > 5_000
    centres = made.half(prior).T @ draws.z
    np.testing.assert_allclose(centres[:6], centres[6:], atol=1e-6)
    assert np.all(np.abs(centres @ draws.weights) < 0.1)


def test_a_prior_that_is_none_is_refused():
    with pytest.raises(NotPositiveDefinite):
        Orthant.build(np.array([[1.0, 5.0], [5.0, 1.0]]), np.ones(2))
