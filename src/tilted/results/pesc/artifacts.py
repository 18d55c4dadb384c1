"""The PESC studies to tables, figures, their chapter of the audit and their part of the report."""

from __future__ import annotations

from pathlib import Path

from tilted.results import report, stamps, studies
from tilted.results.pesc import claims, figures, tables
from tilted.results.written import Written

FIGURES = "pesc"
TABLES = tables.NAMES
STUDIES = (studies.ACCURACY, studies.REGRET)


def write(folder: str | Path | None, tables_folder: str | Path, figures_folder: str | Path) -> Written:
    """Write tables and figures of the studies in a folder; nothing where there is none."""
    found = {name: studies.read(folder, name) for name in STUDIES}
    if all(table is None for table in found.values()):
        return Written([], [], [])
    tables.write(found, tables_folder)
    drawn = figures.write(found, Path(figures_folder, FIGURES))
    shown = []
    for name, summarise, cells, heading in (
        (studies.ACCURACY, tables.accuracy, tables.accuracy_cells, "EP against rejection sampling"),
        (studies.REGRET, tables.regret, tables.regret_cells, "Searches"),
    ):
        if found[name] is not None:
            header, _, rows = cells(summarise(found[name]))
            shown.append(report.Table(heading, header, rows))
    part = report.Part(
        title=tables.TITLE,
        paragraphs=[" ".join(words.split()) for words in (tables.ACCURACY, tables.REGRET)],
        tables=shown,
        figures=[report.FigureFile(path, figures.CAPTIONS[path.stem]) for path in drawn],
    )
    loud = [
        line
        for name, table in found.items()
        for line in stamps.loud(f"{FIGURES}/{name}", studies.made(name, table))
    ]
    return Written([claims.chapter(found[studies.ACCURACY])], [part], loud)
