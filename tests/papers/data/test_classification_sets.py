"""The Power-EP paper's classification sets: counts of its table 2, protocols, splits, standard files."""

import csv
import hashlib
from pathlib import Path

import numpy as np
import pytest

from papers import data
from papers.data import classification, regression
from papers.data.registry import DataError
from tests.helpers import editing

ROOT = Path(__file__).resolve().parents[3]
NAMES = ("australian", "breast", "crabs", "iono", "pima", "sonar")
LABELS = {
    "australian": (307, 383),
    "breast": (239, 444),
    "crabs": (100, 100),
    "iono": (126, 225),
    "pima": (500, 268),
    "sonar": (111, 97),
}
"""Positive and negative of the sets as they are."""


@pytest.fixture(scope="module")
def printed():
    """Rows of the paper's table 2."""
    with (ROOT / "data/published/pep_datasets.csv").open(newline="") as stream:
        return {row["dataset"]: row for row in csv.DictReader(stream) if row["task"] == "classification"}


def n_of(y):
    return int((y == 1).sum()), int((y == -1).sum())


@pytest.mark.parametrize("name", NAMES)
def test_as_released_has_the_counts_of_the_paper(name, printed, home, mirror):
    dataset, row = classification.load(name, "as-released", home, str(mirror)), printed[name]
    assert n_of(dataset.y) == (int(row["positive"]), int(row["negative"]))
    X_train, X_test, y_train, y_test = regression.parts(dataset, 3)
    assert (len(y_train), len(y_test)) == (int(row["n_train"]), int(row["n_test"]))
    assert X_train.shape[1] == X_test.shape[1] == int(row["D_with_target"]) - 1


def test_labels_that_are_other_than_registered_are_refused(home, mirror):
    """Columns of a file may be in another order, and nothing else tell."""
    sources = home / "sources.yaml"
    text = sources.read_text(encoding="utf-8")
    sources.write_text(text.replace("corrected: [307, 383]", "corrected: [383, 307]"), encoding="utf-8")
    classification.load("australian", "as-released", home, str(mirror))
    with pytest.raises(DataError, match=r"\(corrected\) has \[307, 383\] labels .* expected \[383, 307\]"):
        classification.load("australian", "corrected", home, str(mirror))


@pytest.mark.parametrize("name", NAMES)
def test_corrected_has_every_record_and_no_id(name, home, mirror):
    dataset = classification.load(name, "corrected", home, str(mirror))
    assert n_of(dataset.y) == LABELS[name]
    assert "id" not in dataset.features and len(dataset.features) == dataset.X.shape[1]
    assert np.all(np.ptp(dataset.X, axis=0) > 0)


def test_what_the_protocols_differ_in(home, mirror):
    def both(name):
        return [classification.load(name, p, home, str(mirror)) for p in classification.PROTOCOLS]

    released, corrected = both("australian")
    np.testing.assert_array_equal(released.y, 1 - 2 * corrected.X[:, 0])
    np.testing.assert_array_equal(corrected.y, 2 * released.X[:, 13] - 1)
    np.testing.assert_array_equal(released.X[:, :13], corrected.X[:, 1:])
    released, corrected = both("breast")
    np.testing.assert_array_equal(released.X[:, 1:], corrected.X[1:])
    assert released.features[0] == "id" and released.X[0, 0] == 1002945
    released, corrected = both("iono")
    np.testing.assert_array_equal(np.delete(released.X, 1, axis=1), corrected.X[1:])
    for name in ("pima", "sonar"):
        released, corrected = both(name)
        np.testing.assert_array_equal(released.X, corrected.X[1:])
    released, corrected = both("crabs")
    np.testing.assert_array_equal(released.X, corrected.X)
    assert released.features == ("sp", "FL", "RW", "CL", "CW", "BD")


@pytest.mark.parametrize("protocol", classification.PROTOCOLS)
@pytest.mark.parametrize("name", NAMES)
def test_every_split_trains_and_tests_each_row_once_and_has_both_labels(name, protocol, home, mirror):
    dataset = classification.load(name, protocol, home, str(mirror))
    n = len(dataset.y)
    for split in range(regression.SPLITS):
        train, test = regression.rows_of_split(n, split)
        assert len(train) == round(0.9 * n)
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n))
        assert set(dataset.y[train]) == {-1.0, 1.0}


def test_what_is_not_there_is_refused(home, mirror):
    assert tuple(classification.names()) == NAMES
    with pytest.raises(data.DataError, match="unknown classification set 'heart'; known: australian, breast"):
        classification.load("heart", "corrected", home)
    with pytest.raises(data.DataError, match="unknown protocol 'as-described'; known: as-released"):
        classification.load("crabs", "as-described", home)
    with editing(home) as registry:
        registry["classification"]["sonar"]["shapes"]["corrected"] = [208, 61]
    with pytest.raises(data.DataError, match=r"'sonar' \(corrected\) has shape \(208, 60\), expected"):
        classification.load("sonar", "corrected", home, str(mirror))


def test_a_malformed_file_is_refused_with_its_line(home):
    content = b"1,2,3,4,5,6,7,8,0\n1,2,3,4,5,6,7,8,2\n"
    with editing(home) as registry:
        file = registry["files"]["pima-uci"]
        file |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "urls": []}
    (home / "raw").mkdir()
    (home / "raw" / file["path"]).write_bytes(content)
    with pytest.raises(data.DataError, match="line 2: label '2' is not one of"):
        classification.load("pima", "corrected", home)
