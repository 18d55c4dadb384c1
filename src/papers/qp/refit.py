"""Fit single folds: by the command ``tilted fit``, and to repeat recorded fits from scratch.

A search starts where the protocol says; where that is at another method's hyperparameters, the command fits
that method first. A repeat takes them from the repeated fit, or from the record if that fit is not repeated.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from papers import data
from papers.core.runs import content_hash
from papers.data.registry import task_of, user_data
from papers.qp import fits, pairs, protocols
from papers.qp.fit_rows import FAILED, kernel_of
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.projections import table as lookup

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.data import Dataset
    from tilted.projections.table import RatioTable

PREFIX = "qp:"
"""Optional prefix of the names of this paper's data sets (`registry.PAPERS`)."""

TABLE_POINTS = 2
"""Points at which a lookup table built here measures its own error; the tests measure it in full."""


# The command


def hyperparameters(text: str) -> SquaredExponential:
    """Return the kernel of ``variance=V,lengthscale=L`` (ARD: ``lengthscale=L1:L2:...``).

    Raises
    ------
    ValueError
        If a name is unknown or missing, or a value is not a positive number.
    """
    values = dict(item.partition("=")[::2] for item in text.split(","))
    try:
        if values.keys() != {"variance", "lengthscale"}:
            raise ValueError
        variance = float(values["variance"])
        scales = tuple(map(float, values["lengthscale"].split(":")))
    except ValueError:
        raise ValueError(f"--hyperparameters takes variance=V,lengthscale=L, got '{text}'") from None
    return SquaredExponential(variance, scales if len(scales) > 1 else scales[0])


def fitted(
    name: str,
    protocol: str,
    seed: int,
    fold: int,
    method: str,
    fixed: SquaredExponential | None = None,
    mirror: str | None = None,
) -> dict[str, Any]:
    """Return the record of a fit.

    A method may start from the hyperparameters of another. That method is then fitted first.

    Parameters
    ----------
    name, protocol : str
        Data set and protocol.
    seed, fold : int
    method : str
        Method of a record, which may be a first tuning.
    fixed : SquaredExponential, optional
        Use these hyperparameters and infer only.
    mirror : str, optional
        Folder or base URL tried first for raw data.

    Raises
    ------
    ValueError
        An unknown name (the message lists the known ones), or a fold or seed out of range.
    """
    name = name.removeprefix(PREFIX)
    if name not in data.names():
        raise ValueError(f"unknown data set '{name}'; known: {', '.join(data.names())}")
    task = task_of(name)
    block, spec = protocols.block(protocol, task), protocols.method(protocol, task, method)
    dataset = data.load(name, block["variant"], mirror=mirror)

    def recorded(wanted: str, start: dict[str, Any] | None = None) -> dict[str, Any]:
        job = protocols.job_of(block["methods"], wanted)
        assert job is not None, "methods start from others of their protocol"
        records = fits.run_fold(dataset, protocol, job, seed, fold, start, fixed)
        named = [record for record in records if record["method"] == wanted]
        return named[0] if named else {**records[-1], "method": wanted}

    return recorded(method, recorded(spec["start"]) if fixed is None and "start" in spec else None)


def summary(record: Mapping[str, Any], searched: bool = True) -> str:
    """Summarise a record as text; if it was ``searched``, name the fit that the search started from."""
    status, method = record["status"], record["method"]
    spec = protocols.method(record["protocol"], task_of(record["dataset"]), method)
    twice = spec.get("tunings", 1) > 1 and not method.endswith(protocols.TUNE)
    began = spec.get("start", method + protocols.TUNE if twice else "") if searched else ""
    how = "searched from those" if spec.get("optimise", True) else "those"
    whose = f", {how} of {began}, counted apart (--method {began})" if began else ""
    error = "mean |error|" if task_of(record["dataset"]) == "counts" else "test error"
    lines = [
        f"{record['dataset']} {record['protocol']} seed {record['seed']} fold {record['fold']} "
        f"{record['method']}: {record['n_train']} training, {record['n_test']} test points"
    ]
    if record["log_evidence"] is not None:
        lines += [
            f"  log evidence      {record['log_evidence']:.6f}",
            f"  hyperparameters   {record['hyperparameters']}{whose}",
            f"  {error:17} {record['test_error']:.4f}",
            f"  NTLL              {record['ntll']:.6f} nats a point",
        ]
    counts = f"{status['evaluations']} evaluations, {status['sweeps']} sweeps"
    lines += [
        f"  converged         {status['converged']} ({counts})",
        f"  message           {status['message']}",
        f"  seconds           {record['seconds']:.2f}",
    ]
    return "\n".join(lines)


# Repeats


def todays(line: Mapping[str, Any]) -> str | None:
    """Return the hash of today's protocol for a fit; None if there is no such fit."""
    try:
        task = task_of(line["dataset"])
        chosen = protocols.choices(line["protocol"], task, line["method"])
        return content_hash(chosen | user_data(line["dataset"]))
    except ValueError:
        return None


@functools.lru_cache(maxsize=4)
def loaded(dataset: str, protocol: str, mirror: str | None) -> Dataset:
    """Load a data set in the variant of a protocol; a process keeps the last ones.

    Raises
    ------
    DataError
        Raw data are not to be had.
    """
    variant = protocols.block(protocol, task_of(dataset))["variant"]
    return data.load(dataset, variant, mirror=mirror)


@functools.lru_cache(maxsize=1)
def certified_table() -> RatioTable:
    """Return the certified lookup table, built once a process."""
    return lookup.build(points=TABLE_POINTS)


def repeat(rows: pd.DataFrame, recorded: pd.DataFrame, mirror: str | None) -> Iterator[dict[str, Any]]:
    """Yield the fit records (`papers.qp.fits.run_fold`) of rows of one protocol and data set.

    Parameters
    ----------
    rows : pandas.DataFrame
        Of the records of fits.
    recorded : pandas.DataFrame
        All rows of the protocol, at whose hyperparameters a search may start.
    mirror : str or None
        Of raw data, tried first.
    """
    first = rows.iloc[0]
    protocol, dataset = first["protocol"], loaded(first["dataset"], first["protocol"], mirror)
    methods = protocols.block(protocol, task_of(dataset.name))["methods"]
    for (seed, fold), of_fold in rows.groupby(["seed", "fold"], sort=False):
        rows_of_fold = recorded[(recorded["seed"] == seed) & (recorded["fold"] == fold)]
        by_method = {row["method"]: row for row in rows_of_fold.to_dict("records")}
        wanted = list(of_fold["method"])
        jobs = {protocols.job_of(methods, name) for name in wanted}
        done: dict[str, dict[str, Any]] = {}
        for job in filter(jobs.__contains__, methods):  # a method stands behind the one that it starts from
            source = methods[job].get("start")
            start = None
            if source is not None:
                start = done[source] if source in done else start_record(by_method[source])
            table = certified_table() if methods[job].get("lookup") == "certified" else None
            cell = fits.run_fold(dataset, protocol, job, int(seed), int(fold), start=start, table=table)
            done |= {record["method"]: record for record in cell}
        for method in wanted:
            record = done[method]
            yield pairs.with_pairs(record, done.values()) if method == "qp" else record


def start_record(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hyperparameters of the record that a search starts from, None if that fit failed."""
    if line["outcome"] == FAILED:
        return {"hyperparameters": None}
    kernel = kernel_of(line)
    return {"hyperparameters": {"variance": kernel.variance, "lengthscale": kernel.lengthscale}}
