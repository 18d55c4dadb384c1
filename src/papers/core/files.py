"""Files replaced whole: a reader sees the old file or the whole new one, never a part."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO


class MissingData(ValueError):
    """Data that records are made of are not there, or not what they must be."""

    @property
    def brief(self) -> str:
        """Say what is missing and how it is to be had, without what was tried."""
        return str(self)


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
    partial = ensured(path.parent) / f".{path.name}.{os.getpid()}.tmp"
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_together(folder: str | Path, contents: Mapping[str, bytes | None]) -> None:
    """Write or remove (None) several files below a folder; each is written before the first is replaced."""
    written = [name for name, data in contents.items() if data is not None]
    with contextlib.ExitStack() as stack:
        for name in reversed(written):  # the stack replaces the last first
            stack.enter_context(replacing(Path(folder, name))).write(contents[name] or b"")
    for name in contents.keys() - written:
        Path(folder, name).unlink(missing_ok=True)


def ensured(folder: str | Path) -> Path:
    """Return a folder, which is made if missing."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder)


def read_yaml(path: str | Path) -> Any:
    """Return the content of a YAML file; ValueError names the file if it is no YAML."""
    import yaml

    with open(path, encoding="utf-8") as file:
        try:
            return yaml.safe_load(file)
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is no YAML: {error}") from None


@contextlib.contextmanager
def alone(folder: str | Path) -> Iterator[None]:
    """Wait, and say so, until no other process is in this block for the same folder, made if missing.

    Where the file system has no locks nothing is waited for.
    """
    with open(ensured(folder) / ".lock", "ab") as file, contextlib.suppress(OSError):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another process that writes in {folder}", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
