"""Estimate what a configuration costs before it starts: jobs, core-hours, memory and disk.

A job costs what it was measured to (`resources`), or its rows cost what recorded rows like them took. Cells
with more pseudo-points than any recorded one cost in proportion to their number. Memory is the highest peak,
and disk the mean size, of the measured jobs nearest in the folders.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import records, resources
from papers.core.grid import grid

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.jobs import Job
    from papers.core.study import Study

COLUMNS = ("Part", "Jobs", "to do", "Fits", "to do", "Core-hours", "to do", "Longest job", "Memory", "Disk")
SIZES = ("m", "n_train")
"""Columns beside `Study.group` on which the cost of a row depends."""


class Cost(NamedTuple):
    """A job's section of the plan, its file and fits; processor seconds, peak in MB, MB written, if known."""

    section: str
    path: str
    fits: int
    seconds: float | None
    memory: float | None = None
    disk: float | None = None


def seconds(job: Job, frame: pd.DataFrame) -> float | None:
    """Return the processor seconds of a job, from recorded rows of its study; None without rows like its own.

    Parameters
    ----------
    job : Job
    frame : pandas.DataFrame
        Rows of the study of the job's first `Job.rows`.
    """
    study, where = job.rows[0].study, job.rows[0].where
    least = study.seconds * job.fits * len(where.get(study.progress, (0,)))
    if "seconds" not in frame:
        return least or None
    cell_columns = [name for name in where if name in (*study.group, *SIZES)]
    units = [name for name in where if name not in (*cell_columns, study.progress, "steps")]
    rows = _rows(frame, where, [name for name in cell_columns if name != "m"])
    if rows.empty:
        return least or None
    if study.progress:  # seconds so far
        ends = rows.groupby(list(study.unit))[["seconds", study.progress]].max()
        return float((ends["seconds"] / ends[study.progress]).mean()) * max(where.get("steps", (1,)))
    number = math.prod(len(where[name]) for name in units)
    recorded = _rows(rows, where, cell_columns)
    cells = [cell for _, cell in recorded.groupby(cell_columns)] if cell_columns else [recorded]
    each = [float(cell["seconds"].sum()) / len(cell[units].drop_duplicates()) for cell in cells]
    return max(least, number * (sum(each) + _of_larger(job, rows, len(each), number)))


def _rows(frame: pd.DataFrame, where: Mapping[str, Collection[Any]], names: list[str]) -> pd.DataFrame:
    """Return the rows whose values in some columns are among those asked for."""
    masks = [frame[name].isin(list(where[name])) for name in names]
    return frame[np.all(masks, axis=0)] if masks else frame


def _of_larger(job: Job, rows: pd.DataFrame, cells: int, number: int) -> float:
    """Return the seconds of a unit's cells without recorded rows, if the study has pseudo-points."""
    missing = job.fits // number - cells
    if "m" not in rows or missing <= 0:
        return 0.0
    most, recorded = max(job.rows[0].where["m"]), int(rows["m"].max())
    largest = rows[rows["m"] == recorded]["seconds"].mean()
    return float(missing * largest * most / max(1, recorded))


def costs(jobs: Iterable[Job], folders: Iterable[str | Path], measured: resources.Measured) -> list[Cost]:
    """Return what jobs are expected to cost.

    Parameters
    ----------
    jobs : iterable of Job
    folders : paths
        Of records of fits, all of which tell what one costs.
    measured : Measured

    Raises
    ------
    RecordError
        A damaged record.
    """
    import pandas as pd

    folders, costs = list(folders), []
    frames: dict[Study, pd.DataFrame] = {}
    for job in jobs:
        if not job.rows:
            continue
        study = job.rows[0].study
        if study not in frames:
            frames[study] = pd.concat([records.load(study, folder) for folder in folders], ignore_index=True)
        needed = measured.seconds.get(job.path)
        needed = seconds(job, frames[study]) if needed is None else needed
        memory, sizes = (resources.nearest(job.path, x) for x in (measured.memory, measured.kilobytes))
        disk = sum(sizes) / len(sizes) / 1024 if sizes else None
        costs.append(Cost(job.part, job.path, job.fits, needed, max(memory, default=None), disk))
    return costs


def lines(jobs: list[Cost], remaining: Mapping[str, Cost] | None = None) -> list[str]:
    """Return the plan as Markdown: a line a part, and their sum. Jobs without a file are to do.

    Parameters
    ----------
    jobs : list of Cost
    remaining : mapping, optional
        Path -> cost of the rows of a job that are not reused; all of each job by default.
    """
    remaining = {job.path: job for job in jobs} if remaining is None else remaining
    sections: dict[str, list[Cost]] = {}
    for job in jobs:
        sections.setdefault(job.section, []).append(job)
    rows = [_row(name, section, remaining) for name, section in [*sections.items(), ("together", jobs)]]
    text = [*grid(COLUMNS, "l" + "r" * (len(COLUMNS) - 1), rows), ""]
    unknown = sum(job.seconds is None for job in jobs)
    if unknown:
        text.append(f"Of {unknown} jobs no fit was measured yet: not in the core-hours (+?).")
    text.append(
        "Memory: of the largest job; disk: of all files jobs write. Raw and standard data: less than 100 MB."
    )
    return text


def rest(remaining: Iterable[Cost]) -> str:
    """Return a line with the cost of the rows that the records lack."""
    lacking = [job for job in remaining if not Path(job.path).is_file()]
    fits, hours = sum(job.fits for job in lacking), _sum([job.seconds for job in lacking], 3600)
    return f"With `reuse: true` to do: {fits} fits, {hours} core-hours; the records have the others."


def _row(name: str, jobs: list[Cost], remaining: Mapping[str, Cost]) -> tuple[str, ...]:
    unmade = [job.path for job in jobs if job.path in remaining and not Path(job.path).is_file()]
    todo = [remaining[path] for path in unmade]
    return (
        name,
        f"{len(jobs)}",
        f"{len(todo)}",
        f"{sum(job.fits for job in jobs)}",
        f"{sum(job.fits for job in todo)}",
        _sum([job.seconds for job in jobs], 3600),
        _sum([job.seconds for job in todo], 3600),
        _largest([job.seconds for job in todo], 60, " min"),
        _largest([job.memory for job in jobs], 1, " MB"),
        _sum([job.disk for job in jobs], 1, " MB"),
    )


def _largest(values: list[float | None], unit: float, name: str) -> str:
    numbers = [value for value in values if value is not None]
    return f"{max(numbers, default=0) / unit:.0f}{name}" if numbers or not values else "?"


def _sum(values: list[float | None], unit: float, name: str = "") -> str:
    numbers = [value for value in values if value is not None]
    if values and not numbers:
        return "?"
    total = sum(numbers) / unit
    return f"{total:.{1 if total >= 1 else 2}f}{'+?' if len(numbers) < len(values) else ''}{name}"
