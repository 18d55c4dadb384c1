"""The paper's tables of data sets beside the sets that are read."""

import csv
from pathlib import Path

import pytest

from papers.pep import tables

DATA = Path(__file__).resolve().parents[3] / "data" / "published"


@pytest.fixture(scope="module")
def printed():
    """Lines of the paper's tables 1 and 2."""
    with (DATA / "pep_datasets.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def rows(page):
    """Cells of the tables' lines."""
    lines = page.splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What is written."""
    folder = tmp_path_factory.mktemp("tables")
    tables.write_data_sets(folder, DATA)
    return (folder / tables.DATA_SETS).read_text(encoding="utf-8")


def test_every_printed_set_stands_beside_the_one_that_is_read(page, printed):
    """Rows and columns agree, and labels as released; corrected, five of six sets differ from the paper."""
    regressions = [row for row in rows(page) if len(row) == 8 and row[1].isdigit()]
    assert len(regressions) == sum(row["task"] == "regression" for row in printed) == 8
    assert all(row[1:4] == row[4:7] for row in regressions)
    assert [row[0] for row in regressions if row[6] != row[7]] == ["Condition of a naval propulsion plant"]
    classes = {(row[0], row[1]): row[2:] for row in rows(page) if len(row) == 7 and row[2].isdigit()}
    names = {name for name, _ in classes}
    assert len(names) == sum(row["task"] == "classification" for row in printed) == 6
    assert all(classes[name, "printed"] == classes[name, "as-released"] for name in names)
    same = {name for name in names if classes[name, "printed"] == classes[name, "corrected"]}
    assert same == {"Leptograpsus crabs"}
