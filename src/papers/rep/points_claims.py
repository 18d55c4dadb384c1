"""REP1 and REP2: errors of the posterior on sets of five points [Qi & Guo 2012, section 6.1].

Parameters (u; c and, under ``corrected``, the reading) are chosen on one half of the random sets, where the
mean logarithm of both errors is smallest, and judged on the other half; then the halves change places. The
paper has one set, which it shows in a figure. A second block judges the base set, read off that figure, with
the parameters that are best on it, as the paper chose its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from papers.core.comparisons import Draft, Group, tested
from papers.core.verdicts import NO, SHOWN, YES, Block, Inference, Line
from papers.rep.claims import CLAIMS, DESCRIBED, Protocol, draft
from papers.rep.points import BASE_SET, EXACT, PENALTIES, PRINTED_PEP
from tilted.inference.textbook import CONVERGED

if TYPE_CHECKING:
    import pandas as pd

    Pick = tuple[str, float]
    """A method and its parameter."""

ERRORS = {"mean_error": "mean", "covariance_error": "covariance"}
PEPS = ("pep", PRINTED_PEP)
MARGIN, WIDE, WIDE_MARGIN = (CLAIMS["REP1"].margin[name] for name in ("log_error", "wide", "decades"))
"""Smallest ratio of errors that matters, as a logarithm; decades of c that are a wide range, and the smallest
difference of decades that matters."""

SAME = CLAIMS["REP2"].margin["mean"]
"""Largest difference of posterior means that two fits stopped at the tolerance may have."""

TEST = "paired t over random sets of log error ratios, Holm; parameters chosen on the other half"
RATIO, RANGE = "log ratio of the errors", f"decades of c nearer than EP - {WIDE:g}"
BASE_TEST = "log error ratios of the one set, whose best parameters both have; one set is no test"


def closer(table: pd.DataFrame, protocol: Protocol) -> list[Block]:
    """Judge REP1: REP is nearer to the exact posterior than EP and Power EP for many c."""
    if table.empty:
        return [Block("five points", TEST, (Line("five points", "not run", "relative"),), "not run")]
    logs, base = _logs(table[table["set"] != BASE_SET]), _logs(table[table["set"] == BASE_SET])
    pep = (PRINTED_PEP,) if protocol is DESCRIBED else ("pep",)
    rep_chosen, rep_picks = _crossed(logs, protocol.rep)
    pep_chosen, pep_picks = _crossed(logs, pep)
    drafts = []
    for error, name in ERRORS.items():
        ep = logs[error]["ep", 1.0]
        drafts.append(_draft(f"REP nearer than EP: {name}", ep - rep_chosen[error]))
        drafts.append(_draft(f"REP nearer than Power EP: {name}", pep_chosen[error] - rep_chosen[error]))
        drafts += [
            _draft(f"Power EP further than EP: {name}", logs[error][*pep, u] - ep, f"u = {u:g}")
            for u in sorted(u for method, u in logs[error] if method in pep and u < 1.0)
        ]
    rows: dict[str, list[Line]] = {}
    for line in tested(drafts):
        rows.setdefault(line.row, []).append(line)
    lines = [Group(of_row).line() for of_row in rows.values()]
    remark = "; ".join(_picked(table, pick) for pick in (*rep_picks, *pep_picks))
    decides = Block("five points, chosen c", TEST, (*lines, _range(logs, protocol)), remark)
    base_lines = tuple(_on_one(base, protocol, *pep))
    return [decides, Block("the base set, c best there", BASE_TEST, base_lines)] if base_lines else [decides]


def _on_one(base: pd.DataFrame, protocol: Protocol, pep: str) -> Iterator[Line]:
    """Yield the same comparisons on one set, with Power EP at the power nearest to the exact posterior."""
    if base.empty:
        return
    pick = _best(base, protocol.rep)
    of_rep = f"{pick[0]}, c = {pick[1]:g}"
    for error, name in ERRORS.items():
        at = base[error].iloc[0]
        ep, rep, of_pep = at["ep", 1.0], at[pick], at[pep].drop(1.0)
        power = f"u = {of_pep.idxmin():g}, the nearest power"
        yield _for_display(f"REP nearer than EP: {name}", ep - rep, of_rep)
        yield _for_display(f"REP nearer than Power EP: {name}", of_pep.min() - rep, f"{of_rep}; {power}")
        yield _for_display(f"Power EP further than EP: {name}", of_pep.min() - ep, power)
    widths = {method: float(_decades(base, method)[0]) for method in protocol.rep}
    widest = max(widths, key=lambda method: widths[method])
    yield _for_display(
        "a wide range of c", widths[widest] - WIDE, f"{widest}: {widths[widest]:.2f} decades", RANGE
    )


def _for_display(row: str, effect: float, note: str, quantity: str = RATIO) -> Line:
    unit = "excess" if quantity == RANGE else "relative"
    return Line(row, quantity, unit, float(effect), sample=Inference(SHOWN), n=1, note=note)


def equal_for_large(table: pd.DataFrame, protocol: Protocol) -> list[Block]:
    """Judge REP2: at the largest penalty REP's posterior means equal EP's, on every set."""
    test = f"largest difference of posterior means at most {SAME:g} at c = {PENALTIES[-1]:g}, on every set"
    quantity, unit = "largest difference", "excess"
    if table.empty:
        nothing = (Line("five points", quantity, unit),)
        return [Block("five points", test, nothing, "not run", best=-math.inf)]
    means = table.set_index(["set", "method", "value"])[["mean_0", "mean_1"]]
    ep = means.xs(("ep", 1.0), level=("method", "value"))
    lines = []
    for method in protocol.rep:
        apart = (means.xs((method, PENALTIES[-1]), level=("method", "value")) - ep).abs().max(axis=1)
        status = YES if len(apart) and apart.max() <= SAME else NO
        inference = Inference(status, float(apart.min()), float(apart.max()))
        lines.append(Line(method, quantity, unit, float(apart.max()), sample=inference, n=len(apart)))
    return [Block("five points", test, tuple(lines), best=-math.inf)]


def _logs(table: pd.DataFrame) -> pd.DataFrame:
    """Return logarithms of the errors, a row for each set: columns (error, (method, value))."""
    lines = table[table["method"] != EXACT]
    lines = lines.assign(**{error: np.log(lines[error]) for error in ERRORS})
    return lines.pivot(index="set", columns=["method", "value"], values=list(ERRORS))


def _crossed(logs: pd.DataFrame, methods: Iterable[str]) -> tuple[dict[str, pd.Series], list[Pick]]:
    """Return each set's log errors with the parameter that the other half chose, and both choices."""
    import pandas as pd

    sets = np.sort(logs.index)
    first, second = halves = sets[: len(sets) // 2], sets[len(sets) // 2 :]
    picks = [_best(logs.loc[half], methods) for half in halves]
    crossed = {
        error: pd.concat([logs[error].loc[first][picks[1]], logs[error].loc[second][picks[0]]])
        for error in ERRORS
    }
    return crossed, picks


def _best(logs: pd.DataFrame, methods: Iterable[str]) -> Pick:
    """Return method and value with the smallest mean log of both errors; u = 1 is left out: it is EP."""
    mean = sum(logs[error].mean() for error in ERRORS)
    return min((pick for pick in mean.index if pick[0] in methods and pick not in EPS), key=mean.get)


EPS = [(pep, 1.0) for pep in PEPS]


def _picked(table: pd.DataFrame, pick: Pick) -> str:
    """Return text: the chosen parameter, and the number of random sets on which it did not converge."""
    method, value = pick
    outcomes = table["outcome"][(table["set"] >= 0) & (table["method"] == method) & (table["value"] == value)]
    missed = int((outcomes != CONVERGED).sum())
    ended = f" (not converged {missed} of {len(outcomes)})" if missed else ""
    return f"chosen {method} {value:g}{ended}"


def _draft(row: str, difference: pd.Series, note: str = "") -> Draft:
    values = difference.dropna().to_numpy()
    return draft(row, RATIO, "relative", values, MARGIN, note)


def _range(logs: pd.DataFrame, protocol: Protocol) -> Line:
    """Return a line: decades of c at which both errors are smaller than EP's by more than the margin."""
    widths = {method: _decades(logs, method) for method in protocol.rep}
    best = max(widths, key=lambda method: widths[method].mean())
    note = f"{best.removeprefix('rep-')}: {widths[best].mean():.2f} decades on average"
    decades = draft("a wide range of c", RANGE, "excess", widths[best] - WIDE, WIDE_MARGIN, note)
    return tested([decades])[0]


def _decades(logs: pd.DataFrame, method: str) -> np.ndarray:
    """Return, for each set, the decades of c at which both errors are below EP's by more than the margin."""
    step = float(np.log10(PENALTIES[1] / PENALTIES[0]))
    nearer = [
        np.all([logs[error]["ep", 1.0] - logs[error][method, c] > MARGIN for error in ERRORS], axis=0)
        for c in PENALTIES
    ]
    return step * np.sum(nearer, axis=0)
