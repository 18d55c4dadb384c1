"""The regression sets of the Power-EP paper and the twenty splits of each [Bui et al. 2017, section 4.2].

Sets and splits are those of Hernández-Lobato and Adams (2015) as later work passes them on: a text matrix a
set, and twenty lists of rows that one generator drew. The lists are drawn again here, so none is stored.
They are apart from ``standard.load``: a regression set has one form, not one for each protocol.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from tilted.data import described, entries
from tilted.data.fetch import fetch
from tilted.data.registry import DataError
from tilted.data.standard import Dataset

if TYPE_CHECKING:
    from tilted.data.schema import Entry, File, Line

VARIANT: Literal["regression"] = "regression"
SPLITS = 20
SEED = 1
SHARE = 0.9


def names(home: str | Path | None = None) -> list[str]:
    """Names of the regression sets."""
    return entries.names(VARIANT, home)


def entry_of(name: str, home: str | Path | None = None) -> Entry:
    """The registry's entry of a regression set (`entries.entry_of`)."""
    return entries.entry_of(VARIANT, name, home)


def raw_files(name: str, home: str | Path | None = None) -> list[File]:
    """File entries of a regression set (`entries.raw_files`)."""
    return entries.raw_files(VARIANT, name, home)


def load(name: str, home: str | Path | None = None, mirror: str | None = None) -> Dataset:
    """Load a regression set, downloading its raw file if it is not there.

    Parameters
    ----------
    name : str
        One of ``names()``.
    home, mirror : see ``standard.load``

    Returns
    -------
    Dataset
        Features are the file's first D columns and the target the one after them; columns beyond are not
        used. A described set (`described`) has those that its entry says. Nothing is standardised.

    Raises
    ------
    DataError
        For an unknown name, a file that is no matrix of finite numbers, or one of another shape.
    DownloadError
        If the raw file cannot be had.
    """
    entry, files = entry_of(name, home), raw_files(name, home)
    paths, about = [fetch(file, home, mirror) for file in files], entries.provenance(entry, files)
    rows, features = entry["shape"]
    if described.is_described(entry):
        raw = described.read(name, entry, paths)
        if raw.X.shape != (rows, features):
            raise DataError(f"data set '{name}' has shape {raw.X.shape}, expected {(rows, features)}")
        return Dataset(name, VARIANT, raw.X, raw.y, raw.features, about)
    table = _matrix(paths[0])
    if table.shape != (rows, entry["columns"]):
        raise DataError(f"{paths[0]} has shape {table.shape}, expected {(rows, entry['columns'])}")
    labels = tuple(f"column{c}" for c in range(features))
    return Dataset(name, VARIANT, table[:, :features], table[:, features], labels, about)


def _matrix(path: Path) -> np.ndarray:
    """Whitespace-separated numbers, compressed if the name ends in .gz."""
    try:
        table = np.loadtxt(path, ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} is not a matrix of numbers: {error}") from None
    if not np.all(np.isfinite(table)):
        raise DataError(f"{path}: a value is not finite")
    return table


def n_train(n: int) -> int:
    """Training rows of every split of a set with ``n`` rows."""
    return round(SHARE * n)


def rows_of_split(n: int, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of one of the twenty splits of a set with ``n`` rows, in the lists' order.

    One generator draws all splits of a set, one after the other, so those before are drawn too.

    Raises
    ------
    ValueError
        For a split that is not 0 to 19.
    """
    if split not in range(SPLITS):
        raise ValueError(f"split must be 0 to {SPLITS - 1}, got {split!r}")
    generator = np.random.RandomState(SEED)
    for _ in range(split):
        generator.permutation(n)
    order = generator.permutation(n)
    return order[: n_train(n)], order[n_train(n) :]


def parts(dataset: Dataset, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X_train [N, D], X_test [N*, D], y_train [N], y_test [N*] of one of the twenty splits."""
    train, test = rows_of_split(len(dataset.y), split)
    return dataset.X[train], dataset.X[test], dataset.y[train], dataset.y[test]


def table_of_regression_sets(home: str | Path | None = None) -> list[Line]:
    """One row a set, with the columns of ``registry.table_of_datasets``."""
    return entries.table(VARIANT, VARIANT, lambda entry: entry["shape"], home)
