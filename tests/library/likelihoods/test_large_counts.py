"""Counts from `MANY` on are integrated by panels: the moments of the recurrence, however large the count."""

from itertools import product

import mpmath as mp
import numpy as np
import pytest

from tilted.likelihoods.poisson import LARGEST, MANY, PoissonSquare
from tilted.likelihoods.real_counts import RealCounts, _real_moments
from tilted.numerics.gamma import log_rising

VARIANCES = (1e-8, 1e-4, 0.01, 0.25, 1.0, 30.0, 1e3, 1e6, 1e10)
MEANS = (0.0, 1e-6, 0.02, 0.5, -0.9, 1.0, 1.1, 2.0, 10.0)  # in units of the root of the count


def recurrence(y, m, v):
    """log Z, d1, d2, mean and variance by the recurrence over the count, with 30 digits."""
    with mp.workdps(30):
        m, v = mp.mpf(m), mp.mpf(v)
        spread = 1 + 2 * v
        b, a = m / spread, 2 * v / spread
        mean, before, log_z = b, mp.mpf(0), -mp.log(spread) / 2 - m**2 / spread - mp.loggamma(y + 1)
        total = mp.mpf(1)
        for j in range(int(y)):
            second = b * mean + a * (j + mp.mpf(0.5))
            before, total, mean = mean / second, total * second, b + a * (j + 1) * mean / second
        drop = y * (1 - mean * before)
        d2 = 2 * (drop - v) / (v * spread)
        found = log_z + mp.log(total), 2 * y * before / spread - 2 * b, d2, mean, a * (drop + mp.mpf(0.5))
        return [float(value) for value in found]


def assert_same(found, exact, v):
    """Log Z and variances relatively; what vanishes in units of the cavity's or the posterior's deviation."""
    log_z, d1, d2, mean, variance = exact
    np.testing.assert_allclose(found.log_z, log_z, rtol=1e-10)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-10)
    np.testing.assert_array_less(np.abs(found.mean - mean), 1e-10 * np.sqrt(variance) + 1e-14 * np.abs(mean))
    np.testing.assert_array_less(np.abs(found.d1 - d1) * np.sqrt(v), 1e-10 * (1.0 + np.abs(d1) * np.sqrt(v)))
    np.testing.assert_array_less(np.abs(found.d2 - d2), 1e-10 * (np.abs(d2) + 1.0))


@pytest.mark.parametrize("y", [MANY, 2718.0, pytest.param(LARGEST, marks=pytest.mark.slow)])
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


@pytest.mark.parametrize("likelihood", [PoissonSquare(), RealCounts()], ids=str)
def test_each_count_has_moments_of_its_own(likelihood, monkeypatch):
    """A large count changes nothing for the small ones beside it, and takes no steps of a recurrence."""
    y, m, v = np.array([0.0, 3.0, 199.0, 5e4]), np.array([0.5, 1.0, 12.0, 220.0]), np.full(4, 2.0)
    together, alone = likelihood.tilted(y, m, v), likelihood.tilted(y[:3], m[:3], v[:3])
    for name in ("log_z", "d1", "d2", "mean", "variance"):
        np.testing.assert_array_equal(getattr(together, name)[:3], getattr(alone, name))
    steps = []
    monkeypatch.setattr(
        "tilted.likelihoods.poisson._recurrence", lambda y, a, b: steps.append(y.max()) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        likelihood.tilted(y, m, v)
    assert steps == [199.0]


@pytest.mark.parametrize("fraction", [0.0, 0.25])
@pytest.mark.parametrize("v", [9e-4, 1e-6, 1e-10, 1e-12, 1e-14, 1e-40])
@pytest.mark.parametrize(("y", "m"), [(99.0, 10.0), (99.0, -2.0), (3.0, 0.7), (0.0, 5.0), (250.0, 60.0)])
def test_narrow_cavities_far_from_zero_keep_their_digits(fraction, v, y, m):
    """d2 of the recurrence is a difference of numbers near 1, divided by v; here it is Kummer's function."""
    y = y + fraction
    likelihood = RealCounts() if fraction else PoissonSquare()
    found = likelihood.tilted(np.array([y, 4.0]), np.array([m, 0.0]), np.array([v, v]))
    with mp.workdps(150):
        count, mu, variance = (mp.mpf(float(x)) for x in (y, m, v))
        spread = 1 + 2 * variance
        b, a = mu / spread, 2 * variance / spread
        places = (-count, 0.5), (-count, 1.5), (-count - 1, 0.5)
        even, odd, next_even = (mp.hyp1f1(p, q, -b * b / a) for p, q in places)
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
    with mp.workdps(150):
        t = abs(mp.mpf(m)) / mp.sqrt(2 * mp.mpf(v))
        if t < 1e4:
            drop = 1 - 2 * t * mp.sqrt(mp.pi) / 2 * mp.exp(-(t**2)) * mp.erfi(t)
        else:
            drop = -sum(mp.fac2(2 * k - 1) / (2 * t**2) ** k for k in range(1, 8))
        expected = float(99 * drop / mp.mpf(v) - 1)
    found = PoissonSquare().expected_log(*(np.array([x]) for x in (99.0, m, v)))
    assert found[2][0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("v", [3.0, 1e-3, 1e-4, 1e-8, 1e-14, 1e-16, 1e-40])
@pytest.mark.parametrize(("y", "m"), [(9.0, 3.0), (0.0, 0.5), (99.0, -10.5), (3.0, 0.0)])
def test_negative_binomial_of_narrow_predictions_keeps_its_digits(y, m, v):
    """Its shape is about m^2 / (4 v), and log Gamma of it cancels; towards v = 0 it is Poisson(y; m^2)."""
    with mp.workdps(120):
        mean, variance = mp.mpf(m), mp.mpf(v)
        second, spread = mean**2 + variance, 2 * variance * (2 * mean**2 + variance)
        shape, scale = second**2 / spread, spread / second
        expected = mp.loggamma(shape + y) - mp.loggamma(shape) - mp.loggamma(y + 1)
        expected += y * mp.log(scale) - (shape + y) * mp.log1p(scale)
    found = PoissonSquare("negative-binomial").log_predictive(*(np.array([x]) for x in (y, m, v)))
    assert found[0] == pytest.approx(float(expected), rel=1e-12, abs=1e-11)


def test_rising_factorials_of_many_shapes_are_those_of_each():
    r, y = np.array([0.3, 99.9, 100.0, 1e6, 1e30]), np.array([7.0, 0.0, 250.0, 3.0, 2.0])
    together = log_rising(r, y)
    np.testing.assert_array_equal(together, [log_rising(*one) for one in zip(r.tolist(), y, strict=True)])
    with mp.workdps(80):
        exact = [mp.log(mp.rf(mp.mpf(a), int(b))) - b * mp.log(mp.mpf(a)) for a, b in zip(r, y, strict=True)]
    np.testing.assert_allclose(together, [float(x) for x in exact], rtol=1e-12, atol=1e-14)
