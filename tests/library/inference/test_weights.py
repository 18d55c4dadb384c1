"""Weights as powers of likelihood factors: whole ones are repeated rows, others the powered factor."""

import numpy as np
import pytest

from tilted import api, likelihoods
from tilted.inference import RULES
from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.rule import Rule, weighted
from tilted.kernels import SquaredExponential
from tilted.learning import averages
from tilted.learning.dense import Problem, evidence_and_gradient
from tilted.learning.likelihood import likelihood_derivative
from tilted.learning.sparse import Problem as SparseProblem
from tilted.posteriors.collapsed import Regression, energy_and_gradient
from tilted.posteriors.dense import Dense

KERNEL = SquaredExponential(2.0, 1.3)
METHODS = {**RULES, "power-ep": power_rule(0.4)}
N = 9
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
LABELS, REALS = np.sign(X[:, 0] + 0.7 * RNG.normal(size=N)), X[:, 1] + 0.3 * RNG.normal(size=N)
WHOLE = RNG.integers(1, 5, N)
ROWS = np.repeat(np.arange(N), WHOLE)


def targets(likelihood):
    return LABELS if likelihood in ("probit", "logit") else REALS


def problem(likelihood, rule, rows=slice(None), schedule="parallel"):
    options = Options(tolerance=1e-11, schedule=schedule)
    return Problem(X[rows], targets(likelihood)[rows], likelihoods.get(likelihood), rule, 0.1, options)


@pytest.mark.parametrize(
    "method, schedule",
    [*((method, "parallel") for method in METHODS), ("ep", "sequential"), ("vb", "sequential")],
)
@pytest.mark.parametrize("likelihood", ["probit", "laplace"])
def test_whole_weights_are_repeated_rows(likelihood, method, schedule):
    """Evidence, and gradient in the parameters of kernel and likelihood; no constant between."""
    rule = METHODS[method]
    one = problem(likelihood, weighted(rule, WHOLE.astype(float)), schedule=schedule)
    many = problem(likelihood, rule, ROWS, schedule)
    (a, slope_a), (b, slope_b) = (evidence_and_gradient(each, KERNEL) for each in (one, many))
    assert a.status.converged and b.status.converged
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-11)
    np.testing.assert_allclose(slope_a, slope_b, rtol=1e-9)
    np.testing.assert_allclose(a.state.marginals.mean[ROWS], b.state.marginals.mean)
    if likelihood == "laplace" and method != "qp":
        derivatives = [likelihood_derivative(*each) for each in ((one, KERNEL, a), (many, KERNEL, b))]
        np.testing.assert_allclose(*derivatives, rtol=1e-7)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_whole_weights_are_repeated_rows_of_pseudo_points(alpha):
    """Energy and gradient, in pseudo-inputs and noise too, in closed form and under other likelihoods."""
    w, Z = WHOLE.astype(float), X[:3] + 0.1
    one, many = Regression(X, REALS, alpha, weights=w), Regression(X[ROWS], REALS[ROWS], alpha)
    (a, slope_a), (b, slope_b) = (energy_and_gradient(each, KERNEL, Z, 0.3) for each in (one, many))
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-11)
    for name in ("kernel", "noise", "Z"):
        np.testing.assert_allclose(getattr(slope_a, name), getattr(slope_b, name), rtol=1e-9)
    probit, options = likelihoods.get("probit"), Options(tolerance=1e-11)
    pair = (
        SparseProblem(X, LABELS, probit, alpha, options=options, weights=w),
        SparseProblem(X[ROWS], LABELS[ROWS], probit, alpha, options=options),
    )
    (prior_a, found_a), (prior_b, found_b) = (each.infer(KERNEL, Z) for each in pair)
    assert found_a.log_evidence == pytest.approx(found_b.log_evidence, abs=1e-11)
    slopes = [
        prior.evidence_gradient(found.state, found.by_extra)
        for prior, found in ((prior_a, found_a), (prior_b, found_b))
    ]
    for left, right in zip(*slopes, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("method", ["ep", "power-ep", "vb"])
def test_any_weights_give_the_closed_form_gaussian(method):
    """N(y; f, s)^w is N(y; f, s / w) times a constant: exact regression, dense and through Z = X."""
    w, noise = np.linspace(0.3, 2.5, N), 0.4
    likelihood = likelihoods.get("gaussian", noise=noise)
    prior = Dense.build(KERNEL.matrix(X))
    found = infer(prior, likelihood, REALS, weighted(METHODS[method], w), Options(tolerance=1e-12))
    S = KERNEL.matrix(X) + np.diag(noise / w)
    exact = -0.5 * (REALS @ np.linalg.solve(S, REALS) + np.linalg.slogdet(2.0 * np.pi * S)[1])
    exact += 0.5 * np.sum((1.0 - w) * np.log(2.0 * np.pi * noise) - np.log(w))
    assert found.log_evidence == pytest.approx(exact, abs=1e-10)
    sparse = energy_and_gradient(Regression(X, REALS, 0.5, weights=w), KERNEL, X, noise)[0]
    assert sparse.log_evidence == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("likelihood", ["probit", "logit", "laplace"])
@pytest.mark.parametrize("w", [0.35, 1.0])
def test_one_row_is_the_powered_factor(likelihood, w):
    """N = 1: EP's evidence, mean and variance are those of N(f; 0, v) p(y|f)^w, by quadrature."""
    model, y, v = likelihoods.get(likelihood), targets(likelihood)[:1], 1.7
    found = infer(Dense.build(np.array([[v]])), model, y, weighted(RULES["ep"], np.array([w])))

    f = np.linspace(-14.0, 14.0, 400_001) + float(y[0])  # the kink of Laplace's density is a node
    density = np.exp(w * model.log_likelihood(y, f) - 0.5 * f**2 / v) / np.sqrt(2.0 * np.pi * v)
    z, first, second = (np.sum(f**k * density) * (f[1] - f[0]) for k in range(3))
    assert found.log_evidence == pytest.approx(np.log(z), abs=1e-9)
    assert found.state.marginals.mean[0] == pytest.approx(first / z, abs=1e-8)
    assert found.state.marginals.variance[0] == pytest.approx(second / z - (first / z) ** 2, abs=1e-8)


def test_what_takes_no_weights_says_so():
    half = np.full(N, 0.5)
    with pytest.raises(ValueError, match="weights below 1"):
        weighted(RULES["qp"], half)
    with pytest.raises(ValueError, match="positive and at most"):
        weighted(RULES["ep"], np.zeros(N))
    with pytest.raises(ValueError, match="takes no weights"):
        weighted(Rule(RULES["ep"].update), half)
    with pytest.raises(ValueError, match="takes no weights"):
        weighted(weighted(RULES["ep"], half), half)
    fit = api.fit_problem(problem("probit", weighted(RULES["ep"], half)), KERNEL, False)
    with pytest.raises(ValueError, match="without weights"):
        fit.corrected_evidence()
    with pytest.raises(ValueError, match="weights are positive"):
        Regression(X, REALS, weights=np.zeros(N))


@pytest.mark.parametrize("of", [averages.mean, averages.variance, averages.median])
@pytest.mark.parametrize("n", [6, 7])
def test_averages_of_whole_weights_are_those_of_repeated_values(of, n):
    values, w = np.arange(n) ** 2.0, np.array([1, 3, 1, 2, 1, 2, 5])[:n]
    assert of(values, w.astype(float)) == pytest.approx(of(np.repeat(values, w), None), rel=1e-14)
