"""Lines of the audit from paired differences of splits of one data set.

On this sample splits are independent; the generalising estimate is Nadeau and Bengio's, because they share
the data (docs/audit-method.md). Made-up sets are drawn anew: there both are the plain t test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tilted.results import statistics
from tilted.results.audit.verdicts import Inference, Line
from tilted.results.grid import counted
from tilted.results.statistics import Estimate

FEWEST = 5
"""Differences a test needs: a few numbers of sweeps may all differ by the same, which no t test can judge."""


class Draft(NamedTuple):
    """A line before its test.

    Attributes
    ----------
    row, quantity, unit, note : str
        As in `verdicts.Line`.
    differences : array
        One a split or a made-up set; fewer than `FEWEST` say nothing.
    margin : float
        The smallest effect that matters.
    judge : callable
        As in `audit.rows`.
    parts : tuple (float, float) or None
        Training and test points of a split of one data set; None for made-up sets.
    """

    row: str
    quantity: str
    unit: str
    differences: np.ndarray
    margin: float
    judge: Callable[[Estimate, float, float, float], str]
    parts: tuple[float, float] | None = None
    note: str = ""


def tested(family: Sequence[Draft]) -> list[Line]:
    """Lines of one family, in its order, p-values adjusted over it (Holm)."""
    usable = [draft for draft in family if len(draft.differences) >= FEWEST]
    sample = [statistics.paired_t(draft.differences) for draft in usable]
    general = [_general(draft, plain) for draft, plain in zip(usable, sample, strict=True)]
    judged = zip(usable, sample, _judged(usable, sample), _judged(usable, general), strict=True)
    lines = {id(draft): _line(draft, *rest) for draft, *rest in judged}
    return [lines.get(id(draft), _without_data(draft)) for draft in family]


def _without_data(draft: Draft) -> Line:
    n = len(draft.differences)
    few = f"{counted(n, 'difference')}, too few" if n else "not run"
    return Line(draft.row, draft.quantity, draft.unit, note=draft.note or few)


def _general(draft: Draft, plain: Estimate) -> Estimate:
    if draft.parts is None:
        return plain
    return statistics.corrected_resampled_t(draft.differences, *draft.parts)


def _judged(drafts: Sequence[Draft], found: Sequence[Estimate]) -> list[Inference]:
    p = [estimate.p_different() for estimate in found]
    equivalent = [e.p_equivalent(draft.margin) for draft, e in zip(drafts, found, strict=True)]
    adjusted = zip(statistics.holm(p).tolist(), statistics.holm(equivalent).tolist(), strict=True)
    return [
        Inference(draft.judge(e, a, q, draft.margin), *e.interval(), raw, a, q)
        for draft, e, raw, (a, q) in zip(drafts, found, p, adjusted, strict=True)
    ]


def _line(draft: Draft, estimate: Estimate, sample: Inference, general: Inference) -> Line:
    return Line(
        row=draft.row,
        quantity=draft.quantity,
        unit=draft.unit,
        effect=estimate.mean,
        sd=estimate.sd,
        sample=sample,
        general=general,
        n=estimate.n,
        n_folds=estimate.n,
        p_sign=statistics.p_sign(draft.differences),
        p_signed_rank=statistics.p_signed_rank(draft.differences),
        note=draft.note,
    )
