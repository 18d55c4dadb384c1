"""Corrections through pseudo-points, against dense ones of the same prior and against exact integrals."""

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

from tests.helpers import differences
from tilted import SparseGPClassifier, likelihoods
from tilted.corrections import (
    correct_evidence,
    correct_marginals,
    expand,
    queries,
    queries_through,
)
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT
from tilted.estimators import sparse as sparse_models
from tilted.kernels import SquaredExponential
from tilted.posteriors.dense import Dense
from tilted.posteriors.sparse import Sparse

GRADES = (CHEAP, NEARLY_EXACT)
KERNEL = SquaredExponential(9.0, 1.2)
NEW = np.array([[0.1, 0.0], [2.0, -1.0], [-0.4, 0.7]])


def dense_of(sparse):
    """The prior of the pseudo-points' f at the data."""
    return Dense.build(sparse.V.T @ sparse.V + np.diag(sparse.extra), sparse.mean)


def asked_of(base, sparse, X):
    V = sparse.pseudo.root @ sparse.pseudo.cross(X)
    return queries(base, V.T @ sparse.V, sparse.mean[0], sparse.pseudo.kernel.diagonal(X))


@pytest.fixture(params=["probit", "logit", "noisy-step", "poisson-square"])
def model(request, toy):
    """Likelihood, targets, and a prior through seven pseudo-points."""
    X, y = toy
    likelihood, counts = likelihoods.get(request.param), request.param == "poisson-square"
    y = np.where(y > 0, 6.0, 2.0) if counts else y
    kernel, mean = (SquaredExponential(0.3, 1.2), 2.0) if counts else (KERNEL, 0.3)
    return likelihood, y, Sparse.build(kernel, X, X[::4][:7], mean, 1e-6)


def test_the_same_as_dense_corrections_of_the_pseudo_points_prior(model):
    likelihood, y, sparse = model
    assert np.max(sparse.extra) > 0.05 * sparse.pseudo.kernel.variance
    through, dense = expand(sparse, likelihood, y), expand(dense_of(sparse), likelihood, y)
    np.testing.assert_allclose(through.correlations(), dense.correlations(), atol=1e-6)
    one, other = correct_evidence(through), correct_evidence(dense)
    assert one.trusted == other.trusted and one.correction != 0.0
    for name in ("ep", "value", "skewness_term", "kurtosis_term", "higher_terms", "third_order"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=2e-6)
    one = correct_marginals(through, queries_through(through, NEW), "cheap")
    other = correct_marginals(dense, asked_of(dense, sparse, NEW), "cheap")
    np.testing.assert_array_equal(one.trusted, other.trusted)
    for name in ("mean", "variance", "skewness", "trust"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-5, rtol=1e-5)


def test_nearer_to_the_exact_posterior_of_two_pseudo_points():
    """Given two pseudo-points the data are independent: an integral over two numbers."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.5, 1.5, size=(12, 1))
    y = np.where(np.sin(2.0 * X[:, 0]) + 0.6 * rng.normal(size=12) > 0, 1.0, -1.0)
    kernel, likelihood = SquaredExponential(16.0, 0.9), likelihoods.get("probit")
    sparse = Sparse.build(kernel, X, np.array([[-0.8], [0.9]]))
    z, w = np.polynomial.hermite_e.hermegauss(120)
    nodes, log_w = np.stack(np.meshgrid(z, z)).reshape(2, -1), np.add.outer(np.log(w), np.log(w)).ravel()
    log_p = log_ndtr(y[:, None] * (sparse.V.T @ nodes) / np.sqrt(1.0 + sparse.extra)[:, None]).sum(axis=0)
    log_p += log_w - logsumexp(log_w)
    exact = logsumexp(log_p)
    base = expand(sparse, likelihood, y)
    found = correct_evidence(base)
    assert found.trusted
    assert abs(found.value - exact) < 0.3 * abs(found.ep - exact)
    new = np.array([[-0.3], [0.2], [1.2]])
    V, p = sparse.pseudo.root @ sparse.pseudo.cross(new), np.exp(log_p - exact)
    h = V.T @ nodes
    mean = h @ p
    variance = (h - mean[:, None]) ** 2 @ p + kernel.diagonal(new) - np.sum(V**2, axis=0)
    cheap = correct_marginals(base, queries_through(base, new), "cheap")
    ep = sparse.predict(base.inference.state, new)[1]
    assert np.all(cheap.trusted)
    assert np.linalg.norm(np.log(cheap.variance / variance)) < 0.8 * np.linalg.norm(np.log(ep / variance))


def test_nearly_exact_marginals_are_of_dense_priors(model):
    likelihood, y, sparse = model
    base = expand(sparse, likelihood, y)
    with pytest.raises(ValueError, match="nearly exact marginals are of dense priors"):
        correct_marginals(base, queries_through(base, NEW), "nearly-exact")


@pytest.mark.parametrize("grade", GRADES)
def test_the_estimator(toy, grade):
    X, y = toy
    kept = {"kernel": KERNEL, "optimise": None, "mean": 0.2, "power": 0.5}
    model = SparseGPClassifier(correction=grade, pseudo_inputs=X[::4], **kept).fit(X, y)
    sparse = Sparse.build(KERNEL, X, X[::4], 0.2, 1e-6)
    dense = expand(dense_of(sparse), likelihoods.get("probit"), y)
    found = correct_marginals(dense, asked_of(dense, sparse, NEW), grade)
    mean, sd = model.predict_latent(NEW, return_std=True)
    np.testing.assert_allclose([mean, sd**2], [found.mean, found.variance], rtol=1e-4)
    log_p = model.predict_log_proba(NEW)
    np.testing.assert_allclose(log_p[:, 1], found.log_predictive(np.ones(3)), atol=1e-5)
    plain = SparseGPClassifier("ep", pseudo_inputs=X[::4], **kept).fit(X, y)
    assert np.max(np.abs(log_p - plain.predict_log_proba(NEW))) > 3e-4
    assert model.log_marginal_likelihood() == pytest.approx(correct_evidence(dense).value, abs=1e-5)
    value, slope = model.log_marginal_likelihood(model.theta_, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood(), abs=1e-10)
    assert slope == pytest.approx(differences(model.log_marginal_likelihood, model.theta_, 1e-3), abs=5e-5)


def test_what_the_estimator_refuses(toy, monkeypatch):
    X, y = toy
    with pytest.raises(ValueError, match="unknown correction"):
        SparseGPClassifier(correction="exact").fit(X, y)
    with pytest.raises(ValueError, match="without weights"):
        SparseGPClassifier(correction="cheap").fit(X, y, sample_weight=np.linspace(1.0, 2.0, 30))
    monkeypatch.setattr(sparse_models, "MOST_NEARLY_EXACT", 29)
    with pytest.raises(ValueError, match=r"at most 29 rows \('cheap' takes any\), got 30"):
        SparseGPClassifier(correction="nearly-exact").fit(X, y)
