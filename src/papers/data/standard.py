"""Data sets in memory and as standard files (HDF5: X, y, feature names, provenance).

A standard file starts with a user block of 512 bytes that holds the sha256 of everything after it. The sha256
is verified before the HDF5 library reads a byte, since a damaged file may crash the library. The file names
its set, kind and variant.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core.files import replacing
from papers.data import described, readers
from papers.data.fetch import fetch
from papers.data.registry import DATASETS, VARIANTS, DataError, data_home, entry, files_of, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from papers.data.readers import Raw

MARK = b"tilted standard file 2\nsha256 "
BLOCK = 512  # the smallest user block that HDF5 allows


@dataclass(frozen=True)
class Dataset:
    """One data set in one variant.

    Attributes
    ----------
    name, variant : str
    X : array [N, D]
    y : array [N]
        Labels -1 and +1, counts, or numbers.
    features : tuple of D names
    provenance : dict
        Title, citation, licence and checksums of the raw files.
    kind : str
        Section of the registry: sets of two kinds may have the same name.
    """

    name: str
    variant: str
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    features: tuple[str, ...] = field(repr=False)
    provenance: dict[str, object] = field(repr=False)
    kind: str = DATASETS

    @property
    def counts(self) -> bool:
        """Test if y are counts; labels are -1 for some rows."""
        return bool(np.all(self.y >= 0))


def load(
    name: str, variant: str = "as-released", home: str | Path | None = None, mirror: str | None = None
) -> Dataset:
    """Load one of the QP paper's data sets, downloading its raw files if they are not there.

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

    Raises
    ------
    DataError
        For unknown names, malformed files, or a shape that is not the registered one.
    DownloadError
        If a raw file cannot be had.
    """
    entry(DATASETS, name, home)  # an unknown name before an unknown variant
    if variant not in VARIANTS:
        raise DataError(f"unknown variant '{variant}'; known: {', '.join(VARIANTS)}")

    def read(paths: list[Path]) -> Raw:
        return readers.read(name, variant, paths, data_home(home))

    return load_with(read, DATASETS, name, variant, home, mirror)


def load_with(
    read: Callable[[list[Path]], Raw],
    kind: str,
    name: str,
    variant: str,
    home: str | Path | None = None,
    mirror: str | None = None,
) -> Dataset:
    """Load a set of any kind by a reader of its raw files; a described one (`described`) has none.

    Parameters
    ----------
    read : callable
        Paths of the raw files -> Raw.
    kind, name, variant : str
    home, mirror : see `load`

    Raises
    ------
    DataError, DownloadError
        As `load`.
    """
    about, files = entry(kind, name, home), files_of(kind, name, home)
    paths = [fetch(file, home, mirror) for file in files]
    raw = described.read(name, about, paths) if described.is_described(about) else read(paths)
    expected = tuple(shape_of(about, variant))
    if raw.X.shape != expected or raw.y.shape != expected[:1]:
        raise DataError(f"data set '{name}' ({variant}) has shape {raw.X.shape}, expected {expected}")
    if "labels" in about:
        labels, stated = [int(np.sum(raw.y > 0)), int(np.sum(raw.y < 0))], about["labels"][variant]
        if labels != stated:
            raise DataError(f"data set '{name}' ({variant}) has {labels} labels +1 and -1, expected {stated}")
    provenance: dict[str, object] = {
        "title": about["title"],
        "citation": about["citation"],
        "licence": about["licence"],
        "files": {file["path"]: file.get("plain_sha256", file["sha256"]) for file in files},
        "bundled": about.get("bundled", ""),
    }
    return Dataset(name, variant, raw.X, raw.y, raw.features, provenance, kind)


def write_standard(dataset: Dataset, path: str | Path) -> None:
    """Write a standard file; it replaces ``path`` in one step and has the same bytes every time."""
    import h5py

    buffer = io.BytesIO()  # on a full disk the HDF5 library may crash the process
    with h5py.File(buffer, "w", track_order=False, userblock_size=BLOCK) as file:
        for key, array in (("X", dataset.X), ("y", dataset.y)):
            file.create_dataset(key, data=array.astype("<f8"), track_times=False)
        for key in ("name", "variant", "kind"):
            file.attrs[key] = getattr(dataset, key)
        file.attrs["features"] = json.dumps(dataset.features)
        file.attrs["provenance"] = json.dumps(dataset.provenance, sort_keys=True)
    body = buffer.getvalue()[BLOCK:]
    head = MARK + hashlib.sha256(body).hexdigest().encode() + b"\n"
    with replacing(path) as stream:
        stream.write(head.ljust(BLOCK, b"\0") + body)


def read_standard(path: str | Path, name: str | None = None, variant: str | None = None) -> Dataset:
    """Read a standard file.

    Parameters
    ----------
    path : path
        A file of `write_standard`.
    name, variant : str, optional
        Set and variant that the caller expects.

    Raises
    ------
    DataError
        If it cannot be read, its bytes do not have the recorded hash, or it is of another set or variant
        than the caller says; names the file.
    """
    import h5py

    with h5py.File(io.BytesIO(_intact_bytes(path)), "r") as file:
        X, y = (np.asarray(file[key][()]) for key in ("X", "y"))
        features, provenance = (json.loads(file.attrs[key]) for key in ("features", "provenance"))
        identity = [str(file.attrs[key]) for key in ("name", "variant", "kind")]
    for key, wanted, stored in (("set", name, identity[0]), ("variant", variant, identity[1])):
        if wanted not in (None, stored):
            raise DataError(f"{path} is of {key} '{stored}', not '{wanted}'")
    return Dataset(identity[0], identity[1], X, y, tuple(features), provenance, identity[2])


def _intact_bytes(path: str | Path) -> bytes:
    """Return the whole file after a check of its sha256 in the user block."""
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
