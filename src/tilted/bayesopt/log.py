"""The log of a search: JSON lines, the first about the search, then one an evaluation.

A line is on the disk, whole, before the next evaluation begins. What a kill leaves of a line is dropped when
the search goes on.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def read(path: str | Path) -> list[dict[str, Any]]:
    """All whole lines; none where there is no file.

    Raises
    ------
    ValueError
        If a whole line is not JSON.
    """
    path = Path(path)
    if not path.is_file():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last end of a line is part of one
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise ValueError(
            f"{path}: line {_first_wrong(lines)} is not JSON; this is no log of a search"
        ) from error


def _first_wrong(lines: list[bytes]) -> int:
    for number, line in enumerate(lines, 1):
        try:
            json.loads(line)
        except ValueError:
            return number
    return len(lines)


def append(path: str | Path, line: dict[str, Any]) -> None:
    """Add a line at the end, after dropping what is left of one, and wait until it is on the disk."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        file.write(json.dumps(line, allow_nan=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
