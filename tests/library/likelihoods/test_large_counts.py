"""Large counts: panels against the recurrence, digits and mass against mpmath, new counts at large rates."""

import warnings
from itertools import product

import mpmath
import numpy as np
import pytest

from tests.helpers import moments_by_mpmath, poisson_by_mpmath
from tilted.likelihoods.exponential_link import NegativeBinomial, PoissonExponential, PoissonRates
from tilted.likelihoods.new_counts import NORMAL
from tilted.likelihoods.poisson import LARGEST, MANY, PoissonSquare
from tilted.likelihoods.real_counts import RealCounts, _real_moments

VARIANCES = (1e-8, 0.01, 0.25, 1.0, 30.0, 1e3, 1e10)
MEANS = (0.0, 1e-6, 0.5, -0.9, 1.0, 2.0, 10.0)  # in units of the root of the count


def recurrence(y, m, v):
    """log Z, d1, d2, mean and variance by the recurrence over the count, with 30 digits."""
    with mpmath.workdps(30):
        m, v = mpmath.mpf(m), mpmath.mpf(v)
        spread = 1 + 2 * v
        b, a = m / spread, 2 * v / spread
        mean, before, log_z = (
            b,
            mpmath.mpf(0),
            -mpmath.log(spread) / 2 - m**2 / spread - mpmath.loggamma(y + 1),
        )
        total = mpmath.mpf(1)
        for j in range(int(y)):
            second = b * mean + a * (j + mpmath.mpf(0.5))
            before, total, mean = mean / second, total * second, b + a * (j + 1) * mean / second
        drop = y * (1 - mean * before)
        d2 = 2 * (drop - v) / (v * spread)
        found = (
            log_z + mpmath.log(total),
            2 * y * before / spread - 2 * b,
            d2,
            mean,
            a * (drop + mpmath.mpf(0.5)),
        )
        return [float(value) for value in found]


def assert_same(found, exact, v):
    """Log Z and variances relatively; what vanishes in units of the cavity's or the posterior's deviation."""
    log_z, d1, d2, mean, variance = exact
    np.testing.assert_allclose(found.log_z, log_z, rtol=1e-10)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-10)
    np.testing.assert_array_less(np.abs(found.mean - mean), 1e-10 * np.sqrt(variance) + 1e-14 * np.abs(mean))
    np.testing.assert_array_less(np.abs(found.d1 - d1) * np.sqrt(v), 1e-10 * (1.0 + np.abs(d1) * np.sqrt(v)))
    np.testing.assert_array_less(np.abs(found.d2 - d2), 1e-10 * (np.abs(d2) + 1.0))


@pytest.mark.parametrize("y", [MANY, 718.0, pytest.param(LARGEST, marks=pytest.mark.slow)])
def test_panels_are_the_recurrence(y):
    cases = list(product(MEANS, VARIANCES))
    if y > 10 * MANY:  # as many steps
        cases = [(m, v) for m, v in cases if m in (0.5, 1.0) and v in (0.01, 1.0, 1e3)]
    m, v = np.array(cases).T
    m = m * np.sqrt(y)
    exact = np.array([recurrence(y, *case) for case in zip(m, v, strict=True)]).T
    found = PoissonSquare().tilted(np.full(len(m), float(y)), m, v)
    assert_same(found, exact, v)
    assert not np.any(found.mean[m == 0]) and not np.any(found.d1[m == 0])


def test_panels_are_the_recurrence_for_targets_with_a_fraction():
    m, v = (values.ravel() for values in np.meshgrid(np.sqrt(MANY) * np.array(MEANS), VARIANCES[2:7]))
    y = np.full(len(m), MANY + 0.3)
    found, exact = RealCounts().tilted(y, m, v), _real_moments(y, m, v)
    np.testing.assert_allclose(found.log_z, exact.log_z, rtol=1e-10)
    np.testing.assert_allclose(found.variance, exact.variance, rtol=1e-9)
    assert np.max(np.abs(found.mean - exact.mean) / np.sqrt(exact.variance)) < 1e-10


@pytest.mark.parametrize("fraction", [0.0, 0.25])
@pytest.mark.parametrize("v", [9e-4, 1e-6, 1e-10, 1e-12, 1e-14, 1e-40])
@pytest.mark.parametrize(("y", "m"), [(99.0, 10.0), (99.0, -2.0), (3.0, 0.7), (0.0, 5.0), (250.0, 60.0)])
def test_narrow_cavities_far_from_zero_keep_their_digits(fraction, v, y, m):
    """d2 of the recurrence is a difference of numbers near 1, divided by v; here it is Kummer's function."""
    y = y + fraction
    likelihood = RealCounts() if fraction else PoissonSquare()
    found = likelihood.tilted(np.array([y, 4.0]), np.array([m, 0.0]), np.array([v, v]))
    with mpmath.workdps(150):
        count, mu, variance = (mpmath.mpf(float(x)) for x in (y, m, v))
        spread = 1 + 2 * variance
        b, a = mu / spread, 2 * variance / spread
        places = (-count, 0.5), (-count, 1.5), (-count - 1, 0.5)
        even, odd, next_even = (mpmath.hyp1f1(p, q, -b * b / a) for p, q in places)
        mean, second = 2 * b * (count + 0.5) * odd / even, a * (count + 0.5) * next_even / even
        after = second - mean**2
        d1, d2 = (mean - mu) / variance, (after - variance) / variance**2
    np.testing.assert_allclose(found.d1[0], float(d1), rtol=1e-12, atol=1e-12 * y / abs(m))
    np.testing.assert_allclose(found.d2[0], float(d2), rtol=1e-12)
    np.testing.assert_allclose(found.variance[0], float(after), rtol=1e-12)
    assert found.mean[1] == found.d1[1] == 0.0


@pytest.mark.parametrize("v", [4.0, 1e-3, 1e-5, 1e-9, 1e-12, 1e-16, 1e-40])
@pytest.mark.parametrize("m", [-10.0, 1.0, 0.03])
def test_variational_derivative_keeps_its_digits(m, v):
    """In v, of E[log p]: 1 - 2 t D(t) cancels where t = |m| / sqrt(2 v) is large."""
    with mpmath.workdps(150):
        t = abs(mpmath.mpf(m)) / mpmath.sqrt(2 * mpmath.mpf(v))
        if t < 1e4:
            drop = 1 - 2 * t * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-(t**2)) * mpmath.erfi(t)
        else:
            drop = -sum(mpmath.fac2(2 * k - 1) / (2 * t**2) ** k for k in range(1, 8))
        expected = float(99 * drop / mpmath.mpf(v) - 1)
    found = PoissonSquare().expected_log(*(np.array([x]) for x in (99.0, m, v)))
    assert found[2][0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("y", "m", "v"),
    [
        (2e3, 7.0, 1e6),
        (1e6, 10.0, 1e4),
        (1e18, 41.0, 1e8),
    ],
)
def test_wide_cavities_of_large_counts_keep_their_mass(y, m, v):
    """The likelihood is 1 / sqrt(y) wide: less than the last halving of ten deviations of the cavity."""
    at = np.array([y]), np.array([m]), np.array([v])
    found = PoissonExponential().tilted(*at)
    log_z, mean, variance = poisson_by_mpmath(y, m, v, np.log(y))
    rounding = 4e-16 * mean / np.sqrt(variance)  # of f, in deviations
    assert found.log_z[0] == pytest.approx(log_z, rel=1e-12, abs=1e-11 + 10 * rounding)
    assert found.mean[0] == pytest.approx(mean, abs=1e-11 * np.sqrt(variance) + 4e-16 * mean)
    assert found.variance[0] == pytest.approx(variance, rel=1e-11 + 10 * rounding)


@pytest.mark.parametrize("y", [1e3, 1e6, 1e12, 1e18])
@pytest.mark.parametrize("d", [-3.0, -1e-4, 0.0, 0.2, 2.0])
@pytest.mark.parametrize("v", [1e-14, 1e-3, 4.0])
def test_log_probability_of_large_counts_keeps_its_digits(y, d, v):
    m = np.log(y) + d
    with mpmath.workdps(60):
        count, mean, variance = (mpmath.mpf(float(x)) for x in (y, m, v))
        constant = -mpmath.loggamma(count + 1)
        log_p = count * mean - mpmath.exp(mean) + constant
        expected = count * mean - mpmath.exp(mean + variance / 2) + constant
    one = [np.array([x]) for x in (y, m, v)]
    rounding = 1e-15 * m * abs(np.expm1(d)) * y  # of f
    assert PoissonExponential().log_likelihood(*one[:2])[0] == pytest.approx(
        float(log_p), rel=1e-13, abs=rounding
    )
    assert PoissonExponential().expected_log(*one)[0][0] == pytest.approx(
        float(expected), rel=1e-13, abs=rounding + 1e-15 * m * np.expm1(0.5 * v) * y * np.exp(d)
    )


@pytest.mark.parametrize("dispersion", [10.0, 0.02, 1e-3, 1e-6, 1e-12, 1e-15])
@pytest.mark.parametrize("y", [1e3, 1e6, 1e12, 1e15])
def test_negative_binomial_of_large_counts_keeps_its_digits(y, dispersion):
    """log p at 60 digits, from far below the count to far above it, and its mean under a narrow normal."""
    with mpmath.workdps(60):
        count, r = mpmath.mpf(y), 1 / mpmath.mpf(dispersion)
        constant = mpmath.loggamma(count + r) - mpmath.loggamma(r) - mpmath.loggamma(count + 1)
        constant += r * mpmath.log(r)
        for d in (-900.0, -3.0, -1e-5, 0.0, 1e-5, 2.0, 640.0):
            f = np.log(y) + d
            exp = mpmath.exp(mpmath.mpf(f))
            true = float(constant + count * mpmath.mpf(f) - (r + count) * mpmath.log(r + exp))
            given, at = NegativeBinomial(dispersion), (np.array([y]), np.array([f]))
            slope = abs(count - (count + r) * exp / (r + exp))
            bound = 1e-11 + float(2e-15 * abs(f) * (slope + min(count, r) * abs(d)))  # by the rounding of f
            assert given.log_likelihood(*at)[0] == pytest.approx(true, rel=1e-13, abs=bound)
            narrow = given.expected_log(*at, np.array([1e-24]))
            assert narrow[0][0] == pytest.approx(true, rel=1e-13, abs=bound + 1e-14 * min(y, 1 / dispersion))


@pytest.mark.parametrize(("y", "m", "v", "dispersion"), [(1e6, 10.0, 1e4, 1.0), (1e15, 30.0, 1.0, 1e-12)])
def test_negative_binomial_moments_of_large_counts(y, m, v, dispersion):
    found = NegativeBinomial(dispersion).tilted(*(np.array([x]) for x in (y, m, v)))
    with mpmath.workdps(50):
        count, mu, variance, r = (mpmath.mpf(x) for x in (y, m, v, 1 / mpmath.mpf(dispersion)))
        constant = mpmath.loggamma(count + r) - mpmath.loggamma(r) - mpmath.loggamma(count + 1)
        constant += r * mpmath.log(r) - mpmath.log(2 * mpmath.pi * variance) / 2

        def log_density(f):
            powers = count * f - (count + r) * mpmath.log(r + mpmath.exp(f))
            return -((f - mu) ** 2) / (2 * variance) + powers + constant

        def slope(f):
            return (mu - f) / variance + count - (count + r) / (1 + r * mpmath.exp(-f))

        width = 1 / mpmath.sqrt(1 / variance + count * r / (count + r))
        mode = mpmath.findroot(slope, mpmath.log(count))
        log_z, mean, after = moments_by_mpmath(log_density, mode, width, 32)
    sd = after**0.5
    rounding = 4e-16 * mean / sd  # of f, in deviations
    assert found.log_z[0] == pytest.approx(log_z, rel=1e-12, abs=1e-11 + 10 * rounding)
    assert found.mean[0] == pytest.approx(mean, abs=1e-11 * sd + 4e-16 * mean)
    assert found.variance[0] == pytest.approx(after, rel=1e-11 + 10 * rounding)


LOG, ROOT = (PoissonExponential(), PoissonRates()), (PoissonSquare(), RealCounts())


@pytest.mark.parametrize("rate", [1e12, 1e14, 1e19, 1e40, 1e300])
@pytest.mark.parametrize("likelihood", [*LOG, *ROOT], ids=lambda one: type(one).__name__)
def test_counts_of_large_rates_have_their_mean_and_variance(likelihood, rate):
    f = np.log(rate) if likelihood in LOG else np.sqrt(rate)
    rate = np.exp(f) if likelihood in LOG else f**2
    drawn = likelihood.draw(np.full((100, 200), f), np.random.default_rng(1))
    assert drawn.shape == (100, 200)
    assert drawn.dtype == float
    assert np.all(drawn == np.rint(drawn))
    z = (drawn - rate) / np.sqrt(rate)
    if rate < 1e30:  # above, the rounding of floats is more than the deviation
        assert abs(np.mean(z)) < 4 / np.sqrt(z.size)
        assert np.var(z) == pytest.approx(1.0, abs=4 * np.sqrt(2 / z.size))
    np.testing.assert_allclose(drawn, rate, rtol=1e-5)


@pytest.mark.parametrize("f", [30.0, 50.0, 500.0])
def test_negative_binomial_counts_of_large_rates_have_the_spread_of_their_gamma(f):
    drawn = NegativeBinomial(0.25).draw(np.full(20_000, f), np.random.default_rng(2)) / np.exp(f)
    assert np.mean(drawn) == pytest.approx(1.0, abs=4 * 0.5 / np.sqrt(20_000))
    assert np.var(drawn) == pytest.approx(0.25, rel=0.1)


def test_counts_of_other_rates_are_numpys():
    """Of the same generator, so that draws of before are drawn again."""
    f = np.linspace(-3.0, 20.0, 50)
    expected = np.random.default_rng(3).poisson(np.exp(f)).astype(float)
    np.testing.assert_array_equal(PoissonExponential().draw(f, np.random.default_rng(3)), expected)
    far = np.append(f, 0.5 + np.log(NORMAL))
    drawn = PoissonExponential().draw(far, np.random.default_rng(3))
    np.testing.assert_array_equal(drawn[:-1], expected, "a large rate changes nothing for those before")


@pytest.mark.parametrize(
    ("likelihood", "f"),
    [(PoissonExponential(), 710.0), (NegativeBinomial(1.0), 720.0), (PoissonSquare(), -1e155)],
    ids=lambda one: getattr(one, "name", ""),
)
def test_rates_that_overflow_are_refused_by_name(likelihood, f):
    with warnings.catch_warnings(), pytest.raises(ValueError, match="rate is no finite .* 1 of 2 .*latent"):
        warnings.simplefilter("error")
        likelihood.draw(np.array([1.0, f]), np.random.default_rng(0))
