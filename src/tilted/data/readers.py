"""Raw files to arrays, one reader a data set; every quirk is a documented choice of a variant.

Variants are those of the protocols: ``as-released`` (the QP paper's released code), ``as-described`` (its
text) and ``corrected`` (leaks and repeated rows removed). Rows stay in file order; labels are -1 and +1.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilted.data.registry import DataError


@dataclass(frozen=True)
class Raw:
    """X [N, D], y [N] and D feature names."""

    X: np.ndarray
    y: np.ndarray
    features: tuple[str, ...]


def read(name: str, variant: str, paths: list[Path], home: Path) -> Raw:
    """Read a data set from its raw files (or its bundled copy).

    Raises
    ------
    DataError
        If a file does not have the columns or values it must have; names file and line.
    """
    return READERS[name](variant, paths, home)


def rows_of(path: Path, columns: int, delimiter: str | None = ",") -> list[list[str]]:
    """Non-empty lines of a text file, split; DataError for a line with another number of columns."""
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not a plain text file: {error}") from None
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split(delimiter)]
        if len(cells) != columns:
            raise DataError(f"{path}, line {number}: {len(cells)} columns, expected {columns}")
        rows.append(cells)
    return rows


def numbers(path: Path, rows: list[list[str]], first_line: int = 1) -> np.ndarray:
    """Rows of text as floats [N, D]; DataError naming the line of a cell that is not a number."""
    out = np.empty((len(rows), len(rows[0])))
    for i, row in enumerate(rows):
        try:
            out[i] = [float(cell) for cell in row]
        except ValueError as error:
            raise DataError(f"{path}, line {i + first_line}: {error}") from None
    return out


def signs(path: Path, labels: list[str], positive: set[str], known: set[str]) -> np.ndarray:
    """+1 for labels in ``positive``, -1 for the other ``known`` ones, DataError for any other."""
    for i, label in enumerate(labels):
        if label not in known:
            raise DataError(f"{path}, row {i + 1}: label '{label}' is not one of {sorted(known)}")
    return np.where([label in positive for label in labels], 1.0, -1.0)


def _ionosphere(variant, paths, home):
    rows = rows_of(paths[0], 35)
    X = numbers(paths[0], [row[:34] for row in rows])
    y = signs(paths[0], [row[34] for row in rows], {"g"}, {"g", "b"})
    keep = [c for c in range(34) if c != 1 or variant == "as-described"]
    return Raw(X[:, keep], y, tuple(f"pulse{c}" for c in keep))


def _cancer(variant, paths, home):
    rows = [row for row in rows_of(paths[0], 11) if "?" not in row]
    X = numbers(paths[0], [row[1:10] for row in rows])
    y = signs(paths[0], [row[10] for row in rows], {"4"}, {"2", "4"})
    return Raw(X, y, tuple(f"cytology{c}" for c in range(1, 10)))


def _pima(variant, paths, home):
    parts = [rows_of(path, 8, None) for path in paths]
    names = parts[0][0]
    train, train2, test = (part[1:] for part in parts)
    middle = [] if variant == "corrected" else [row for row in train2 if "NA" not in row]
    rows = [*train, *middle, *test]
    X = numbers(paths[0].parent / "pima.tr + pima.tr2 + pima.te", [row[:7] for row in rows])
    y = signs(paths[0], [row[7] for row in rows], {"Yes"}, {"Yes", "No"})
    return Raw(X, y, tuple(names[:7]))


def _crabs(variant, paths, home):
    names, *rows = rows_of(paths[0], 8, None)
    species = signs(paths[0], [row[0] for row in rows], {"B"}, {"B", "O"})
    y = signs(paths[0], [row[1] for row in rows], {"M"}, {"M", "F"})
    X = np.column_stack([species, numbers(paths[0], [row[2:] for row in rows], 2)])
    features = (names[0], *names[2:])
    if variant == "corrected":
        keep = [i for i, name in enumerate(features) if name != "index"]
        X, features = X[:, keep], tuple(features[i] for i in keep)
    return Raw(X, y, features)


def _sonar(variant, paths, home):
    rows = rows_of(paths[0], 61)
    X = numbers(paths[0], [row[:60] for row in rows])
    y = signs(paths[0], [row[60] for row in rows], {"R"}, {"R", "M"})
    return Raw(X, y, tuple(f"band{c}" for c in range(60)))


def _glass(variant, paths, home):
    rows = rows_of(paths[0], 11)
    table = numbers(paths[0], rows)
    y = np.where(table[:, 10] > 4, 1.0, -1.0)
    names = ("id", "RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe")
    first = 1 if variant == "corrected" else 0
    return Raw(table[:, first:10], y, names[first:])


def _wine(low: int, high: int):
    def reader(variant, paths, home):
        from sklearn.datasets import load_wine

        wine = load_wine()
        keep = np.isin(wine.target, (low - 1, high - 1))
        y = np.where(wine.target[keep] == high - 1, 1.0, -1.0)
        return Raw(wine.data[keep].astype(float), y, tuple(wine.feature_names))

    return reader


def _coal(variant, paths, home):
    path = home / "coal_counts.csv"
    column = "count_released_code" if variant == "as-released" else "count_from_dates"
    try:
        with path.open(newline="", encoding="ascii") as stream:
            rows = list(csv.DictReader(stream))
        years, y = (np.array([float(row[c]) for row in rows]) for c in ("year", column))
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} is not the table of annual counts: {error!r}") from None
    return Raw(years[:, None], y, ("year",))


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
