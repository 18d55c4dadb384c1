"""Data sets in memory and as standard files (HDF5: X, y, feature names, provenance).

A standard file starts with a user block of 512 bytes that holds the sha256 of everything after it,
checked before the HDF5 library sees a byte: on a damaged file the library may crash the process.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tilted.data import described, readers
from tilted.data.fetch import fetch
from tilted.data.registry import VARIANTS, DataError, data_home, entry_of, raw_files
from tilted.files import replacing

MARK = b"tilted standard file 1\nsha256 "
BLOCK = 512  # the smallest user block that HDF5 allows


@dataclass(frozen=True)
class Dataset:
    """One data set in one variant.

    Attributes
    ----------
    name, variant : str
    X : array [N, D]
    y : array [N]
        Labels -1 and +1, or counts.
    features : tuple of D names
    provenance : dict
        Title, citation, licence and checksums of the raw files.
    """

    name: str
    variant: str
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    features: tuple[str, ...] = field(repr=False)
    provenance: dict[str, object] = field(repr=False)

    @property
    def counts(self) -> bool:
        """Whether y are counts and no labels, of which some are -1."""
        return bool(np.all(self.y >= 0))


def load(
    name: str,
    variant: str = "as-released",
    home: str | Path | None = None,
    mirror: str | None = None,
    fetch_missing: bool = True,
) -> Dataset:
    """Load a data set, downloading its raw files if they are not there.

    Parameters
    ----------
    name : str
        One of ``names()``.
    variant : str
        "as-released", "as-described" or "corrected".
    home : path, optional
        Data folder.
    mirror : str, optional
        Folder or base URL tried before the sources.
    fetch_missing : bool
        Whether raw files that are not there may be copied or downloaded.

    Raises
    ------
    DataError
        For unknown names, malformed files, a shape that is not the registered one, or a missing
        raw file that may not be fetched.
    DownloadError
        If a raw file cannot be had.
    """
    entry = entry_of(name, home)
    if variant not in VARIANTS:
        raise DataError(f"unknown variant '{variant}'; known: {', '.join(VARIANTS)}")
    files = raw_files(name, home)
    for file in files:
        place = data_home(home) / "raw" / file["path"]
        if not fetch_missing and not place.is_file():
            raise DataError(f"data set '{name}': {place} is missing and fetch_missing is False")
    paths = [fetch(file, home, mirror) for file in files]
    if described.is_described(entry):
        raw = described.read(name, entry, paths)
    else:
        raw = readers.read(name, variant, paths, data_home(home))
    expected = tuple(entry["shapes"][variant])
    if raw.X.shape != expected or raw.y.shape != expected[:1]:
        raise DataError(f"data set '{name}' ({variant}) has shape {raw.X.shape}, expected {expected}")
    provenance: dict[str, object] = {
        "title": entry["title"],
        "citation": entry["citation"],
        "licence": entry["licence"],
        "files": {file["path"]: file["sha256"] for file in files},
        "bundled": entry.get("bundled", ""),
    }
    return Dataset(name, variant, raw.X, raw.y, raw.features, provenance)


def content_hash(X: np.ndarray, y: np.ndarray) -> str:
    """sha256 of the numbers, in C order and little endian."""
    digest = hashlib.sha256()
    for array in (X, y):
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    return digest.hexdigest()


def write_standard(dataset: Dataset, path: str | Path) -> None:
    """Write a standard file; it replaces ``path`` in one step and has the same bytes every time."""
    import h5py

    buffer = io.BytesIO()  # on a full disk the HDF5 library may crash the process
    with h5py.File(buffer, "w", track_order=False, userblock_size=BLOCK) as file:
        for key, array in (("X", dataset.X), ("y", dataset.y)):
            file.create_dataset(key, data=array.astype("<f8"), track_times=False)
        file.attrs["name"], file.attrs["variant"] = dataset.name, dataset.variant
        file.attrs["features"] = json.dumps(dataset.features)
        file.attrs["provenance"] = json.dumps(dataset.provenance, sort_keys=True)
        file.attrs["content"] = content_hash(dataset.X, dataset.y)
    body = buffer.getvalue()[BLOCK:]
    head = MARK + hashlib.sha256(body).hexdigest().encode() + b"\n"
    with replacing(path) as stream:
        stream.write(head.ljust(BLOCK, b"\0") + body)


def read_standard(path: str | Path) -> Dataset:
    """Read a standard file.

    Raises
    ------
    DataError
        If it cannot be read, or its bytes or numbers do not have the recorded hash.
    """
    import h5py

    content = _intact_bytes(path)
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            X, y, attributes = file["X"][()], file["y"][()], dict(file.attrs)
        intact = attributes["content"] == content_hash(X, y)
        rest = (
            tuple(json.loads(attributes["features"])),
            json.loads(attributes["provenance"]),
        )
    except (OSError, KeyError, ValueError) as error:
        raise DataError(f"{path} is corrupted ({error}); delete it and run again") from None
    if not intact:
        raise DataError(f"{path} is corrupted (content hash differs); delete it and run again")
    return Dataset(str(attributes["name"]), str(attributes["variant"]), X, y, *rest)


def _intact_bytes(path: str | Path) -> bytes:
    """The whole file, once what follows its user block has the sha256 written there."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    digest = hashlib.sha256(content[BLOCK:]).hexdigest()
    if content[:BLOCK] != (MARK + digest.encode() + b"\n").ljust(BLOCK, b"\0"):
        raise DataError(
            f"{path} is corrupted or not a standard file of this version (sha256 differs); "
            "delete it and run again"
        )
    return content
