"""What a configuration will cost, before it starts: jobs, core-hours, memory and disk, from measured fits.

A job costs what its seeds, splits, sets or steps cost in the records of fits like it. A regression, or a
classification of the Power-EP paper, costs what the records of the same data set, power and number of
pseudo-points took, or, without such records, what those of a near power or a model of all say (`Costs`). A
training on the digits costs its steps, each what it took with as many pseudo-points and, if there are such
trainings, the same power; its measurements are not counted. Splits of the relaxed-EP paper cost the same
whatever the share of flipped labels, if need be. Records of PESC, of ground truth and of REP's pictures hold
no times: jobs of config/paper.yaml were measured (`resources`), and more problems or evaluations cost in
proportion. Memory is the highest peak, and disk the mean size, of the measured jobs nearest in the folders.
Of what was never measured the cost is unknown, and said to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence import records, resources
from papers.evidence.grid import grid
from papers.evidence.jobs import Job
from papers.pep import records as pep
from papers.pep.cost import Costs
from papers.pep.records import DIGITS
from papers.pesc import accuracy, regret
from papers.qp import protocols
from papers.qp import records as qp
from papers.rep import records as rep

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study

COLUMNS = ("Part", "Jobs", "to do", "Fits", "to do", "Core-hours", "to do", "Longest job", "Memory", "Disk")
APART = ("qp_lookup_table",)
"""Kinds of jobs that no plan is about."""


class Cost(NamedTuple):
    """A job's part of the plan, its file and fits; processor seconds, peak in MB, MB written, if known."""

    part: str
    path: str
    fits: int
    seconds: float | None
    memory: float | None = None
    disk: float | None = None


class Known:
    """What is known of fits: records, read when first asked for, and measured jobs."""

    def __init__(self, folders: Iterable[str | Path], seen: resources.Seen) -> None:
        self.folders, self.seen = list(folders), seen
        self._frames: dict[Study, pd.DataFrame] = {}
        self._regressions: dict[tuple[Study, str], Costs] = {}

    def regressions(self, study: Study, protocol: str) -> Costs:
        """What fits of a study cost, from those of a protocol beside others or, without such, from all."""
        if (study, protocol) not in self._regressions:
            frame = self.frame(study)
            own = frame["protocol"] == protocol
            self._regressions[study, protocol] = Costs(frame[own], frame[~own]) if own.any() else Costs(frame)
        return self._regressions[study, protocol]

    def frame(self, study: Study) -> pd.DataFrame:
        """Lines of a study in all folders (errors as `records.load`)."""
        import pandas as pd

        if study not in self._frames:
            found = [records.load(study, folder) for folder in self.folders]
            self._frames[study] = pd.concat(found, ignore_index=True) if len(found) > 1 else found[0]
        return self._frames[study]


def _each(lines: pd.DataFrame, *units: str) -> float | None:
    """Mean seconds of a unit, which some columns name; None without lines."""
    return float(lines["seconds"].sum() / len(lines[list(units)].drop_duplicates())) if len(lines) else None


def _fit(job: Job, known: Known) -> float | None:
    p = job.parameters
    frame = known.frame(qp.study_of(p["protocol"]))
    methods = [p["method"] + suffix for suffix in ("", protocols.TUNE, protocols.RELEASED)]
    alike = frame[(frame["dataset"] == p["dataset"]) & frame["method"].isin(methods)]
    return _times(_number(job), _each(alike[alike["protocol"] == p["protocol"]], "seed"))


def _grid(job: Job, known: Known) -> float | None:
    p = job.parameters
    study = pep.REGRESSION if job.kind == "pep_regression" else pep.CLASSIFICATION
    experiment, cost = import_module(p["experiment"]), known.regressions(study, p["grid"]["protocol"])
    n = experiment.sizes(p["dataset"])[0]
    each = [cost.seconds(p["dataset"], n, pep.power(a), m) for a, m, *_ in experiment.cells(p["grid"])]
    return _times(_number(job), _together(each))


def _toy(job: Job, known: Known) -> float | None:
    frame = known.frame(pep.TOY)
    each = [_each(frame[frame["n_train"] == n], "split") for n in job.parameters["sizes"]]
    return _times(_number(job), _together(each))


def _digits(job: Job, known: Known) -> float | None:
    p, frame = job.parameters, known.frame(DIGITS)
    alike = frame[frame["m"] == p["m"]]
    same = alike[alike["alpha"] == p["alpha"]]
    used = (same if len(same) else alike).groupby(["alpha", "seed"])[["seconds", "step"]].max()
    return p["steps"] * float((used["seconds"] / used["step"]).mean()) if len(used) else None


def _relaxed(job: Job, known: Known) -> float | None:
    """Of splits, all methods together; of the data set's other shares of flipped labels if need be."""
    chosen = job.kind == "rep_choice"
    p, frame = job.parameters, known.frame(rep.CHOICES if chosen else rep.FITS)
    alike = frame[frame["dataset"] == p["dataset"]]
    same = alike[alike["flips"] == p["flips"]]
    units = ("flips", "split") if chosen else ("flips", "split", "chosen_on")
    return _times(job.fits, _each(same if len(same) else alike, *units))


def _points(job: Job, known: Known) -> float | None:
    return _times(job.fits, _each(known.frame(rep.POINTS), "set"))


def _family(job: Job, known: Known) -> float | None:
    problems = job.parameters["problems"]
    like = job.path.replace(f"/accuracy/{problems}/", f"/accuracy/{accuracy.MEASURED}/")
    return _times(problems / accuracy.MEASURED, known.seen.seconds.get(like))


def _search(job: Job, known: Known) -> float | None:
    p = job.parameters
    n = regret.PROBLEMS[p["problem"]].evaluations
    like = f"data/fits/pesc/searches/{n}/{p['problem']}-0.jsonl.gz"
    return _times(p["evaluations"] / n, known.seen.seconds.get(like))


def _number(job: Job) -> int:
    """Seeds, splits or sets."""
    return job.parameters["last"] - job.parameters["first"] + 1


def _times(number: float, each: float | None) -> float | None:
    return None if each is None else number * each


def _together(each: list[float | None]) -> float | None:
    """The sum, if all are known."""
    known = [value for value in each if value is not None]
    return sum(known) if len(known) == len(each) else None


COSTS: dict[str, Callable[[Job, Known], float | None]] = {
    "qp_fit": _fit,
    "pep_regression": _grid,
    "pep_classification": _grid,
    "pep_exact": _toy,
    "pep_digits": _digits,
    "rep_fit": _relaxed,
    "rep_own": _relaxed,
    "rep_choice": _relaxed,
    "rep_points": _points,
    "pesc_accuracy": _family,
    "pesc_searches": _search,
}
"""Kind of job -> its seconds; of other kinds a job costs what it was measured to."""


def costs(jobs: Iterable[Job], folders: Iterable[str | Path], seen: resources.Seen) -> list[Cost]:
    """What jobs are expected to cost.

    Parameters
    ----------
    jobs : iterable of Job
    folders : paths
        Of records of fits, all of which tell what one costs.
    seen : Seen

    Raises
    ------
    RecordError
        A damaged record.
    """
    known, costs = Known(folders, seen), []
    for job in jobs:
        if job.kind in APART:
            continue
        seconds = COSTS[job.kind](job, known) if job.kind in COSTS else seen.seconds.get(job.path)
        memory, sizes = (resources.alike(job.path, needs) for needs in (seen.memory, seen.kilobytes))
        disk = sum(sizes) / len(sizes) / 1024 if sizes else None
        costs.append(Cost(job.part, job.path, job.fits, seconds, max(memory, default=None), disk))
    return costs


def lines(jobs: list[Cost], left: Mapping[str, Cost] | None = None) -> list[str]:
    """The plan as Markdown: a line a part, and their sum. To do is what has no file yet.

    Parameters
    ----------
    jobs : list of Cost
    left : mapping, optional
        Path -> cost of what is left of a job where records are reused; all of each by default.
    """
    left = {job.path: job for job in jobs} if left is None else left
    parts: dict[str, list[Cost]] = {}
    for job in jobs:
        parts.setdefault(job.part, []).append(job)
    rows = [_row(name, part, left) for name, part in [*parts.items(), ("together", jobs)]]
    shown = [*grid(COLUMNS, "l" + "r" * (len(COLUMNS) - 1), rows), ""]
    unknown = sum(job.seconds is None for job in jobs)
    if unknown:
        shown.append(f"Of {unknown} jobs no fit was measured yet: not in the core-hours (+?).")
    shown.append(
        "Memory: of the largest job; disk: of all files jobs write. Raw and standard data: less than 100 MB."
    )
    return shown


def rest(left: Iterable[Cost]) -> str:
    """What the records lack, in a line: jobs whose lines they have run again unless records are reused."""
    lacking = [job for job in left if not Path(job.path).is_file()]
    fits, hours = sum(job.fits for job in lacking), _sum([job.seconds for job in lacking], 3600)
    return f"With `reuse: true` to do: {fits} fits, {hours} core-hours; the records have the others."


def _row(name: str, jobs: list[Cost], left: Mapping[str, Cost]) -> tuple[str, ...]:
    todo = [left[job.path] for job in jobs if job.path in left and not Path(job.path).is_file()]
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
    known = [value for value in values if value is not None]
    return f"{max(known, default=0) / unit:.0f}{name}" if known or not values else "?"


def _sum(values: list[float | None], unit: float, name: str = "") -> str:
    known = [value for value in values if value is not None]
    if values and not known:
        return "?"
    total = sum(known) / unit
    return f"{total:.{1 if total >= 1 else 2}f}{'+?' if len(known) < len(values) else ''}{name}"
