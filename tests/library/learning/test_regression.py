"""Searches of sparse regressions."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tests.helpers import differences
from tilted.kernels import SquaredExponential
from tilted.learning.regression import maximise
from tilted.learning.search import Search
from tilted.learning.stages import COST
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors import collapsed
from tilted.posteriors.collapsed import Regression, condition
from tilted.posteriors.full import LOST, FullRegression


@pytest.fixture(scope="module")
def sines():
    """A noisy sine of one input: X [80, 1], y, Z [6, 1]."""
    rng = np.random.default_rng(2)
    X = np.sort(rng.uniform(0, 6, 80))[:, None]
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(80), np.linspace(0.5, 5.5, 6)[:, None]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_a_search_finds_a_stationary_point(alpha, sines):
    X, y, Z = sines
    problem, kernel = Regression(X, y, alpha, jitter=1e-6), SquaredExponential(1.0, 1.0)
    found = maximise(problem, kernel, Z, 0.5)
    assert found.status.converged
    assert found.status.residual < 1e-2
    assert found.state.log_evidence > condition(problem, kernel, Z, 0.5).log_evidence + 20
    again = condition(problem, found.state.kernel, found.state.Z, found.state.noise)
    assert again.log_evidence == pytest.approx(found.state.log_evidence, abs=1e-9)
    mean, variance = found.state.predict(X)
    assert np.sqrt(np.mean((mean - np.sin(2 * X[:, 0])) ** 2)) < 0.1
    assert np.all(variance > 0)


@pytest.mark.parametrize("alpha", [0.0, pytest.param(1.0, marks=pytest.mark.slow)])
def test_bfgs_reaches_the_energy_of_l_bfgs_in_half_its_evaluations(alpha):
    """Where both end in the same optimum, as here: of many they may find different ones."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-2.0, 2.0, (100, 4))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.standard_normal(100)
    problem, kernel = Regression(X, y / y.std(), alpha, jitter=1e-6), SquaredExponential(1.0, (2.0,) * 4)
    pairs, full = (maximise(problem, kernel, X[:8], 0.1, Search(method=m)) for m in ("lbfgs", "bfgs"))
    assert full.status.converged and "expected gain" in full.status.message
    assert full.state.log_evidence > pairs.state.log_evidence - 1e-4
    assert full.status.evaluations <= pairs.status.evaluations / 2


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_is_a_wall_and_at_the_first_an_error(bad, sines, monkeypatch):
    X, y, Z = sines
    real, calls = collapsed.energy_and_gradient, []

    def overflowing(at):
        def evaluate(*arguments):
            calls.append(1)
            state, gradient = real(*arguments)
            return state, replace(gradient, noise=bad) if len(calls) == at else gradient

        return evaluate

    monkeypatch.setattr(collapsed, "energy_and_gradient", overflowing(3))
    found = maximise(Regression(X, y), SquaredExponential(), Z, 0.5, Search(move_pseudo_inputs=False))
    assert "1 evaluations without an energy (the energy or its gradient is not" in found.status.message
    assert found.status.converged
    calls.clear()
    monkeypatch.setattr(collapsed, "energy_and_gradient", overflowing(1))
    with pytest.raises(ValueError, match="its gradient is not finite"):
        maximise(Regression(X, y), SquaredExponential(), Z, 0.5)


def test_exact_regression_refuses_a_noise_that_rounding_hides():
    """Where it does not refuse, the evidence has its digits: against 50-digit arithmetic."""
    X = np.linspace(0, 3, 25)[:, None]
    y, none = np.sin(2 * X[:, 0]), np.zeros((0, 1))
    problem, kernel = FullRegression(X, y), SquaredExponential(1.0, 1.0)
    smallest = LOST * 25 * np.finfo(float).eps
    with pytest.raises(NotPositiveDefinite, match="lost to rounding"):
        problem.evaluate(kernel, none, 0.9 * smallest)
    found = problem.evaluate(kernel, none, 1.1 * smallest)[0].log_evidence
    with mpmath.workdps(50):
        K = mpmath.matrix(25, 25)
        for i, j in np.ndindex(25, 25):
            K[i, j] = mpmath.exp(-((mpmath.mpf(X[i, 0]) - mpmath.mpf(X[j, 0])) ** 2) / 2)
            K[i, j] += 1.1 * smallest if i == j else 0
        L, target = mpmath.cholesky(K), mpmath.matrix(list(y))
        quadratic = (target.T * mpmath.lu_solve(K, target))[0]
        log_det = 2 * sum(mpmath.log(L[i, i]) for i in range(25))
        exact = float(-(quadratic + log_det + 25 * mpmath.log(2 * mpmath.pi)) / 2)
    assert found == pytest.approx(exact, abs=1e-2)
    search = maximise(problem, kernel, none, 0.1)
    assert search.state.noise >= LOST * 25 * np.finfo(float).eps * search.state.kernel.variance
    assert "lost to rounding" in search.status.message


def test_a_start_that_fails_is_an_error(sines):
    X, y, Z = sines
    with pytest.raises(NotPositiveDefinite):
        maximise(Regression(X, y), SquaredExponential(), np.vstack([Z, Z]), 0.5)


def test_exact_regression(sines):
    X, y, _ = sines
    problem, kernel, none = FullRegression(X, y), SquaredExponential(1.2, 0.9), np.zeros((0, 1))
    state, gradient = problem.evaluate(kernel, none, 0.3)
    S = kernel.matrix(X) + 0.3 * np.eye(80)
    assert state.log_evidence == pytest.approx(multivariate_normal(np.zeros(80), S).logpdf(y), abs=1e-9)
    mean, variance = state.predict(X[:3] + 0.05)
    cross = kernel.matrix(X[:3] + 0.05, X)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(S, y), atol=1e-10)
    np.testing.assert_allclose(variance, 1.2 - np.diagonal(cross @ np.linalg.solve(S, cross.T)), atol=1e-10)
    x = np.array([1.2, 0.9, 0.3])

    def evidence(x):
        return problem.evaluate(kernel.with_parameters(x[:2]), none, x[2])[0].log_evidence

    numeric = differences(evidence, x, 1e-6)
    np.testing.assert_allclose(np.append(gradient.kernel, gradient.noise), numeric, rtol=1e-6)
    with pytest.raises(ValueError, match="noise"):
        problem.evaluate(kernel, none, 0.0)


def test_the_variational_bound_approaches_exact_regression_from_below(sines):
    X, y, Z = sines
    exact = maximise(FullRegression(X, y), SquaredExponential(), np.zeros((0, 1)), 0.5)
    assert exact.status.converged
    many = np.linspace(-0.2, 6.2, 15)[:, None]
    few, enough = (
        maximise(Regression(X, y, 0.0, jitter=1e-8), SquaredExponential(), points, 0.5)
        for points in (Z, many)
    )
    assert few.state.log_evidence < enough.state.log_evidence < exact.state.log_evidence
    assert enough.state.log_evidence == pytest.approx(exact.state.log_evidence, abs=1e-3)
    at_its_parameters = FullRegression(X, y).evaluate(few.state.kernel, np.zeros((0, 1)), few.state.noise)[0]
    assert few.state.log_evidence < at_its_parameters.log_evidence


@pytest.fixture(scope="module")
def many():
    """Sines of two inputs: X [400, 2], y, Z [8, 2]."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-2.0, 2.0, (400, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.standard_normal(400), X[:8]


FIRST = Search(method="bfgs", first_rows=80, max_iterations=60)


def test_a_first_search_of_some_rows_begins_that_of_all_nearer(many, monkeypatch):
    X, y, Z = many
    problem, kernel, seen = Regression(X, y, 0.5, jitter=1e-6), SquaredExponential(1.0, 1.0), []

    def counted(problem, *at):
        found = collapsed.energy_and_gradient(problem, *at)
        seen.append((len(problem.y), found[0].log_evidence))
        return found

    monkeypatch.setattr(Regression, "evaluate", counted)
    found = maximise(problem, kernel, Z, 0.5, FIRST)
    rows = [n for n, _ in seen]
    few = rows.count(80)
    assert rows == [400] + [80] * few + [400] * (len(rows) - few - 1) and 10 < few <= COST * 400 // 80
    assert f"{few} evaluations of 80 rows before" in found.status.message
    assert found.status.evaluations == len(rows) - few - 2  # beside the comparison of start and end
    first = seen[few + 1][1]
    assert first == seen[few + 2][1]
    assert first > condition(problem, kernel, Z, 0.5).log_evidence + 100
    assert found.state.log_evidence >= first
    again = maximise(problem, kernel, Z, 0.5, FIRST)
    assert again.state.log_evidence == found.state.log_evidence


@pytest.mark.parametrize("search", [replace(FIRST, first_rows=150), replace(FIRST, move_pseudo_inputs=False)])
def test_no_first_search_where_it_is_not_worth_while(search, many):
    X, y, Z = many
    problem = Regression(X, y, 0.5, jitter=1e-6)
    found, plain = (
        maximise(problem, SquaredExponential(), Z, 0.5, how)
        for how in (search, replace(search, first_rows=None))
    )
    assert found.status == plain.status and found.state.log_evidence == plain.state.log_evidence
