"""The PESC records to tables, figures and their chapter of the audit."""

from __future__ import annotations

from pathlib import Path

from papers.evidence import records, standing
from papers.evidence.parts import Written
from papers.pesc import claims, figures, tables
from papers.pesc.records import ACCURACY, STUDIES

FIGURES = "pesc"
TABLES = tables.NAMES


def write(folder: str | Path, tables_folder: str | Path, figures_folder: str | Path) -> Written:
    """Write tables and figures of what there are records of; nothing without any.

    Parameters
    ----------
    folder : path
        Of all records.
    tables_folder, figures_folder : path
    """
    frames = {study: records.load(study, folder) for study in STUDIES}
    if all(frame.empty for frame in frames.values()):
        return Written([], [])
    groups = {study: standing.groups(study, folder, frame) for study, frame in frames.items()}
    notes = {study: standing.note(of_study) for study, of_study in groups.items()}
    tables.write(frames, tables_folder, notes)
    figures.write(frames, Path(figures_folder, FIGURES))
    loud = [line for of_study in groups.values() for line in standing.loud(of_study)]
    return Written([claims.chapter(frames[ACCURACY], notes[ACCURACY])], loud)
