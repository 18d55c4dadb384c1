"""Registry, readers, standard files and splits."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from papers import data
from papers.data import readers, registry
from papers.data.standard import Dataset
from tests.helpers import editing

VARIANTS = registry.VARIANTS
PLACE = "standard/as-released/wine12.h5"
BUNDLED = ["wine12", "wine13", "wine23", "coal"]


def test_registry_lists_the_ten_rows_in_the_papers_names():
    table = [row for row in data.table_of_datasets() if row["name"] in data.names()][:10]
    rows = ["IonoS", "Cancer", "Pima", "Crabs", "Sonar", "Glass", "Wine1", "Wine2", "Wine3", "Mining"]
    assert [row["row"] for row in table] == rows
    assert {row["name"] for row in table if row["present"] == "bundled"} == set(BUNDLED)


@pytest.mark.parametrize("name", BUNDLED)
@pytest.mark.parametrize("variant", VARIANTS)
def test_bundled_sets_have_their_registered_shapes(name, variant):
    dataset = data.load(name, variant)
    assert list(dataset.X.shape) == registry.entry_of(name)["shapes"][variant]
    assert np.all(np.isfinite(dataset.X))


@pytest.mark.parametrize(
    "name, variant, positives",
    [
        ("ionosphere", "as-released", 225),
        ("ionosphere", "as-described", 225),
        ("cancer", "corrected", 239),
        ("pima", "as-released", 245),
        ("pima", "corrected", 177),
        ("crabs", "corrected", 100),
        ("sonar", "as-released", 97),
        ("glass", "as-released", 51),
        ("glass", "corrected", 51),
    ],
)
def test_raw_sets_from_a_mirror(name, variant, positives, home, mirror):
    dataset = data.load(name, variant, home=home, mirror=str(mirror))
    assert set(np.unique(dataset.y)) == {-1.0, 1.0}
    assert int(np.sum(dataset.y > 0)) == positives
    assert not np.any([f.name.endswith(".tmp") for f in (home / "raw").iterdir()])


def test_variants_differ_as_documented(home, mirror):
    released = data.load("pima", "as-released", home, str(mirror))
    corrected = data.load("pima", "corrected", home, str(mirror))
    np.testing.assert_array_equal(released.X[:200], released.X[200:400])
    assert len(np.unique(corrected.X, axis=0)) == 532
    assert "index" in data.load("crabs", "as-released", home, str(mirror)).features
    assert "index" not in data.load("crabs", "corrected", home, str(mirror)).features
    glass = data.load("glass", "as-released", home, str(mirror))
    np.testing.assert_array_equal(glass.X[:, 0], np.arange(1.0, 215.0))
    np.testing.assert_array_equal(glass.y > 0, glass.X[:, 0] > 163)  # the id gives the label away
    described = data.load("ionosphere", "as-described", home, str(mirror))
    assert np.all(described.X[:, 1] == 0)


def test_bundled_wine_is_the_uci_file(mirror):
    path = mirror / "wine.data"
    table = np.loadtxt(path, delimiter=",")
    wine = load_wine()
    np.testing.assert_array_equal(table[:, 0] - 1, wine.target)
    np.testing.assert_array_equal(table[:, 1:], wine.data)


def test_coal_counts_are_the_facts_they_say():
    released, dated = data.load("coal", "as-released"), data.load("coal", "corrected")
    assert released.y.sum() == dated.y.sum() == 191
    assert released.X[0, 0] == 1851 and released.X[-1, 0] == 1962
    differs = released.X[released.y != dated.y, 0]
    np.testing.assert_array_equal(differs, [1941, 1942])


@pytest.mark.parametrize(
    "content, message",
    [
        (b"1,2,3\n", "line 1: 3 columns, expected 35"),
        (("1," * 34 + "g\n" + "1," * 33 + "x,b\n").encode(), "line 2"),
        (("1," * 34 + "q\n").encode(), "label 'q'"),
        (b"\xff\xfe", "not a plain text file"),
    ],
)
def test_malformed_files_are_named(tmp_path, content, message):
    path = tmp_path / "ionosphere.data"
    path.write_bytes(content)
    with pytest.raises(data.DataError, match=message):
        readers.read("ionosphere", "as-released", [path], tmp_path)


def test_a_folder_that_is_gone_is_named_by_its_variable(monkeypatch):
    """The advice was to set the variable, which was set."""
    monkeypatch.setenv("TILTED_DATA", "/nowhere")
    with pytest.raises(data.DataError, match="in /nowhere, which TILTED_DATA names; unset it"):
        registry.load_registry()
    with pytest.raises(data.DataError, match="in /elsewhere; set TILTED_DATA"):
        registry.load_registry("/elsewhere")


def test_unknown_names_list_the_known():
    with pytest.raises(data.DataError, match="unknown data set 'iris'; known: ionosphere"):
        data.load("iris")
    with pytest.raises(data.DataError, match="unknown variant"):
        data.load("coal", "fixed")


def test_registry_is_validated(home):
    with editing(home) as registry:
        registry["files"]["sonar"]["sha256"] = "abc"
    with pytest.raises(data.DataError, match="files/sonar/sha256"):
        data.names(home)
    (home / "sources.yaml").write_text("files: [", encoding="utf-8")
    with pytest.raises(data.DataError, match="not valid YAML"):
        data.names(home)
    with pytest.raises(data.DataError, match="TILTED_DATA"):
        data.names(home / "nowhere")


def test_standard_files_round_trip_with_the_same_bytes(tmp_path):
    dataset = data.load("wine12")
    for folder in "ab":
        data.write_standard(dataset, tmp_path / folder / PLACE)
    assert (tmp_path / "a" / PLACE).read_bytes() == (tmp_path / "b" / PLACE).read_bytes()
    back = data.read_standard(tmp_path / "a" / PLACE)
    np.testing.assert_array_equal(back.X, dataset.X)
    assert (back.name, back.features) == (dataset.name, dataset.features)
    assert back.provenance == dataset.provenance
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == ["wine12.h5"] * 2


def test_a_corrupted_standard_file_is_refused(tmp_path):
    path = tmp_path / PLACE
    dataset = data.load("wine12")
    data.write_standard(dataset, path)
    bytes_ = bytearray(path.read_bytes())
    at = bytes(bytes_).find(dataset.X[0].astype("<f8").tobytes()[:16])
    bytes_[at + 3] ^= 1
    path.write_bytes(bytes_)
    with pytest.raises(data.DataError, match="corrupted"):
        data.read_standard(path)
    path.write_bytes(bytes_[: len(bytes_) // 2])
    with pytest.raises(data.DataError, match="corrupted"):
        data.read_standard(path)


def numbered(n=47, name="wine12"):
    """Rows that carry their own number."""
    X = np.column_stack([np.arange(n, dtype=float), np.ones(n)])
    return Dataset(name, "as-released", X, np.where(np.arange(n) % 3 == 0, 1.0, -1.0), ("row", "one"), {})


def test_legacy_shuffle_is_the_released_codes(cells):
    """The permutation of shuffling the whole table, and the remainder that is never tested."""
    dataset = numbered()
    for seed in (0, 3):
        table = np.column_stack([dataset.X, dataset.y])
        np.random.RandomState(10 * seed).shuffle(table)
        for fold in range(10):
            part = data.split(dataset, "legacy-shuffle", seed, fold, standardise=False)
            test = np.arange(4 * fold, 4 * fold + 4)
            np.testing.assert_array_equal(part.X_test, table[test, :2])
            np.testing.assert_array_equal(part.y_train, np.delete(table[:, 2], test))
    for cell in cells["classification"]:
        if cell["dataset"].startswith("wine"):
            place = cell["seed_index"], cell["fold"]
            part = data.split(data.load(cell["dataset"]), "legacy-shuffle", *place)
            assert part.X_train.shape == (cell["n_train"], cell["d"])
            assert len(part.y_test) == cell["n_test"]


def test_half_of_years_is_the_released_codes(cells):
    coal = data.load("coal")
    for cell in cells["poisson"]:
        if "train_idx" not in cell:
            continue
        part = data.split(coal, "half-of-years", cell["seed"], 0, standardise=False)
        np.testing.assert_array_equal(part.train_rows, cell["train_idx"])
        np.testing.assert_array_equal(part.y_test, cell["y_test"])


@pytest.mark.parametrize("scheme", ["ten-folds", "stratified-ten-folds"])
def test_covering_folds_test_every_row_once(scheme):
    dataset = numbered()
    tested = [data.split(dataset, scheme, 1, fold).test_rows for fold in range(10)]
    np.testing.assert_array_equal(np.sort(np.concatenate(tested)), np.arange(47))
    other = data.split(dataset, scheme, 2, 0).test_rows
    assert not np.array_equal(np.sort(other), np.sort(tested[0]))


def test_duplicates_stay_in_one_fold():
    base = numbered(40)
    X = np.vstack([base.X, base.X[:20]])
    dataset = Dataset("pima", "corrected", X, np.concatenate([base.y, base.y[:20]]), base.features, {})
    for fold in range(10):
        part = data.split(dataset, "stratified-ten-folds", 0, fold, standardise=False)
        assert not set(part.X_train[:, 0]) & set(part.X_test[:, 0])
