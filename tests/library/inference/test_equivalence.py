"""Tests by equivalence: what must agree, whatever the method."""

import mpmath
import numpy as np
import pytest
from scipy.stats import logistic, multivariate_normal, norm

from tilted import likelihoods
from tilted.gaussian import Sites
from tilted.inference import RULES, rule_of
from tilted.inference.engine import infer
from tilted.inference.implicit import evidence_derivatives
from tilted.inference.options import Options
from tilted.kernels import SquaredExponential
from tilted.learning.dense import Problem, evidence_and_gradient, infer_at
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.posteriors.dense import Dense
from tilted.projections.moments import TableGrid, kl_sensitivity

METHODS = ["ep", "qp", "vb"]
TIGHT = Options(tolerance=1e-11)


def test_every_method_is_tested():
    """A new rule fails here until it takes part in these tests (other projections of qp: test_lookup)."""
    assert sorted(METHODS) == sorted(RULES)


@pytest.mark.parametrize("method, projection", [*((m, None) for m in METHODS), ("qp", TableGrid())])
def test_gaussian_likelihood_is_exact_regression(method, projection, toy):
    X, _ = toy
    y, noise, mean = np.sin(X[:, 0]), 0.3, 0.4
    kernel = SquaredExponential(1.7, 0.9)
    posterior = Dense.build(kernel.matrix(X), mean)
    found = infer(posterior, GaussianNoise(noise), y, rule_of(method, projection), TIGHT)
    C = kernel.matrix(X) + noise * np.eye(len(y))
    Xs = np.random.default_rng(0).normal(size=(5, 2))
    cross = kernel.matrix(Xs, X)
    m, v = found.state.predict(cross, kernel.diagonal(Xs), mean)
    rtol = 1e-5 if projection else 1e-9  # the table's own error
    exact = multivariate_normal(np.full(len(y), mean), C).logpdf(y)
    assert found.status.converged
    assert found.log_evidence == pytest.approx(exact, rel=rtol)
    np.testing.assert_allclose(m, mean + cross @ np.linalg.solve(C, y - mean), rtol=10 * rtol)
    exact_v = kernel.variance - np.sum(cross * np.linalg.solve(C, cross.T).T, axis=1)
    np.testing.assert_allclose(v, exact_v, rtol=10 * rtol)


@pytest.mark.parametrize("variance, noise", [(1e8, 1.0), (1e6, 1e-2)])
def test_strong_sites_under_a_large_prior_variance(variance, noise):
    """Means and evidence against 60 digits, where the textbook form of the weights cancels."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-2, 2, (25, 1))
    K = SquaredExponential(variance, 1.0).matrix(X)
    y = 1e2 * np.sin(3 * X[:, 0])
    found = Dense.build(K).condition(Sites(np.full(25, 1 / noise), y / noise))
    with mpmath.workdps(60):
        C = mpmath.matrix(K.tolist()) + noise * mpmath.eye(25)
        weights = mpmath.lu_solve(C, mpmath.matrix(y.tolist()))
        mean = np.array([float(x) for x in mpmath.matrix(K.tolist()) * weights])
    assert np.max(np.abs(found.marginals.mean - mean) / np.sqrt(found.marginals.variance)) < 1e-7


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["probit", "logit", "poisson-square"])
def test_sequential_and_parallel_reach_the_same_fixed_point(method, name, toy, counts):
    X, y = counts if name == "poisson-square" else toy
    posterior = Dense.build(SquaredExponential(2.0, 1.3).matrix(X), 1.0)
    likelihood = likelihoods.get(name)
    parallel = infer(posterior, likelihood, y, RULES[method], TIGHT)
    sequential = infer(
        posterior, likelihood, y, RULES[method], Options(tolerance=1e-11, schedule="sequential")
    )
    assert parallel.status.converged and sequential.status.converged
    assert parallel.log_evidence == pytest.approx(sequential.log_evidence, abs=1e-9)
    np.testing.assert_allclose(parallel.sites.tau, sequential.sites.tau, atol=1e-8)
    np.testing.assert_allclose(parallel.sites.nu, sequential.sites.nu, atol=1e-8)


@pytest.mark.parametrize("method", ["ep", "qp"])
def test_independent_variance_may_sit_in_the_prior_or_at_the_sites(method, toy):
    """f = h + e: sites on h with extra variance D equal sites on f with K + D."""
    X, y = toy
    K, D = SquaredExponential(2.0, 1.3).matrix(X), np.linspace(0.05, 0.8, len(y))
    inside = infer(Dense.build(K + np.diag(D)), Probit(), y, RULES[method], TIGHT)
    outside = infer(Dense.build(K, extra=D), Probit(), y, RULES[method], TIGHT)
    if method == "qp":  # the projected variance of f, not of h, is what QP reduces: only close
        assert inside.log_evidence == pytest.approx(outside.log_evidence, abs=1e-3)
        return
    assert inside.log_evidence == pytest.approx(outside.log_evidence, abs=1e-9)
    # posterior mean of h from the one equals K (K + D)^-1 of the posterior mean of f from the other
    h = K @ np.linalg.solve(K + np.diag(D), inside.state.marginals.mean)
    np.testing.assert_allclose(outside.state.marginals.mean, h, atol=1e-8)


@pytest.mark.parametrize("name", ["probit", "logit", "poisson-square"])
def test_two_points_against_quadrature(name):
    """Evidence and means on two points, by two-dimensional quadrature; VB is a lower bound."""
    K = np.array([[1.2, 0.5], [0.5, 0.9]])
    labels = name != "poisson-square"
    mean, y = (0.0, np.array([1.0, -1.0])) if labels else (1.2, np.array([1.0, 3.0]))
    likelihood, prior = likelihoods.get(name), multivariate_normal([mean, mean], K)

    x, w = np.polynomial.legendre.leggauss(120)
    f = mean + 8.0 * np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1)
    if labels:
        log_p = (norm if name == "probit" else logistic).logcdf(y * f).sum(axis=-1)
    else:
        log_p = np.sum(y * np.log(f**2) - f**2, axis=-1) - np.log(6.0)
    density = 64.0 * np.outer(w, w) * np.exp(log_p) * prior.pdf(f)
    Z = density.sum()
    first = np.sum(f[..., 0] * density) / Z
    found = {m: infer(Dense.build(K, mean), likelihood, y, RULES[m], TIGHT) for m in METHODS}
    tolerance = 2e-3 if labels else 5e-2
    for method in ("ep", "qp"):
        assert found[method].log_evidence == pytest.approx(np.log(Z), abs=tolerance)
        assert found[method].state.marginals.mean[0] == pytest.approx(first, abs=2 * tolerance)
    assert found["vb"].log_evidence < np.log(Z)


@pytest.mark.parametrize(
    "name, mean", [("probit", 0.0), ("probit", 0.3), ("logit", 0.3), ("poisson-square", 1.0)]
)
def test_vb_is_a_bound_that_no_gaussian_with_such_sites_beats(name, mean, toy, counts):
    """Perturbing the converged sites lowers the ELBO."""
    X, y = counts if name == "poisson-square" else toy
    posterior = Dense.build(SquaredExponential(2.0, 1.3).matrix(X), mean)
    likelihood, rule = likelihoods.get(name), RULES["vb"]
    found = infer(posterior, likelihood, y, rule, TIGHT)
    rng = np.random.default_rng(3)
    for _ in range(5):
        tau = found.sites.tau + 1e-3 * rng.normal(size=len(y))
        moved = posterior.condition(Sites(tau, found.sites.nu + 1e-3 * rng.normal(size=len(y))))
        terms = rule.update(moved.marginals, moved.sites, likelihood, y).log_terms
        assert moved.log_normaliser + terms.sum() < found.log_evidence


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name, ard", [("probit", False), ("probit", True), ("logit", False)])
def test_evidence_gradients_are_finite_differences(method, name, ard, toy):
    X, y = toy
    kernel = SquaredExponential(3.0, (0.8, 1.9) if ard else 1.1)
    problem = Problem(X, y, likelihoods.get(name), RULES[method], options=TIGHT)
    _, gradient = evidence_and_gradient(problem, kernel)
    p, h = kernel.parameters(), 1e-4
    for i in range(len(p)):
        step = h * p[i] * np.eye(len(p))[i]
        values = [
            infer_at(problem, kernel.with_parameters(p + k * step)).log_evidence for k in (-2, -1, 1, 2)
        ]
        slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h * p[i])
        assert gradient[i] == pytest.approx(slope, abs=2e-7)


def test_qp_gradient_needs_the_implicit_part(toy):
    """EP's formula on QP's evidence is off by far more than rounding; counts have it too."""
    X, y = toy
    problem = Problem(X, y, Probit(), RULES["qp"], options=TIGHT)
    kernel = SquaredExponential(3.0, 1.1)
    _, exact = evidence_and_gradient(problem, kernel)
    _, fixed = evidence_and_gradient(problem, kernel, gradient="sites-fixed")
    assert np.max(np.abs(exact - fixed)) > 1e-3


def test_qp_gradient_for_counts(counts):
    X, y = counts
    problem = Problem(X, y, PoissonSquare(), RULES["qp"], mean=1.0, options=TIGHT)
    kernel, h = SquaredExponential(0.6, 1.4), 1e-4
    _, gradient = evidence_and_gradient(problem, kernel)
    for i, step in enumerate(h * np.eye(2)):
        up, down = (
            infer_at(problem, kernel.with_parameters(kernel.parameters() + s * step)).log_evidence
            for s in (1, -1)
        )
        assert gradient[i] == pytest.approx((up - down) / (2 * h), abs=1e-6)


def test_implicit_gradient_reduces_to_the_usual_one_for_ep(toy):
    X, y = toy
    posterior = Dense.build(SquaredExponential(3.0, 1.1).matrix(X))
    found = infer(posterior, Probit(), y, RULES["ep"], TIGHT)
    total = evidence_derivatives(posterior, found.state, Probit(), y, kl_sensitivity)
    np.testing.assert_allclose(total.by_covariance, posterior.evidence_derivative(found.state), atol=1e-9)
    assert total.by_mean == pytest.approx(np.sum(found.state.weights), abs=1e-9)
    with pytest.raises(ValueError, match="extra variance"):
        evidence_derivatives(Dense.build(posterior.K, extra=0.1), found.state, Probit(), y, kl_sensitivity)


@pytest.mark.parametrize("negative", [False, True])
def test_posterior_forms_agree_with_plain_algebra(negative, toy):
    """Both factorisations against inverses, evidence parts and predictions included."""
    X, _ = toy
    rng = np.random.default_rng(1)
    kernel = SquaredExponential(1.5, 0.6)
    K = kernel.matrix(X) + 1e-6 * np.eye(len(X))
    tau, nu = rng.uniform(0.0, 2.0, len(X)), rng.normal(size=len(X))
    tau[3] = 0.0
    if negative:
        tau[5] = -0.05
    state = Dense.build(K, 0.4).condition(Sites(tau, nu))
    Sigma = np.linalg.inv(np.linalg.inv(K) + np.diag(tau))
    mean = Sigma @ (nu + np.linalg.solve(K, np.full(len(X), 0.4)))
    assert state.negative_sites == int(negative)
    np.testing.assert_allclose(state.marginals.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(state.marginals.variance, np.diag(Sigma), rtol=1e-6)
    posterior = Dense.build(K, 0.4)
    np.testing.assert_allclose(posterior.covariance(state), Sigma, atol=1e-6)
    W = np.diag(tau) - tau[:, None] * Sigma * tau
    np.testing.assert_allclose(state.inner_precision(), W, atol=1e-6)
    shift = nu - tau * 0.4
    log_normaliser = (
        -0.5 * np.linalg.slogdet(np.eye(len(X)) + K * tau)[1]
        + 0.5 * shift @ Sigma @ shift
        + np.sum(0.4 * nu - 0.5 * tau * 0.16)
    )
    assert state.log_normaliser == pytest.approx(log_normaliser, abs=1e-6)
    Xs = rng.normal(size=(4, 2))
    cross = kernel.matrix(Xs, X)
    m, v = state.predict(cross, kernel.diagonal(Xs), 0.4)
    np.testing.assert_allclose(m, 0.4 + cross @ np.linalg.solve(K, mean - 0.4), atol=1e-5)
    np.testing.assert_allclose(v, 1.5 - np.sum((cross @ W) * cross, axis=1), atol=1e-6)
