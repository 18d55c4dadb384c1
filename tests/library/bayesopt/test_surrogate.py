"""The surrogate against the textbook's formulas; draws of functions and their constrained minima."""

import numpy as np
import pytest

from tilted.bayesopt import optima, surrogate
from tilted.kernels import SquaredExponential

KERNEL = SquaredExponential(1.7, (0.3, 0.5))


def textbook(X, y, noise, mean, Xs):
    """[Rasmussen & Williams 2006, eqs 2.22 to 2.24]."""
    inverse = np.linalg.inv(KERNEL.matrix(X) + noise * np.eye(len(X)))
    cross = KERNEL.matrix(Xs, X)
    return mean + cross @ inverse @ (y - mean), KERNEL.matrix(Xs) - cross @ inverse @ cross.T


@pytest.mark.parametrize("noise", [0.1, 1e-4])
def test_mean_and_joint_covariance(noise):
    rng = np.random.default_rng(1)
    points, Xs = rng.random((12, 2)), rng.random((5, 2))
    X = np.vstack([points[:7], points[2:4]])  # some points are others' observations, some come twice
    y = rng.standard_normal(9)
    found = surrogate.condition(KERNEL, noise, X, y, points, mean=0.3)
    everywhere = np.vstack([points, Xs])
    mean, covariance = textbook(X, y, noise, 0.3, everywhere)
    rows = found.rows(everywhere)
    np.testing.assert_allclose(rows.mean, mean, atol=1e-8)
    joint = rows.root @ rows.root.T
    np.testing.assert_allclose(joint[:12, :], covariance[:12, :], atol=1e-9)
    np.testing.assert_allclose(found.predict(Xs)[1], np.diagonal(covariance)[12:], atol=1e-9)
    np.testing.assert_allclose(rows.rest[:12], 0.0, atol=1e-9)


def test_smooth_kernels_need_no_jitter():
    X = np.linspace(0, 1, 60)[:, None]
    found = surrogate.condition(SquaredExponential(1.0, (1.0,)), 1e-4, X, np.sin(3 * X[:, 0]))
    assert found.factor.shape[0] < 30
    mean, variance = found.predict(X)
    np.testing.assert_allclose(mean, np.sin(3 * X[:, 0]), atol=0.02)
    assert np.all(variance > 0)


def test_no_data_is_the_prior():
    points = np.random.default_rng(0).random((4, 2))
    found = surrogate.condition(KERNEL, 0.1, np.empty((0, 2)), np.empty(0), points, mean=2.0)
    mean, variance = found.predict(points + 0.01)
    np.testing.assert_allclose(mean, 2.0)
    np.testing.assert_allclose(variance, KERNEL.variance)


def test_bad_data_is_refused():
    X, y = np.zeros((1, 2)), np.zeros(1)
    with pytest.raises(ValueError, match="noise must be positive"):
        surrogate.condition(KERNEL, 0.0, X, y)
    with pytest.raises(ValueError, match="finite"):
        surrogate.condition(KERNEL, 0.1, X, np.array([np.nan]))
    with pytest.raises(ValueError, match="not one of the points"):
        surrogate.condition(KERNEL, 0.1, X, y, X + 1.0)
    with pytest.raises(ValueError, match=r"y \[n\]"):
        surrogate.condition(KERNEL, 0.1, X, np.zeros(2))
    with pytest.raises(ArithmeticError, match="a variance of"):
        surrogate.positive_part(np.array([-1e-3]), 1.0)


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


def test_draws_without_a_feasible_point_are_counted():
    X = np.linspace(0, 1, 15)[:, None]
    kernel = SquaredExponential(1.0, (0.4,))
    f = surrogate.condition(kernel, 1e-4, X, X[:, 0], X)
    never = surrogate.condition(kernel, 1e-4, X, -np.ones(15), X)
    found = optima.sample(f, [never], UNIT, 3, np.random.default_rng(0), candidates=50)
    assert found.places.shape == (0, 1)
    assert found.drawn == found.infeasible == 12
