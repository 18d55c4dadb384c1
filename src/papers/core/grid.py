"""Tables and numbers as text that is legible both rendered and plain."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Grid = tuple[Sequence[str], str, Sequence[Sequence[str]]]
    """Header, alignment and cells, as `grid` takes them."""

WIDTH = 108
TAG = re.compile(r"<(?=[A-Za-z/!?])")
"""Text that Markdown would read as the beginning of HTML, as in the reason of a fit that failed."""


def grid(header: Sequence[str], align: str, cells: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of an aligned Markdown pipe table; ``align`` has an ``l`` or ``r`` for each column."""
    rows = [tuple(_plain(text).replace("|", r"\|") for text in row) for row in (header, *cells)]
    widths = [max(3, *(len(row[k]) for row in rows)) for k in range(len(header))]
    rules = ["-" * w if side == "l" else "-" * (w - 1) + ":" for w, side in zip(widths, align, strict=True)]
    return [_line(row, widths, align) for row in (rows[0], rules, *rows[1:])]


def _line(row: Sequence[str], widths: Sequence[int], align: str) -> str:
    cells = [
        text.ljust(width) if side == "l" else text.rjust(width)
        for text, width, side in zip(row, widths, align, strict=True)
    ]
    return f"| {' | '.join(cells)} |"


def items(texts: Iterable[str]) -> list[str]:
    """Return the wrapped lines of a Markdown list, or ``None.``"""
    lines: list[str] = []
    for text in texts:
        lines += textwrap.wrap(f"- {_plain(text)}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return lines or ["None."]


def _plain(text: str) -> str:
    return TAG.sub("&lt;", text)


def number(mean: float, sd: float, n_seeds: int | None = None) -> str:
    """Return ``mean ± sd`` with one decimal; ``-`` where there is no mean, ``± -`` for one seed."""
    if math.isnan(mean):
        return "-"
    return f"{mean:.1f} ± {f'{sd:.1f}' if n_seeds != 1 else '-':>4}"


def deviation(value: float) -> str:
    """Return a signed deviation with two decimals; empty when there is none."""
    return "" if math.isnan(value) else f"{value:+z.2f}"


def counted(n: int, noun: str) -> str:
    """Return a number and its noun, whose first word takes a plural in s."""
    first, *remaining_words = noun.split(" ")
    return " ".join([f"{n}", first if n == 1 else f"{first}s", *remaining_words])


def seeds_text(counts: Sequence[int]) -> str:
    """Return numbers of seeds as text: one if they agree, else all, in the order given."""
    return str(counts[0]) if len(set(counts)) == 1 else "/".join(map(str, counts))
