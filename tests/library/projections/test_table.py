"""The certified table of sigma_QP against 60-digit values, quadrature, and damage; Poisson without a table.

The 60-digit values are those of ``tests/reference/make_wasserstein.py``.
"""

import json
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilted
from tests.helpers import columns
from tilted.inference.options import Options
from tilted.kernels import SquaredExponential
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.projections import table as lookup
from tilted.projections.moments import kl, wasserstein

REFERENCE = Path(__file__).parents[2] / "reference" / "wasserstein_values.json"
EXACT = json.loads(REFERENCE.read_text(encoding="utf-8"))
COAL_COUNTS = set(range(7))


@pytest.fixture(scope="module")
def built():
    """The table and the processor seconds it took."""
    began = time.process_time()
    table = lookup.build()
    return table, time.process_time() - began


@pytest.fixture(scope="module")
def table(built):
    return built[0]


@pytest.fixture
def stored(table, tmp_path):
    path = tmp_path / "probit.table"
    path.write_bytes(lookup.encode(table))
    return path


def sd(table, y, mu, sigma):
    return np.sqrt(table.project(Probit(), y, mu, sigma**2).variance)


def plane(points, seed):
    """Seeded points in |mu| <= 1e3, 1e-3 <= sigma <= 1e3, log-uniform in sigma and in |mu|, and its edge."""
    rng = np.random.default_rng(seed)
    sigma = 10.0 ** rng.uniform(-3, 3, points)
    mu = rng.choice([-1.0, 1.0], points) * 10.0 ** rng.uniform(-3, 3, points)
    edge = [(m, s) for m in (-1e3, 0.0, 1e3) for s in (1e-3, 1.0, 1e3)]
    return np.concatenate([mu, [m for m, _ in edge]]), np.concatenate([sigma, [s for _, s in edge]])


# Certification


def test_box_is_certified_by_60_digits(table):
    """At most 1e-10 in |mu| <= 10, 0.1 <= sigma <= 10, corners included."""
    mu, sigma, exact = columns(EXACT["probit_box"], "mu", "sigma", "sd_QP")
    assert len(mu) >= 16
    assert np.all(np.abs(mu) <= 10) and np.all((sigma >= 0.1) & (sigma <= 10))
    np.testing.assert_allclose(sd(table, np.ones_like(mu), mu, sigma), exact, rtol=1e-10)


def test_plane_is_certified_by_60_digits(table):
    """At most 1e-8 in the plane, its corners and beyond them."""
    mu, sigma, exact = columns(EXACT["probit_plane"], "mu", "sigma", "sd_QP")
    np.testing.assert_allclose(sd(table, np.ones_like(mu), mu, sigma), exact, rtol=1e-8)


@pytest.mark.parametrize("limits, bound", [((10.0, 0.1, 10.0), 1e-10), ((1e3, 1e-3, 1e3), 1e-8)])
def test_error_against_quadrature(table, limits, bound):
    """At other random points than those whose error the table carries."""
    assert lookup.measured_error(table, *limits, points=2000, seed=41) <= bound


@pytest.fixture
def integrated(monkeypatch):
    """Numbers of points of each call of the quadrature."""
    exact, sizes = lookup.exact_ratio, []

    def counted(mu, sigma):
        sizes.append(len(mu))
        return exact(mu, sigma)

    monkeypatch.setattr(lookup, "exact_ratio", counted)
    return sizes


def test_whole_plane_is_covered_without_quadrature_or_ep(table, integrated):
    mu, sigma = plane(3000, seed=5)
    found = table.ratio(mu, sigma)
    assert integrated == []
    exact = lookup.exact_ratio(mu, sigma)
    np.testing.assert_allclose(found, exact, rtol=1e-8)
    far = (np.abs(mu) > 10) & (exact < 0.99)
    assert np.sum(far) > 100 and np.all(found[far] < 0.991)


def test_points_outside_all_patches_are_integrated(table, integrated):
    mu, sigma = np.array([-1e9, 0.5, 0.0, -1e8]), np.array([1e5, 1.0, 1e6, 2e4])
    found = table.ratio(mu, sigma)
    assert integrated == [3]
    np.testing.assert_allclose(found, lookup.exact_ratio(mu, sigma), rtol=1e-10)
    assert np.all(found[[0, 2, 3]] < 0.97)  # EP's would be 1


@given(mu=st.floats(-1e3, 1e3), log_sigma=st.floats(-3, 3))
def test_label_is_a_reflection(table, mu, log_sigma):
    """sigma(mu, s, -y) = sigma(-mu, s, y), mean(mu, s, -y) = -mean(-mu, s, y), to the last bit."""
    m, v = np.array([mu]), np.array([10.0 ** (2 * log_sigma)])
    one = table.project(Probit(), np.array([-1.0]), m, v)
    other = table.project(Probit(), np.array([1.0]), -m, v)
    assert (one.variance, one.d2, one.mean, one.d1) == (other.variance, other.d2, -other.mean, -other.d1)


def test_projection_equals_quadrature_in_every_part(table):
    y, m, v = np.array([1.0, -1.0, 1.0]), np.array([0.3, 4.0, -30.0]), np.array([2.0, 50.0, 900.0])
    got, exact = table.project(Probit(), y, m, v), wasserstein(Probit(), y, m, v)
    for name in ("log_z", "mean", "variance", "d1", "d2"):
        np.testing.assert_allclose(getattr(got, name), getattr(exact, name), rtol=1e-10, err_msg=name)


# The file


def test_round_trip(table, stored):
    back = lookup.read(stored)
    assert back.origin == table.origin
    assert set(back.origin.versions) == {"tilted", "numpy", "scipy"}
    for one, other in zip(table.patches, back.patches, strict=True):
        assert (one.low, one.high) == (other.low, other.high)
        np.testing.assert_array_equal(one.coefficients, other.coefficients)
    mu, sigma = plane(200, seed=6)
    np.testing.assert_array_equal(back.ratio(mu, sigma), table.ratio(mu, sigma))


@pytest.mark.parametrize("place", [0, 100, 200, 1000, 20_000, -1])
def test_one_other_bit_is_noticed(stored, place):
    """In the name of the format, the hash, the description and the numbers."""
    content = bytearray(stored.read_bytes())
    content[place] ^= 1
    stored.write_bytes(content)
    with pytest.raises(lookup.TableError, match=r"probit\.table .*delete it and run again$"):
        lookup.read(stored)


def test_another_format_is_refused(stored):
    content = stored.read_bytes()
    assert content.count(b"format 2\n") == 1
    stored.write_bytes(content.replace(b"format 2\n", b"format 3\n"))
    with pytest.raises(lookup.TableError, match="format 3, not 2; delete it and run again$"):
        lookup.read(stored)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(lookup.TableError, match=r"nowhere\.table"):
        lookup.read(tmp_path / "nowhere.table")


# Use


def test_other_likelihoods_are_refused(table, counts):
    with pytest.raises(ValueError, match="the probit's, not that of 'poisson-square'"):
        table.project(PoissonSquare(), np.ones(1), np.zeros(1), np.ones(1))
    with pytest.raises(ValueError, match="poisson-square"):
        tilted.fit(*counts, likelihood="poisson-square", inference="qp", mean=1.0, projection=table)


@pytest.mark.parametrize("kernel", [SquaredExponential(1.0, 1.0), SquaredExponential(900.0, 4.0)])
def test_fit_with_the_table_is_the_fit_by_quadrature(table, toy, kernel):
    X, y = toy
    fits = [
        tilted.fit(
            X, y, "probit", "qp", kernel, optimise=False, options=Options(tolerance=1e-12), projection=p
        )
        for p in (None, table)
    ]
    assert all(fit.status.converged for fit in fits)
    exact, got = fits
    assert got.log_evidence == pytest.approx(exact.log_evidence, abs=1e-9)
    sds = [np.sqrt(fit.inference.state.marginals.variance) for fit in fits]
    np.testing.assert_allclose(sds[1], sds[0], rtol=1e-10)


# Poisson: no table, quadrature for every count


def test_counts_by_quadrature_are_certified_by_60_digits():
    """At most 1e-8, for every count of the coal series, unimodal and bimodal, on both sides of zero."""
    y, mu, sigma, exact, sd_ep = columns(EXACT["poisson"], "y", "mu", "sigma", "sd_QP", "sd_EP")
    assert set(y.astype(int)) >= COAL_COUNTS
    assert np.sum(exact / sd_ep < 0.95) >= 3  # lobes far apart
    for side in (1.0, -1.0):
        variance = wasserstein(PoissonSquare(), y, side * mu, sigma**2).variance
        np.testing.assert_allclose(np.sqrt(variance), exact, rtol=1e-8)
        np.testing.assert_allclose(
            np.sqrt(kl(PoissonSquare(), y, side * mu, sigma**2).variance), sd_ep, rtol=1e-10
        )
