"""Draws of latent functions and targets have the moments of the predictions."""

import numpy as np
import pytest

import tilted
from tilted.estimators import (
    GPClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPRegressor,
)

N = 25
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
F = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
LABELS = np.where(F + 0.3 * RNG.normal(size=N) > 0, "yes", "no")
THREE = np.digitize(F + 0.2 * RNG.normal(size=N), [-0.4, 0.4])
REALS, COUNTS = F + 0.1 * RNG.normal(size=N), RNG.poisson(np.exp(F))
FIXED = {"kernel": tilted.SquaredExponential(2.0, 1.5), "optimise": None}


@pytest.mark.parametrize(
    "model, y",
    [
        (GPRegressor(**FIXED), REALS),
        (GPRegressor(likelihood="laplace", **FIXED), REALS),
        (GPRegressor(likelihood=tilted.likelihoods.get("student-t", scale=0.2, df=30.0), **FIXED), REALS),
        (GPPoissonRegressor(**FIXED), COUNTS),
        (GPPoissonRegressor(likelihood="poisson-exp", **FIXED), COUNTS),
        (GPPoissonRegressor(likelihood="negative-binomial", **FIXED), COUNTS),
        (SparseGPRegressor(n_pseudo=5, **FIXED), REALS),
    ],
)
def test_draws_have_the_moments_of_predictions(model, y):
    """Means and standard deviations of 20,000 draws of targets, and covariances of f."""
    model.fit(X, y)
    at, number = X[:3], 20_000
    draws = model.sample_y(at, number, random_state=1)
    mean, std = model.predict(at, return_std=True)
    assert draws.shape == (3, number)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=4.0 * std.max() / np.sqrt(number))
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)
    np.testing.assert_array_equal(draws, model.sample_y(at, number, random_state=1))
    assert np.any(draws != model.sample_y(at, number, random_state=2))
    latent, (_, covariance) = model.sample_latent(at, number), model.predict_latent(at, return_cov=True)
    np.testing.assert_allclose(np.cov(latent), covariance, atol=0.05 * covariance.max())


def test_draws_of_classes():
    two, three = GPClassifier(**FIXED).fit(X, LABELS), GPClassifier(**FIXED).fit(X, THREE)
    assert two.sample_latent(X, 2).shape == (N, 2) and three.sample_latent(X[:4], 5).shape == (4, 3, 5)
    many = three.sample_latent(X[:4], 4000)
    mean, std = three.predict_latent(X[:4], return_std=True)
    np.testing.assert_allclose(many.mean(axis=2), mean, atol=5.0 * std.max() / np.sqrt(4000))
    np.testing.assert_allclose(many.std(axis=2), std, rtol=0.1)
    with pytest.raises(ValueError, match="n_samples"):
        two.sample_latent(X, 0)


@pytest.mark.parametrize("columns, rows, slope, noise", [(1, 30, 6.0, 1e-3), (3, 100, 0.5, 1e-4)])
def test_draws_of_a_nearly_exact_regression(columns, rows, slope, noise):
    """Rounding has the size of the prior variance, which is a million times the posterior's."""
    rng = np.random.default_rng(0)
    inputs, at = (np.linspace(0, 1, number)[:, None] for number in (rows, 100))
    if columns == 3:
        inputs, at = rng.uniform(size=(rows, 3)), rng.uniform(size=(100, 3))
    y = np.sin(slope * inputs.sum(axis=1)) + noise * rng.normal(size=rows)
    model = GPRegressor().fit(inputs, y)
    for draw, predict in ((model.sample_latent, model.predict_latent), (model.sample_y, model.predict)):
        mean, std = predict(at, return_std=True)
        draws = draw(at, 4000)
        np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.06)
        assert np.max(np.abs(draws.mean(axis=1) - mean) / std) < 5.0 / np.sqrt(4000)
