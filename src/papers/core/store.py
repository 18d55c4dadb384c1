"""Records on disk: one JSON object a line, gzipped, replaced atomically.

The bytes depend on the records alone (no time stamp, no file name in the gzip header), floats
round-trip exactly (``json`` writes the shortest text that reads back as the same double), and
NaN and infinity are refused both ways: a number a fit could not produce is ``null``. A file of fits ends with
a line that says how many records come before it: one from which lines were cut is not taken for whole.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core.files import replacing
from papers.core.files import write_together as write_together
from papers.core.study import RecordError as RecordError
from papers.core.study import gzipped as gzipped

if TYPE_CHECKING:
    from typing import Any, BinaryIO

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
        A record is no dict, holds NaN or infinity, or a value JSON does not know. The file at
        `path`, if any, stays as it was.
    """
    with replacing(path) as file:
        _pack(file, _numbered(records), path)
    return Path(path)


def _numbered(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The records, and a last one with their number."""
    number = 0
    for number, record in enumerate(records, start=1):  # noqa: B007 # the last one is what is asked for
        yield record
    yield {NUMBER: number}


def _pack(file: BinaryIO, records: Iterable[dict[str, Any]], where: object) -> None:
    with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
        for number, record in enumerate(records, start=1):
            packed.write(_encode(record, f"{where}, record {number}"))


def read_records(path: str | Path) -> list[dict[str, Any]]:
    """Read every record of a file, or none.

    Raises
    ------
    RecordError
        The file is empty, truncated or corrupt, a line is no JSON object, or holds NaN or an infinity, or its
        last line gives another number of records; the message names the file.
    FileNotFoundError
        There is no such file.
    """
    again = "delete the file and run again"
    try:
        text = gzip.decompress(Path(path).read_bytes())  # all of it, with its check sum
    except (EOFError, OSError, zlib.error) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise RecordError(f"{path}: truncated or corrupt gzip data ({error}); {again}") from error
    records = [_decode(line, f"{path}, line {k}") for k, line in enumerate(text.splitlines(), start=1)]
    number = records.pop().get(NUMBER) if records else None
    if number != len(records):
        raise RecordError(f"{path}: {len(records)} records, where the file had {number}; {again}")
    return records


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
