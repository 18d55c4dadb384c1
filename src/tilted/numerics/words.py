"""Words that are given for names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: object, choices: Iterable[object]) -> str:
    """A question for the end of a message: did you mean the nearest of the ``choices``? "" if none is near.

    "pep" is near to "power-ep", whose first words it shortens.
    """
    names = {name.lower(): name for name in choices if isinstance(name, str)}
    short = str(word).strip().lower().replace(" ", "-").replace("_", "-")
    matches = [name for name in names if short == _short(name)] or difflib.get_close_matches(
        short, names, n=1
    )
    return f"; did you mean {names[matches[0]]!r}?" if matches else ""


def _short(name: str) -> str:
    """All words but the last by their first letters."""
    *first, last = name.split("-")
    return "".join(word[:1] for word in first) + last
