"""Turn the PESC records into tables, figures and a chapter of the audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import provenance, records
from papers.core.audit import Written
from papers.pesc import claims, figures, tables
from papers.pesc.records import ACCURACY, STUDIES

if TYPE_CHECKING:
    from collections.abc import Collection

    from papers.core.verdicts import Finding

FIGURES = "pesc"
TABLES = tables.NAMES


def write(folder: str | Path, tables_folder: str | Path, figures_folder: str | Path) -> Written:
    """Write tables and figures of the available records; nothing without any.

    Parameters
    ----------
    folder : path
        Of all records.
    tables_folder, figures_folder : path
    """
    frames = {study: records.load(study, folder) for study in STUDIES}
    if all(frame.empty for frame in frames.values()):
        return Written([], [])
    notes, loud = provenance.of(frames, folder)
    tables.write(frames, tables_folder, notes)
    figures.write(frames, Path(figures_folder, FIGURES))
    return Written([claims.chapter(frames[ACCURACY], notes[ACCURACY])], loud)


def draw(name: str, folder: Path, figures_folder: Path) -> None:
    """Draw one figure, and the other with it."""
    figures.write({study: records.load(study, folder) for study in STUDIES}, figures_folder / FIGURES)


def findings(folder: str | Path, published_folder: Path, names: Collection[str]) -> list[Finding]:
    """Judge some claims and write nothing; printed numbers do not enter."""
    every_finding = claims.chapter(records.load(ACCURACY, folder)).findings
    return [finding for finding in every_finding if finding.id in names]
