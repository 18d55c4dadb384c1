"""The functions that the jobs of the QP paper call.

Each step takes the paths of its inputs, and of a log, by name (`papers.core.jobs.Job`).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import store
from papers.core.study import RecordError
from papers.qp import pairs, protocols, published

if TYPE_CHECKING:
    from typing import Any

FITS, TRUTH, DIFFERENCES = "papers.qp.fits", "papers.qp.truth.experiment", "papers.qp.differences"
EFFECTS, ERRORS, NEARER = "papers.qp.lookup.effect", "papers.qp.lookup.errors", "papers.qp.nearer.experiment"
LOOKUP = "tilted.projections.table"
"""Modules of the experiments and of the certified table."""


def fit(
    protocol: str,
    dataset: str,
    method: str,
    first: int,
    last: int,
    data: str,
    log: str,
    start: str | None = None,
    table: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Fit a block of seeds by one method on one data set, and yield the records.

    Parameters
    ----------
    protocol, dataset, method : str
    first, last : int
        Seeds.
    data, log, start, table : str
        Paths: standard file, log, records of the method that this one starts from, certified table.

    Raises
    ------
    RecordError
        The records to start from are of other fits.
    """
    from papers.data import standard
    from tilted.projections import table as lookup

    experiment = import_module(FITS)
    standard_set = standard.read_standard(data)
    spec = protocols.method(protocol, experiment.task_of(dataset), method)
    starts, before = None, store.read_records(start) if start is not None else []
    if any((record["protocol"], record["dataset"]) != (protocol, dataset) for record in before):
        raise RecordError(f"{start}: not of {protocol} {dataset}; delete it and run again")
    if start is not None:
        starts = {_fold(record): record for record in before if record["method"] == spec["start"]}
    certified = None if table is None else lookup.read(table)
    fitted = experiment.run_job(standard_set, protocol, method, range(first, last + 1), starts, certified)
    return narrate(_paired(fitted, before) if method == "qp" else fitted, log)


def _fold(record: Mapping[str, Any]) -> tuple[int, int]:
    return record["seed"], record["fold"]


def _paired(fitted: Iterable[dict[str, Any]], before: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield QP's records with their comparisons with EP's records of the same folds."""
    ep = {where: pairs.fits_of(records) for where, records in itertools.groupby(before, key=_fold)}
    for record in fitted:
        yield pairs.with_pairs(record, ep.get(_fold(record), {}))


def table(log: str) -> bytes:
    """Build the certified table, and log its measured error against quadrature."""
    from tilted.projections import table as lookup

    built = lookup.build()
    store.write_text(log, f"{built.origin}\n")
    return lookup.encode(built)


def truth(split: int, effort: Mapping[str, Any], data: str, log: str) -> Iterator[dict[str, Any]]:
    """Sample the exact posterior on a split, compare the methods with it, and log the sampler's numbers."""
    from papers.data import standard

    experiment = import_module(TRUTH)
    dataset = standard.read_standard(data)
    seed, fold = (split, 0) if published.is_counts(dataset.name) else (0, split)
    kind = experiment.truth_drawn.Effort if "draws" in effort else experiment.Effort
    record = experiment.run(dataset, kind(**effort), seed=seed, fold=fold)
    sampled = record["truth"]
    store.write_text(log, f"{sampled['sampler']} {sampled['annealing']} {sampled['seconds']}\n")
    yield record


def nearer(data: str, truth: str, log: str) -> Iterator[dict[str, Any]]:
    """Approximate the split of a record of ground truth, at its hyperparameters."""
    from papers.data import standard

    dataset, (sampled,) = standard.read_standard(data), store.read_records(truth)
    kernel = import_module(FITS).kernel_at(sampled["hyperparameters"])
    return import_module(NEARER).run(dataset, sampled["seed"], sampled["fold"], kernel)


def effects(protocol: str, data: str, records: str, table: str, log: str) -> Iterator[dict[str, Any]]:
    """Run QP with and without tables, at the hyperparameters of EP's records."""
    from papers.data import standard
    from tilted.projections import table as lookup

    dataset, starts = standard.read_standard(data), store.read_records(records)
    return import_module(EFFECTS).effects(dataset, protocol, starts, lookup.read(table))


def errors(counts: Sequence[int], points: int, rows: int, log: str) -> Iterator[dict[str, Any]]:
    """Measure errors, sizes and times of the lookup tables."""
    return import_module(ERRORS).compare(counts, points, rows)


def narrate(
    records: Iterable[dict[str, Any]], log_path: str | Path | None = None
) -> Iterator[dict[str, Any]]:
    """Pass records through, and write a line for each finished seed to a log file."""
    with open(log_path or os.devnull, "w", encoding="utf-8") as log:
        for _, group in itertools.groupby(records, key=lambda r: r["seed"]):
            seed_records = []
            for record in group:
                seed_records.append(record)
                yield record
            line = _seed_line(seed_records)
            print(line, file=log, flush=True)
            for record in seed_records:
                if not record["status"]["converged"]:
                    name = f"{record['method']} fold {record['fold']}"
                    print(f"  {name}: {record['status']['message']}", file=log, flush=True)


def _seed_line(records: list[dict[str, Any]]) -> str:
    first = records[0]
    converged = sum(record["status"]["converged"] for record in records)
    seconds = sum(record["seconds"] for record in records)
    return (
        f"  {first['dataset']} {first['protocol']} {records[-1]['method']} seed {first['seed']}: "
        f"{converged}/{len(records)} fits converged, {seconds:.1f} s"
    )
