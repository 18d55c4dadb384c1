"""What a configuration will cost, before it starts: jobs, core-hours, memory and disk, from measured fits.

A QP job costs what its seeds cost in the records (`runs`). A regression, or a classification of the Power-EP
paper, costs what the records of the same data set, power and number of pseudo-points took, or, without such
records, what a model of all of them says (`Regressions`). A run on the digits costs its steps, each what it
took with as many pseudo-points and, if there are such runs, the same power; its measurements are not
counted. A job of the relaxed-EP paper costs what its splits cost in the records, whatever the flips if need
be. Records of PESC, of ground truth and of REP's pictures hold no times: jobs of config/paper.yaml were
measured (`resources`), and more problems or evaluations cost in proportion. Memory is the highest peak, and
disk the mean size, of the measured jobs nearest in the folders. Of what was never measured the cost is
unknown, and said to be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import nnls

from tilted import protocols
from tilted.experiments import pep
from tilted.results import compact, merge, resources, runs, spans
from tilted.results.pep import mnist, records, toy
from tilted.results.pep.forms import REGRESSION, Form
from tilted.results.rep import records as relaxed

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

COLUMNS = ("", "jobs", "to do", "fits", "to do", "core-hours", "to do", "longest job", "memory", "disk")


class Job(NamedTuple):
    """A job: the part of the plan it belongs to, the file it makes, its fits, and their seconds if known."""

    part: str
    path: str
    fits: int
    seconds: float | None
    memory: float | None = None
    """Peak in MB, if known."""
    disk: float | None = None
    """Of what it writes, in MB, if known."""


@dataclass(frozen=True)
class Regressions:
    """Seconds of a regression, from compact records.

    Where no record has the same data set, power and M, the seconds of an evaluation are a sum of N, N M and
    N M^2 (exact regression: N and N^3) with the best coefficients that are not negative, and the number of
    evaluations is the mean at the nearest power, interpolated in log M.
    """

    frame: pd.DataFrame

    def seconds(self, dataset: str, n: int, alpha: str, m: int) -> float | None:
        """Of one fit with ``n`` training points; None if there is no record to go by."""
        same = self.frame[(self.frame["alpha"] == alpha) & (self.frame["m"] == m)]
        same = same[same["dataset"] == dataset]
        if len(same):
            return float(same["seconds"].mean())
        kind = self.frame[(self.frame["alpha"] == pep.FULL) == (alpha == pep.FULL)]
        if not len(kind):
            return None
        each = _terms(np.array([n]), np.array([m])) @ _coefficients(kind)
        return float(each[0] * _evaluations(kind, alpha, m))


def _terms(n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Terms [K, 4] of the cost of an evaluation, for arrays of N and M; M = 0 is exact regression."""
    n, m = n.astype(float), m.astype(float)
    exact = m == 0
    return np.column_stack([n, n * m, n * m**2, n**3]) * np.where(exact[:, None], [1, 0, 0, 1], [1, 1, 1, 0])


def _coefficients(frame: pd.DataFrame) -> np.ndarray:
    """Least relative squares, none negative."""
    each = frame["seconds"].to_numpy() / np.maximum(frame["evaluations"].to_numpy(), 1)
    each = np.maximum(each, 1e-6)  # a processor clock may not see a short fit
    terms = _terms(frame["n_train"].to_numpy(), frame["m"].to_numpy())
    return nnls(terms / each[:, None], np.ones(len(each)))[0]


def _evaluations(frame: pd.DataFrame, alpha: str, m: int) -> float:
    """Mean number of evaluations at the nearest power."""
    if alpha == pep.FULL:
        return float(frame["evaluations"].mean())
    distance = (frame["alpha"].astype(float) - float(alpha)).abs()
    near = frame[distance == distance.min()].groupby("m")["evaluations"].mean()
    return float(np.interp(math.log(m), np.log(near.index.to_numpy(dtype=float)), near.to_numpy()))


def qp_jobs(planned: Iterable[tuple[str, str, str, str, int]], folder: str | Path) -> list[Job]:
    """Jobs of the QP paper.

    Parameters
    ----------
    planned : iterable of (path, protocol, dataset, method, number of seeds)
    folder : path
        Of its compact records.
    """
    found = merge.load(folder)
    seeds: dict[tuple[str, str, str], int] = {}
    seconds: dict[tuple[str, str, str], float] = {}
    for entry in runs.entries(found.runs, found.frame):
        key = entry["protocol"], entry["dataset"], entry["method"].removesuffix(protocols.TUNE)
        seconds[key] = seconds.get(key, 0.0) + entry["core_seconds"]
        if not entry["method"].endswith(protocols.TUNE):  # a first tuning is work of the same seeds
            seeds[key] = seeds.get(key, 0) + len(spans.numbers(entry["seeds"]))
    jobs = []
    for path, protocol, dataset, method, number in planned:
        key = protocol, dataset, method
        known = seeds.get(key)
        cost = seconds[key] / known * number if known else None
        jobs.append(Job(f"QP {protocol}", path, number * compact.n_folds(dataset), cost))
    return jobs


def pep_jobs(
    planned: Iterable[tuple[str, str, str, int]],
    grids: dict[str, dict[str, Any]],
    folder: str | Path,
    form: Form = REGRESSION,
) -> list[Job]:
    """Jobs of one of the Power-EP paper's experiments.

    Parameters
    ----------
    planned : iterable of (path, grid, dataset, number of splits)
    grids : dict
        Name -> grid (``cells`` of the experiment).
    folder : path
        Of its compact records.
    form : Form
    """
    cost = Regressions(records.load(folder, form))
    jobs = []
    for path, name, dataset, splits in planned:
        cells = form.experiment.cells(grids[name])
        n = form.experiment.sizes(dataset)[0]
        times = [cost.seconds(dataset, n, records.power(alpha), m) for alpha, m, *_ in cells]
        jobs.append(Job(f"{form.name} {name}", path, splits * len(cells), _times(splits, _together(times))))
    return jobs


def toy_jobs(planned: Iterable[tuple[str, int]], sizes: Iterable[int], folder: str | Path) -> list[Job]:
    """Jobs of exact regressions at true and at learned hyperparameters.

    Parameters
    ----------
    planned : iterable of (path, number of sets)
    sizes : iterable of int
        Numbers of training points.
    folder : path
        Of their record, if there is one.
    """
    table, sizes = toy.read(folder), list(sizes)
    known = {} if table is None else dict(iter(table.groupby("n_train")))
    each = [known[n]["seconds"].sum() / known[n]["split"].nunique() if n in known else None for n in sizes]
    cost = _together(each)
    return [Job("PEP toy", path, 2 * len(sizes) * sets, _times(sets, cost)) for path, sets in planned]


def digits_jobs(planned: Iterable[tuple[str, float, int, int]], folder: str | Path) -> list[Job]:
    """Jobs of the digits.

    Parameters
    ----------
    planned : iterable of (path, power, number of pseudo-points, steps)
    folder : path
        Of their record.
    """
    table = mnist.read(Path(folder, mnist.FILE))
    jobs = []
    for path, alpha, m, steps in planned:
        known = None
        if table is not None and (table["m"] == m).any():
            alike = table[table["m"] == m]
            same = alike[alike["alpha"] == alpha]
            last = (same if len(same) else alike).groupby(["alpha", "seed"])[["seconds", "step"]].max()
            known = steps * float((last["seconds"] / last["step"]).mean())
        jobs.append(Job("digits", path, 1, known))
    return jobs


def relaxed_jobs(
    planned: Iterable[tuple[str, str, str | None, float | None, int]], folder: str | Path
) -> list[Job]:
    """Jobs of the relaxed-EP paper, but for its pictures.

    Parameters
    ----------
    planned : iterable of (path, kind of record, data set, share of flips, number of splits or sets)
        Five points have no data set and no flips.
    folder : path
        Of its records.
    """
    tables = {kind: relaxed.read(folder, kind) for kind in ("fits", "choices", "points")}
    return [
        Job(f"REP {kind}", path, number, _times(number, _split_seconds(tables[kind], dataset, flips)))
        for path, kind, dataset, flips, number in planned
    ]


def _split_seconds(table: pd.DataFrame | None, dataset: str | None, flips: float | None) -> float | None:
    """Mean of a split or set, all methods together; of the data set's other shares of flips if need be."""
    if table is None or dataset is None:
        return None if table is None else float(table["seconds"].sum() / table["set"].nunique())
    table = table[table["dataset"] == dataset]
    same = table[table["flips"] == flips]
    used = same if len(same) else table
    key = [name for name in ("flips", "chosen_on", "split") if name in used]
    return float(used.groupby(key)["seconds"].sum().mean()) if len(used) else None


def _times(number: float, each: float | None) -> float | None:
    return None if each is None else number * each


def _together(each: list[float | None]) -> float | None:
    """The sum, if all are known."""
    known = [value for value in each if value is not None]
    return sum(known) if len(known) == len(each) else None


def measured_jobs(planned: Iterable[tuple[str, str, int, str, float]], seen: resources.Seen) -> list[Job]:
    """Jobs whose records hold no times.

    Parameters
    ----------
    planned : iterable of (part, path, fits, path of a job that may have been measured, times its work)
    seen : Seen
    """
    return [
        Job(part, path, fits, _times(times, seen.seconds.get(like)))
        for part, path, fits, like, times in planned
    ]


def with_needs(jobs: Iterable[Job], seen: resources.Seen) -> list[Job]:
    """The jobs with the memory and disk they are expected to need."""
    found = []
    for job in jobs:
        memory, sizes = (resources.alike(job.path, of) for of in (seen.memory, seen.kilobytes))
        disk = sum(sizes) / len(sizes) / 1024 if sizes else None
        found.append(job._replace(memory=max(memory, default=None), disk=disk))
    return found


def lines(jobs: list[Job]) -> list[str]:
    """The plan as text: a line a part, and their sum. To do is what has no file yet."""
    parts: dict[str, list[Job]] = {}
    for job in jobs:
        parts.setdefault(job.part, []).append(job)
    rows = [COLUMNS, *(_row(name, part) for name, part in parts.items()), _row("together", jobs)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(COLUMNS))]
    left = [row[0].ljust(widths[0]) for row in rows]
    right = [[c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)] for row in rows]
    shown = ["  ".join([name, *cells]) for name, cells in zip(left, right, strict=True)]
    unknown = sum(job.seconds is None for job in jobs)
    if unknown:
        shown.append(f"Of {unknown} jobs no fit was measured yet: not in the core-hours (+?).")
    shown.append(
        "Memory: of the largest job; disk: of all files jobs write. Raw and standard data: less than 100 MB."
    )
    return shown


def _row(name: str, jobs: list[Job]) -> tuple[str, ...]:
    todo = [job for job in jobs if not Path(job.path).is_file()]
    longest = max((job.seconds for job in todo if job.seconds is not None), default=0.0)
    return (
        name,
        f"{len(jobs)}",
        f"{len(todo)}",
        f"{sum(job.fits for job in jobs)}",
        f"{sum(job.fits for job in todo)}",
        _hours(jobs),
        _hours(todo),
        f"{longest / 60:.0f} min",
        _largest([job.memory for job in jobs]),
        _sum([job.disk for job in jobs]),
    )


def _largest(megabytes: list[float | None]) -> str:
    known = [value for value in megabytes if value is not None]
    return f"{max(known):.0f} MB" if known else "?"


def _sum(megabytes: list[float | None]) -> str:
    known = [value for value in megabytes if value is not None]
    return f"{sum(known):.1f}{'+?' if len(known) < len(megabytes) else ''} MB" if known else "?"


def _hours(jobs: list[Job]) -> str:
    total = sum(job.seconds for job in jobs if job.seconds is not None) / 3600
    return f"{total:.1f}" + ("+?" if any(job.seconds is None for job in jobs) else "")
