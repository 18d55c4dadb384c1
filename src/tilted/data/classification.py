"""The classification sets of the Power-EP paper, in two protocols [Bui et al. 2017, section 4.3, table 2].

``as-released``
    what the paper's counts show: of breast, iono, pima and sonar the first complete record is lost, as to a
    reader that takes it for a header; breast's id is a feature; australian's target is its first column, and
    its label a feature;
``corrected``
    the sets as they are, without ids and constant columns, every record and the true label.

A described set (`described`) is the same in both.

The paper's splits are not available. Ours are twenty of 90:10 by the rule of the regression sets
(`regression.rows_of_split`), drawn for the rows of the protocol.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from tilted.data import described, entries
from tilted.data.fetch import fetch
from tilted.data.readers import CRABS_HEADER, Raw, numbers, rows_of, signs
from tilted.data.registry import DataError
from tilted.data.standard import Dataset

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.data.schema import Entry, File, Line

KIND: Literal["classification"] = "classification"
PROTOCOLS = RELEASED, CORRECTED = ("as-released", "corrected")


def names(home: str | Path | None = None) -> list[str]:
    """Names of the classification sets."""
    return entries.names(KIND, home)


def entry_of(name: str, home: str | Path | None = None) -> Entry:
    """The registry's entry of a classification set (`entries.entry_of`)."""
    return entries.entry_of(KIND, name, home)


def raw_files(name: str, home: str | Path | None = None) -> list[File]:
    """File entries of a classification set (`entries.raw_files`)."""
    return entries.raw_files(KIND, name, home)


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
    DataError
        For an unknown name or protocol, a malformed file, or a shape that is not the registered one.
    DownloadError
        If the raw file cannot be had.
    """
    entry, files = entry_of(name, home), raw_files(name, home)
    if protocol not in PROTOCOLS:
        raise DataError(f"unknown protocol '{protocol}'; known: {', '.join(PROTOCOLS)}")
    paths = [fetch(file, home, mirror) for file in files]
    if described.is_described(entry):
        raw = described.read(name, entry, paths)
    else:
        raw = READERS[name](paths[0], protocol == RELEASED)
    expected = tuple(entry["shapes"][protocol])
    if raw.X.shape != expected:
        raise DataError(f"data set '{name}' ({protocol}) has shape {raw.X.shape}, expected {expected}")
    return Dataset(name, protocol, raw.X, raw.y, raw.features, entries.provenance(entry, files))


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
    """Reader of a file without a header, its label last; ``constant`` is a column that is corrected away."""

    def reader(path: Path, released: bool) -> Raw:
        rows = rows_of(path, columns)[released:]
        kept = [c for c in range(columns - 1) if released or c != constant]
        X = numbers(rows, slice(0, columns - 1))[:, kept]
        return Raw(X, signs(rows, columns - 1, {positive}, {negative}), tuple(f"column{c}" for c in kept))

    return reader


READERS = {
    "australian": _australian,
    "breast": _breast,
    "crabs": _crabs,
    "iono": _last_column(35, "b", "g", constant=1),
    "pima": _last_column(9, "0", "1"),
    "sonar": _last_column(61, "M", "R"),
}


def table_of_classification_sets(home: str | Path | None = None) -> list[Line]:
    """One row a set (`CORRECTED`), with the columns of ``registry.table_of_datasets``."""
    return entries.table(KIND, "classification (Power EP)", lambda entry: entry["shapes"][CORRECTED], home)
