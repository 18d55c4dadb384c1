"""Named tuples as rows of a CSV file: ``runs.csv``, ``verified.csv``."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, get_type_hints

from papers.core.study import RecordError, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def encoded(rows: Iterable[Any], kind: Any, digits: Mapping[str, int]) -> bytes:
    """Return named tuples of one kind as the content of a file.

    Parameters
    ----------
    rows : iterable of kind
    kind : type
    digits : mapping
        Field of floats -> significant digits; NaN becomes an empty cell.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(kind._fields)
    for row in rows:
        writer.writerow(
            (row._asdict() | {name: number(getattr(row, name), digits[name]) for name in digits}).values()
        )
    return text.getvalue().encode("utf-8")


def decoded(content: bytes, kind: Any, where: object) -> list[Any]:
    """Return the named tuples of a file's content; empty cells of floats become NaN.

    Raises
    ------
    RecordError
        Other columns, or a cell that is no number where one is due.
    """
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8")))
    if tuple(header) != kind._fields:
        raise RecordError(f"{where}: columns {header} are not {list(kind._fields)}")
    types = get_type_hints(kind).values()
    try:
        return [kind(*[_value(*pair) for pair in zip(types, row, strict=True)]) for row in rows]
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from None


def _value(kind: type, cell: str) -> Any:
    return kind(cell or "nan") if kind is float else kind(cell)
