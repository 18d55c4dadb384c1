"""Read a table of cells as a description says: rows to leave out, features and targets.

A description comes from the command line, a YAML block (`papers.compare`) or the registry (`described`).
Cells are texts, and a row is named by its file and the line on which it ends. A table that cannot be used is
a ValueError that names the file, the line and the column.
"""

from __future__ import annotations

import difflib
import gzip
import io
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

CLASSIFICATION, COUNTS, REGRESSION = TASKS = ("classification", "counts", "regression")
MOST_CATEGORIES = 1000
HINT = "--missing MARKER leaves rows out, --drop NAME a column, --one-hot NAME codes words"


@dataclass(frozen=True)
class Description:
    """The options that say how a table is read."""

    target: str = ""
    task: str = ""
    delimiter: str = ","
    decimal: str = "."
    thousands: str = ""
    header: str = "true"
    group: str = ""
    positive: Sequence[str] = ()
    negative: Sequence[str] = ()
    drop: Sequence[str] = ()
    one_hot: Sequence[str] = ()
    missing: Sequence[str] = ()

    def numbers(self, cells: pd.Series) -> pd.Series:
        """Return the numbers in text cells; NaN for a cell that is not a finite number."""
        if self.thousands:
            cells = cells.str.replace(self.thousands, "", regex=False)
        if self.decimal != ".":
            cells = cells.str.replace(".", "?", regex=False).str.replace(self.decimal, ".", regex=False)
        numbers = cells.map(_number).astype(float)
        return numbers.where(np.isfinite(numbers))

    def matches(self, cells: pd.Series, values: Sequence[str]) -> pd.Series:
        """Return for each cell whether it is one of some values, as text or as the same number."""
        numbers = self.numbers(pd.Series(list(values), dtype=str)).dropna()
        return cells.isin(list(values)) | self.numbers(cells).isin(numbers)


def parse(path: Path, content: bytes, about: Description) -> pd.DataFrame:
    """Return all cells as texts, each row indexed by the file and the line on which it ends."""
    try:
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not UTF-8 text ({error}): save it as a CSV file in UTF-8") from None
    first, *marks = text.partition("\n")[0], *(mark for mark in ";\t|," if mark in text.partition("\n")[0])
    marks = [mark for mark in marks if mark != about.delimiter]
    hint = f" (is the delimiter {marks[0]!r}? --delimiter {marks[0]!r})" if marks else ""
    if re.match('"?sep=', first):
        raise ValueError(f"{path}: line 1, '{first[:8].strip()}', is a mark for Excel: delete it{hint}")
    layout = {"sep": about.delimiter, "header": None, "skipinitialspace": True, "skip_blank_lines": False}
    try:
        frame = pd.read_csv(io.StringIO(text), dtype=str, na_filter=False, **layout)
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        if "in line 2," in str(error) and not hint:
            hint = " (R's row names have no heading: write.csv(..., row.names = FALSE))"
        raise ValueError(f"{path}: {str(error).rpartition('error: ')[2].strip()}{hint}") from None
    if frame.shape[1] == 1 and hint:
        raise ValueError(f"{path} has one column, '{first.strip()[:60]}'{hint}")
    frame = frame.apply(lambda cells: cells.str.strip())
    breaks = frame.apply(lambda cells: cells.str.count("\n")).sum(axis=1)
    frame.index = [f"{path}, line {line}" for line in np.arange(1, len(frame) + 1) + breaks.cumsum()]
    has_header = about.header != "false"
    frame.columns = frame.iloc[0].tolist() if has_header else [f"column{k}" for k in frame]
    frame = frame.iloc[int(has_header) :]
    return frame[(frame != "").any(axis=1)]  # spreadsheets leave lines of delimiters at the end


def select(where: object, frame: pd.DataFrame, about: Description) -> tuple[pd.DataFrame, list[str]]:
    """Leave out dropped columns and rows with missing values; return the rest and remarks."""
    columns, remarks = frame.columns.tolist(), []
    used = (about.target, *filter(None, [about.group]), *about.one_hot)
    for name in (*used, *about.drop):
        if name in used and name in about.drop:
            raise ValueError(f"{where}: column '{name}' is dropped and used")
        if name not in columns:
            near = difflib.get_close_matches(name, columns, 5) or columns[:10]
            hint = "" if re.search(r"[^\W\d]", "".join(columns)) else "; is there no header (header: false)?"
            raise ValueError(f"{where}: there is no column '{name}', but {', '.join(near)[:300]}{hint}")
    lines = 1 + frame.apply(lambda cells: cells.str.count("\n")).max(axis=1)
    if lines.max() > 1:
        place = lines.idxmax().rpartition(", ")[2]
        remarks.append(f"a cell that ends in {place} has {lines.max()} lines: a quote too many?")
    frame = frame.drop(columns=list(about.drop))
    if unnamed := [name for name in frame if not name or name.startswith("Unnamed: ")]:
        raise ValueError(f"{where}: a column has no name, as row numbers: --drop '{unnamed[0]}', or name it")
    if twice := frame.columns[frame.columns.duplicated()].tolist():
        raise ValueError(f"{where}: two columns are called '{twice[0]}'")
    missing = np.zeros(len(frame), bool)
    for marker in about.missing:
        here = np.any([about.matches(frame[name], [marker]) for name in frame], axis=0)
        remarks += [] if here.any() else [f"the marker '{marker}' of missing values does not occur"]
        missing |= here
    if missing.any():
        remarks.append(f"{missing.sum()} of {len(frame)} rows have a missing value and are left out")
    if missing.all():
        raise ValueError(f"{where} has no rows{''.join(f': {remark}' for remark in remarks)}")
    return frame[~missing], remarks


def targets(
    where: object, cells: pd.Series, about: Description, remarks: list[str]
) -> tuple[str, np.ndarray]:
    """Return the task and the targets [N]; add to the remarks."""
    name, numbers = about.target, about.numbers(cells)
    words = cells[numbers.isna()].unique().tolist()
    values = sorted(cells.unique() if words else numbers.unique())
    _require(cells, cells != "", f"a missing target ({HINT})")
    if len(values) < 2:
        raise ValueError(f"{where}: every {name} is '{cells.iloc[0]}'")
    is_text = len(words) > 1 and not any(map(_spelling, words))
    task = about.task or (CLASSIFICATION if about.positive or len(values) == 2 or is_text else "")
    if task == CLASSIFICATION and about.positive:
        positive = about.matches(cells, about.positive)
        valid = positive != about.matches(cells, about.negative)
        _require(cells, valid, "not one of the classes positive and negative")
        return task, np.where(positive, 1.0, -1.0)
    if task == CLASSIFICATION:
        if len(values) > 2:
            some = ", ".join(map(str, values[:4]))
            hint = "positive and negative of a YAML block make two"
            raise ValueError(
                f"classification is of two classes, {name} has {len(values)} ({some}, ...): {hint}"
            )
        positive = (cells if words else numbers) == values[1]
        up, down = cells[positive].iloc[0], cells[~positive].iloc[0]
        remarks.append(f"{name} = {up} is the class +1, {down} is -1")
        return task, np.where(positive, 1.0, -1.0)
    _require_numbers(cells, numbers)
    are_counts = (numbers >= 0) & (numbers % 1 == 0)
    if task == COUNTS:
        _require(cells, are_counts, "not a count")
    elif not task and are_counts.all():
        raise ValueError(f"every {name} is a whole number: --task counts, or --task regression?")
    return task or REGRESSION, numbers.to_numpy()


def features(where: object, frame: pd.DataFrame, about: Description, remarks: list[str]) -> pd.DataFrame:
    """Return the features, with an indicator for each value of a one-hot column; add to the remarks."""
    columns = {}
    for name in frame:
        cells, values = frame[name], sorted(frame[name].unique())
        if name not in about.one_hot:
            columns[name] = about.numbers(cells)
            _require_numbers(cells, columns[name])
        elif len(values) > MOST_CATEGORIES:
            raise ValueError(f"{where}: '{name}' has {len(values)} values, too many to code: --drop '{name}'")
        else:
            columns |= {f"{name}={value}": (cells == value).astype(float) for value in values}
    X = pd.DataFrame(columns, index=frame.index)
    if constant := X.columns[X.nunique() == 1].tolist():
        remarks.append(f"the same in every row: {', '.join(constant)}")
    return X


def _require(cells: pd.Series, valid: pd.Series, problem: str) -> None:
    if not valid.all():
        place = valid.idxmin()
        raise ValueError(f"{place}: column '{cells.name}': '{cells[place]}' is {problem}")


def _require_numbers(cells: pd.Series, numbers: pd.Series) -> None:
    hint = _spelling(cells[numbers.isna().idxmax()]) or HINT
    _require(cells, numbers.notna(), f"not a number ({hint})")


def _spelling(cell: str) -> str:
    """Return a question if a cell looks like a date or like a number in another spelling."""
    if re.fullmatch(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*", cell):
        return "is this a date? Write it as a number, such as days since the first, or --drop the column"
    if re.fullmatch(r"\W*\d[\d.,' \u00a0\u202f]*\D{0,3}", cell):
        return "is this a decimal comma, --decimal , or are these thousands, --thousands ,? Units must go"
    return ""


def _number(cell: str) -> float:
    """Return a cell as a number; NaN if it is none, as ``1_000``, which Python would accept."""
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan
