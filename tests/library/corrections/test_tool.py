"""Corrections as ``tilted.fit`` and the estimators offer them."""

import numpy as np
import pytest

import tilted
from tests.helpers import differences
from tilted import GPClassifier
from tilted.corrections import CorrectionWarning
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT
from tilted.kernels import SquaredExponential, White

GRADES = (CHEAP, NEARLY_EXACT)
KERNEL = SquaredExponential(25.0, 1.0)
SYMMETRIC = np.array([9.0, 16.0, 12.0, 9.0])


@pytest.fixture
def fitted(toy):
    X, y = toy
    return tilted.fit(X, y, kernel=KERNEL, optimise=False)


@pytest.mark.parametrize("grade", GRADES)
def test_fits_answer_with_corrections(fitted, grade):
    X = np.concatenate([fitted.problem.X[:2], [[0.3, -0.2], [50.0, 50.0]]])
    y = np.array([1.0, -1.0, 1.0, 1.0])
    found = fitted.corrected(X, grade)
    mean, variance = fitted.predict_latent(X, correction=grade)
    np.testing.assert_array_equal(found.mean, mean)
    np.testing.assert_array_equal(found.variance, variance)
    np.testing.assert_array_equal(found.log_predictive(y), fitted.log_predictive(X, y, correction=grade))
    before = fitted.predict_latent(X)
    assert np.all(found.trusted) and found.message == "4 latents corrected"
    assert np.max(np.abs(np.log(variance / before[1]))) > 0.02
    np.testing.assert_allclose([mean[3], variance[3]], [before[0][3], before[1][3]], atol=1e-6)


def test_corrections_start_from_the_fixed_point_of_ep_whatever_the_method(fitted):
    X, y = fitted.problem.X, fitted.problem.y
    for method in ("qp", "vb"):
        other = tilted.fit(X, y, inference=method, kernel=KERNEL, optimise=False)
        for one, two in zip(
            other.predict_latent(X[:3], "cheap"), fitted.predict_latent(X[:3], "cheap"), strict=True
        ):
            np.testing.assert_allclose(one, two, rtol=1e-6)
        assert other.corrected_evidence().ep == pytest.approx(fitted.log_evidence, abs=1e-8)


def test_what_is_not_trusted_warns_and_is_the_answer_of_ep():
    X = 0.4 * np.arange(4.0)[:, None]
    fit = tilted.fit(X, SYMMETRIC, "poisson-square", kernel=SquaredExponential(3.0), mean=0.1, optimise=False)
    before = fit.predict_latent(X)
    with pytest.warns(CorrectionWarning, match="4 of 4 latents are EP's"):
        after = fit.predict_latent(X, correction="cheap")
    np.testing.assert_allclose(after, before, rtol=1e-6)
    with pytest.warns(CorrectionWarning):
        log_p = fit.log_predictive(X, SYMMETRIC, correction="cheap")
    np.testing.assert_allclose(log_p, fit.log_predictive(X, SYMMETRIC), atol=1e-6)
    assert not fit.corrected_evidence().trusted


@pytest.mark.parametrize("wrong", ["exact", "", 1, True])
def test_unknown_corrections_are_refused(fitted, wrong):
    X, y = fitted.problem.X[:2], fitted.problem.y[:2]
    for call in (fitted.predict_latent, fitted.corrected, lambda X, c: fitted.log_predictive(X, y, c)):
        with pytest.raises(ValueError, match="correction must be one of 'cheap', 'nearly-exact'"):
            call(X, wrong)
    with pytest.raises(ValueError, match="unknown correction"):
        GPClassifier(correction=wrong).fit(fitted.problem.X, fitted.problem.y)


def test_duplicates_and_independent_noise(toy):
    """Rows that coincide, with each other and with queries, and latents with noise of their own."""
    X, y = np.concatenate([toy[0], toy[0][:5]]), np.concatenate([toy[1], toy[1][:5]])
    for kernel in (KERNEL, KERNEL + White(0.3)):
        fit = tilted.fit(X, y, kernel=kernel, optimise=False)
        cheap, near = (fit.corrected(X[:6], grade) for grade in GRADES)
        assert np.all(near.trusted) and np.all(np.abs(np.log(cheap.variance / near.variance)) < 0.5)


@pytest.mark.parametrize("grade", GRADES)
@pytest.mark.parametrize("likelihood", ["probit", "logit"])
def test_classifiers(toy, grade, likelihood):
    X, y = toy
    model = GPClassifier(kernel=KERNEL, optimise=None, likelihood=likelihood, correction=grade).fit(X, y)
    plain = GPClassifier(kernel=KERNEL, optimise=None, likelihood=likelihood).fit(X, y)
    fit = model.models_[0].fit
    p = model.predict_proba(X[:5])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.log(p[:, 1]), fit.log_predictive(X[:5], np.ones(5), grade), atol=1e-7)
    assert np.max(np.abs(p - plain.predict_proba(X[:5]))) > 1e-3
    mean, sd = model.predict_latent(X[:5], return_std=True)
    np.testing.assert_allclose((mean, sd**2), fit.predict_latent(X[:5], grade), rtol=1e-12)
    with pytest.raises(ValueError, match="no corrected covariance"):
        model.predict_latent(X, return_cov=True)
    assert model.log_evidence_ == plain.log_evidence_
    assert model.log_marginal_likelihood() == pytest.approx(fit.corrected_evidence().value, abs=1e-8)


def test_gradient_of_the_corrected_evidence(toy):
    model = GPClassifier(kernel=KERNEL, optimise=None, correction="cheap").fit(*toy)
    value, slope = model.log_marginal_likelihood(model.theta_, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood(), abs=1e-10)
    assert slope == pytest.approx(differences(model.log_marginal_likelihood, model.theta_, 1e-3), abs=5e-5)


@pytest.mark.slow
def test_where_the_cheap_density_does_not_fall_off_the_nearly_exact_one_is_refused():
    """Separable labels under a wide prior: EP-FACT rises at the edge, and values where it falls coincide."""
    rng = np.random.default_rng(0)
    for _ in range(4):
        X, new = rng.normal(size=(30, 2)), rng.normal(size=(45, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    fit = tilted.fit(X, y, kernel=SquaredExponential(1e5, 10.0), optimise=False)
    found = fit.corrected(new[15:30], "nearly-exact")
    assert np.all(np.isfinite(found.variance)) and "their densities do not fall off: 1" in found.message
    mean, variance = fit.predict_latent(new[15:30])
    refused = ~found.trusted
    assert refused.sum() == 1
    assert found.mean[refused] == mean[refused] and found.variance[refused] == variance[refused]
