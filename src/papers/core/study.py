"""A study: a table of keyed rows, one CSV file below the folder of results.

`Study` says what the columns hold, which columns name a row, and how a file is read, checked and written. The
last column of every file, `RUN`, names the run that made the row (`papers.core.runs`). The bytes of a
file depend on the rows alone: fixed digits, a fixed order, no time stamp. A number that does not exist is
empty in the file and NaN (``<NA>`` for whole numbers) in the frame.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pandas as pd

    Row = Mapping[str, Any]
    Rank = Callable[[pd.Series], pd.Series]
    Checks = Callable[[pd.DataFrame], Iterable[tuple[pd.Series, str]]]
    Repeat = Callable[[pd.DataFrame, "Source"], Iterable[tuple["Study", Row]]]

RUN = "run"
"""Column of the run that made a row."""

NAMES = r"[\w .,+=()-]*"
"""Characters of a text in a key: names of data sets, methods and protocols stand in tables and pages."""


class RecordError(ValueError):
    """A row that cannot be written, or a file of rows that cannot be trusted."""


EXACT = 0
"""In place of a number of digits: the shortest text that reads back as the same number."""


@dataclass(frozen=True)
class Column:
    """A column: its type, and whether a repeated row must agree with the record on it."""

    compared: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class Text(Column):
    """Text; ``rank`` maps values to what they are sorted by (by themselves if None)."""

    rank: Rank | None = None


@dataclass(frozen=True)
class Flag(Column):
    """True or False."""


@dataclass(frozen=True)
class Integer(Column):
    """A whole number: not negative unless ``signed``, possibly missing if ``nullable``."""

    nullable: bool = False
    signed: bool = False


@dataclass(frozen=True)
class Float(Column):
    """A finite number or none.

    Parameters
    ----------
    digits : int
        Significant digits in the file, or `EXACT`.
    tolerance : float or callable, optional
        Largest difference between a repeated row and the record that does not matter, in units of the column;
        a function of the row where that depends on it. By default a millionth of the recorded number (of 1 if
        that is larger).
    share : bool
        Whether the numbers lie between 0 and 1.
    """

    digits: int = EXACT
    tolerance: float | Callable[[Row], float] | None = None
    share: bool = False


TYPES: dict[type[Column], str] = {Text: "str", Flag: "bool", Integer: "int64", Float: "float64"}
"""Kind of column -> type in a frame; ``Int64`` if it is `Integer.nullable`."""


def seconds(digits: int = 3) -> Float:
    """Return the column of processor times, which nobody expects to repeat."""
    return Float(digits, compared=False)


def one_test_point(row: Row) -> float:
    """Return by how much a share of test points changes when one of them does (and rounding)."""
    return 1.001 / float(row["n_test"])


def ordered_text(names: Sequence[str]) -> Text:
    """Return a column of text that is sorted as in a list; names that are not in it come last."""
    return Text(rank=places(names))


def places(names: Sequence[str]) -> Rank:
    """Return the function that maps each value to its place in a list."""
    place = {name: k for k, name in enumerate(names)}
    return lambda column: column.map(lambda value: place.get(value, len(place)))


Kind = Literal["exact", "optimum", "chaotic"]
"""How a repeated row is compared with the record.

``exact``: every compared column agrees within its tolerance. ``optimum``: the row ends a search, which may
end in another optimum on another processor; where the objective agrees the other columns must too.
``chaotic``: rounding decides where the row ends; only means over many rows are compared.
"""


class Source(NamedTuple):
    """Sources of what repeating rows needs: a mirror of raw data, tried first, and a folder of results."""

    mirror: str | None
    folder: str | Path


def _no_checks(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    return ()


@dataclass(frozen=True, eq=False)
class Study:
    """A table of keyed rows.

    Parameters
    ----------
    file : str
        Path below the folder of results, such as ``pep/limits.csv``.
    columns : mapping
        Name -> `Column`, in the order of the file, without `RUN`.
    key : tuple of str
        Columns that name a row; may be empty.
    unit : tuple of str
        Columns whose rows are made, and replaced, together; the key by default.
    progress : str
        Column that counts along a unit that is a run of some length: a shorter run never replaces a longer.
    group : tuple of str
        Columns that name a group of rows, a sample of which is verified.
    order : tuple of str
        Columns that rows are sorted by; rows stay as they come if empty.
    constants : mapping
        Columns that the frame has and the file has not, since they are the same in every row.
    checks : callable
        Frame -> (mask of the rows that are wrong, what is wrong), each.
    kind : Kind or callable
        How a repeated row is compared; a function of the recorded row where that depends on it.
    objective : str
        Column that a search maximised, or with ``-`` before it, minimised; of kind ``optimum`` only.
    protocol : callable, optional
        Row -> `runs.content_hash` of what today's protocol says about such a fit; None if it says nothing.
    together : tuple of str
        Columns whose rows are repeated together, since claims compare them; the key by default.
    seconds : float
        Processor seconds that repeating a row takes, where the column ``seconds`` does not say so.
    repeat : callable, optional
        (rows, `Source`) -> pairs of a study and a row: these rows repeated, and rows of other studies that
        come with them. Raises `papers.core.files.MissingData` if the data are not to be had.
    """

    file: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    unit: tuple[str, ...] = ()
    progress: str = ""
    group: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    constants: Mapping[str, str] = field(default_factory=dict)
    checks: Checks = _no_checks
    kind: Kind | Callable[[Row], Kind] = "exact"
    objective: str = ""
    protocol: Callable[[Row], str | None] | None = None
    together: tuple[str, ...] = ()
    seconds: float = 0.0
    repeat: Repeat | None = None

    def __post_init__(self) -> None:
        for name in ("unit", "together"):
            if not getattr(self, name):
                object.__setattr__(self, name, self.key)

    def __eq__(self, study: object) -> bool:
        """Compare by file: a study is the same in every process."""
        return isinstance(study, Study) and self.file == study.file

    def __hash__(self) -> int:
        return hash(self.file)

    @cached_property
    def types(self) -> dict[str, str]:
        """Column -> type in a frame, `constants` and `RUN` included."""
        types = {name: TYPES[type(column)] for name, column in self.columns.items()}
        types |= {
            name: "Int64"
            for name, column in self.columns.items()
            if isinstance(column, Integer) and column.nullable
        }
        return dict.fromkeys(self.constants, "str") | types | {RUN: "str"}

    @cached_property
    def floats(self) -> dict[str, Float]:
        """The columns of floats."""
        return {name: column for name, column in self.columns.items() if isinstance(column, Float)}

    def kind_of(self, row: Row) -> Kind:
        """Return how a recorded row is compared with a repeated one."""
        return self.kind(row) if callable(self.kind) else self.kind

    def frame(self, rows: Iterable[Row] = ()) -> pd.DataFrame:
        """Return rows (with their `RUN`) as a frame with the columns and types of this study."""
        import pandas as pd

        table = pd.DataFrame(list(rows), columns=list(self.types))
        return table.assign(**self.constants).astype(self.types)

    def line(self, row: Row) -> dict[str, Any]:
        """Return a row whose key has the digits of the file, so that it is found there."""
        keys = {
            name: float(number(row[name], self.floats[name].digits))
            for name in self.floats
            if name in self.key
        }
        return {**row, **keys}

    def group_of(self, row: Row) -> str:
        """Return the values that name a row's group, such as ``as-released wine12 ep``."""
        return " ".join(self.cell_text(name, row[name]) for name in self.group)

    def cell_text(self, name: str, value: Any) -> str:
        """Return the text of a value in the file."""
        return number(float(value), self.floats[name].digits) if name in self.floats else str(value)

    def name_of(self, row: Row) -> str:
        """Return a row's name, such as ``dataset wine12, seed 0, fold 3``."""
        return ", ".join(f"{name} {row[name]}" for name in self.key or self.unit)

    def parse(self, content: bytes, where: object) -> pd.DataFrame:
        """Return the rows of a file's content, checked.

        Raises
        ------
        RecordError
            Damaged content, other columns, a value of another type, or what `check` refuses.
        """
        import pandas as pd

        header = [*self.columns, RUN]
        try:
            text = gzip.decompress(content) if self.file.endswith(".gz") else content
            names = text[: text.index(b"\n")].decode().split(",")
            if names != header:
                raise ValueError(f"columns {names} are not {header}")
            types = {name: kind for name, kind in self.types.items() if name in names}
            types |= dict.fromkeys(self.floats, "str")  # Python's own conversion is exact
            empty = {name: [""] for name, kind in self.types.items() if kind == "Int64"}
            frame = pd.read_csv(io.BytesIO(text), dtype=types, keep_default_na=False, na_values=empty)
            for name in self.floats:
                frame[name] = np.array([float(cell or "nan") for cell in frame[name]], dtype=float)
        except (EOFError, OSError, ValueError, zlib.error) as error:
            raise RecordError(f"{where}: {error}") from error
        frame = frame.assign(**self.constants)[list(self.types)]
        self.check(frame, where)
        return frame

    def encode(self, frame: pd.DataFrame, where: object) -> bytes:
        """Return a file's content: rows checked, sorted, with their digits.

        Raises
        ------
        RecordError
            As `check`.
        """
        self.check(frame, where)
        printed = self.printed(self.sorted(frame))[[*self.columns, RUN]]
        return packed(printed.to_csv(index=False, lineterminator="\n"), self.file)

    def printed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return rows with their floats as text of so many digits, empty where there is no number."""
        printed = frame.copy()
        for name, column in self.floats.items():
            printed[name] = [number(value, column.digits) for value in frame[name]]
        return printed

    def sorted(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return rows in the file's order; those that `order` does not tell apart stay as they are."""
        if not self.order:
            return frame

        def rank(values: pd.Series) -> pd.Series:
            column = self.columns.get(str(values.name))
            return column.rank(values) if isinstance(column, Text) and column.rank else values

        return frame.sort_values(list(self.order), key=rank, kind="stable", ignore_index=True)

    def check(self, frame: pd.DataFrame, where: object) -> None:
        """Refuse rows that contradict one another or themselves.

        Raises
        ------
        RecordError
            With ``where`` and the first offending row.
        """
        if list(frame.columns) != list(self.types):
            raise RecordError(f"{where}: columns {list(frame.columns)} are not {list(self.types)}")
        for name, value in self.constants.items():
            if (frame[name] != value).any():
                foreign = sorted(set(frame[name]) - {value})
                raise RecordError(f"{where}: lines of {name} {', '.join(foreign)} do not belong here")
        for name, column in self.columns.items():
            values = frame[name]
            if isinstance(column, Text) and name in (*self.key, *self.unit):
                for value in values.unique():
                    if not re.fullmatch(NAMES, value, re.ASCII):
                        raise RecordError(f"{where}: {name} {value!r} is no name")
            if isinstance(column, Float) and column.share:
                self._refuse(frame, values.notna() & ~values.between(0, 1), f"{name} is no share", where)
        for wrong, reason in self.checks(frame):
            self._refuse(frame, wrong, reason, where)
        for name, column in self.columns.items():
            values = frame[name]
            if isinstance(column, Float):
                self._refuse(frame, np.isinf(values), f"{name} is infinite", where)
            if (isinstance(column, Integer) and not column.signed) or name == "seconds":
                self._refuse(frame, values.lt(0).fillna(False), f"{name} is negative", where)
        if self.key:
            self._refuse(frame, frame.duplicated(list(self.key)), "two lines of one name", where)

    def _refuse(self, frame: pd.DataFrame, wrong: pd.Series, reason: str, where: object) -> None:
        if wrong.any():
            raise RecordError(f"{where}: {self.name_of(frame[wrong].iloc[0])}: {reason}")


def number(value: float, digits: int) -> str:
    """Return a float with so many significant digits; empty for NaN."""
    if value != value:
        return ""
    return repr(float(value)) if digits == EXACT else f"{value:.{digits}g}"


def packed(text: str, name: str) -> bytes:
    """Return text as the content of a file: gzipped at a fixed level, without a time, if its name says so."""
    if not name.endswith(".gz"):
        return text.encode("utf-8")
    return gzipped(text.encode("utf-8"), 9)


def gzipped(content: bytes, level: int) -> bytes:
    """Return content packed by gzip without a name and a time: equal content gives equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=buffer, mtime=0) as file:
        file.write(content)
    return buffer.getvalue()
