"""Large counts of the exponential links, whose likelihood is narrow: mass and digits, against mpmath."""

import mpmath
import numpy as np
import pytest

from tilted.likelihoods.exponential_link import NegativeBinomial, PoissonExponential


def poisson_by_mpmath(y, m, v):
    """log Z, mean and variance of N(f; m, v) Poisson(y; e^f) at 50 digits, about the mode."""
    with mpmath.workdps(50):
        y, m, v = (mpmath.mpf(float(x)) for x in (y, m, v))
        mode = mpmath.findroot(lambda f: (m - f) / v + y - mpmath.exp(f), mpmath.log(y))
        width = 1 / mpmath.sqrt(1 / v + mpmath.exp(mode))

        def log_density(f):
            return -((f - m) ** 2) / (2 * v) + y * f - mpmath.exp(f)

        def integral(of):
            ends = [mode + k * width for k in range(-20, 21, 4)]
            return mpmath.quad(lambda f: of(f) * mpmath.exp(log_density(f) - log_density(mode)), ends)

        z = integral(lambda f: 1)
        mean = integral(lambda f: f) / z
        variance = integral(lambda f: (f - mean) ** 2) / z
        log_z = mpmath.log(z) + log_density(mode) - mpmath.log(2 * mpmath.pi * v) / 2 - mpmath.loggamma(y + 1)
        return [float(x) for x in (log_z, mean, variance)]


@pytest.mark.parametrize(
    ("y", "m", "v"),
    [
        (2e3, 7.0, 1e6),
        (1e6, 10.0, 1e4),
        (1e10, 10.0, 25.0),
        (1e12, 20.0, 4.0),
        (1e12, 27.0, 1.0),
        (1e12, 27.6310211, 1e-13),
        (1e15, 30.0, 1.0),
        (1e18, 41.0, 1e8),
    ],
)
def test_wide_cavities_of_large_counts_keep_their_mass(y, m, v):
    """The likelihood is 1 / sqrt(y) wide: less than the last halving of ten deviations of the cavity."""
    at = np.array([y]), np.array([m]), np.array([v])
    found = PoissonExponential().tilted(*at)
    log_z, mean, variance = poisson_by_mpmath(y, m, v)
    rounding = 4e-16 * mean / np.sqrt(variance)  # of f, in deviations
    assert found.log_z[0] == pytest.approx(log_z, rel=1e-12, abs=1e-11 + 10 * rounding)
    assert found.mean[0] == pytest.approx(mean, abs=1e-11 * np.sqrt(variance) + 4e-16 * mean)
    assert found.variance[0] == pytest.approx(variance, rel=1e-11 + 10 * rounding)


def test_a_large_count_changes_nothing_for_those_beside_it():
    y, f = np.array([0.0, 3.0, 999.0, 1e3, 1e12]), np.array([-40.0, 1.0, 7.0, 6.9, 27.0])
    together, likelihood = PoissonExponential().log_likelihood(y, f), PoissonExponential()
    np.testing.assert_array_equal(together[:3], likelihood.log_likelihood(y[:3], f[:3]))
    np.testing.assert_array_equal(together[3:], likelihood.log_likelihood(y[3:], f[3:]))


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


@pytest.mark.parametrize("dispersion", [1.0, 1e-4, 1e-12])
@pytest.mark.parametrize(("y", "m", "v"), [(1e6, 10.0, 1e4), (1e12, 27.0, 1.0), (1e15, 30.0, 1.0)])
def test_negative_binomial_moments_of_large_counts(y, m, v, dispersion):
    found = NegativeBinomial(dispersion).tilted(*(np.array([x]) for x in (y, m, v)))
    with mpmath.workdps(50):
        count, mu, variance, r = (mpmath.mpf(x) for x in (y, m, v, 1 / mpmath.mpf(dispersion)))

        def log_density(f):
            return -((f - mu) ** 2) / (2 * variance) + count * f - (count + r) * mpmath.log(r + mpmath.exp(f))

        def slope(f):
            return (mu - f) / variance + count - (count + r) / (1 + r * mpmath.exp(-f))

        mode = mpmath.findroot(slope, mpmath.log(count))
        width = 1 / mpmath.sqrt(1 / variance + count * r / (count + r))
        ends = [mode + k * width for k in range(-32, 33, 4)]

        def integral(of):
            return mpmath.quad(lambda f: of(f) * mpmath.exp(log_density(f) - log_density(mode)), ends)

        z = integral(lambda f: 1)
        mean = integral(lambda f: f) / z
        after = integral(lambda f: (f - mean) ** 2) / z
        log_z = mpmath.log(z) + log_density(mode) - mpmath.log(2 * mpmath.pi * variance) / 2
        log_z += (
            mpmath.loggamma(count + r) - mpmath.loggamma(r) - mpmath.loggamma(count + 1) + r * mpmath.log(r)
        )
    sd = float(after) ** 0.5
    rounding = 4e-16 * float(mean) / sd  # of f, in deviations
    assert found.log_z[0] == pytest.approx(float(log_z), rel=1e-12, abs=1e-11 + 10 * rounding)
    assert found.mean[0] == pytest.approx(float(mean), abs=1e-11 * sd + 4e-16 * float(mean))
    assert found.variance[0] == pytest.approx(float(after), rel=1e-11 + 10 * rounding)
