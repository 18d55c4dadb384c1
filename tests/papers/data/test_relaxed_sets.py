"""The relaxed-EP paper's sets: counts, labels, the paper's sizes of splits, flips, standardising."""

import hashlib

import numpy as np
import pytest
import yaml

from papers import data
from papers.data import relaxed
from papers.pep import regression as pep

NAMES = ("heart", "pima", "diabetes", "haberman", "spam")
SHAPES = {
    "heart": (270, 13),
    "pima": (532, 7),
    "diabetes": (768, 8),
    "haberman": (306, 3),
    "spam": (4601, 57),
}
LABELS = {
    "heart": (120, 150),
    "pima": (177, 355),
    "diabetes": (268, 500),
    "haberman": (225, 81),
    "spam": (1813, 2788),
}
"""+1 and -1."""
FIRST = {
    "heart": ([70, 1, 4, 130, 322], 1),
    "pima": ([5, 86, 68, 28, 30.2], -1),
    "diabetes": ([6, 148, 72, 35, 0], 1),
    "haberman": ([30, 64, 1], 1),
    "spam": ([0, 0.64, 0.64, 0, 0.32], 1),
}
PRINTED = {
    "heart": (20, 81, 189),
    "pima": (20, 319, 213),
    "diabetes": (100, 468, 300),
    "haberman": (100, 183, 123),
    "spam": (100, 276, 4325),
}
"""Splits, training and test rows of the paper's section 6.3."""


@pytest.fixture
def edited(home):
    """Write the registry with one change; the folder it is in."""

    def write(change):
        registry = yaml.safe_load((home / "sources.yaml").read_text(encoding="utf-8"))
        change(registry)
        (home / "sources.yaml").write_text(yaml.safe_dump(registry), encoding="utf-8")
        return home

    return write


def made_up(name, d=2):
    """A set of the size of one of these, whose only input is the number of the row."""
    n = relaxed.N_TRAIN[name] + relaxed.N_TEST[name]
    X = np.column_stack([np.arange(n, dtype=float)] * d)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    return data.Dataset(name, relaxed.VARIANT, X, y, ("row",) * d, {})


@pytest.mark.parametrize("name", NAMES)
def test_every_set_has_its_rows_and_labels(name, home, mirror):
    dataset = relaxed.load(name, home, str(mirror))
    assert (dataset.name, dataset.variant, dataset.X.shape) == (name, "relaxed", SHAPES[name])
    assert (int((dataset.y == 1).sum()), int((dataset.y == -1).sum())) == LABELS[name]
    row, label = FIRST[name]
    np.testing.assert_array_equal(dataset.X[0, : len(row)], row)
    assert dataset.y[0] == label and len(dataset.features) == dataset.X.shape[1]
    keys = [file["path"] for file in relaxed.raw_files(name, home)]
    assert list(dataset.provenance["files"]) == keys
    path = home / "raw" / keys[-1]
    assert dataset.provenance["files"][keys[-1]] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_sets_that_other_papers_use_are_the_same(home, mirror):
    ours, ripley = (
        relaxed.load("pima", home, str(mirror)),
        data.load("pima", "corrected", home, str(mirror)),
    )
    np.testing.assert_array_equal(ours.X, ripley.X)
    np.testing.assert_array_equal(ours.y, ripley.y)
    diabetes = relaxed.load("diabetes", home, str(mirror))
    shared = np.column_stack([np.delete(diabetes.X, 4, axis=1), diabetes.y])
    assert {*map(tuple, np.column_stack([ours.X, ours.y]))} <= {*map(tuple, shared)}


@pytest.mark.parametrize("name", NAMES)
def test_the_splits_have_the_sizes_of_the_paper_and_every_row_once(name):
    splits, n_train, n_test = PRINTED[name]
    ours = {"pima": 100}.get(name, splits)
    assert (relaxed.SPLITS[name], n_train + n_test) == (ours, SHAPES[name][0])
    seen = set()
    for split in range(splits):
        train, test = relaxed.rows_of_split(name, split)
        assert (len(train), len(test)) == (n_train, n_test)
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n_train + n_test))
        seen.add(tuple(np.sort(train)))
    assert len(seen) == splits
    share = np.mean([relaxed.rows_of_split(name, s)[0] for s in range(splits)]) / (n_train + n_test)
    assert abs(share - 0.5) < 4 / np.sqrt(12 * n_train * splits)


def test_the_splits_stay_what_they_are():
    """The rows that committed records were made with."""
    assert relaxed.rows_of_split("heart", 0)[0][:5].tolist() == [2, 57, 164, 151, 177]
    assert relaxed.rows_of_split("spam", 99)[0][:5].tolist() == [1241, 4533, 3263, 1502, 2371]


@pytest.mark.parametrize("name", NAMES)
def test_every_training_part_has_both_labels(name, home, mirror):
    dataset = relaxed.load(name, home, str(mirror))
    for split in range(relaxed.SPLITS[name]):
        X_train, X_test, y_train, y_test = relaxed.parts(dataset, split)
        train, test = relaxed.rows_of_split(name, split)
        assert min((y_train == 1).sum(), (y_train == -1).sum()) >= 25
        np.testing.assert_array_equal(X_train, dataset.X[train])
        np.testing.assert_array_equal(X_test, dataset.X[test])
        np.testing.assert_array_equal(y_test, dataset.y[test])


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_flips_are_exact_in_both_parts_and_do_not_move_the_split(share):
    dataset = made_up("spam")
    before = dataset.y.copy()
    clean, noisy = relaxed.parts(dataset, 7), relaxed.parts(dataset, 7, share)
    np.testing.assert_array_equal(dataset.y, before)
    for c, n in zip(clean[:2], noisy[:2], strict=True):
        np.testing.assert_array_equal(c, n)
    for c, n in zip(clean[2:], noisy[2:], strict=True):
        assert (c != n).sum() == round(share * len(c)) and set(n) == {-1.0, 1.0}


def test_flips_have_numbers_of_their_own_that_stay_what_they_are():
    """Not those that drew the rows; the flips that committed records were made with."""
    dataset = made_up("spam")
    clean, noisy = relaxed.parts(dataset, 7), relaxed.parts(dataset, 7, 0.02)
    rng = np.random.default_rng([2012, 4601, 7, 1])
    for c, n in zip(clean[2:], noisy[2:], strict=True):
        assert np.flatnonzero(c != n).tolist() == sorted(rng.permutation(len(c))[: round(0.02 * len(c))])
    assert np.flatnonzero(clean[2] != noisy[2]).tolist() == [61, 66, 177, 262, 264, 269]


def test_flipping_leaves_the_labels_given_alone():
    y = np.array([1.0, -1.0, 1.0, 1.0])
    np.testing.assert_array_equal(relaxed.flipped(y, 1.0, np.random.default_rng(0)), [-1, 1, -1, -1])
    np.testing.assert_array_equal(y, [1, -1, 1, 1])


def test_flips_grow_from_each_other_and_differ_between_splits():
    dataset = made_up("spam")

    def where(split, share):
        clean, noisy = relaxed.parts(dataset, split), relaxed.parts(dataset, split, share)
        return [np.flatnonzero(c != n) for c, n in zip(clean[2:], noisy[2:], strict=True)]

    few, many, other = where(0, 0.05), where(0, 0.2), where(1, 0.2)
    for small, large, elsewhere in zip(few, many, other, strict=True):
        assert set(small) < set(large) != set(elsewhere)
    assert abs(np.mean(many[1]) / 4325 - 0.5) < 4 / np.sqrt(12 * len(many[1]))


def test_standardised_as_the_other_papers_inputs_are():
    rng = np.random.default_rng(3)
    X, Xs, y = rng.gamma(2.0, 30.0, (50, 4)), rng.gamma(2.0, 30.0, (9, 4)), rng.normal(size=50)
    X[:, 2] = 0.1
    ours, theirs = relaxed.standardised(X, Xs), pep.standardise(X, Xs, y, y)
    for a, b in zip(ours, theirs, strict=False):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(ours[0].std(axis=0), [1, 1, 0, 1], atol=1e-13)
    np.testing.assert_allclose(ours[1][:, 2], Xs[:, 2] - 0.1, rtol=1e-13)


def test_what_is_not_there_is_refused(edited, home, mirror):
    assert tuple(relaxed.names()) == NAMES
    with pytest.raises(data.DataError, match="unknown relaxed set 'sonar'; known: heart, pima"):
        relaxed.load("sonar", home)
    edited(lambda r: r["relaxed"]["pima"].update(files=["pima-tr"]))
    with pytest.raises(data.DataError, match=r"'pima' \(relaxed\) has shape \(200, 7\), expected \(532, 7\)"):
        relaxed.load("pima", home, str(mirror))


def test_a_malformed_file_is_refused_with_its_line(edited):
    content = b"30,64,1,1\n30,62,3,3\n"

    def change(registry):
        file = registry["files"]["haberman"]
        file |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "urls": []}

    home = edited(change)
    (home / "raw").mkdir()
    (home / "raw" / "haberman.data").write_bytes(content)
    with pytest.raises(data.DataError, match="line 2: label '3' is not one of"):
        relaxed.load("haberman", home)
