"""Tilted moments of powers of a likelihood, against quadrature and 40-digit values."""

import json
from functools import cache
from itertools import product
from pathlib import Path

import mpmath
import numpy as np
import pytest

from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.step import NoisyStep

VALUES = json.loads((Path(__file__).parents[2] / "reference" / "reference_values.json").read_text())
POWERS = [0.9, 0.5, 0.1, 0.01]
COUNTS = [
    (m, v, y) for y in (0.0, 1.0, 2.0, 30.0) for m, v in ((0.0, 1.0), (-2.0, 0.5), (5.0, 4.0), (0.3, 25.0))
]
SD = [1e-3, 0.06, 0.07, 0.3, 0.79, 0.81, 2.0, 30.0, 1000.0]
LABELS = [
    (z * max(sd, 1.0), sd**2, y) for sd, z, y in product(SD, (-30.0, -9.0, -1.0, 0.0, 0.3, 7.0), (1.0,))
]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
KINKS = np.outer([-1.0, 1.0], [0.0, *10.0 ** np.arange(-14.0, 1.0), 3.0, 9.0, 30.0]).ravel()


def by_quadrature(likelihood, power, m, v, y, moments):
    """log Z, mean and variance by Gauss-Legendre, on pieces around the mode and shorter ones around 0."""
    mean, sd = moments.mean[0], np.sqrt(moments.variance[0])
    around = mean + sd * np.array([-40.0, -12.0, -6.0, -3.0, -1.0, 0.0, 1.0, 3.0, 6.0, 12.0, 40.0])
    ends = np.unique([*around, *(x for x in KINKS if around[0] < x < around[-1])])
    half = 0.5 * np.diff(ends)[:, None]
    f, weights = (ends[:-1, None] + half * (1.0 + NODES)).ravel(), (half * WEIGHTS).ravel()
    scale = moments.log_z[0] + 0.5 * np.log(2 * np.pi * v)
    log = power * likelihood.log_likelihood(np.full_like(f, y), f)
    density = weights * np.exp(log - 0.5 * (f - m) ** 2 / v - scale)
    total, first, second = (np.sum((f - mean) ** k * density) for k in range(3))
    return (
        scale - 0.5 * np.log(2 * np.pi * v) + np.log(total),
        mean + first / total,
        second / total - (first / total) ** 2,
    )


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize(
    ("likelihood", "cases"), [(Probit(), LABELS), (PoissonSquare(), COUNTS)], ids=["probit", "poisson"]
)
def test_moments_are_those_of_quadrature(likelihood, cases, power):
    for m, v, y in cases:
        one = [np.array([x]) for x in (y, m, v)]
        found = likelihood.tilted(*one, power)
        log_z, mean, variance = by_quadrature(likelihood, power, m, v, y, found)
        assert found.log_z[0] == pytest.approx(log_z, rel=1e-12, abs=1e-9), (m, v, y)
        assert found.mean[0] == pytest.approx(mean, abs=1e-8 * np.sqrt(variance)), (m, v, y)
        assert found.variance[0] == pytest.approx(variance, rel=1e-8), (m, v, y)
        assert found.mean[0] == pytest.approx(
            m + v * found.d1[0], abs=1e-8 * np.sqrt(variance) + 1e-14 * abs(m)
        ), (m, v, y)
        assert v * (1.0 + v * found.d2[0]) == pytest.approx(variance, rel=1e-8, abs=1e-10 * v), (m, v, y)


NARROW = [
    (Probit(), 1.0, 1e-12),
    (Probit(), 1.0, 1e-4),
    (PoissonSquare(), 5.0, 1e-12),
    (PoissonSquare(), 0.0, 1e-12),
]


@pytest.mark.parametrize(("likelihood", "y", "v"), NARROW)
def test_derivatives_keep_their_digits_where_moments_do_not(likelihood, y, v):
    """Narrow cavities: mean - m and variance - v are rounding, d1 and d2 are not (truth: d log Z / dm)."""
    m, h = np.array([0.4, -2.0, 3.0, -9.0]), 1e-4
    y, v = np.full(4, y), np.full(4, v)
    found = likelihood.tilted(y, m, v, 0.3)
    lower, upper = (likelihood.tilted(y, m + s * h, v, 0.3) for s in (-1, 1))
    np.testing.assert_allclose(found.d1, (upper.log_z - lower.log_z) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(found.d2, (upper.d1 - lower.d1) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize(("mu", "sd", "power"), [(-1000.0, 1e-2, 0.9), (-5.0, 0.7, 0.1), (-1e9, 1e6, 0.9)])
def test_second_derivative_far_on_the_wrong_side(mu, sd, power):
    with mpmath.workdps(40):
        a, v, at = mpmath.mpf(power), mpmath.mpf(sd) ** 2, mpmath.mpf(mu)
        c, s = at / (1 + a * v), mpmath.sqrt(v / (1 + a * v))

        @cache  # one set of nodes for three integrals
        def density(u):
            phi = mpmath.log(mpmath.erfc(-u / mpmath.sqrt(2)) / 2) * a + a * c**2 / 2
            return mpmath.exp(phi - (u - at) ** 2 / (2 * v) + (c - at) ** 2 / (2 * v))

        tail = v / abs(at)  # decay length of what is left of the cavity on the right side
        pieces = sorted(
            [*(c + s * k for k in range(-12, 13, 2)), *(max(s, tail) * k for k in (15, 25, 40, 60))]
        )
        total, first, second = (
            mpmath.quad(lambda u, k=k: (u - c) ** k * density(u), pieces) for k in range(3)
        )
        expected = (second / total - (first / total) ** 2 - v) / v**2
    found = Probit().tilted(np.ones(1), np.array([mu]), np.array([sd**2]), power)
    assert found.d2[0] == pytest.approx(float(expected), rel=2e-9, abs=0.0)


@pytest.mark.parametrize(
    "likelihood", [Probit(), PoissonSquare(), NoisyStep(), GaussianNoise()], ids=lambda x: x.name
)
@pytest.mark.parametrize("power", [0.0, -1.0, 2.0, np.nan, np.array([0.5, 2.0])])
def test_powers_outside_their_range_are_refused(likelihood, power):
    with pytest.raises(ValueError, match="powers of a likelihood"):
        likelihood.tilted(np.ones(2), np.zeros(2), np.ones(2), power)


@pytest.mark.parametrize(
    "case", VALUES["pep_tilted_probit"], ids=lambda c: f"{c['m']}-{c['v']}-{c['y']}-{c['alpha']}"
)
def test_probit_powers_to_forty_digits(case):
    one = [np.array([float(case[name])]) for name in ("y", "m", "v")]
    found = Probit().tilted(*one, case["alpha"])
    for ours, name in ((found.log_z, "logZ"), (found.d1, "d1"), (found.d2, "d2")):
        assert ours[0] == pytest.approx(float(case[name]), rel=1e-11)


@pytest.mark.parametrize("likelihood", [Probit(), PoissonSquare()], ids=lambda x: x.name)
def test_a_power_a_site_is_every_site_with_its_power(likelihood):
    y, m, v = np.ones(4), np.array([-3.0, 0.2, 1.0, 2.0]), np.array([0.1, 4.0, 1.0, 50.0])
    powers = np.array([0.3, 1.0, 0.3, 0.7])
    together = likelihood.tilted(y, m, v, powers)
    for i, power in enumerate(powers):
        alone = likelihood.tilted(y[i : i + 1], m[i : i + 1], v[i : i + 1], power)
        for name in ("log_z", "d1", "d2", "mean", "variance"):
            assert getattr(together, name)[i] == pytest.approx(getattr(alone, name)[0], rel=1e-11), name


def test_labels_are_symmetric_and_the_limit_is_the_expectation():
    m, v = np.array([-1.0, 0.5, 3.0]), np.array([0.2, 2.0, 100.0])
    plus, minus = (Probit().tilted(s * np.ones(3), s * m, v, 0.4) for s in (1, -1))
    np.testing.assert_array_equal(plus.d1, -minus.d1)
    np.testing.assert_array_equal(plus.variance, minus.variance)
    small = Probit().tilted(np.ones(3), m, v, 1e-6)
    expected, by_m, _ = Probit().expected_log(np.ones(3), m, v)
    np.testing.assert_allclose(small.log_z / 1e-6, expected, rtol=1e-4)
    np.testing.assert_allclose(small.d1 / 1e-6, by_m, rtol=1e-4)
