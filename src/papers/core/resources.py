"""Measured needs of single jobs (`benchmarks/resources.py`), from which those of others are estimated."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from papers.core.store import RecordError


class Seen(NamedTuple):
    """Processor seconds of measured jobs, their peak memory in MB and kilobytes written, by file made."""

    seconds: dict[str, float]
    memory: dict[str, float]
    kilobytes: dict[str, float]


def read(path: str | Path) -> Seen:
    """The measured jobs; none if there is no such file.

    Raises
    ------
    RecordError
        The file is damaged; the message names it.
    """
    if not Path(path).is_file():
        return Seen({}, {}, {})
    with Path(path).open(newline="", encoding="utf-8") as stream:
        lines = list(csv.DictReader(stream))
    try:
        return Seen(
            *(
                {line["target"]: float(line[name]) for line in lines if line[name]}
                for name in ("seconds", "peak_mb", "kilobytes")
            )
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path}: damaged ({error!r})") from error


def alike(path: str, measured: Mapping[str, float]) -> list[float]:
    """Values of the measured jobs in the nearest folder above ``path`` that has any, of the same study."""
    folders = list(PurePosixPath(path).parents)
    for folder in folders[:-3] or folders[:1]:  # not as high as data/fits
        values = [value for other, value in measured.items() if folder in PurePosixPath(other).parents]
        if values:
            return values
    return []


def workers(asked: int, tasks: int) -> int:
    """Processes for so many tasks: no more than ``asked``, than there are processors, or tasks."""
    return max(1, min(asked, tasks, os.cpu_count() or 1))
