"""The Power-EP records to their tables, figures, chapter of the audit and parts of the report.

Nothing is made where there is no record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.data.classification import PROTOCOLS, RELEASED
from papers.evidence import records as evidence
from papers.evidence import standing
from papers.evidence.parts import FigureFile, Part, Table, Written
from papers.pep import (
    banana,
    claims,
    contests,
    dense,
    digits_results,
    figures,
    published,
    scores,
    starts,
    tables,
    toy,
)
from papers.pep.records import BANANA, CLASSIFICATION, DENSE, DIGITS, MAP, REGRESSION, STUDIES, TOY
from papers.pep.regression import DESCRIBED

if TYPE_CHECKING:
    import pandas as pd

    from papers.evidence.study import Study
    from papers.pep.published import Printed

FIGURES = "pep"
"""Folder of the figures; those of classifications that are not `RELEASED` are in one of their protocol."""

TABLES = tables.names(tables.REGRESSION)
"""Made where there are regressions; `starts.NAMES` where some searches started elsewhere,
`digits_results.NAMES` with the digits."""

CAPTIONS = {
    **figures.CAPTIONS,
    **toy.CAPTIONS,
    **banana.CAPTIONS,
    **dense.CAPTIONS,
    **digits_results.CAPTIONS,
}
"""Figure -> what is printed under it."""


def class_tables(protocols: Iterable[str]) -> list[str]:
    """Tables of the classifications of some protocols."""
    return [name for protocol in protocols for name in tables.names(tables.under(protocol))]


def write(records: Path, tables_folder: Path, figures_folder: Path, published_folder: Path) -> Written:
    """Write tables and figures of what there are records of.

    Parameters
    ----------
    records : Path
        Root folder of the records of all papers.
    tables_folder, figures_folder, published_folder : Path
        The last holds the printed numbers (`published`).
    """
    frames = {study: evidence.find(study, records) for study in STUDIES}
    if all(frame is None for frame in frames.values()):
        return Written([], [], [])
    groups = {s: standing.groups(s, records, frame) for s, frame in frames.items() if frame is not None}
    notes = {study: standing.note(of_study) for study, of_study in groups.items()}
    printed = published.read(published_folder)
    folder = Path(figures_folder, FIGURES)
    parts = []
    regressions, digits = frames[REGRESSION], frames[DIGITS]
    if regressions is not None:
        regressions = regressions[regressions["protocol"] == DESCRIBED]
        notes[REGRESSION] = standing.note(standing.groups(REGRESSION, records, regressions))
    fits = scores.compared(REGRESSION.frame() if regressions is None else regressions)
    if regressions is not None:
        section, drawn = _toy(frames[TOY], notes.get(TOY, ()), folder)
        shown = published.about(fits, printed)
        tables.write(fits, shown, tables_folder, notes[REGRESSION], tables.REGRESSION, section)
        starts.write(regressions, notes[REGRESSION], tables_folder)
        parts.append(_part(tables.REGRESSION, fits, shown, [*figures.write(fits, folder), *drawn]))
    classes = _by_protocol(frames[CLASSIFICATION])
    for protocol, lines in classes.items():
        about, shown = tables.under(protocol), published.about(lines, printed)
        tables.write(lines, shown, tables_folder, _made(records, lines), about)
        drawn = figures.write(lines, folder / ("" if protocol == RELEASED else protocol))
        drawn += _studied(frames, folder) if protocol == RELEASED else []
        parts.append(_part(about, lines, shown, drawn))
    if digits is not None:
        digits_results.write(digits, notes[DIGITS], tables_folder)
        parts.append(digits_results.report(digits, folder))
    loud = [line for of_study in groups.values() for line in standing.loud(of_study)]
    claimed = contests.Published(printed, published.read_counts(published_folder))
    chapter = claims.chapter(claims.Evidence(fits, claimed, classes, frames, notes))
    return Written([chapter], parts, loud)


def _by_protocol(frame: pd.DataFrame | None) -> dict[str, pd.DataFrame]:
    if frame is None:
        return {}
    lines = {protocol: frame[frame["protocol"] == protocol] for protocol in PROTOCOLS}
    return {protocol: scores.compared(chosen) for protocol, chosen in lines.items() if len(chosen)}


def _made(records: Path, lines: pd.DataFrame) -> list[str]:
    """What made classifications of one protocol."""
    return standing.note(standing.groups(CLASSIFICATION, records, lines))


def _toy(frame: pd.DataFrame | None, made: Sequence[str], folder: Path) -> tuple[list[str], list[Path]]:
    """Section and figures of exact regression, if there is any."""
    return ([], []) if frame is None else (toy.section(frame, made), toy.draw(frame, folder))


def _studied(frames: dict[Study, pd.DataFrame | None], folder: Path) -> list[Path]:
    """Figures of the studies of classification that were made."""
    drawn = []
    fits, points, equal = frames[BANANA], frames[MAP], frames[DENSE]
    if fits is not None and points is not None:
        drawn.append(banana.draw(fits, points, folder))
    if equal is not None:
        drawn.append(dense.draw(equal, folder))
    return drawn


def _part(about: tables.About, fits: pd.DataFrame, printed: Sequence[Printed], drawn: Iterable[Path]) -> Part:
    """Compared fits in the report."""
    won, ranked = tables.wins(fits), tables.ranks(fits)
    shown = []
    if len(won):
        heading = "Experiments won on the UCI sets, ours and published"
        shown.append((heading, tables.published_wins(won, printed)))
    if len(ranked):
        shown.append(("Average ranks on the UCI sets", tables.average_ranks(ranked)))
    return Part(
        title=about.title,
        paragraphs=[" ".join(about.introduction.split()), *tables.covered(fits)],
        tables=[Table(heading, header, cells) for heading, (header, _, cells) in shown],
        figures=[FigureFile(path, CAPTIONS[path.stem]) for path in sorted(drawn, key=figures.number)],
    )
