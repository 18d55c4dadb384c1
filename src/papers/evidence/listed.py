"""Named tuples as lines of a CSV file to which lines are added: ``runs.csv``, ``verified.csv``."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def encoded(lines: Iterable[Any], kind: Any, digits: Mapping[str, int], header: bool = True) -> bytes:
    """Lines of one kind of named tuple as the content of a file, or of its end.

    Parameters
    ----------
    lines : iterable of kind
    kind : type
    digits : mapping
        Field of floats -> significant digits; what is not finite becomes an empty cell.
    header : bool
    """
    import pandas as pd

    table = pd.DataFrame(list(lines), columns=list(kind._fields))
    for name, count in digits.items():
        table[name] = [f"{value:.{count}g}" if math.isfinite(value) else "" for value in table[name]]
    return table.to_csv(index=False, header=header, lineterminator="\n").encode("utf-8")


def decoded(content: bytes, kind: Any, digits: Mapping[str, int], whole: Iterable[str] = ()) -> list[Any]:
    """The lines of a file's content: floats, of empty cells NaN, whole numbers, and texts.

    Raises
    ------
    ValueError
        Other columns, or a cell that is no number where one is due.
    """
    import pandas as pd

    table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    if tuple(table.columns) != kind._fields:
        raise ValueError(f"columns {list(table.columns)} are not {list(kind._fields)}")
    columns: dict[str, list[Any]] = {name: table[name].tolist() for name in kind._fields}
    columns |= {name: [float(cell or "nan") for cell in columns[name]] for name in digits}
    columns |= {name: [int(cell) for cell in columns[name]] for name in whole}
    return [kind(*cells) for cells in zip(*columns.values(), strict=True)]
