"""What ten folds say: differences with intervals, calibration, cost, and which method to take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from papers.compare.folds import BASELINE, Outcome
from papers.compare.table import CLASSIFICATION
from papers.evidence.comparisons import Draft, Resampled, noticeably_higher, tested
from papers.evidence.statistics import ALPHA
from papers.evidence.verdicts import Line

BETTER, WORSE, ALIKE, OPEN = "better", "worse", "alike", "undecided"
BINS = 10
FEWEST = 3
"""Folds to say something of."""


class Row(NamedTuple):
    """A method over all folds.

    ``calibration``: mean distance of predicted and seen shares of +1 over ten bins, else the share of targets
    in their central 90 % intervals. ``seconds`` of processor: of a fold, median; ``total``: of all ``folds``.
    """

    method: str
    loss: float
    error: float
    calibration: float
    seconds: float
    total: float
    converged: int
    failed: int
    folds: int


class Difference(NamedTuple):
    """A method minus the one it is compared with, by the corrected resampled t test over folds."""

    method: str
    score: str
    mean: float
    low: float
    high: float
    p: float
    folds: int
    says: str


class Answer(NamedTuple):
    """Which method, and why."""

    take: str
    sentence: str


def rows(outcomes: Sequence[Outcome], task: str) -> list[Row]:
    """Every method over its folds."""
    return [_row(of, task) for of in by_method(outcomes).values()]


def by_method(outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """Outcomes of each method, in the order of folds."""
    found: dict[str, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda x: x.fold):
        found.setdefault(outcome.method, []).append(outcome)
    return found


def _row(of: Sequence[Outcome], task: str) -> Row:
    done = [x for x in of if math.isfinite(x.loss)]
    if not done:
        return Row(of[0].method, *(math.nan,) * 5, 0, len(of), len(of))
    said = np.concatenate([x.probability for x in done])
    label = np.concatenate([x.label for x in done])
    calibration = _distance(said, label) if task == CLASSIFICATION else float(said.mean())
    loss, error = (float(np.mean([getattr(x, score) for x in done])) for score in ("loss", "error"))
    seconds = float(np.median([x.seconds for x in done]))
    total, converged = sum(x.seconds for x in done), sum(x.converged for x in done)
    failed = len(of) - len(done)
    return Row(of[0].method, loss, error, calibration, seconds, total, converged, failed, len(of))


def _distance(said: np.ndarray, label: np.ndarray) -> float:
    """Expected calibration error: of bins of equal width, weighted by their rows."""
    bins = np.minimum((said * BINS).astype(int), BINS - 1)
    apart = [abs(float(np.sum((label > 0)[bins == b]) - np.sum(said[bins == b]))) for b in range(BINS)]
    return sum(apart) / len(said)


def differences(outcomes: Sequence[Outcome], margin: float, error_margin: float) -> list[Difference]:
    """Every method beside the first, on the folds that both have; Holm's adjustment over methods."""
    first, *others = by_method(outcomes).values()
    found = []
    for score, smallest in (("loss", margin), ("error", error_margin)):
        drafts = []
        for of in others:
            pairs = [(getattr(x, score), getattr(y, score), x) for x, y in zip(of, first, strict=True)]
            pairs = [pair for pair in pairs if math.isfinite(pair[0]) and math.isfinite(pair[1])]
            values = np.array([a - b for a, b, _ in pairs])
            sizes = [float(np.mean([getattr(x, n) for *_, x in pairs] or [1])) for n in ("n_train", "n_test")]
            general = Resampled(values, *sizes)
            drafts.append(
                Draft(
                    of[0].method,
                    score,
                    "",
                    values,
                    general,
                    smallest,
                    noticeably_higher,
                    len(values),
                    of="fold",
                )
            )
        found += [_difference(line, draft.sample) for line, draft in zip(tested(drafts), drafts, strict=True)]
    return found


def _difference(line: Line, values: np.ndarray) -> Difference:
    general = line.general
    same = len(values) > 0 and bool(np.all(values == 0))
    if same or general.p_equivalent < ALPHA:
        says = ALIKE
    elif general.p_holm < ALPHA:
        says = WORSE if line.effect > 0 else BETTER
    else:
        says = OPEN
    interval = general.low, general.high, general.p_holm
    return Difference(line.row, line.quantity, line.effect, *interval, len(values), says)


def beside_nothing(taken: Answer, outcomes: Sequence[Outcome], margin: float) -> Answer:
    """The answer, after a warning where the method is not shown to beat `BASELINE` on log score.

    Shown is any lead by the test of `differences`, however small; of fewer than `FEWEST` folds none is said.
    """
    losses = {(o.method, o.fold): o.loss for o in outcomes}
    folds = [o.fold for o in outcomes if o.method == BASELINE]
    pairs = np.array([(losses[taken.take, k], losses[BASELINE, k]) for k in folds])
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    best, nothing = (sorted(o for o in outcomes if o.method == name) for name in (taken.take, BASELINE))
    against = next(d for d in differences([*best, *nothing], margin, margin) if d.score == "loss")
    if len(pairs) < FEWEST or (against.mean > 0 and against.p < ALPHA):
        return taken
    shown = "is worse than" if against.says == BETTER else "is not shown to beat"
    mean, guess = pairs.mean(axis=0)
    p = f", p {against.p:.2g}" if math.isfinite(against.p) else ""
    sentence = (
        f"**{taken.take} {shown} a guess without the features** (log loss {mean:.3g}, of the guess "
        f"{guess:.3g}{p}): nothing was shown to be learnt from them. "
    )
    return taken._replace(sentence=sentence + taken.sentence)


def answer(found: Sequence[Row], differ: Sequence[Difference], margin: float) -> Answer:
    """On log score: a method shown to be better than the first, else the first, and what is cheaper."""
    first = found[0]
    said = {d.method: d.says for d in differ if d.score == "loss"}
    named = {says: [m for m, s in said.items() if s == says] for says in (BETTER, WORSE, ALIKE, OPEN)}
    better = [row for row in found if row.method in named[BETTER]]
    if better:
        best = min(better, key=lambda row: row.loss)
        sentence = (
            f"Take **{best.method}**: on log score it is shown to be better than {first.method}, by "
            f"{first.loss - best.loss:.3g} nats a test row."
        )
        rest = [row.method for row in better if row is not best]
        sentence += f" So {_are(rest)} {', '.join(rest)}." if rest else ""
    else:
        best, matters = first, f"as much as matters ({margin:g} nats a test row)"
        sentence = f"Take **{first.method}**: no method is shown to be better on log score by {matters}."
        if not differ:
            sentence = f"Only **{first.method}** was compared."
        cheap = [row for row in found if row.method in named[ALIKE] and row.seconds < first.seconds]
        if cheap:
            least = min(cheap, key=lambda row: row.seconds)
            share = f"{least.seconds / first.seconds:.2g}"
            sentence += f" **{least.method}** is shown to be alike and takes {share} of its time."
    for says, text in ((ALIKE, "shown to be alike"), (WORSE, "shown to be worse"), (OPEN, "undecided")):
        sentence += f" {text.capitalize()}: {', '.join(named[says])}." if named[says] else ""
    failed = [row.method for row in found if row.failed or row.converged < row.folds]
    sentence += f" Not converged, or failed, on some fold: {', '.join(failed)}." if failed else ""
    return Answer(best.method, sentence)


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
