"""Predictions from corrected densities: narrow targets, far tails, moments of counts."""

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

import tilted
from tilted import GPPoissonRegressor
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


@pytest.mark.parametrize("noise", [1e-6, 1e-2])
def test_narrow_noise_is_seen_between_the_knots(noise):
    """With Gaussian noise EP is exact; log densities were -211, -97 and -92 at a noise of 1e-6."""
    y = [0.1, 0.3, -0.2]
    fitted = tilted.fit(X, [0.0, 1.0, 0.5], GaussianNoise(noise), kernel=KERNEL, optimise=False)
    for grade in ("cheap", "nearly-exact"):
        np.testing.assert_allclose(
            fitted.log_predictive(NEW, y, grade), fitted.log_predictive(NEW, y), rtol=1e-6
        )


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
    found, x = densities.log_predictive(np.array(y)), np.linspace(-10.0, 10.0, 1_500_001)
    log_p = 0.3 * np.sin(np.clip(x, -8.0, 8.0)) - 0.5 * x**2
    mass = logsumexp(log_p[np.abs(x) <= 8.0])
    exact = [logsumexp(log_p + likelihood.log_likelihood(one, mean + sd * x)) - mass for one in y]
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=2e-4)


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


LINKS = [get("poisson-exp"), NegativeBinomial(0.7), get("poisson-square")]


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


def exact_counts(K, mean, y, likelihood):
    """Mean and variance of a new count, the last of the latents, by Gauss-Hermite over those of the data."""
    x, w = np.polynomial.hermite_e.hermegauss(30)
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
    for new in (0.2, 2.0):
        model = GPPoissonRegressor(
            likelihood=likelihood, correction=grade, kernel=kernel, optimise=None, mean=mean
        ).fit(at, y)
        K = kernel.matrix(np.append(at, [[new + 1e-6]], axis=0)) + 1e-10 * np.eye(4)
        first, variance = exact_counts(K, mean, y, likelihood)
        found, std = model.predict([[new]], return_std=True)
        error = {"cheap": 0.03, "nearly-exact": 3e-3}[grade]
        np.testing.assert_allclose([found[0], std[0]], [first, np.sqrt(variance)], rtol=error)
        assert model.predict([[new]])[0] == found[0]
