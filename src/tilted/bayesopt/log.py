"""The log of a search: JSON lines, the first about the search, then one an evaluation.

A line is on the disk, whole, before the next evaluation begins. What a kill leaves of a line is dropped when
the search goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # not on this system
    fcntl = None  # type: ignore[assignment] # an absent module

if TYPE_CHECKING:
    from typing import Any


@contextlib.contextmanager
def held(path: str | Path) -> Iterator[None]:
    """Keep other searches from a log, made if missing, as far as the file system knows locks.

    Raises
    ------
    ValueError
        Another search has it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"another search is at work on {path}") from None
            except OSError:  # no locks here
                pass
        yield


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


def begin(path: str | Path, first: dict[str, Any]) -> None:
    """Write the first line of a log that has no whole one; ValueError if there is something else in it."""
    if not _encoded(first).startswith(Path(path).read_bytes()):
        raise ValueError(f"{path} is something else than a log of a search")
    append(path, first)


def _encoded(line: dict[str, Any]) -> bytes:
    return json.dumps(line, allow_nan=False).encode() + b"\n"


def append(path: str | Path, line: dict[str, Any]) -> None:
    """Add a line at the end, after dropping what is left of one, and wait until it is on the disk."""
    with Path(path).open("a+b") as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        file.write(_encoded(line))
        file.flush()
        os.fsync(file.fileno())
