"""Raw files to arrays, one reader for each data set; every quirk is a documented choice of a variant.

Variants are those of the protocols: ``as-released`` (the QP paper's released code), ``as-described`` (its
text) and ``corrected`` (leaks and repeated rows removed). Rows stay in file order. Labels are -1 and +1. A
row keeps its file and line, so that every error message can name them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.data.registry import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

PIMA_HEADER = ("npreg", "glu", "bp", "skin", "bmi", "ped", "age", "type")
CRABS_HEADER = ("sp", "sex", "index", "FL", "RW", "CL", "CW", "BD")
GLASS_FEATURES = ("id", "RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")
COAL_HEADER = ("year", "count_released_code", "count_from_dates")


@dataclass(frozen=True)
class Raw:
    """X [N, D], y [N] and D feature names."""

    X: np.ndarray
    y: np.ndarray
    features: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """The cells of one line of a text file."""

    path: Path
    line: int
    cells: tuple[str, ...]

    def error(self, reason: str) -> DataError:
        return DataError(f"{self.path}, line {self.line}: {reason}")


def read(name: str, variant: str, paths: list[Path], home: Path) -> Raw:
    """Read a data set from its raw files (or its bundled copy).

    Raises
    ------
    DataError
        If a file does not have the columns or values it must have; names file and line.
    """
    return READERS[name](variant, paths, home)


def rows_of(path: Path, columns: int, delimiter: str | None = ",", header: tuple[str, ...] = ()) -> list[Row]:
    """Return the non-empty lines of a text file, split, without its header.

    Raises
    ------
    DataError
        For a file that cannot be read, is no text or has no rows, a line with another number of
        columns, or another header.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not a plain text file: {error}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error}") from None
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = Row(path, number, tuple(cell.strip() for cell in line.split(delimiter)))
        if len(row.cells) != columns:
            raise row.error(f"{len(row.cells)} columns, expected {columns}")
        rows.append(row)
    if header and rows and rows[0].cells != header:
        raise rows[0].error(f"header {rows[0].cells}, expected {header}")
    rows = rows[1:] if header else rows
    if not rows:
        raise DataError(f"{path} has no rows")
    return rows


def numbers(rows: list[Row], columns: slice = slice(None)) -> np.ndarray:
    """Return some columns as floats [N, D]; DataError names the line of a cell that is no finite number."""
    out = []
    for row in rows:
        try:
            out.append([float(cell) for cell in row.cells[columns]])
        except ValueError as error:
            raise row.error(str(error)) from None
        if not np.all(np.isfinite(out[-1])):
            raise row.error("a value is not finite")
    return np.array(out, dtype=np.float64)


def signs(rows: list[Row], column: int, positive: set[str], negative: set[str]) -> np.ndarray:
    """Return +1 [N] for labels in ``positive``, -1 for those in ``negative``; DataError for any other."""
    for row in rows:
        if row.cells[column] not in positive | negative:
            labels = sorted(positive | negative)
            raise row.error(f"label '{row.cells[column]}' is not one of {labels}")
    return np.where([row.cells[column] in positive for row in rows], 1.0, -1.0)


def last_column(
    columns: int,
    positive: str,
    negative: str,
    delimiter: str | None = ",",
    lost: int = 0,
    dropped: tuple[int, ...] = (),
) -> Callable[[Path], Raw]:
    """Return the reader of a file without a header whose label is last.

    It skips the first ``lost`` rows and the ``dropped`` columns.
    """

    def reader(path: Path) -> Raw:
        rows = rows_of(path, columns, delimiter)[lost:]
        used = [c for c in range(columns - 1) if c not in dropped]
        y = signs(rows, columns - 1, {positive}, {negative})
        return Raw(numbers(rows, slice(0, columns - 1))[:, used], y, tuple(f"column{c}" for c in used))

    return reader


def _ionosphere(variant: str, paths: list[Path], home: Path) -> Raw:
    rows = rows_of(paths[0], 35)
    X = numbers(rows, slice(0, 34))
    y = signs(rows, 34, {"g"}, {"b"})
    keep = [c for c in range(34) if c != 1 or variant == "as-described"]
    return Raw(X[:, keep], y, tuple(f"pulse{c}" for c in keep))


def _cancer(variant: str, paths: list[Path], home: Path) -> Raw:
    rows = [row for row in rows_of(paths[0], 11) if "?" not in row.cells]
    y = signs(rows, 10, {"4"}, {"2"})
    return Raw(numbers(rows, slice(1, 10)), y, tuple(f"cytology{c}" for c in range(1, 10)))


def _pima(variant: str, paths: list[Path], home: Path) -> Raw:
    train, train2, test = (rows_of(path, 8, None, PIMA_HEADER) for path in paths)
    middle = [] if variant == "corrected" else [row for row in train2 if "NA" not in row.cells]
    rows = [*train, *middle, *test]
    y = signs(rows, 7, {"Yes"}, {"No"})
    return Raw(numbers(rows, slice(0, 7)), y, PIMA_HEADER[:7])


def _crabs(variant: str, paths: list[Path], home: Path) -> Raw:
    rows = rows_of(paths[0], 8, None, CRABS_HEADER)
    species = signs(rows, 0, {"B"}, {"O"})
    y = signs(rows, 1, {"M"}, {"F"})
    first = 3 if variant == "corrected" else 2  # column 2 is the running index
    X = np.column_stack([species, numbers(rows, slice(first, 8))])
    return Raw(X, y, ("sp", *CRABS_HEADER[first:]))


def _sonar(variant: str, paths: list[Path], home: Path) -> Raw:
    rows = rows_of(paths[0], 61)
    y = signs(rows, 60, {"R"}, {"M"})
    return Raw(numbers(rows, slice(0, 60)), y, tuple(f"band{c}" for c in range(60)))


def _glass(variant: str, paths: list[Path], home: Path) -> Raw:
    rows = rows_of(paths[0], 11)
    y = signs(rows, 10, {"5", "6", "7"}, {"1", "2", "3"})  # the released code's type > 4
    first = 1 if variant == "corrected" else 0
    return Raw(numbers(rows, slice(first, 10)), y, GLASS_FEATURES[first:])


def _wine(low: int, high: int) -> Callable[[str, list[Path], Path], Raw]:
    def reader(variant: str, paths: list[Path], home: Path) -> Raw:
        from sklearn.datasets import load_wine

        wine = load_wine()
        keep = np.isin(wine.target, (low - 1, high - 1))
        y = np.where(wine.target[keep] == high - 1, 1.0, -1.0)
        return Raw(wine.data[keep].astype(float), y, tuple(wine.feature_names))

    return reader


def _coal(variant: str, paths: list[Path], home: Path) -> Raw:
    rows = rows_of(home / "coal_counts.csv", 3, header=COAL_HEADER)
    table = numbers(rows)
    for row, counts in zip(rows, table[:, 1:], strict=True):
        if np.any(counts < 0) or np.any(counts != np.round(counts)):
            raise row.error("a count is not a whole number")
    return Raw(table[:, :1], table[:, 1 if variant == "as-released" else 2], ("year",))


READERS = {
    "ionosphere": _ionosphere,
    "cancer": _cancer,
    "pima": _pima,
    "crabs": _crabs,
    "sonar": _sonar,
    "glass": _glass,
    "wine12": _wine(1, 2),
    "wine13": _wine(1, 3),
    "wine23": _wine(2, 3),
    "coal": _coal,
}
