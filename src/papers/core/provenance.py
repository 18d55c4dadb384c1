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
MANY, SHOWN = 12, 3
"""Groups that a sentence can name, and that it names of more of them."""


class Group(NamedTuple):
    """Rows of one `Study.group`, and what became of those that were repeated.

    Attributes
    ----------
    study, name : str
    rows : int
        All of them.
    repeated, same, other, different : int
        Sums of `papers.core.verified.Verified`.
    stale : int
        Made under another protocol than today's.
    made, checked : tuple of str
        Days on which rows were made and repeated.
    """

    study: str
    name: str
    rows: int
    repeated: int
    same: int
    other: int
    different: int
    stale: int
    made: tuple[str, ...]
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
    known = records.read_runs(folder)
    found: dict[str, list[Verified]] = {}
    for row in verified.read(folder):
        if row.study == study.file:
            found.setdefault(row.group, []).append(row)
    every = frame.groupby(list(study.group), sort=False) if study.group else [((), frame)]
    return [_group(study, rows, known, found) for _, rows in every if len(rows)]


def _group(
    study: Study, rows: pd.DataFrame, known: Mapping[str, Run], found: Mapping[str, list[Verified]]
) -> Group:
    first = rows.iloc[0].to_dict()
    name = study.group_of(first)
    counts = rows[RUN].value_counts()
    made = sorted({known[run].date for run in counts.index})
    checks = [row for row in found.get(name, []) if row.date >= made[0]]
    today = study.protocol(first) if study.protocol else None
    return Group(
        study=study.file,
        name=name,
        rows=len(rows),
        repeated=sum(row.rows for row in checks),
        same=sum(row.same for row in checks),
        other=sum(row.other for row in checks),
        different=sum(row.different for row in checks),
        stale=sum(
            int(n) for run, n in counts.items() if study.protocol and known[str(run)].protocol != today
        ),
        made=tuple(made),
        checked=tuple(sorted({row.date for row in checks})),
    )


def note(groups: Sequence[Group]) -> list[str]:
    """Return wrapped lines of Markdown: what was made when, and how much was repeated; warnings in bold."""
    texts = [summary(groups), *(f"**{text}**" for text in warnings(groups))]
    return [line for text in texts if text for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False)]


def warnings(groups: Iterable[Group]) -> list[str]:
    """Return what nobody should overlook, a sentence for each reason and study."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        for reason, what in _reasons(group):
            reasons.setdefault((group.study, reason), []).append(
                f"{group.name} ({what})" if what else group.name
            )
    return [
        f"{reason}: {study}: {'; '.join(names) if reason == NOT_REPRODUCED else _named(names)}."
        for (study, reason), names in reasons.items()
    ]


def _named(names: Sequence[str]) -> str:
    """Name every group of a few, the first of many with their number."""
    if len(names) <= MANY:
        return "; ".join(names)
    return f"{len(names)} groups, {'; '.join(names[:SHOWN])} and {len(names) - SHOWN} more"


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
    rows, repeated, same, other = (
        sum(getattr(group, name) for group in groups) for name in ("rows", "repeated", "same", "other")
    )
    text = f"{counted(rows, 'row')} made {_span(day for group in groups for day in group.made)}"
    if not repeated:
        return f"{text}; none repeated."
    text += f"; {repeated} repeated {_span(day for group in groups for day in group.checked)}, "
    text += f"of which {same} gave the record"
    return f"{text} and {other} are chaotic or ended in another optimum." if other else f"{text}."


def _span(days: Iterable[str]) -> str:
    known = sorted({day for day in days if day})
    if not known:
        return "on days not recorded"
    return known[0] if len(known) == 1 else f"{known[0]} to {known[-1]}"
