"""The logit likelihood against 25-digit integrals, over wide, narrow and far cavities."""

import tracemalloc

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad

from tilted.likelihoods.logit import SPAN, WIDE, Logit
from tilted.numerics.quadrature import integrate

CAVITIES = [(m, v) for m in (-30.0, -4.0, 0.0, 3.0, 30.0) for v in (1e-4, 0.3, 25.0, 1e4)]
EDGES = [(0.5, WIDE**2), (-0.5, 1.01 * WIDE**2), (SPAN * 3.1, 9.61), (-(SPAN * 3.0 + 9.0), 9.0)]
FAR = [(-9990.0, 1e4), (1e3, 1e4), (-1e6, 2.0), (0.0, 1e8)]


def integrals(m, v, power, functions):
    """Integrals of functions of u under N(u; m, v) sigma(u)^power / peak, and the log of the peak."""
    m, v, power = (mpmath.mpf(float(x)) for x in (m, v, power))
    sd = mpmath.sqrt(v)

    def log_sigma(u):
        return -mpmath.log1p(mpmath.exp(-u)) if u > 0 else u - mpmath.log1p(mpmath.exp(u))

    def log_density(u):
        return -((u - m) ** 2) / (2 * v) - mpmath.log(2 * mpmath.pi * v) / 2 + power * log_sigma(u)

    low, high = m, m + power * v
    for _ in range(150):
        middle = (low + high) / 2
        left = (middle - m) * (1 + mpmath.exp(middle)) < power * v
        low, high = (middle, high) if left else (low, middle)
    ends = {low + k * sd for k in (-12, -6, -3, -1, 0, 1, 3, 6, 12)}
    ends |= {s * mpmath.mpf(2) ** k for k in range(0, 17) for s in (1, -1)} | {mpmath.mpf(0)}
    ends = sorted(e for e in ends if abs(e - low) <= 12.01 * sd)
    peak = log_density(low)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    total = [mpmath.mpf(0)] * len(functions)
    for a, b in zip(ends, ends[1:], strict=False):
        half, centre = (b - a) / 2, (a + b) / 2
        for x, w in zip(nodes, weights, strict=True):
            u = centre + half * mpmath.mpf(float(x))
            part = mpmath.exp(log_density(u) - peak) * half * mpmath.mpf(float(w))
            total = [t + part * f(u) for t, f in zip(total, functions, strict=True)]
    return total, peak


@pytest.mark.parametrize(
    "m, v, power",
    [*((m, v, 1.0) for m, v in CAVITIES[::2] + EDGES + FAR), *((m, v, 0.3) for m, v in CAVITIES[1::4])],
)
def test_moments_equal_long_arithmetic(m, v, power):
    with mpmath.workdps(25):
        moments = [lambda u, k=k: (u - mpmath.mpf(m)) ** k for k in range(3)]
        slope = lambda u: 1 / (1 + mpmath.exp(u))  # noqa: E731
        (z, first, second, pull), peak = integrals(m, v, power, [*moments, slope])
        mean, variance = first / z, second / z - (first / z) ** 2
        expected = float(mpmath.log(z) + peak), float(power * pull / z), float(mean), float(variance)
    for label in (1.0, -1.0):
        t = Logit().tilted(np.full(2, label), label * np.array([m, 0.4]), np.array([v, 7.0]), power)
        assert t.log_z[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
        assert label * t.d1[0] == pytest.approx(expected[1], rel=1e-9, abs=1e-17)
        rounding = 4e-15 * abs(m)
        assert label * t.mean[0] - m == pytest.approx(expected[2], rel=1e-11, abs=rounding + 1e-300)
        assert t.variance[0] == pytest.approx(expected[3], rel=1e-11)
        loss = 1.0 - expected[3] / v
        assert -t.d2[0] * v == pytest.approx(loss, rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("m, v", [*CAVITIES, *EDGES, *FAR, (0.0, 1e12)])
def test_the_density_in_panels_has_the_same_moments(m, v):
    for label in (1.0, -1.0):
        at = np.array([label]), np.array([label * m]), np.array([v])
        density, t = Logit().tilted_density(*at), Logit().tilted(*at)
        panels = integrate(density)
        np.testing.assert_allclose(panels.log_z, t.log_z, rtol=1e-12, atol=1e-12)
        f = panels.offsets + (density.origin - t.mean)[:, None, None]
        assert abs(panels.expectation(f)[0]) < 1e-10 * np.sqrt(t.variance[0]) + 1e-15 * abs(m)
        np.testing.assert_allclose(panels.expectation(f**2), t.variance, rtol=1e-10)


@pytest.mark.parametrize("m, v", [*CAVITIES[::3], (-9990.0, 1e4), (1e3, 1e4)])
def test_expected_log_equals_long_arithmetic(m, v):
    with mpmath.workdps(25):
        right = lambda u: 1 / (1 + mpmath.exp(-u))  # noqa: E731
        functions = (
            lambda u: -mpmath.log1p(mpmath.exp(-u)) if u > 0 else u - mpmath.log1p(mpmath.exp(u)),
            lambda u: right(-u),
            lambda u: -right(u) * right(-u) / 2,
        )
        sums, peak = integrals(m, v, 0.0, functions)
        exact = [float(s * mpmath.exp(peak)) for s in sums]
    for label in (1.0, -1.0):
        found = Logit().expected_log(
            np.full(3, label), label * np.array([m, 0.5, 7.0]), np.array([v, 30.0, 1e-3])
        )
        for value, sign, expected in zip(found, (1.0, label, 1.0), exact, strict=True):
            assert sign * value[0] == pytest.approx(expected, rel=1e-10, abs=1e-20)


@pytest.mark.parametrize("m, v", [(0.3, 0.5), (-2.0, 30.0), (-20.0, 4.0)])
def test_expected_log_under_the_tilted_distribution(m, v):
    t, sd = Logit().tilted(np.ones(1), np.array([m]), np.array([v])), np.sqrt(v)
    centre = t.mean[0]

    def density(f):
        return np.exp(-((f - m) ** 2) / (2 * v) + Logit().log_likelihood(1.0, f) - t.log_z[0]) / sd

    ends = centre - 12 * sd, centre + 12 * sd
    weigh = lambda f: density(f) * Logit().log_likelihood(1.0, f)  # noqa: E731
    direct = quad(weigh, *ends, points=[0.0, centre], epsabs=1e-12, limit=500)[0] / np.sqrt(2 * np.pi)
    found = Logit().tilted_expected_log(np.ones(1), np.array([m]), np.array([v]))
    assert found[0] == pytest.approx(direct, rel=1e-9)


def test_nothing_is_lost_at_the_ends():
    """Huge cavities and values: finite, variances positive and at most the cavity's, curvatures negative."""
    m, v = (x.ravel() for x in np.meshgrid([-1e8, -1e3, 0.0, 1e3, 1e8], [1e-200, 1e-12, 1.0, 1e6, 1e12]))
    for power in (1.0, 1e-3):
        t = Logit().tilted(np.ones_like(m), m, v, power)
        assert all(np.all(np.isfinite(part)) for part in (t.log_z, t.d1, t.d2, t.mean, t.variance))
        assert np.all((t.variance > 0) & (t.variance <= v * (1 + 1e-9)))
        assert np.all(t.log_z <= 0) and np.all(t.d1 >= 0) and np.all(t.d2 <= 0)
    far = Logit().log_likelihood(np.array([1.0, -1.0]), np.array([-1e3, -1e3]))
    assert far[0] == -1e3 and far[1] == pytest.approx(0.0, abs=1e-300)


def test_predictions_of_many_rows_are_not_held_at_all_nodes():
    """A map of 10^6 rows took 1.7 GB."""
    rng = np.random.default_rng(0)
    m, v = 3.0 * rng.normal(size=30_000), 10.0 ** rng.uniform(-3, 3, size=30_000)
    y = np.where(rng.random(30_000) < 0.5, 1.0, -1.0)
    tracemalloc.start()
    found = Logit().log_predictive(y, m, v)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e7
    some = rng.choice(30_000, 40, replace=False)
    np.testing.assert_allclose(found[some], Logit().tilted(y[some], m[some], v[some]).log_z, rtol=1e-13)
