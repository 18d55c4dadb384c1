"""QP7: the computed check of theorem 2 can fail, and does for the paper's table."""

from dataclasses import replace

import numpy as np
import pytest

from papers.core.verdicts import FAILS, HOLDS
from papers.qp.claims import projection
from tilted import likelihoods
from tilted.projections.moments import kl, wasserstein


@pytest.fixture
def few(monkeypatch):
    """A hundred distributions a row; results are kept between calls, so the memory starts empty."""
    monkeypatch.setattr(projection, "N", 100)
    projection._line.cache_clear()
    yield
    projection._line.cache_clear()


def statuses(block):
    return {line.row: line.sample.status for line in block.lines}


def test_the_exact_projection_holds(few):
    for protocol in ("as-released", "corrected"):
        (block,) = projection.one_tilted(protocol)
        assert block.verdict == HOLDS and len(block.lines) == 4
        assert all(line.effect == 0 for line in block.lines)  # what is there is rounding
        assert min(line.sample.low for line in block.lines) < -0.01


def test_the_papers_table_stands_beside_and_does_not(few):
    exact, table = projection.one_tilted("as-described")
    assert (exact.name, table.name) == ("exact quadrature", "the paper's lookup tables")
    assert (exact.verdict, table.verdict) == (HOLDS, FAILS)
    assert 1e-7 < table.decisive.effect < 1e-5


def scaled(factor):
    """A projection whose standard deviation is the KL projection's times ``factor``."""
    return lambda *a: replace(kl(*a), variance=factor**2 * kl(*a).variance)


@pytest.mark.parametrize(
    "wrong, expected",
    [
        (scaled(1 + 1e-9), ["no", "no", "no", "no"]),
        (kl, ["no", "no", "no", "yes"]),  # equality where the distribution is not Gaussian
        (scaled(1 - 1e-9), ["yes", "yes", "yes", "no"]),  # inequality where it is
    ],
)
def test_wrong_projections_are_found(few, wrong, expected):
    block = projection._block("wrong", wrong, projection.POPULATIONS)
    assert list(statuses(block).values()) == expected


@pytest.mark.parametrize("excess, shown", [(5e-13, 0.0), (-5e-13, 0.0), (3e-12, 3e-12), (-3e-12, -3e-12)])
def test_rounding_is_given_as_nothing(few, excess, shown):
    gaussian = projection.POPULATIONS[-1]
    line = projection._line(gaussian, scaled(1 + excess))
    assert (line.effect, line.sample.low) == pytest.approx((shown, shown), rel=1e-3, abs=0)


def test_departure_from_gaussian_is_the_leading_term():
    y, m, v = np.ones(4), np.array([0.0, 1.0, -2.0, 3.0]), np.full(4, 0.02)
    likelihood = likelihoods.get("probit")
    gap = 1 - np.sqrt(wasserstein(likelihood, y, m, v).variance / kl(likelihood, y, m, v).variance)
    np.testing.assert_allclose(projection.departure(likelihood, y, m, v), gap, rtol=0.05)
    gaussian = projection.departure(likelihoods.get("gaussian"), y, m, v)
    assert np.all(np.abs(gaussian) < 1e-20)
