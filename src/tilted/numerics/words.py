"""Words that are given for names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: object, known: Iterable[object]) -> str:
    """A question for the end of a message: did you mean the nearest of the ``known``? "" if none is near."""
    names = {name.lower(): name for name in known if isinstance(name, str)}
    given = str(word).strip().lower().replace(" ", "-").replace("_", "-")
    found = difflib.get_close_matches(given, names, n=1)
    return f"; did you mean {names[found[0]]!r}?" if found else ""
