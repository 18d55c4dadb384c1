"""Turn the Power-EP records into tables, figures, a chapter of the audit and sections of the report.

Without a record there are no artifacts of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import provenance, records
from papers.core.audit import Written
from papers.data.classification import PROTOCOLS
from papers.pep import banana, data_sets, dense, published, scores, tables, toy
from papers.pep.claims import chapter as claims
from papers.pep.claims import contests
from papers.pep.digits import results as digits_results
from papers.pep.figures import numbered as figures
from papers.pep.records import BANANA, CLASSIFICATION, DENSE, DIGITS, MAP, REGRESSION, STUDIES, TOY
from papers.pep.regression import SEARCHES

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study
    from papers.core.verdicts import Finding

    Frames = Mapping[Study, pd.DataFrame | None]
    Compared = dict[Study, dict[str, pd.DataFrame]]

FIGURES = "pep"
"""Folder of the figures; protocols other than `tables.About.plain` have a folder of their own."""

KINDS = {
    REGRESSION: (tables.REGRESSION, tuple(SEARCHES)),
    CLASSIFICATION: (tables.CLASSIFICATION, PROTOCOLS),
}
"""Study of compared fits -> its `tables.About`, and its protocols."""

CAPTIONS = {
    **figures.CAPTIONS,
    **toy.CAPTIONS,
    **banana.CAPTIONS,
    **dense.CAPTIONS,
    **digits_results.CAPTIONS,
}
"""Figure -> caption."""


def write(folder: Path, tables_folder: Path, figures_folder: Path, published_folder: Path) -> Written:
    """Write tables and figures of the available records.

    Parameters
    ----------
    folder : Path
        Root folder of the records of all papers.
    tables_folder, figures_folder, published_folder : Path
        The last holds the printed numbers (`published`).
    """
    frames = {study: records.find(study, folder) for study in STUDIES}
    if all(frame is None for frame in frames.values()):
        return Written([], [])
    notes, loud = provenance.of(frames, folder)
    printed = published.read(published_folder)
    figures_below = Path(figures_folder, FIGURES)
    compared: Compared = {study: {} for study in KINDS}
    for study, protocol, lines in _runs(frames):
        fits = compared[study][protocol] = scores.compared(lines, protocol)
        kind, note_lines = KINDS[study][0], provenance.note(provenance.groups(study, folder, lines))
        about, printed_shares = kind.under(protocol), published.about(fits, printed)
        figures.write(fits, figures_below / ("" if protocol == kind.plain else protocol))
        section: list[str] = []
        if protocol == kind.plain and study is REGRESSION:
            section = _toy(frames[TOY], notes[TOY], figures_below)
        elif protocol == kind.plain:
            _studied(frames, figures_below)
        tables.write(fits, printed_shares, tables_folder, note_lines, about, section)
    digits = frames[DIGITS]
    if digits is not None:
        digits_results.write(digits, notes[DIGITS], tables_folder)
        digits_results.draw(digits, figures_below)
    if any(compared.values()):
        data_sets.write(tables_folder, published_folder)
    chapter = claims.chapter(_evidence(compared, frames, notes, published_folder))
    return Written([chapter], loud)


def findings(folder: Path, published_folder: Path, names: Collection[str]) -> list[Finding]:
    """Judge some claims and write nothing."""
    frames = {study: records.find(study, folder) for study in STUDIES}
    compared: Compared = {study: {} for study in KINDS}
    for study, protocol, lines in _runs(frames):
        compared[study][protocol] = scores.compared(lines, protocol)
    return claims.judge(_evidence(compared, frames, {}, published_folder), names)


def draw(name: str, folder: Path, figures_folder: Path) -> None:
    """Draw one figure under every protocol that was run, with the figures that come with it."""
    frames = {study: records.find(study, folder) for study in STUDIES}
    below, exact, digits = figures_folder / FIGURES, frames[TOY], frames[DIGITS]
    if name in toy.CAPTIONS and exact is not None:
        toy.draw(exact, below)
    elif name in digits_results.CAPTIONS and digits is not None:
        digits_results.draw(digits, below)
    elif name in (*banana.CAPTIONS, *dense.CAPTIONS):
        _studied(frames, below)
    for study, protocol, lines in _runs(frames):
        drawings = figures.CLASSIFICATION if study is CLASSIFICATION else figures.REGRESSION
        if name in drawings:
            under = below / ("" if protocol == KINDS[study][0].plain else protocol)
            drawings[name].draw(scores.compared(lines, protocol), under / name)


def _evidence(
    compared: Compared, frames: Frames, notes: Mapping[Study, Sequence[str]], published_folder: Path
) -> claims.Evidence:
    claimed = contests.Published(published.read(published_folder), published.read_counts(published_folder))
    return claims.Evidence(compared[REGRESSION], compared[CLASSIFICATION], claimed, frames, notes)


def _runs(frames: Frames) -> Iterator[tuple[Study, str, pd.DataFrame]]:
    """Yield each study of `KINDS`, each protocol that was run, and its rows."""
    for study, (_, protocols) in KINDS.items():
        frame = frames[study]
        if frame is None:
            continue
        for protocol in protocols:
            lines = frame[frame["protocol"] == protocol]
            if len(lines):
                yield study, protocol, lines


def _toy(frame: pd.DataFrame | None, made: Sequence[str], folder: Path) -> list[str]:
    """Draw the figures of exact regression, if there are records, and return its section."""
    if frame is None:
        return []
    toy.draw(frame, folder)
    return toy.section(frame, made)


def _studied(frames: Frames, folder: Path) -> None:
    """Draw the figures of the small studies of classification that have records."""
    fits, points, equal = frames[BANANA], frames[MAP], frames[DENSE]
    if fits is not None and points is not None:
        banana.draw(fits, points, folder)
    if equal is not None:
        dense.draw(equal, folder)
