"""Proposals and what they maximise; hyperparameters."""

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from tests.helpers import differences
from tilted.bayesopt import hyperparameters, rules, surrogate

BOX = np.array([[0.0, 1.0], [0.0, 1.0]])


@pytest.mark.parametrize("t", [-200.0, -20.1, -19.9, -8.0, -4.9, -1.0, 0.0, 3.0, 50.0])
def test_improvement_to_its_last_digits(t, make):
    """log(z Phi(z) + phi(z)) at 60 digits; far below, the sum cancels."""
    functions, _ = make(3, n=6, dimension=2)
    Xs = np.random.default_rng(0).random((1, 2))
    mean, variance = functions[0].predict(Xs)
    best = float(mean[0] + t * np.sqrt(variance[0]))
    (value,) = rules.log_improvement(functions[0], best, Xs)
    with mpmath.workdps(60):
        z = (mpmath.mpf(best) - mpmath.mpf(mean[0])) / mpmath.sqrt(mpmath.mpf(variance[0]))
        tail = mpmath.erfc(-z / mpmath.sqrt(2)) / 2  # no cancellation, however small
        true = mpmath.log(z * tail + mpmath.npdf(z)) + mpmath.log(mpmath.mpf(variance[0])) / 2
    assert value == pytest.approx(float(true), rel=1e-12, abs=1e-12)


def test_feasibility_multiplies(make):
    functions, _ = make(4, n=6, dimension=2, constraints=2)
    Xs = np.random.default_rng(0).random((5, 2))
    parts = [norm.logcdf(m / np.sqrt(v)) for m, v in (c.predict(Xs) for c in functions[1:])]
    np.testing.assert_allclose(rules.log_feasible(functions, Xs), sum(parts), rtol=1e-10)
    np.testing.assert_array_equal(rules.log_feasible(functions[:1], Xs), 0.0)


@pytest.mark.parametrize("peak", [(0.31, 0.77), (1.0, 0.5), (0.0, 0.0)])
def test_the_highest_place_is_found_inside_and_at_the_walls(peak):
    def value(X):
        return -np.sum((X - peak) ** 2, axis=1)

    place, top = rules.highest(value, BOX, np.random.default_rng(0), 200)
    np.testing.assert_allclose(place, peak, atol=1e-5)
    assert top == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("confidence", [0.8, 0.975])
def test_a_recommendation_is_as_near_to_the_boundary_as_its_confidence_allows(confidence):
    """f falls towards the boundary of what is feasible, which is not known exactly."""
    rng = np.random.default_rng(0)
    X = np.linspace(0, 1, 12)[:, None]
    kernel = hyperparameters.SquaredExponential(1.0, (0.5,))
    f = surrogate.condition(kernel, 1e-4, X, X[:, 0], X)
    c = surrogate.condition(kernel, 0.05, X, X[:, 0] - 0.4 + 0.1 * rng.standard_normal(12), X)
    settings = rules.Settings(candidates=300, confidence=confidence)
    place, confident = rules.recommend([f, c], rng, settings)
    mean, variance = c.predict(place[None])
    assert confident
    assert norm.cdf(mean[0] / np.sqrt(variance[0])) == pytest.approx(confidence, abs=1e-3)


def test_a_place_that_candidates_missed_is_recommended_with_confidence():
    """Feasible with confidence only in a small part, where no candidate falls; f falls across it."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 4))
    kernel = hyperparameters.SquaredExponential(1.0, (1.0,) * 4)
    f = surrogate.condition(kernel, 1e-4, X, X[:, 0], X)
    c = surrogate.condition(kernel, 1e-6, X, 0.1 - 10.0 * np.sum((X - 0.55) ** 2, axis=1), X)
    settings = rules.Settings(candidates=300)

    def probability(place):
        mean, variance = c.predict(place[None])
        return norm.cdf(mean[0] / np.sqrt(variance[0]))

    assert not any(probability(x) >= 0.975 for x in X)
    place, confident = rules.recommend([f, c], np.random.default_rng(3), settings)
    assert confident and probability(place) >= 0.975 - 1e-9
    grid = [x for x in 0.55 + 0.2 * (rng.random((1000, 4)) - 0.5) if probability(x) >= 0.975]
    assert len(grid) > 100
    assert f.predict(place[None])[0][0] <= f.predict(np.array(grid))[0].min() + 1e-3


def test_hyperparameters_are_found_again():
    rng = np.random.default_rng(0)
    X = rng.random((80, 2))
    kernel = hyperparameters.SquaredExponential(1.0, (0.2, 0.8))
    K = kernel.matrix(X) + 1e-2 * np.eye(80)
    y = 5.0 * np.linalg.cholesky(K) @ rng.standard_normal(80)
    data = hyperparameters.scaled(X, y)
    learned = hyperparameters.learn(X, data)
    assert learned.outcome.success
    np.testing.assert_allclose(learned.kernel.lengthscale, (0.2, 0.8), rtol=0.4)
    assert learned.noise * data.scale**2 == pytest.approx(25 * 1e-2, rel=0.6)


def test_scaling_keeps_signs_and_survives_constants():
    X = np.random.default_rng(0).random((3, 2))
    data = hyperparameters.scaled(X, np.array([-2.0, 4.0, 1.0]))
    np.testing.assert_array_equal(np.sign(data.y), [-1, 1, 1])
    assert np.std(data.y) == pytest.approx(1.0)
    assert hyperparameters.scaled(X, np.full(3, 7.0)).scale == 7.0
    assert hyperparameters.scaled(X, np.zeros(3)).scale == 1.0
    learned = hyperparameters.learn(X, hyperparameters.scaled(X, np.full(3, 7.0)))
    assert np.isfinite(learned.noise)


def test_the_searchs_gradient_is_its_own():
    """The slope of evidence and prior against central differences."""
    caught = {}

    def catch(objective, x0, *rest, **more):
        caught["objective"], caught["start"] = objective, x0
        return original(objective, x0, *rest, **more)

    original = hyperparameters.lbfgs
    hyperparameters.lbfgs = catch
    try:
        rng = np.random.default_rng(0)
        X = rng.random((10, 2))
        hyperparameters.learn(X, hyperparameters.scaled(X, rng.standard_normal(10)))
    finally:
        hyperparameters.lbfgs = original
    f, at = caught["objective"], caught["start"] + [0.1, 0.1, 0.2, 5.0]
    np.testing.assert_allclose(f(at)[1], differences(lambda x: f(x)[0], at), rtol=1e-6, atol=1e-6)
