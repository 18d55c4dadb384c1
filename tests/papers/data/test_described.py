"""Sets that one block of the registry describes: what is read, and what is refused and how."""

import gzip
import hashlib

import numpy as np
import pytest

from papers import data
from papers.data import classification, regression
from papers.data.registry import RegistryError, load_registry, task_of
from tests.helpers import editing

LABELS = b'id;load;site;"state"\n1;0.5;north;ok\n2;?;south;failed\n\n3;2;south; lost\n4;-1e0;"east; far";ok\n'
ENTRY = {
    "title": "Made-up pumps",
    "task": "classification",
    "licence": "CC0",
    "citation": "made up",
    "delimiter": ";",
    "header": True,
    "missing": ["?"],
    "drop": ["id"],
    "one_hot": ["site"],
    "target": "state",
    "positive": ["failed", "lost"],
    "negative": ["ok"],
    "shape": [3, 4],
}
PLAIN = {key: ENTRY[key] for key in ("title", "licence", "citation")} | {"delimiter": ","}
COUNTS = {**PLAIN, "task": "counts", "target": -1, "shape": [3, 1]}
REAL = {**PLAIN, "task": "regression", "target": 0, "shape": [3, 1]}


@pytest.fixture
def described(home):
    """Register contents as the files of a set; the data folder."""

    def write(entry, *contents, name="pumps", ending=".csv"):
        (home / "raw").mkdir(exist_ok=True)
        files = []
        for k, content in enumerate(contents):
            path = f"{name}{k}{ending}"
            (home / "raw" / path).write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            files.append({"path": path, "sha256": digest, "bytes": len(content), "urls": []})
        with editing(home) as registry:
            registry.setdefault("sets", {})[name] = {**entry, "files": files}
        return home

    return write


def test_labels_one_hot_columns_and_missing_values(described):
    home = described(ENTRY, LABELS)
    for variant in data.registry.VARIANTS:
        dataset = data.load("pumps", variant, home)
        assert dataset.features == ("load", "site=east; far", "site=north", "site=south")
        np.testing.assert_array_equal(dataset.X, [[0.5, 0, 1, 0], [2, 0, 0, 1], [-1, 1, 0, 0]])
        np.testing.assert_array_equal(dataset.y, [-1, 1, -1])
    assert task_of("pumps", home) == "classification" and not dataset.counts
    digest = hashlib.sha256(LABELS).hexdigest()
    assert (
        dataset.provenance["files"] == {"pumps0.csv": digest}
        and dataset.provenance["title"] == ENTRY["title"]
    )
    same = classification.load("pumps", "corrected", home)
    np.testing.assert_array_equal(same.X, dataset.X)


def test_a_number_that_marks_missing_values_is_found_however_it_is_written(described):
    """As pandas writes a column of floats: -999.0 for -999."""
    content = b"y,a\n1.5,2\n-999.0,3\n2.5,-9.99e2\n0.5,-99.9\n1.0,4\n"
    dataset = regression.load("pumps", described({**REAL, "header": True, "missing": [-999]}, content))
    np.testing.assert_array_equal(dataset.y, [1.5, 0.5, 1.0])


def test_counts_of_several_files_split_like_the_coal_series(described):
    content = "".join(f"{k},{k % 4}\n" for k in range(10)).encode()
    home = described({**COUNTS, "shape": [20, 1]}, content, gzip.compress(content, mtime=0), ending=".gz")
    with pytest.raises(data.DataError, match=r"pumps0\.gz is not UTF-8 text \(Not a gzipped file"):
        data.load("pumps", home=home)
    home = described({**COUNTS, "shape": [20, 1]}, content, content)
    dataset = data.load("pumps", home=home)
    assert dataset.counts and dataset.features == ("column0",) and dataset.X.shape == (20, 1)
    np.testing.assert_array_equal(dataset.y, np.tile(np.arange(10) % 4, 2))
    part = data.split(dataset, "thinned-events", 3)
    np.testing.assert_array_equal(part.y_train + part.y_test, dataset.y)
    assert len(data.split(dataset, "half-of-years", 0).train_rows) < 20
    with pytest.raises(ValueError, match="'ten-folds' does not apply to data set 'pumps'"):
        data.split(dataset, "ten-folds", 0)


def test_real_targets_by_blanks_and_compressed(described):
    entry = {key: value for key, value in REAL.items() if key != "delimiter"}
    home = described(entry, gzip.compress(b"1.5  2\n\n-2\t4\n0 -6.25\n", mtime=0), ending=".txt.gz")
    dataset = regression.load("pumps", home)
    np.testing.assert_array_equal(dataset.y, [1.5, -2, 0])
    np.testing.assert_array_equal(dataset.X[:, 0], [2, 4, -6.25])
    assert "pumps" in regression.names(home) and regression.parts(dataset, 0)[0].shape == (3, 1)


def test_a_described_set_is_what_its_reader_reads(home, mirror):
    entry = {**PLAIN, "task": "classification", "target": -1, "positive": ["4"], "negative": [2]}
    with editing(home) as registry:
        entry |= {"missing": ["?"], "drop": [0], "shape": [683, 9], "files": [registry["files"]["cancer"]]}
        registry["sets"] = {"twin": entry}
    ours, theirs = (data.load(name, "corrected", home, str(mirror)) for name in ("twin", "cancer"))
    np.testing.assert_array_equal(ours.X, theirs.X)
    np.testing.assert_array_equal(ours.y, theirs.y)


def changed(entry, **fields):
    return {key: value for key, value in {**entry, **fields}.items() if value is not None}


@pytest.mark.parametrize(
    "entry, content, message",
    [
        (
            ENTRY,
            LABELS.replace(b"0.5", b"x"),
            r"'pumps': .*pumps0\.csv, line 2: column 'load': 'x' is not a",
        ),
        (ENTRY, LABELS.replace(b"0.5", b"nan"), "line 2: column 'load': 'nan' is not a number"),
        (ENTRY, LABELS.replace(b"lost", b"gone"), "line 5: column 'state': 'gone' is not one of the classes"),
        (ENTRY, LABELS.replace(b"2;south", b"2"), "line 5: column 'state': '' is a missing target"),
        (ENTRY, LABELS.replace(b'far"', b"far"), r"pumps0\.csv: EOF inside string"),
        (ENTRY, LABELS.replace(b"1;", b"\xff;"), r"pumps0\.csv is not UTF-8 text \('utf-8'"),
        (ENTRY, b"id;load;site;state\n", "'pumps': pumps has no rows"),
        (ENTRY, b"id;load;site;state\n1;?;a;ok\n", "has no rows: 1 of 1 rows have a missing value"),
        (ENTRY, LABELS[:36], "every state is 'ok'"),
        (changed(ENTRY, shape=[4, 4]), LABELS, r"has shape \(3, 4\), expected \(4, 4\)"),
        (
            changed(ENTRY, target="stat"),
            LABELS,
            "'pumps': pumps: there is no column 'stat', but state",
        ),
        (changed(ENTRY, drop=[4]), LABELS, "'pumps': there is no column 4, but id, load, site"),
        (changed(ENTRY, one_hot=["id"]), LABELS, "'pumps': a column is named twice"),
        (ENTRY, LABELS.replace(b"0.5", b"1_0"), "line 2: column 'load': '1_0' is not a number"),
        (changed(ENTRY, header=None), LABELS, "there is no column 'state', but column0, column1"),
        (COUNTS, b"0,1\n1,-1\n2,0\n", "line 2: column 'column1': '-1' is not a count"),
        (COUNTS, b"0,1\n1,0.5\n2,0\n", "line 2: column 'column1': '0.5' is not a count"),
    ],
)
def test_what_is_wrong_is_named(described, entry, content, message):
    home = described(entry, content)
    with pytest.raises(data.DataError, match=message):
        data.load("pumps", home=home)


def test_files_of_one_set_have_one_header(described):
    home = described(changed(ENTRY), LABELS, LABELS.replace(b"load", b"flow"))
    with pytest.raises(data.DataError, match=r"pumps1\.csv: header id, flow, .*, expected id, load"):
        data.load("pumps", home=home)


@pytest.mark.parametrize(
    "entry, message",
    [
        (changed(ENTRY, task="labels"), "sets/pumps/task: 'labels' is not one of"),
        (changed(ENTRY, shape=None), "sets/pumps: 'shape' is a required property"),
        (changed(ENTRY, negative=None), "sets/pumps: 'negative' is a required property"),
        (changed(ENTRY, delimeter=","), r"sets/pumps: .*'delimeter' was unexpected\); known: title, task"),
        (changed(ENTRY, delimiter=", "), "sets/pumps/delimiter: ', ' does not match .*one character"),
        (changed(ENTRY, delimiter="\n"), r"sets/pumps/delimiter: '\\n' does not match"),
        (changed(ENTRY, delimiter='"'), "sets/pumps/delimiter: '\"' does not match"),
        (changed(ENTRY, positive=[True]), "sets/pumps/positive/0: True is not .*text in quotes"),
        (changed(ENTRY, negative=["lost"]), r"sets/pumps: \['lost'\] are both positive and negative"),
        (changed(ENTRY, target=1.5), "sets/pumps/target: 1.5 is not of type .*its name in the header"),
        ({**REAL, "positive": ["a"]}, "sets/pumps/positive: only a set with task: classification"),
        (
            {**COUNTS, "negative": ["a"]},
            "sets/pumps/negative: only a set with task: classification",
        ),
    ],
)
def test_nonsense_is_refused_when_the_registry_is_read(described, entry, message):
    home = described(entry, LABELS)
    with pytest.raises(RegistryError, match=message):
        load_registry(home)


def test_names_and_paths_of_others_are_refused(described, home):
    before = (home / "sources.yaml").read_text(encoding="utf-8")
    for name, message in (
        ("glass", "sets/glass: there is a data set of this name already"),
        ("yacht", "sets/yacht: there is a data set of this name already"),
        ("banana", "sets: 'banana' does not match .*which are made up"),
        ("Pumps", "sets: 'Pumps' does not match .*small letters"),
        ("pumps\n", r"sets: 'pumps\\n' does not match"),
    ):
        (home / "sources.yaml").write_text(before, encoding="utf-8")
        with pytest.raises(RegistryError, match=message):
            load_registry(described(ENTRY, LABELS, name=name))
    (home / "sources.yaml").write_text(before, encoding="utf-8")
    with editing(described(ENTRY, LABELS)) as registry:
        registry["sets"]["pumps"]["files"][0]["path"] = "glass.data"
    with pytest.raises(RegistryError, match=r"pumps/files/0/path: 'glass\.data' is another file"):
        load_registry(home)
