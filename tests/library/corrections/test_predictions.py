"""Predictions from corrected densities: narrow targets, far tails, moments of counts."""

import chain as exact
import mpmath
import numpy as np
import pytest
from chain import Chain
from scipy.special import logsumexp

import tilted
from tilted import GPPoissonRegressor, SparseGPPoissonRegressor
from tilted.corrections.densities import Densities, Own, Spline
from tilted.likelihoods import get
from tilted.likelihoods.exponential_link import NegativeBinomial
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.laplace import LaplaceNoise
from tilted.likelihoods.student_t import StudentT

KERNEL = tilted.SquaredExponential(1.0, 1.0)
X, NEW = [[0.0], [1.0], [2.0]], [[5.0], [5.2], [5.4]]


def plain(mean, sd, likelihood, log_factor=None):
    """Densities without own data, knots half a sd apart up to 8 sd."""
    mean, sd = np.asarray(mean, dtype=float), np.asarray(sd, dtype=float)
    knots = np.tile(np.linspace(-8.0, 8.0, 31), (len(mean), 1))
    values = np.zeros_like(knots) if log_factor is None else log_factor(knots)
    none = Own(*(np.zeros((len(mean), 0)) for _ in Own._fields))
    return Densities(mean, sd, Spline.through(knots, values), none, likelihood)


@pytest.mark.parametrize("noise", [1e-6, 1e-4, 1e-2])
def test_narrow_noise_is_seen_between_the_knots(noise):
    """With Gaussian noise EP is exact; log densities were -211, -97 and -92 at a noise of 1e-6."""
    y = [0.1, 0.3, -0.2]
    fitted = tilted.fit(X, [0.0, 1.0, 0.5], GaussianNoise(noise), kernel=KERNEL, optimise=False)
    for grade in ("cheap", "nearly-exact"):
        np.testing.assert_allclose(
            fitted.log_predictive(NEW, y, grade), fitted.log_predictive(NEW, y), rtol=1e-6
        )


def test_large_counts_are_seen_between_the_knots():
    """Of latents that data hardly correct, EP's to 1e-3; they were -32, -59 and -17."""
    y = [1e5, 2e5, 1.2e5]
    counts = [1e5, 2e5, 1.5e5]
    fitted = tilted.fit(X, counts, "poisson-exp", kernel=KERNEL, mean=11.9, optimise=False)
    found, ep = fitted.log_predictive(NEW, y, "cheap"), fitted.log_predictive(NEW, y)
    np.testing.assert_allclose(found, ep, atol=1e-3)


REALS, COUNTS = (0.0, 2.0, (0.4, 3.0, -9.0)), (9.0, 1.5, (0.0, 8000.0, 1e6))


@pytest.mark.parametrize(
    ("likelihood", "case"),
    [
        (GaussianNoise(1e-4), REALS),
        (LaplaceNoise(1e-3), REALS),
        (StudentT(1e-3), REALS),
        (get("poisson-exp"), COUNTS),
        (NegativeBinomial(1e-3), COUNTS),
        (get("poisson-square"), (9.0, 1.5, (0.0, 81.0, 400.0))),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_densities_that_are_no_gaussians(likelihood, case):
    """Against trapezoids a hundredth of the noise apart; at targets near, at the side and far off."""
    mean, sd, y = case
    densities = plain(np.full(3, mean), np.full(3, sd), likelihood, lambda x: 0.3 * np.sin(x))
    found, x = densities.log_predictive(np.array(y)), np.linspace(-20.0, 20.0, 4_000_001)
    log_p = 0.3 * np.sin(np.clip(x, -8.0, 8.0)) - 0.5 * x**2
    mass = logsumexp(log_p[np.abs(x) <= 8.0])
    exact = [logsumexp(log_p + likelihood.log_likelihood(one, mean + sd * x)) - mass for one in y]
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=2e-4)


def test_narrow_noise_keeps_its_digits():
    """At a noise a hundred million times narrower than the latent."""
    noise, y = GaussianNoise(1e-16), np.array([0.3, -1.0, 4.0])
    found = plain(np.ones(3), np.ones(3), noise).log_predictive(y)
    np.testing.assert_allclose(found, noise.log_predictive(y, np.ones(3), np.ones(3)), rtol=1e-6)


def test_own_data_and_narrow_targets(monkeypatch):
    """A training latent's density is sharp by itself: a count's at a wide prior, and new targets too."""
    monkeypatch.setattr(exact, "REACH", 6.0)
    monkeypatch.setattr(exact, "PANELS", 120)
    y, x = np.array([3.0, 150.0]), np.array([0.0, 1.5])
    chain = Chain(x, y, get("poisson-exp"), 9.0, 1.0, 2.0)
    found = chain.corrected(x, "nearly-exact")
    new = np.array([40.0, 180.0])
    assert np.all(found.trusted), found.message
    np.testing.assert_allclose(found.log_predictive(new), chain.log_predictive(x, new), atol=2e-3)


def test_labels_that_rest_on_the_tail_beyond_the_knots():
    """Of a Gaussian with mean 40 and sd 2, to mpmath's digits; it was half of its value off, in nats."""
    means, sds = [40.0, 40.0, 12.0, 0.3, -3.0], [2.0, 3.0, 1.0, 1.0, 0.1]
    y, mpmath.mp.dps = np.array([-1.0, -1.0, -1.0, 1.0, 1.0]), 30
    found = plain(means, sds, get("probit")).log_predictive(y)
    exact = [
        float(mpmath.log(mpmath.ncdf(one * m / mpmath.sqrt(1 + s**2))))
        for one, m, s in zip(y, means, sds, strict=True)
    ]
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_labels_far_off_against_the_exact_posterior(monkeypatch):
    """Of a chain far on one side of the step: its log probabilities were 0.88 too small."""
    monkeypatch.setattr(exact, "REACH", 14.0)
    monkeypatch.setattr(exact, "PANELS", 120)
    chain, x = (
        Chain(0.3 * np.arange(4), np.ones(4), get("probit"), 4.0, 1.0, 20.0),
        np.array([0.1, 0.75, 2.5]),
    )
    found = chain.corrected(x, "nearly-exact")
    assert np.all(found.trusted)
    np.testing.assert_allclose(
        found.log_predictive(-np.ones(3)), chain.log_predictive(x, -np.ones(3)), atol=1e-3
    )


LINKS = [get("poisson-exp"), NegativeBinomial(0.7), get("poisson-square")]


@pytest.mark.parametrize("likelihood", LINKS, ids=lambda one: one.name)
def test_moments_of_counts_under_gaussians_are_the_formula(likelihood):
    """From latents so narrow that squares would cancel to those of which a far tail has the counts."""
    m, sd = np.array([0.3, 5.0, 2.0, 2.0, -3.0, 1.0]), np.array([1.0, 1e-7, 0.1, 3.0, 2.0, 5.0])
    found = plain(m, sd, likelihood).count_moments()
    np.testing.assert_allclose(found, likelihood.target_moments(m, sd**2), rtol=1e-8)


@pytest.mark.parametrize("likelihood", LINKS, ids=lambda one: one.name)
def test_moments_of_counts_of_other_densities(likelihood):
    """Against trapezoids; a count's variance given f is the rate, and what the dispersion adds."""
    mean, sd = np.array([0.5, 2.0, -1.0]), np.array([0.2, 1.0, 2.5])
    found = plain(mean, sd, likelihood, lambda x: 0.5 * np.sin(x)).count_moments()
    x = np.linspace(-20.0, 20.0, 400_001)
    p = np.exp(0.5 * np.sin(np.clip(x, -8.0, 8.0)) - 0.5 * x**2)
    p /= p.sum()
    for i in range(3):
        f = mean[i] + sd[i] * x
        rate = f**2 if likelihood.name == "poisson-square" else np.exp(f)
        first, more = p @ rate, getattr(likelihood, "dispersion", 0.0)
        variance = first + p @ (rate - first) ** 2 + more * (p @ rate**2)
        np.testing.assert_allclose((found[0][i], found[1][i]), (first, variance), rtol=1e-3)


def test_levels_have_the_moments_of_their_formula():
    """Their likelihood does not say what a level is given f."""
    f = tilted.fit(np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2.0]), "ordinal", optimise=False)
    found = f.corrected(np.array([[0.5], [3.0]]), "cheap")
    expected = f.problem.likelihood.target_moments(found.mean, found.variance)
    np.testing.assert_array_equal(found.target_moments(), expected)


def test_huge_counts_are_infinite_without_a_warning():
    with np.errstate(all="raise", under="ignore"):
        mean, variance = plain([0.0, 300.0], [40.0, 10.0], get("poisson-exp")).count_moments()
    assert mean[1] == pytest.approx(np.exp(350.0)) and np.isinf(variance[0])


def exact_counts(K, mean, y, likelihood):
    """Mean and variance of a new count, the last of the latents, by Gauss-Hermite over those of the data."""
    x, w = np.polynomial.hermite_e.hermegauss(80)
    z = np.stack([part.ravel() for part in np.meshgrid(x, x, x)])
    log_w = np.sum(np.log(np.stack([part.ravel() for part in np.meshgrid(w, w, w)])), axis=0)
    L = np.linalg.cholesky(K)
    f = mean + L[:3, :3] @ z
    log_w += sum(likelihood.log_likelihood(np.full_like(f[0], one), at) for one, at in zip(y, f, strict=True))
    w = np.exp(log_w - logsumexp(log_w))
    first, variance = likelihood.target_moments(mean + L[3, :3] @ z, np.full(len(w), L[3, 3] ** 2))
    expected = w @ first
    return expected, w @ (variance + (first - expected) ** 2)


@pytest.mark.parametrize("grade", ["cheap", "nearly-exact"])
@pytest.mark.parametrize("likelihood", LINKS, ids=lambda one: one.name)
def test_predicted_counts_against_the_exact_posterior(likelihood, grade):
    """Three counts; mean and spread of the next were 0.331 and 0.900 for 0.286 and 0.648."""
    square = likelihood.name == "poisson-square"
    kernel, mean = tilted.SquaredExponential(0.3 if square else 4.0, 1.0), 2.0 if square else 0.3
    y, at = np.array([3.0, 4.0, 9.0]) if square else np.array([0.0, 0.0, 1.0]), np.array(X)
    for new in (0.2, 1.6, 2.0, 2.8):
        model = GPPoissonRegressor(
            likelihood=likelihood, correction=grade, kernel=kernel, optimise=None, mean=mean
        ).fit(at, y)
        K = kernel.matrix(np.append(at, [[new + 1e-6]], axis=0)) + 1e-10 * np.eye(4)
        first, variance = exact_counts(K, mean, y, likelihood)
        found, std = model.predict([[new]], return_std=True)
        error = {"cheap": 0.03, "nearly-exact": 3e-3}[grade]
        np.testing.assert_allclose([found[0], std[0]], [first, np.sqrt(variance)], rtol=error)
        assert model.predict([[new]])[0] == found[0]


def test_counts_that_are_not_corrected_keep_the_formula():
    """At mean 0 the signs of f are alike, and the answers are EP's."""
    with pytest.warns(UserWarning):
        model = GPPoissonRegressor(correction="cheap", kernel=KERNEL, optimise=None, mean=0.0)
        model.fit(X, [1.0, 4.0, 2.0])
        found = model.predict(NEW, return_std=True)
        m, sd = model.predict_latent(NEW, return_std=True)
    mean, variance = model.likelihood_.target_moments(m, sd**2)
    np.testing.assert_array_equal(found, (mean, np.sqrt(variance)))


@pytest.mark.parametrize("grade", ["cheap", "nearly-exact"])
def test_sparse_models_predict_by_the_corrected_density_too(grade):
    how = {"likelihood": "poisson-exp", "correction": grade, "optimise": None, "mean": 0.3}
    how["kernel"] = tilted.SquaredExponential(4.0, 1.0)
    dense = GPPoissonRegressor(**how).fit(X, [0.0, 0.0, 1.0])
    sparse = SparseGPPoissonRegressor("ep", pseudo_inputs=X, jitter=1e-11, **how).fit(X, [0.0, 0.0, 1.0])
    at = [[0.2], [1.4], [3.0]]
    np.testing.assert_allclose(
        sparse.predict(at, return_std=True), dense.predict(at, return_std=True), rtol=1e-4
    )


@pytest.mark.parametrize("likelihood", LINKS, ids=lambda one: one.name)
def test_probabilities_of_counts_have_the_predicted_moments(likelihood):
    """They sum to 1 and have that mean and variance, at training inputs and elsewhere."""
    fitted = tilted.fit(
        X, [3.0, 4.0, 9.0], likelihood, kernel=tilted.SquaredExponential(0.3, 1.0), mean=1.5, optimise=False
    )
    found = fitted.corrected([[0.0], [0.5], [2.0]])
    assert np.all(found.trusted), found.message
    counts = np.arange(400.0)
    p = np.exp([found.log_predictive(np.full(3, one)) for one in counts]).T
    mean, variance = found.target_moments()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(p @ counts, mean, rtol=1e-5)
    np.testing.assert_allclose(np.sum(p * (counts - mean[:, None]) ** 2, axis=1), variance, rtol=1e-4)
