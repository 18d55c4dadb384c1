"""The Power-EP records to their tables, figures, chapter of the audit and parts of the report.

Nothing is made where there is no record.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.data.classification import PROTOCOLS, RELEASED
from papers.evidence import records as evidence
from papers.evidence import standing
from papers.evidence.parts import FigureFile, Part, Table, Written
from papers.pep import (
    banana,
    dense,
    digits_results,
    figures,
    published,
    scores,
    starts,
    tables,
    toy,
    verdicts,
    words,
)
from papers.pep.records import BANANA, CLASSIFICATION, DENSE, DIGITS, MAP, REGRESSION, STUDIES, TOY
from papers.pep.regression import DESCRIBED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from papers.evidence.study import Study
    from papers.pep.published import Printed

    Frames = Mapping[Study, pd.DataFrame | None]

FIGURES = "pep"
"""Folder of the figures; those of classifications that are not `RELEASED` are in one of their protocol."""

TABLES = tables.names(words.REGRESSION.stem)
"""Made where there are regressions; `starts.NAMES` where some searches started elsewhere,
`digits_results.NAMES` with the digits."""


class Kind(NamedTuple):
    """Compared fits that are shown together: what they are called, what made them, where they are drawn."""

    about: words.About
    fits: pd.DataFrame
    made: Sequence[str]
    printed: list[published.Printed]
    folder: Path


def class_tables(protocols: Iterable[str]) -> list[str]:
    """Tables of the classifications of some protocols."""
    return [name for protocol in protocols for name in tables.names(words.under(protocol).stem)]


def write(records: Path, tables_folder: Path, figures_folder: Path, published_folder: Path) -> Written:
    """Write tables and figures of what there are records of.

    Parameters
    ----------
    records : Path
        Root folder of the records of all papers.
    tables_folder, figures_folder, published_folder : Path
        The last holds the printed numbers (`published.FILE`).
    """
    frames = {study: evidence.find(study, records) for study in STUDIES}
    if all(frame is None for frame in frames.values()):
        return Written([], [], [])
    groups = {s: standing.groups(s, records, frame) for s, frame in frames.items() if frame is not None}
    notes = {study: standing.note(found) for study, found in groups.items()}
    loud = [line for found in groups.values() for line in standing.loud(found)]
    printed = published.read(Path(published_folder, published.FILE))
    folder = Path(figures_folder, FIGURES)
    regressions = frames[REGRESSION]
    if regressions is not None:
        regressions = regressions[regressions["protocol"] == DESCRIBED]
        notes[REGRESSION] = standing.note(standing.groups(REGRESSION, records, regressions))
    fits = scores.compared(REGRESSION.frame() if regressions is None else regressions)
    classes = _by_protocol(frames[CLASSIFICATION])
    kinds = []
    if regressions is not None:
        kinds.append(Kind(words.REGRESSION, fits, notes[REGRESSION], _of(fits, printed), folder))
        starts.write(regressions, notes[REGRESSION], tables_folder)
    for name, part in classes.items():
        made = standing.note(standing.groups(CLASSIFICATION, records, part))
        place = folder / ("" if name == RELEASED else name)
        kinds.append(Kind(words.under(name), part, made, _of(part, printed), place))
    parts = [_show(kind, tables_folder, frames, notes) for kind in kinds]
    digits = frames[DIGITS]
    if digits is not None:
        parts.append(_digits(digits, notes[DIGITS], tables_folder, folder))
    chapter = verdicts.chapter(verdicts.Evidence(fits, printed, classes, frames, notes))
    return Written([chapter], parts, loud)


def _digits(frame: pd.DataFrame, made: Sequence[str], tables_folder: Path, figures_folder: Path) -> Part:
    """Tables and figures of the digits, and their part of the report."""
    digits_results.write(frame, made, tables_folder)
    drawn = digits_results.draw(frame, figures_folder)
    header, _, cells = digits_results.cells(frame)
    return Part(
        title=digits_results.TITLE,
        paragraphs=[" ".join(digits_results.INTRODUCTION.split()), f"{digits_results.covered(frame)}."],
        tables=[Table("Times to few errors, and where the trainings end", header, cells)],
        figures=[FigureFile(path, digits_results.CAPTIONS[path.stem]) for path in drawn],
    )


def _by_protocol(frame: pd.DataFrame | None) -> dict[str, pd.DataFrame]:
    if frame is None:
        return {}
    parts = {protocol: frame[frame["protocol"] == protocol] for protocol in PROTOCOLS}
    return {protocol: scores.compared(part) for protocol, part in parts.items() if len(part)}


def _of(fits: pd.DataFrame, printed: Sequence[Printed]) -> list[Printed]:
    names = {score.name for score in scores.predictive(fits)}
    return [line for line in printed if line.score in names]


def _show(kind: Kind, tables_folder: Path, frames: Frames, notes: Mapping[Study, Sequence[str]]) -> Part:
    """Tables and figures of a kind, and its part of the report."""
    exact = frames[TOY] if kind.about is words.REGRESSION else None
    more = toy.section(exact, notes[TOY]) if exact is not None else ()
    tables.write(kind.fits, kind.printed, tables_folder, kind.made, kind.about, more)
    drawn = figures.write(kind.fits, kind.folder)
    drawn += toy.draw(exact, kind.folder) if exact is not None else []
    if kind.about.stem == words.CLASSIFICATION.stem:
        drawn += _studied(frames, kind.folder)
    won, ranked = tables.wins(kind.fits), tables.ranks(kind.fits)
    shown = []
    if len(won):
        heading = "Experiments won on the UCI sets, ours and published"
        shown.append((heading, tables.published_wins(won, kind.printed)))
    if len(ranked):
        shown.append(("Average ranks on the UCI sets", tables.average_ranks(ranked)))
    return Part(
        title=kind.about.title,
        paragraphs=[" ".join(kind.about.introduction.split()), *tables.covered(kind.fits)],
        tables=[Table(heading, header, cells) for heading, (header, _, cells) in shown],
        figures=[FigureFile(path, words.CAPTIONS[path.stem]) for path in sorted(drawn, key=figures.number)],
    )


def _studied(frames: Frames, folder: Path) -> list[Path]:
    """Figures of the studies of classification that were made."""
    drawn = []
    fits, points, equal = frames[BANANA], frames[MAP], frames[DENSE]
    if fits is not None and points is not None:
        drawn.append(banana.draw(fits, points, folder))
    if equal is not None:
        drawn.append(dense.draw(equal, folder))
    return drawn
