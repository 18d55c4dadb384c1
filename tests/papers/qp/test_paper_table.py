"""The paper's table, built: the same numbers as without it."""

import numpy as np
import pytest

from papers.qp.lookup import paper_table
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.projections.moments import Projection, TableGrid, kl

GRID = TableGrid(mu_limit=2.0, log10_sigma_limit=0.5, step=0.125)


def built(likelihood, *labels):
    """The whole table of some labels, the last rows of each apart from the others."""
    pieces = {
        float(y): [paper_table.build(likelihood, y, GRID, *rows) for rows in ((0, 19), (20, 32))]
        for y in labels
    }
    return paper_table.PaperTable(likelihood, GRID, {y: np.concatenate(both) for y, both in pieces.items()})


def points(n=300, beyond=1.2):
    rng = np.random.default_rng(3)
    m, log_sigma = rng.uniform(-2, 2, n) * beyond, rng.uniform(-0.5, 0.5, n) * beyond
    edges = np.array([[-2.0, -0.5], [2.0, 0.5], [0.0, 0.0], [2.0, -0.5], [0.125, 0.25]])
    return np.append(m, edges[:, 0]), 10.0 ** (2 * np.append(log_sigma, edges[:, 1]))


def test_size_of_the_papers_grid():
    assert paper_table.half_sizes(TableGrid()) == (10_000, 1_000)
    assert paper_table.build("probit", 1, GRID, 31, 32).shape == (2, 9)


def test_table_is_the_interpolation_without_a_table():
    table, (m, v) = built("probit", 1, -1), points()
    y = np.where(np.arange(len(m)) % 2, 1.0, -1.0)
    got, same = table.project(Probit(), y, m, v), GRID.project(Probit(), y, m, v)
    for name in Projection.__dataclass_fields__:
        np.testing.assert_allclose(getattr(got, name), getattr(same, name), rtol=1e-13, atol=1e-13)
    outside = (np.abs(m) > 2) | (np.abs(np.log10(v)) > 1)
    assert 50 < np.sum(outside) < 200
    np.testing.assert_array_equal(got.variance[outside], kl(Probit(), y, m, v).variance[outside])


def test_counts():
    table, (m, v) = built("poisson-square", 0, 3), points()
    y = np.where(np.arange(len(m)) % 3, 3.0, 0.0)
    got, same = table.project(PoissonSquare(), y, m, v), GRID.project(PoissonSquare(), y, m, v)
    np.testing.assert_allclose(got.variance, same.variance, rtol=1e-13)
    with pytest.raises(ValueError, match=r"'poisson-square' for \[2.0\]"):
        table.project(PoissonSquare(), np.full(1, 2.0), np.zeros(1), np.ones(1))
    with pytest.raises(ValueError, match="no table of 'probit'"):
        table.project(Probit(), np.zeros(1), np.zeros(1), np.ones(1))


@pytest.mark.parametrize("first, last", [(-1, 3), (0, 33), (5, 4)])
def test_rows_outside_the_grid_are_refused(first, last):
    with pytest.raises(ValueError, match="rows 0 to 32"):
        paper_table.build("probit", 1, GRID, first, last)


def test_labels_outside_the_domain_are_refused():
    with pytest.raises(ValueError, match="probit labels"):
        paper_table.build("probit", 0, GRID, 0, 3)
