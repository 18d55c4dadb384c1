"""Lines of the audit from arrays of independent units: one family of tests a block.

`rows` does the same for the classification rows of the QP paper, whose units are seeds and folds. Here a
line brings its units itself: splits or data sets, whatever is independent (docs/audit-method.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tilted.results import statistics
from tilted.results.audit.rows import Rule, not_lower
from tilted.results.audit.verdicts import MISSING, NO, UNDECIDED, YES, Inference, Line
from tilted.results.grid import counted
from tilted.results.statistics import Estimate


@dataclass(frozen=True)
class Draft:
    """A line before its test.

    Attributes
    ----------
    row, quantity, unit : str
        As in `verdicts.Line`.
    sample : array
        Independent units; fewer than ``fewest`` say nothing.
    general : array, or (float, float)
        Those of the generalising estimand; or, if the units are splits of one data set, their numbers of
        training and test points: the corrected resampled t test of ``sample`` [Nadeau & Bengio 2003].
    margin : float
        The smallest effect that matters.
    judge : callable
        As in `audit.rows`.
    n : int
        Experiments behind the units.
    offset : float
        Added to what is printed: a share is tested as its excess over one half.
    of : str
        What a unit is.
    note : str
    fewest : int
        Two or more.
    """

    row: str
    quantity: str
    unit: str
    sample: np.ndarray
    general: np.ndarray | tuple[float, float]
    margin: float
    judge: Rule
    n: int = 0
    offset: float = 0.0
    of: str = "split"
    note: str = ""
    fewest: int = 2

    def estimates(self) -> tuple[Estimate | None, Estimate | None]:
        """On this sample, and generalising; None with too few units."""
        sample = estimate(self.sample, self.fewest)
        if not isinstance(self.general, tuple):
            return sample, estimate(self.general, self.fewest)
        return sample, sample and statistics.corrected_resampled_t(self.sample, *self.general)


def missing(row: str, quantity: str, unit: str, note: str) -> Draft:
    """A draft without data."""
    nothing = np.empty(0)
    return Draft(row, quantity, unit, nothing, nothing, math.nan, _never, note=note)


def _never(*arguments: object) -> str:
    raise AssertionError("a line without data is not judged")


def tested(family: Sequence[Draft]) -> list[Line]:
    """Lines of one family, in its order, p-values adjusted over it."""
    found = [draft.estimates() for draft in family]
    sample, general = (_inferences(family, [each[k] for each in found]) for k in (0, 1))
    return [_line(*parts) for parts in zip(family, sample, general, strict=True)]


def estimate(units: Sequence[float] | np.ndarray, fewest: int = 2) -> Estimate | None:
    """The t estimate of a mean of independent units; None with too few."""
    return statistics.paired_t(units) if len(units) >= fewest else None


def _inferences(family: Sequence[Draft], found: Sequence[Estimate | None]) -> list[Inference]:
    """Holm's family is the lines that a p-value decides; those that an interval decides are not of it."""
    decided = [None if draft.judge is not_lower else e for draft, e in zip(family, found, strict=True)]
    members = [(draft, e) for draft, e in zip(family, decided, strict=True) if e is not None]
    p = iter(statistics.holm([e.p_different() for _, e in members]).tolist())
    equivalent = iter(statistics.holm([e.p_equivalent(draft.margin) for draft, e in members]).tolist())
    adjusted = [(math.nan, math.nan) if e is None else (next(p), next(equivalent)) for e in decided]
    return [_inference(draft, e, *ps) if e else Inference()
            for draft, e, ps in zip(family, found, adjusted, strict=True)]  # fmt: skip


def _inference(draft: Draft, found: Estimate, holm: float, equivalent: float) -> Inference:
    low, high = (end + draft.offset for end in found.interval())
    if draft.unit == "share":
        low, high = max(low, 0.0), min(high, 1.0)
    status = draft.judge(found, holm, equivalent, draft.margin)
    return Inference(status, low, high, found.p_different(), holm, equivalent)


def _line(draft: Draft, sample: Inference, general: Inference) -> Line:
    if sample.status == MISSING:
        few = counted(len(draft.sample), draft.of) if len(draft.sample) else "not run"
        return Line(draft.row, draft.quantity, draft.unit, note=draft.note or few)
    found = statistics.paired_t(draft.sample)
    return Line(
        row=draft.row,
        quantity=draft.quantity,
        unit=draft.unit,
        effect=found.mean + draft.offset,
        sd=found.sd,
        sample=sample,
        general=general,
        n=found.n,
        n_folds=draft.n,
        p_sign=statistics.p_sign(draft.sample),
        p_signed_rank=statistics.p_signed_rank(draft.sample),
        note=draft.note,
    )


ORDER = (NO, MISSING, UNDECIDED, YES)


@dataclass(frozen=True)
class Group:
    """Lines that say the same at other M or powers, of which one is shown.

    ``every``: all have to hold and the worst is shown; else the largest effect is.
    """

    lines: list[Line] = field(default_factory=list)
    every: bool = True

    def line(self) -> Line:
        """The line that decides, with a note of how many there are; the generalising status is of all."""
        chosen = min(self.lines, key=self._place)
        general = chosen.general
        if self.every:
            worst = min((line.general.status for line in self.lines), key=ORDER.index)
            general = replace(general, status=worst)
        count = f"{'worst' if self.every else 'largest'} of {len(self.lines)}"
        note = "; ".join(filter(None, [chosen.note, count if len(self.lines) > 1 else ""]))
        return replace(chosen, general=general, note=note)

    def _place(self, line: Line) -> tuple[float, ...]:
        effect = -math.inf if math.isnan(line.effect) else line.effect
        return (ORDER.index(line.sample.status), effect) if self.every else (-effect,)
