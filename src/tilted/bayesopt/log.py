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
    from typing import Any


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
    try:
        handle = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT)
    except OSError:  # a log that may only be read is no other's to write
        yield
        return
    try:
        if fcntl is not None:
            _lock(handle, path)
        yield
    finally:
        if fcntl is not None:  # of a process that was forked meanwhile too
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
    path = Path(path)
    if not path.is_file():
        return []
    *lines, tail = path.read_bytes().split(b"\n")
    lines += [tail] if lines and _is_whole(tail) else []  # else what a kill left of a line
    try:
        return [json.loads(line) for line in lines]
    except ValueError as error:
        raise ValueError(
            f"{path}: line {_first_wrong(lines)} is not JSON; this is no log of a search"
        ) from error


def _is_whole(line: bytes) -> bool:
    """Return whether a line without its end is a complete JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _first_wrong(lines: list[bytes]) -> int:
    for number, line in enumerate(lines, 1):
        try:
            json.loads(line)
        except ValueError:
            return number
    return len(lines)


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
        *lines, tail = file.read().split(b"\n")
        complete = bool(lines) and _is_whole(tail)
        if not complete:
            file.truncate(file.tell() - len(tail))
            file.seek(0, os.SEEK_END)
        file.write(b"\n" * complete + _encoded(line))
        file.flush()
        os.fsync(file.fileno())
