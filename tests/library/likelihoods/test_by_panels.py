"""Likelihoods without closed forms, and Laplace's, against 40-digit quadrature; their limits."""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.stats import laplace
from scipy.stats import t as student_t

from tests.helpers import poisson_by_mpmath
from tilted import likelihoods
from tilted.likelihoods.exponential_link import NegativeBinomial, PoissonExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.laplace import LaplaceNoise
from tilted.likelihoods.ordinal import Ordinal, truncated
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.student_t import StudentT

VALUES = json.loads((Path(__file__).parents[2] / "reference" / "tilted_values.json").read_text())
NAMES = sorted({row[0] for row in VALUES})


@pytest.mark.parametrize("name", NAMES)
def test_moments_equal_40_digits(name):
    for _, parameters, y, m, sd, power, *expected in (row for row in VALUES if row[0] == name):
        likelihood = likelihoods.get(name)
        likelihood = type(likelihood)(*parameters)
        one = [np.array([x]) for x in (y, m, sd**2)]
        t = likelihood.tilted(*one, power)
        log_z, mean, variance, d1, d2, *expected_log = expected
        scale = max(1.0, abs(log_z))
        assert t.log_z[0] == pytest.approx(log_z, abs=3e-12 * scale)
        assert t.mean[0] == pytest.approx(mean, abs=3e-12 * np.sqrt(variance))
        assert t.variance[0] == pytest.approx(variance, rel=3e-12)
        assert t.d1[0] * sd == pytest.approx(d1 * sd, abs=3e-12 * scale)
        assert t.d2[0] * sd**2 == pytest.approx(d2 * sd**2, abs=3e-12)
        if expected_log:
            units = np.array([1.0, sd, sd**2])
            found = np.array([value[0] for value in likelihood.expected_log(*one)])
            reach = 3e-12 * (1.0 + np.max(np.abs(expected_log * units)))
            np.testing.assert_allclose(found * units, expected_log * units, rtol=0, atol=reach)


@pytest.mark.parametrize(("m", "y", "v"), [(71.0, 3.0, 25.0), (720.0, 0.0, 0.002)])
def test_cavities_far_above_a_count_keep_their_moments(y, m, v):
    """As searches ask of them: the mode is up to e^m v below m, which a hundred halvings did not reach."""
    t = PoissonExponential().tilted(*(np.array([x]) for x in (y, m, v)))
    log_z, mean, variance = poisson_by_mpmath(y, m, v, np.log(m / v))
    assert t.log_z[0] == pytest.approx(log_z, rel=1e-13, abs=1e-12)
    digits = 1e-11 + 1e-16 * abs(log_z)  # those of the log density
    assert t.mean[0] == pytest.approx(mean, abs=digits * np.sqrt(variance))
    assert t.variance[0] == pytest.approx(variance, rel=10 * digits)


@pytest.mark.parametrize("y", [0.0, 3.0])
@pytest.mark.parametrize("sd", [1e3, 1e6, 1e9])
def test_laplace_moments_keep_their_digits_under_wide_cavities(y, sd):
    t = LaplaceNoise(0.4).tilted(*(np.array([x]) for x in (y, 0.0, sd**2)))
    # the cavity is flat there: mean y up to scale^2 y / v, variance 2 scale^2
    assert t.mean[0] == pytest.approx(y, abs=10 / sd**2 + 1e-15)
    assert t.variance[0] == pytest.approx(2 * 0.4**2, rel=10 / sd**2 + 1e-12)
    assert t.log_z[0] == pytest.approx(-0.5 * np.log(2 * np.pi) - np.log(sd), rel=10 / sd**2 + 1e-14)


@pytest.mark.parametrize("df", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("power", [0.5, 1.0])
@pytest.mark.parametrize("sd", [1e4, 1e6, 1e9])
def test_heavy_tails_are_followed_as_far_as_a_wide_cavity_reaches(sd, power, df):
    """Against the trapezoidal rule in log |f - y|: a tail falls by powers of it, for many decades."""
    likelihood, y, m, v = StudentT(1.0, df), np.zeros(1), np.array([0.5 * sd]), np.array([sd**2])
    t, (expected, _, by_v) = likelihood.tilted(y, m, v, power), likelihood.expected_log(y, m, v)
    w, width = np.linspace(-40.0, np.log(12.0 * sd), 400_001, retstep=True)
    f = np.concatenate([-np.exp(w), np.exp(w)])
    gaussian = np.exp(-0.5 * ((f - m) / sd) ** 2) / (sd * np.sqrt(2.0 * np.pi)) * np.abs(f) * width
    tilted = gaussian * np.exp(power * likelihood.log_likelihood(y, f))
    z = np.sum(tilted)
    mean = np.sum(f * tilted) / z
    assert t.log_z[0] == pytest.approx(np.log(z), rel=1e-9)
    assert t.variance[0] == pytest.approx(np.sum((f - mean) ** 2 * tilted) / z, rel=1e-8)
    assert expected[0] == pytest.approx(np.sum(gaussian * likelihood.log_likelihood(y, f)), rel=1e-9)
    by_parts = np.sum(gaussian * likelihood.log_likelihood(y, f) * (((f - m) / sd) ** 2 - 1.0)) / (
        2.0 * sd**2
    )
    assert by_v[0] == pytest.approx(by_parts, rel=1e-7, abs=0.0)


def test_limits():
    """Little dispersion is Poisson; many degrees of freedom, or a narrow cavity, are Gaussian noise."""
    y, m, v = np.array([0.0, 4.0, 40.0]), np.array([0.2, -1.0, 3.0]), np.array([0.5, 2.0, 0.1])
    pairs = [
        (NegativeBinomial(1e-9), PoissonExponential(), 1e-6),
        (StudentT(0.7, 1e9), GaussianNoise(0.49), 1e-5),
    ]
    for near, limit, atol in pairs:
        one, other = near.tilted(y, m, v), limit.tilted(y, m, v)
        for name in ("log_z", "mean", "variance"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=atol, rtol=atol)


@pytest.mark.parametrize(
    "likelihood", [PoissonExponential(), NegativeBinomial(0.7)], ids=lambda one: one.name
)
def test_moments_of_new_counts_are_those_of_their_distribution(likelihood):
    y = np.arange(3000.0)
    weights = np.exp(likelihood.log_predictive(y, np.full(3000, 0.4), np.full(3000, 0.3)))
    (mean,), (variance,) = likelihood.target_moments(np.array([0.4]), np.array([0.3]))
    assert np.sum(weights) == pytest.approx(1.0, abs=1e-9)
    assert np.sum(weights * y) == pytest.approx(mean, rel=1e-6)
    assert np.sum(weights * (y - mean) ** 2) == pytest.approx(variance, rel=1e-4)


def test_moments_of_new_targets():
    m, v = np.array([0.4]), np.array([0.3])
    assert LaplaceNoise(0.4).target_moments(m, v)[1] == pytest.approx(0.3 + laplace(scale=0.4).var())
    assert StudentT(0.4, 3.0).target_moments(m, v)[1] == pytest.approx(0.3 + student_t(3.0, scale=0.4).var())
    assert StudentT(0.4, 2.0).target_moments(m, v)[1] == np.inf
    assert GaussianNoise(0.4).target_moments(m, v)[1] == pytest.approx(0.7)


@pytest.mark.parametrize("low", [-1e3, -9.0, -0.5, -1e-9, 0.3, 8.0, 1e4])
@pytest.mark.parametrize("width", [1e-9, 0.1, 0.9, 15.0, 60.0, np.inf])
def test_truncated_normals_keep_their_digits(low, width):
    """Cumulants from the textbook formulas, in as many digits as these lose."""
    found = truncated(*(np.array([x]) for x in (low, low + width, width)))
    with mpmath.workdps(400 if low < -100 else 120):
        a, b, at_b = mpmath.mpf(low), mpmath.mpf(low) + mpmath.mpf(width), 0
        tails = [mpmath.erfc(s / mpmath.sqrt(2)) / 2 for s in (a, b, -b)]
        Z = tails[0] - tails[1] if low > -50 else 1 - mpmath.erfc(-a / mpmath.sqrt(2)) / 2 - tails[1]
        Z = tails[2] - mpmath.erfc(-a / mpmath.sqrt(2)) / 2 if b < 0 else Z
        d = [(b**k * mpmath.npdf(b) if width < np.inf else at_b) - a**k * mpmath.npdf(a) for k in range(4)]
        m1, m2 = -d[0] / Z, 1 - d[1] / Z
        m3 = 2 * m1 - d[2] / Z
        V, m4 = m2 - m1**2, 3 * m2 - d[3] / Z
        third = m3 - 3 * m1 * m2 + 2 * m1**3
        fourth = m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4 - 3 * V**2
        exact = [float(x) for x in (mpmath.log(Z), m1, V, 1 - V, third / V**1.5, fourth / V**2)]
    assert [part[0] for part in found[:4]] == pytest.approx(exact[:4], rel=3e-13, abs=1e-290)
    assert found.third[0] / found.variance[0] ** 1.5 == pytest.approx(exact[4], abs=1e-12)
    assert found.fourth[0] / found.variance[0] ** 2 == pytest.approx(exact[5], abs=1e-12)


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_two_levels_are_the_probit(power):
    m, v = np.array([-30.0, -1.0, 0.4, 9.0, 300.0]), np.array([0.5, 1e4, 2.0, 0.01, 1.0])
    one = Ordinal((0.7,)).tilted(np.array([0.0, 1.0, 1.0, 0.0, 0.0]), m + 0.7, v, power)
    other = Probit().tilted(np.array([-1.0, 1.0, 1.0, -1.0, -1.0]), m, v, power)
    smallest = 1e-300 if power == 1.0 else 1e-13
    for name in ("log_z", "d1", "d2", "variance"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-11, atol=smallest)


def test_levels_of_new_targets():
    likelihood, m, v = Ordinal((-0.5, 0.2, 2.0)), np.array([0.4, -1.0]), np.array([0.3, 2.0])
    p = np.exp(likelihood.log_levels(m, v))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-14)
    rng = np.random.default_rng(0)
    f = m[:, None] + np.sqrt(v)[:, None] * rng.normal(size=(2, 200_000))
    drawn = likelihood.draw(f, rng)
    np.testing.assert_allclose([[np.mean(row == c) for c in range(4)] for row in drawn], p, atol=4e-3)
    mean, variance = likelihood.target_moments(m, v)
    np.testing.assert_allclose(mean, drawn.mean(axis=1), atol=1e-2)
    np.testing.assert_allclose(variance, drawn.var(axis=1), atol=1e-2)
    best = np.argmax(p, axis=1).astype(float)
    assert likelihood.errors(best + [0.0, 2.0], m, v).tolist() == [0.0, 2.0]


def test_thresholds_start_at_the_shares_of_the_levels():
    y = np.repeat([0.0, 1.0, 3.0], [10, 25, 15])
    likelihood = Ordinal.of_levels(y, variance=2.0)
    shares = np.exp(likelihood.log_levels(np.zeros(1), np.full(1, 2.0)))[0]
    np.testing.assert_allclose(shares, np.array([10.5, 25.5, 0.5, 15.5]) / 52.0, rtol=1e-12)
    weighted = Ordinal.of_levels(np.array([0.0, 1.0, 3.0]), 2.0, np.array([10.0, 25.0, 15.0]))
    np.testing.assert_allclose(weighted.thresholds, likelihood.thresholds, rtol=1e-14)


@pytest.mark.parametrize(
    "y, what",
    [
        (np.repeat([2019.0, 2020.0, 2021.0], 20), "most of the levels 0 to 2021 have no row.*return_inverse"),
        (np.array([20240101.0, 20240102.0]), "most of the levels 0 to 20240102"),
        (np.array([0.0, 0.5, 1.0]), "whole numbers from 0"),
        (np.array([-1.0, 0.0, 1.0]), "whole numbers from 0"),
        (np.array([]), "whole numbers from 0"),
        (["low", "high"], "levels must be numeric"),
    ],
)
def test_levels_that_are_years_are_refused(y, what):
    """The levels below took nearly all of the mass, half a count each, and dates gigabytes."""
    with pytest.raises(ValueError, match=what):
        Ordinal.of_levels(y)
    assert len(Ordinal.of_levels(np.array([0.0, 4.0, 4.0])).thresholds) == 4, "few levels may be missing"


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: StudentT(0.0), "scale must be finite and positive"),
        (lambda: StudentT(1.0, np.inf), "df must be finite and positive"),
        (lambda: LaplaceNoise(-1.0), "scale must be finite and positive"),
        (lambda: NegativeBinomial(0.0), "dispersion must be finite and positive"),
        (lambda: PoissonExponential().check([1.0, -2.0]), "at least 0, got -2 at row 1"),
        (lambda: NegativeBinomial().check([0.5]), "whole numbers of at least 0, got 0.5 at row 0"),
        (lambda: Ordinal((1.0, 1.0)), "finite and increasing"),
        (lambda: Ordinal().check([0, 3]), "from 0 to 2, got 3 at row 1"),
        (lambda: Ordinal().check([2, 2]), "at least two levels"),
    ],
)
def test_what_is_no_such_likelihood_or_target_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("df", [4.0, 199.0, 201.0, 1e5, 1e6, 1e8, 1e10, 1e14])
def test_student_t_of_many_degrees_of_freedom_is_normalised(df):
    """log p at 60 digits: log Gamma of half of them loses what it is subtracted for."""
    with mpmath.workdps(60):
        half = mpmath.mpf(df) / 2
        constant = mpmath.loggamma(half + 0.5) - mpmath.loggamma(half) - mpmath.log(mpmath.pi * df) / 2
        true = [constant - (half + 0.5) * mpmath.log1p(mpmath.mpf(t) ** 2 / df) for t in (0.0, 1.5)]
    found = StudentT(df=df).log_likelihood(np.zeros(2), np.array([0.0, 1.5]))
    np.testing.assert_allclose(found, [float(t) for t in true], rtol=1e-13)


@pytest.mark.parametrize("dispersion", [1.0, 0.0101, 0.0099, 1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("y", [0.0, 1.0, 7.0, 1000.0])
def test_negative_binomial_of_any_dispersion_is_normalised(dispersion, y):
    """log p at 60 digits, and its mean: towards 0 two log Gammas lose what they are subtracted for."""
    f = np.log(y + 0.5)
    with mpmath.workdps(60):
        r = 1 / mpmath.mpf(dispersion)
        true = mpmath.loggamma(y + r) - mpmath.loggamma(r) - mpmath.loggamma(y + 1)
        true += y * mpmath.mpf(f) + r * mpmath.log(r) - (r + y) * mpmath.log(r + mpmath.exp(mpmath.mpf(f)))
    given = NegativeBinomial(dispersion)
    assert given.log_likelihood(np.array([y]), np.array([f]))[0] == pytest.approx(float(true), abs=1e-11)
    value, _, _ = given.expected_log(np.array([y]), np.array([f]), np.array([1e-14]))
    assert value[0] == pytest.approx(float(true), abs=1e-9)
