"""Wrong input: missing cells, texts, masks, other columns, wrong files."""

import gzip

import hypothesis
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import tilted
from papers import data
from papers.cli import main
from papers.data import readers
from tilted import (
    GPClassifier,
    GPOrdinalClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
)
from tilted.estimators import dense, sparse

X = np.random.default_rng(0).normal(size=(30, 2))
y = (X[:, 0] > 0).astype(int)
DAYS = pd.Series(pd.date_range("2020-01-01", periods=30))
CLASSIFIERS = [GPClassifier, GPOrdinalClassifier, SparseGPClassifier]
REGRESSORS = [GPRegressor, GPPoissonRegressor, SparseGPRegressor, SparseGPPoissonRegressor]
KINDS = [*CLASSIFIERS, *REGRESSORS]


@pytest.mark.parametrize("kind", KINDS)
def test_times_are_no_numbers(kind):
    """They would be so many nanoseconds or microseconds, by the version of pandas."""
    model, frame = kind(optimise=None), pd.DataFrame(X, columns=["load", "day"])
    for dated in (frame.assign(day=DAYS), pd.DataFrame({"day": DAYS, "due": DAYS}), DAYS.to_numpy()[:, None]):
        with pytest.raises(ValueError, match="X.* has times .datetime64.*give numbers"):
            model.fit(dated, y)
    with pytest.raises(ValueError, match="X, column 'day', has times .timedelta64"):
        model.fit(frame, y).predict(frame.assign(day=DAYS - DAYS[0]))
    with pytest.raises(ValueError, match="sample_weight has times"):
        model.fit(X, y, sample_weight=DAYS)
    if kind in REGRESSORS:
        with pytest.raises(ValueError, match="y has times"):
            model.fit(X, DAYS)


@pytest.mark.parametrize("missing", [None, pd.NA, np.nan, pd.NaT])
@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_target_is_named_by_its_row(kind, missing):
    words = np.where(y > 0, "few", "many") if kind in CLASSIFIERS else y
    for given in (pd.Series(words, dtype=object), pd.Series(words, dtype=object).to_numpy()):
        lacking = given.copy()
        lacking[7] = missing
        with pytest.raises(ValueError, match="y has a missing value at row 7"):
            kind(optimise=None).fit(X, lacking)


def test_columns_in_another_order_are_refused_by_a_fit_too():
    """As by estimators; arrays have no names, and are taken as they are."""
    frame = pd.DataFrame(X, columns=["load", "age"])
    labels = 2 * y - 1
    fitted = tilted.fit(frame, labels, optimise=False)
    for predict in (fitted.predict_latent, lambda frame: fitted.log_predictive(frame, labels)):
        predict(frame)
        with pytest.raises(ValueError, match="X has columns age, load; in training it had load, age"):
            predict(frame[["age", "load"]])
        with pytest.raises(ValueError, match="X has columns load, weight"):
            predict(frame.rename(columns={"age": "weight"}))
    means, _ = fitted.predict_latent(frame)
    np.testing.assert_array_equal(fitted.predict_latent(X)[0], means)


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one():
    labels = 2.0 * y - 1.0
    with pytest.raises(ValueError, match="'power-ep'; did you mean 'ep'"):
        tilted.fit(X, labels, inference="EP")
    with pytest.raises(ValueError, match="did you mean 'power-ep'"):
        tilted.fit(X, labels, inference="power_ep")
    with pytest.raises(ValueError, match="did you mean 'ep'"):
        GPClassifier("EP").fit(X, y)


def test_masked_cells_are_no_numbers():
    """As readers of netCDF give them: what lies below a mask is a filling and no number."""
    filled = np.ma.masked_equal(np.where(np.arange(30)[:, None] == 3, -9999.0, X), -9999.0)
    for kind in KINDS:
        fitted = kind(optimise=None).fit(np.ma.masked_array(X), y)  # nothing is masked
        with pytest.raises(ValueError, match="X has masked values"):
            fitted.predict(filled)
        with pytest.raises(ValueError, match="y has masked values"):
            fitted.fit(X, np.ma.masked_array(y, mask=np.arange(30) == 3))


FITS = ((dense, "fit_dense"), (sparse, "fit_sparse"), (sparse, "fit_collapsed"))


@pytest.mark.parametrize("error", [ArithmeticError, KeyboardInterrupt])
@pytest.mark.parametrize("kind", KINDS)
def test_a_refit_that_fails_or_is_interrupted_leaves_no_mixture(kind, error, counts, monkeypatch):
    """Not fitted, rather than the features and classes of one fit with the models of another."""
    X, y = counts
    y = np.where(y > 1, "many", "few") if "Classifier" in kind.__name__ else y
    model = kind(optimise=None).fit(X, y)

    def fails(*arguments, **keywords):
        raise error

    for module, name in FITS:
        monkeypatch.setattr(module, name, fails)
    wider = np.column_stack([X, X])
    with pytest.raises(error):
        model.fit(wider, y)
    for inputs in (X, wider):
        with pytest.raises(NotFittedError):
            model.predict(inputs)
    assert [name for name in vars(model) if name.endswith("_")] == ["n_features_in_"]


CELLS = st.text("0123456789.,-+eNA?gbRM \n", max_size=300)


@hypothesis.given(
    name=st.sampled_from(sorted(set(readers.READERS) - {"wine12", "wine13", "wine23", "coal"})),
    content=st.one_of(st.binary(max_size=80), CELLS.map(str.encode)),
)
def test_raw_files_with_anything_in_them(tmp_path_factory, name, content):
    path = tmp_path_factory.mktemp("raw") / "x.data"
    path.write_bytes(content)
    try:
        raw = readers.read(name, "as-released", [path] * 3, path.parent)
    except data.DataError as error:
        assert "x.data" in str(error)
        return
    assert np.all(np.isfinite(raw.X)) and set(raw.y) <= {-1.0, 1.0}


@pytest.mark.parametrize(
    "name, said",
    [
        ("cut.csv.gz", "ended before"),
        ("bad.csv.gz", "is not UTF-8 text"),
        ("plain.csv.gz", "Not a gzipped file"),
        ("mine.csv.zip", "is not UTF-8 text"),
    ],
)
def test_a_table_that_was_packed_or_copied_by_halves_is_named(name, said, tmp_path, capsys):
    text = "a,y\n" + "".join(f"{a},{b}\n" for a, b in np.random.default_rng(0).normal(size=(200, 2)))
    packed = bytearray(gzip.compress(text.encode()))
    middle = len(packed) // 2
    damaged = packed[:middle] + bytes([packed[middle] ^ 255]) + packed[middle + 1 :]
    of = {"cut": packed[:middle], "bad": damaged, "plain": text.encode(), "mine": b"\xff\xfe no table"}
    (tmp_path / name).write_bytes(of[name.partition(".")[0]])
    assert main(["compare", "--data", str(tmp_path / name), "--target", "y"]) == 2
    said_all = capsys.readouterr().err
    assert said in said_all and name in said_all
