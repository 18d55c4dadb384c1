"""The registry: where it is looked for, and what breaks it."""

import json
from pathlib import Path

import pytest

from papers import data
from papers.data import classification, regression, relaxed
from papers.data.registry import data_home, load_registry
from tests.helpers import editing

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def broken(home):
    """Write the registry with one change; the folder it is in."""

    def write(change):
        with editing(home) as registry:
            change(registry)
        return home

    return write


@pytest.mark.parametrize(
    "change, where",
    [
        (lambda r: r["files"]["glass"].update(path="../glass.data"), "files/glass/path"),
        (lambda r: r["files"]["glass"].update(path="a/../../b"), "files/glass/path"),
        (lambda r: r["files"]["glass"].update(urls=["ftp://x"]), "files/glass/urls/0"),
        (lambda r: r["datasets"]["coal"].update(task="nonsense"), "datasets/coal/task"),
        (lambda r: r["datasets"]["glass"].update(files=["nonesuch"]), "datasets/glass names unknown"),
        (lambda r: r["datasets"]["wine12"].update(optional_files=["x"]), "datasets/wine12 names unknown"),
        (lambda r: r["regression"]["yacht"].update(file="boat"), r"regression/yacht names unknown .*'boat'"),
        (lambda r: r["classification"]["pima"].update(file="boat"), "classification/pima names unknown"),
        (lambda r: r["relaxed"]["heart"].update(files=["boat"]), "relaxed/heart names unknown"),
        (lambda r: r["images"]["mnist"]["files"].update(test=["x", "y"]), "images/mnist names unknown"),
        (lambda r: r["relaxed"]["heart"].pop("label"), "relaxed/heart: 'label' is a required"),
        (lambda r: r["relaxed"]["spam"].update(shape=[4601]), "relaxed/spam/shape"),
        (lambda r: r["relaxed"]["pima"].update(files=[]), "relaxed/pima/files"),
        (lambda r: r["relaxed"]["pima"].update(papers=["pep"]), "relaxed/pima/papers/0"),
        (lambda r: r.pop("relaxed"), "top level: 'relaxed' is a required"),
        (lambda r: r.pop("datasets"), "top level"),
    ],
)
def test_the_offending_entry_is_named(broken, change, where):
    with pytest.raises(data.RegistryError, match=where):
        load_registry(broken(change))


def test_registry_errors_are_data_errors_and_bytes_that_are_no_text_are_one(tmp_path):
    (tmp_path / "sources.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(data.DataError, match="not valid YAML"):
        load_registry(tmp_path)


def test_a_compressed_file_of_another_paper_fits_the_schema(broken):
    item = {"path": "a/data.txt.gz", "sha256": "0" * 64, "bytes": 9, "urls": []}
    item |= {"plain_sha256": "1" * 64, "plain_bytes": 99}
    home = broken(lambda r: r["files"].update(kin8nm=item))
    assert data.file_entry("a/data.txt.gz", home) == item


def test_argument_then_environment_then_checkout(tmp_path, monkeypatch):
    monkeypatch.delenv("TILTED_DATA", raising=False)
    assert data_home() == ROOT / "data"
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "sources.yaml").write_text("", encoding="utf-8")
    monkeypatch.setenv("TILTED_DATA", str(tmp_path / "a"))
    assert data_home() == tmp_path / "a"
    assert data_home(tmp_path / "b") == tmp_path / "b"


def test_the_table_lists_the_sets_of_every_paper(home, mirror):
    relaxed.load("pima", home, str(mirror))
    table = {(row["task"], row["name"]): row for row in data.table_of_datasets(home)}
    sets = {("classification (relaxed EP)", name) for name in relaxed.names()}
    sets |= {("classification (Power EP)", name) for name in classification.names()}
    sets |= {("regression", name) for name in regression.names()} | {("counts", "coal")}
    assert sets <= set(table) and len({tuple(row) for row in table.values()}) == 1
    json.dumps(list(table.values()))
    pima, spam = (table["classification (relaxed EP)", name] for name in ("pima", "spam"))
    assert (pima["present"], pima["rows"], pima["features"], pima["bytes"]) == ("yes", 532, 7, 6304 + 10437)
    assert spam["present"] == "no" and table["counts", "coal"]["present"] == "bundled"
    assert table["classification (Power EP)", "sonar"]["rows"] == 208, "as corrected: every record"
    digits = table["classification", "mnist"]
    assert (digits["rows"], digits["features"], digits["bytes"]) == (70000, 784, 11594722)
