"""Tables that are read by their registry entry (``sets`` in ``sources.yaml``), without a reader of their own.

Columns are named by the header or by number, from 0. The files of a set are read one after the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from papers.data.readers import Raw
from papers.data.registry import DataError
from papers.data.table import Description, features, parse, select, targets

if TYPE_CHECKING:
    from papers.data.registry import Entry


def is_described(entry: Entry) -> bool:
    """Return True if an entry states how its files are read."""
    return "target" in entry


def read(set_name: str, entry: Entry, paths: list[Path]) -> Raw:
    """Read a set.

    Raises
    ------
    DataError
        A file is no table, the entry names a column that is not there, or a cell is not what it must be;
        names set, file, line and column.
    """
    layout = {"delimiter": entry.get("delimiter", r"\s+"), "header": str(entry.get("header", False)).lower()}
    try:
        frames = [parse(path, path.read_bytes(), Description(**layout)) for path in paths]
        header = frames[0].columns.tolist()
        for path, frame in zip(paths, frames, strict=True):
            if frame.columns.tolist() != header:
                raise ValueError(f"{path}: header {', '.join(frame.columns)}, expected {', '.join(header)}")
        target = _column(header, entry["target"])
        about = Description(
            target,
            entry["task"],
            **layout,
            positive=_texts(entry, "positive"),
            negative=_texts(entry, "negative"),
            missing=_texts(entry, "missing"),
            drop=[_column(header, column) for column in entry.get("drop", [])],
            one_hot=[_column(header, column) for column in entry.get("one_hot", [])],
        )
        if target in about.drop or set(about.drop) & set(about.one_hot):
            raise ValueError("a column is named twice")
        frame, remarks = select(set_name, pd.concat(frames), about)
        _, y = targets(set_name, frame[target], about, remarks)
        X = features(set_name, frame.drop(columns=target), about, remarks)
    except (OSError, ValueError) as error:
        raise DataError(f"set '{set_name}': {error}") from None
    return Raw(X.to_numpy(), y, tuple(X.columns))


def _texts(entry: Entry, field: str) -> list[str]:
    return list(map(str, entry.get(field, [])))


def _column(header: list[str], column: str | int) -> str:
    """Return the name of a column that is named, or numbered from 0."""
    if isinstance(column, str):
        return column
    if not -len(header) <= column < len(header):
        raise ValueError(f"there is no column {column}, but {', '.join(header)}")
    return header[column]
