"""Likelihoods without closed forms, and Laplace's, against 40-digit quadrature; their limits."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import laplace
from scipy.stats import t as student_t

from tilted import likelihoods
from tilted.likelihoods.exponential_link import NegativeBinomial, PoissonExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.laplace import LaplaceNoise
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


@pytest.mark.parametrize("y", [0.0, 3.0])
@pytest.mark.parametrize("sd", [1e3, 1e6, 1e9])
def test_laplace_moments_keep_their_digits_under_wide_cavities(y, sd):
    t = LaplaceNoise(0.4).tilted(*(np.array([x]) for x in (y, 0.0, sd**2)))
    # the cavity is flat there: mean y up to scale^2 y / v, variance 2 scale^2
    assert t.mean[0] == pytest.approx(y, abs=10 / sd**2 + 1e-15)
    assert t.variance[0] == pytest.approx(2 * 0.4**2, rel=10 / sd**2 + 1e-12)
    assert t.log_z[0] == pytest.approx(-0.5 * np.log(2 * np.pi) - np.log(sd), rel=10 / sd**2 + 1e-14)


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


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: StudentT(0.0), "scale must be finite and positive"),
        (lambda: StudentT(1.0, np.inf), "df must be finite and positive"),
        (lambda: LaplaceNoise(-1.0), "scale must be finite and positive"),
        (lambda: NegativeBinomial(0.0), "dispersion must be finite and positive"),
        (lambda: PoissonExponential().check([1.0, -2.0]), "at least 0, got -2 at row 1"),
        (lambda: NegativeBinomial().check([0.5]), "whole numbers of at least 0, got 0.5 at row 0"),
        (lambda: StudentT().check([np.nan]), "row 0"),
    ],
)
def test_what_is_no_such_likelihood_or_target_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
