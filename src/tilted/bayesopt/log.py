"""The log of a search: JSON lines, the first about the search, then one an evaluation.

A line is on the disk, whole, before the next evaluation begins. What a kill leaves of a line is dropped when
the search goes on; of a first line, when it is the same search.
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
    from typing import IO, Any


@contextlib.contextmanager
def locked(path: str | Path) -> Iterator[None]:
    """Keep other searches from a log, by a file beside it, as far as the file system has locks.

    Raises
    ------
    ValueError
        Another search is at work on it, or it is no file that can be gone on from (a pipe, a folder).
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("a") as file:
        if fcntl is not None:
            _lock(file, path)
        yield


def _lock(file: IO[str], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"another search is at work on {path}") from None
    except OSError:  # this file system has no locks
        pass


def read(path: str | Path) -> list[dict[str, Any]]:
    """All whole lines; none where there is no file.

    Raises
    ------
    ValueError
        If a whole line is not JSON.
    """
    path, lines = Path(path), []
    if not path.is_file():
        return []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            lines.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"{path}: line {number} is not JSON; this is no log of a search") from error
    return lines


def begin(path: str | Path, first: dict[str, Any]) -> None:
    """Write the first line of a log; ValueError if the file has anything but a part of that line."""
    path = Path(path)
    if path.exists() and not _encoded(first).startswith(path.read_bytes()):
        raise ValueError(f"{path} is something else than a log of this search")
    append(path, first, new=True)


def _encoded(line: dict[str, Any]) -> bytes:
    return json.dumps(line, allow_nan=False).encode() + b"\n"


def append(path: str | Path, line: dict[str, Any], new: bool = False) -> None:
    """Add a line at the end, after dropping what is left of one, and wait until it is on the disk.

    FileNotFoundError where the log is gone: without its first line, which may be ``new``, it is of no use.
    """
    with Path(path).open("a+b") if new else Path(path).open("r+b") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.seek(0, os.SEEK_END)
        file.write(_encoded(line))
        file.flush()
        os.fsync(file.fileno())
