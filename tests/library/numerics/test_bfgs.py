"""BFGS: known optima, the formula of its matrix, why it stops, and the conditions of its line search."""

import numpy as np
import pytest

from tilted.numerics import bfgs as module
from tilted.numerics.bfgs import bfgs, inverse_hessian
from tilted.numerics.line_search import DECREASE, SLOPE, Point, Trial, between, line_search

GAIN = 1e-5


@pytest.fixture(params=["matrix", "pairs"])
def model(request, monkeypatch):
    """Both models of the inverse Hessian, whatever the number of parameters."""
    monkeypatch.setattr(module, "DENSE", 10_000 if request.param == "matrix" else 0)
    return request.param


def bowl(n, condition, seed=0):
    """1/2 (x - top)^T A (x - top) with eigenvalues from 1 to ``condition``; its optimum."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A, top = Q * np.geomspace(1.0, condition, n) @ Q.T, rng.standard_normal(n)
    return (lambda x: (0.5 * (x - top) @ A @ (x - top), A @ (x - top))), top


def rosenbrock(x):
    """Chained; 0 at ones."""
    a, b = x[:-1], x[1:]
    slope = np.zeros_like(x)
    slope[:-1] = -2.0 * (1.0 - a) - 400.0 * a * (b - a**2)
    slope[1:] += 200.0 * (b - a**2)
    return float(np.sum((1.0 - a) ** 2 + 100.0 * (b - a**2) ** 2)), slope


@pytest.mark.parametrize(("n", "condition"), [(1, 1.0), (2, 1e3), (40, 1e4)])
def test_the_optimum_of_a_quadratic(n, condition, model):
    objective, top = bowl(n, condition)
    end = bfgs(objective, np.zeros(n), 1000, GAIN)
    left = (2 if model == "matrix" else 10) * GAIN  # pairs forget, and expect too little
    assert end.success and end.value < left
    np.testing.assert_allclose(end.x, top, atol=np.sqrt(2 * left))
    assert end.value == objective(end.x)[0]
    np.testing.assert_array_equal(end.gradient, objective(end.x)[1])


@pytest.mark.parametrize("n", [2, 30])
def test_the_end_of_a_curved_valley(n, model):
    end = bfgs(rosenbrock, np.resize([-1.2, 1.0], n), 2000, 1e-9)
    assert end.success and end.value < 1e-9
    np.testing.assert_allclose(end.x, np.ones(n), atol=1e-4)


def test_the_limit_is_kept_and_told(model):
    for limit in (1, 2, 17):
        calls = []

        def counted(x, calls=calls):
            calls.append(x)
            return rosenbrock(x)

        end = bfgs(counted, np.zeros(10), limit, GAIN)
        assert not end.success and end.evaluations == len(calls) == limit
        assert end.message.startswith(f"limit of {limit} evaluations, expected gain")
    start = rosenbrock(np.zeros(10))[1]  # of -g the quadratic model with H = I expects g^T g / 2
    assert bfgs(rosenbrock, np.zeros(10), 1, GAIN).message.endswith(f" {0.5 * start @ start:.1e}")


def test_a_gradient_of_zero_is_an_end():
    end = bfgs(bowl(3, 10.0)[0], bowl(3, 10.0)[1], 100, GAIN)
    assert end.success and end.evaluations == 1 and end.message == "the gradient is zero"


def test_higher_wherever_one_goes_is_no_convergence(model):
    """A gradient that is wrong."""
    end = bfgs(lambda x: (float(np.any(x)), -np.ones_like(x)), np.zeros(40), 500, GAIN)
    assert not end.success and end.message == "line search found no better point"


def test_walls_are_stepped_back_from(model):
    objective, top = bowl(5, 100.0)
    walled = []

    def beyond(x):
        if np.linalg.norm(x - top) > 1.01 * np.linalg.norm(top):
            walled.append(x)
            return np.inf, np.zeros_like(x)
        return objective(x)

    monstrous = bfgs(beyond, np.zeros(5), 500, GAIN)
    assert monstrous.success and monstrous.value < GAIN
    assert bfgs(lambda x: beyond(1e3 * x), np.zeros(5), 500, GAIN).value < np.inf and walled


def _dense(pairs):
    """BFGS's H of some (s, y) by the formula, scaled before each update but the first."""
    H = None
    for s, y in pairs:
        if H is None:
            H = s @ y / (y @ y) * np.eye(len(s))
        else:
            flatter = s @ np.linalg.solve(H, s) / (s @ y)
            H = H * (flatter if flatter > 1.0 or flatter < module.OVERSHOT else 1.0)  # [Al-Baali 1998]
        V = np.eye(len(s)) - np.outer(y, s) / (s @ y)
        H = V.T @ H @ V + np.outer(s, s) / (s @ y)  # [Nocedal & Wright 2006, eq. 6.17]
    return H


def _walk(n, number, seed=3):
    """Steps along -H g of a model on a quadratic, with lengths that make it too large and too small."""
    objective, _ = bowl(n, 1e3, seed)
    rng, inverse = np.random.default_rng(seed), inverse_hessian(n)
    x = rng.standard_normal(n)
    at = Point(x, *objective(x))
    step, pairs = inverse.restart(at.gradient), []
    for _ in range(number):
        length = rng.uniform(0.2, 1.5)
        x = at.x + length * step
        end = Point(x, *objective(x))
        pairs.append((end.x - at.x, end.gradient - at.gradient))
        step = inverse.update(at, end, step, length)
        yield pairs, end.gradient, step
        at = end


@pytest.mark.parametrize("overshot", [module.OVERSHOT, 0.5])
def test_the_matrix_is_that_of_the_formula(monkeypatch, overshot):
    monkeypatch.setattr(module, "DENSE", 10)
    monkeypatch.setattr(module, "OVERSHOT", overshot)
    norms = []
    for pairs, g, step in _walk(8, 12):
        H = _dense(pairs)
        np.testing.assert_allclose(step, -H @ g, rtol=1e-8)
        norms.append(np.linalg.norm(H))
    assert np.max(np.diff(norms)) > 0.01 * norms[0]  # it was inflated
    assert overshot < 0.5 or np.min(np.diff(norms)) < -0.1 * norms[0]  # and deflated


@pytest.mark.parametrize("away", [1e-5, 1e-6, 1e-8])
@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4])
def test_a_search_that_starts_at_its_end_has_converged(away, condition):
    """As one that goes on from an earlier one does; there rounding hides all gain before much was learnt."""
    objective, top = bowl(40, condition)
    end = bfgs(lambda x: (1e3 + objective(x)[0], objective(x)[1]), top + away, 2000, GAIN)
    assert end.success and end.value - 1e3 < GAIN and end.evaluations < 500, end


def test_pairs_are_the_formula_from_the_latest_scale_and_forget(monkeypatch):
    monkeypatch.setattr(module, "DENSE", 0)
    monkeypatch.setattr(module, "PAIRS", 4)
    for pairs, g, step in _walk(8, 9):
        s, y = pairs[-1]
        H = s @ y / (y @ y) * np.eye(8)
        for s, y in pairs[-4:]:
            V = np.eye(8) - np.outer(y, s) / (s @ y)
            H = V.T @ H @ V + np.outer(s, s) / (s @ y)
        np.testing.assert_allclose(step, -H @ g, rtol=1e-8)


@pytest.mark.parametrize("first", [1e-4, 0.3, 1.0, 50.0])
@pytest.mark.parametrize("name", ["bowl", "valley", "wave"])
def test_a_line_search_meets_the_strong_wolfe_conditions(first, name):
    wave = lambda x: (float(np.sum(0.1 * x**2 - np.cos(3.0 * x))), 0.2 * x + 3.0 * np.sin(3.0 * x))  # noqa: E731
    objective = {"bowl": bowl(4, 1e3)[0], "valley": rosenbrock, "wave": wave}[name]
    at = Point(np.full(4, 0.4), *objective(np.full(4, 0.4)))
    end, length = line_search(objective, at, -at.gradient, first, 100)
    down = -at.gradient @ at.gradient
    assert length > 0
    np.testing.assert_allclose(end.x, at.x - length * at.gradient)
    assert end.value <= at.value + DECREASE * length * down
    assert abs(end.gradient @ at.gradient) <= SLOPE * abs(down)


@pytest.mark.parametrize(("ends", "least"), [((0, 2), 1.0), ((2, 0), 1.0), ((0, 100), 10.0), ((1.5, 0), 1.0)])
def test_the_next_trial_is_where_the_cubic_is_least_and_not_too_near_an_end(ends, least):
    low, high = (Trial(x, Point(np.zeros(1), x**3 - 3.0 * x, np.zeros(1)), 3.0 * x**2 - 3.0) for x in ends)
    assert between(low, high) == pytest.approx(least)


def test_the_next_trial_is_a_fifth_of_the_way_to_a_wall_and_halfway_along_a_cubic_that_only_falls():
    point = Point(np.zeros(1), 0.0, np.zeros(1))
    low = Trial(1.0, point, -1.0)
    assert between(low, Trial(6.0, point._replace(value=np.inf), np.nan)) == pytest.approx(2.0)
    assert between(low, Trial(3.0, point._replace(value=-1.5), -1.0)) == pytest.approx(2.0)
