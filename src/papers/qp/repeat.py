"""Repeat recorded fits of the QP paper from scratch.

A search starts where the protocol says; where that is at another method's hyperparameters, at those of its
repeated fit, or of its record if that is not repeated.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from papers import data
from papers.core.runs import content_hash
from papers.data.own import described
from papers.qp import fits, pairs, protocols
from papers.qp.lines import FAILED, kernel_of
from tilted.projections import table as lookup

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.data import Dataset
    from tilted.projections.table import RatioTable

TABLE_POINTS = 2
"""Points at which a lookup table built here measures its own error; the tests measure it in full."""


def todays(line: Mapping[str, Any]) -> str | None:
    """Return the hash of today's protocol for a fit; None if there is no such fit."""
    try:
        task = fits.task_of(line["dataset"])
        chosen = protocols.choices(line["protocol"], task, line["method"])
        return content_hash(chosen | described(line["dataset"]))
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
    variant = protocols.block(protocol, fits.task_of(dataset))["variant"]
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
    methods = protocols.block(protocol, fits.task_of(dataset.name))["methods"]
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
            table = certified_table() if fits.uses_table(protocol, dataset.name, job) else None
            cell = fits.run_fold(dataset, protocol, job, int(seed), int(fold), start=start, table=table)
            done |= {record["method"]: record for record in cell}
        ep_fits = pairs.fits_of(done.values())
        for method in wanted:
            yield pairs.with_pairs(done[method], ep_fits) if method == "qp" else done[method]


def start_record(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hyperparameters of the record that a search starts from, None if that fit failed."""
    if line["outcome"] == FAILED:
        return {"hyperparameters": None}
    kernel = kernel_of(line)
    return {"hyperparameters": {"variance": kernel.variance, "lengthscale": kernel.lengthscale}}
