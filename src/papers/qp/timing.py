"""Time of one inference: EP against QP at the same hyperparameters, each from flat sites (QP8).

The paper says that EP and QP with lookup tables take almost the same time [Zhang 2020, appendix J], with its
code on its machine. This module measures the share of the algorithm: the number of sweeps and the cost of a
sweep. EP is tuned once for each fold. Then every method infers at these hyperparameters, to the protocol's
own tolerance. (Times in the records of the full runs include the search for hyperparameters.) Times are
processor seconds, the best of a few repeats. Run it on an idle machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from papers import data
from papers.core import comparisons
from papers.core.claims import load
from papers.core.comparisons import Draft, similar
from papers.core.grid import counted
from papers.core.verdicts import Block, Line
from papers.data.registry import task_of
from papers.qp import fits, protocols
from papers.qp.published import CLASSIFICATION, ROWS
from papers.qp.refit import certified_table, loaded

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.data import Dataset

METHODS = ("ep", "qp", "qp-lookup")
"""EP, QP by direct quadrature, QP with the certified lookup table."""

TASK = "classification"
SAME_TIME = load()["QP8"].margin["factor"]
"""Times whose ratio lies within this factor of 1 are almost the same."""


def measure(
    dataset: Dataset,
    protocol: str,
    cells: Iterable[tuple[int, int]],
    repeats: int,
) -> Iterator[dict[str, Any]]:
    """Time one cold inference of each of `METHODS` on some folds of a classification data set.

    Parameters
    ----------
    dataset : Dataset
        Data set in the variant of the protocol.
    protocol : str
    cells : iterable of (seed, fold)
    repeats : int
        Inferences a time is the best of.

    Yields
    ------
    record : dict
        Columns of `papers.qp.records.TIMING`; ``seconds`` and ``sweeps`` are None where EP could not be
        tuned, or where the inference failed or did not converge: such a time cannot be compared.

    Raises
    ------
    ValueError
        Unknown names.
    """
    for seed, fold in cells:
        tuned = fits.run_fold(dataset, protocol, "ep", seed, fold)[0]
        cell = fits.cell_of(dataset, protocol, "ep", seed, fold)
        for method in METHODS:
            sweeps, seconds = _timed(cell, tuned, method, repeats)
            yield {
                **{"dataset": dataset.name, "protocol": protocol, "seed": seed, "fold": fold},
                **{"method": method, "sweeps": sweeps, "seconds": seconds, "N": tuned["n_train"]},
            }


def _timed(
    cell: fits.Cell, tuned: dict[str, Any], method: str, repeats: int
) -> tuple[int | None, float | None]:
    """Return sweeps and the least processor seconds of ``repeats`` inferences at EP's hyperparameters."""
    if tuned["hyperparameters"] is None:
        return None, None
    kernel = fits.kernel_at(tuned["hyperparameters"])
    rule, projection = ("qp", certified_table()) if method == "qp-lookup" else (method, None)
    variant = cell._replace(spec={**cell.spec, "rule": rule})
    seconds = np.inf
    for _ in range(repeats):
        began = time.process_time()
        try:
            fitted = fits.approximate(variant, kernel, projection=projection)
        except ArithmeticError:  # an improper posterior
            return None, None
        seconds = min(seconds, time.process_time() - began)
    return (fitted.status.sweeps, seconds) if fitted.status.converged else (None, None)


def timed(
    datasets: Sequence[str] | None,
    protocols_timed: Sequence[str],
    seeds: int,
    repeats: int,
    mirror: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Iterator[dict[str, Any]]:
    """Time fold 0 of the first seeds.

    Parameters
    ----------
    datasets : sequence of str, optional
        Default: every classification data set.
    protocols_timed : sequence of str
    seeds, repeats : int
        A time is the best of so many repeats (`measure`).
    mirror : str, optional
        Folder or base URL tried first for raw data.
    tell : callable
        Given a line of progress a data set.

    Raises
    ------
    ValueError
        An unknown data set or protocol.
    """
    names = datasets or [name for name in data.names() if task_of(name) == TASK]
    cells = [(seed, 0) for seed in range(seeds)]
    for protocol in protocols_timed:
        variant = protocols.block(protocol, TASK)["variant"]
        for name in names:
            yield from measure(data.load(name, variant, mirror=mirror), protocol, cells, repeats=repeats)
            tell(f"{protocol} {name}: {len(cells)} folds timed")


def repeat(rows: pd.DataFrame, mirror: str | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of the folds that rows of one protocol and data set come from, timed once."""
    first = rows.iloc[0]
    dataset = loaded(first["dataset"], first["protocol"], mirror)
    cells = [
        (int(seed), int(fold)) for seed, fold in dict.fromkeys(zip(rows["seed"], rows["fold"], strict=True))
    ]
    return measure(dataset, first["protocol"], cells, repeats=1)


def same_time(times: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge QP8: sweeps of QP with a lookup table over EP's, with seconds of a sweep and in total."""
    test = f"two one-sided t tests over folds of the log ratio against a factor of {SAME_TIME:g}, Holm"
    blocks = []
    for name, method, quantities in JUDGED:
        wide = _wide(times, protocol, method)
        family = [
            _draft(dataset, quantity, method, wide[wide["dataset"] == dataset])
            for dataset in CLASSIFICATION
            for quantity in quantities
        ]
        lines = tuple(map(_as_factor, comparisons.tested(family)))
        remark = REMARK if len(wide) else f"timing.csv has no times of {method} under this protocol"
        blocks.append(Block(name, test, lines, remark, best=1.0))
    return blocks


JUDGED = (
    ("sweeps, lookup table", "qp-lookup", ("sweeps",)),
    ("seconds of a sweep, lookup table", "qp-lookup", ("seconds of a sweep",)),
    ("seconds of an inference, lookup table", "qp-lookup", ("seconds",)),
    ("seconds of an inference, direct quadrature", "qp", ("seconds",)),
)
"""Name of a block, method, quantities."""

REMARK = "seconds are of this code; the running time of the paper's is not testable"


def _wide(times: pd.DataFrame, protocol: str, method: str) -> pd.DataFrame:
    """Return the folds with times of EP and of a method, in columns ``NAME_ep`` and ``NAME``."""
    selected = times[times["protocol"] == protocol].dropna()
    selected = selected.assign(**{"seconds of a sweep": selected["seconds"] / selected["sweeps"]})
    sides = [selected[selected["method"] == name] for name in (method, "ep")]
    return sides[0].merge(sides[1], on=["dataset", "seed", "fold"], suffixes=("", "_ep"))


def _draft(dataset: str, quantity: str, method: str, folds: pd.DataFrame) -> Draft:
    name = f"{quantity}, {method} / ep"
    if len(folds) < 2:
        return comparisons.missing(ROWS[dataset], name, "factor", f"{counted(len(folds), 'fold')} timed")
    ratios = np.log((folds[quantity] / folds[f"{quantity}_ep"]).to_numpy(float))
    return Draft(ROWS[dataset], name, "factor", ratios, np.empty(0), math.log(SAME_TIME), similar, of="fold")


def _as_factor(line: Line) -> Line:
    """Convert a row tested on logarithms to ratios."""
    low, high = math.exp(line.sample.low), math.exp(line.sample.high)
    sample = replace(line.sample, low=low, high=high)
    return replace(line, effect=math.exp(line.effect), sd=math.nan, sample=sample)
