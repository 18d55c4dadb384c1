"""The constant prior mean by evidence: against differences and generalised least squares."""

from dataclasses import replace

import numpy as np
import pytest

from tilted import hyperparameters, likelihoods, means
from tilted.estimators.dense import PowerProblem
from tilted.hyperparameters import Problem, Search, infer_at
from tilted.inference.options import Options
from tilted.kernels import Matern, SquaredExponential, White
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.projections import TableGrid

TIGHT = Options(tolerance=1e-11)


def problem_of(method, name, toy, counts, mean):
    X, y = counts if name == "poisson-square" else toy
    if method == "power-ep":
        return PowerProblem(X, y, likelihoods.get(name), "ep", mean, TIGHT, alpha=0.5)
    return Problem(X, y, likelihoods.get(name), method, mean, TIGHT)


@pytest.mark.parametrize("method", ["ep", "qp", "vb", "power-ep"])
@pytest.mark.parametrize("name, mean", [("probit", 0.4), ("logit", -0.3), ("poisson-square", 1.1)])
def test_the_derivative_is_a_finite_difference(method, name, mean, toy, counts):
    problem, kernel, h = problem_of(method, name, toy, counts, mean), SquaredExponential(1.2, 1.1), 1e-4
    found = infer_at(problem, kernel)
    assert found.status.converged
    at = [
        infer_at(problem_of(method, name, toy, counts, mean + k * h), kernel).log_evidence
        for k in (-2, -1, 1, 2)
    ]
    slope = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)
    assert means.mean_derivative(problem, kernel, found) == pytest.approx(slope, abs=3e-7)
    if method == "qp":  # without the sites' own answer it is another number
        fixed = means.mean_derivative(problem, kernel, found, "sites-fixed")
        assert abs(fixed - slope) > 1e-5


def test_gaussian_noise_has_the_mean_of_generalised_least_squares():
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, (40, 1))
    y = 7.0 + np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40)
    problem = Problem(X, y, GaussianNoise(0.09), "ep", mean=5.0)
    found = means.maximise(problem, Matern(9.0, 1.0, 2.5), Search(transform="log"))
    assert found.status.converged
    weights = np.linalg.solve(found.kernel.matrix(X) + 0.09 * np.eye(40), np.ones(40))
    assert found.mean == pytest.approx(weights @ y / weights.sum(), abs=1e-4)
    assert found.problem.mean == found.mean
    assert infer_at(found.problem, found.kernel).log_evidence == pytest.approx(
        found.inference.log_evidence, rel=1e-9
    )


@pytest.mark.parametrize("method, likelihood", [("ep", "probit"), ("vb", "logit"), ("qp", "probit")])
def test_a_search_ends_where_all_derivatives_vanish(method, likelihood, toy):
    X, y = toy
    y = np.where(X[:, 1] < 0.7, 1.0, y)  # mostly of one class
    problem, kernel = Problem(X, y, likelihoods.get(likelihood), method), SquaredExponential(1.0, 1.0)
    search = Search(transform="log")
    centred = hyperparameters.maximise(problem, kernel, search)
    found = means.maximise(problem, kernel, search)
    assert found.status.converged and found.status.evaluations > 2
    assert found.inference.log_evidence > centred.inference.log_evidence + 1e-3
    inference, slope = hyperparameters.evidence_and_gradient(found.problem, found.kernel)
    assert np.max(np.abs(slope * found.kernel.parameters())) < 1e-2
    assert abs(means.mean_derivative(found.problem, found.kernel, inference)) < 1e-2
    assert found.mean > 0


def test_the_best_mean_does_not_depend_on_where_the_search_starts(counts):
    X, y = counts
    problem = Problem(X, y, likelihoods.get("poisson-square"), "ep")
    ends = [
        means.maximise(replace(problem, mean=mean), SquaredExponential(1.0, 1.0)).mean for mean in (0.8, 1.4)
    ]
    assert ends[0] == pytest.approx(ends[1], abs=2e-3)


def test_searches_that_cannot_begin_say_why(toy):
    X, y = toy
    problem = Problem(X, y, likelihoods.get("probit"), "ep", options=Options(max_sweeps=1))
    with pytest.raises(ArithmeticError, match="did not converge"):
        means.maximise(problem, SquaredExponential(100.0, 1.0))
    problem = Problem(X, y, likelihoods.get("probit"), "qp", projection=TableGrid())
    with pytest.raises(ValueError, match="sites-fixed"):
        means.maximise(problem, SquaredExponential() + White(0.1))
