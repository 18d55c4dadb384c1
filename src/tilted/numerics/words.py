"""Words that are given for names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: object, known: Iterable[object]) -> str:
    """A question for the end of a message: did you mean the nearest of the ``known``? "" if none is near.

    "pep" is near to "power-ep", whose first words it shortens.
    """
    names = {name.lower(): name for name in known if isinstance(name, str)}
    given = str(word).strip().lower().replace(" ", "-").replace("_", "-")
    found = [name for name in names if given == _short(name)] or difflib.get_close_matches(given, names, n=1)
    return f"; did you mean {names[found[0]]!r}?" if found else ""


def _short(name: str) -> str:
    """All words but the last by their first letters."""
    *first, last = name.split("-")
    return "".join(word[:1] for word in first) + last
