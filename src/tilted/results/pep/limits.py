"""PEP8, the limits of Power EP: the record of `experiments.pep_limits`, and its judgement."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.experiments import pep_limits
from tilted.experiments.pep_limits import FITC, PRINTED, VFE, WHOLE
from tilted.results import studies
from tilted.results.audit.verdicts import NO, YES, Block, Inference, Line

if TYPE_CHECKING:
    import pandas as pd

ACCURACY = 1e-8
STEEPNESS = 0.5
"""With a power k times smaller the difference falls at least `STEEPNESS` k times: it is O(alpha)."""

SLOW = "difference is not O(α)"
TEST = f"largest relative difference at most {ACCURACY:g} on every problem; interval: smallest and largest"
EVIDENCE, POSTERIOR = ("evidence",), ("mean", "variance")


def record(path: str | Path, seed: int = 0) -> Path:
    """Run the study and write its record, every line with its stamp."""
    return studies.record(path, studies.LIMITS, pep_limits.study(seed))


def recovered(found: pd.DataFrame | None) -> list[Block]:
    """PEP8 from the record; None where the study was not made.

    The first block decides: FITC at power 1, VFE at 0 and as the limit of small powers, and one pass as
    the paper prints it. The full step stands beside it.
    """
    if found is None:
        remark = f"needs {studies.LIMITS} (`tilted limits`)"
        return [Block("direct computation", TEST, (Line("limits", QUANTITY, "excess"),), smallness, remark)]
    first = [
        _limit(found, limit, quantities) for limit in (FITC, VFE) for quantities in (EVIDENCE, POSTERIOR)
    ]
    passes = {name: _passes(found, name) for name in (PRINTED, WHOLE)}
    one = f"{TEST}; α in {', '.join(f'{a:g}' for a in sorted(pep_limits.PASSES))} for one pass"
    return [
        Block("direct computation", one, (*first, *passes[PRINTED]), smallness),
        Block("one pass with the full step", TEST, tuple(passes[WHOLE]), smallness),
    ]


QUANTITY = "largest relative difference"


def smallness(difference: float) -> float:
    """Of differences the largest decides."""
    return -difference


def _limit(found: pd.DataFrame, limit: str, quantities: tuple[str, ...]) -> Line:
    part = found[(found["limit"] == limit) & found["quantity"].isin(quantities)]
    at = part[part["alpha"].isin([0.0 if limit == VFE else 1.0])]["difference"]
    name = "evidence" if quantities == EVIDENCE else "posterior"
    row = f"{'α = 1 is FITC' if limit == FITC else 'α to 0 is VFE'}: {name}"
    small = part[part["alpha"] > 0] if limit == VFE else part.iloc[:0]
    falls, note = _falls(small), f"{part['problem'].nunique()} problems"
    if len(small):
        largest = small.groupby("alpha")["difference"].max()
        note += f"; {largest.iloc[0]:.1e} at α = {largest.index[0]:g}, {largest.iloc[-1]:.1e} at α = "
        note += f"{largest.index[-1]:g}" + ("" if falls else f"; {SLOW}")
    return line_of(row, at, falls, note)


def _falls(small: pd.DataFrame) -> bool:
    """Whether differences fall in proportion to the power, problem by problem and quantity by quantity."""
    for _, group in small.groupby(["problem", "quantity"]):
        lines = group.sort_values("alpha")
        for less, more in pairwise(lines.itertuples()):
            if less.difference * (more.alpha / less.alpha) * STEEPNESS > more.difference:
                return False
    return True


def _passes(found: pd.DataFrame, name: str) -> list[Line]:
    part = found[found["limit"] == name]
    row = "one pass, printed step" if name == PRINTED else "one pass, full step"
    lines = []
    for end in (True, False):
        of = part[(part["alpha"] == 1.0) == end]
        powers = ", ".join(f"{a:g}" for a in sorted(of["alpha"].unique()))
        lines.append(line_of(row, of["difference"], True, f"α = {powers}"))
    return lines


def line_of(row: str, differences: pd.Series, sound: bool, note: str, accuracy: float = ACCURACY) -> Line:
    """A line that holds if no difference is above ``accuracy``, and all is sound."""
    if differences.empty:
        return Line(row, QUANTITY, "excess", note="not computed")
    low, high = float(differences.min()), float(differences.max())
    status = YES if sound and high <= accuracy and math.isfinite(high) else NO
    sample = Inference(status, low, high)
    return Line(row, QUANTITY, "excess", high, sample=sample, n=len(differences), note=note)
