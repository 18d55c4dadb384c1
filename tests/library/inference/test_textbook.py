"""Sweeps without rescue: against inversions in every step, the engine's fixed point, divergence, damping."""

import numpy as np
import pytest
from scipy.stats import norm

from papers.rep import blobs
from tilted.inference import engine, rep
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.textbook import OUTCOMES, sweep_on
from tilted.kernels import SquaredExponential
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.step import NoisyStep
from tilted.posteriors.dense import Dense

EPS = 0.1
STEP = NoisyStep(EPS)


@pytest.fixture
def problem(toy):
    X, y = toy
    return Dense.build(SquaredExponential(1.0, 0.5).matrix(X)), y


def by_inversion(K, y, sweeps, u=1.0, b=None, step=1.0, tau=None, nu=None):
    """Sites after sequential sweeps of Power EP or relaxed EP [Qi & Guo 2012, eqs 12-15, 41-42].

    Inverts matrices at every site; cavities with the share u of the site, its mean by the weighted normals.
    """
    n = len(y)
    b = np.zeros(n) if b is None else b
    tau, nu = np.zeros(n) if tau is None else tau.copy(), np.zeros(n) if nu is None else nu.copy()
    high, low = (1 - EPS) ** u, EPS**u
    for _ in range(sweeps):
        for i in range(n):
            covariance = np.linalg.solve(np.eye(n) + K * tau, K)
            mean = covariance @ nu
            lam = 1 / (1 / covariance[i, i] - u * tau[i])
            h = lam * (mean[i] / covariance[i, i] - u * nu[i])
            centre = nu[i] / tau[i] if tau[i] != 0 else 0.0
            lam, h = 1 / (1 / lam + b[i]), (h / lam + b[i] * centre) / (1 / lam + b[i])
            z = y[i] * h / np.sqrt(lam)
            alpha = y[i] * (high - low) * norm.pdf(z) / np.sqrt(lam) / (low + (high - low) * norm.cdf(z))
            new = h + lam * alpha
            precision = alpha * new / (lam * (1 - alpha * new))
            tau[i] += step * (precision / u - tau[i])
            nu[i] += step * ((new * precision + alpha) / u - nu[i])
    return tau, nu


@pytest.mark.parametrize("settings", [{}, {"step": 0.5}, {"u": 0.8}, {"u": 0.3, "step": 0.7}, {"b": True}])
def test_sweeps_are_those_of_inverting_at_every_site(settings, problem):
    prior, y = problem
    rule, settings = EP, dict(settings)
    if "u" in settings:
        rule = power_rule(settings["u"])
    if "b" in settings:
        settings["b"] = np.linspace(0.0, 0.3, len(y))
        rule = rep.held_rule(settings["b"])
    found = sweep_on(prior, STEP, y, rule, 3, 1e-14, settings.get("step", 1.0))
    tau, nu = by_inversion(prior.K, y, 3, **settings)
    np.testing.assert_allclose(found.sites.tau, tau, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(found.sites.nu, nu, rtol=1e-8, atol=1e-11)
    assert found.outcome == "unsettled" and found.reason == ""


def test_changes_are_those_of_the_weights(problem):
    prior, y = problem
    weights = [np.zeros(len(y))]
    for sweeps in (1, 2, 3, 4):
        tau, nu = by_inversion(prior.K, y, sweeps)
        weights.append(np.linalg.solve(np.eye(len(y)) + tau[:, None] * prior.K, nu))
    expected = [np.linalg.norm(b - a) for a, b in zip(weights[:-1], weights[1:], strict=True)]
    found = sweep_on(prior, STEP, y, EP, 4, 1e-14)
    np.testing.assert_allclose(found.changes, expected, rtol=1e-7)
    np.testing.assert_allclose(found.state.weights, weights[-1], rtol=1e-8, atol=1e-11)


def test_it_stops_at_the_first_change_below_the_tolerance(problem):
    prior, y = problem
    fine = sweep_on(prior, STEP, y, EP, 100, 1e-9)
    coarse = sweep_on(prior, STEP, y, EP, 100, 1e-3)
    assert fine.outcome == coarse.outcome == "converged"
    assert coarse.changes[-1] < 1e-3 and np.all(coarse.changes[:-1] >= 1e-3)
    assert 1 < len(coarse.changes) < len(fine.changes) <= 100
    np.testing.assert_array_equal(fine.changes[: len(coarse.changes)], coarse.changes)
    short = sweep_on(prior, STEP, y, EP, len(coarse.changes) - 1, 1e-3)
    assert short.outcome == "unsettled" and {short.outcome, fine.outcome, "diverged"} == set(OUTCOMES)
    nothing = sweep_on(prior, STEP, y, EP, 0)
    assert nothing.outcome == "unsettled" and np.all(nothing.sites.tau == 0) and len(nothing.changes) == 0


@pytest.mark.parametrize(
    ("likelihood", "rule"),
    [(Probit(), EP), (STEP, power_rule(0.5)), (STEP, rep.held_rule(np.full(30, 0.4)))],
    ids=["ep", "power", "held"],
)
def test_the_fixed_point_is_the_engines(likelihood, rule, toy):
    X, y = toy
    prior = Dense.build(SquaredExponential(1.0, 0.4).matrix(X))
    found = sweep_on(prior, likelihood, y, rule, 400, 1e-11)
    expected = engine.infer(prior, likelihood, y, rule, Options(tolerance=1e-10))
    assert found.outcome == "converged" and expected.status.converged
    np.testing.assert_allclose(found.sites.tau, expected.sites.tau, atol=1e-6)
    np.testing.assert_allclose(found.sites.nu, expected.sites.nu, atol=1e-6)


@pytest.fixture(scope="module")
def hard():
    """100 points of the made-up set, 20 % of the labels flipped."""
    X, y, _, _ = blobs.draw(0, n_train_per_class=50, flips=0.2, n_test=4)
    return lambda lengthscale: (Dense.build(SquaredExponential(1.0, lengthscale).matrix(X)), y)


@pytest.mark.parametrize("lengthscale", [1.0, 2.0, 4.0])
def test_divergence_is_an_outcome_with_a_reason_and_a_proper_posterior(lengthscale, hard):
    prior, y = hard(lengthscale)
    found = sweep_on(prior, STEP, y, EP)
    assert found.outcome == "diverged" and 0 < len(found.changes) < 20
    assert found.reason.startswith("the ") and "improper" in found.reason
    covariance = np.linalg.solve(np.eye(100) + prior.K * found.sites.tau, prior.K)
    assert np.all(np.linalg.eigvalsh(0.5 * (covariance + covariance.T)) > -1e-9)
    np.testing.assert_allclose(np.diag(covariance), found.state.marginals.variance, rtol=1e-6)
    same = sweep_on(prior, STEP, y, EP, len(found.changes), 1e-14)
    np.testing.assert_array_equal(same.sites.tau, found.sites.tau)


def test_damping_settles_what_diverges_without(hard):
    prior, y = hard(1.0)
    assert sweep_on(prior, STEP, y, EP).outcome == "diverged"
    damped = sweep_on(prior, STEP, y, EP, 100, 1e-7, step=0.5)
    assert damped.outcome == "converged"
    again = sweep_on(prior, STEP, y, EP, 1, 1e-5, start=damped.sites)
    assert again.outcome == "converged"  # a fixed point of the undamped sweep too, if unstable
