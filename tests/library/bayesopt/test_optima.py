"""Draws of functions and their constrained minima."""

from types import SimpleNamespace

import numpy as np
import pytest

from tilted.bayesopt import optima, surrogate
from tilted.kernels import SquaredExponential

UNIT = np.array([[0.0, 1.0]])


def test_draws_have_the_posteriors_moments(make):
    functions, _ = make(3, n=8, dimension=2, noise=0.05)
    Xs = np.random.default_rng(1).random((6, 2))
    rng = np.random.default_rng(0)
    values = np.hstack([optima.paths(functions[1], 400, rng, features=300)(Xs) for _ in range(15)])
    mean, variance = functions[1].predict(Xs)
    np.testing.assert_allclose(values.mean(axis=1), mean, atol=4 * np.sqrt(variance.max() / 6000))
    np.testing.assert_allclose(values.var(axis=1), variance, rtol=0.1)


def test_slopes_are_finite_differences(make):
    functions, _ = make(3, n=8, dimension=2)
    path = optima.paths(functions[0], 3, np.random.default_rng(0))
    x, h = np.array([0.3, 0.6]), 1e-6
    for d in range(2):
        step = h * (np.arange(2) == d)
        expected = (path((x + step)[None]) - path((x - step)[None]))[0] / (2 * h)
        assert [path.slope(x, s)[d] for s in range(3)] == pytest.approx(list(expected), rel=1e-6, abs=1e-7)


def test_minima_are_feasible_and_nowhere_beaten():
    """With certain functions every draw has the same constrained minimum: f = x falls to where c = 0."""
    X = np.linspace(0, 1, 25)[:, None]
    kernel = SquaredExponential(1.0, (0.4,))
    f = surrogate.condition(kernel, 1e-6, X, X[:, 0], X)
    c = surrogate.condition(kernel, 1e-6, X, np.sin(6 * (X[:, 0] - 0.3)), X)
    found = optima.sample(f, [c], UNIT, 8, np.random.default_rng(0), candidates=100)
    assert found.places.shape == (8, 1)
    assert found.infeasible == 0
    np.testing.assert_allclose(found.places, 0.3, atol=0.01)
    free = optima.sample(f, [], UNIT, 3, np.random.default_rng(0), candidates=100)
    np.testing.assert_allclose(free.places, 0.0, atol=1e-9)


@pytest.mark.parametrize("end", [[0.9], [np.nan], [0.02]])
def test_a_search_that_leads_nowhere_is_counted(monkeypatch, end):
    """Ends that are worse, not numbers, or infeasible: the best candidate stays."""
    X = np.linspace(0, 1, 25)[:, None]
    kernel = SquaredExponential(1.0, (0.4,))
    f = surrogate.condition(kernel, 1e-6, X, X[:, 0], X)
    c = surrogate.condition(kernel, 1e-6, X, X[:, 0] - 0.3, X)
    monkeypatch.setattr(optima, "minimize", lambda *_, **__: SimpleNamespace(x=np.array(end)))
    found = optima.sample(f, [c], UNIT, 4, np.random.default_rng(0), candidates=300)
    assert found.unrefined == len(found.places) == 4
    assert np.all((found.places > 0.29) & (found.places < 0.32))


def test_a_search_that_went_too_far_is_tried_again_nearby(monkeypatch):
    X = np.linspace(0, 1, 25)[:, None]
    kernel = SquaredExponential(1.0, (0.4,))
    f = surrogate.condition(kernel, 1e-6, X, X[:, 0], X)
    c = surrogate.condition(kernel, 1e-6, X, X[:, 0] - 0.3, X)
    search = optima.minimize

    def far(*arguments, bounds, **options):
        if np.ptp(bounds) > 0.5:
            return SimpleNamespace(x=np.array([0.02]))
        return search(*arguments, bounds=bounds, **options)

    monkeypatch.setattr(optima, "minimize", far)
    found = optima.sample(f, [c], UNIT, 4, np.random.default_rng(0), candidates=30)
    assert found.unrefined == 0
    np.testing.assert_allclose(found.places, 0.3, atol=2e-3)


def test_draws_without_a_feasible_point_are_counted():
    X = np.linspace(0, 1, 15)[:, None]
    kernel = SquaredExponential(1.0, (0.4,))
    f = surrogate.condition(kernel, 1e-4, X, X[:, 0], X)
    never = surrogate.condition(kernel, 1e-4, X, -np.ones(15), X)
    found = optima.sample(f, [never], UNIT, 3, np.random.default_rng(0), candidates=50)
    assert found.places.shape == (0, 1)
    assert found.drawn == found.infeasible == 12
