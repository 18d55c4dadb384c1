"""Files replaced whole, and what killed writers leave.

A reader sees the old file or the whole new one, never a part: writers fill a uniquely named
file in the same folder, flush it to the disk and rename it over the target. What a killed writer
leaves is told from what a living one fills by a lock on the folder (`writing_in`, `sweep`). Several files
of a folder are replaced as one by `replace_all`: what it will put in place is written down first.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

PARTIAL = re.compile(r"\..+\.[0-9a-f]{32}(\.gz)?\.tmp")
"""Names of files being filled, here and by `papers.data.fetch`."""


class MissingData(ValueError):
    """Data that records are made of are not there, or not what they must be: the records cannot be made."""

    @property
    def brief(self) -> str:
        """What is missing and how it is to be had, without what was tried."""
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


JOURNAL = ".replacing"
"""Folder of what is being put in place by `replace_all`."""


def ensured(folder: str | Path) -> Path:
    """A folder, which is made if missing."""
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
def alone(folder: str | Path, wait: bool = True) -> Iterator[None]:
    """Wait, and say so, until no other process is in this block for the same folder, made if missing.

    What a killed `replace_all` had begun there is finished first. Where the file system has no locks nothing
    is waited for. Without ``wait`` a folder that another process has is refused (ValueError).
    """
    folder = ensured(folder)
    with open(folder / ".lock", "ab") as file:
        if _is_another(file.fileno()):
            if not wait:
                raise ValueError(f"another process is at work in {folder}")
            print(f"waiting for another process that writes in {folder}", file=sys.stderr, flush=True)
            _lock(file.fileno(), "LOCK_EX")
        _finish(folder)
        yield


def finished(folder: str | Path) -> None:
    """See to it that no file of a folder is half of what `replace_all` was putting in place."""
    if Path(folder, JOURNAL).is_dir():
        with alone(folder):
            pass


def replace_all(folder: str | Path, contents: Mapping[str, bytes | None]) -> None:
    """Replace several files of a folder: all of them, or, if this process ends before it could, none.

    Call it in a block of `alone`.

    Parameters
    ----------
    folder : str or Path
    contents : mapping
        Path below the folder -> content, or None to remove the file, which need not exist.
    """
    folder = Path(folder)
    filling = folder / f"{JOURNAL}.{uuid.uuid4().hex}.tmp"
    filling.mkdir()
    placed = {name: content for name, content in contents.items() if content is not None}
    removed = [name for name, content in contents.items() if content is None]
    for number, content in enumerate(placed.values()):
        _write(filling / str(number), content)
    _write(filling / "names", json.dumps([list(placed), removed]).encode("utf-8"))
    _flush(filling)
    os.rename(filling, folder / JOURNAL)  # from here on it will be done
    _finish(folder)


def _finish(folder: Path) -> None:
    for left in folder.glob(f"{JOURNAL}.*.tmp"):
        shutil.rmtree(left)
    journal = folder / JOURNAL
    if not journal.is_dir():
        return
    _flush(folder)
    listed = journal / "names"
    placed, removed = json.loads(listed.read_text(encoding="utf-8")) if listed.exists() else ([], [])
    for number, name in enumerate(placed):
        if (journal / str(number)).exists():  # else it is in place already
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(journal / str(number), folder / name)
            _flush((folder / name).parent)
    for name in removed:
        (folder / name).unlink(missing_ok=True)
    listed.unlink(missing_ok=True)
    journal.rmdir()


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    """Write down which files a folder has, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def writing_in(folder: str | Path) -> Iterator[None]:
    """Tell `sweep` that a writer is at work in a folder, which is made if missing.

    Any number of writers may be. Where the file system has no locks this does nothing.
    """
    with _locked(ensured(folder), "LOCK_SH"):
        yield


def sweep(*folders: str | Path) -> list[Path]:
    """Remove what killed writers left in folders and below, and print how many files.

    A folder that a living writer holds is passed over, and so is one that cannot be locked. Links to folders
    are followed, as where the fits are on another disk.

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
        for folder, _, names in os.walk(top, followlinks=True):
            left = [Path(folder, name) for name in names if PARTIAL.fullmatch(name)]
            if left:
                removed += _swept(Path(folder), left)
    if removed:
        print(f"Removed {len(removed)} half-written files of jobs that were killed", file=sys.stderr)
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
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _lock(handle, *flags)
    finally:
        os.close(handle)  # which gives the lock back, as the end of the process does


def _is_another(handle: int) -> bool:
    """Whether another process has the lock; else this one has it, where the file system knows locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _lock(handle: int, *flags: str) -> bool:
    try:
        fcntl.flock(handle, sum(getattr(fcntl, flag) for flag in flags))
    except OSError:  # held by another, or not known to this file system
        return False
    return True
