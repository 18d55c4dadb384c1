"""The figures of the Power-EP paper by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Figure(NamedTuple):
    """A figure: the function that draws it from rows to a path stem (or draws nothing), and its caption."""

    draw: Callable[..., None]
    caption: str
