"""The Power-EP record to its tables, figures, chapter of the audit and part of the report.

Nothing is made where there is no record.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tilted.results import report, stamps, studies
from tilted.results.audit.text import Chapter
from tilted.results.pep import figures, published, records, scores, starts, tables, verdicts, words

FIGURES = "pep"
"""Folder of the figures."""

TABLES = ("pep.md", "pep_wins.csv", "pep_ranks.csv", "pep_means.csv")
"""Always made; `starts.NAMES` where some searches started elsewhere."""


class Written(NamedTuple):
    """What the common artifacts take up.

    Attributes
    ----------
    audit : list of audit.text.Chapter
        One, or none without a record.
    report : list of report.Part
        The same.
    loud : list of str
        What was not made by today's source.
    """

    audit: list[Chapter]
    report: list[report.Part]
    loud: list[str]


def write(folder: str | Path | None, tables_folder, figures_folder, published_folder) -> Written:
    """Write `TABLES`, the tables about starts and the figures in ``pep/``.

    Parameters
    ----------
    folder : str or Path, optional
        Folder of the record `records.REGRESSION.file` and of the study `studies.LIMITS`.
    tables_folder, figures_folder, published_folder : str or Path
        The last holds the printed numbers (`published.FILE`).
    """
    if folder is None or not Path(folder, records.REGRESSION.file).is_file():
        return Written([], [], [])
    frame = records.read_records(Path(folder, records.REGRESSION.file))
    printed = published.read(Path(published_folder, published.FILE))
    fits = scores.compared(frame)
    made = records.made(folder)
    tables.write(fits, printed, tables_folder, made)
    starts.write(folder, tables_folder)
    drawn = figures.write(fits, Path(figures_folder, FIGURES))
    limits = studies.read(folder, studies.LIMITS)
    loud = stamps.loud(f"{FIGURES}/{records.REGRESSION.file}", made)
    loud += stamps.loud(f"{FIGURES}/{studies.LIMITS}", studies.made(studies.LIMITS, limits))
    return Written([verdicts.chapter(fits, printed, limits)], [_part(fits, printed, drawn)], loud)


def _part(fits, printed, drawn: list[Path]) -> report.Part:
    won, ranked = tables.wins(fits), tables.ranks(fits)
    shown = []
    if len(won):
        shown.append(
            ("Experiments won on the UCI sets, ours and published", tables.published_wins(won, printed))
        )
    if len(ranked):
        shown.append(("Average ranks on the UCI sets", tables.average_ranks(ranked)))
    return report.Part(
        title=words.TITLE,
        paragraphs=[" ".join(words.INTRODUCTION.split()), *tables.covered(fits)],
        tables=[report.Table(heading, header, cells) for heading, (header, _, cells) in shown],
        figures=[report.FigureFile(path, words.CAPTIONS[path.stem]) for path in drawn],
    )
