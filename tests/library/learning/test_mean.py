"""The constant prior mean by evidence: against differences, brute force and generalised least squares."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tests.helpers import differences
from tilted import likelihoods
from tilted.inference import RULES
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.kernels import Linear, Matern, SquaredExponential
from tilted.learning import dense as hyperparameters
from tilted.learning import mean as means
from tilted.learning import sparse as sparse_search
from tilted.learning.dense import Problem, evidence_and_slopes, infer_at
from tilted.learning.search import Search
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.posteriors.collapsed import condition, energy_and_gradient

TIGHT = Options(tolerance=1e-11)


def problem_of(method, name, toy, counts, mean):
    X, y = counts if name == "poisson-square" else toy
    rule = power_rule(0.5) if method == "power-ep" else RULES[method]
    return Problem(X, y, likelihoods.get(name), rule, mean, TIGHT)


@pytest.mark.parametrize("method", ["ep", "qp", "vb", "power-ep"])
@pytest.mark.parametrize("name, mean", [("probit", 0.4), ("logit", -0.3), ("poisson-square", 1.1)])
def test_the_derivative_is_a_finite_difference(method, name, mean, toy, counts):
    problem, kernel, h = problem_of(method, name, toy, counts, mean), SquaredExponential(1.2, 1.1), 1e-4
    found, slopes = evidence_and_slopes(problem, kernel)
    assert found.status.converged
    at = [
        infer_at(problem_of(method, name, toy, counts, mean + k * h), kernel).log_evidence
        for k in (-2, -1, 1, 2)
    ]
    slope = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)
    assert slopes.by_mean == pytest.approx(slope, abs=3e-7)
    if method == "qp":  # without the sites' own answer it is another number
        _, fixed = evidence_and_slopes(problem, kernel, gradient="sites-fixed")
        assert abs(fixed.by_mean - slope) > 1e-5


def test_gaussian_noise_has_the_mean_of_generalised_least_squares():
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (40, 1))
    y = 7.0 + np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40)
    problem = Problem(X, y, GaussianNoise(0.09), EP, mean=5.0)
    found = means.maximise(problem, Matern(9.0, 1.0, 2.5), Search(transform="log"))
    assert found.status.converged
    weights = np.linalg.solve(found.kernel.matrix(X) + 0.09 * np.eye(40), np.ones(40))
    assert found.mean == pytest.approx(weights @ y / weights.sum(), abs=1e-4)
    assert found.problem.mean == found.mean
    assert infer_at(found.problem, found.kernel).log_evidence == pytest.approx(
        found.inference.log_evidence, rel=1e-9
    )


@pytest.mark.parametrize(
    "method, likelihood",
    [("ep", "probit"), ("vb", "logit"), pytest.param("qp", "probit", marks=pytest.mark.slow)],
)
def test_a_search_ends_where_all_derivatives_vanish(method, likelihood, toy):
    X, y = toy
    y = np.where(X[:, 1] < 0.7, 1.0, y)  # mostly of one class
    problem, kernel = Problem(X, y, likelihoods.get(likelihood), RULES[method]), SquaredExponential(1.0, 1.0)
    search = Search(transform="log")
    centred = hyperparameters.maximise(problem, kernel, search)
    found = means.maximise(problem, kernel, search)
    assert found.status.converged and found.status.evaluations > 2
    assert found.inference.log_evidence > centred.inference.log_evidence + 1e-3
    _, slopes = evidence_and_slopes(found.problem, found.kernel)
    assert np.max(np.abs(slopes.by_kernel * found.kernel.parameters())) < 1e-2
    assert abs(slopes.by_mean) < 1e-2
    assert found.mean > 0


def best_by_force(evidence, low, high):
    """Where a function of the mean is largest."""
    return minimize_scalar(
        lambda mean: -evidence(mean), bounds=(low, high), method="bounded", options={"xatol": 1e-7}
    ).x


@pytest.mark.parametrize(
    "method, name, start",
    [
        ("ep", "probit", 0.0),
        ("qp", "probit", 0.0),
        ("vb", "poisson-square", 0.8),
        pytest.param("power-ep", "poisson-square", 0.8, marks=pytest.mark.slow),
    ],
)
def test_the_best_mean_of_a_kernel_that_is_kept(method, name, start, toy, counts):
    def evidence(mean):
        return infer_at(problem_of(method, name, toy, counts, mean), kernel).log_evidence

    kernel = Matern(1.2, 1.1, 2.5)
    found = means.maximise(
        problem_of(method, name, toy, counts, start), kernel, Search(rounds=3), move_kernel=False
    )
    assert found.kernel == kernel and found.status.converged
    assert found.inference.log_evidence == pytest.approx(evidence(found.mean), abs=1e-8)
    assert found.mean == pytest.approx(best_by_force(evidence, start - 2.0, start + 2.0), abs=2e-5)


def test_the_coordinate_of_the_mean_is_differentiated_with_the_kernel():
    places = np.array([[0.1, 0.2], [0.4, -1.9]])
    kernel, h = Matern(2.0, (1.0, 3.0), 1.5) + Linear((0.7, 0.4)), 1e-6
    level = means.Level.of(-0.4, kernel, places)
    np.testing.assert_array_equal(level.place, places[1:])
    at, c = kernel.parameters(), 0.9
    by_parameters, by_c = level.pull_back(kernel, c, 2.5)
    sides = [[level.mean(kernel.with_parameters(at + s * h * e), c) for s in (1, -1)] for e in np.eye(5)]
    np.testing.assert_allclose(by_parameters, 2.5 * np.diff(sides)[:, 0] / (-2 * h), rtol=1e-8, atol=1e-12)
    assert by_c == pytest.approx(2.5 * (level.mean(kernel, c + h) - level.mean(kernel, c - h)) / (2 * h))


@pytest.fixture
def reals():
    """Real targets far from zero: X [40, 1], y [40]."""
    rng = np.random.default_rng(5)
    X = np.sort(rng.uniform(-2, 2, (40, 1)), axis=0)
    return X, 7.0 + np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40)


def test_the_gradient_of_a_levelled_regression_is_a_difference(reals):
    X, y = reals
    kernel, Z, noise, h = SquaredExponential(2.0, 0.8), X[::6] + 0.01, 0.09, 1e-5
    problem = means.Levelled(X, y, 0.5)
    state, slope = problem.evaluate(kernel, Z, noise)
    at = np.append(kernel.parameters(), noise)

    def energy(x, Z):
        return problem.evaluate(kernel.with_parameters(x[:2]), Z, x[2])[0].log_evidence

    numeric = differences(lambda x: energy(x, Z), at, h)
    np.testing.assert_allclose(np.append(slope.kernel, slope.noise), numeric, rtol=1e-5, atol=1e-6)
    step = np.zeros_like(Z)
    step[2] = h
    assert slope.Z[2, 0] == pytest.approx((energy(at, Z + step) - energy(at, Z - step)) / (2 * h), rel=1e-5)
    centred = energy_and_gradient(problem.centred(kernel, Z, noise), kernel, Z, noise)[0]
    assert centred.log_evidence == state.log_evidence > condition(problem, kernel, Z, noise).log_evidence


@pytest.mark.parametrize("alpha, name", [(0.0, "logit"), (0.5, "probit"), (1.0, "probit")])
def test_a_sparse_search_finds_the_best_mean_too(alpha, name, uneven):
    X, y = uneven
    problem = sparse_search.Problem(X, y, likelihoods.get(name), alpha, jitter=1e-8, options=TIGHT)
    search = Search(move_pseudo_inputs=False, gradient_tolerance=1e-6, relative_tolerance=1e-12)
    kept, found = (
        sparse_search.maximise(problem, SquaredExponential(), X[::4], search, move_mean=move)
        for move in (False, True)
    )
    kernel = found.posterior.pseudo.kernel

    def energy(mean):
        return replace(problem, mean=mean).infer(kernel, X[::4])[1].log_evidence

    assert kept.mean == 0.0 and found.inference.log_evidence > kept.inference.log_evidence + 1e-3
    assert found.mean == pytest.approx(best_by_force(energy, found.mean - 1.0, found.mean + 1.0), abs=1e-3)
    assert energy(found.mean) == pytest.approx(found.inference.log_evidence, abs=1e-8)
