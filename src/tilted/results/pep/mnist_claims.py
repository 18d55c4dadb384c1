"""PEP11: even against odd digits by minibatches.

The paper shows curves and says nothing about them, so there is nothing to be judged. What it says of
minibatches elsewhere (section 3.9: Power EP is as scalable as variational inference) is judged beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilted.results import studies
from tilted.results.audit.verdicts import NO, YES, Block, Inference, Line
from tilted.results.pep import mnist
from tilted.results.pep.mnist import LEVELS

if TYPE_CHECKING:
    import pandas as pd

NUMBERS_OF_POINTS = (100, 200)
VARIATIONAL = "0"
AS_FAST = 1.5
"""A training is as fast as another if it needs at most so many times its seconds; measurements are a factor
of 1.33 apart."""

UNSAID = "the text says nothing of the outcome and the figures print no numbers"
SCALABLE = "as scalable as VB (section 3.9)"
TEST = (
    f"median over seeds of the ratio of processor seconds to those of α = 0, same seed, at most {AS_FAST:g}; "
    "interval: smallest and largest; one seed says nothing"
)


def minibatches(table: pd.DataFrame | None) -> list[Block]:
    """PEP11 from the record; None where there is none."""
    rows = tuple(
        Line(f"M = {m}", "error and log-likelihood against time", "factor", note=UNSAID)
        for m in NUMBERS_OF_POINTS
    )
    remark = f"needs {studies.DIGITS}" if table is None else mnist.covered(table)
    shown = Block("what the paper says of figures 31 and 32", "none", rows, _slowness, remark)
    return [shown] if table is None else [shown, Block(SCALABLE, TEST, tuple(_ratios(table)), _slowness)]


def _slowness(ratio: float) -> float:
    return -ratio


def _ratios(table: pd.DataFrame) -> list[Line]:
    lines = []
    for m in sorted({*NUMBERS_OF_POINTS, *table["m"].tolist()}):
        part = table[table["m"] == m]
        if part.empty:
            lines += [Line(f"M = {m}", _quantity(level), "factor", note="not run") for level in LEVELS]
        powers = {mnist.power(alpha): of for alpha, of in part.groupby("alpha")}
        base = powers.pop(VARIATIONAL, part.iloc[:0])
        for alpha, of in powers.items():
            lines += [_ratio(f"M = {m}, α = {alpha}", level, of, base) for level in LEVELS]
    return lines


def _quantity(level: float) -> str:
    return f"seconds to {100 * level:g} % errors, of those of α = 0"


def _ratio(row: str, level: float, runs: pd.DataFrame, base: pd.DataFrame) -> Line:
    quantity = _quantity(level)
    times, theirs = (_times(part, level) for part in (runs, base))
    common = sorted(set(theirs) & set(runs["seed"]))
    if not common:
        return Line(row, quantity, "factor", note="α = 0 does not get there, or was not run")
    ratios = np.array([times.get(seed, np.inf) / theirs[seed] for seed in common])
    effect = float(np.median(ratios))
    if len(ratios) == 1:
        return Line(row, quantity, "factor", note=f"one seed, {effect:.2f}")
    sample = Inference(YES if effect <= AS_FAST else NO, float(ratios.min()), float(ratios.max()))
    late, without = int(np.sum(~np.isfinite(ratios))), len(set(runs["seed"]) - set(theirs))
    notes = [f"{late} never got there"] if late else []
    notes += [f"{without} left out: α = 0 does not get there"] if without else []
    note = "; ".join(notes)
    return Line(row, quantity, "factor", effect, sample=sample, n=len(common), note=note)


def _times(runs: pd.DataFrame, level: float) -> dict[int, float]:
    """Seed -> seconds until the first measurement with errors at most ``level``."""
    below = runs[runs["error"] <= level].sort_values("step")
    return below.groupby("seed")["seconds"].first().to_dict()
