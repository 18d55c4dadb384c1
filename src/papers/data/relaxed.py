"""The classification sets of the relaxed-EP paper [Qi and Guo 2012, section 6.3] and their splits.

The sets are Heart, Pima (Ripley's 532 complete records), Diabetes (the 768 records formerly at UCI), Haberman
and Spam, with every record and every feature. Label +1 is presence of the disease, diabetes, survival of five
years or more, and spam.

The paper's partitions are not available, those of Diabetes by Rätsch et al. (2001) included. Ours have the
paper's sizes and numbers (`N_TRAIN`, `N_TEST`, `SPLITS`). Pima has a hundred splits. The paper has the first
twenty of them, which leave REP5 open. Rows are drawn without replacement. Each split has its own generator
with a fixed seed. Every training set has both labels, so no split is drawn a second time.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from papers.data import registry
from papers.data.readers import PIMA_HEADER, Raw, last_column, numbers, rows_of, signs
from papers.data.standard import Dataset, load_with

VARIANT: Literal["relaxed"] = "relaxed"
SPLITS = {"heart": 20, "pima": 100, "diabetes": 100, "haberman": 100, "spam": 100}
N_TRAIN = {"heart": 81, "pima": 319, "diabetes": 468, "haberman": 183, "spam": 276}
N_TEST = {"heart": 189, "pima": 213, "diabetes": 300, "haberman": 123, "spam": 4325}
SEED, FLIPS = 2012, 1


names = partial(registry.names_of, VARIANT)
entry_of = partial(registry.entry, VARIANT)
raw_files = partial(registry.files_of, VARIANT)
"""Names, entries and file entries of these sets."""


def load(name: str, home: str | Path | None = None, mirror: str | None = None) -> Dataset:
    """Load a set, downloading its raw files if they are not there.

    Parameters
    ----------
    name : str
        One of ``names()``.
    home, mirror : see ``standard.load``

    Returns
    -------
    Dataset
        Labels -1 and +1, rows in file order. Nothing is standardised.

    Raises
    ------
    DataError, DownloadError
        As ``standard.load``.
    """

    def read(paths: list[Path]) -> Raw:
        return _pima(paths) if name == "pima" else READERS[name](paths[0])

    return load_with(read, VARIANT, name, VARIANT, home, mirror)


def _pima(paths: list[Path]) -> Raw:
    rows = [row for path in paths for row in rows_of(path, 8, None, PIMA_HEADER)]
    return Raw(numbers(rows, slice(0, 7)), signs(rows, 7, {"Yes"}, {"No"}), PIMA_HEADER[:7])


READERS = {
    "heart": last_column(14, "2", "1", None),
    "diabetes": last_column(9, "1", "0"),
    "haberman": last_column(4, "1", "2"),
    "spam": last_column(58, "1", "0"),
}
"""Readers of the sets of one file."""


def rows_of_split(name: str, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training [N_TRAIN[name]] and test [N_TEST[name]] rows of a split in drawn order."""
    order = _generator(name, split).permutation(N_TRAIN[name] + N_TEST[name])
    return order[: N_TRAIN[name]], order[N_TRAIN[name] :]


def _generator(name: str, split: int, *purpose: int) -> np.random.Generator:
    return np.random.default_rng([SEED, N_TRAIN[name] + N_TEST[name], split, *purpose])


def parts(
    dataset: Dataset, split: int, flips: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X_train [N, D], X_test [N*, D], y_train [N], y_test [N*] of a split, with some labels flipped.

    Labels are flipped in training and in test data.

    Parameters
    ----------
    dataset : Dataset
        One of these sets.
    split : int
    flips : float
        Share of the labels of each part that is flipped, as the paper does with Spam. Flips have a generator
        of their own and rows do not depend on them; those of a smaller share are among those of a larger one.
    """
    train, test = rows_of_split(dataset.name, split)
    rng = _generator(dataset.name, split, FLIPS)
    y_train, y_test = (flipped(dataset.y[rows], flips, rng) for rows in (train, test))
    return dataset.X[train], dataset.X[test], y_train, y_test


def flipped(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return labels [N] with the sign of exactly round(share N) changed, drawn without replacement."""
    noisy = y.copy()
    noisy[rng.permutation(len(y))[: round(share * len(y))]] *= -1.0
    return noisy


def standardised(X_train: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale inputs [N, D], [N*, D] to mean 0 and population sd 1 on the training rows; only centre constants.

    In the training rows of Spam some features are 0 in all rows but one or two, or in all. A test value may
    then be large (above 100 in 98 of the hundred splits, at most 18,000).
    """
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test)
