"""The artifacts of the PESC paper: tables, figures and claims, and the rows that each needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import provenance, records
from papers.core.audit import Written
from papers.core.slices import Slice
from papers.pesc import claims, tables
from papers.pesc.accuracy import ACCURACY
from papers.pesc.figures import FIGURES
from papers.pesc.records import STUDIES

if TYPE_CHECKING:
    from collections.abc import Collection

    from papers.core.verdicts import Finding

CAPTIONS = {name: figure.caption for name, figure in FIGURES.items()}

CLAIMS = dict.fromkeys(claims.CLAIMS, (Slice(ACCURACY),))
"""Claim -> the rows that it needs."""


def figure(name: str) -> tuple[Slice, ...]:
    """Return the rows that a figure needs."""
    return (Slice(FIGURES[name].study),)


def write(
    folder: str | Path,
    tables_folder: str | Path,
    figures_folder: str | Path,
    published_folder: Path | None = None,
) -> Written:
    """Write tables and figures of the records in a folder; nothing without any. No printed numbers enter."""
    frames = {study: records.load(study, folder) for study in STUDIES}
    if all(frame.empty for frame in frames.values()):
        return Written([], [])
    notes, warnings = provenance.of(frames, folder)
    tables.write(frames, tables_folder, notes)
    for name in FIGURES:
        draw(name, folder, figures_folder)
    return Written([claims.chapter(frames[ACCURACY], notes[ACCURACY])], warnings)


def draw(name: str, folder: str | Path, figures_folder: str | Path) -> None:
    """Draw one figure, if there are rows of its study."""
    rows = records.load(FIGURES[name].study, folder)
    if len(rows):
        FIGURES[name].draw(rows, Path(figures_folder, "pesc", name))


def findings(folder: str | Path, published_folder: Path, names: Collection[str]) -> list[Finding]:
    """Judge some claims and write nothing. No printed numbers enter."""
    chapter = claims.chapter(records.load(ACCURACY, folder))
    return [finding for finding in chapter.findings if finding.id in names]
