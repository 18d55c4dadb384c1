"""Compact records of the relaxed-EP paper: what is kept, replaced, passed over and refused."""

import gzip

import numpy as np
import pytest

from tilted.results import store
from tilted.results.rep import records

STAMP = {"source": "aa", "date": "2026-01-02", "environment": "numpy 2"}
LATER = {"date": "2026-01-03"}
FIT = {
    "paper": "rep", "dataset": "blobs", "flips": 0.1, "chosen_on": 0, "split": 0, "method": "ep",
    "value": 1.0, "lengthscale": 0.25 * np.sqrt(2.0), "epsilon": 0.1, "n_train": 400, "n_test": 39600,
    "outcome": "converged", "sweeps": 3, "negative_sites": 2, "error": 0.0512345678901, "nll": 0.3,
    "seconds": 1.23456, "reason": "", "changes": [1.0, 0.5, 0.12345678],
}  # fmt: skip
NOTHING = {
    "outcome": "failed", "sweeps": 0, "negative_sites": 0, "error": None, "nll": None, "changes": [],
    "reason": 'I + Lambda, "T": not positive definite',
}  # fmt: skip
CHOICE = {
    "paper": "rep", "dataset": "heart", "flips": 0.0, "split": 0, "method": "pep", "value": 0.8,
    "lengthscale": 0.25 * np.sqrt(13.0), "error": 0.2, "nll": 0.5, "n_converged": 2, "n_diverged": 1,
    "n_unsettled": 0, "n_failed": 0, "seconds": 2.0,
}  # fmt: skip
POINT = {
    "set": -1, "method": "pep", "value": 0.8, "outcome": "converged", "sweeps": 7, "mean_error": 1 / 3e3,
    "covariance_error": 2e-3, "mean_0": -0.9, "mean_1": 0.2, "seconds": 0.001,
}  # fmt: skip
BAYES = {
    "flips": 0.1, "split": 0, "method": "bayes", "value": None, "lengthscale": None, "outcome": "",
    "sweeps": 0, "x": -6.0, "y": 0.1, "probability": 0.25,
}  # fmt: skip


@pytest.fixture
def fold(tmp_path):
    """Function: fold lines of a kind into a folder; what changed, by kind."""
    made = iter(range(1000))

    def run(kind, *lines, keep=True):
        path = tmp_path / f"{next(made)}.jsonl.gz"
        store.write_records(path, [{**STAMP, **line} for line in lines])
        return {change.unit: change for change in records.fold_in({kind: [path]}, tmp_path / "rep", keep)}

    return run


@pytest.fixture
def had(tmp_path):
    """Function: a record of that folder."""
    return lambda kind: records.read(tmp_path / "rep", kind)


@pytest.fixture
def content(tmp_path):
    """Function: bytes of all its files."""
    return lambda: {path.name: path.read_bytes() for path in (tmp_path / "rep").iterdir()}


def counts(change):
    return change.added, change.replaced, change.kept, change.outdated


def test_there_is_no_record_before_one_is_made(had):
    assert had("fits") is None and records.read(None, "fits") is None


def test_fits_are_kept_and_replaced_and_a_later_day_wins(fold, had):
    assert counts(fold("fits", FIT, {**FIT, "split": 1})["fits"]) == (2, 0, 0, 0)
    changes = fold("fits", {**FIT, **LATER, "error": 0.25}, {**FIT, "split": 2})
    assert counts(changes["fits"]) == (1, 1, 1, 0)
    earlier = {**FIT, "date": "2026-01-01", "error": 0.5}
    changes = fold("fits", earlier, {**earlier, "split": 3})
    assert counts(changes["fits"]) == (1, 0, 3, 1)
    fits = had("fits")
    assert fits["split"].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(fits["error"], [0.25, 0.051234568, 0.051234568, 0.5], rtol=1e-12)
    assert fits["date"].tolist() == ["2026-01-03", "2026-01-02", "2026-01-02", "2026-01-01"]
    assert fits["lengthscale"][0] == pytest.approx(0.25 * np.sqrt(2.0), rel=1e-7)
    assert list(fits.columns) == [*records.KINDS["fits"].columns, "source", "date", "environment"]


def test_without_keeping_only_new_lines_stay(fold, had):
    fold("fits", FIT, {**FIT, "split": 1})
    fold("fits", {**FIT, "split": 5}, keep=False)
    assert had("fits")["split"].tolist() == [5] and set(had("curves")["split"]) == {5}


def test_failures_have_no_scores_and_keep_their_reason(fold, had):
    fold("fits", {**FIT, **NOTHING}, {**FIT, "split": 1})
    fits = had("fits")
    assert np.isnan(fits["error"][0]) and np.isnan(fits["nll"][0]) and not np.isnan(fits["error"][1])
    assert fits["reason"].tolist() == [NOTHING["reason"], ""]
    assert set(had("curves")["split"]) == {1}


def test_curves_are_those_of_the_made_up_set_and_of_the_fits_there_are(fold, had):
    fold("fits", FIT, {**FIT, "dataset": "heart", "method": "pep"}, {**FIT, "split": 1})
    curves = had("curves")
    assert curves["sweep"].tolist() == [1, 2, 3, 1, 2, 3] and set(curves["dataset"]) == {"blobs"}
    assert curves["change"].tolist()[:3] == [1.0, 0.5, 0.1235]
    fold("fits", {**FIT, **LATER, "sweeps": 1, "changes": [0.01]})
    curves = had("curves")
    assert list(zip(curves["split"], curves["sweep"], strict=True)) == [(0, 1), (1, 1), (1, 2), (1, 3)]
    assert curves["change"][0] == 0.01
    fold("fits", {**FIT, "sweeps": 5, "changes": [2.0] * 5})  # of an earlier day: passed over with its fit
    assert len(had("curves")) == 4 and had("fits")["sweeps"].tolist() == [1, 3, 3]
    fold("fits", {**FIT, **NOTHING, **LATER})
    assert set(had("curves")["split"]) == {1}


@pytest.mark.parametrize(
    "kind, line", [("fits", FIT), ("choices", CHOICE), ("points", POINT), ("boundary", BAYES)]
)
def test_the_same_lines_again_change_nothing(kind, line, fold, had, content):
    key = "set" if kind == "points" else "split"
    lines = [{**line, key: number} for number in (3, 1, 2)]
    fold(kind, *lines)
    before = content()
    change = fold(kind, *reversed(lines))[kind]
    assert counts(change) == (0, 3, 0, 0) and content() == before
    change = fold(kind, lines[1])[kind]
    assert counts(change) == (0, 1, 2, 0) and content() == before
    assert had(kind)[key].tolist() == [1, 2, 3]


def test_lengthscales_that_only_the_file_rounds_name_the_same_line(fold, had):
    fold("choices", CHOICE)
    assert counts(fold("choices", {**CHOICE, "error": 0.25})["choices"]) == (0, 1, 0, 0)
    assert had("choices")["error"].tolist() == [0.25]
    other = {**CHOICE, "lengthscale": 2 * CHOICE["lengthscale"]}
    assert counts(fold("choices", other)["choices"]) == (1, 0, 1, 0)


@pytest.mark.parametrize(
    "lines, message",
    [
        ([FIT, {**FIT, "error": 0.3}], "blobs.*split 0, method ep: two lines"),
        ([{**FIT, "outcome": "fine"}], "unknown outcome"),
        ([{**FIT, "error": None}], "scores do not agree"),
        ([{**FIT, **NOTHING, "error": 0.1}], "scores do not agree"),
        ([{**FIT, "error": 1.2}], "error is no share"),
    ],
)
def test_contradictions_are_refused_and_nothing_is_written(lines, message, fold, content):
    fold("fits", {**FIT, "split": 9})
    before = content()
    with pytest.raises(store.RecordError, match=message):
        fold("fits", *lines)
    assert content() == before


def test_damaged_records_are_refused(fold, had, tmp_path):
    fold("fits", FIT)
    path = tmp_path / "rep" / records.FILES["fits"]
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(store.RecordError, match=r"fits\.csv\.gz"):
        had("fits")
    text = gzip.decompress(whole).decode()
    path.write_bytes(gzip.compress(text.replace("outcome", "ending").encode()))
    with pytest.raises(store.RecordError, match="no column outcome"):
        had("fits")
    path.write_bytes(gzip.compress((text + text.splitlines()[1] + "\n").encode()))
    with pytest.raises(store.RecordError, match="two lines"):
        fold("fits", {**FIT, "split": 4})
