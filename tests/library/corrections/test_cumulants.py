"""Skewness and kurtosis of tilted distributions against 40-digit arithmetic."""

import mpmath
import numpy as np
import pytest

from tilted import likelihoods
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.logit import Logit
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.real_counts import RealCounts
from tilted.likelihoods.shape import shape_by_panels, shape_of
from tilted.likelihoods.step import NoisyStep

CAVITIES = [
    (0.3, 0.5),
    (-1.2, 2.0),
    (5.0, 0.01),
    (-8.0, 1.0),
    (-30.0, 4.0),
    (2.0, 1e4),
    (-400.0, 1e3),
    (9.0, 1.0),
]
EXAMPLES = {
    "gaussian": (GaussianNoise(0.3), 0.7),
    "laplace": (likelihoods.get("laplace"), 2.0),
    "logit": (Logit(), -1.0),
    "negative-binomial": (likelihoods.get("negative-binomial"), 2.0),
    "noisy-step": (NoisyStep(0.2), 1.0),
    "ordinal": (likelihoods.get("ordinal", thresholds=(-0.8, 0.3)), 1.0),
    "poisson-exp": (likelihoods.get("poisson-exp"), 2.0),
    "poisson-square": (PoissonSquare(), 3.0),
    "probit": (Probit(), 1.0),
    "student-t": (likelihoods.get("student-t"), 2.0),
}


def shape(likelihood, y, m, v):
    found = shape_of(likelihood, np.array([y]), np.array([m]), np.array([v]))
    return float(found.skewness[0]), float(found.kurtosis[0])


def by_derivatives(log_z, m, v):
    """From the derivatives of log Z in m, of which cumulants are v^l times the l-th."""
    with mpmath.workdps(60):
        m, v = mpmath.mpf(m), mpmath.mpf(v)
        c = [a * mpmath.factorial(k) * v**k for k, a in enumerate(mpmath.taylor(lambda x: log_z(x, v), m, 4))]
        variance = v + c[2]
        return float(c[3] / variance**1.5), float(c[4] / variance**2)


def test_every_likelihood_has_an_example():
    assert sorted(EXAMPLES) == likelihoods.names()
    assert all(hasattr(likelihood, "tilted_shape") for likelihood, _ in EXAMPLES.values())


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "noisy-step"])  # a sum blurs its jump
def test_a_fine_sum_says_the_same(name):
    (likelihood, y), m, v = EXAMPLES[name], 0.3, 0.5
    f = m + np.sqrt(v) * np.linspace(-14.0, 14.0, 400001)
    weights = np.exp(likelihood.log_likelihood(np.full(len(f), y), f) - 0.5 * (f - m) ** 2 / v)
    weights /= weights.sum()
    deviations = f - weights @ f
    c2, c3, c4 = (weights @ deviations**k for k in (2, 3, 4))
    assert shape(likelihood, y, m, v) == pytest.approx((c3 / c2**1.5, c4 / c2**2 - 3.0), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("z", [-1e4, -300.0, -40.0, -4.0, -2.501, -2.499, -1.0, 0.0, 1.5, 6.0])
def test_probit_from_tail_to_tail(z):
    log_z = lambda x, v: mpmath.log(mpmath.ncdf(x / mpmath.sqrt(1 + v)))  # noqa: E731
    if z < -100:  # an exponential distribution, but for 1 / z^2
        v = 1e18
        skewness, kurtosis = shape(Probit(), 1.0, z * np.sqrt(1 + v), v)
        assert skewness == pytest.approx(2.0, rel=10 / z**2 + 1e-7)
        assert kurtosis == pytest.approx(6.0, rel=40 / z**2 + 1e-6)
        return
    reference = by_derivatives(log_z, z * 3.0, 8.0)
    np.testing.assert_allclose(shape(Probit(), 1.0, z * 3.0, 8.0), reference, rtol=2e-12)


@pytest.mark.parametrize(("m", "v"), CAVITIES)
@pytest.mark.parametrize("flips", [0.2, 1e-6])
def test_noisy_step(flips, m, v):
    def log_z(x, v):
        z = x / mpmath.sqrt(v)
        return mpmath.log((1 - mpmath.mpf(flips)) * mpmath.ncdf(z) + flips * mpmath.ncdf(-z))

    found = shape(NoisyStep(flips), 1.0, m, v)
    np.testing.assert_allclose(found, by_derivatives(log_z, m, v), rtol=1e-9, atol=1e-300)
    mirrored = shape(NoisyStep(flips), -1.0, -m, v)
    assert (-mirrored[0], mirrored[1]) == found


@pytest.mark.parametrize(
    ("m", "v"), [(0.3, 0.5), (-1.2, 2.0), (5.0, 0.01), (-8.0, 1.0), (2.0, 1e4), (9.0, 1.0)]
)
@pytest.mark.parametrize("y", [0, 1, 5])
def test_poisson(y, m, v):
    def log_z(x, v):
        b, a = x / (1 + 2 * v), 2 * v / (1 + 2 * v)
        terms = (
            mpmath.binomial(2 * y, j)
            * b ** (2 * y - j)
            * a ** (mpmath.mpf(j) / 2)
            * mpmath.gamma(mpmath.mpf(j + 1) / 2)
            for j in range(0, 2 * y + 1, 2)
        )
        return mpmath.log(mpmath.fsum(terms)) - x**2 / (1 + 2 * v)

    reference = by_derivatives(log_z, m, v)
    np.testing.assert_allclose(shape(PoissonSquare(), float(y), m, v), reference, rtol=1e-11, atol=2e-14)
    np.testing.assert_allclose(shape(RealCounts(), float(y), m, v), reference, rtol=1e-11, atol=2e-14)


def test_gaussian_noise_leaves_gaussians():
    assert shape(GaussianNoise(0.3), 0.7, 2.0, 5.0) == (0.0, 0.0)


@pytest.mark.parametrize("name", EXAMPLES)
def test_panels_say_the_same(name):
    likelihood, y = EXAMPLES[name]
    m, v = np.array([0.3, -1.2, 2.0]), np.array([0.5, 3.0, 0.2])
    one = shape_of(likelihood, np.full(3, y), m, v)
    other = shape_by_panels(likelihood, np.full(3, y), m, v)
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=2e-12)
