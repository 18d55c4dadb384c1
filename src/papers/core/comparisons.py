"""Comparisons: lines of the audit from independent units, tested as one family, each with its status.

The units of a line are independent: seeds, splits or data sets (docs/claims.md). Its status follows from the
estimate of its effect and the smallest effect m that matters, by one of these rules:

``similar``    yes: two one-sided tests show that the effect is within ±m (Holm); no: the interval lies
               outside ±m
``not_lower``  the effect is not below 0 by more than m: yes if the 95 % interval lies above -m, no if it
               lies below; whether it differs from 0 does not matter
``higher``     where the effect differs from 0 (Holm): yes if above, no if below. Elsewhere: no if it is shown
               to be within ±m (Holm)
``noticeably_higher``  no if it is shown to be within ±m; elsewhere as ``higher``

Otherwise a line is undecided, and so is one from fewer than three units, or from too few that are all equal
(`Estimate.is_sound`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import statistics
from papers.core.grid import counted
from papers.core.statistics import ALPHA, Estimate
from papers.core.verdicts import MISSING, NO, SHOWN, STRONGEST, UNDECIDED, YES, Inference, Line

if TYPE_CHECKING:
    import pandas as pd


class Score(NamedTuple):
    """A column of the records, its name, its unit and the smallest difference that matters."""

    column: str
    name: str
    unit: str
    margin: float


def require_one_protocol(fits: pd.DataFrame) -> None:
    """Raise ValueError if records of several protocols would be taken for one sample."""
    protocols = sorted(set(fits["protocol"]))
    if len(protocols) > 1:
        raise ValueError(f"a comparison is of one protocol, not of {', '.join(protocols)}")


Rule = Callable[[Estimate, float, float, float], str]
"""(estimate, p of no difference, p of a difference that matters, margin) -> status."""


def similar(estimate: Estimate, p: float, p_equivalent: float, margin: float) -> str:
    """Return the status of a row said to be equal."""
    if p_equivalent < ALPHA:
        return YES
    low, high = estimate.interval()
    return NO if low > margin or high < -margin else UNDECIDED


def not_lower(estimate: Estimate, p: float, p_equivalent: float, margin: float) -> str:
    """Return the status of a row whose effect is said not to be below 0 by more than the margin."""
    low, high = estimate.interval()
    if low >= -margin:
        return YES
    return NO if high < -margin else UNDECIDED


def higher(estimate: Estimate, p: float, p_equivalent: float, margin: float) -> str:
    """Return the status of a row whose effect is said to be above 0."""
    if p < ALPHA:
        return YES if estimate.mean > 0 else NO
    return NO if p_equivalent < ALPHA else UNDECIDED


def noticeably_higher(estimate: Estimate, p: float, p_equivalent: float, margin: float) -> str:
    """Return the status of a row whose effect is said to be above 0 by more than the margin."""
    return NO if p_equivalent < ALPHA else higher(estimate, p, p_equivalent, margin)


class Resampled(NamedTuple):
    """Differences over overlapping training sets: the corrected resampled t test [Nadeau & Bengio 2003].

    ``values`` has one number an experiment; ``n_train`` and ``n_test`` are mean sizes.
    """

    values: np.ndarray
    n_train: float
    n_test: float


@dataclass(frozen=True)
class Draft:
    """A `verdicts.Line` before its test.

    Attributes
    ----------
    row, quantity, unit : str
        As in `verdicts.Line`.
    sample : array
        Independent units; fewer than ``fewest`` give no estimate.
    general : array or Resampled
        Units of the generalising estimand.
    margin : float
        The smallest effect that matters.
    judge : callable
        One of the rules above.
    n : int
        Experiments behind the units.
    offset : float
        Added to what is printed: a share is tested as its excess over one half.
    of : str
        Noun for a unit.
    note : str
    fewest : int
        Two or more.
    """

    row: str
    quantity: str
    unit: str
    sample: np.ndarray
    general: np.ndarray | Resampled
    margin: float
    judge: Rule
    n: int = 0
    offset: float = 0.0
    of: str = "split"
    note: str = ""
    fewest: int = 2

    def estimates(self) -> tuple[Estimate | None, Estimate | None]:
        """Return the estimates on this sample and generalising; None if equal or too few."""
        sample = estimate(self.sample, self.fewest)
        if not isinstance(self.general, Resampled):
            return sample, estimate(self.general, self.fewest)
        general = sample and statistics.corrected_resampled_t(*self.general)
        return sample, general if general and general.standard_error else None


def missing(row: str, quantity: str, unit: str, note: str) -> Draft:
    """Return a draft without data."""
    nothing = np.empty(0)
    return Draft(row, quantity, unit, nothing, nothing, math.nan, _never, note=note)


def _never(*arguments: object) -> str:
    raise AssertionError("a line without data is not judged")


def tested(family: Sequence[Draft], adjust_intervals: bool = False) -> list[Line]:
    """Return the lines of one family, in its order, with p-values adjusted over it (Holm).

    Lines that an interval decides (`not_lower`) are outside the family, unless ``adjust_intervals``.
    """
    estimates = [draft.estimates() for draft in family]
    adjusted = [adjust_intervals or draft.judge is not not_lower for draft in family]
    sample, general = (_inferences(family, [pair[k] for pair in estimates], adjusted) for k in (0, 1))
    return [_line(*arguments) for arguments in zip(family, sample, general, strict=True)]


def shown(lines: Iterable[Line]) -> tuple[Line, ...]:
    """Return the lines with data as lines for display only: they decide nothing."""
    return tuple(
        replace(x, sample=replace(x.sample, status=SHOWN), general=replace(x.general, status=SHOWN))
        for x in lines
        if x.n
    )


def estimate(units: Sequence[float] | np.ndarray, fewest: int = 2) -> Estimate | None:
    """Return the t estimate of a mean of independent units; None with too few."""
    return statistics.paired_t(units) if len(units) >= fewest else None


def _inferences(
    family: Sequence[Draft], estimates: Sequence[Estimate | None], adjusted: Sequence[bool]
) -> list[Inference]:
    members = [
        (draft, estimate)
        for draft, estimate, is_member in zip(family, estimates, adjusted, strict=True)
        if is_member and estimate is not None and estimate.is_sound
    ]
    different = iter(statistics.holm([e.p_different() for _, e in members]).tolist())
    equivalent = iter(statistics.holm([e.p_equivalent(draft.margin) for draft, e in members]).tolist())
    inferences = []
    for draft, estimate, is_member in zip(family, estimates, adjusted, strict=True):
        if estimate is None or not estimate.is_sound:
            inferences.append(Inference() if estimate is None else Inference(UNDECIDED))
            continue
        holm = next(different) if is_member else math.nan
        holm_equivalent = next(equivalent) if is_member else math.nan
        inferences.append(_inference(draft, estimate, holm, holm_equivalent))
    return inferences


def _inference(draft: Draft, estimate: Estimate, holm: float, equivalent: float) -> Inference:
    low, high = (end + draft.offset for end in estimate.interval())
    if draft.unit == "share":
        low, high = max(low, 0.0), min(high, 1.0)
    status = draft.judge(estimate, holm, equivalent, draft.margin)
    return Inference(status, low, high, estimate.p_different(), holm, equivalent)


def _line(draft: Draft, sample: Inference, general: Inference) -> Line:
    if sample.status == MISSING:
        few = counted(len(draft.sample), draft.of) if len(draft.sample) else "not run"
        return Line(draft.row, draft.quantity, draft.unit, note=draft.note or few)
    estimated = statistics.paired_t(draft.sample)
    suffix = "" if estimated.sd else " of one value"
    refused = "" if estimated.is_sound else f"no interval from {counted(estimated.n, draft.of)}{suffix}"
    return Line(
        row=draft.row,
        quantity=draft.quantity,
        unit=draft.unit,
        effect=estimated.mean + draft.offset,
        sd=estimated.sd,
        sample=sample,
        general=general,
        n=estimated.n,
        n_folds=draft.n,
        p_sign=statistics.p_sign(draft.sample),
        p_signed_rank=statistics.p_signed_rank(draft.sample),
        note="; ".join(filter(None, [draft.note, refused])),
    )


@dataclass(frozen=True)
class Group:
    """Lines that say the same at other M or powers, of which one is displayed.

    If ``every``, all lines have to hold, and the worst is displayed; if all hold, that with the largest p.
    Otherwise the line with the largest effect is displayed.
    """

    lines: list[Line] = field(default_factory=list)
    every: bool = True

    def line(self) -> Line:
        """Return the line that decides, with a note of their number; its generalising status is of all."""
        chosen = min(self.lines, key=self._place)
        general = chosen.general
        notes = [chosen.note]
        if len(self.lines) > 1:
            notes.append(f"{'worst' if self.every else 'largest'} of {len(self.lines)}")
        if self.every:
            worst = min((line.general.status for line in self.lines), key=STRONGEST.index)
            if worst != general.status:
                notes.append(f"generalising, another of them is: {worst}")
            general = replace(general, status=worst)
        return replace(chosen, general=general, note="; ".join(filter(None, notes)))

    def _place(self, line: Line) -> tuple[float, ...]:
        effect = -math.inf if math.isnan(line.effect) else line.effect
        if not self.every:
            return (-effect,)
        p = line.sample.p_holm  # none where an interval decides
        weakness = p if line.sample.status == YES and not math.isnan(p) else 0.0
        return (STRONGEST.index(line.sample.status), -weakness, effect)
