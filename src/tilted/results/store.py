"""Records on disk: one JSON object a line, gzipped, replaced atomically.

The bytes depend on the records alone (no time stamp, no file name in the gzip header), floats
round-trip exactly (``json`` writes the shortest text that reads back as the same double), and
NaN and infinity are refused both ways: a number a fit could not produce is ``null``.

A reader sees the old file or the whole new one, never a part: writers fill a uniquely named
file in the same folder, flush it to the disk and rename it over the target. What a killed writer
leaves is told from what a living one fills by a lock on the folder (`writing_in`, `sweep`).
"""

from __future__ import annotations

import contextlib
import gzip
import json
import math
import os
import re
import uuid
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from typing import Any

try:
    import fcntl
except ImportError:  # not a POSIX system: nothing is locked there, and nothing swept
    fcntl = None  # type: ignore[assignment] # an absent module

PARTIAL = re.compile(r"\..+\.[0-9a-f]{32}(\.gz)?\.tmp")
"""Names of files being filled, here and in `tilted.data`."""


class RecordError(ValueError):
    """A record that cannot be written, or a record file that cannot be trusted."""


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """Open a binary file that replaces `path` when the block ends without an error.

    Parameters
    ----------
    path : str or Path
        The target; missing parent folders are made.

    Yields
    ------
    file : BinaryIO
        A new file beside the target. On an error it is removed and the target is untouched.
    """
    path = Path(path)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    with writing_in(path.parent):
        try:
            with partial.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def writing_in(folder: str | Path) -> Iterator[None]:
    """Tell `sweep` that a writer is at work in a folder, which is made if missing.

    Any number of writers may be. Where the file system has no locks this does nothing.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder, "LOCK_SH"):
        yield


def sweep(*folders: str | Path) -> list[Path]:
    """Remove what killed writers left in folders and below.

    A folder that a living writer holds is passed over, and so is one that cannot be locked.

    Parameters
    ----------
    folders : str or Path
        Those that do not exist are passed over too.

    Returns
    -------
    removed : list of Path
    """
    removed: list[Path] = []
    for top in folders:
        for folder, _, names in os.walk(top):
            left = [Path(folder, name) for name in names if PARTIAL.fullmatch(name)]
            if left:
                removed += _swept(Path(folder), left)
    return removed


def _swept(folder: Path, left: list[Path]) -> list[Path]:
    """Those of the files that could be removed while no writer was at work in their folder."""
    removed = []
    with _locked(folder, "LOCK_EX", "LOCK_NB") as alone:
        for path in left if alone else []:
            with contextlib.suppress(OSError):
                path.unlink()
                removed.append(path)
    return removed


@contextlib.contextmanager
def _locked(folder: Path, *flags: str) -> Iterator[bool]:
    """Hold a lock on a folder; whether it was had."""
    if fcntl is None:
        yield False
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _lock(handle, *flags)
    finally:
        os.close(handle)  # which gives the lock back, as the end of the process does


def _lock(handle: int, *flags: str) -> bool:
    try:
        fcntl.flock(handle, sum(getattr(fcntl, flag) for flag in flags))
    except OSError:  # held by another, or not known to this file system
        return False
    return True


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write `content` to `path` atomically and return the path."""
    with replacing(path) as file:
        file.write(content)
    return Path(path)


def write_text(path: str | Path, content: str) -> Path:
    """Write `content` to `path` atomically, as UTF-8 with the line ends it has."""
    return write_bytes(path, content.encode("utf-8"))


def write_records(path: str | Path, records: Iterable[dict[str, Any]]) -> Path:
    """Write records as gzipped JSON lines, atomically and byte for byte reproducibly.

    Parameters
    ----------
    path : str or Path
        The target, by convention ``*.jsonl.gz``.
    records : iterable of dict
        JSON values only (no arrays; ``list(array)`` or ``array.tolist()``), keys in the order
        they should have in the file.

    Returns
    -------
    path : Path

    Raises
    ------
    RecordError
        A record is no dict, holds NaN or infinity, or a value JSON does not know. The file at
        `path`, if any, stays as it was.
    """
    with (
        replacing(path) as file,
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed,
    ):
        for number, record in enumerate(records, start=1):
            packed.write(_encode(record, f"{path}, record {number}"))
    return Path(path)


def read_records(path: str | Path) -> list[dict[str, Any]]:
    """Read every record of a file, or none.

    Parameters
    ----------
    path : str or Path
        A file `write_records` wrote.

    Returns
    -------
    records : list of dict
        In file order.

    Raises
    ------
    RecordError
        The file is empty, truncated or corrupt, a line is no JSON object, or holds NaN or an
        infinity; the message names the file and, if the file is whole, the line.
    FileNotFoundError
        There is no such file.
    """
    path = Path(path)
    if path.stat().st_size == 0:
        raise RecordError(f"{path}, line 1: the file is empty, not even a gzip header")
    packed = path.read_bytes()
    try:
        text = gzip.decompress(packed)  # all of it, with its check sum, before any line is believed
    except (EOFError, OSError, zlib.error) as error:
        raise RecordError(
            f"{path}: truncated or corrupt gzip data ({error}); delete the file and run again"
        ) from error
    return [_decode(line, f"{path}, line {k}") for k, line in enumerate(text.splitlines(), start=1)]


def _encode(record: dict[str, Any], where: str) -> bytes:
    if not isinstance(record, dict):
        raise RecordError(f"{where}: a record is a dict, not {type(record).__name__}")
    try:
        text = json.dumps(record, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise RecordError(f"{where}: {error}") from error
    return text.encode("ascii") + b"\n"


def _decode(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=_refuse, parse_float=_finite)
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        raise RecordError(f"{where}: {error}") from error
    if not isinstance(record, dict):
        raise RecordError(f"{where}: a record is an object, not {type(record).__name__}")
    return record


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not allowed; a missing number is null")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):  # such as 1e999
        raise ValueError(f"{text} is beyond the range of a double")
    return value


def read_all(paths: Iterable[str | Path]) -> list[dict[str, Any]]:
    """Records of several files, one file after the other (errors as `read_records`)."""
    return [record for path in paths for record in read_records(path)]
