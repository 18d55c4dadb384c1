"""The paper's table built in blocks: the same numbers as without it; blocks that do not fit are refused."""

import numpy as np
import pytest

import tilted
from papers.qp.lookup import paper_table
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.projections.moments import Projection, TableGrid, kl
from tilted.projections.table import TableError

GRID = TableGrid(mu_limit=2.0, log10_sigma_limit=0.5, step=0.125)


def write(folder, likelihood, y, grid=GRID, rows=10):
    """Files of all blocks of one label."""
    paths = []
    for first, last in paper_table.blocks(grid, rows):
        block = paper_table.build(likelihood, y, grid, first, last)
        paths.append(folder / f"{likelihood}{y}-{first}.h5")
        paths[-1].write_bytes(paper_table.encode(block))
    return paths


@pytest.fixture
def files(tmp_path):
    return write(tmp_path, "probit", 1) + write(tmp_path, "probit", -1)


def points(n=300, beyond=1.2):
    rng = np.random.default_rng(3)
    m, log_sigma = rng.uniform(-2, 2, n) * beyond, rng.uniform(-0.5, 0.5, n) * beyond
    edges = np.array([[-2.0, -0.5], [2.0, 0.5], [0.0, 0.0], [2.0, -0.5], [0.125, 0.25]])
    return np.append(m, edges[:, 0]), 10.0 ** (2 * np.append(log_sigma, edges[:, 1]))


def test_blocks_of_the_papers_grid():
    assert paper_table.half_sizes(TableGrid()) == (10_000, 1_000)
    blocks = paper_table.blocks(TableGrid(), 500)
    assert len(blocks) == 41 and blocks[0] == (0, 499) and blocks[-1] == (20_000, 20_000)


def test_table_is_the_interpolation_without_a_table(files):
    table, (m, v) = paper_table.read(files), points()
    y = np.where(np.arange(len(m)) % 2, 1.0, -1.0)
    got, same = table.project(Probit(), y, m, v), GRID.project(Probit(), y, m, v)
    for name in Projection.__dataclass_fields__:
        np.testing.assert_allclose(getattr(got, name), getattr(same, name), rtol=1e-13, atol=1e-13)
    outside = (np.abs(m) > 2) | (np.abs(np.log10(v)) > 1)
    assert 50 < np.sum(outside) < 200
    np.testing.assert_array_equal(got.variance[outside], kl(Probit(), y, m, v).variance[outside])


def test_counts(tmp_path):
    paths = [path for y in (0, 3) for path in write(tmp_path, "poisson-square", y, rows=33)]
    table, (m, v) = paper_table.read(paths), points()
    y = np.where(np.arange(len(m)) % 3, 3.0, 0.0)
    got, same = table.project(PoissonSquare(), y, m, v), GRID.project(PoissonSquare(), y, m, v)
    np.testing.assert_allclose(got.variance, same.variance, rtol=1e-13)
    with pytest.raises(ValueError, match=r"'poisson-square' for \[2.0\]"):
        table.project(PoissonSquare(), np.full(1, 2.0), np.zeros(1), np.ones(1))
    with pytest.raises(ValueError, match="no table of 'probit'"):
        table.project(Probit(), np.zeros(1), np.zeros(1), np.ones(1))


def test_fit_with_the_table(files, toy):
    options = {"method": "qp", "optimise": False}
    fits = [tilted.fit(*toy, **options, projection=p) for p in (paper_table.read(files), GRID)]
    assert all(fit.status.converged for fit in fits)
    assert fits[0].log_evidence == pytest.approx(fits[1].log_evidence, abs=1e-9)


def test_files_are_the_same_twice_and_chunked(files, tmp_path):
    import h5py

    before = files[0].read_bytes()
    assert write(tmp_path, "probit", 1)[0].read_bytes() == before
    with h5py.File(files[0], "r") as file:
        assert file["variance"].chunks is not None and file["variance"].dtype == np.float64


def test_missing_double_and_foreign_blocks_are_refused(files, tmp_path):
    for wrong in (files[1:], files[:1] + files[2:], [files[0], *files]):
        with pytest.raises(TableError, match="missing or double"):
            paper_table.read(wrong)
    with pytest.raises(TableError, match="blocks are missing"):
        paper_table.read(files[:-1])
    foreign = write(tmp_path, "poisson-square", 2)
    for wrong in ([], files + foreign):
        with pytest.raises(TableError, match="several likelihoods or grids, or there are none"):
            paper_table.read(wrong)


def test_damage_is_noticed(files):
    import h5py

    whole = files[0].read_bytes()
    with h5py.File(files[0], "r+") as file:
        file["variance"][2, 3] += 1e-12
    with pytest.raises(TableError, match="content hash differs"):
        paper_table.decode(files[0])
    for content in (whole[:-100], whole[:50], b""):
        files[0].write_bytes(content)
        with pytest.raises(TableError, match="delete it and run again"):
            paper_table.decode(files[0])


@pytest.mark.parametrize("first, last", [(-1, 3), (0, 33), (5, 4)])
def test_rows_outside_the_grid_are_refused(first, last):
    with pytest.raises(ValueError, match="rows 0 to 32"):
        paper_table.build("probit", 1, GRID, first, last)


def test_labels_outside_the_domain_are_refused():
    with pytest.raises(ValueError, match="probit labels"):
        paper_table.build("probit", 0, GRID, 0, 3)
