"""Parameters of the likelihood, learned by evidence; and every rule with every likelihood that has such."""

import numpy as np
import pytest

import tilted
from tests.helpers import differences
from tilted.inference import RULES, rep
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.relaxations import Relaxation
from tilted.kernels import Linear, SquaredExponential
from tilted.learning.dense import Problem, infer_at
from tilted.learning.likelihood import Noise, likelihood_derivative, maximise
from tilted.learning.search import Search
from tilted.likelihoods.exponential_link import NegativeBinomial, PoissonExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.laplace import LaplaceNoise
from tilted.likelihoods.ordinal import Ordinal
from tilted.likelihoods.student_t import StudentT
from tilted.posteriors.full import FullRegression

TIGHT = Options(tolerance=1e-11)
KERNEL = SquaredExponential(1.0, 1.2)
RNG = np.random.default_rng(5)
X = np.sort(RNG.uniform(0.0, 6.0, (20, 1)), axis=0)
F = np.sin(X[:, 0])
REALS = F + 0.1 * RNG.normal(size=20)
REALS[[4, 13]] += (6.0, -5.0)
COUNTS = RNG.negative_binomial(2, 2.0 / (2.0 + np.exp(1.0 + F))).astype(float)
LEVELS = np.digitize(F + 0.4 * RNG.normal(size=20), [-0.5, 0.4]).astype(float)
CASES = {
    "gaussian": (GaussianNoise(0.2), REALS),
    "laplace": (LaplaceNoise(0.3), REALS),
    "student-t": (StudentT(0.2, 4.0), REALS),
    "negative-binomial": (NegativeBinomial(0.6), COUNTS),
    "poisson-exp": (PoissonExponential(), COUNTS),
    "ordinal": (Ordinal((-0.6, 0.7)), LEVELS),
}
METHODS = {**RULES, "power": power_rule(0.4)}


def problem_of(name, method, options=TIGHT):
    likelihood, y = CASES[name]
    return Problem(X, y, likelihood, METHODS[method], 0.2, options)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_every_rule_converges_and_their_answers_are_near(name, method):
    found, ep = (infer_at(problem_of(name, m), KERNEL) for m in (method, "ep"))
    assert found.status.converged, found.status.message
    spread = np.abs(found.state.marginals.mean - ep.state.marginals.mean) / np.sqrt(
        ep.state.marginals.variance
    )
    assert np.max(spread) < 0.2
    assert abs(found.log_evidence - ep.log_evidence) < 0.3


@pytest.mark.parametrize("name", ["laplace", "negative-binomial"])
def test_relaxed_ep_without_relaxations_is_ep(name):
    problem = problem_of(name, "ep", Options())
    relaxed = rep.infer(problem.posterior(KERNEL), problem.likelihood, problem.y, Relaxation(1e6))
    assert relaxed.status.converged
    exact = infer_at(problem, KERNEL).state.marginals
    np.testing.assert_allclose(relaxed.state.marginals.mean, exact.mean, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, method) for name in ("laplace", "student-t", "negative-binomial") for method in METHODS),
        *((name, method) for name in ("gaussian", "ordinal") for method in ("ep", "vb")),
        *(pytest.param("ordinal", method, marks=pytest.mark.slow) for method in ("qp", "power")),
    ],
)
def test_derivatives_of_the_evidence_in_the_likelihood(name, method):
    problem = problem_of(name, method)
    likelihood = problem.likelihood
    at = likelihood.coordinates()
    assert likelihood.at(at) == likelihood or likelihood.at(at).coordinates() == pytest.approx(at, rel=1e-14)
    found = likelihood_derivative(problem, KERNEL, infer_at(problem, KERNEL))

    def evidence(change):
        there = Problem(X, problem.y, likelihood.at(at + change), problem.rule, 0.2, TIGHT)
        return infer_at(there, KERNEL).log_evidence

    numeric = differences(evidence, np.zeros(len(at)), 1e-3)
    np.testing.assert_allclose(found, numeric, rtol=0, atol=2e-4)


def test_a_learned_gaussian_noise_is_that_of_exact_regression():
    y = F + 0.2 * RNG.normal(size=20)
    found = tilted.fit(X, y, "gaussian", kernel=KERNEL, search=Search("log"), learn_likelihood=True)
    assert found.status.converged
    noise = found.problem.likelihood.noise
    exact, gradient = FullRegression(X, y).evaluate(found.kernel, X[:0], noise)
    assert exact.log_evidence == pytest.approx(found.log_evidence, abs=1e-9)
    assert np.max(np.abs(gradient.kernel * found.kernel.parameters())) < 1e-3
    assert abs(gradient.noise * noise) < 1e-3


@pytest.mark.parametrize(
    "name, method", [("student-t", "ep"), ("negative-binomial", "vb"), ("laplace", "power")]
)
def test_a_search_ends_where_all_derivatives_vanish(name, method):
    problem = problem_of(name, method, Options())
    found = maximise(problem, KERNEL, Search("log"), move_mean=True)
    assert found.status.converged, found.status.message
    assert found.inference.log_evidence > infer_at(problem, KERNEL).log_evidence
    assert found.mean != problem.mean

    def evidence(x):
        likelihood = problem.likelihood.at(x[-1:])
        there = Problem(X, problem.y, likelihood, problem.rule, x[2], TIGHT)
        return infer_at(there, KERNEL.with_parameters(np.exp(x[:2]))).log_evidence

    at = np.concatenate(
        [np.log(found.kernel.parameters()), [found.mean], found.problem.likelihood.coordinates()]
    )
    for e in np.eye(len(at)):
        assert abs(evidence(at + 1e-3 * e) - evidence(at - 1e-3 * e)) / 2e-3 < 5e-3


def test_fit_keeps_a_likelihood_unless_it_is_asked_to_learn_it():
    kept, learned = (
        tilted.fit(X, COUNTS, NegativeBinomial(0.6), "vb", KERNEL, 0.5, learn_likelihood=learn)
        for learn in (False, True)
    )
    assert kept.problem.likelihood == NegativeBinomial(0.6) != learned.problem.likelihood
    assert learned.log_evidence > kept.log_evidence


def test_the_unit_of_noise_answers_to_the_kernel():
    """As by finite differences; it is k(x, x) where that is largest."""
    X = np.random.default_rng(0).normal(size=(7, 2))
    kernel = SquaredExponential(2.0, 1.5) + Linear(0.7)
    noise = Noise.of(Problem(X, X[:, 0], GaussianNoise(0.1), RULES["ep"]), kernel)
    at = kernel.with_parameters(1.7 * kernel.parameters())
    assert noise.shift(kernel) == 0.0 and noise.shift(at) == pytest.approx(np.log(1.7))

    def shift(theta):
        return noise.shift(at.with_parameters(theta))

    numeric = differences(shift, at.parameters(), 1e-6)
    np.testing.assert_allclose(noise.pull_back(at, 3.0), 3.0 * numeric, atol=1e-8)
