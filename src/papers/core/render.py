"""Tables from column specifications."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from papers.core.grid import grid


class Column(NamedTuple):
    """A column of a table.

    Attributes
    ----------
    heading : str
    value : str or callable
        Attribute of a row, or function of the row.
    form : str
        Format of numbers, such as ``.2f``.
    align : str
        ``l`` or ``r``.
    missing : str
        Text where the value is NaN.
    """

    heading: str
    value: str | Callable[[Any], Any]
    form: str = ""
    align: str = "r"
    missing: str = "-"

    def cell(self, line: Any) -> str:
        """Return the text of a line in this column."""
        value = self.value(line) if callable(self.value) else getattr(line, self.value)
        if isinstance(value, float) and math.isnan(value):
            return self.missing
        return value if isinstance(value, str) else format(value, self.form)


def text(heading: str, value: str | Callable[[Any], str]) -> Column:
    """Return a column of words, aligned to the left."""
    return Column(heading, value, align="l")


def markdown(columns: Sequence[Column], lines: Iterable[Any]) -> list[str]:
    """Return a Markdown table with a row for each line."""
    cells = [[column.cell(line) for column in columns] for line in lines]
    return grid([column.heading for column in columns], "".join(c.align for c in columns), cells)
