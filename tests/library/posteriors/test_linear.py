"""The linear kernel, and the way from sites on f = X w to the posterior of w."""

import numpy as np
import pytest

import tilted
from tilted.gaussian import Sites
from tilted.kernels.linear import Linear
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense
from tilted.posteriors.linear import weights


@pytest.fixture
def inputs():
    rng = np.random.default_rng(3)
    return rng.normal(size=(12, 3)), rng.normal(size=(5, 3))


def weights_of(variance, X, sites):
    """Mean and covariance where w ~ N(0, variance I)."""
    mean, covariance = weights(np.sqrt(variance) * X, sites)
    return np.sqrt(variance) * mean, variance * covariance


@pytest.mark.parametrize("variance", [0.3, 2.0])
def test_matrices_are_inner_products(variance, inputs):
    X, Xs = inputs
    kernel = Linear(variance)
    expected = [[variance * sum(a * b for a, b in zip(x, z, strict=True)) for z in Xs] for x in X]
    np.testing.assert_allclose(kernel.matrix(X, Xs), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel.matrix(X)), rtol=1e-13)
    np.testing.assert_array_equal(kernel.matrix(X), kernel.matrix(X, None, kernel.distances(X)))
    assert kernel.with_parameters(np.array([7.0])) == Linear(7.0) and kernel.parameters() == [variance]


def test_the_gradient_is_that_of_finite_differences(inputs):
    X = inputs[0]
    G = np.random.default_rng(4).normal(size=(12, 12))
    kernel, h = Linear(0.7), 1e-6
    up, down = (np.sum(G * Linear(0.7 + s * h).matrix(X)) for s in (1, -1))
    found = kernel.contract_gradient(X, kernel.matrix(X), G)
    assert found == pytest.approx([(up - down) / (2 * h)], rel=1e-7)


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


@pytest.mark.parametrize("optimise", [False, True])
def test_it_is_a_kernel_to_fit_with(optimise, inputs):
    X, Xs = inputs
    y = np.sign(X @ [1.0, -1.0, 0.5] + 0.8 * np.random.default_rng(6).normal(size=12))
    found = tilted.fit(X, y, kernel=Linear(1.3), optimise=optimise)
    assert found.status.converged and (found.kernel.variance != 1.3) == optimise
    mean, covariance = weights_of(found.kernel.variance, X, found.inference.sites)
    predicted = found.predict_latent(Xs)
    np.testing.assert_allclose(predicted[0], Xs @ mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(predicted[1], np.einsum("nd,de,ne->n", Xs, covariance, Xs), rtol=1e-8)
    if optimise:
        near = [
            tilted.fit(X, y, kernel=Linear(found.kernel.variance * f), optimise=False) for f in (0.9, 1.1)
        ]
        assert found.log_evidence > max(fit.log_evidence for fit in near)
