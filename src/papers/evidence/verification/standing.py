"""What may be believed of the records: what was made again by execution, when, and with what result.

Loud is what was not reproduced, what was never made again (or fewer than `ENOUGH` fits of a group), and what
was made under another protocol than today's. That a source file changed says nothing, and is not looked at.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core.study import RUN, Study
from papers.evidence import records
from papers.evidence.grid import WIDTH, counted
from papers.evidence.verification import verified
from papers.evidence.verification.outcome import BY_SEARCH, DIFFERS, PASSED, REPORTED, SCRATCH
from papers.evidence.verification.verified import Check

if TYPE_CHECKING:
    import pandas as pd

    from papers.evidence.runs import Run

ENOUGH = 30
"""Fits of a group that are enough to stand for all."""
DIFFERENT, NEVER, TOO_LITTLE = "NOT REPRODUCED", "NEVER SAMPLED", "SAMPLED TOO LITTLE"
STALE = "ANOTHER PROTOCOL THAN TODAY'S"
MANY, SHOWN = 12, 3
"""Groups that a sentence can name, and that it names of more of them."""


class Group(NamedTuple):
    """Fits of one `Study.group`, and what became of those that were made again.

    Attributes
    ----------
    study, name : str
    fits : int
        All of them.
    good, scratch, differing, chaotic : int
        Fits made again: reproduced, of these from scratch too; that differ; that ended elsewhere, as chaotic
        searches do.
    stale : int
        Made under another protocol than today's.
    made, checked : tuple of str
        Days of the runs; days and commits of the re-executions.
    """

    study: str
    name: str
    fits: int
    good: int
    scratch: int
    differing: int
    chaotic: int
    stale: int
    made: tuple[str, ...]
    checked: tuple[str, ...]

    @property
    def sampled(self) -> int:
        """Fits that were made again."""
        return self.good + self.differing + self.chaotic

    @property
    def needed(self) -> int:
        """Fits that have to be made again to stand for all."""
        return min(ENOUGH, self.fits)


def of(
    frames: Mapping[Study, pd.DataFrame | None], folder: str | Path
) -> tuple[dict[Study, list[str]], list[str]]:
    """The `note` of every study, empty where there are no lines, and what is `loud` in all of them."""
    known, checks = records.read_runs(folder), verified.read(folder)
    every = {
        study: [] if frame is None else _groups(study, frame, known, checks)
        for study, frame in frames.items()
    }
    notes = {study: note(of_study) for study, of_study in every.items()}
    return notes, loud(group for of_study in every.values() for group in of_study)


def groups(study: Study, folder: str | Path, frame: pd.DataFrame | None = None) -> list[Group]:
    """Every group of a study's lines, in their order; none where there is no record.

    Parameters
    ----------
    study : Study
    folder : str or Path
        Of the records.
    frame : pandas.DataFrame, optional
        The study's lines, if they were read already.
    """
    frame = records.load(study, folder) if frame is None else frame
    return _groups(study, frame, records.read_runs(folder), verified.read(folder))


def _groups(
    study: Study, frame: pd.DataFrame, known: Mapping[str, Run], checks: Iterable[Check]
) -> list[Group]:
    by_group: dict[str, list[Check]] = {}
    for check in verified.counting(checks, study, frame):
        by_group.setdefault(check.group, []).append(check)
    every = []
    for _, lines in frame.groupby(list(study.group), sort=False) if study.group else [((), frame)]:
        if len(lines):
            every.append(_group(study, lines, known, by_group))
    return every


def _group(
    study: Study, frame: pd.DataFrame, known: Mapping[str, Run], by_group: Mapping[str, list[Check]]
) -> Group:
    first = frame.iloc[0].to_dict()
    name = verified.group_of(study, first)
    by_fit: dict[str, list[Check]] = {}
    for check in by_group.get(name, []):
        by_fit.setdefault(check.fit, []).append(check)
    verdicts = [_verdict(checks) for checks in by_fit.values()]
    scratch = sum(
        _verdict(checks) == PASSED and any(check.how == SCRATCH for check in checks)
        for checks in by_fit.values()
    )
    lines = frame[RUN].value_counts()
    today = study.protocol(first) if study.protocol else None
    stale = sum(int(n) for run, n in lines.items() if study.protocol and known[run].protocol != today)
    made = tuple(sorted({known[run].date for run in lines.index}))
    checked = tuple(sorted({f"{c.date}, commit {c.commit or 'unknown'}" for c in by_group.get(name, [])}))
    return Group(
        study=study.file,
        name=name,
        fits=len(frame),
        good=verdicts.count(PASSED),
        scratch=scratch,
        differing=verdicts.count(DIFFERS),
        chaotic=verdicts.count(REPORTED),
        stale=stale,
        made=made,
        checked=checked,
    )


def _verdict(checks: Iterable[Check]) -> str:
    """Of all ways in which a fit was made again."""
    verdicts = {check.passed for check in checks}
    if DIFFERS in verdicts:
        return DIFFERS
    return PASSED if verdicts & {PASSED, BY_SEARCH} else REPORTED


def note(groups: Sequence[Group]) -> list[str]:
    """Wrapped lines of Markdown: what was made when, and what of it was made again; loud things in bold."""
    texts = [summary(groups), *(f"**{text}**" for text in loud(groups))]
    return [line for text in texts if text for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False)]


def loud(groups: Iterable[Group]) -> list[str]:
    """What nobody should overlook, a sentence for each reason and study."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        for reason, what in _reasons(group):
            reasons.setdefault((group.study, reason), []).append(
                f"{group.name} ({what})" if what else group.name
            )
    return [
        f"{reason}: {study}: {'; '.join(names) if reason == DIFFERENT else _named(names)}."
        for (study, reason), names in reasons.items()
    ]


def _named(names: Sequence[str]) -> str:
    """Every name of a few, the first of many with their number."""
    if len(names) <= MANY:
        return "; ".join(names)
    return f"{len(names)} groups, {'; '.join(names[:SHOWN])} and {len(names) - SHOWN} more"


def _reasons(group: Group) -> Iterable[tuple[str, str]]:
    if group.differing:
        yield DIFFERENT, f"{group.differing} of {group.sampled} differ"
    if not group.sampled:
        yield NEVER, ""
    elif group.sampled < group.needed:
        yield TOO_LITTLE, f"{group.sampled} of {group.needed}"
    if group.stale:
        yield STALE, counted(group.stale, "fit")


def summary(groups: Sequence[Group]) -> str:
    """One sentence about all groups."""
    if not groups:
        return ""
    fits, sampled, good, scratch, chaotic = (
        sum(getattr(group, name) for group in groups)
        for name in ("fits", "sampled", "good", "scratch", "chaotic")
    )
    made = _span(day for group in groups for day in group.made if day)
    text = f"{counted(fits, 'line')} made {made or 'on days not recorded'}"
    if not sampled:
        return f"{text}; none made again."
    again = _span(when.split(",")[0] for group in groups for when in group.checked)
    text += f"; {sampled} made again {again}, of which {good} gave the record ({scratch} from scratch too)"
    return f"{text} and {chaotic} chaotic ones ended elsewhere." if chaotic else f"{text}."


def _span(days: Iterable[str]) -> str:
    known = sorted(set(days))
    return known[0] if len(known) == 1 else f"{known[0]} to {known[-1]}" if known else ""
