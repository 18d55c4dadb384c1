"""New lines into a record, unit by unit: which are older, the same or new, and the runs that made them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core.study import RUN, Study
from papers.evidence import runs, store
from papers.evidence.runs import Run
from papers.evidence.store import RecordError

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

LinesOf = Callable[[dict[str, "Any"]], Iterable[dict[str, "Any"]]]
"""Record of a fit -> its lines."""

Unit = tuple["Any", ...]
"""Values of `Study.unit`."""


class Change(NamedTuple):
    """What folding new lines into a record did, in its units, and a note; what is the same is kept."""

    added: int
    replaced: int
    kept: int
    outdated: int
    note: str = ""
    dropped: int = 0

    def __str__(self) -> str:
        parts = [f"{self.added} added, {self.replaced} replaced, {self.kept} kept"]
        if self.outdated:
            parts.append(f"{self.outdated} passed over, older than the records")
        if self.dropped:
            parts.append(f"{self.dropped} TAKEN OUT, not made this time (git has what was committed)")
        return "; ".join([*parts, *([self.note] if self.note else [])])


BACK = "BY OLDER CODE: lines of {} replaced those of {}, which comes after it (git has what was committed)"
"""What is said where the history of the code and the days of runs disagree."""
STRANGE = "BY OTHER CODE: lines of {} replaced those of {}; in this checkout's history neither comes first"
"""As of two branches, or where it is shallow, or a colleague's commit was never fetched."""

FEWER = "{} passed over, runs of which the records have longer ones (a preview's are short)"


class Made(NamedTuple):
    """Lines of a unit, the stamp of the job that made them, and when its file was written."""

    lines: list[dict[str, Any]]
    stamp: dict[str, str]
    written: int

    @property
    def age(self) -> tuple[str, int]:
        return self.stamp["date"], self.written


def collected(study: Study, paths: Iterable[str | Path], lines_of: LinesOf) -> dict[Unit, Made]:
    """Units of files of records; of two of one name the later.

    Raises
    ------
    RecordError
        A damaged file, one without records, or two records of one line in it.
    """
    latest: dict[Unit, Made] = {}
    for path in sorted(map(Path, paths)):
        records = store.read_records(path)
        if not records:
            raise RecordError(f"{path}: no record in it; delete it and run again")
        lines = ((line, stamp_of(record, path)) for record in records for line in lines_of(record))
        ours = grouped(study, lines, path.stat().st_mtime_ns, path)
        for unit, made in ours.items():
            if unit not in latest or latest[unit].age <= made.age:
                latest[unit] = made
    return latest


def stamp_of(record: dict[str, Any], path: Path) -> dict[str, str]:
    """What the job that made a record said about itself (`runs.stamp`)."""
    stamp = record.get(RUN)
    if not isinstance(stamp, dict) or not stamp.keys() >= set(runs.STAMP):
        raise RecordError(f"{path}: a record does not say what made it; make the file again")
    if not runs.is_date(stamp["date"]):
        raise RecordError(f"{path}: a record of '{stamp['date']}', which is no date; make the file again")
    return stamp


def grouped(
    study: Study, stamped: Iterable[tuple[dict[str, Any], dict[str, str]]], written: int, where: object
) -> dict[Unit, Made]:
    """Lines and the stamps of their jobs, by unit; two lines of one name and mixed stamps are refused."""
    units: dict[Unit, Made] = {}
    seen = set()
    for given, stamp in stamped:
        missing = [name for name in dict.fromkeys((*study.key, *study.unit)) if name not in given]
        if missing:
            raise RecordError(f"{where}: a record of {study.file} without {', '.join(missing)}")
        line = study.line(given)
        made = units.setdefault(tuple(line[name] for name in study.unit), Made([], stamp, written))
        if made.stamp != stamp:
            raise RecordError(f"{where}: {study.name_of(line)}: lines of several runs mixed")
        key = tuple(line[name] for name in study.key)
        if key and key in seen:
            raise RecordError(f"{where}: {study.name_of(line)}: two records of one line")
        seen.add(key)
        made.lines.append(line)
    return units


def merge(
    study: Study, had: pd.DataFrame, new: Mapping[Unit, Made], known: Mapping[str, Run], keep: bool = True
) -> tuple[pd.DataFrame, list[Run], Change]:
    """Lines of both, the runs of the new ones, and what changed."""
    import pandas as pd

    units = _units(study, had)
    run_of = {unit: known[run] for unit, run in zip(units, had[RUN], strict=True)}
    outdated = {unit for unit in new.keys() & run_of.keys() if new[unit].stamp["date"] < run_of[unit].date}
    shorter = _shorter(study, had, units, new) - outdated if keep else set()
    wins = {unit: made for unit, made in new.items() if unit not in outdated | shorter}
    again = _unchanged(study, had, wins, run_of)
    parts, fresh = _by_stamp(study, {unit: made for unit, made in wins.items() if unit not in again})
    stays = [unit in again or unit in outdated or (keep and unit not in wins) for unit in units]
    kept = _lines(had, stays)
    merged = pd.concat([kept, *parts] if len(kept) else parts or [kept], ignore_index=True)
    here = wins.keys() & run_of.keys()
    others = run_of.keys() - wins.keys()
    left = others if keep else outdated
    notes = _of_commits({(wins[unit].stamp["commit"], run_of[unit].commit) for unit in here - again})
    notes += [FEWER.format(len(shorter))] if shorter else []
    change = Change(
        added=len(wins) - len(here),
        replaced=len(here) - len(again),
        kept=len(left) + len(again),
        outdated=len(outdated),
        dropped=len(others - left),
        note="; ".join(notes),
    )
    return merged, fresh, change


def _of_commits(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """What a person should know of commits whose lines replaced those of others."""
    notes = []
    for new, old in sorted(pairs):
        if runs.precedes(new, old):
            notes.append(BACK.format(new, old))
        elif runs.are_commits(new, old) and not runs.precedes(old, new):
            notes.append(STRANGE.format(new, old))
    return notes


def _unchanged(
    study: Study, had: pd.DataFrame, new: Mapping[Unit, Made], run_of: Mapping[Unit, Run]
) -> set[Unit]:
    """Units whose new lines are in the record already, by a run of the same stamp."""
    shared = new.keys() & run_of.keys()
    known = {unit: new[unit] for unit in shared if _alike(new[unit].stamp, run_of[unit])}
    lines = study.frame({**line, RUN: ""} for made in known.values() for line in made.lines)
    units = _units(study, had)
    ours, theirs = (
        _by_unit(study, frame) for frame in (lines, _lines(had, [unit in known for unit in units]))
    )
    return {unit for unit in known if ours[unit] == theirs[unit]}


def _shorter(study: Study, had: pd.DataFrame, units: Iterable[Unit], new: Mapping[Unit, Made]) -> set[Unit]:
    """Units that are runs (`Study.progress`) of which the record has more."""
    if not study.progress:
        return set()
    ends = {unit: max(line[study.progress] for line in made.lines) for unit, made in new.items()}
    recorded = zip(units, had[study.progress].tolist(), strict=True)
    return {unit for unit, at in recorded if unit in ends and at > ends[unit]}


def _alike(stamp: Mapping[str, str], run: Run) -> bool:
    return all(stamp[name] == getattr(run, name) for name in runs.STAMP)


def _by_unit(study: Study, frame: pd.DataFrame) -> dict[Unit, list[Unit]]:
    """Lines as text, unit by unit, in the order of the record."""
    by_unit: dict[Unit, list[Unit]] = {}
    frame = study.sorted(frame)
    shown = study.printed(frame).drop(columns=RUN).astype(str).itertuples(index=False)
    for unit, line in zip(_units(study, frame), shown, strict=True):
        by_unit.setdefault(unit, []).append(tuple(line))
    return by_unit


def _by_stamp(study: Study, units: Mapping[Unit, Made]) -> tuple[list[pd.DataFrame], list[Run]]:
    """Lines of each stamp with their run, and the runs."""
    by_stamp: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for made in units.values():
        by_stamp.setdefault(tuple(made.stamp[name] for name in runs.STAMP), []).extend(made.lines)
    parts, new = [], []
    for stamp, lines in by_stamp.items():
        frame = study.sorted(study.frame({**line, RUN: ""} for line in lines))
        run = runs.of_lines(study.file, dict(zip(runs.STAMP, stamp, strict=True)), frame)
        parts.append(frame.assign(**{RUN: run.run}))
        new.append(run)
    return parts, new


def _units(study: Study, frame: pd.DataFrame) -> list[Unit]:
    return list(zip(*(frame[name].tolist() for name in study.unit), strict=True))


def _lines(frame: pd.DataFrame, mask: list[bool]) -> pd.DataFrame:
    """Lines of a mask, which may be empty (an empty list would select columns)."""
    return frame[np.array(mask, dtype=bool)]
