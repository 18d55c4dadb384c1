"""Splits: arguments that must be refused, constant columns, every real data set."""

from pathlib import Path

import numpy as np
import pytest

from papers import data
from papers.data.splits import FOLDS
from papers.data.standard import Dataset

ROOT = Path(__file__).resolve().parents[3]
RAW = ["ionosphere", "cancer", "pima", "crabs", "sonar", "glass"]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory, mirror):
    """All classification sets, as released and corrected."""
    home = tmp_path_factory.mktemp("home")
    (home / "sources.yaml").write_bytes((ROOT / "data" / "sources.yaml").read_bytes())
    return {
        (name, variant): data.load(name, variant, home, str(mirror))
        for name in RAW
        for variant in ("as-released", "corrected")
    }


@pytest.mark.parametrize("fold", [-1, 10])
def test_bad_folds(fold):
    with pytest.raises(ValueError, match="fold must be 0 to 9"):
        data.split(data.load("wine12"), "ten-folds", 0, fold)


def test_refusals_name_what_is_allowed():
    with pytest.raises(ValueError, match="those that do: half-of-years, thinned-events"):
        data.split(data.load("coal"), "ten-folds", 0)
    with pytest.raises(ValueError, match="those that do: legacy-shuffle, ten-folds, stratified"):
        data.split(data.load("wine12"), "thinned-events", 0)
    with pytest.raises(ValueError, match="known: legacy-shuffle, ten-folds"):
        data.folds("five-folds")
    assert [data.folds(scheme) for scheme in FOLDS] == [10, 10, 10, 10, 10, 1, 1]


def test_fewer_groups_than_folds_and_more_events_than_are_drawn_are_said():
    X = np.repeat(np.eye(6), 10, axis=0)
    labels = Dataset("cats", "as-released", X, np.resize([-1.0, 1.0], 60), (*"abcdef",), {})
    with pytest.raises(data.DataError, match="cats: 10 folds that keep equal rows together .* it has 6"):
        data.split(labels, "stratified-ten-folds", 0)
    counts = Dataset("views", "as-released", np.arange(60.0)[:, None], np.full(60, 1e6), ("a",), {})
    with pytest.raises(data.DataError, match=r"counts of 6e\+07 events: .* 2e\+07 at most"):
        data.split(counts, "thinned-events", 0)


def test_a_constant_column_whose_computed_sd_is_not_zero():
    X = np.column_stack([np.arange(47.0), np.full(47, 0.1)])
    X[-1, 1] = 0.3
    y = np.where(np.arange(47) % 2 == 0, 1.0, -1.0)
    dataset = Dataset("wine12", "as-released", X, y, ("a", "b"), {})
    fold = next(k for k in range(10) if 46 in data.split(dataset, "ten-folds", 0, k).test_rows)
    raw = data.split(dataset, "ten-folds", 0, fold, standardise=False)
    assert raw.X_train.std(axis=0)[1] > 0  # rounding
    part = data.split(dataset, "ten-folds", 0, fold)
    assert np.all(part.X_train[:, 1] == 0)
    odd = part.test_rows == 46
    np.testing.assert_allclose(part.X_test[odd, 1], 0.2)  # centred, scale 1
    assert np.all(part.X_test[~odd, 1] == 0)


def test_reference_cells_have_our_shapes(loaded, cells):
    seen = set()
    for cell in cells["classification"]:
        name = {"breast_cancer": "cancer"}.get(cell["dataset"], cell["dataset"])
        if (name, "as-released") not in loaded:
            continue
        place = cell["seed_index"], cell["fold"]
        part = data.split(loaded[name, "as-released"], "legacy-shuffle", *place)
        assert part.X_train.shape == (cell["n_train"], cell["d"])
        assert len(part.y_test) == cell["n_test"]
        seen.add(name)
    assert seen == {"crabs", "ionosphere"}


@pytest.mark.parametrize(
    "name, never", [("ionosphere", 1), ("cancer", 3), ("pima", 2), ("sonar", 8), ("glass", 4)]
)
def test_the_rows_the_released_code_never_tests(loaded, name, never):
    dataset = loaded[name, "as-released"]
    parts = [data.split(dataset, "legacy-shuffle", 1, k) for k in range(10)]
    tested = np.concatenate([part.test_rows for part in parts])
    assert len(set(tested)) == len(tested) == len(dataset.y) - never
    for part in parts:
        assert sorted([*part.train_rows, *part.test_rows]) == list(range(len(dataset.y)))


def test_legacy_seed_i_is_the_released_shuffle_with_the_texts_seeds():
    wine = data.load("wine23")
    for seed, fold in [(0, 0), (3, 9)]:
        rows = data.split(wine, "legacy-seed-i", 10 * seed, fold).test_rows
        np.testing.assert_array_equal(rows, data.split(wine, "legacy-shuffle", seed, fold).test_rows)
    ours = data.split(wine, "legacy-seed-i", 3, 0).test_rows
    assert set(ours) != set(data.split(wine, "legacy-shuffle", 3, 0).test_rows)


@pytest.mark.parametrize("name, never", [("wine12", 0), ("wine13", 7), ("wine23", 9)])
def test_legacy_every_row_adds_the_remainder_and_nothing_else(name, never):
    wine = data.load(name)
    tested, added = [], []
    for fold in range(10):
        base = data.split(wine, "legacy-shuffle", 2, fold)
        part = data.split(wine, "legacy-every-row", 2, fold)
        assert set(base.test_rows) <= set(part.test_rows)
        added.extend(set(part.test_rows) - set(base.test_rows))
        assert len(part.test_rows) - len(base.test_rows) == (fold < never)
        assert sorted([*part.train_rows, *part.test_rows]) == list(range(len(wine.y)))
        tested.extend(part.test_rows)
    assert sorted(tested) == list(range(len(wine.y)))  # every row once
    assert len(added) == never


@pytest.mark.parametrize("name", ["ionosphere", "cancer", "glass"])  # those with repeated rows
def test_corrected_folds_cover_every_row_and_keep_duplicates_together(loaded, name):
    dataset = loaded[name, "corrected"]
    tested, sizes = [], []
    for fold in range(10):
        part = data.split(dataset, "stratified-ten-folds", 0, fold, standardise=False)
        tested.extend(part.test_rows)
        sizes.append(len(part.test_rows))
        assert not set(map(bytes, part.X_train)) & set(map(bytes, part.X_test))
        assert set(part.y_test) == {-1.0, 1.0}
    assert sorted(tested) == list(range(len(dataset.y)))
    assert min(sizes) > 0.5 * len(dataset.y) / 10


def test_features_are_standardised_by_the_training_rows_alone():
    dataset = data.load("wine13")
    raw = data.split(dataset, "ten-folds", 1, 4, standardise=False)
    part = data.split(dataset, "ten-folds", 1, 4)
    centre, scale = raw.X_train.mean(axis=0), raw.X_train.std(axis=0)
    np.testing.assert_allclose(part.X_train, (raw.X_train - centre) / scale, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(part.X_test, (raw.X_test - centre) / scale, rtol=1e-9, atol=1e-12)


def test_every_event_goes_to_training_or_test_by_a_fair_coin():
    """191 events by 50 seeds: the share has a standard deviation of 0.0051."""
    dataset = data.load("coal")
    parts = [data.split(dataset, "thinned-events", seed, standardise=False) for seed in range(50)]
    assert all(np.array_equal(part.y_train + part.y_test, dataset.y) for part in parts)
    assert abs(np.mean([part.y_train.sum() for part in parts]) / dataset.y.sum() - 0.5) < 4 * 0.0051
