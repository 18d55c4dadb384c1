"""The regression sets: files, shapes and splits against what the paper prints and the lists passed on."""

import csv
import gzip
import hashlib
from pathlib import Path

import numpy as np
import pytest
import yaml

from papers import data
from papers.data import regression

ROOT = Path(__file__).resolve().parents[3]
SPLITS = {
    "boston": "34fc9307c7acf63f",
    "concrete": "bfd0744ccd3486ec",
    "energy": "78d41186aa1446f5",
    "kin8nm": "4f25cc41cfa6f4f8",
    "naval": "50e29695fc663088",
    "power": "d2bfef6e86be2114",
    "wine_red": "6da07f4b6b2b9dc1",
    "yacht": "efd4f6dc803ed627",
}
"""Of the twenty orders of rows, training before test, each verified against the lists passed on."""

NAMES = [name for name in regression.names() if "pep" in regression.entry_of(name)["papers"]]
"""The paper's sets; the registry may have others."""


def folder_of(name):
    """Name of a set in the repository of the lists."""
    return regression.raw_files(name)[0]["path"].split("/")[1]


@pytest.fixture(scope="module")
def printed():
    """Row of the paper's table by our name."""
    with (ROOT / "data/published/pep_datasets.csv").open(newline="") as stream:
        rows = {row["dataset"]: row for row in csv.DictReader(stream) if row["task"] == "regression"}
    return {name: rows.pop(regression.entry_of(name)["row"]) for name in NAMES} | rows


def test_sizes_are_those_of_the_paper(printed):
    assert list(printed) == NAMES
    for name, row in printed.items():
        entry = regression.entry_of(name)
        train, test = regression.rows_of_split(entry["shape"][0], 0)
        assert (len(train), len(test)) == (int(row["n_train"]), int(row["n_test"]))
        assert entry["columns"] == int(row["D_with_target"])
        assert entry["shape"][1] == entry["columns"] - (2 if name == "naval" else 1)


@pytest.mark.parametrize("name", NAMES)
def test_splits_are_the_lists_passed_on(name):
    n = regression.entry_of(name)["shape"][0]
    orders = [np.concatenate(regression.rows_of_split(n, k)) for k in range(regression.SPLITS)]
    assert all(np.array_equal(np.sort(order), np.arange(n)) for order in orders)
    digest = hashlib.sha256(np.concatenate(orders).astype("<i4").tobytes())
    assert digest.hexdigest()[:16] == SPLITS[name]


@pytest.mark.parametrize("name", NAMES)
def test_splits_against_the_lists_themselves(name, mirror):
    path = mirror.parent / "splits" / f"{folder_of(name)}_splits.npz"
    if not path.is_file():
        pytest.skip("the lists are not beside the raw data here")
    lists = np.load(path)
    n = regression.entry_of(name)["shape"][0]
    assert lists["train"].shape[0] == regression.SPLITS
    for k in range(regression.SPLITS):
        train, test = regression.rows_of_split(n, k)
        np.testing.assert_array_equal(train, lists["train"][k])
        np.testing.assert_array_equal(test, lists["test"][k])


@pytest.mark.parametrize("name", NAMES)
def test_sets_from_a_mirror(name, home, mirror):
    dataset = regression.load(name, home, str(mirror))
    rows, features = regression.entry_of(name)["shape"]
    assert dataset.X.shape == (rows, features) and dataset.y.shape == (rows,)
    folder = mirror / "UCI_Datasets" / folder_of(name)
    columns = np.loadtxt(folder / "index_features.txt", dtype=int)
    np.testing.assert_array_equal(columns, np.arange(features))
    assert int(np.loadtxt(folder / "index_target.txt")) == features
    X_train, X_test, y_train, y_test = regression.parts(dataset, 7)
    train, test = regression.rows_of_split(rows, 7)
    np.testing.assert_array_equal(X_train, dataset.X[train])
    np.testing.assert_array_equal(y_test, dataset.y[test])
    assert len(X_test) == len(y_test) and len(y_train) == len(train)


@pytest.mark.parametrize("name", NAMES)
def test_as_many_rows_repeat_others_as_documented(name, home, mirror):
    dataset = regression.load(name, home, str(mirror))
    rows = np.column_stack([dataset.X, dataset.y])
    assert len(rows) - len(np.unique(rows, axis=0)) == {"wine_red": 240, "power": 41, "concrete": 25}.get(
        name, 0
    )
    if name == "wine_red":
        shares = []
        for split in range(regression.SPLITS):
            train, test = (rows[of].tolist() for of in regression.rows_of_split(len(rows), split))
            known = set(map(tuple, train))
            shares.append(np.mean([tuple(row) in known for row in test]))
        assert np.round([min(shares), np.mean(shares), max(shares)], 2).tolist() == [0.19, 0.27, 0.35]


def test_the_second_target_of_naval_is_no_feature(home, mirror):
    dataset = regression.load("naval", home, str(mirror))
    assert set(np.round(dataset.y, 3)) == set(np.round(np.linspace(0.95, 1.0, 51), 3))
    constant = np.flatnonzero(dataset.X.max(axis=0) == dataset.X.min(axis=0))
    np.testing.assert_array_equal(constant, [8, 11])
    np.testing.assert_array_equal(dataset.X[:, 5], dataset.X[:, 6])


@pytest.fixture
def registered(home):
    """Write a file as the raw file of a set, registered with its checksum."""

    def write(name, content):
        registry = yaml.safe_load((home / "sources.yaml").read_text(encoding="utf-8"))
        file = registry["files"][registry["regression"][name]["file"]]
        file |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "urls": []}
        (home / "sources.yaml").write_text(yaml.safe_dump(registry), encoding="utf-8")
        path = home / "raw" / file["path"]
        path.parent.mkdir(parents=True)
        path.write_bytes(content)

    return write


CUT_OFF = gzip.compress(b"1 2\n" * 90, mtime=0)[:-12]


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("yacht", b"1 2 3 4 5 6 7\n", r"data\.txt has shape \(1, 7\), expected \(308, 7\)"),
        ("yacht", b"1 2\n1 2 3\n", r"data\.txt is not a matrix of numbers: .*row"),
        ("yacht", b"1 2 x\n", r"is not a matrix of numbers: .*'x'"),
        ("yacht", b"1 2 nan\n", "a value is not finite"),
        ("kin8nm", b"no gzip", "is not a matrix of numbers: Not a gzipped file"),
        ("kin8nm", CUT_OFF, "is not a matrix of numbers: Compressed file ended"),
    ],
)
def test_malformed_files_are_refused(name, content, message, home, registered):
    registered(name, content)
    with pytest.raises(data.DataError, match=message):
        regression.load(name, home)


def test_unknown_names_files_and_splits(home):
    with pytest.raises(data.DataError, match="unknown regression set 'iris'; known: boston, concrete"):
        regression.load("iris", home)
    for split in (-1, 20, 0.5, "0"):
        with pytest.raises(ValueError, match="split must be 0 to 19"):
            regression.rows_of_split(100, split)
