"""A study: one committed record, what its lines hold, and how a file of them is read, checked and written.

Every record of the four papers is a CSV file of lines (`Study.file`, below one folder, ``results``), gzipped
where its name says so. A line is one fit, or one measurement; its last column, `RUN`, names the run that made
it (`papers.evidence.runs`). The bytes depend on the lines alone: fixed digits, a fixed order, no time stamp.
Numbers that do not exist are empty in the file and NaN (``<NA>``) in the frame.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.evidence.store import RecordError, gzipped, inflated

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pandas as pd

    from papers.evidence.verification.outcome import Outcome

    Rules = Callable[[pd.DataFrame], Iterable[tuple[pd.Series, str]]]

RUN = "run"
"""Column of the run that made a line."""

NAMES = r"[\w .,+=()-]*"
"""What names of sets, methods and protocols are made of: they stand in every table and page as they are."""

EXACT = 0
"""In place of a number of digits: the shortest text that reads back as the same number."""


def _no_rules(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    return ()


@dataclass(frozen=True, eq=False)
class Study:
    """A record and its rules.

    Parameters
    ----------
    file : str
        Path below the folder of records, such as ``pep/limits.csv``.
    columns : tuple of str
        In the file's order, without `RUN`.
    key : tuple of str
        Columns that name a line; none where lines have no names.
    digits : mapping
        Columns of floats and their significant digits; `EXACT` for as many as tell the number from others.
    text : tuple of str
        Columns of text. Columns that are of no kind hold whole numbers.
    shares : tuple of str
        Columns, as far as there are such, of numbers from 0 to 1 or none.
    signed : tuple of str
        Columns, likewise, of whole numbers that may be negative. Other whole numbers and ``seconds`` may not,
        no float may be infinite.
    gaps, flags : tuple of str
        Columns of whole numbers that may be empty, and of True and False.
    order : tuple of str
        Columns that lines are sorted by; as they come if empty.
    ranks : mapping
        Column -> function of its values that gives their places, where those are not the values themselves.
    unit : tuple of str
        Columns whose lines are made, and replaced, together; the key by default.
    along : str
        Column that counts along a unit that is a run of some length: a shorter one never replaces a longer.
    group : tuple of str
        Columns that name a group of lines to verify a sample of.
    fixed : mapping
        Columns that the frame has and the file has not, since they say the same on every line.
    unnamed : mapping
        Column -> its usual value, which the names of lines in ``verified.csv`` leave out.
    rules : callable
        Frame -> (mask of the lines that are wrong, how), each.
    protocol : callable, optional
        Line -> `runs.content_hash` of what today's protocol says about such a fit; None if it says nothing.
    again : callable, optional
        Makes lines again (`Again`).
    reader : callable, optional
        Folder of records -> lines, of records that are no table; ``file`` is their folder then.
    """

    file: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    digits: Mapping[str, int] = field(default_factory=dict)
    text: tuple[str, ...] = ()
    shares: tuple[str, ...] = ("error", "probability", "within")
    signed: tuple[str, ...] = ("set", "label")
    gaps: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    ranks: Mapping[str, Callable[[pd.Series], pd.Series]] = field(default_factory=dict)
    unit: tuple[str, ...] = ()
    along: str = ""
    group: tuple[str, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)
    unnamed: Mapping[str, str] = field(default_factory=dict)
    rules: Rules = _no_rules
    protocol: Callable[[Mapping[str, Any]], str | None] | None = None
    again: Again | None = None
    reader: Callable[[str | Path], pd.DataFrame] | None = None

    def __post_init__(self) -> None:
        if not self.unit:
            object.__setattr__(self, "unit", self.key)

    def __eq__(self, other: object) -> bool:
        """A study is its record, in every process."""
        return isinstance(other, Study) and self.file == other.file

    def __hash__(self) -> int:
        return hash(self.file)

    @cached_property
    def types(self) -> dict[str, str]:
        """Column -> pandas type in memory, `fixed` ones and `RUN` included."""
        types = dict.fromkeys((*self.fixed, *self.columns, RUN), "int64")
        types |= dict.fromkeys(self.digits, "float64") | dict.fromkeys(self.gaps, "Int64")
        types |= dict.fromkeys(self.flags, "bool")
        return types | dict.fromkeys((*self.fixed, *self.text, RUN), "str")

    def frame(self, lines: Iterable[Mapping[str, Any]] = ()) -> pd.DataFrame:
        """Lines (with their `RUN`) as a frame with the columns and types of this study."""
        import pandas as pd

        table = pd.DataFrame(list(lines), columns=list(self.types))
        return table.assign(**self.fixed).astype(self.types)

    def line(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """A line whose key has the digits of the file, so that it is found there."""
        keys = {name: count for name, count in self.digits.items() if name in self.key}
        return {**line, **{name: float(number(line[name], count)) for name, count in keys.items()}}

    def name_of(self, line: Mapping[str, Any]) -> str:
        """A line's name, such as ``dataset wine12, seed 0, fold 3``."""
        return ", ".join(f"{name} {line[name]}" for name in self.key or self.unit)

    def parse(self, content: bytes, where: object) -> pd.DataFrame:
        """Lines of a file's content, checked.

        Raises
        ------
        RecordError
            Damaged content, other columns, a value of another type, or what `check` refuses.
        """
        import pandas as pd

        header = [*self.columns, RUN]
        try:
            text = inflated(content) if self.file.endswith(".gz") else content
            found = text[: text.index(b"\n")].decode().split(",")
            if found != header:
                raise ValueError(f"columns {found} are not {header}")
            types = self.types | dict.fromkeys(self.digits, "str")  # Python's own conversion is exact
            empty = {name: [""] for name in self.gaps}
            frame = pd.read_csv(io.BytesIO(text), dtype=types, keep_default_na=False, na_values=empty)
            for name in self.digits:
                frame[name] = np.array([float(cell or "nan") for cell in frame[name]], dtype=float)
        except (EOFError, OSError, ValueError, zlib.error) as error:
            raise RecordError(f"{where}: {error}") from error
        frame = frame.assign(**self.fixed)[list(self.types)]
        self.check(frame, where)
        return frame

    def encode(self, frame: pd.DataFrame, where: object) -> bytes:
        """A file's content: lines checked, sorted, with so many digits.

        Raises
        ------
        RecordError
            As `check`.
        """
        self.check(frame, where)
        shown = self.shown(self.sorted(frame))[[*self.columns, RUN]]
        return packed(shown.to_csv(index=False, lineterminator="\n"), self.file)

    def shown(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Lines with their floats as text of so many digits, empty where there is no number."""
        shown = frame.copy()
        for name, count in self.digits.items():
            shown[name] = [number(value, count) for value in frame[name]]
        return shown

    def sorted(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Lines in the file's order; those that `order` does not tell apart stay as they are."""
        if not self.order:
            return frame
        return frame.sort_values(
            list(self.order),
            key=lambda column: self.ranks[column.name](column) if column.name in self.ranks else column,
            kind="stable",
            ignore_index=True,
        )

    def check(self, frame: pd.DataFrame, where: object) -> None:
        """Refuse lines that contradict one another or themselves.

        Raises
        ------
        RecordError
            With ``where`` and the first offending line.
        """
        if list(frame.columns) != list(self.types):
            raise RecordError(f"{where}: columns {list(frame.columns)} are not {list(self.types)}")
        for name, value in self.fixed.items():
            if (frame[name] != value).any():
                others = sorted(set(frame[name]) - {value})
                raise RecordError(f"{where}: lines of {name} {', '.join(others)} do not belong here")
        for name in set(self.shares) & self.types.keys():
            self._refuse(
                frame, frame[name].notna() & ~frame[name].between(0, 1), f"{name} is no share", where
            )
        for name in (name for name in self.text if name in (*self.key, *self.unit)):
            for value in frame[name].unique():
                if not re.fullmatch(NAMES, value, re.ASCII):
                    raise RecordError(f"{where}: {name} {value!r} is no name")
        for wrong, what in self.rules(frame):
            self._refuse(frame, wrong, what, where)
        for name, kind in self.types.items():
            if kind == "float64":
                self._refuse(frame, np.isinf(frame[name]), f"{name} is infinite", where)
            if name == "seconds" or (kind.lower() == "int64" and name not in self.signed):
                self._refuse(frame, frame[name].lt(0).fillna(False), f"{name} is negative", where)
        if self.key:
            self._refuse(frame, frame.duplicated(list(self.key)), "two lines of one name", where)

    def _refuse(self, frame: pd.DataFrame, wrong: pd.Series, what: str, where: object) -> None:
        if wrong.any():
            raise RecordError(f"{where}: {self.name_of(frame[wrong].iloc[0])}: {what}")


def number(value: float, digits: int) -> str:
    """A float with so many significant digits; empty for NaN."""
    if value != value:
        return ""
    return repr(float(value)) if digits == EXACT else f"{value:.{digits}g}"


def packed(text: str, name: str) -> bytes:
    """Text as the content of a file: gzipped at a fixed level and without a time if its name says so."""
    if not name.endswith(".gz"):
        return text.encode("utf-8")
    return gzipped(text.encode("utf-8"), 9)


def places(names: Sequence[str]) -> Callable[[pd.Series], pd.Series]:
    """A rank (`Study.ranks`): the place of each value in a list; those that are not in it come last."""
    place = {name: k for k, name in enumerate(names)}
    return lambda column: column.map(lambda value: place.get(value, len(place)))


class Context(NamedTuple):
    """What making lines again needs beside them.

    Attributes
    ----------
    mirror : str or None
        Of raw data, tried first.
    every : pandas.DataFrame
        All lines of the same protocol and data set, or of whatever of the two the study has.
    study : Study
    folder : str or Path
        Of all records: making lines of one study may need those of another.
    """

    mirror: str | None
    every: pd.DataFrame
    study: Study
    folder: str | Path


MadeAgain = Iterator[tuple[dict[str, "Any"], "Sequence[Outcome] | str"]]
"""Lines, each with what was found, or why it could not be made again."""

Again = Callable[["pd.DataFrame", Context], MadeAgain]
"""Lines of one data set, with a column ``scratch`` (whether from scratch too), context -> they made again.

Raises `MissingData` where the data are not to be had; of lines not made until then it is said why."""
