"""Wasserstein and KL projections against 40-digit references, limits and finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import columns
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.projections import table as lookup
from tilted.projections.moments import (
    TableGrid,
    kl,
    kl_sensitivity,
    wasserstein,
    wasserstein_sd,
    wasserstein_sensitivity,
)


@pytest.mark.parametrize("name", ["qp_probit", "qp_poisson"])
def test_wasserstein_sd_equals_reference(values, name):
    likelihood = Probit() if name == "qp_probit" else PoissonSquare()
    y, mu, sigma, sd, mean = columns(values[name], "y", "mu", "sigma", "sd_QP", "mean")
    projection = wasserstein(likelihood, y, mu, sigma**2)
    np.testing.assert_allclose(np.sqrt(projection.variance), sd, rtol=1e-14)
    np.testing.assert_allclose(projection.mean, mean, rtol=1e-14, atol=1e-12)


def test_wasserstein_sd_in_far_tails(values):
    y, mu, sigma, sd = columns(values["qp_asymptotics_double"], "y", "mu", "sigma", "sd_QP")
    got = wasserstein_sd(Probit().tilted_density(y, mu, sigma**2))
    np.testing.assert_allclose(got, sd, rtol=2e-11)


def test_limits_of_the_ratio(values):
    constants = {key: float(value) for key, value in values["qp_constants"].items()}
    wide = Probit().tilted_density(np.ones(2), np.array([-1e7, 0.0]), np.array([1e9, 1e12]))
    ratio = wasserstein_sd(wide) / np.sqrt(
        kl(Probit(), np.ones(2), np.array([-1e7, 0.0]), np.array([1e9, 1e12])).variance
    )
    assert ratio[0] == pytest.approx(constants["exponential_limit_ratio"], rel=1e-3)
    assert ratio[1] == pytest.approx(constants["half_normal_limit_ratio"], rel=1e-5)


def test_gaussian_densities_are_fixed_points():
    y, m, v = np.array([0.3, -5.0]), np.array([1.0, 4.0]), np.array([2.0, 0.01])
    likelihood = GaussianNoise(0.7)
    exact, projected = kl(likelihood, y, m, v), wasserstein(likelihood, y, m, v)
    np.testing.assert_allclose(projected.variance, exact.variance, rtol=1e-13)


@given(mu=st.floats(-300, 300), log_sigma=st.floats(-2, 2.5), y=st.sampled_from([-1.0, 1.0]))
def test_theorem_2_for_the_probit(mu, log_sigma, y):
    """sigma_QP <= sigma_EP, and the ratio stays above its exponential limit."""
    arguments = np.array([y]), np.array([mu]), np.array([10.0 ** (2 * log_sigma)])
    sd = wasserstein_sd(Probit().tilted_density(*arguments))
    ratio = (sd / np.sqrt(kl(Probit(), *arguments).variance))[0]
    assert 0.9031972 < ratio <= 1 + 1e-11


@given(mu=st.floats(-10, 10), log_sigma=st.floats(-1, 1), y=st.integers(0, 40))
def test_theorem_2_for_counts(mu, log_sigma, y):
    arguments = np.array([float(y)]), np.array([mu]), np.array([10.0 ** (2 * log_sigma)])
    sd = wasserstein_sd(PoissonSquare().tilted_density(*arguments))
    assert sd[0] ** 2 <= kl(PoissonSquare(), *arguments).variance[0] * (1 + 1e-10)


@pytest.mark.parametrize("projection", ["quadrature", "table"])
def test_sites_far_on_their_side_stay_log_concave(projection):
    """QP's d2 is never positive, not even where the density is Gaussian to rounding."""
    rng = np.random.default_rng(0)
    v = 10.0 ** rng.uniform(-2, 4, 400)
    m, y = rng.uniform(6, 14, 400) * np.sqrt(1 + v), np.ones(400)
    project = wasserstein if projection == "quadrature" else lookup.build(points=10).project
    ours, ep = project(Probit(), y, m, v), kl(Probit(), y, m, v)
    assert np.all(ep.d2 < 0)
    assert np.all(ours.d2 <= ep.d2) and np.all(ours.variance <= ep.variance)


@pytest.mark.parametrize(
    "likelihood, y",
    [
        (Probit(), np.array([1.0, -1.0, 1.0, 1.0])),
        (PoissonSquare(), np.array([0.0, 3.0, 1.0, 7.0])),
    ],
)
@pytest.mark.parametrize(
    "project, sensitivity", [(kl, kl_sensitivity), (wasserstein, wasserstein_sensitivity)]
)
def test_sensitivities_are_derivatives(likelihood, y, project, sensitivity):
    m, v = np.array([0.4, -1.5, 2.5, -3.0]), np.array([0.8, 3.0, 0.2, 9.0])
    got = sensitivity(likelihood, y, m, v)
    h = 1e-3

    def derivative(dm, dv):
        p = [project(likelihood, y, m + k * h * dm, v * (1 + k * h * dv)) for k in (-2, -1, 1, 2)]
        slope = lambda a: (a[0] - 8 * a[1] + 8 * a[2] - a[3]) / (12 * h)  # noqa: E731
        scale = v if dv else 1.0
        return [slope([getattr(q, name) for q in p]) / scale for name in ("mean", "variance")]

    mean_m, variance_m = derivative(1.0, 0.0)
    mean_v, variance_v = derivative(0.0, 1.0)
    np.testing.assert_allclose(got.mean_m, mean_m, atol=1e-7)
    np.testing.assert_allclose(got.mean_v, mean_v, atol=1e-7)
    np.testing.assert_allclose(got.variance_m, variance_m, atol=1e-6)
    np.testing.assert_allclose(got.variance_v, variance_v, atol=1e-6)


def test_table_interpolates_its_corners_and_falls_back_outside():
    """On a coarse grid: exact at grid points, bilinear in (mu, log10 sigma) between, EP outside."""
    grid = TableGrid(mu_limit=2.0, log10_sigma_limit=0.5, step=0.25)
    y = np.ones(5)
    sigma = 10.0 ** np.array([0.25, 0.0, 0.125, 0.5, 0.6])
    m = np.array([0.5, 2.0, 0.125, -2.0, 0.0])
    got = grid.project(Probit(), y, m, sigma**2)
    exact = wasserstein(Probit(), y, m, sigma**2)
    np.testing.assert_allclose(got.variance[[0, 1, 3]], exact.variance[[0, 1, 3]], rtol=1e-12)
    corners = [
        wasserstein(Probit(), np.ones(1), np.array([a]), np.array([10.0 ** (2 * b)])).variance[0]
        for a in (0.0, 0.25)
        for b in (0.0, 0.25)
    ]
    assert got.variance[2] == pytest.approx(np.mean(corners), rel=1e-12)
    assert got.variance[4] == kl(Probit(), y, m, sigma**2).variance[4]


def test_table_error_is_as_measured():
    """Positive everywhere, up to 4.1e-6 of sigma^2 (the figure for the paper's grid)."""
    rng = np.random.default_rng(5)
    m, sigma = rng.uniform(-10, 10, 400), 10.0 ** rng.uniform(-1, 1, 400)
    y = np.ones(400)
    exact = wasserstein(Probit(), y, m, sigma**2).variance
    error = TableGrid().project(Probit(), y, m, sigma**2).variance / exact - 1.0
    assert np.all(error > -1e-12)
    assert 1e-6 < error.max() < 4.2e-6
