"""What re-execution found: ``verified.csv``, a line a fit made again, appended to and never rewritten.

A line is evidence about one line of a record: it counts while that is of the same run. Of several lines about
one fit made in one way the last one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence import files, listed, records
from papers.evidence.store import RecordError
from papers.evidence.study import RUN, Study, number
from papers.evidence.verification.outcome import HOWS, VERDICTS

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.evidence.verification.outcome import Outcome

FILE = "verified.csv"
DIGITS = {"difference": 3, "gain": 3}


class Check(NamedTuple):
    """A line of ``verified.csv``: a fit and its run, its `Outcome`, when and where it was made again.

    ``group`` and ``fit`` are the values of `Study.group` and of the rest of its key, as text.
    """

    study: str
    group: str
    fit: str
    run: str
    how: str
    passed: str
    difference: float
    gain: float
    note: str
    date: str
    commit: str
    environment: str


def check(study: Study, line: Mapping[str, Any], outcome: Outcome, stamp: Mapping[str, str]) -> Check:
    """The line about a fit that was made again, when and by what the stamp (`runs.stamp`) says."""
    where = stamp["date"], stamp["commit"], stamp["environment"]
    how, passed, difference, gain, note, _ = outcome
    found = how, passed, difference, gain, note
    return Check(study.file, group_of(study, line), fit_of(study, line), line[RUN], *found, *where)


def group_of(study: Study, line: Mapping[str, Any]) -> str:
    """Values of the columns that name a group of fits."""
    return " ".join(_shown(study, name, line[name]) for name in _telling(study, line, study.group))


def fit_of(study: Study, line: Mapping[str, Any]) -> str:
    """Values of the other columns that name a fit."""
    rest = [name for name in study.key if name not in study.group]
    return " ".join(f"{name}={_shown(study, name, line[name])}" for name in _telling(study, line, rest))


def _telling(study: Study, line: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the columns without those that have their usual value (`Study.unnamed`)."""
    return [name for name in names if name not in study.unnamed or line[name] != study.unnamed[name]]


def _shown(study: Study, name: str, value: Any) -> str:
    if name not in study.digits:
        return str(value)
    return number(float(value), study.digits[name])


def append(folder: str | Path, checks: Iterable[Check]) -> None:
    """Add lines to the file of a folder of records, which need not have one."""
    with files.alone(folder):
        had = records.content_if_any(folder, FILE)
        had = listed.encoded([], Check, DIGITS) if had is None else had
        records.save(folder, {}, [], {FILE: had + listed.encoded(checks, Check, DIGITS, header=False)})


def read(folder: str | Path) -> list[Check]:
    """All lines of the file of a folder of records; none if it has no such file.

    Raises
    ------
    RecordError
        The file is gone or differs from its check sum, has other columns, or a line that cannot be; it is
        named.
    """
    path, data = Path(folder, FILE), records.content_if_any(folder, FILE)
    if data is None:
        return []
    try:
        checks: list[Check] = listed.decoded(data, Check, DIGITS)
        for name, known in (("how", HOWS), ("passed", VERDICTS)):
            if unknown := {getattr(check, name) for check in checks} - {*known}:
                raise ValueError(f"{name} '{min(unknown, key=str)}'")
    except ValueError as error:
        raise RecordError(f"{path}: {error}") from error
    return checks


def counting(checks: Iterable[Check], study: Study, frame: pd.DataFrame) -> list[Check]:
    """The last check of each fit and way, of lines that are of the run that was checked."""
    last = {(c.group, c.fit, c.how): c for c in checks if c.study == study.file}
    groups = {c.group for c in last.values()}
    current = {}
    names = [*study.key, RUN]
    for values in zip(*(frame[name].tolist() for name in names), strict=True) if groups else ():
        line = dict(zip(names, values, strict=True))
        group = group_of(study, line)
        if group in groups:
            current[group, fit_of(study, line)] = line[RUN]
    return [c for c in last.values() if current.get((c.group, c.fit)) == c.run]
