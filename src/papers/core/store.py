"""Records on disk: one JSON object a line, gzipped, replaced atomically.

The bytes depend on the records alone (no time stamp, no file name in the gzip header), floats
round-trip exactly (``json`` writes the shortest text that reads back as the same double), and
NaN and infinity are refused both ways: a number a fit could not produce is ``null``. A file of fits ends with
a line that says how many records come before it: one from which lines were cut is not taken for whole.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core.files import replacing
from papers.core.study import RecordError as RecordError

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

NUMBER = "records"
"""Key of a file's last line."""


def write_bytes(path: str | Path, content: bytes) -> Path:
    """Write `content` to `path` atomically and return the path."""
    with replacing(path) as file:
        file.write(content)
    return Path(path)


def write_text(path: str | Path, content: str) -> Path:
    """Write `content` to `path` atomically, as UTF-8 with the line ends it has."""
    return write_bytes(path, content.encode("utf-8"))


def write_csv(path: str | Path, table: pd.DataFrame, form: str = "%.6g") -> Path:
    """Write a table as CSV, its floats in a form; an empty cell is a number that does not exist."""
    return write_text(path, table.to_csv(index=False, lineterminator="\n", float_format=form))


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
        A record holds NaN or infinity, or a value JSON does not know. The file at `path`, if any, stays as
        it was.
    """
    number = 0
    with replacing(path) as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        for number, record in enumerate(records, start=1):
            packed.write(_line(record, f"{path}, record {number}"))
        packed.write(_line({NUMBER: number}, path))
    return Path(path)


def _line(record: dict[str, Any], where: object) -> bytes:
    try:
        return json.dumps(record, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"
    except (TypeError, ValueError) as error:
        raise RecordError(f"{where}: {error}") from error


def read_records(path: str | Path) -> list[dict[str, Any]]:
    """Read every record of a file, or none.

    Raises
    ------
    RecordError
        The file is empty, truncated or corrupt, a line is no JSON or holds NaN or an infinity, or its last
        line gives another number of records; the message names the file.
    FileNotFoundError
        There is no such file.
    """
    advice = "delete the file and run again"
    try:
        text = gzip.decompress(Path(path).read_bytes())  # all of it, with its check sum
    except FileNotFoundError:
        raise
    except (EOFError, OSError, zlib.error) as error:
        raise RecordError(f"{path}: truncated or corrupt gzip data ({error}); {advice}") from error
    records = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            records.append(json.loads(line, parse_constant=_refuse))
        except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
            raise RecordError(f"{path}, line {number}: {error}") from error
    expected = records.pop().get(NUMBER) if records else None
    if expected != len(records):
        raise RecordError(f"{path}: {len(records)} records, where the file had {expected}; {advice}")
    return records


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not allowed; a missing number is null")
