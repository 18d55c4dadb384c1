"""Generated tables quoted in a hand-written document, so that they cannot grow stale.

A section ``<!-- table: FILE, HEADING -->`` to ``<!-- end -->`` holds the first table under a heading of a
Markdown file of the tables' folder.
"""

from __future__ import annotations

import re
from itertools import dropwhile, takewhile
from pathlib import Path

from papers.evidence.store import write_text

SECTION = re.compile(r"(<!-- table: (\S+), ([^>]*?) -->\n).*?(<!-- end -->)", re.S)


def refresh(document: str | Path, tables: str | Path) -> Path:
    """Bring the quoted tables of a document up to date.

    Raises
    ------
    ValueError
        A quoted table does not exist.
    FileNotFoundError
        A quoted file does not exist.
    """
    text = Path(document).read_text(encoding="utf-8")
    return write_text(
        document, SECTION.sub(lambda m: f"{m[1]}\n{_table(Path(tables, m[2]), m[3])}\n\n{m[4]}", text)
    )


def _table(path: Path, heading: str) -> str:
    """The first pipe table under the first heading of a file that starts with ``heading``."""
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line.startswith("#") and line.lstrip("# ").startswith(heading):
            break
    body = takewhile(lambda line: not line.startswith("#"), lines)
    found = list(takewhile(lambda line: line.startswith("|"), dropwhile(lambda line: line[:1] != "|", body)))
    if not found:
        raise ValueError(f"{path} has no table under a heading '{heading}'")
    return "\n".join(found)
