"""REP1 and REP2: errors of the posterior on sets of five points [Qi & Guo 2012, section 6.1].

Parameters (u; c and, under ``corrected``, the reading) are chosen on one half of the random sets, where the
mean logarithm of both errors is smallest, and judged on the other half; then the halves change places. The
base set, of which the paper shows a picture, is left out of the judgement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments.rep_points import EXACT, PENALTIES, PRINTED_PEP, TOLERANCE
from tilted.inference.textbook import CONVERGED
from tilted.results.audit.units import Draft, Group, tested
from tilted.results.audit.verdicts import NO, YES, Block, Inference, Line
from tilted.results.rep.claims import DESCRIBED, Protocol, draft

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

ERRORS = {"mean_error": "mean", "covariance_error": "covariance"}
PEPS = ("pep", PRINTED_PEP)
MARGIN = 0.05
"""Smallest ratio of errors that matters, as a logarithm."""

WIDE = 1.0
"""Decades of c that are a wide range."""

WIDE_MARGIN = 0.1
"""Smallest difference of decades that matters."""

SAME = 100 * TOLERANCE
"""Largest difference of posterior means that two fits stopped at the tolerance may have."""

TEST = "paired t over random sets of log error ratios, Holm; parameters chosen on the other half"


def closer(table: pd.DataFrame | None, protocol: Protocol) -> list[Block]:
    """REP1: REP nearer to the exact posterior than EP and Power EP, for many c; Power EP further than EP."""
    if table is None:
        return [Block("five points", TEST, (Line("five points", "not run", "relative"),), float, "not run")]
    logs = _logs(table)
    pep = PRINTED_PEP if protocol is DESCRIBED else "pep"
    halves = _halves(logs.index)
    drafts = []
    for error, name in ERRORS.items():
        chosen_rep = _crossed(logs, halves, protocol.rep)[error]
        chosen_pep = _crossed(logs, halves, (pep,))[error]
        ep = logs[error]["ep", 1.0]
        for row, difference in (
            (f"REP nearer than EP: {name}", ep - chosen_rep),
            (f"REP nearer than Power EP: {name}", chosen_pep - chosen_rep),
        ):
            drafts.append(_draft(row, difference))
        drafts += [
            _draft(f"Power EP further than EP: {name}", logs[error][pep, u] - ep, f"u = {u:g}")
            for u in sorted(u for method, u in logs[error] if method == pep and u < 1.0)
        ]
    rows: dict[str, list[Line]] = {}
    for line in tested(drafts):
        rows.setdefault(line.row, []).append(line)
    lines = [Group(part).line() for part in rows.values()]
    picks = [_picked(table, pick) for of in (protocol.rep, (pep,)) for pick in _picks(logs, halves, of)]
    return [Block("five points, chosen c", TEST, (*lines, _range(logs, protocol)), float, "; ".join(picks))]


def equal_for_large(table: pd.DataFrame | None, protocol: Protocol) -> list[Block]:
    """REP2: at the largest penalty REP's posterior means are EP's, on every set."""
    test = f"largest difference of posterior means at most {SAME:g} at c = {PENALTIES[-1]:g}, on every set"
    if table is None:
        line = Line("five points", "largest difference", "excess")
        return [Block("five points", test, (line,), lambda x: -x, "not run")]
    means = table.set_index(["set", "method", "value"])[["mean_0", "mean_1"]]
    ep = means.xs(("ep", 1.0), level=("method", "value"))
    lines = []
    for method in protocol.rep:
        apart = (means.xs((method, PENALTIES[-1]), level=("method", "value")) - ep).abs().max(axis=1)
        status = YES if len(apart) and apart.max() <= SAME else NO
        inference = Inference(status, float(apart.min()), float(apart.max()))
        lines.append(Line(method, "largest difference", "excess", float(apart.max()), sample=inference,
                          n=len(apart)))  # fmt: skip
    return [Block("five points", test, tuple(lines), lambda difference: -difference)]


def _logs(table: pd.DataFrame) -> pd.DataFrame:
    """Logarithms of the errors of the random sets: columns (error, (method, value))."""
    part = table[(table["set"] >= 0) & (table["method"] != EXACT)]
    part = part.assign(**{error: np.log(part[error]) for error in ERRORS})
    return part.pivot(index="set", columns=["method", "value"], values=list(ERRORS))


def _halves(sets: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Sets of the first and of the second half."""
    ordered = np.sort(np.asarray(sets))
    return ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]


def _pick(logs: pd.DataFrame, sets: np.ndarray, methods: tuple[str, ...]) -> tuple[str, float]:
    """(method, value) with the smallest mean log of both errors on some sets."""
    mean = sum(logs[error].loc[sets].mean() for error in ERRORS)
    # Power EP with u = 1 would be EP
    of = [key for key in mean.index if key[0] in methods and not (key[0] in PEPS and key[1] == 1.0)]
    return min(of, key=lambda key: mean[key])


def _picks(
    logs: pd.DataFrame, halves: tuple[np.ndarray, np.ndarray], methods: tuple[str, ...]
) -> list[tuple[str, float]]:
    return [_pick(logs, half, methods) for half in halves]


def _picked(table: pd.DataFrame, pick: tuple[str, float]) -> str:
    """What was chosen, and on how many random sets it did not converge."""
    method, value = pick
    of = table[(table["set"] >= 0) & (table["method"] == method) & (table["value"] == value)]
    missed = int((of["outcome"] != CONVERGED).sum())
    ended = f" (not converged {missed} of {len(of)})" if missed else ""
    return f"chosen {method} {value:g}{ended}"


def _crossed(
    logs: pd.DataFrame, halves: tuple[np.ndarray, np.ndarray], methods: tuple[str, ...]
) -> dict[str, pd.Series]:
    """Log errors of each set with what the other half chose."""
    import pandas as pd

    first, second = _picks(logs, halves, methods)
    return {
        error: pd.concat([logs[error].loc[halves[0]][second], logs[error].loc[halves[1]][first]])
        for error in ERRORS
    }


def _draft(row: str, difference: pd.Series, note: str = "") -> Draft:
    values = difference.dropna().to_numpy()
    return draft(row, "log ratio of the errors", "relative", values, MARGIN, note=note)


def _range(logs: pd.DataFrame, protocol: Protocol) -> Line:
    """Decades of c, of the grid's steps, at which both errors are smaller than EP's by what matters."""
    step = float(np.log10(PENALTIES[1] / PENALTIES[0]))
    widths = {}
    for method in protocol.rep:
        better = [
            np.all([logs[error]["ep", 1.0] - logs[error][method, c] > MARGIN for error in ERRORS], axis=0)
            for c in PENALTIES
        ]
        widths[method] = step * np.sum(better, axis=0)
    best = max(widths, key=lambda method: widths[method].mean())
    quantity = f"decades of c nearer than EP - {WIDE:g}"
    note = f"{best.removeprefix('rep-')}: {widths[best].mean():.2f} decades on average"
    decades = draft("a wide range of c", quantity, "excess", widths[best] - WIDE, WIDE_MARGIN, note=note)
    return tested([decades])[0]


OF_POINTS = {"REP1": closer, "REP2": equal_for_large}
"""Claims that the five points decide."""
