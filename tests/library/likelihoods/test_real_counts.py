"""The Poisson likelihood of targets that are no whole numbers: against mpmath, and that of counts."""

import warnings

import mpmath as mp
import numpy as np
import pytest

import tilted
from tests.helpers import differences
from tilted.estimators import GPPoissonRegressor
from tilted.likelihoods.poisson import PoissonSquare, far_from_zero
from tilted.likelihoods.real_counts import RealCounts, _log_kummer
from tilted.numerics.quadrature import integrate

REAL = RealCounts()
CASES = [
    (0.3, 0.0, 1.0),
    (0.5, -2.0, 0.1),
    (1.7, 0.4, 50.0),
    (6.25, 3.0, 0.01),
    (40.9, -5.0, 2.0),
    (2.5, 30.0, 4.0),
]


def columns(cases):
    return (np.array(values) for values in zip(*cases, strict=True))


def exact(y, m, v, power=1.0):
    """log Z, mean and variance of N(f; m, v) p(y | f)^power by Kummer's function at the power times y."""
    with mp.workdps(40):
        y, m, v, power = (mp.mpf(float(x)) for x in (y, m, v, power))
        constant, spread = power * mp.loggamma(y + 1), 1 + 2 * power * v
        y = power * y
        b, a = m / spread, 2 * v / spread
        even, odd, next_even = (mp.hyp1f1(p, q, -b * b / a) for p, q in ((-y, 0.5), (-y, 1.5), (-y - 1, 0.5)))
        log_z = mp.log(a**y * mp.gamma(y + 0.5) / mp.sqrt(mp.pi) * even / mp.sqrt(spread)) - constant
        mean, second = 2 * b * (y + 0.5) * odd / even, a * (y + 0.5) * next_even / even
        return [float(x) for x in (log_z - power * m * m / spread, mean, second - mean * mean)]


@pytest.mark.parametrize("y, m, v", CASES)
def test_moments_and_density(y, m, v):
    log_z, mean, variance = exact(y, m, v)
    at = np.array([y]), np.array([m]), np.array([v])
    found, panels = REAL.tilted(*at), integrate(REAL.tilted_density(*at))
    np.testing.assert_allclose([found.log_z[0], found.mean[0]], [log_z, mean], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(found.variance[0], variance, rtol=1e-11)
    np.testing.assert_allclose(found.d1[0], (mean - m) / v, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.d2[0], (variance - v) / v**2, rtol=1e-9)
    np.testing.assert_allclose(panels.log_z[0], log_z, atol=1e-10)
    shift = panels.expectation(panels.offsets)
    spread = panels.expectation((panels.offsets - shift[:, None, None]) ** 2)
    origin = REAL.tilted_density(*at).origin
    np.testing.assert_allclose([origin[0] + shift[0], spread[0]], [mean, variance], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(REAL.log_predictive(*at), [log_z], rtol=1e-12)


@pytest.mark.parametrize("power", [0.01, 0.5, 0.9])
@pytest.mark.parametrize(
    "y, m, v", [*CASES, (0.0, 0.7, 2.0), (1.0, 0.1, 1.0), (200.0, 14.0, 0.3), (7.0, -3.0, 400.0)]
)
def test_moments_under_powers(y, m, v, power):
    log_z, mean, variance = exact(y, m, v, power)
    found = REAL.tilted(np.array([y]), np.array([m]), np.array([v]), power)
    np.testing.assert_allclose([found.log_z[0], found.mean[0]], [log_z, mean], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found.variance[0], variance, rtol=1e-10)
    np.testing.assert_allclose(found.d1[0], (mean - m) / v, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(found.d2[0], (variance - v) / v**2, rtol=1e-8)


@pytest.mark.parametrize("power", [1e-6, 0.01, 0.5, 0.999])
@pytest.mark.parametrize(
    "y, m, v",
    [
        (1.0, 20.0, 0.99),
        (0.0, -21.0, 0.99),
        (7.0, 0.3, 2e-4),
        (3.4, -1.8, 1e-6),
        (900.0, 29.0, 0.5),
        (900.0, -0.02, 1e-7),
    ],
)
def test_moments_of_narrow_cavities_far_from_zero(y, m, v, power):
    """By Gauss-Hermite about the mode."""
    at = np.array([y]), np.array([m]), np.array([v])
    assert far_from_zero(*at[1:])
    log_z, mean, variance = exact(y, m, v, power)
    found, whole = REAL.tilted(*at, power), PoissonSquare().tilted(np.floor(at[0]), *at[1:], power)
    np.testing.assert_allclose([found.log_z[0], found.mean[0]], [log_z, mean], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.variance[0], variance, rtol=1e-12)
    np.testing.assert_allclose(found.mean[0], m + v * found.d1[0], rtol=1e-13)
    np.testing.assert_allclose(v * (1.0 + v * found.d2[0]), variance, rtol=1e-12)
    if y == np.floor(y):
        assert whole == found


@pytest.mark.parametrize("r", [1e-9, 0.1, 0.5, 0.9, 1 - 1e-9])
@pytest.mark.parametrize("z", [0.0, 1e-8, 0.3, 10.0, 39.9, 40.1, 60.0, 1e3, 1e9])
def test_kummers_function(r, z):
    for p, q in ((-r, 0.5), (1.0 - r, 1.5)):
        with mp.workdps(40):
            expected = float(mp.log(mp.hyp1f1(mp.mpf(p), mp.mpf(q), -mp.mpf(z))))
        assert _log_kummer(np.array([p]), q, np.array([z]))[0] == pytest.approx(
            expected, rel=1e-13, abs=1e-13
        )


def test_whole_numbers_are_the_likelihood_of_counts():
    y, m, v = np.array([0.0, 1.0, 7.0, 3.0]), np.array([0.1, -2.0, 3.0, 0.0]), np.array([1.0, 0.2, 9.0, 2.0])
    expected, found = PoissonSquare().tilted(y, m, v), REAL.tilted(y, m, v)
    near = REAL.tilted(y + 1e-9, m, v)
    mixed = REAL.tilted(np.append(y, 0.5), np.append(m, 1.0), np.append(v, 1.0))
    for name in ("log_z", "d1", "d2", "mean", "variance"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        np.testing.assert_array_equal(getattr(mixed, name)[:4], getattr(expected, name))
        np.testing.assert_allclose(getattr(near, name), getattr(expected, name), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("inference", ["ep", "qp", "vb", "power-ep"])
def test_gradients_with_real_counts(inference):
    rng = np.random.default_rng(3)
    X = np.linspace(0.0, 3.0, 8)[:, None]
    y = rng.gamma((1.5 + np.sin(X[:, 0])) ** 2)
    kernel = tilted.SquaredExponential(1.0, 1.0)
    with pytest.warns(UserWarning, match="Gamma function"):
        model = GPPoissonRegressor(inference, kernel=kernel, optimise=None).fit(X, y)
    at = model.log_marginal_likelihood
    gradient = at(np.array([0.1, 0.1]), eval_gradient=True)[1]
    np.testing.assert_allclose(gradient, differences(at, np.array([0.1, 0.1]), 1e-4), rtol=1e-4, atol=1e-6)


def test_one_warning_and_none_for_whole_numbers(counts):
    X, y = counts
    model = GPPoissonRegressor(kernel=tilted.SquaredExponential(), optimise=None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y + 0.5)
    assert [str(one.message)[:10] for one in seen] == ["y has valu"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
        model.fit(X, 0.0 * y)
    assert model.mean_ == pytest.approx(np.sqrt(0.5 / 25))


@pytest.mark.parametrize("wrong", [-0.5, 1e6])
def test_domain(wrong):
    with pytest.raises(ValueError, match="numbers from 0 to 100000"):
        REAL.domain(np.array([1.0, wrong]))
