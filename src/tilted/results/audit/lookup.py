"""Claims about lookup tables: QP8 (time) and QP9 (instability), from two of the `studies`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.results import statistics
from tilted.results.audit.rows import NTLL, shown, similar
from tilted.results.audit.scores import CLASSIFICATION
from tilted.results.audit.verdicts import MISSING, NO, UNDECIDED, YES, Block, Inference, Line
from tilted.results.grid import counted
from tilted.results.published import ROWS
from tilted.results.studies import EFFECT, TIMING

if TYPE_CHECKING:
    import pandas as pd

SAME_TIME = 1.25
"""Times whose ratio lies within this factor of 1 are almost the same."""

RARE = 0.05
"""Largest share of lost fits that passes for none."""

HIGH_DIMENSIONAL = ("ionosphere", "sonar")
"""The rows with more than 30 features (34 and 60); the `REST` has at most `FEW`."""

REST = tuple(name for name in CLASSIFICATION if name not in HIGH_DIMENSIONAL)
FEW = 13


def same_time(timing: pd.DataFrame | None, protocol: str) -> list[Block]:
    """QP8: seconds of one inference, QP with a lookup table against EP; direct quadrature beside it."""
    part = _of(timing, protocol)
    return [_times(part, "qp-lookup", "lookup table"), _times(part, "qp", "direct quadrature")]


def _of(study: pd.DataFrame | None, protocol: str) -> pd.DataFrame | None:
    """Lines of a study under a protocol; None without any."""
    if study is None:
        return None
    part = study[study["protocol"] == protocol]
    return part if len(part) else None


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


def _time_line(
    row: str,
    method: str,
    found: dict[str, np.ndarray],
    estimate: statistics.Estimate | None,
    p_equivalent: float,
) -> Line:
    quantity = f"seconds of {method} / seconds of ep"
    if estimate is None:
        return Line(row, quantity, "factor", note=f"{counted(len(found['seconds']), 'fold')} timed")
    status = similar(estimate, math.nan, p_equivalent, math.log(SAME_TIME))
    low, high = (math.exp(end) for end in estimate.interval())
    sample = Inference(status, low, high, p_equivalent=p_equivalent)
    note = f"sweeps in the ratio {math.exp(found['sweeps'].mean()):.2f}"
    return Line(row, quantity, "factor", math.exp(estimate.mean), sample=sample, n=estimate.n, note=note)


def unstable(effect: pd.DataFrame | None, protocol: str) -> list[Block]:
    """QP9: fits that are lost with the paper's table, more often on the rows with many features."""
    part = _of(effect, protocol)
    test = (
        "fits that converge by quadrature and not with the table; Fisher's exact test of a larger share than "
        f"on the rows with at most {FEW} features, exact binomial interval"
    )
    blocks = []
    for projection in ("as-described", "certified"):
        high, low = (_outcomes(part, names, projection) for names in (HIGH_DIMENSIONAL, REST))
        lines = [_compared(high, low)]
        apart = [_line(_outcomes(part, (name,), projection)) for name in (*HIGH_DIMENSIONAL, *REST)]
        beside = shown([replace(_line(low), row=f"at most {FEW} features"), *apart])
        remark = "" if any(line.n for line in lines) else _why_not(effect, protocol, projection)
        blocks.append(Block(f"table {projection}", test, (*lines, *beside), float, remark))
    return blocks


def _why_not(effect: pd.DataFrame | None, protocol: str, projection: str) -> str:
    if effect is None:
        return (
            f"needs {EFFECT}: the same folds at the same hyperparameters by quadrature and with the "
            f"{projection} table"
        )
    return f"{EFFECT} has no fits with the {projection} table under {protocol} on the rows with many features"


class _Outcomes(NamedTuple):
    """Fits that quadrature solves, of some data sets: how many are lost, and what became of all."""

    row: str
    n: int
    lost: int
    note: str


def _outcomes(part: pd.DataFrame | None, datasets: Sequence[str], projection: str) -> _Outcomes:
    row = " and ".join(ROWS[name] for name in datasets)
    if part is None:
        return _Outcomes(row, 0, 0, "no fits")
    wide = part[part["dataset"].isin(datasets)].set_index(["dataset", "seed", "fold"])
    names = ["converged", "ntll", "outside_box"]
    both = wide.loc[wide["projection"] == projection, names].join(
        wide.loc[wide["projection"] == "quadrature", names].add_suffix("_exact"), how="inner"
    )
    both = both[both["converged_exact"]]
    if both.empty:
        return _Outcomes(row, 0, 0, "no fits")
    lost = ~both["converged"]
    moved = both[~lost & ~((both["ntll"] - both["ntll_exact"]).abs() <= NTLL.margin)]
    theirs = 100 * moved["outside_box"].mean()
    where = f", {theirs:.0f} % of their sites outside the box" if len(moved) else ""
    note = (
        f"{counted(both.index.get_level_values('seed').nunique(), 'seed')}; {lost.sum()} not converged; "
        f"{len(moved)} moved{where}; {100 * both['outside_box'].mean():.0f} % of all sites outside"
    )
    return _Outcomes(row, len(both), int(lost.sum()), note)


def _line(found: _Outcomes) -> Line:
    """A share without a status."""
    quantity = "fits lost with the table"
    if not found.n:
        return Line(found.row, quantity, "share", note=found.note)
    sample = Inference(MISSING, *statistics.share_interval(found.lost, found.n))
    return Line(found.row, quantity, "share", found.lost / found.n, sample=sample, n=found.n, note=found.note)


def _compared(high: _Outcomes, low: _Outcomes) -> Line:
    """The line that decides: whether fits are lost on the rows with many features, and more often there."""
    from scipy import stats

    line = _line(high)
    if not high.n:
        return line
    table = [[found.lost, found.n - found.lost] for found in (high, low)]
    p = float(stats.fisher_exact(table, alternative="greater").pvalue) if low.n else math.nan
    status, why = _status(high, low, p, line.sample.high)
    note = "; ".join(filter(None, [why, line.note]))
    return replace(line, sample=replace(line.sample, status=status, p=p), note=note)


def _status(high: _Outcomes, low: _Outcomes, p: float, most: float) -> tuple[str, str]:
    """Status of the claim and the reason where there is no data; ``most`` is the end of the interval."""
    if not high.lost:
        return (NO, "") if most < RARE else (MISSING, f"{counted(high.n, 'fit')}, too few to tell")
    if not low.n:
        return MISSING, "no fits with few features"
    if p < statistics.ALPHA:
        return YES, ""
    return (NO if high.lost * low.n <= low.lost * high.n else UNDECIDED), ""
