"""The dense posterior beside plain algebra in 50 digits, and that of linear weights."""

import mpmath
import numpy as np
import pytest

from tilted.gaussian import Sites
from tilted.kernels import SquaredExponential
from tilted.kernels.linear import Linear
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense
from tilted.posteriors.linear import weights


def by_algebra(K, tau, nu):
    """Mean and variance of prior times sites: (K^-1 + T)^-1 in 50 digits."""
    with mpmath.workdps(50):
        covariance = mpmath.inverse(mpmath.inverse(mpmath.matrix(K.tolist())) + mpmath.diag(tau.tolist()))
        mean = covariance * mpmath.matrix(nu.tolist())
        return [
            np.array([float(x) for x in part]) for part in (mean, [covariance[i, i] for i in range(len(K))])
        ]


@pytest.mark.parametrize("weak", [1e-4, 1e-7, 1e-10, 0.0])
def test_variances_of_weak_sites_are_not_lost(weak):
    """1 - (B^-1)_ii is the site's share of the precision: at 1e-7 it has nine digits left, not sixteen."""
    K = SquaredExponential(1.0, 0.8).matrix(np.linspace(0.0, 3.0, 5)[:, None])
    tau, nu = np.array([2.0, weak, 5.0, weak / 3.0, 0.5]), np.array([1.0, 0.2 * weak, -2.0, 0.0, 0.3])
    found = Dense.build(K).condition(Sites(tau, nu)).marginals
    mean, variance = by_algebra(K, tau, nu)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-12)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-11)


@pytest.mark.parametrize("precision", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("lengthscale", [0.02, 0.3, 1.0])
def test_predictions_beside_strong_and_negative_sites(lengthscale, precision):
    """Variances and covariances at 50 digits: T - T Sigma T has lost those of precision squared."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(20))
    xs = np.array([0.1, 0.5, 1.3, x[0], x[3], x[1] + 1e-3])
    kernel = SquaredExponential(1.0, lengthscale)
    X, Xs = x[:, None], xs[:, None]
    K, cross, prior = kernel.matrix(X), kernel.matrix(Xs, X), kernel.matrix(Xs)
    tau = precision * np.exp(rng.standard_normal(20))
    tau[::3], tau[4] = -0.05, 0.0
    state = Dense.build(K).condition(Sites(tau, np.ones(20)))
    with mpmath.workdps(50):
        T, k, c = (mpmath.matrix(a.tolist()) for a in (np.diag(tau), K, cross))
        true = mpmath.matrix(prior.tolist()) - c * T * mpmath.inverse(mpmath.eye(20) + k * T) * c.T
    true = np.array(true.tolist(), dtype=float)
    np.testing.assert_allclose(state.covariance(cross, prior), true, rtol=1e-9, atol=1e-16 * precision)
    variance = state.predict(cross, 1.0)[1]
    np.testing.assert_allclose(variance, np.diagonal(true), rtol=1e-9, atol=1e-16 * precision)


@pytest.mark.parametrize("tau", [[-0.2, -0.1, -0.3], [-0.2, 0.0, 3.0], [0.0, -0.1, 0.0]])
def test_predictions_where_few_sites_are_positive(tau):
    """None or one; beside a mean."""
    x = np.array([[0.0], [0.7], [1.5]])
    kernel, new = SquaredExponential(1.0, 0.8), np.array([[0.3], [4.0]])
    state = Dense.build(kernel.matrix(x), 0.5).condition(Sites(np.array(tau), np.array([0.1, -0.2, 0.3])))
    cross, prior = kernel.matrix(new, x), kernel.matrix(new)
    true = prior - cross @ np.diag(tau) @ np.linalg.solve(np.eye(3) + kernel.matrix(x) * tau, cross.T)
    np.testing.assert_allclose(state.covariance(cross, prior), true, atol=1e-14)
    np.testing.assert_allclose(state.predict(cross, 1.0)[1], np.diagonal(true), atol=1e-14)


@pytest.fixture
def inputs():
    rng = np.random.default_rng(3)
    return rng.normal(size=(12, 3)), rng.normal(size=(5, 3))


def weights_of(variance, X, sites):
    """Mean and covariance where w ~ N(0, variance I)."""
    mean, covariance = weights(np.sqrt(variance) * X, sites)
    return np.sqrt(variance) * mean, variance * covariance


@pytest.mark.parametrize("negative", [False, True])
def test_weights_predict_as_the_dense_posterior(negative, inputs):
    X, Xs = inputs
    rng = np.random.default_rng(5)
    tau = rng.uniform(0.1, 2.0, 12)
    if negative:
        tau[3] = -0.1
    sites, kernel = Sites(tau, rng.normal(size=12)), Linear(1.3)
    mean, covariance = weights_of(1.3, X, sites)
    precision = np.eye(3) / 1.3 + (X.T * tau) @ X
    np.testing.assert_allclose(covariance, np.linalg.inv(precision), rtol=1e-10)
    np.testing.assert_allclose(mean, np.linalg.solve(precision, X.T @ sites.nu), rtol=1e-10)
    prior = Dense.build(kernel.matrix(X))
    found = prior.condition(sites).predict(kernel.matrix(Xs, X), kernel.diagonal(Xs))
    np.testing.assert_allclose(found[0], Xs @ mean, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found[1], np.einsum("nd,de,ne->n", Xs, covariance, Xs), rtol=1e-9)


def test_improper_weights_and_wrong_variances_are_refused(inputs):
    with pytest.raises(NotPositiveDefinite):
        weights(inputs[0], Sites(np.full(12, -1.0), np.zeros(12)))
    for variance in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="finite and positive"):
            Linear(variance)
