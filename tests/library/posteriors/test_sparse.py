"""The sparse posterior and Power EP on the engine: equal to closed forms, to the dense posterior, to VB."""

import numpy as np
import pytest

from tilted.gaussian import Sites
from tilted.inference import RULES
from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.kernels import SquaredExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.step import NoisyStep
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.collapsed import Regression
from tilted.posteriors.collapsed import condition as closed_form
from tilted.posteriors.dense import Dense
from tilted.posteriors.pseudo import ROUNDING
from tilted.posteriors.sparse import Sparse

KERNEL, NOISE = SquaredExponential(1.3, (0.8, 1.2)), 0.15


@pytest.fixture(scope="module")
def data():
    """X [30, 2], y [30], Z [5, 2], Xs [7, 2]."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 2))
    return X, np.sin(2 * X[:, 0]) + 0.4 * rng.standard_normal(30), X[:5] + 0.1, rng.standard_normal((7, 2))


POWERS = {"1": 1.0, "0.5": 0.5, "0.05": 0.05, "each": np.linspace(0.1, 1.0, 30)}


@pytest.mark.parametrize("alpha", POWERS.values(), ids=POWERS)
def test_the_engine_reaches_the_closed_form_of_regression(alpha, data):
    X, y, Z, Xs = data
    posterior = Sparse.build(KERNEL, X, Z)
    found = infer(posterior, GaussianNoise(NOISE), y, power_rule(alpha))
    exact = closed_form(Regression(X, y, alpha), KERNEL, Z, NOISE)
    assert found.status.converged
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=1e-7)
    for ours, theirs in zip(posterior.predict(found.state, Xs), exact.predict(Xs), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_vb_is_the_closed_form_at_power_zero(data):
    X, y, Z, _ = data
    posterior = Sparse.build(KERNEL, X, Z)
    vb = infer(posterior, GaussianNoise(NOISE), y, RULES["vb"])
    exact = closed_form(Regression(X, y, 0.0), KERNEL, Z, NOISE)
    assert vb.log_evidence == pytest.approx(exact.log_evidence, abs=1e-8)


@pytest.mark.parametrize(
    ("likelihood", "method", "mean"),
    [
        (Probit(), "ep", 0.0),
        (Probit(), "vb", 0.3),
        (PoissonSquare(), "vb", 1.0),
        (NoisyStep(0.2), "ep", 0.0),
    ],
)
def test_all_data_as_pseudo_points_is_the_dense_posterior(likelihood, method, mean, data):
    X, y, _, Xs = data
    kernel = SquaredExponential(2.0, 0.6)
    y = np.where(y > 0, 1.0, -1.0) if likelihood.name != "poisson-square" else np.round(3 * np.abs(y))
    sparse, dense = Sparse.build(kernel, X, X, mean), Dense.build(kernel.matrix(X), mean)
    a, b = (infer(p, likelihood, y, RULES[method], Options(tolerance=1e-10)) for p in (sparse, dense))
    assert a.status.converged and b.status.converged
    assert a.log_evidence == pytest.approx(b.log_evidence, abs=1e-7)
    predicted = sparse.predict(a.state, Xs, mean)
    expected = b.state.predict(kernel.matrix(Xs, X), kernel.diagonal(Xs), mean)
    for ours, theirs in zip(predicted, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.parametrize("mean", [0.0, 0.7])
def test_marginals_and_normaliser_are_those_of_the_dense_formulas(mean, data):
    X, _, Z, _ = data
    posterior = Sparse.build(KERNEL, X, Z, mean)
    rng = np.random.default_rng(9)
    sites = Sites(rng.uniform(-0.1, 2.0, 30), rng.standard_normal(30))
    state = posterior.condition(sites)
    assert state.negative_sites == np.sum(sites.tau < 0) > 0
    Kuf = KERNEL.matrix(Z, X)
    Q = Kuf.T @ np.linalg.solve(KERNEL.matrix(Z), Kuf)
    dense = Dense.build(Q + 1e-10 * np.eye(30), mean).condition(sites)
    np.testing.assert_allclose(state.marginals.mean, dense.marginals.mean, atol=1e-6)
    np.testing.assert_allclose(state.marginals.variance, dense.marginals.variance, atol=1e-6)
    np.testing.assert_allclose(state.marginals.extra, 1.3 - np.diagonal(Q), atol=1e-12)
    assert state.log_normaliser == pytest.approx(dense.log_normaliser, abs=1e-6)


def test_power_ep_on_the_dense_posterior_is_exact_regression(data):
    X, y, _, _ = data
    posterior = Dense.build(KERNEL.matrix(X))
    for alpha in (1.0, 0.3, np.linspace(0.1, 1.0, 30)):
        found = infer(posterior, GaussianNoise(NOISE), y, power_rule(alpha))
        exact = closed_form(Regression(X, y, alpha), KERNEL, X, NOISE)
        assert found.log_evidence == pytest.approx(exact.log_evidence, abs=1e-7)


@pytest.mark.parametrize("alpha", [1.0, np.linspace(0.2, 1.0, 30)], ids=["1", "each"])
def test_sequential_sweeps_reach_the_same_fixed_point(alpha, data):
    X, y, Z, _ = data
    posterior = Sparse.build(KERNEL, X, Z)
    found = infer(posterior, GaussianNoise(NOISE), y, power_rule(alpha), Options(schedule="sequential"))
    exact = closed_form(Regression(X, y, alpha), KERNEL, Z, NOISE)
    assert found.status.converged
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=1e-7)


def test_a_power_for_every_site_or_an_error(data):
    X, y, Z, _ = data
    posterior = Sparse.build(KERNEL, X, Z)
    with pytest.raises(ValueError, match="3 powers for 30 sites"):
        infer(posterior, GaussianNoise(NOISE), y, power_rule(np.linspace(0.2, 0.9, 3)))
    labels = np.where(y > 0, 1.0, -1.0)
    one, ep = (infer(posterior, Probit(), labels, rule) for rule in (power_rule(1.0), RULES["ep"]))
    assert one.log_evidence == ep.log_evidence


def nearly_singular():
    """Sixty priors of seven pseudo-points each that are almost linearly dependent, or why there is none."""
    X, kernel = np.random.default_rng(0).uniform(0, 3, (60, 1)), SquaredExponential(1.0, 4.02777)
    for seed in range(60):
        try:
            yield Sparse.build(kernel, X, X[np.random.default_rng(seed).choice(60, 7, False)])
        except NotPositiveDefinite as error:
            yield error


def test_conditional_variances_below_zero_are_counted_or_refused():
    found = list(nearly_singular())
    refused = [f for f in found if isinstance(f, NotPositiveDefinite)]
    built = [f for f in found if isinstance(f, Sparse)]
    assert any(error.name.startswith("K - Q") for error in refused)
    for prior in built:
        raw = 1.0 - np.einsum("mn,mn->n", prior.V, prior.V)
        assert np.all(raw >= -ROUNDING) and np.all(prior.extra >= 0)
        assert prior.floored == np.sum(raw < 0)
    assert max(prior.floored for prior in built) > 0


def test_predictive_variances_lost_to_rounding_are_an_error(data):
    X, _, Z, _ = data
    posterior = Sparse.build(KERNEL, X, Z)
    state = posterior.condition(Sites(np.full(30, 1e20), np.zeros(30)))
    with pytest.raises(ArithmeticError, match="a predictive variance is lost to rounding"):
        posterior.predict(state, Z)


def test_bad_input(data):
    X, _, Z, _ = data
    with pytest.raises(NotPositiveDefinite, match="pseudo-inputs"):
        Sparse.build(KERNEL, X, np.vstack([Z, Z]))
    assert Sparse.build(KERNEL, X, np.vstack([Z, Z]), jitter=1e-6).jitter == pytest.approx(1.3e-6)
    for alpha in (0.0, 1e-9, -0.5, 1.5, np.nan):
        with pytest.raises(ValueError, match="powers"):
            power_rule(alpha)
    with pytest.raises(NotPositiveDefinite, match="Lambda"):
        Sparse.build(KERNEL, X, Z).condition(Sites(np.full(30, -5.0), np.zeros(30)))
