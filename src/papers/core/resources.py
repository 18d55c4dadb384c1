"""Measured needs of single jobs (`benchmarks/resources.py`), from which those of others are estimated."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from papers.core.store import RecordError


class Measured(NamedTuple):
    """Processor seconds of measured jobs, their peak memory in MB and kilobytes written, by file made."""

    seconds: dict[str, float]
    memory: dict[str, float]
    kilobytes: dict[str, float]


def read(path: str | Path) -> Measured:
    """Return the measured jobs; none if there is no such file.

    Raises
    ------
    RecordError
        The file is damaged; the message names it.
    """
    if not Path(path).is_file():
        return Measured({}, {}, {})
    with Path(path).open(newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    try:
        return Measured(
            *(
                {line["target"]: float(line[name]) for line in lines if line[name]}
                for name in ("seconds", "peak_mb", "kilobytes")
            )
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path}: damaged ({error!r})") from error


def nearest(path: str, measured: Mapping[str, float]) -> list[float]:
    """Return the values of the measured jobs of the same study in the nearest folder above ``path``."""
    folders = list(PurePosixPath(path).parents)
    for folder in folders[:-3] or folders[:1]:  # not as high as data/fits
        values = [value for file, value in measured.items() if folder in PurePosixPath(file).parents]
        if values:
            return values
    return []
