"""Corrected marginals against the exact ones of Markov chains."""

import numpy as np
import pytest
from chain import Chain
from scipy.stats import norm
from test_evidence import COUNTS, EXAMPLES, chain_of

import tilted
from tilted import likelihoods
from tilted.corrections import correct_marginals
from tilted.corrections.conditioned import solve
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT, change
from tilted.inference.options import Options
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


@pytest.mark.parametrize("n", [2, 3, 8])
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
def test_training_latents(name):
    chain, _ = chain_of(name, 5)
    ep, corrected, found, _ = errors(chain, chain.x, "nearly-exact")
    ok = found.trusted
    assert np.mean(ok) > 0.5, found.message
    assert np.linalg.norm(corrected[ok]) < LEFT["nearly-exact", name] * np.linalg.norm(ep[ok]) + 2e-4


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


def test_an_inference_that_did_not_converge_is_not_corrected():
    chain, _ = chain_of("probit", 8)
    base = chain.base(options=Options(max_sweeps=1, newton=False))
    found = correct_marginals(base, chain.asked(base, QUERIES), "cheap")
    assert not np.any(found.trusted) and "did not converge" in found.message


@pytest.mark.parametrize("grade", GRADES)
def test_parts_do_not_matter_and_are_reported(grade, monkeypatch):
    from tilted.corrections import conditioned, factors, marginals

    chain, _ = chain_of("logit", 6)
    whole = chain.corrected(np.concatenate([QUERIES, chain.x[:1]]), grade)
    monkeypatch.setattr(marginals, "CHUNK", 3)
    monkeypatch.setattr(factors, "SIZE", 100)
    monkeypatch.setattr(conditioned, "MEMORY", 1.0)
    done = []
    base = chain.base()
    asked = chain.asked(base, np.concatenate([QUERIES, chain.x[:1]]))
    parts = correct_marginals(base, asked, grade, done.append)
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-6)
    np.testing.assert_allclose(parts.variance, whole.variance, rtol=1e-6)
    assert done == sorted(done) and done[-1] == 5 and len(done) > 1


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


@pytest.mark.parametrize("grade", GRADES)
def test_steps_of_determined_data_that_are_not_at_zero(grade):
    """f = 1 + w x: the four answers are of one w, whose density is a Gaussian times steps at -1 / x."""
    x, y = np.array([1.0, -0.5, 2.0, 0.3, 1.5, -1.2]), np.array([1.0, 1.0, -1.0, 1.0, 1.0, -1.0])
    fit = tilted.fit(x[:, None], y, likelihood="noisy-step", kernel=Linear(100.0), mean=1.0, optimise=False)
    Q = np.array([[1.0], [0.01], [-3.0], [0.1]])
    found = fit.corrected(Q, grade)
    ends = np.sort(np.concatenate([[-np.inf, np.inf], -1.0 / x]))
    between = np.concatenate([[ends[1] - 1.0], 0.5 * (ends[1:-2] + ends[2:-1]), [ends[-2] + 1.0]])
    weights = np.prod(np.where((1.0 + between[:, None] * x) * y > 0, 0.9, 0.1), axis=1)
    below, above = ends[:-1] / 10.0, ends[1:] / 10.0
    mass = weights * (norm.cdf(above) - norm.cdf(below))
    first = weights * (norm.pdf(below) - norm.pdf(above))
    edge = [np.where(np.isfinite(z), z, 0.0) * norm.pdf(z) for z in (below, above)]
    second = mass + weights * (edge[0] - edge[1])
    mean = 10.0 * np.sum(first) / np.sum(mass)
    spread = np.sqrt(100.0 * np.sum(second) / np.sum(mass) - mean**2)
    np.testing.assert_allclose((found.mean - 1.0) / Q[:, 0], mean, rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(found.variance) / np.abs(Q[:, 0]), spread, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e9])
def test_linear_systems_of_fewer_unknowns_than_vectors(scale):
    """A basis was filled up with rounding then, and the squares were singular."""
    rng = np.random.default_rng(2)
    A, x = scale * (np.eye(4) + 0.3 * rng.standard_normal((3, 4, 4))), rng.standard_normal((3, 4))
    A[2] = scale * np.eye(4)  # complete after one vector
    b = np.einsum("bij,bj->bi", A, x)
    found = solve(lambda u: np.einsum("bij,bj->bi", A, u), b, 12)
    np.testing.assert_allclose(found, x, atol=1e-10)


def test_unknown_grades_are_refused():
    with pytest.raises(ValueError, match="'cheap', 'nearly-exact', 'sampled', got 'exact'"):
        chain_of("probit", 2)[0].corrected(QUERIES, "exact")


def test_far_from_the_data_there_is_nothing_to_correct():
    chain, _ = chain_of("probit", 4)
    found = chain.corrected(np.array([60.0]), "nearly-exact")
    assert found.trusted[0]
    np.testing.assert_allclose([found.mean[0], found.variance[0]], [0.0, 4.0], atol=1e-6)


def test_wide_latents_and_probabilities_of_a_narrow_step():
    """At prior variances of 1e4 latents are 100 wide, and the step of Phi is 1 wide."""
    likelihood, y, _, _, _ = EXAMPLES["probit"]
    chain = Chain(0.02 * np.arange(1, 7) ** 2, np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]), likelihood, 1e4)
    x = np.array([0.25, 0.4, 1.0])
    found, exact = chain.corrected(x, "nearly-exact"), chain.log_predictive(x, np.ones(3))
    assert np.all(found.trusted), found.message
    np.testing.assert_allclose(found.log_predictive(np.ones(3)), exact, atol=2e-3)


@pytest.mark.parametrize("name", ["probit", "logit"])
def test_newton_converges_quadratically(name):
    from tilted.corrections import conditioned
    from tilted.gaussian import Sites

    chain, _ = chain_of(name, 8)
    base = chain.base()
    asked = chain.asked(base, np.array([0.3, 1.1]))
    K, free = conditioned._conditioned_priors(base, asked)
    sites = base.inference.sites
    start = Sites(np.tile(1.02 * sites.tau, (2, 1)), np.tile(0.99 * sites.nu, (2, 1)))
    batch = conditioned._Batch(base, K, np.zeros((2, 8)), free, start)
    residuals = []
    for _ in range(5):
        batch.condition()
        batch.look()
        residuals.append(batch.residual)
        batch.sites = batch.newton(batch.correlations(), np.ones(2, dtype=bool))
    assert residuals[0].max() > 0.01 and residuals[-1].max() < 1e-10
    for before, after in zip(residuals, residuals[1:], strict=False):
        assert np.all(after < before**2 + 1e-11)


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
    for bad in ([0, 1, 1], [1, 2, 2], [1], [1, -1, np.nan], [[1], [1], [1]]):
        with pytest.raises(ValueError):
            found.log_predictive(bad)
    assert found.log_density([[0.0], [1.0], [2.0]]).shape == (3, 1)
    for bad in ([0.0, 1.0, 2.0], [[0.0]], [[np.nan], [0.0], [0.0]]):
        with pytest.raises(ValueError, match="a row a latent"):
            found.log_density(bad)
