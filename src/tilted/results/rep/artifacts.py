"""The relaxed-EP records to tables, figures, a chapter of the audit and a part of the report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tilted.provenance import closure_hash
from tilted.results import report, stamps
from tilted.results.audit.text import Chapter
from tilted.results.audit.verdicts import Finding
from tilted.results.rep import claims, figures, points, records, tables, words
from tilted.results.written import Written

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from tilted.results.audit.verdicts import Block

    Judge = Callable[[pd.DataFrame | None, claims.Protocol], list[Block]]

FIGURES = "rep"
"""Folder of the figures."""

MODULES = {
    "fits": "tilted.experiments.rep",
    "choices": "tilted.experiments.rep_choice",
    "points": "tilted.experiments.rep_points",
    "exact": "tilted.experiments.rep_exact",
    "boundary": "tilted.experiments.rep_boundary",
}
"""Kind of record -> the module that makes its lines; curves come with the fits."""


def write(folder: str | Path | None, tables_folder: str | Path, figures_folder: str | Path) -> Written:
    """Write tables and figures of what there are records of; nothing without any.

    Parameters
    ----------
    folder : path or None
        Of the records.
    tables_folder, figures_folder : path
    """
    found = {kind: records.read(folder, kind) for kind in records.KINDS}
    if all(table is None for table in found.values()):
        return Written([], [], [])
    made = {kind: _made(kind, found[kind]) for kind in MODULES}
    provenance = [line for kind, of in made.items() for line in _provenance(kind, of)]
    tables.write(found, tables_folder, provenance)
    drawn = figures.write(found, Path(figures_folder, FIGURES))
    part = report.Part(
        title=words.TITLE,
        paragraphs=[" ".join(words.INTRODUCTION.split())],
        tables=[report.Table("Test errors", tables.HEADER, tables.cells(found["fits"]))],
        figures=[report.FigureFile(path, figures.CAPTIONS[path.stem]) for path in drawn],
    )
    loud = [line for kind, of in made.items() for line in stamps.loud(f"rep/{records.FILES[kind]}", of)]
    return Written([chapter(found)], [part], loud)


def chapter(found: dict[str, pd.DataFrame | None]) -> Chapter:
    """Every claim under both protocols."""
    fits = claims.once(found["fits"])
    judged: list[tuple[str, Judge, pd.DataFrame | None]] = [
        *((name, judge, found["points"]) for name, judge in points.OF_POINTS.items()),
        *((name, judge, fits) for name, judge in claims.OF_FITS.items()),
    ]
    findings = [
        Finding(name, protocol.name, tuple(judge(table, protocol)))
        for name, judge, table in judged
        for protocol in claims.PROTOCOLS
    ]
    return Chapter(words.HEADING, findings, words.TITLES, words.MEANINGS, words.LEGEND)


def _made(kind: str, table: pd.DataFrame | None) -> list[stamps.Made]:
    """By which source the parts of a record were made."""
    if table is None:
        return []
    part = table.assign(part=table.get("dataset", kind))
    return stamps.of_table(part, None, "part", lambda _: closure_hash(MODULES[kind]))


def _provenance(kind: str, made: list[stamps.Made]) -> list[str]:
    return [f"`{records.FILES[kind]}`:", "", *stamps.note(made), ""] if made else []
