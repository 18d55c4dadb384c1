"""How long one inference takes: EP against QP at the same hyperparameters, each from flat sites (QP8).

The paper says that with lookup tables both take almost the same time [Zhang 2020, appendix J]. The records
of the full runs cannot tell, since EP's times include its search for hyperparameters. Here EP is tuned
once a fold and then every method infers at these hyperparameters alone, to the protocol's own tolerance.
Times are processor seconds, the best of a few repeats; run it on an otherwise idle machine.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from papers import data
from papers.evidence import statistics
from papers.evidence.comparisons import similar
from papers.evidence.grid import counted
from papers.evidence.verdicts import Block, Inference, Line
from papers.evidence.verified import SCRATCH
from papers.evidence.verify import compared
from papers.qp import fits, protocols
from papers.qp.published import CLASSIFICATION, ROWS
from papers.qp.rerun import certified_table, loaded, naming_missing_data

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.data import Dataset
    from papers.evidence.verify import Context
    from papers.qp.rerun import Made

METHODS = ("ep", "qp", "qp-lookup")
"""EP, QP by direct quadrature, QP with the certified lookup table."""

COLUMNS = tuple("dataset protocol seed fold method sweeps seconds N".split())
FILE = "timing.csv"
TASK = "classification"
REPEATS = 3
SAME_TIME = 1.25
"""Times whose ratio lies within this factor of 1 are almost the same."""


def measure(
    dataset: Dataset,
    protocol: str,
    cells: Iterable[tuple[int, int]],
    methods: Sequence[str] = METHODS,
    repeats: int = REPEATS,
) -> Iterator[dict[str, Any]]:
    """Time one cold inference of each method on some folds of a classification data set.

    Parameters
    ----------
    dataset : Dataset
        In the variant of the protocol.
    protocol : str
    cells : iterable of (seed, fold)
    methods : sequence of str, optional
        Of `METHODS`.
    repeats : int
        Inferences a time is the best of.

    Yields
    ------
    record : dict
        `COLUMNS`; ``seconds`` and ``sweeps`` are None where EP could not be tuned, or where the
        inference failed or did not converge: such a time compares with nothing.

    Raises
    ------
    ValueError
        Not a classification data set, unknown names, or fewer than one repeat.
    """
    if fits.task_of(dataset.name) != TASK:
        raise ValueError(f"'{dataset.name}' is not a classification data set")
    if repeats < 1:
        raise ValueError(f"need at least one repeat, got {repeats}")
    for seed, fold in cells:
        tuned = fits.run_cell(dataset, protocol, "ep", seed, fold)[0]
        cell = fits.cell_of(dataset, protocol, "ep", seed, fold)
        for method in methods:
            sweeps, seconds = _timed(cell, tuned, method, repeats)
            values = (dataset.name, protocol, seed, fold, method, sweeps, seconds, tuned["n_train"])
            yield dict(zip(COLUMNS, values, strict=True))


def _timed(
    cell: fits.Cell, tuned: dict[str, Any], method: str, repeats: int
) -> tuple[int | None, float | None]:
    """Sweeps and the least processor seconds of ``repeats`` inferences at EP's hyperparameters."""
    if tuned["hyperparameters"] is None:
        return None, None
    kernel = fits.kernel_at(tuned["hyperparameters"])
    rule, projection = ("qp", certified_table()) if method == "qp-lookup" else (method, None)
    asked = cell._replace(spec={**cell.spec, "rule": rule})
    seconds = np.inf
    for _ in range(repeats):
        began = time.process_time()
        try:
            fitted = fits.approximate(asked, kernel, projection=projection)
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
        No seed, or an unknown data set or protocol.
    """
    if seeds < 1:
        raise ValueError(f"need at least one seed, got {seeds}")
    names = datasets or [name for name in data.names() if fits.task_of(name) == TASK]
    cells = [(seed, 0) for seed in range(seeds)]
    for protocol in protocols_timed:
        variant = protocols.block(protocol, TASK)["variant"]
        for name in names:
            yield from measure(data.load(name, variant, mirror=mirror), protocol, cells, repeats=repeats)
            tell(f"{protocol} {name}: {len(cells)} folds timed")


@naming_missing_data
def again(lines: pd.DataFrame, context: Context) -> Made:
    """Count the sweeps of lines of one protocol and data set again; seconds are not compared."""
    for line in lines.to_dict("records"):
        counted_again = _untimed(
            line["dataset"], line["protocol"], line["seed"], line["fold"], context.mirror
        )
        yield line, [compared(SCRATCH, context.study, line, counted_again[line["method"]])]


@functools.lru_cache(maxsize=8)
def _untimed(
    dataset: str, protocol: str, seed: int, fold: int, mirror: str | None
) -> dict[str, dict[str, Any]]:
    """Method -> its sweeps on a fold, and the fold's size."""
    measured = measure(loaded(dataset, protocol, mirror), protocol, [(seed, fold)], repeats=1)
    return {line["method"]: {"sweeps": line["sweeps"], "N": line["N"]} for line in measured}


def same_time(times: pd.DataFrame | None, protocol: str) -> list[Block]:
    """QP8: seconds of one inference, QP with a lookup table against EP; direct quadrature beside it."""
    kinds = {"qp-lookup": "lookup table", "qp": "direct quadrature"}
    ours = times[times["protocol"] == protocol] if times is not None else None
    return [_times(ours, method, name) for method, name in kinds.items()]


def _times(times: pd.DataFrame | None, method: str, name: str) -> Block:
    test = f"two one-sided t tests of the log ratio against a factor of {SAME_TIME:g}, Holm over rows"
    ratios = [_log_ratios(times, dataset, method) for dataset in CLASSIFICATION]
    estimates = [statistics.paired_t(r["seconds"]) if len(r["seconds"]) >= 2 else None for r in ratios]
    margin = math.log(SAME_TIME)
    p = iter(statistics.holm([e.p_equivalent(margin) for e in estimates if e]).tolist())
    lines = tuple(
        _time_line(ROWS[dataset], method, ratio, estimate, next(p) if estimate else math.nan)
        for dataset, ratio, estimate in zip(CLASSIFICATION, ratios, estimates, strict=True)
    )
    missing = all(estimate is None for estimate in estimates)
    remark = f"{FILE} has no times of {method} under this protocol" if missing else ""
    return Block(name, test, lines, _nearness, remark)


def _nearness(ratio: float) -> float:
    return -abs(math.log(ratio))


def _log_ratios(times: pd.DataFrame | None, dataset: str, method: str) -> dict[str, np.ndarray]:
    """Logarithms of seconds and of sweeps, method over EP, of the folds that have both."""
    names = ["seconds", "sweeps"]
    if times is None:
        return {name: np.empty(0) for name in names}
    wide = times[times["dataset"] == dataset].set_index(["seed", "fold"])
    both = wide.loc[wide["method"] == method, names].join(
        wide.loc[wide["method"] == "ep", names].add_suffix("_ep"), how="inner"
    )
    both = both.dropna().astype(float)
    return {name: np.log((both[name] / both[f"{name}_ep"]).to_numpy()) for name in names}


def _time_line(
    row: str,
    method: str,
    ratios: dict[str, np.ndarray],
    estimate: statistics.Estimate | None,
    p_equivalent: float,
) -> Line:
    quantity = f"seconds of {method} / seconds of ep"
    if estimate is None:
        return Line(row, quantity, "factor", note=f"{counted(len(ratios['seconds']), 'fold')} timed")
    status = similar(estimate, math.nan, p_equivalent, math.log(SAME_TIME))
    low, high = (math.exp(end) for end in estimate.interval())
    sample = Inference(status, low, high, p_equivalent=p_equivalent)
    note = f"sweeps in the ratio {math.exp(ratios['sweeps'].mean()):.2f}"
    return Line(row, quantity, "factor", math.exp(estimate.mean), sample=sample, n=estimate.n, note=note)
