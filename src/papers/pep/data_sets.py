"""The data sets in tables 1 and 2 of the Power-EP paper, compared with those read here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from papers.core.grid import grid
from papers.core.store import write_text
from papers.data import classification, regression
from papers.data.classification import CORRECTED, RELEASED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Row = Mapping[str, str]

NAME = "pep_datasets.md"
PRINTED = "pep_datasets.csv"
ENTRIES = {"red wine": "wine_red"}
"""Printed names that are not those of `papers.data`."""

TITLE = """\
# Data sets of the Power-EP paper

Tables 1 and 2 of "A Unifying Framework for Gaussian Process Pseudo-Point Approximations using Power
Expectation Propagation" (Bui, Yan and Turner, JMLR 2017) beside what is read here, which every reading of a
raw file checks (`data/sources.yaml`). Train, test: rows of a split, of twenty. Columns: with the target."""

REGRESSION = """\
Used: columns that a fit sees, with the target. Naval has two targets, of which one is used, as no feature."""

CLASSIFICATION = """\
`as-released` has the printed counts, `corrected` every complete record, no id and no constant column, and
Australian's label in place of its first column (docs/paper-power-ep.md)."""


def write(folder: str | Path, published: str | Path) -> None:
    """Write `NAME` into a folder, from the printed numbers (`PRINTED` of another folder) and the registry."""
    import pandas as pd

    table = pd.read_csv(Path(published, PRINTED), dtype=str, keep_default_na=False)
    printed = table.to_dict("records")
    write_text(Path(folder, NAME), "\n".join([TITLE, *_regression(printed), *_classification(printed), ""]))


def _regression(printed: Sequence[Row]) -> Iterator[str]:
    yield from ("", "## Regression (table 1)", "", REGRESSION, "")
    cells = []
    for row in (row for row in printed if row["task"] == "regression"):
        entry = regression.entry_of(ENTRIES.get(row["dataset"], row["dataset"]))
        n, features = entry["shape"]
        read = [*_train_and_test(n), str(entry["columns"])]
        cells.append([entry["title"], *_counts(row), *read, str(features + 1)])
    header = ["Data set", *(f"{name}, printed" for name in COUNTS), *COUNTS, "Used"]
    yield from grid(header, "l" + "r" * 7, cells)


def _classification(printed: Sequence[Row]) -> Iterator[str]:
    yield from ("", "## Classification (table 2)", "", CLASSIFICATION, "")
    cells = []
    for row in (row for row in printed if row["task"] == "classification"):
        entry = classification.entry_of(row["dataset"])
        cells.append([entry["title"], "printed", *_counts(row), row["positive"], row["negative"]])
        for protocol in (RELEASED, CORRECTED):
            n, features = entry["shapes"][protocol]
            labels = (str(count) for count in entry["labels"][protocol])
            cells.append([entry["title"], protocol, *_train_and_test(n), str(features + 1), *labels])
    yield from grid(["Data set", "", *COUNTS, "+1", "-1"], "ll" + "r" * 5, cells)


COUNTS = ("Train", "Test", "Columns")


def _counts(row: Row) -> list[str]:
    return [row["n_train"], row["n_test"], row["D_with_target"]]


def _train_and_test(n: int) -> list[str]:
    """Return text: training and test rows of a split."""
    train = regression.n_train(n)
    return [str(train), str(n - train)]
