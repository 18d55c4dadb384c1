"""Rows of scores: paired estimates of both estimands, tested as one family, each with its status.

The status of a row, from the estimate of its effect and the smallest effect m that matters:

``similar``    yes: two one-sided tests show that the effect is within ±m (Holm); no: the interval lies
               outside ±m
``not_lower``  the effect is not below 0 by more than m: yes if the 95 % interval lies above -m, no if it
               lies below; whether it differs from 0 does not matter
``higher``     where the effect differs from 0 (Holm): yes if above, no if below. Elsewhere: no if it is shown
               to be within ±m (Holm)
``noticeably_higher``  no if it is shown to be within ±m; elsewhere as ``higher``

and else undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tilted.results import statistics
from tilted.results.audit.verdicts import NO, SHOWN, UNDECIDED, YES, Inference, Line
from tilted.results.grid import counted
from tilted.results.paired import Paired, paired
from tilted.results.published import ROWS
from tilted.results.statistics import ALPHA, Estimate

if TYPE_CHECKING:
    import pandas as pd

PAIRED_TEST = "paired t over seeds, Holm"


class Score(NamedTuple):
    """A column of the records, its name, its unit and the smallest difference that matters."""

    column: str
    name: str
    unit: str
    margin: float


NTLL = Score("ntll", "NTLL", "nats", 1e-3)
TE = Score("test_error", "TE", "error", 5e-4)
"""The margin of the test error is half a unit of its printed digit."""

Rule = Callable[[Estimate, float, float, float], str]
"""(estimate, p of no difference, p of a difference that matters, margin) -> status."""


def similar(estimate: Estimate, p: float, p_equivalent: float, margin: float) -> str:
    """Status of a row said to be equal."""
    if p_equivalent < ALPHA:
        return YES
    low, high = estimate.interval()
    return NO if low > margin or high < -margin else UNDECIDED


def not_lower(estimate: Estimate, p: float, p_equivalent: float, margin: float) -> str:
    """Status of a row whose effect is said not to be below 0, by more than matters."""
    low, high = estimate.interval()
    if low >= -margin:
        return YES
    return NO if high < -margin else UNDECIDED


def higher(estimate: Estimate, p: float, p_equivalent: float, margin: float) -> str:
    """Status of a row whose effect is said to be above 0."""
    if p < ALPHA:
        return YES if estimate.mean > 0 else NO
    return NO if p_equivalent < ALPHA else UNDECIDED


def noticeably_higher(estimate: Estimate, p: float, p_equivalent: float, margin: float) -> str:
    """Status of a row whose effect is said to be above 0, where a difference that does not matter is none."""
    return NO if p_equivalent < ALPHA else higher(estimate, p, p_equivalent, margin)


class Draft(NamedTuple):
    """A line before its tests; ``scores`` is None where the two methods were never run together."""

    dataset: str
    quantity: str
    scores: Paired | None


def drafts(
    fits: pd.DataFrame, datasets: Sequence[str], quantity: str, first: str, second: str, score: Score
) -> list[Draft]:
    """Drafts of first - second, one a data set (`paired.paired`)."""
    found = paired(fits, first, second, score.column)
    return [Draft(name, quantity, found.get(name)) for name in datasets]


def tested(family: Sequence[Draft], score: Score, judge: Rule) -> tuple[Line, ...]:
    """Lines of one family of tests, in its order; one with fewer than two complete seeds has no data."""
    usable = [s if (s := draft.scores) is not None and s.n_seeds >= 2 else None for draft in family]
    scores = [s for s in usable if s is not None]
    sample = [statistics.paired_t(s.seed_differences) for s in scores]
    general = [statistics.corrected_resampled_t(s.differences.ravel(), s.n_train, s.n_test) for s in scores]
    inferences = zip(
        sample, _judged(sample, score.margin, judge), _judged(general, score.margin, judge), strict=True
    )
    return tuple(
        _without_data(draft, score) if s is None else _line(draft, s, score, *next(inferences))
        for draft, s in zip(family, usable, strict=True)
    )


def shown(lines: Iterable[Line]) -> tuple[Line, ...]:
    """The same lines beside the claim: they decide nothing, and those without data vanish."""
    return tuple(
        replace(x, sample=replace(x.sample, status=SHOWN), general=replace(x.general, status=SHOWN))
        for x in lines
        if x.n
    )


def troubles(scores: Paired) -> list[str]:
    """What a reader has to know about matched scores."""
    counts = ((scores.n_incomplete, "seed left out"), (scores.n_unconverged, "fold not converged"))
    return [counted(count, what) for count, what in counts if count]


def _judged(estimates: Sequence[Estimate], margin: float, judge: Rule) -> list[Inference]:
    p = [estimate.p_different() for estimate in estimates]
    adjusted = statistics.holm(p).tolist()
    equivalent = statistics.holm([estimate.p_equivalent(margin) for estimate in estimates]).tolist()
    return [
        Inference(judge(estimate, a, q, margin), *estimate.interval(), raw, a, q)
        for estimate, raw, a, q in zip(estimates, p, adjusted, equivalent, strict=True)
    ]


def _line(
    draft: Draft, scores: Paired, score: Score, estimate: Estimate, sample: Inference, general: Inference
) -> Line:
    return Line(
        row=ROWS[draft.dataset],
        quantity=f"{draft.quantity}, {score.name}",
        unit=score.unit,
        effect=estimate.mean,
        sd=estimate.sd,
        sample=sample,
        general=general,
        n=scores.n_seeds,
        n_folds=scores.differences.size,
        p_sign=statistics.p_sign(scores.seed_differences),
        p_signed_rank=statistics.p_signed_rank(scores.seed_differences),
        note="; ".join(troubles(scores)),
    )


def _without_data(draft: Draft, score: Score) -> Line:
    n_seeds = draft.scores.n_seeds if draft.scores else 0
    notes = [
        f"{n_seeds} complete {'seed' if n_seeds == 1 else 'seeds'}",
        *(troubles(draft.scores) if draft.scores else []),
    ]
    return Line(ROWS[draft.dataset], f"{draft.quantity}, {score.name}", score.unit, note="; ".join(notes))
