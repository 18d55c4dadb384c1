"""What lookup tables cost: errors, sizes and times, their table, and errors repeated."""

import numpy as np
import pandas as pd
import pytest

from papers.core import records
from papers.core.verify import Selection, verify
from papers.qp.lookup import errors as lookup
from papers.qp.records import LOOKUP_ERRORS


@pytest.fixture(scope="module")
def compared():
    return pd.DataFrame(lookup.compare([3], points=300, rows=1))


def test_errors_and_sizes(compared):
    assert tuple(compared.columns) == lookup.COLUMNS
    at = compared.set_index(["projection", "likelihood", "region"]).sort_index()
    assert set(at.loc["certified"].index) == {("probit", "box"), ("probit", "plane")}
    assert np.all(at.loc["certified", "error_max"] < 1e-10) and np.all(at.loc["certified", "bytes"] <= 65536)
    assert np.all(at.loc["quadrature", ["error_max", "above_gap"]] == 0)
    paper = at.loc["as-described"]
    assert 1e-6 < paper.loc[("probit", "box"), "error_max"] < 2.1e-6
    assert 0.3 < paper.loc[("probit", "box"), "above_gap"] < 0.6
    assert paper.loc[("probit", "plane"), "error_max"] > 0.05  # EP's variance
    assert np.all(paper["bytes"] == 8 * 20001 * 2001) and np.all(paper["build_seconds"] > 100)


@pytest.mark.parametrize("name, y", [("probit", 1), ("poisson-square", 3)])
def test_a_built_table_has_the_numbers_of_the_grid_without_one(name, y):
    points = lookup._arguments(name, y, "box", 300)
    interpolate, arguments = lookup._small_table(name, y, points)
    expected = lookup.COARSE.project(*arguments).variance
    np.testing.assert_allclose(interpolate(*arguments), expected, rtol=1e-12)
    assert [len(axis) for axis in lookup.axes(lookup.PAPER)] == [20001, 2001]


def test_the_table_says_what_a_table_costs(compared):
    text = lookup.section(
        compared.assign(bytes=compared["bytes"].mask(compared["bytes"].between(1, 65536), 40536))
    )
    assert len(text.splitlines()) == 2 + len(compared) and "320 MB" in text and "41 kB" in text


@pytest.fixture
def results(compared, tmp_path):
    records.put(tmp_path, {LOOKUP_ERRORS: compared.to_dict("records")})
    return tmp_path


def counted(results):
    """Rows of each end, and what is said of those that differ."""
    found = verify([LOOKUP_ERRORS], results, Selection({}))
    return tuple(map(sum, zip(*((row.same, row.different) for row in found.groups), strict=True))), [
        line.rpartition(": ")[2].split()[0] for line in found.differences
    ]


def test_errors_are_repeated_and_times_are_not_compared(results):
    frame = records.load(LOOKUP_ERRORS, results)
    records.put(results, {LOOKUP_ERRORS: rows_of(frame.assign(build_seconds=9.0, microseconds=9.0))})
    assert counted(results) == ((len(frame), 0), [])


@pytest.mark.parametrize("name, change", [("error_max", 1.001), ("error_median", 1.001), ("above_gap", 1.1)])
def test_an_altered_error_is_found(results, name, change):
    frame = records.load(LOOKUP_ERRORS, results)
    box = (frame["projection"] == "as-described") & (frame["region"] == "box")
    frame.loc[box, name] *= change
    records.put(results, {LOOKUP_ERRORS: rows_of(frame)})
    assert counted(results) == ((len(frame) - box.sum(), box.sum()), [name] * box.sum())


def rows_of(frame):
    return frame.drop(columns="run").to_dict("records")
