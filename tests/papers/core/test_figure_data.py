"""The data beside a figure are what is drawn in it."""

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from papers.core import figure_data, style

ROOT = Path(__file__).resolve().parents[3]
COLUMNS = ["panel", "kind", "series", "item", "x", "y", "value"]


@pytest.fixture
def axes():
    with style.applied():
        yield Figure().subplots()


def table(axes):
    ending, content = figure_data.encode(axes.figure)
    assert ending == "csv"
    return pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=[""])


def points(frame):
    return list(zip(frame["x"], frame["y"], strict=True))


def test_lines_points_and_what_they_are_called(axes):
    axes.plot([1, 2, 3], [4, np.nan, 6], color="C0", label=r"EP $10^{-3}$, $\leq$ QP")
    axes.plot([5], [7], "o", color="C0")
    axes.plot([8], [9], "o", color="C3")
    axes.axhline(0.0)
    axes.set(title="Wine1", xlabel="M", ylabel="SMSE")
    axes.legend()
    found = table(axes)
    assert list(found) == COLUMNS and set(found["panel"]) == {"1 Wine1: SMSE against M"}
    assert found["kind"].tolist() == ["line"] * 3 + ["points"] * 2
    assert found["item"].tolist() == [1, 1, 1, 2, 3]
    assert found["series"].fillna("").tolist() == ["EP 10^-3, <= QP"] * 4 + [""]  # by its colour; unknown
    assert points(found)[0] == (1, 4) and np.isnan(found["y"][1]) and points(found)[3:] == [(5, 7), (8, 9)]


def test_error_bars_belong_to_their_series(axes):
    axes.errorbar([1, 2], [3, 4], yerr=[0.5, 1.0], label="ours")
    found = table(axes)
    assert set(found["series"]) == {"ours"}
    assert points(found[found["item"] == 2]) == [(1, 2.5), (1, 3.5)]
    assert points(found[found["item"] == 3]) == [(2, 3), (2, 5)]


def test_bars_and_areas(axes):
    axes.bar([1, 3], [5, 6], width=1.0, label="won")
    axes.fill_between([0, 1], [0, 0], [1, 2])
    found = table(axes)
    bars, areas = found[found["kind"] == "bar"], found[found["kind"] == "area"]
    assert points(bars) == [(0.5, 0), (1.5, 5), (2.5, 0), (3.5, 6)] and set(bars["series"]) == {"won"}
    assert {(1.0, 2.0), (0.0, 1.0)} <= set(points(areas))


@pytest.mark.parametrize("origin", ["upper", "lower"])
def test_cells_of_an_image(axes, origin):
    axes.imshow([[1, 2], [3, 4]], origin=origin, extent=(0, 4, 10, 0) if origin == "upper" else (0, 4, 0, 10))
    found = table(axes)
    assert points(found) == [(1, 2.5), (3, 2.5), (1, 7.5), (3, 7.5)]
    assert found["value"].tolist() == [1, 2, 3, 4]


def test_cells_of_a_mesh_and_contours(axes):
    grid = np.arange(3.0)
    axes.pcolormesh([0, 1, 2], [0, 2], [[5, 6]])
    axes.contour(grid, grid, np.add.outer(grid, grid), levels=[1.5])
    axes.scatter([1, 2], [3, 4])
    found = table(axes)
    cells = found[found["kind"] == "cells"]
    assert points(cells) == [(0.5, 1), (1.5, 1)] and cells["value"].tolist() == [5, 6]
    line = found[found["kind"] == "line"]
    assert len(line) and np.allclose(line["x"] + line["y"], 1.5)
    assert points(found[found["kind"] == "points"]) == [(1, 3), (2, 4)]


def test_much_data_is_compressed_and_the_same_bytes(axes, monkeypatch):
    axes.plot(np.arange(100), np.arange(100))
    ending, plain = figure_data.encode(axes.figure)
    monkeypatch.setattr(figure_data, "LARGE", 1000)
    (packed_ending, packed), again = figure_data.encode(axes.figure), figure_data.encode(axes.figure)
    assert (ending, packed_ending) == ("csv", "csv.gz")
    assert gzip.decompress(packed) == plain and again[1] == packed


def test_one_file_beside_a_figure(axes, tmp_path, monkeypatch):
    axes.plot(np.arange(100), np.arange(100))
    assert figure_data.write(axes.figure, tmp_path / "a") == tmp_path / "a.csv"
    monkeypatch.setattr(figure_data, "LARGE", 1000)
    figure_data.write(axes.figure, tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv.gz"]
    assert len(pd.read_csv(tmp_path / "a.csv.gz")) == 100


def test_a_figure_without_data_has_an_empty_table(axes):
    axes.text(0.5, 0.5, "nothing")
    assert list(table(axes)) == COLUMNS and table(axes).empty


def test_every_committed_figure_has_its_data_beside_it():
    drawn = [path for path in (ROOT / "figures").rglob("*.png") if "preview" not in path.parts]
    assert len(drawn) > 40
    for path in drawn:
        beside = [p for ending in (".csv", ".csv.gz") if (p := path.with_suffix(ending)).is_file()]
        assert len(beside) == 1 and path.with_suffix(".pdf").is_file(), path
        found = pd.read_csv(beside[0])
        assert list(found) == COLUMNS and len(found), path
        assert found[["x", "y"]].notna().all(axis=1).any(), path
