"""Results of repeating rows: ``verified.csv``, a row for each group of a study and day."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core import csv_rows, files, records

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = "verified.csv"


class Verified(NamedTuple):
    """Rows of one group that were repeated on one day by one commit in one environment.

    Attributes
    ----------
    study, group : str
        `Study.file`, and `Study.group_of` its rows.
    date, commit, environment : str
    rows, same, other, different : int
        Rows repeated; of these those that agree with the record, that ended in another optimum or are chaotic
        and ended elsewhere, and that differ.
    difference : float
        Largest difference of a compared number; NaN where there is none.
    """

    study: str
    group: str
    date: str
    commit: str
    environment: str
    rows: int
    same: int
    other: int
    different: int
    difference: float = math.nan


DIGITS = {"difference": 3}


def encode(rows: Iterable[Verified]) -> bytes:
    """Return the file's content."""
    return csv_rows.encoded(rows, Verified, DIGITS)


def read(folder: str | Path) -> list[Verified]:
    """Return the rows of the file of a folder of results; none if it has no such file.

    Raises
    ------
    RecordError
        The file is gone or differs from its check sum, or has other columns; it is named.
    """
    data = records.content(folder, FILE)
    return [] if data is None else csv_rows.decoded(data, Verified, Path(folder, FILE))


def append(folder: str | Path, rows: Iterable[Verified]) -> None:
    """Add rows to the file of a folder of results, which need not have one."""
    with files.alone(folder):
        records.write(folder, {FILE: encode([*read(folder), *rows])})
