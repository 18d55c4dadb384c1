"""Tables that are read by their registry entry (``sets`` in ``sources.yaml``), without a reader of their own.

A row is a line of the file. ``delimiter`` divides its cells; without one, blanks do. With a delimiter a cell
may be quoted and then go over several lines, which gives a remark.

Columns are named by the header or by number, from 0. Columns in ``drop`` are not read. Rows with a cell in
``missing`` are left out. A column in ``one_hot`` gives a feature for each of its values, sorted, at most
`MOST_VALUES`. All other cells are finite numbers. The files of a set are read one after the other.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.data.readers import Raw, Row
from papers.data.registry import DataError, RegistryError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from papers.data.registry import Entry


MOST_VALUES = 1000
"""Most values of a column in ``one_hot``; more would be names of rows."""


def is_described(entry: Entry) -> bool:
    """Test if an entry states how its files are read."""
    return "target" in entry


def read(name: str, entry: Entry, paths: list[Path]) -> Raw:
    """Read a set.

    Raises
    ------
    RegistryError
        If the entry names a column that is not there, or one twice; names the field.
    DataError
        If a cell is not what it must be; names set, file, line and column.
    """
    return coded(table(name, entry, paths), entry)


def table(name: str, entry: Entry, paths: list[Path]) -> Table:
    """Return the cells of a set, as texts.

    Raises
    ------
    RegistryError
        If the entry names a column that is not there, or one twice; names the field.
    DataError
        A file is no table, or no row is complete; names set, file and line.
    """
    header, every = _joined(name, entry, paths)
    place = _places(name, header, entry)
    used = tuple(c for c in range(len(header)) if c not in place["drop"])
    markers = entry.get("missing", [])
    complete = [row for row in every if not any(is_missing(row.cells[c], markers) for c in used)]
    if not complete:
        raise DataError(f"set '{name}': each of its {len(every)} rows has a marker of what is missing")
    (target,), one_hot, remarks = place["target"], place["one_hot"], _quoted_lines(header, every)
    return Table(name, header, complete, len(every) - len(complete), used, target, one_hot, remarks)


def coded(table: Table, entry: Entry) -> Raw:
    """Convert the cells of a set to features and targets of its task.

    Raises
    ------
    RegistryError, DataError
        As `read` does.
    """
    columns: list[np.ndarray] = []
    features: list[str] = []
    remarks = table.remarks
    for c in table.used:
        if c in table.one_hot:
            indicators, remark = table.indicators(c)
            columns += indicators.values()
            features += indicators
            remarks += remark
        elif c != table.target:
            columns.append(table.numbers(c))
            features.append(table.header[c])
    if not columns:
        raise RegistryError(f"sources.yaml: sets/{table.name}: no feature is left")
    return Raw(np.column_stack(columns), _targets(table, entry), tuple(features), remarks)


def is_missing(cell: str, markers: Sequence[object]) -> bool:
    """Test if a cell is one of the markers: the same text, or the same number if the marker is a number."""
    if cell in map(str, markers):
        return True
    numbers = [marker for marker in markers if isinstance(marker, int | float)]
    try:
        return bool(numbers) and float(cell) in numbers
    except ValueError:
        return False


def _targets(table: Table, entry: Entry) -> np.ndarray:
    """Return labels -1 and +1, counts, or numbers [N]."""
    rows, column = table.rows, table.target
    if entry["task"] == "classification":
        label = {str(cell): 1.0 for cell in entry["positive"]} | {
            str(cell): -1.0 for cell in entry["negative"]
        }
        for row in rows:
            if row.cells[column] not in label:
                raise table.wrong(row, column, "is neither positive nor negative")
        y = np.array([label[row.cells[column]] for row in rows])
        if np.all(y == y[0]):
            raise DataError(f"set '{table.name}': every label is {y[0]:+g}")
        return y
    y = table.numbers(column)
    if entry["task"] == "counts":
        for row, value in zip(rows, y, strict=True):
            if value < 0 or value != np.round(value):
                raise table.wrong(row, column, "is not a count 0, 1, ...")
    return y


@dataclass(frozen=True)
class Table:
    """The cells of all files of a set.

    Attributes
    ----------
    name : str
    header : tuple of D str
        Names of the columns.
    rows : list of Row
        Complete rows, of D cells.
    left_out : int
        Number of rows with a marker of a missing value.
    used : tuple of int
        Columns that are not dropped; `target` and those in `one_hot` are among them.
    target : int
    one_hot : list of int
    remarks : tuple of str
    """

    name: str
    header: tuple[str, ...]
    rows: list[Row]
    left_out: int
    used: tuple[int, ...]
    target: int
    one_hot: list[int]
    remarks: tuple[str, ...]

    def wrong(self, row: Row, column: int, what: str) -> DataError:
        where = f"column '{self.header[column]}': '{row.cells[column]}'"
        return DataError(f"set '{self.name}': {row.error(f'{where} {what}')}")

    def number(self, row: Row, column: int) -> float:
        """Return a cell as a finite number."""
        value = as_number(row.cells[column])
        if not math.isfinite(value):
            raise self.wrong(row, column, "is not a finite number")
        return value

    def numbers(self, column: int) -> np.ndarray:
        """Return cells [N] as finite numbers.

        Integers so large that different ones become the same float raise DataError too.
        """
        values = np.array([self.number(row, column) for row in self.rows])
        if np.max(np.abs(values)) > 2 / np.finfo(float).eps:  # floats are further apart than whole numbers
            cells = {row.cells[column] for row in self.rows}
            if len(set(values)) < len({Decimal(cell) for cell in cells}):
                where = f"set '{self.name}': column '{self.header[column]}'"
                raise DataError(f"{where} has numbers that are alike as floats: leave it out (drop)")
        return values

    def indicators(self, column: int) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
        """Return the feature of each value of a column as 0 and 1 [N], and a remark on values of one row."""
        name, cells = self.header[column], [row.cells[column] for row in self.rows]
        counts = Counter(cells)
        if len(counts) > MOST_VALUES:
            raise DataError(
                f"set '{self.name}': column '{name}' has {len(counts)} values in {len(cells)} rows, and "
                f"one_hot makes a feature of each (at most {MOST_VALUES}): leave it out (drop)"
            )
        once = sum(count == 1 for count in counts.values())
        remark = f"one_hot of '{name}': {once} of its {len(counts)} values are those of one row each"
        indicators = {
            f"{name}={value}": np.fromiter((cell == value for cell in cells), float, len(cells))
            for value in sorted(counts)
        }
        return indicators, (remark,) if once else ()


def as_number(cell: str) -> float:
    """Convert a cell to a number; NaN if it is none, as ``1_000``, which Python would accept."""
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan


def _places(name: str, header: tuple[str, ...], entry: Entry) -> dict[str, list[int]]:
    """Map each field of the entry to the numbers of the columns it names."""
    drop, coded = entry.get("drop", []), entry.get("one_hot", [])
    places_of: dict[str, list[int]] = {}
    for field, columns in {"target": [entry["target"]], "drop": drop, "one_hot": coded}.items():
        places_of[field] = []
        for column in columns:
            where = f"sources.yaml: sets/{name}/{field}: column '{column}'"
            place = _place(header, column)
            if place is None:
                often = "more than once" if column in header else "not"
                listed = f"{', '.join(header)}{_divided(header)}"
                raise RegistryError(f"{where} is {often} in the file, which has: {listed}")
            if isinstance(column, int) and _place(header, str(column)) not in (None, place):
                raise RegistryError(
                    f'{where} is a place, and the name of another column: say "{column}" in quotes for '
                    f"that, or {place - len(header)} for what is there"
                )
            if any(place in places for places in places_of.values()):
                raise RegistryError(f"{where} is named twice")
            places_of[field].append(place)
    return places_of


def _place(header: tuple[str, ...], column: str | int) -> int | None:
    """Return the number of a column; None if no column, or more than one, has this name."""
    n = len(header)
    if isinstance(column, int):
        return column % n if -n <= column < n else None
    return header.index(column) if header.count(column) == 1 else None


def _divided(header: tuple[str, ...]) -> str:
    """Ask if a delimiter was missed in a header that was read as one name; empty without a candidate."""
    candidates = [letter for letter in ",;\t|" if len(header) == 1 and letter in header[0]]
    return f" (is the delimiter {candidates[0]!r}?)" if candidates else ""


def _quoted_lines(header: tuple[str, ...], rows: list[Row]) -> tuple[str, ...]:
    """Return a remark on cells of several lines: a stray quote would begin a cell that contains rows."""
    longest = max(rows, key=lambda row: max(cell.count("\n") for cell in row.cells))
    column = max(range(len(header)), key=lambda c: longest.cells[c].count("\n"))
    breaks = longest.cells[column].count("\n")
    if not breaks:
        return ()
    several = sum(any("\n" in cell for cell in row.cells) for row in rows)
    return (
        f"{several} of {len(rows)} rows have a quoted cell of several lines: the longest ends in "
        f"line {longest.line}, column '{header[column]}', after {breaks} breaks (a stray quote?)",
    )


def _joined(name: str, entry: Entry, paths: list[Path]) -> tuple[tuple[str, ...], list[Row]]:
    """Return the names of the columns, and the rows of all files, one file after the other."""
    titled = entry.get("header", False)
    header: tuple[str, ...] = ()
    rows: list[Row] = []
    for path in paths:
        read = list(_rows(path, entry.get("delimiter")))
        if len(read) <= titled:
            raise DataError(f"set '{name}': {path} has no rows")
        first = read[0].cells
        titles = first if titled else tuple(f"column{c}" for c in range(len(first)))
        header = header or titles
        wrong = [
            row.error(f"{len(row.cells)} columns, expected {len(header)}{_odd(row, header)}")
            for row in read
            if len(row.cells) != len(header)
        ]
        if titles != header:
            wrong.append(read[0].error(f"header {', '.join(titles)}, expected {', '.join(header)}"))
        if wrong:
            raise DataError(f"set '{name}': {wrong[0]}")
        rows += read[titled:]
    return header, rows


def _odd(row: Row, header: tuple[str, ...]) -> str:
    """Ask why a row has another number of cells than the header."""
    ends = len(row.cells) > len(header) and not row.cells[-1]
    return _divided(header) or (" (a delimiter at its end?)" if ends else "")


def _rows(path: Path, delimiter: str | None) -> Iterator[Row]:
    """Yield the non-empty lines of a text file, split."""
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        hint = " (save it as UTF-8, as it is or as .gz)" if isinstance(error, UnicodeDecodeError) else ""
        raise DataError(f"{path} is not a text file: {error}{hint}") from None
    if delimiter is None:
        numbered = enumerate(text.splitlines(), 1)
        yield from (Row(path, number, tuple(line.split())) for number, line in numbered if line.strip())
        return
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    try:
        for cells in reader:
            if any(cells):
                yield Row(path, reader.line_num, tuple(cell.strip() for cell in cells))
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: {error}") from None
