"""Make a sample of the records again, and write down what was found (`verified`).

A study says how its lines are made again (`Study.again`). Drawn by a seed are so many lines of every group
and outcome, the first few of them from scratch too where others are made at the recorded hyperparameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core.study import Study
from papers.evidence import records, resources, runs
from papers.evidence.files import MissingData
from papers.evidence.grid import grid, items
from papers.evidence.verification import standing, verified
from papers.evidence.verification.outcome import DIFFERS, REPORTED, SCRATCH, Context
from papers.evidence.verification.verified import Check

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd


FITS, SCRATCHES, CHUNK = 30, 2, 10
SAME = ("protocol", "dataset")
"""Columns, as far as a study has them, whose values the lines beside a drawn one share with it."""


@dataclass(frozen=True)
class Selection:
    """Which lines to make again; None is every one.

    Attributes
    ----------
    wanted : dict
        Column -> values; a study without the column is passed over.
    fits : int, optional
        Of each group and outcome.
    scratches : int
        Of these, from scratch too.
    seed : int
        Of the draw.
    new : bool
        Leave out what counts as verified already at this commit.
    lacking : bool
        Leave out what counts as verified at any commit, and groups of which enough was (`standing`).
    differing : bool
        All that differed when it was last made again, in the way in which it did, whatever is drawn.
    """

    wanted: dict[str, list[str]]
    fits: int | None = FITS
    scratches: int = SCRATCHES
    seed: int = 0
    new: bool = False
    lacking: bool = False
    differing: bool = False


class Result(NamedTuple):
    """Checks done, what could not be made again and why, and lines as they were made where they differ."""

    checks: list[Check]
    missing: list[str]
    elsewhere: list[tuple[Study, dict[str, Any]]]


def sample(
    study: Study, frame: pd.DataFrame, selection: Selection, done: set[tuple[str, str]]
) -> pd.DataFrame:
    """Lines to make again, with the column ``scratch``.

    The draw of a group depends on the seed and on its data set alone: methods with the same seeds and folds
    get the same.
    """
    frame = _wanted(frame, selection)
    if frame.empty:
        return frame.assign(scratch=False)
    names = [*study.group, *(["outcome"] if "outcome" in frame else [])]
    drawn, scratch = [], set()
    for _, lines in frame.groupby(names, sort=False) if names else [((), frame)]:
        first = lines.iloc[0].to_dict()
        name = str(first.get("dataset", study.file))
        rng = np.random.default_rng([selection.seed, *name.encode()])
        chosen = lines.index[rng.permutation(len(lines))[: selection.fits]].tolist()
        scratch.update(chosen[: selection.scratches])
        drawn += chosen
    chosen_lines = frame.loc[sorted(drawn)].assign(scratch=[index in scratch for index in sorted(drawn)])
    fits = [(verified.group_of(study, x), verified.fit_of(study, x)) for x in chosen_lines.to_dict("records")]
    return chosen_lines[np.array([fit not in done for fit in fits], dtype=bool)]


def verify(
    studies: Iterable[Study],
    folder: str | Path,
    selection: Selection,
    mirror: str | None = None,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> Result:
    """Make a sample of the records of a folder again, writing down what was found as it goes.

    Parameters
    ----------
    studies : iterable of Study
        Those without a way to make lines again are passed over.
    folder : str or Path
    selection : Selection
    mirror : str, optional
        Tried first for raw data.
    jobs : int
        Processes.
    tell : callable
        Told of each finished piece.

    Raises
    ------
    ValueError
        No line is selected, or none has a value that is wanted, or a damaged record (`RecordError`).
    """
    every = {study: records.load(study, folder) for study in studies if study.again}
    if not any(map(len, every.values())):
        where = "go to a checkout of the repository, or name their folder (--records)"
        raise ValueError(f"no records to make again in {folder}: {where}")
    for column, values in selection.wanted.items():
        there = {
            str(value) for frame in every.values() if column in frame for value in frame[column].unique()
        }
        if unknown := sorted(set(values) - there):
            raise ValueError(f"no line to make again in {folder} with {column} {', '.join(unknown)}")
    drawn = {study: _drawn(study, frame, folder, selection) for study, frame in every.items()}
    rest = selection.new or selection.lacking or selection.differing  # may be none
    if not any(map(len, drawn.values())) and not rest:
        raise ValueError(f"no line to make again in {folder}")
    return execute(drawn, folder, mirror, jobs, tell)


def execute(
    drawn: Mapping[Study, pd.DataFrame],
    folder: str | Path,
    mirror: str | None = None,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> Result:
    """Make lines of studies again (with a column ``scratch``); otherwise as `verify`."""
    from joblib import Parallel, delayed

    commit = runs.commit()  # that of the code which runs, whatever is committed meanwhile
    some = {study: lines for study, lines in drawn.items() if len(lines)}
    pieces = [piece for study, lines in some.items() for piece in _pieces(study, folder, lines, mirror)]
    every = Result([], [], [])
    run = Parallel(n_jobs=resources.workers(jobs, len(pieces)), return_as="generator_unordered")
    for name, result in run(delayed(_make)(*piece) for piece in pieces):
        checks = [check._replace(commit=commit) for check in result.checks]  # a worker asked later
        if checks:
            verified.append(folder, checks)
        every.checks.extend(checks)
        every.missing.extend(result.missing)
        every.elsewhere.extend(result.elsewhere)
        differ, said = (sum(c.passed == verdict for c in result.checks) for verdict in (DIFFERS, REPORTED))
        chaotic = f", {said} end elsewhere as they may" if said else ""
        tell(f"{name}: {len(result.checks)} made again, {differ} differ{chaotic}")
    return every


def _drawn(study: Study, every: pd.DataFrame, folder: str | Path, selection: Selection) -> pd.DataFrame:
    """Of all lines of a study those to make again."""
    if selection.differing:
        return _differing(study, every, folder, selection)
    if not (selection.new or selection.lacking):
        return sample(study, every, selection, set())
    commit = runs.stamp()["commit"]
    named = bool(commit) and not commit.endswith(runs.DIRTY)  # else it stands for any code
    counting = verified.counting(verified.read(folder), study, every)
    done = {(c.group, c.fit) for c in counting if selection.lacking or (named and c.commit == commit)}
    drawn = sample(study, every, selection, done)
    if not (selection.lacking and len(drawn)):
        return drawn
    enough = {group.name for group in standing.groups(study, folder, every) if group.sampled >= group.needed}
    return drawn[[verified.group_of(study, line) not in enough for line in drawn.to_dict("records")]]


def _wanted(frame: pd.DataFrame, selection: Selection) -> pd.DataFrame:
    for column, values in selection.wanted.items():
        frame = frame[frame[column].astype(str).isin(values)] if column in frame else frame[:0]
    return frame


def _differing(study: Study, every: pd.DataFrame, folder: str | Path, selection: Selection) -> pd.DataFrame:
    """Lines whose last check differs, in some way; ``scratch`` where it was made from scratch."""
    ways: dict[tuple[str, str], set[str]] = {}
    for check in verified.counting(verified.read(folder), study, every):
        if check.passed == DIFFERS:
            ways.setdefault((check.group, check.fit), set()).add(check.how)
    lines = _wanted(every, selection) if ways else every[:0]
    names = [(verified.group_of(study, x), verified.fit_of(study, x)) for x in lines.to_dict("records")]
    lines = lines.assign(scratch=[SCRATCH in ways.get(name, ()) for name in names])
    return lines[np.array([name in ways for name in names], dtype=bool)]


def _pieces(
    study: Study, folder: str | Path, drawn: pd.DataFrame, mirror: str | None
) -> Iterator[tuple[Study, pd.DataFrame, Context]]:
    """Work that is written down at once: lines of one group, or of groups whose units are made together."""
    every = records.load(study, folder)
    same = [column for column in SAME if column in every]
    alike = dict(iter(every.groupby(same))) if same else {}
    together = _together(study)
    for _, group in drawn.groupby(together, sort=False) if together else [((), drawn)]:
        beside = alike[tuple(group.iloc[0][same])] if same else every
        for lines in _chunks(group, study.unit):
            yield study, lines, Context(mirror, beside, study, folder)


def _together(study: Study) -> list[str]:
    """Columns of a study's groups that its units do not go across."""
    return [name for name in study.group if name in study.unit or not study.unit]


def _chunks(lines: pd.DataFrame, unit: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Lines in pieces of `CHUNK` or a few more: those of one unit are made together, and stay so."""
    numbers = lines.groupby(list(unit), sort=False).ngroup() if unit else lines.index.to_series()
    numbers = numbers.sort_values(kind="stable")
    first = 0
    for end in range(1, len(lines) + 1):
        last = end == len(lines)
        if last or (end - first >= CHUNK and numbers.iloc[end] != numbers.iloc[end - 1]):
            yield lines.loc[numbers.index[first:end]]
            first = end


def _make(study: Study, lines: pd.DataFrame, context: Context) -> tuple[str, Result]:
    of = replace(study, group=tuple(_together(study)))
    name = f"{study.file} {verified.group_of(of, lines.iloc[0].to_dict())}".rstrip()
    result, stamp = Result([], [], []), runs.stamp()
    assert study.again is not None, "asked for by `verify`"
    left = len(lines)
    try:
        for line, outcomes in study.again(lines, context):
            left -= 1
            if isinstance(outcomes, str):
                result.missing.append(f"{name}: {outcomes}")
            else:
                result.checks.extend(verified.check(study, line, outcome, stamp) for outcome in outcomes)
                ends = (outcome.made for outcome in outcomes if outcome.passed == DIFFERS)
                result.elsewhere.extend((study, made) for made in ends if made is not None)
    except MissingData as error:
        result.missing.extend([f"{name}: {error.brief}"] * left)
    return name, result


def summary_lines(result: Result) -> list[str]:
    """What was found, for the terminal: a line a group and way, then all that is not well."""
    groups: dict[tuple[str, str, str], list[Check]] = {}
    for check in result.checks:
        groups.setdefault((check.study, check.group, check.how), []).append(check)
    rows = [(*name, *_cells(checks)) for name, checks in groups.items()]
    header = ("Study", "Group", "Made again", "Lines", "Passed", "Differ", "Chaotic", "Difference")
    lines = grid(header, "lllrrrrr", rows) if rows else []
    trouble = [
        f"DIFFERS: {c.study} {c.group} {c.fit}, {c.how}: {c.note or f'by {c.difference:.1e}'}"
        for c in result.checks
        if c.passed == DIFFERS
    ]
    trouble += [f"NOT MADE AGAIN: {text}" for text in dict.fromkeys(result.missing)]
    return [*lines, *([""] if lines and trouble else []), *(items(trouble) if trouble else [])]


def _cells(checks: list[Check]) -> tuple[str, ...]:
    verdicts = [check.passed for check in checks]
    known = [check.difference for check in checks if check.difference == check.difference]
    passed = len(verdicts) - verdicts.count(DIFFERS) - verdicts.count(REPORTED)
    largest = f"{max(known):.1e}" if known else "-"
    return (
        str(len(verdicts)),
        str(passed),
        str(verdicts.count(DIFFERS)),
        str(verdicts.count(REPORTED)),
        largest,
    )
