"""Repeat recorded rows in several processes, and compare them with the recorded ones."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import records
from papers.core.files import MissingData
from papers.core.runs import content_hash, source_hash
from papers.core.study import RUN, Source, Study

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    Row = Mapping[str, Any]

APART = ("protocol", "dataset")
"""Columns, as far as a study has them, whose values the rows of one call of `Study.repeat` share."""


class Repeated(NamedTuple):
    """Repeated rows.

    Attributes
    ----------
    rows : dict
        Study -> its rows; also studies that were not chosen, whose rows come with those of a chosen one.
    missing : list of str
        Data that could not be loaded.
    origins : dict
        Study -> the chosen studies that its rows come from.
    """

    rows: dict[Study, list[Row]]
    missing: list[str]
    origins: dict[Study, set[Study]]


def seconds_of(study: Study, rows: pd.DataFrame) -> np.ndarray:
    """Return the processor seconds [N] that repeating rows is expected to take."""
    if study.seconds or "seconds" not in rows:
        return np.full(len(rows), study.seconds)
    return rows["seconds"].fillna(0.0).to_numpy(float)


def repeat(
    chosen: Mapping[Study, pd.DataFrame],
    source: Source,
    cores: int = 1,
    progress: Path | None = None,
) -> Repeated:
    """Repeat rows of studies.

    Parameters
    ----------
    chosen : mapping
        Study with `Study.repeat` -> rows of its record.
    source : Source
    cores : int
        Processes.
    progress : Path, optional
        File that keeps what is finished: after an interruption only the rest is repeated.

    Returns
    -------
    Repeated
    """
    from joblib import Parallel, delayed
    from tqdm import tqdm

    pieces = [piece for study, rows in chosen.items() for piece in _pieces(study, rows)]
    pieces.sort(key=lambda piece: -piece.seconds)
    done = _finished(progress)
    studies = {study.file: study for study in records.studies()}
    result = Repeated({study: [] for study in chosen}, [], {})
    origins = {piece.name: studies[piece.study] for piece in pieces}

    def add(name: str, pairs: list[tuple[str, Row]]) -> None:
        for file, row in pairs:
            result.rows.setdefault(studies[file], []).append(row)
            result.origins.setdefault(studies[file], set()).add(origins[name])

    for piece in pieces:
        add(piece.name, done.get(piece.name, []))
    remaining = [piece for piece in pieces if piece.name not in done]
    run = Parallel(
        n_jobs=max(1, min(cores, len(remaining), os.cpu_count() or 1)), return_as="generator_unordered"
    )
    finished = run(delayed(_make)(piece, source) for piece in remaining)
    for name, pairs, reason in tqdm(finished, "repeating", len(remaining), unit="block", leave=False):
        add(name, pairs)
        if reason and reason not in result.missing:
            result.missing.append(reason)
        if progress is not None and not reason:
            with progress.open("a", encoding="utf-8") as file:
                file.write("\n" + json.dumps([name, pairs], default=lambda value: value.item()))
    return result


class _Piece(NamedTuple):
    """Rows to repeat by one call."""

    seconds: float
    name: str
    study: str
    rows: pd.DataFrame


def _pieces(study: Study, rows: pd.DataFrame) -> Iterator[_Piece]:
    """Yield the rows of each block (`Study.together`)."""
    names = [name for name in dict.fromkeys((*APART, *study.together)) if name in rows]
    for _, block in rows.groupby(names, sort=False, dropna=False):
        keys = block[list(study.key)].astype(str).values.tolist()
        name = content_hash([study.file, keys, source_hash("tilted", "papers")])
        yield _Piece(float(seconds_of(study, block).sum()), name, study.file, block)


def _make(piece: _Piece, source: Source) -> tuple[str, list[tuple[str, Row]], str]:
    """Return a piece's name, its repeated rows with the files of their studies, and why there are none."""
    study = next(study for study in records.studies() if study.file == piece.study)
    assert study.repeat is not None, "studies without it are not chosen"
    try:
        pairs: list[tuple[str, Row]] = [(of.file, dict(row)) for of, row in study.repeat(piece.rows, source)]
    except MissingData as error:
        return piece.name, [], f"{study.file}: {error.brief}"
    return piece.name, pairs, ""


def _finished(path: Path | None) -> dict[str, list[tuple[str, Row]]]:
    """Return the pieces that an interrupted run finished; a line that a kill cut short is passed over."""
    pieces_by_name: dict[str, list[tuple[str, Row]]] = {}
    if path is not None and path.is_file():
        for line in path.read_text(encoding="utf-8").split("\n"):
            with suppress(ValueError):
                name, pairs = json.loads(line)
                pieces_by_name[name] = pairs
    return pieces_by_name


def align(
    study: Study, recorded: pd.DataFrame, repeated: list[Row]
) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Return recorded rows and the repeated ones of the same keys, in one order.

    Returns
    -------
    recorded, repeated : pandas.DataFrame
    lost : int
        Recorded rows that were not among the repeated ones.
    """
    key = list(study.key)
    repeated_frame = study.frame(study.line({**row, RUN: ""}) for row in repeated).drop_duplicates(
        key, keep="last"
    )
    both = recorded[key].merge(repeated_frame[key], on=key)
    frames = [both.merge(frame, on=key)[list(study.types)] for frame in (recorded, repeated_frame)]
    return frames[0], frames[1], len(recorded) - len(both)
