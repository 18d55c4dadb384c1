"""Named tuples as rows of a CSV file: ``runs.csv``, ``verified.csv``."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

from papers.core.study import RecordError

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
        cells = row._asdict()
        for name, count in digits.items():
            cells[name] = f"{cells[name]:.{count}g}" if math.isfinite(cells[name]) else ""
        writer.writerow(cells.values())
    return text.getvalue().encode("utf-8")


def decoded(
    content: bytes, kind: Any, digits: Mapping[str, int], whole: Iterable[str], where: object
) -> list[Any]:
    """Return the named tuples of a file's content: floats (NaN if empty), whole numbers, and texts.

    Raises
    ------
    RecordError
        Other columns, or a cell that is no number where one is due.
    """
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8")))
    if tuple(header) != kind._fields:
        raise RecordError(f"{where}: columns {header} are not {list(kind._fields)}")
    convert = dict.fromkeys(digits, lambda cell: float(cell or "nan")) | dict.fromkeys(whole, int)
    try:
        return [
            kind(*(convert.get(name, str)(cell) for name, cell in zip(header, row, strict=True)))
            for row in rows
        ]
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from None
