"""Frames and columns of other libraries than pandas mean the same as arrays."""

import datetime as dt

import numpy as np
import pytest

import tilted
from tilted import GPClassifier, GPPoissonRegressor, GPRegressor, SparseGPRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=30)
DAYS = np.datetime64("2020-01-01") + np.arange(30)


class Column:
    """A column that has what polars' have: a type that is none of NumPy's, and a conversion."""

    dtype = "some type of another library"

    def __init__(self, cells):
        self.cells = np.asarray(cells)
        self.shape = self.cells.shape

    def __len__(self):
        return len(self.cells)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.cells, dtype=dtype)


class Frame:
    """A data frame that has what polars' have."""

    def __init__(self, columns):
        self.series = {name: Column(cells) for name, cells in columns.items()}
        self.columns, self.dtypes = list(columns), [Column.dtype] * len(columns)
        self.shape = len(self), len(columns)

    def __len__(self):
        return len(next(iter(self.series.values())))

    def __getitem__(self, name):
        return self.series[name]

    def __array__(self, dtype=None, copy=None):
        return np.stack([column.cells.astype(dtype or float) for column in self.series.values()], axis=1)


@pytest.fixture(params=["like polars", "polars"])
def library(request):
    """Constructors of a frame and of a column."""
    if request.param == "like polars":
        return Frame, Column
    polars = pytest.importorskip("polars")
    return polars.DataFrame, polars.Series


@pytest.mark.parametrize("model", [GPRegressor(optimise=None), SparseGPRegressor(n_pseudo=5, optimise=None)])
@pytest.mark.parametrize("times", [DAYS, DAYS.astype("M8[us]"), (DAYS - DAYS[0]).astype("m8[us]")])
def test_times_of_other_frames_are_no_numbers(library, model, times):
    """Days and microseconds of the same instants would predict different values."""
    frame, column = library
    with pytest.raises(ValueError, match=r"X, column 'day', has times .*: give numbers"):
        model.fit(frame({"load": X[:, 0], "day": times}), Y)
    with pytest.raises(ValueError, match="y has times"):
        model.fit(X, column(times))
    fitted = model.fit(frame({"load": X[:, 0], "day": X[:, 1]}), column(Y))
    with pytest.raises(ValueError, match="X, column 'day', has times"):
        fitted.predict(frame({"load": X[:, 0], "day": times}))
    np.testing.assert_array_equal(
        fitted.predict(frame({"load": X[:, 0], "day": X[:, 1]})), model.fit(X, Y).predict(X)
    )


@pytest.mark.parametrize("first", [np.datetime64("2020-01-01"), dt.datetime(2020, 1, 1), dt.timedelta(0)])
def test_times_in_lists_are_no_numbers(first):
    rows = [[first + dt.timedelta(days)] for days in range(30)]
    for fit in (GPRegressor(optimise=None).fit, tilted.fit):
        with pytest.raises(ValueError, match="X has times"):
            fit(rows, np.sign(Y))
    with pytest.raises(ValueError, match="y has times"):
        GPRegressor(optimise=None).fit(X, [time for (time,) in rows])
    with pytest.raises(ValueError, match="pseudo_inputs has times"):
        SparseGPRegressor(pseudo_inputs=rows).fit(X[:, :1], Y)


def test_targets_in_other_frames(library):
    frame, column = library
    expected = GPRegressor().fit(X, Y).predict(X)
    for targets in (column(Y), frame({"y": Y})):
        np.testing.assert_array_equal(GPRegressor().fit(X, targets).predict(X), expected)
    labels = np.where(Y > 0, "yes", "no").astype(object)
    for targets in (column(labels), frame({"y": labels})):
        assert GPClassifier(optimise=None).fit(X, targets).classes_.tolist() == ["no", "yes"]
    truths = GPClassifier(optimise=None).fit(X, column(Y > 0))
    assert truths.classes_.dtype == bool and truths.score(X, column(Y > 0)) > 0.9
    np.testing.assert_array_equal(
        GPPoissonRegressor(optimise=None).fit(X, column(np.arange(30))).predict(X),
        GPPoissonRegressor(optimise=None).fit(X, np.arange(30)).predict(X),
    )
    labels[7] = None
    for targets in (column(labels), frame({"y": labels}), list(labels)):
        with pytest.raises(ValueError, match="y has a missing value at row 7"):
            GPClassifier(optimise=None).fit(X, targets)
