"""Raw files from a local copy, a mirror or the sources, always with checksums.

A file appears under its name only after its checksum is verified. A download goes to a temporary file with a
unique name in the target folder. This file is synced and renamed, or removed on any failure.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import sys
import uuid
import zlib
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core.files import ensured, replacing
from papers.data.registry import DataError, data_home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from papers.data.registry import Entry

MIRROR_VARIABLE = "TILTED_DATA_MIRROR"
TIMEOUT = 30.0
RETRIES = 2


class DownloadError(DataError):
    """Failure to get a raw file; the message says what was tried and how to place the file by hand."""

    @property
    def brief(self) -> str:
        """Return which file failed, and where to name a place that has it."""
        message, tried, _ = str(self).partition("; tried:")
        return (
            f"{message}; set {MIRROR_VARIABLE} or --mirror to a folder or URL that has it"
            if tried
            else message
        )


def fetch(
    file: Entry,
    home: str | Path | None = None,
    mirror: str | None = None,
    timeout: float = TIMEOUT,
    progress: bool | None = None,
) -> Path:
    """Return the local path of a raw file, which is downloaded if absent.

    Parameters
    ----------
    file : dict
        Entry of the registry: path, sha256, bytes, urls, and for stored .gz files plain_sha256.
    home : path, optional
        Data folder (``registry.data_home``).
    mirror : str, optional
        Folder or base URL tried first, by default the environment's ``TILTED_DATA_MIRROR``: the
        registry's relative path below it, then the bare file name, as stored or without ``.gz``.
    timeout : float
        Seconds without an answer after which a try counts as failed.
    progress : bool, optional
        True to show a progress bar; by default only if stderr is a terminal.

    Raises
    ------
    DownloadError
        If the file present has a wrong checksum, or every place failed.
    """
    target = data_home(home) / "raw" / file["path"]
    if target.is_file():
        if _is_right(target, file):
            return target
        raise DownloadError(
            f"{target} has sha256 {sha256_of(target)}, expected {file['sha256']}; it is not used: "
            "delete it and run again"
        )
    ensured(target.parent)
    tried = []
    progress = sys.stderr.isatty() if progress is None else progress
    mirror = mirror or os.environ.get(MIRROR_VARIABLE) or ""
    for place, how in _places(file, mirror):
        reason = _try(place, how, file, target, timeout, progress)
        if reason is None:
            return target
        tried.append(f"  {without_password(place)}: {reason}")
    listing = "\n".join(tried) or "  no mirror given and no URL known"
    raise DownloadError(
        f"could not get '{file['path']}'; tried:\n{listing}\n"
        f"To place it by hand: save the file as {target} "
        f"(sha256 {file['sha256']}, {file['bytes']} bytes)"
        + (f", from {file['urls'][0]}" if file["urls"] else "")
        + f"; or set {MIRROR_VARIABLE} to a folder or URL that has it."
    )


def sha256_of(path: Path) -> str:
    """Return the hex digest of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _is_right(path: Path, file: Entry) -> bool:
    """Test if a stored file has the expected bytes, or contains the expected plain bytes compressed."""
    if sha256_of(path) == file["sha256"]:
        return True
    if "plain_sha256" not in file:
        return False
    try:
        with gzip.open(path, "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest() == file["plain_sha256"]
    except (OSError, EOFError, zlib.error):
        return False


def _places(file: Entry, mirror: str) -> Iterator[tuple[str, str]]:
    """Yield (place, how) in the order to try; how is "folder" or "url"."""
    stored, bare = file["path"], Path(file["path"]).name
    candidates = dict.fromkeys([stored, bare])
    if stored.endswith(".gz"):
        candidates.update(dict.fromkeys([stored[:-3], bare[:-3]]))
    if mirror:
        how = _how(mirror)
        mirror = str(Path(mirror).expanduser()) if how == "folder" else mirror
        for name in candidates:
            yield f"{mirror.rstrip('/')}/{name}", how
    for url in file["urls"]:
        yield url, "url"


def _how(mirror: str) -> str:
    """Return how a mirror is read, "folder" or "url"; DownloadError if it is neither."""
    if mirror.lower().startswith(("http://", "https://")):
        return "url"
    if Path(mirror).expanduser().is_dir():
        return "folder"
    raise DownloadError(f"mirror {mirror} is no folder, and no address (https://...)")


def _try(place: str, how: str, file: Entry, target: Path, timeout: float, progress: bool) -> str | None:
    """Copy or download one place's bytes to ``target``; return the reason if that failed, else None."""
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        if how == "folder" and not Path(place).is_file():
            return "no such file"
        if how == "folder":
            shutil.copyfile(place, partial)
        else:
            _download(place, partial, timeout, progress)
        return _accept(partial, file, target)
    # connection, time-out, HTTP status, disk; addresses and headers that cannot be read
    except (OSError, ValueError, HTTPException) as error:
        return f"{type(error).__name__}: {_reason(error)}"
    finally:
        partial.unlink(missing_ok=True)


def _download(url: str, path: Path, timeout: float, progress: bool) -> None:
    """Download with pooch; show a progress bar if wanted and retry after temporary faults."""
    import pooch
    import requests

    downloader = pooch.HTTPDownloader(progressbar=progress, timeout=timeout)
    for attempt in range(RETRIES + 1):
        try:
            downloader(url, str(path), None)
            return
        except requests.HTTPError as error:
            if error.response is None or error.response.status_code < 500 or attempt == RETRIES:
                raise
        except requests.RequestException:
            if attempt == RETRIES:
                raise


def _accept(partial: Path, file: Entry, target: Path) -> str | None:
    """Rename the partial file to the target if its checksum is right, else return the reason.

    The plain bytes of a stored .gz are compressed. Readers then verify the checksum of the plain bytes.
    """
    digest, size = sha256_of(partial), partial.stat().st_size
    if digest == file["sha256"]:
        with partial.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(partial, target)
        return None
    if digest == file.get("plain_sha256"):
        plain = partial.read_bytes()
        with replacing(target) as out, gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=0) as packed:
            packed.write(plain)
        return None
    short = "truncated" if size < file["bytes"] else "wrong content"
    expected = f"{file['bytes']} bytes with {file['sha256']}"
    return f"{short}: {size} bytes with sha256 {digest}, expected {expected}"


def _reason(error: Exception) -> str:
    """Return the innermost cause of an error in one line; the outer layers repeat the URL."""
    text = str(error)
    if "IncompleteRead" in text:
        return f"truncated, {_brief(text)}"
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.errno and inner.strerror:
            return _brief(inner.strerror)  # for example "Connection refused"
        inner = inner.__cause__ or inner.__context__
    return _brief(text)


def _brief(text: str) -> str:
    """Return one line of at most 200 characters, without passwords."""
    text = " ".join(without_password(text).split())
    return text if len(text) <= 200 else text[:197] + "..."


def without_password(text: str) -> str:
    """Replace user names and passwords in addresses by stars, since messages go into logs."""
    return re.sub(r"(?<=://)[^/\s]+@", "***@", text)
