"""The small studies of sparse classification: M = N against dense EP, where pseudo-points go."""

from importlib import import_module

import numpy as np
import pytest

from papers.core import records, verify
from papers.data import Dataset
from papers.data.registry import OWN
from papers.pep import banana, classification, dense, limits
from papers.pep.records import BANANA, DENSE, LIMITS, MAP
from tilted.learning.search import Search


class TestDense:
    @pytest.fixture
    def lines(self, monkeypatch):
        X, y = classification.draw_banana(3, 60)
        X, y = np.vstack([X, X[:4]]), np.concatenate([y, y[:4]])  # repeated inputs, as in ionosphere
        monkeypatch.setattr(dense, "LENGTHSCALES", (0.5, 5.0))
        monkeypatch.setattr(dense, "VARIANCES", (1.0, 50.0))
        return [line for _, line in dense.study(Dataset("iono", "as-released", X, y, ("a", "b"), {}))]

    def test_sparse_ep_is_dense_ep(self, lines):
        assert len(lines) == 8 and all(tuple(line) == tuple(DENSE.columns) for line in lines)
        assert all(line["converged"] and line["difference"] < 1e-6 for line in lines)
        assert {line["n"] for line in lines} <= set(range(50, 60))

    def test_without_the_raw_file_it_is_said_and_other_records_are_repeated(
        self, lines, tmp_path, monkeypatch
    ):
        records.put(tmp_path / "results", {DENSE: lines, LIMITS: limits.problem_lines("small")})
        monkeypatch.setenv("TILTED_DATA", str(tmp_path))
        (tmp_path / "sources.yaml").write_bytes((OWN / "sources.yaml").read_bytes())
        monkeypatch.setattr(import_module("papers.data.fetch"), "_places", lambda *_: [])
        dense.load.cache_clear()
        found = verify.verify([DENSE, LIMITS], tmp_path / "results", verify.Selection({}))
        said = "set TILTED_DATA_MIRROR or --mirror to a folder or URL that has it"
        assert found.missing == [f"pep/dense.csv: could not get 'ionosphere.data'; {said}"]
        assert {row.study for row in found.groups} == {LIMITS.file} and not found.differences

    def test_the_numbers_move_with_the_hyperparameters(self, lines):
        for quantity in (dense.ENERGY, dense.NLL):
            assert len({round(line["dense"], 3) for line in lines if line["quantity"] == quantity}) == 4


@pytest.fixture(scope="module")
def drawn():
    """A fit of a small draw."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(banana, "N", 120)
        patch.setattr(banana, "M", 8)
        patch.setattr(classification, "SEARCH", Search(max_iterations=20))
        return banana.fit(1, 1.0)


class TestBanana:
    def test_distances_to_a_line_and_beyond_its_ends(self):
        pieces = [np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), np.array([[5.0, 5.0], [6.0, 5.0]])]
        points = np.array([[0.5, -2.0], [-3.0, 4.0], [1.2, 0.5], [5.5, 5.1]])
        np.testing.assert_allclose(banana.distances(points, pieces), [2.0, 5.0, 0.2, 0.1])
        with pytest.raises(ArithmeticError, match="no decision boundary"):
            banana.distances(points, [])

    def test_the_boundary_has_mean_zero_and_stays_with_the_data(self, drawn):
        points = np.vstack(drawn.boundary)
        spread = np.ptp(drawn.fitted.predict(drawn.X)[0])
        assert np.max(np.abs(drawn.fitted.predict(points)[0])) < 0.02 * spread
        assert np.all(points >= drawn.X.min(axis=0) - 1e-9) and np.all(points <= drawn.X.max(axis=0) + 1e-9)

    def test_a_line_and_its_map(self, drawn):
        line = banana.line_of(1, 1.0, drawn)
        assert tuple(line) == tuple(BANANA.columns) and (line["m"], line["n"]) == (8, 120)
        Z = drawn.fitted.posterior.pseudo.Z
        assert line["pseudo"] == np.median(banana.distances(Z, drawn.boundary))
        assert line["ratio"] == line["pseudo"] / line["data"] and 0 < line["error"] < 0.3
        points = list(banana.map_of(1.0, drawn))
        assert all(tuple(point) == tuple(MAP.columns) for point in points)
        kinds = [point["kind"] for point in points]
        assert [kinds.count(kind) for kind in ("data", "start", "pseudo")] == [120, 8, 8]
        assert kinds.count("boundary") == sum(map(len, drawn.boundary))
        assert {point["label"] for point in points if point["kind"] == "data"} == {-1, 1}
