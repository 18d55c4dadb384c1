"""MNIST digits, even against odd [Bui et al. 2017, appendix I.4].

The four files are in the idx format [LeCun et al. 1998]: two zero bytes, a byte for the type (8: unsigned
bytes), one for the number of dimensions, the sizes as big-endian whole numbers of four bytes, the values.
"""

from __future__ import annotations

import gzip
import math
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.data.fetch import fetch
from papers.data.registry import DataError, load_registry

if TYPE_CHECKING:
    from papers.data.registry import Entry

NAME = "mnist"
SUBSETS = TRAIN, TEST = "train", "test"
BYTES = 8
BRIGHTEST = 255.0


@dataclass(frozen=True)
class Digits:
    """Images and labels, in the order of the files.

    Attributes
    ----------
    X, X_test : arrays [N, D], [N*, D]
        Pixels row by row, from 0 to 1.
    y, y_test : arrays [N], [N*]
        +1 for an even digit, -1 for an odd one.
    """

    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    X_test: np.ndarray = field(repr=False)
    y_test: np.ndarray = field(repr=False)


def entry(home: str | Path | None = None) -> Entry:
    """Return the registry's entry."""
    return load_registry(home)["images"][NAME]


def raw_files(home: str | Path | None = None) -> list[Entry]:
    """Return the file entries: images and labels of the training set, then of the test set."""
    files = load_registry(home)["files"]
    return [files[key] for subset in SUBSETS for key in entry(home)["files"][subset]]


def load(home: str | Path | None = None, mirror: str | None = None) -> Digits:
    """Load the digits; download the files that are absent.

    Parameters
    ----------
    home, mirror : see ``standard.load``

    Raises
    ------
    DataError
        For a file that is damaged, or has another shape than the registered one.
    DownloadError
        If a file cannot be had.
    """
    paths = [fetch(file, home, mirror) for file in raw_files(home)]
    shapes = entry(home)["shapes"]
    arrays: list[np.ndarray] = []
    for subset, images, labels in zip(SUBSETS, paths[::2], paths[1::2], strict=True):
        shape = tuple(shapes[subset])
        arrays += [_pixels(images, shape), _parity(labels, shape[0])]
    return Digits(*arrays)


def _pixels(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """Return pixels [N, D] from 0 to 1."""
    return _shaped(path, shape).reshape(shape[0], -1) / BRIGHTEST


def _parity(path: Path, n: int) -> np.ndarray:
    """Return +1 for even and -1 for odd labels [N]."""
    digits = _shaped(path, (n,))
    if np.any(digits > 9):
        row = int(np.argmax(digits > 9))
        raise DataError(f"{path}: label {digits[row]} at place {row} is no digit")
    return np.where(digits % 2 == 0, 1.0, -1.0)


def _shaped(path: Path, shape: tuple[int, ...]) -> np.ndarray:
    values = read_idx(path)
    if values.shape != shape:
        raise DataError(f"{path} has shape {values.shape}, expected {shape}")
    return values


def read_idx(path: Path) -> np.ndarray:
    """Return the unsigned bytes of a gzipped idx file, in its shape.

    Raises
    ------
    DataError
        If it cannot be unpacked, does not start as such a file does, or has more or fewer values than it
        says.
    """
    try:
        with gzip.open(path, "rb") as stream:
            content = stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be unpacked: {error}") from None
    if len(content) < 4 or content[:3] != bytes([0, 0, BYTES]) or content[3] == 0:
        raise DataError(f"{path} does not start as an idx file of unsigned bytes")
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise DataError(f"{path} ends in its header")
    shape = tuple(np.frombuffer(content[4:start], ">u4").tolist())
    if len(content) - start != math.prod(shape):
        promised = " x ".join(map(str, shape))
        raise DataError(f"{path} has {len(content) - start} values, its header promises {promised}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)
