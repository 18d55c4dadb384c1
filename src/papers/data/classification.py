"""The classification sets of the Power-EP paper, in two protocols [Bui et al. 2017, section 4.3, table 2].

``as-released``
    The sets as the paper's counts show them. Breast, iono, pima and sonar lack their first complete record,
    as if a reader took it for a header. Breast has its id as a feature. The target of australian is its first
    column, and its label is a feature.
``corrected``
    The sets with every record and the true label, without ids and constant columns.

A described set (`described`) is the same in both protocols.

The paper's splits are not available. We draw twenty splits of 90:10 by the rule of the regression sets
(`regression.rows_of_split`), for the rows of the protocol.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from papers.data import registry
from papers.data.readers import CRABS_HEADER, Raw, last_column, numbers, rows_of, signs
from papers.data.registry import DataError
from papers.data.standard import Dataset, load_with

if TYPE_CHECKING:
    from collections.abc import Callable

KIND: Literal["classification"] = "classification"
PROTOCOLS = RELEASED, CORRECTED = ("as-released", "corrected")


names = partial(registry.names_of, KIND)
entry_of = partial(registry.entry, KIND)
raw_files = partial(registry.files_of, KIND)
"""Names, entries and file entries of these sets."""


def load(name: str, protocol: str, home: str | Path | None = None, mirror: str | None = None) -> Dataset:
    """Load a classification set, downloading its raw file if it is not there.

    Parameters
    ----------
    name : str
        One of ``names()``.
    protocol : str
        One of `PROTOCOLS`.
    home, mirror : see ``standard.load``

    Returns
    -------
    Dataset
        Labels -1 and +1; the paper's "positive" are +1. Nothing is standardised.

    Raises
    ------
    DataError, DownloadError
        As ``standard.load``.
    """
    entry_of(name, home)  # an unknown name before an unknown protocol
    if protocol not in PROTOCOLS:
        raise DataError(f"unknown protocol '{protocol}'; known: {', '.join(PROTOCOLS)}")

    def read(paths: list[Path]) -> Raw:
        return READERS[name](paths[0], protocol == RELEASED)

    return load_with(read, KIND, name, protocol, home, mirror)


def _australian(path: Path, released: bool) -> Raw:
    rows = rows_of(path, 15, None)
    y = signs(rows, 0, {"0"}, {"1"}) if released else signs(rows, 14, {"1"}, {"0"})
    columns = slice(1, 15) if released else slice(0, 14)
    return Raw(numbers(rows, columns), y, tuple(f"A{c + 1}" for c in range(15))[columns])


def _breast(path: Path, released: bool) -> Raw:
    rows = [row for row in rows_of(path, 11) if "?" not in row.cells][released:]
    columns = slice(0 if released else 1, 10)
    features = ("id", *(f"cytology{c}" for c in range(1, 10)))[columns]
    return Raw(numbers(rows, columns), signs(rows, 10, {"4"}, {"2"}), features)


def _crabs(path: Path, released: bool) -> Raw:
    rows = rows_of(path, 8, None, CRABS_HEADER)
    X = np.column_stack([signs(rows, 0, {"B"}, {"O"}), numbers(rows, slice(3, 8))])
    return Raw(X, signs(rows, 1, {"M"}, {"F"}), ("sp", *CRABS_HEADER[3:]))


def _last_column(
    columns: int, positive: str, negative: str, constant: int | None = None
) -> Callable[[Path, bool], Raw]:
    """Return the reader of a file whose label is last.

    As released, it skips the first record. As corrected, it drops a constant column.
    """

    def reader(path: Path, released: bool) -> Raw:
        dropped = () if released or constant is None else (constant,)
        return last_column(columns, positive, negative, lost=int(released), dropped=dropped)(path)

    return reader


READERS = {
    "australian": _australian,
    "breast": _breast,
    "crabs": _crabs,
    "iono": _last_column(35, "b", "g", constant=1),
    "pima": _last_column(9, "0", "1"),
    "sonar": _last_column(61, "M", "R"),
}
