"""The regression sets of the Power-EP paper and the twenty splits of each [Bui et al. 2017, section 4.2].

Sets and splits are those of Hernández-Lobato and Adams (2015), as later work distributes them: one text
matrix for each set, and twenty lists of rows that one generator drew. We draw the lists again, so none is
stored. These sets are apart from ``standard.load``: a regression set has one form for all protocols.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from papers.data import registry
from papers.data.readers import Raw
from papers.data.registry import DataError
from papers.data.standard import Dataset, load_with

VARIANT: Literal["regression"] = "regression"
SPLITS = 20
SEED = 1
SHARE = 0.9


names = partial(registry.names_of, VARIANT)
entry_of = partial(registry.entry, VARIANT)
raw_files = partial(registry.files_of, VARIANT)
"""Names, entries and file entries of these sets."""


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
    DataError, DownloadError
        As ``standard.load``; a file may be no matrix of finite numbers, too.
    """

    def read(paths: list[Path]) -> Raw:
        table, about = _matrix(paths[0]), entry_of(name, home)
        rows, features = about["shape"]
        if table.shape != (rows, about["columns"]):
            raise DataError(f"{paths[0]} has shape {table.shape}, expected {(rows, about['columns'])}")
        labels = tuple(f"column{c}" for c in range(features))
        return Raw(table[:, :features], table[:, features], labels)

    return load_with(read, VARIANT, name, VARIANT, home, mirror)


def _matrix(path: Path) -> np.ndarray:
    """Read a matrix of whitespace-separated numbers, compressed if the name ends in .gz."""
    try:
        table = np.loadtxt(path, ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} is not a matrix of numbers: {error}") from None
    if not np.all(np.isfinite(table)):
        raise DataError(f"{path}: a value is not finite")
    return table


def n_train(n: int) -> int:
    """Return the number of training rows in every split of a set with ``n`` rows."""
    return round(SHARE * n)


def rows_of_split(n: int, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows of one of the twenty splits of ``n`` rows, in the lists' order.

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
    """Return X_train [N, D], X_test [N*, D], y_train [N], y_test [N*] of one of the twenty splits."""
    train, test = rows_of_split(len(dataset.y), split)
    return dataset.X[train], dataset.X[test], dataset.y[train], dataset.y[test]
