"""The Power-EP records to their tables, figures, chapter of the audit and parts of the report.

Nothing is made where there is no record.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tilted.data.classification import PROTOCOLS, RELEASED
from tilted.results import report, stamps, studies
from tilted.results.pep import (
    dense,
    figures,
    mnist,
    mnist_figures,
    mnist_tables,
    pseudo_points,
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
from tilted.results.pep.forms import CLASSIFICATION, FORMS, REGRESSION, Form
from tilted.results.written import Written

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from tilted.results.pep.published import Printed
    from tilted.results.stamps import Made

FIGURES = "pep"
"""Folder of the figures; those of classifications that are not `RELEASED` are in one of their protocol."""

TABLES = tables.names(words.REGRESSION.stem)
"""Made where there are regressions; `starts.NAMES` where some searches started elsewhere,
`mnist_tables.NAMES` with the digits."""

STUDIES = (studies.LIMITS, studies.DENSE, studies.BANANA, studies.MAP)
"""Beside `toy.read` and `mnist.read`, which check what they read."""


class Kind(NamedTuple):
    """Compared fits that are shown together: what they are called, printed shares, folder of figures."""

    about: words.About
    fits: pd.DataFrame
    printed: list[published.Printed]
    folder: Path


def class_tables(protocols: Iterable[str]) -> list[str]:
    """Tables of the classifications of some protocols."""
    return [name for protocol in protocols for name in tables.names(words.under(protocol).stem)]


def write(
    folder: str | Path | None,
    tables_folder: str | Path,
    figures_folder: str | Path,
    published_folder: str | Path,
) -> Written:
    """Write tables and figures of what there are records of.

    Parameters
    ----------
    folder : str or Path, optional
        Folder of the records (`forms.FORMS`), of `STUDIES`, `studies.TOY` and of the digits, `mnist.FILE`.
    tables_folder, figures_folder, published_folder : str or Path
        The last holds the printed numbers (`published.FILE`).
    """
    if folder is None:
        return Written([], [], [])
    forms, found = [form for form in FORMS.values() if Path(folder, form.file).is_file()], _studies(folder)
    if not forms and all(table is None for table in found.values()):
        return Written([], [], [])
    printed = published.read(Path(published_folder, published.FILE))
    frames = {form: records.load(folder, form) for form in FORMS.values()}
    made = {form: _made(folder, form, frames[form]) for form in forms}
    fits = scores.compared(frames[REGRESSION])
    classes = _by_protocol(frames[CLASSIFICATION])
    parts = [
        _show(kind, made[form], tables_folder, found)
        for form in forms
        for kind in _kinds(form, fits, classes, printed, Path(figures_folder, FIGURES))
    ]
    starts.write(folder, tables_folder)
    if found[studies.DIGITS] is not None:
        parts.append(_digits(found[studies.DIGITS], tables_folder, Path(figures_folder, FIGURES)))
    loud = [line for form in forms for line in stamps.loud(f"{FIGURES}/{form.file}", made[form])]
    for name, table in found.items():
        loud += stamps.loud(f"{FIGURES}/{name}", studies.made(name, table))
    return Written([verdicts.chapter(verdicts.Evidence(fits, printed, classes, found))], parts, loud)


def _made(folder: str | Path, form: Form, frame: pd.DataFrame) -> list[stamps.Made]:
    """By which source the records of a form were made; only regressions are verified."""
    return rerun.made(folder, frame) if form is REGRESSION else records.made(folder, form)


def _studies(folder: str | Path) -> dict[str, pd.DataFrame | None]:
    """The studies beside the records, by file; None where one was not made."""
    found = {name: studies.read(folder, name) for name in STUDIES}
    return found | {studies.TOY: toy.read(folder), studies.DIGITS: mnist.read(Path(folder, mnist.FILE))}


def _digits(table: pd.DataFrame, tables_folder: str | Path, figures_folder: Path) -> report.Part:
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


def _by_protocol(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    parts = {protocol: frame[frame["protocol"] == protocol] for protocol in PROTOCOLS}
    return {protocol: scores.compared(part) for protocol, part in parts.items() if len(part)}


def _kinds(
    form: Form,
    fits: pd.DataFrame,
    classes: Mapping[str, pd.DataFrame],
    printed: Sequence[Printed],
    folder: Path,
) -> list[Kind]:
    """What the records of a form are shown as."""
    if form is REGRESSION:
        return [Kind(words.REGRESSION, fits, _of(fits, printed), folder)]
    return [
        Kind(words.under(name), part, _of(part, printed), folder / ("" if name == RELEASED else name))
        for name, part in classes.items()
    ]


def _of(fits: pd.DataFrame, printed: Sequence[Printed]) -> list[Printed]:
    names = {score.name for score in scores.predictive(fits)}
    return [line for line in printed if line.score in names]


def _show(
    kind: Kind, made: Sequence[Made], tables_folder: str | Path, found: Mapping[str, pd.DataFrame | None]
) -> report.Part:
    """Tables and figures of a kind, and its part of the report."""
    exact = found[studies.TOY] if kind.about is words.REGRESSION else None
    more = toy.section(exact) if exact is not None else ()
    tables.write(kind.fits, kind.printed, tables_folder, made, kind.about, more)
    drawn = figures.write(kind.fits, kind.folder)
    drawn += toy_figures.write(exact, kind.folder) if exact is not None else []
    if kind.about.stem == words.CLASSIFICATION.stem:
        drawn += _studied(found, kind.folder)
    won, ranked = tables.wins(kind.fits), tables.ranks(kind.fits)
    shown = []
    if len(won):
        heading = "Experiments won on the UCI sets, ours and published"
        shown.append((heading, tables.published_wins(won, kind.printed)))
    if len(ranked):
        shown.append(("Average ranks on the UCI sets", tables.average_ranks(ranked)))
    return report.Part(
        title=kind.about.title,
        paragraphs=[" ".join(kind.about.introduction.split()), *tables.covered(kind.fits)],
        tables=[report.Table(heading, header, cells) for heading, (header, _, cells) in shown],
        figures=[
            report.FigureFile(path, words.CAPTIONS[path.stem]) for path in sorted(drawn, key=figures.number)
        ],
    )


def _studied(found: Mapping[str, pd.DataFrame | None], folder: Path) -> list[Path]:
    """Figures of the studies of classification that were made."""
    drawn = []
    if found[studies.BANANA] is not None and found[studies.MAP] is not None:
        points = found[studies.MAP]
        drawn.append(pseudo_points.draw(found[studies.BANANA], points, folder / "figure23"))
    if found[studies.DENSE] is not None:
        drawn.append(dense.draw(found[studies.DENSE], folder / "figure33"))
    return [png for _, png in drawn]
