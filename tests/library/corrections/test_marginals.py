"""Corrected marginals against the exact ones of Markov chains."""

import numpy as np
import pytest
from chain import Chain
from test_evidence import COUNTS, EXAMPLES, chain_of

import tilted
from tilted import likelihoods
from tilted.corrections import correct_marginals
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT, change
from tilted.kernels import Linear
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.poisson import PoissonSquare

GRADES = (CHEAP, NEARLY_EXACT)
QUERIES = np.array([-0.2, 0.1, 0.5, 1.3])
LEFT = {
    ("cheap", "probit"): 0.8,
    ("cheap", "logit"): 0.7,
    ("cheap", "poisson-square"): 0.7,
    ("nearly-exact", "probit"): 0.03,
    ("nearly-exact", "logit"): 0.03,
    ("nearly-exact", "noisy-step"): 0.2,
    ("nearly-exact", "poisson-square"): 0.05,
}


def errors(chain, x, grade):
    """EP's and the correction's changes from the exact moments, and the corrected marginals."""
    base = chain.base()
    asked = chain.asked(base, x)
    found = correct_marginals(base, asked, grade)
    exact = chain.moments(x)
    ep = change((asked.mean, asked.variance), exact)
    return ep, change((found.mean, found.variance), exact), found, exact


@pytest.mark.parametrize("n", [2, 8])
@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("grade", GRADES)
def test_nearer_to_the_exact_marginals(grade, name, n):
    chain, _ = chain_of(name, n)
    ep, corrected, found, exact = errors(chain, QUERIES, grade)
    ok = found.trusted
    if (grade, name) == ("cheap", "noisy-step"):  # few are trusted
        assert np.all(corrected <= ep + 0.01)
        return
    assert np.mean(ok) > 0.5, found.message
    assert np.linalg.norm(corrected[ok]) < LEFT[grade, name] * np.linalg.norm(ep[ok]) + 2e-4
    if grade == "nearly-exact":
        np.testing.assert_allclose(found.skewness[ok], exact[2][ok], atol=0.05)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("grade", GRADES)
def test_one_datum_is_corrected_exactly(grade, name):
    """EP has the moments already; EP-FACT has the whole density, and so has EP conditioned."""
    chain, _ = chain_of(name, 1)
    _, corrected, found, exact = errors(chain, np.array([0.0, 0.1, 0.4, 1.0]), grade)
    assert np.all(found.trusted), found.message
    assert np.max(corrected) < 1e-3
    np.testing.assert_allclose(found.skewness, exact[2], atol=2e-3)


@pytest.mark.parametrize("name", ["probit", "logit", "poisson-square"])
def test_log_predictive(name):
    chain, _ = chain_of(name, 8)
    y = np.array([1.0, -1.0, 1.0, 1.0]) if name != "poisson-square" else np.array([0.0, 3.0, 9.0, 20.0])
    exact, found = chain.log_predictive(QUERIES, y), chain.corrected(QUERIES, "nearly-exact")
    base = chain.base()
    asked = chain.asked(base, QUERIES)
    ep = chain.likelihood.log_predictive(y, asked.mean, asked.variance)
    assert np.all(found.trusted)
    assert np.max(np.abs(found.log_predictive(y) - exact)) < 0.1 * np.max(np.abs(ep - exact)) + 1e-5


def test_log_density():
    chain, _ = chain_of("probit", 8)
    found = chain.corrected(QUERIES, "nearly-exact")
    _, f, w, densities = chain.exact(QUERIES)
    near = np.abs(f) < 9.0
    density = np.exp(found.log_density(np.tile(f[near], (4, 1))))
    np.testing.assert_allclose(density, np.array(densities)[:, near], atol=3e-4)
    np.testing.assert_allclose(density @ w[near], 1.0, atol=1e-3)


@pytest.mark.parametrize("grade", GRADES)
def test_vanishes_with_gaussian_noise(grade):
    chain = Chain(0.3 * np.arange(5), np.array([0.3, 1.0, -2.0, 0.0, 0.4]), GaussianNoise(0.4), 2.0)
    base = chain.base()
    asked = chain.asked(base, QUERIES)
    found = correct_marginals(base, asked, grade)
    assert np.all(found.trusted) and np.max(found.trust) < 1e-6
    np.testing.assert_allclose(found.mean, asked.mean, atol=1e-8)
    np.testing.assert_allclose(found.variance, asked.variance, rtol=1e-7)
    np.testing.assert_allclose(found.skewness, 0.0, atol=1e-7)


@pytest.mark.parametrize("grade", GRADES)
@pytest.mark.parametrize("mean", [0.05, 0.0])
def test_two_lobes_get_the_answer_of_ep(grade, mean):
    """Of -f as well as f, and of single tilted distributions: it says no."""
    chain = Chain(0.4 * np.arange(5), COUNTS[:5], PoissonSquare(), 1.0, 1.0, mean)
    base = chain.base()
    asked = chain.asked(base, QUERIES)
    found = correct_marginals(base, asked, grade)
    assert not np.any(found.trusted)
    assert "4 of 4 latents are EP's" in found.message and "lobe" in found.message
    np.testing.assert_array_equal(found.mean, asked.mean)
    np.testing.assert_array_equal(found.variance, asked.variance)
    predicted = chain.likelihood.log_predictive(np.full(4, 3.0), asked.mean, asked.variance)
    np.testing.assert_allclose(found.log_predictive(np.full(4, 3.0)), predicted, atol=1e-8)


@pytest.mark.parametrize("likelihood", ["poisson-exp", "negative-binomial", "laplace", "probit"])
def test_a_latent_that_determines_all_others(likelihood):
    """On a line through the origin there is one unknown: nothing is left to condition, and all is exact."""
    y = np.array([1.0, -1.0, 1.0, -1.0]) if likelihood == "probit" else np.array([1.0, 0.0, 2.0, 3.0])
    X = np.array([[1.0], [2.0], [3.0], [-1.0]])
    likelihood = likelihoods.get(likelihood)
    fit = tilted.fit(X, y, likelihood=likelihood, kernel=Linear(1.0), mean=1.0, optimise=False)
    w = np.linspace(-12.0, 12.0, 400_001)
    log_p = -0.5 * w**2
    for x, target in zip(X[:, 0], y, strict=True):
        log_p = log_p + likelihood.log_likelihood(np.full(1, target), 1.0 + x * w)
    p = np.exp(log_p - np.max(log_p))
    mean = np.sum(p * w) / np.sum(p)
    spread = np.sqrt(np.sum(p * (w - mean) ** 2) / np.sum(p))
    for grade in GRADES:
        one = fit.corrected([[1.5]], grade)
        assert one.trusted[0]
        assert one.mean[0] == pytest.approx(1.0 + 1.5 * mean, abs=1e-6)
        assert np.sqrt(one.variance[0]) == pytest.approx(1.5 * spread, rel=1e-6)


@pytest.mark.parametrize("grade", ["cheap", "nearly-exact", "sampled"])
def test_labels_and_places_that_are_none_are_refused(grade):
    """Labels 0 and 1 had scores, silently: log 1/2 for every 0; one label was taken for all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 1))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=25) > 0, 1.0, -1.0)
    fitted = tilted.fit(X, y, kernel=tilted.SquaredExponential(1.0, 1.0), optimise=False)
    found = fitted.corrected(X[:3] + 0.1, grade)
    np.testing.assert_array_equal(
        found.log_predictive([1, -1, 1]), found.log_predictive(np.array([1.0, -1, 1]))
    )
    for bad in ([0, 1, 1], [1], [1, -1, np.nan]):
        with pytest.raises(ValueError):
            found.log_predictive(bad)
    assert found.log_density([[0.0], [1.0], [2.0]]).shape == (3, 1)
    for bad in ([0.0, 1.0, 2.0], [[0.0]], [[np.nan], [0.0], [0.0]]):
        with pytest.raises(ValueError, match="a row a latent"):
            found.log_density(bad)
