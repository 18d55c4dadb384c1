"""The Power-EP record to its tables, figures, chapter of the audit and part of the report.

Nothing is made where there is no record.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tilted.results import report, stamps, studies
from tilted.results.audit.text import Chapter
from tilted.results.pep import (
    figures,
    mnist,
    mnist_figures,
    mnist_tables,
    published,
    records,
    rerun,
    scores,
    starts,
    tables,
    toy,
    toy_figures,
    verdicts,
    words,
)

FIGURES = "pep"
"""Folder of the figures."""

TABLES = ("pep.md", "pep_wins.csv", "pep_ranks.csv", "pep_means.csv")
"""Always made; `starts.NAMES` where some searches started elsewhere, `mnist_tables.NAMES` with the digits."""


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
        Folder of the record `records.FILE`, of the studies `studies.LIMITS` and `studies.TOY`, and of the
        digits, `mnist.FILE`.
    tables_folder, figures_folder, published_folder : str or Path
        The last holds the printed numbers (`published.FILE`).
    """
    if folder is None or not Path(folder, records.FILE).is_file():
        return Written([], [], [])
    frame = records.read_records(Path(folder, records.FILE))
    printed = published.read(Path(published_folder, published.FILE))
    fits = scores.compared(frame)
    made, exact = rerun.made(folder, frame), toy.read(folder)
    tables.write(fits, printed, tables_folder, made, toy.section(exact) if exact is not None else ())
    starts.write(folder, tables_folder)
    drawn = figures.write(fits, Path(figures_folder, FIGURES))
    drawn += toy_figures.write(exact, Path(figures_folder, FIGURES)) if exact is not None else []
    drawn.sort(key=lambda path: list(words.CAPTIONS).index(path.stem))
    limits = studies.read(folder, studies.LIMITS)
    loud = stamps.loud(f"{FIGURES}/{records.FILE}", made)
    digits = mnist.read(Path(folder, mnist.FILE))
    for name, table in ((studies.LIMITS, limits), (studies.TOY, exact), (mnist.FILE, digits)):
        loud += stamps.loud(f"{FIGURES}/{name}", studies.made(name, table))
    parts = [_part(fits, printed, drawn)]
    if digits is not None:
        parts.append(_digits(digits, tables_folder, Path(figures_folder, FIGURES)))
    return Written([verdicts.chapter(fits, printed, limits, digits)], parts, loud)


def _digits(table, tables_folder, figures_folder: Path) -> report.Part:
    """Tables and figures of the digits, and their part of the report."""
    mnist_tables.write(table, tables_folder)
    drawn = mnist_figures.write(table, figures_folder)
    header, _, cells = mnist_tables.cells(table)
    return report.Part(
        title=mnist_tables.TITLE,
        paragraphs=[" ".join(mnist_tables.INTRODUCTION.split()), f"{mnist.covered(table)}."],
        tables=[report.Table("Times to few errors, and where the trainings end", header, cells)],
        figures=[report.FigureFile(path, mnist_figures.CAPTIONS[path.stem]) for path in drawn],
    )


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
