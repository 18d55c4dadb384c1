"""Jobs of the QP paper, and the functions that fold their files into records.

Each step takes the paths of its inputs, and of a log, by name (`papers.evidence.jobs.Job`).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence import merge, records, store
from papers.evidence.records import Change
from papers.evidence.store import RecordError
from papers.qp import protocols, published

if TYPE_CHECKING:
    from typing import Any

FITS, TRUTH, DIFFERENCES = "papers.qp.fits", "papers.qp.truth.experiment", "papers.qp.differences"
EFFECTS, ERRORS = "papers.qp.lookup.effect", "papers.qp.lookup.errors"
FOLDING, TRUTH_FOLDING, NEARER = "papers.qp.collect", "papers.qp.truth.records", "papers.qp.nearer.experiment"
LOOKUP = "tilted.projections.table"
"""Modules of the experiments, of the folding of their files, and of the certified table."""


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
    starts = None
    if start is not None:
        before = [record for record in store.read_records(start) if record["method"] == spec["start"]]
        if any((record["protocol"], record["dataset"]) != (protocol, dataset) for record in before):
            raise RecordError(f"{start}: not of {protocol} {dataset}; delete it and run again")
        starts = {(record["seed"], record["fold"]): record for record in before}
    certified = None if table is None else lookup.read(table)
    fitted = experiment.run_job(standard_set, protocol, method, range(first, last + 1), starts, certified)
    return narrate(fitted, log)


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


def fold_truth(paths: Iterable[str | Path], folder: str | Path) -> dict[str, str]:
    """Put records of ground truth into the folder of records; return the new ones."""
    return dict.fromkeys(import_module(TRUTH_FOLDING).fold_in(paths, folder), "new")


def fold_nearer(paths: Iterable[str | Path], folder: str | Path) -> dict[str, Change]:
    """Put the approximations of the ground truth's splits into their two records."""
    from papers.qp.records import NEARER_FITS, NEARER_LATENTS

    module, paths = import_module(NEARER), list(paths)
    new = {
        NEARER_FITS: merge.collected(NEARER_FITS, paths, module.fit_line),
        NEARER_LATENTS: merge.collected(NEARER_LATENTS, paths, module.latent_lines),
    }
    return records.replace_units(folder, new)


def fold_lookup(
    paths: Iterable[str | Path], folder: str | Path, counts: Sequence[int], points: int, rows: int
) -> dict[str, Change]:
    """Fold the tables' effects on fits into their record, and measure errors, sizes and times now."""
    from papers.qp.records import LOOKUP_EFFECT, LOOKUP_ERRORS

    changed = records.fold_in(LOOKUP_EFFECT, paths, folder)
    measured = import_module(ERRORS).compare(counts, points, rows)
    return {LOOKUP_EFFECT.file: changed, **records.put(folder, {LOOKUP_ERRORS: measured})}


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
