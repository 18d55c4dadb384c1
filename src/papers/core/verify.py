"""Repeat a sample of the records, compare it by the tolerances of its studies, and write down the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import provenance, records, runs, verified
from papers.core.agreement import DIFFERENT, SAME, compare_frames, largest_difference
from papers.core.grid import grid, items
from papers.core.repeat import align, repeat
from papers.core.study import Source, Study
from papers.core.verified import Verified

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

FITS = 30


@dataclass(frozen=True)
class Selection:
    """The rows to repeat.

    Attributes
    ----------
    wanted : mapping
        Column -> values; a study without the column is passed over.
    fits : int, optional
        Rows of each group and outcome; None is every one.
    seed : int
        Of the draw.
    lacking : bool
        Leave out groups of which enough was repeated (`provenance`).
    """

    wanted: Mapping[str, list[str]]
    fits: int | None = FITS
    seed: int = 0
    lacking: bool = False


class Result(NamedTuple):
    """Rows of ``verified.csv``, a sentence for each row or mean that differs, and what was not to be had."""

    groups: list[Verified]
    differences: list[str]
    missing: list[str]


def verify(
    studies: Iterable[Study],
    folder: str | Path,
    selection: Selection,
    mirror: str | None = None,
    cores: int = 1,
) -> Result:
    """Repeat a sample of the records of a folder, study by study.

    Parameters
    ----------
    studies : iterable of Study
        Those without `Study.repeat` are passed over.
    folder : str or Path
    selection : Selection
    mirror : str, optional
        Tried first for raw data.
    cores : int
        Processes.

    Raises
    ------
    ValueError
        No row is selected, or a damaged record (`RecordError`).
    """
    chosen = {
        study: sample(study, records.load(study, folder), selection) for study in studies if study.repeat
    }
    if selection.lacking:
        chosen = {study: _lacking(study, rows, folder) for study, rows in chosen.items()}
    elif not any(map(len, chosen.values())):
        raise ValueError(
            f"no row to repeat in {folder}: is it the folder of records, and are the names right?"
        )
    result = Result([], [], [])
    for study, rows in chosen.items():
        if len(rows):
            of_study = _verified(study, rows, Source(mirror, folder), cores)
            verified.append(folder, of_study.groups)
            result.groups.extend(of_study.groups)
            result.differences.extend(of_study.differences)
            result.missing.extend(of_study.missing)
    return result


def sample(study: Study, frame: pd.DataFrame, selection: Selection) -> pd.DataFrame:
    """Return the rows to repeat.

    The draw of a group depends on the seed and its data set alone: methods with the same seeds and folds get
    the same.
    """
    for column, values in selection.wanted.items():
        frame = frame[frame[column].astype(str).isin(values)] if column in frame else frame[:0]
    names = [*study.group, *(["outcome"] if "outcome" in frame else [])]
    drawn: list[int] = []
    for _, rows in frame.groupby(names, sort=False) if names else [((), frame)]:
        name = str(rows["dataset"].iloc[0]) if "dataset" in rows and len(rows) else study.file
        rng = np.random.default_rng([selection.seed, *name.encode()])
        drawn += rows.index[rng.permutation(len(rows))[: selection.fits]].tolist()
    return frame.loc[sorted(drawn)]


def _lacking(study: Study, rows: pd.DataFrame, folder: str | Path) -> pd.DataFrame:
    enough = {group.name for group in provenance.groups(study, folder) if group.repeated >= group.needed}
    return rows[[study.group_of(row) not in enough for row in rows.to_dict("records")]]


def _verified(study: Study, rows: pd.DataFrame, source: Source, cores: int) -> Result:
    """Repeat rows of one study, and compare them and those that come with them."""
    repeated = repeat({study: rows}, source, cores)
    result = Result([], [], list(dict.fromkeys(repeated.missing)))
    for of, repeated_rows in repeated.rows.items():
        if of.key and (repeated_rows or of == study):
            compared = rows if of == study else records.load(of, source.folder)
            recorded, repeated_frame, lost = align(of, compared, repeated_rows)
            if of == study and lost and not repeated.missing:
                result.differences.append(f"{of.file}: {lost} rows were not made again")
            agreement = compare_frames(of, recorded, repeated_frame)
            result.differences.extend(f"{of.file}: {line}" for line in agreement.differences)
            statuses = np.array([comparison.status for comparison in agreement.rows])
            names = np.array([of.group_of(row) for row in recorded.to_dict("records")])
            for name in dict.fromkeys(names):
                here = names == name
                difference = largest_difference(of, recorded[here], repeated_frame[here])
                result.groups.append(_row(of, name, statuses[here].tolist(), difference))
    return result


def _row(study: Study, group: str, statuses: list[str], difference: float) -> Verified:
    stamp = runs.stamp()
    same, different = statuses.count(SAME), statuses.count(DIFFERENT)
    other = len(statuses) - same - different
    where = stamp["date"], stamp["commit"], stamp["environment"]
    return Verified(study.file, group, *where, len(statuses), same, other, different, difference)


def summary_lines(result: Result) -> list[str]:
    """Return the result for the terminal: a line a group, then all that is not well."""
    cells = [
        (
            row.study,
            row.group,
            *map(str, (row.rows, row.same, row.other, row.different)),
            f"{row.difference:.1e}",
        )
        for row in result.groups
    ]
    header = ("Study", "Group", "Rows", "Same", "Other", "Differ", "Difference")
    trouble = [f"DIFFERS: {line}" for line in result.differences]
    trouble += [f"NOT REPEATED: {line}" for line in result.missing]
    return [*(grid(header, "llrrrrr", cells) if cells else []), *(["", *items(trouble)] if trouble else [])]
