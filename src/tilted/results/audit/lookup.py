"""Claims about lookup tables: QP8 (time) and QP9 (instability), from two of the `studies`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilted.results import statistics
from tilted.results.audit.rows import NTLL, shown, similar
from tilted.results.audit.scores import CLASSIFICATION
from tilted.results.audit.verdicts import MISSING, NO, YES, Block, Inference, Line
from tilted.results.grid import counted
from tilted.results.published import ROWS
from tilted.results.studies import EFFECT, TIMING

if TYPE_CHECKING:
    import pandas as pd

SAME_TIME = 1.25
"""Times whose ratio lies within this factor of 1 are almost the same."""

RARE = 0.05
"""Largest share of spoiled fits that passes for none."""

HIGH_DIMENSIONAL = ("ionosphere", "sonar")
"""The rows with more than 30 features (34 and 60); the others have at most 13."""


def same_time(timing: pd.DataFrame | None, protocol: str) -> list[Block]:
    """QP8: seconds of one inference, QP with a lookup table against EP; direct quadrature beside it."""
    made = timing is not None and (timing["protocol"] == protocol).any()
    part = timing[timing["protocol"] == protocol] if made else None
    return [_times(part, "qp-lookup", "lookup table"), _times(part, "qp", "direct quadrature")]


def _times(part: pd.DataFrame | None, method: str, name: str) -> Block:
    test = f"two one-sided t tests of the log ratio against a factor of {SAME_TIME:g}, Holm over rows"
    ratios = [_log_ratios(part, dataset, method) for dataset in CLASSIFICATION]
    estimates = [statistics.paired_t(r["seconds"]) if len(r["seconds"]) >= 2 else None for r in ratios]
    margin = math.log(SAME_TIME)
    p = iter(statistics.holm([e.p_equivalent(margin) for e in estimates if e]).tolist())
    lines = tuple(
        _time_line(ROWS[dataset], method, found, estimate, next(p) if estimate else math.nan)
        for dataset, found, estimate in zip(CLASSIFICATION, ratios, estimates, strict=True)
    )
    missing = all(estimate is None for estimate in estimates)
    remark = f"{TIMING} has no times of {method} under this protocol" if missing else ""
    return Block(name, test, lines, _nearness, remark)


def _nearness(ratio: float) -> float:
    return -abs(math.log(ratio))


def _log_ratios(part: pd.DataFrame | None, dataset: str, method: str) -> dict[str, np.ndarray]:
    """Logarithms of seconds and of sweeps, method over EP, of the folds that have both."""
    if part is None:
        return {"seconds": np.empty(0), "sweeps": np.empty(0)}
    wide = part[part["dataset"] == dataset].set_index(["seed", "fold"])
    values = wide.loc[wide["method"] == method, ["seconds", "sweeps"]].join(
        wide.loc[wide["method"] == "ep", ["seconds", "sweeps"]].add_suffix("_ep"), how="inner"
    )
    values = values.dropna()
    return {name: np.log((values[name] / values[f"{name}_ep"]).to_numpy()) for name in ("seconds", "sweeps")}


def _time_line(row: str, method: str, found, estimate, p_equivalent: float) -> Line:
    quantity = f"seconds of {method} / seconds of ep"
    if estimate is None:
        return Line(row, quantity, "factor", note=f"{counted(len(found['seconds']), 'fold')} timed")
    status = similar(estimate, math.nan, p_equivalent, math.log(SAME_TIME))
    low, high = (math.exp(end) for end in estimate.interval())
    sample = Inference(status, low, high, p_equivalent=p_equivalent)
    note = f"sweeps in the ratio {math.exp(found['sweeps'].mean()):.2f}"
    return Line(row, quantity, "factor", math.exp(estimate.mean), sample=sample, n=estimate.n, note=note)


def unstable(effect: pd.DataFrame | None, protocol: str) -> list[Block]:
    """QP9: fits that the paper's table spoils, on the rows with many features; the others beside them."""
    made = effect is not None and (effect["protocol"] == protocol).any()
    part = effect[effect["protocol"] == protocol] if made else None
    rest = [name for name in CLASSIFICATION if name not in HIGH_DIMENSIONAL]
    blocks = []
    for projection in ("as-described", "certified"):
        lines = [_spoiled(part, HIGH_DIMENSIONAL, projection)]
        others = [_spoiled(part, (dataset,), projection) for dataset in (*HIGH_DIMENSIONAL, *rest)]
        remark = "" if any(line.n for line in lines) else _why_not(effect, protocol, projection)
        test = (
            "some fit, converged by quadrature, does not converge with the table or moves by more than "
            f"{NTLL.margin:g} nats; exact binomial interval"
        )
        blocks.append(Block(f"table {projection}", test, (*lines, *shown(others)), float, remark))
    return blocks


def _why_not(effect: pd.DataFrame | None, protocol: str, projection: str) -> str:
    if effect is None:
        return (
            f"needs {EFFECT}: the same folds at the same hyperparameters by quadrature and with the "
            f"{projection} table"
        )
    return f"{EFFECT} has no fits with the {projection} table under {protocol} on the rows with many features"


def _spoiled(part: pd.DataFrame | None, datasets: Sequence[str], projection: str) -> Line:
    """Share of the folds that quadrature solves and the table does not, or not the same."""
    row, quantity = " and ".join(ROWS[name] for name in datasets), "fits spoiled by the table"
    if part is None:
        return Line(row, quantity, "share", note="no fits")
    wide = part[part["dataset"].isin(datasets)].set_index(["dataset", "seed", "fold"])
    names = ["converged", "ntll", "outside_box"]
    both = wide.loc[wide["projection"] == projection, names].join(
        wide.loc[wide["projection"] == "quadrature", names].add_suffix("_exact"), how="inner"
    )
    both = both[both["converged_exact"]]
    if both.empty:
        return Line(row, quantity, "share", note="no fits")
    lost = ~both["converged"]
    moved = ~lost & ~((both["ntll"] - both["ntll_exact"]).abs() <= NTLL.margin)
    spoiled, n = int((lost | moved).sum()), len(both)
    interval = statistics.share_interval(spoiled, n)
    status = YES if spoiled else NO if interval[1] < RARE else MISSING
    sample = Inference(status, *interval)
    note = (
        f"{counted(both.index.get_level_values('seed').nunique(), 'seed')}; {lost.sum()} not converged, "
        f"{moved.sum()} moved; "
        f"{100 * both['outside_box'].mean():.0f} % of sites outside the box"
    )
    if status == MISSING:
        note = f"{counted(n, 'fit')}, too few to tell; {note}"
    return Line(row, quantity, "share", spoiled / n, sample=sample, n=n, note=note)
