"""Notes on how far the records were checked: which rows were repeated, when, and with what result.

Warnings are for groups with rows that were not reproduced, of which too few rows were repeated (`ENOUGH`), or
that were made under another protocol than today's.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core import records, verified
from papers.core.grid import WIDTH, counted
from papers.core.study import RUN, Study

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.runs import Run
    from papers.core.verified import Verified

ENOUGH = 30
"""Repeated rows of a group that are enough to stand for all."""
NOT_REPRODUCED, NEVER, TOO_FEW = "NOT REPRODUCED", "NEVER REPEATED", "TOO FEW REPEATED"
STALE = "ANOTHER PROTOCOL THAN TODAY'S"
MANY, FIRST = 12, 3
"""Groups that a sentence can name, and that it names of more of them."""


class Group(NamedTuple):
    """Rows of one `Study.group`, and the results of repeating some of them.

    Attributes
    ----------
    study, name : str
    rows : int
        All of them.
    repeated, same, elsewhere, different : int
        Sums of `papers.core.verified.Verified` (``elsewhere``: its ``other``).
    stale : int
        Made under another protocol than today's.
    days, checked : tuple of str
        Days on which rows were made and repeated.
    """

    study: str
    name: str
    rows: int
    repeated: int
    same: int
    elsewhere: int
    different: int
    stale: int
    days: tuple[str, ...]
    checked: tuple[str, ...]

    @property
    def needed(self) -> int:
        """Rows that have to be repeated to stand for all."""
        return min(ENOUGH, self.rows)


def of(
    frames: Mapping[Study, pd.DataFrame | None], folder: str | Path
) -> tuple[dict[Study, list[str]], list[str]]:
    """Return the `note` of every study, empty without rows, and the `warnings` about all of them."""
    every = {study: [] if frame is None else groups(study, folder, frame) for study, frame in frames.items()}
    notes = {study: note(of_study) for study, of_study in every.items()}
    return notes, warnings(group for of_study in every.values() for group in of_study)


def groups(study: Study, folder: str | Path, frame: pd.DataFrame | None = None) -> list[Group]:
    """Return every group of a study's rows, in their order; none without a record.

    Parameters
    ----------
    study : Study
    folder : str or Path
        Of the records.
    frame : pandas.DataFrame, optional
        The study's rows, if they were read already.
    """
    frame = records.load(study, folder) if frame is None else frame
    runs, checks = records.read_runs(folder), verified.read(folder)
    tables = frame.groupby(list(study.group), sort=False) if study.group else [((), frame)]
    return [_group(study, rows, runs, checks) for _, rows in tables if len(rows)]


def _group(study: Study, rows: pd.DataFrame, runs: Mapping[str, Run], checks: Iterable[Verified]) -> Group:
    first = rows.iloc[0].to_dict()
    name = study.group_of(first)
    counts = rows[RUN].value_counts()
    days = sorted({runs[run].date for run in counts.index})
    checks = [x for x in checks if (x.study, x.group) == (study.file, name) and x.date >= days[0]]
    today = study.protocol(first) if study.protocol else None
    return Group(
        study=study.file,
        name=name,
        rows=len(rows),
        repeated=sum(row.rows for row in checks),
        same=sum(row.same for row in checks),
        elsewhere=sum(row.other for row in checks),
        different=sum(row.different for row in checks),
        stale=sum(int(n) for run, n in counts.items() if study.protocol and runs[str(run)].protocol != today),
        days=tuple(days),
        checked=tuple(sorted({row.date for row in checks})),
    )


def note(groups: Sequence[Group]) -> list[str]:
    """Return wrapped lines of Markdown: days of the rows, how much was repeated; warnings in bold."""
    texts = [summary(groups), *(f"**{text}**" for text in warnings(groups))]
    return [line for text in texts if text for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False)]


def warnings(groups: Iterable[Group]) -> list[str]:
    """Return a warning for each reason and study."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        for reason, count in _reasons(group):
            text = f"{group.name} ({count})" if count else group.name
            reasons.setdefault((group.study, reason), []).append(text)
    return [
        f"{reason}: {study}: {'; '.join(names) if reason == NOT_REPRODUCED else _named(names)}."
        for (study, reason), names in reasons.items()
    ]


def _named(names: Sequence[str]) -> str:
    """Name every group of a few, the first of many with their number."""
    if len(names) <= MANY:
        return "; ".join(names)
    return f"{len(names)} groups, {'; '.join(names[:FIRST])} and {len(names) - FIRST} more"


def _reasons(group: Group) -> Iterable[tuple[str, str]]:
    if group.different:
        yield NOT_REPRODUCED, f"{group.different} of {group.repeated} differ"
    if not group.repeated:
        yield NEVER, ""
    elif group.repeated < group.needed:
        yield TOO_FEW, f"{group.repeated} of {group.needed}"
    if group.stale:
        yield STALE, counted(group.stale, "row")


def summary(groups: Sequence[Group]) -> str:
    """Return one sentence about all groups."""
    if not groups:
        return ""
    rows, repeated, same, elsewhere = (
        sum(getattr(group, name) for group in groups) for name in ("rows", "repeated", "same", "elsewhere")
    )
    text = f"{counted(rows, 'row')} made {_span(day for group in groups for day in group.days)}"
    if not repeated:
        return f"{text}; none repeated."
    text += f"; {repeated} repeated {_span(day for group in groups for day in group.checked)}, "
    text += f"of which {same} gave the record"
    return f"{text} and {elsewhere} are chaotic or ended in another optimum." if elsewhere else f"{text}."


def _span(days: Iterable[str]) -> str:
    recorded = sorted({day for day in days if day})
    if not recorded:
        return "on days not recorded"
    return recorded[0] if len(recorded) == 1 else f"{recorded[0]} to {recorded[-1]}"
