"""The claims about scores, QP1 to QP4: test errors and NTLL of EP, QP and VB.

Each judge takes the fits of one protocol and returns blocks, the deciding one first. ``docs/claims.md``
explains the choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from papers.core import statistics
from papers.core.claims import load
from papers.core.comparisons import Score, higher, not_lower, noticeably_higher, shown, similar
from papers.core.statistics import ALPHA
from papers.core.verdicts import MISSING, NO, UNDECIDED, YES, Block, Inference, Line
from papers.qp.pairs import (
    FALLBACK,
    NTLL,
    PAIRED_TEST,
    TE,
    Paired,
    drafts,
    fallback,
    is_ep,
    joined,
    paired,
    tested,
    troubles,
    tunings,
    unfinished,
    variational,
)
from papers.qp.published import CLASSIFICATION, ROWS
from papers.qp.table1.rows import ASTERISK, has_asterisk

if TYPE_CHECKING:
    import pandas as pd

SIMILAR = TE._replace(margin=load()["QP1"].margin["test_error"])
"""The test error with QP1's own margin."""

STARRED = ("cancer", "pima", "sonar", "glass", "wine12", "wine13", "wine23")
"""Rows with an asterisk in the printed table."""

VARIANTS = (
    ("QP tuned by its own evidence", "ep", "qp-own"),
    ("one lengthscale a dimension", "ep-ard", "qp-ard"),
)
"""Further comparisons, shown where they were run: name, EP's method, QP's."""


def similar_errors(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge QP1: EP and QP have similar test errors."""
    blocks = []
    test = f"two one-sided t tests over seeds against ±{SIMILAR.margin:g}, Holm"
    for name, first in tunings(fits):
        family = drafts(fits, CLASSIFICATION, "EP - QP", first, "qp", SIMILAR, similar)
        matched = paired(fits, first, "qp", TE.column)
        prints = [_printed(matched.get(name)) for name in CLASSIFICATION]
        lines = tuple(
            replace(line, note=joined(f"prints {' and '.join(means)}" if means else "", line.note))
            for line, means in zip(tested(family), prints, strict=True)
        )
        shown_alike = [first == second for first, second in filter(None, prints)]
        same = f"both means print alike on {sum(shown_alike)} of {len(shown_alike)} rows"
        agreement = same if shown_alike else ""
        remark = joined(agreement, fallback(fits, protocol, first, CLASSIFICATION))
        blocks.append(Block(name, test, lines, remark, best=0.0))
    return blocks


def _printed(scores: Paired | None) -> tuple[str, ...]:
    """Format both mean test errors as the paper prints them; empty without a complete seed."""
    if scores is None or not scores.n_seeds:
        return ()
    return f"{100 * scores.first.mean():.1f}", f"{100 * scores.second.mean():.1f}"


def no_higher_ntll(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge QP2: QP's NTLL is no higher than EP's."""
    run = set(fits["method"])
    pairs = [(name, first, "qp") for name, first in tunings(fits)]
    pairs += [variant for variant in VARIANTS if set(variant[1:]) <= run]
    test = f"paired t over seeds, 95 % interval against {-NTLL.margin:g}"
    blocks = []
    for name, first, second in pairs:
        lines = tested(drafts(fits, tuple(ROWS), "EP - QP", first, second, NTLL, not_lower))
        remark = joined(_what_matters(lines), fallback(fits, protocol, first, tuple(ROWS)))
        blocks.append(Block(name, test, lines, remark))
    lower = tuple(tested(drafts(fits, tuple(ROWS), "EP - QP", *pairs[0][1:], NTLL, higher)))
    return [*blocks, Block(f"superior (section 6.1), {pairs[0][0]}", PAIRED_TEST, lower)]


def _what_matters(lines: Sequence[Line]) -> str:
    judged = [line for line in lines if line.sample.status != MISSING]
    if not judged:
        return ""
    small = sum(line.sample.p_equivalent < ALPHA for line in judged)
    large = sum(line.sample.low > NTLL.margin for line in judged)
    slight = sum(line.sample.status == YES and _is_above(line) for line in judged)
    return (
        f"shown to differ by less than {NTLL.margin:g} nats on {small} of {len(judged)} rows, "
        f"QP lower by more on {large}, significantly higher by less on {slight}"
    )


def _is_above(line: Line) -> bool:
    """Test if QP is significantly above EP."""
    return line.effect < 0 and line.sample.p_holm < ALPHA


def asterisks(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge QP3: the share of experiments in which QP's NTLL is below EP's."""
    order = [*STARRED, *(name for name in ROWS if name not in STARRED)]
    blocks = []
    for unit in ("folds", "seeds"):
        test = (
            f"share of {unit} above {ASTERISK:g}, or its exact binomial interval below; p of a lesser share"
        )
        for name, first in tunings(fits):
            matched = paired(fits, first, "qp", NTLL.column)
            lines = [_share(protocol, dataset, matched.get(dataset), unit) for dataset in order]
            inside, outside = lines[: len(STARRED)], lines[len(STARRED) :]
            remark = fallback(fits, protocol, first, STARRED)
            blocks.append(Block(f"by {unit}, {name}", test, (*inside, *shown(outside)), remark))
    return blocks


def _share(protocol: str, dataset: str, scores: Paired | None, unit: str) -> Line:
    from scipy import stats

    quantity = f"{unit} with QP below EP, NTLL"
    if scores is None or not scores.n_seeds:
        return Line(ROWS[dataset], quantity, "share", note="0 complete seeds")
    differences = scores.differences.ravel() if unit == "folds" else scores.seed_differences
    below, n = int(np.sum(differences > 0)), len(differences)
    p = float(stats.binomtest(below, n, ASTERISK, alternative="greater").pvalue)
    low, high = statistics.share_interval(below, n)
    status = YES if has_asterisk(below, n) else NO if high < ASTERISK else UNDECIDED
    notes = [f"{below} of {n}", *troubles(scores)]
    if is_ep(protocol, dataset, scores):
        status = UNDECIDED
        notes.append(f"half of the folds differ by less than {FALLBACK:g} nats: QP is EP there")
    sample = Inference(status, low, high, p)
    note = "; ".join(notes)
    return Line(ROWS[dataset], quantity, "share", below / n, sample=sample, n=n, note=note)


def worse_vb(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge QP4: VB's scores are above EP's and QP's, except on Cancer."""
    return [_worse(fits, method, score) for score in (NTLL, TE) for method in variational(fits, protocol)]


def _worse(fits: pd.DataFrame, method: str, score: Score) -> Block:
    datasets = [name for name in ROWS if name != "cancer"]
    against = [(f"{method} - {reference.upper()}", method, reference) for reference in ("ep", "qp")]
    by_method = [drafts(fits, datasets, *names, score, noticeably_higher) for names in against]
    family = [draft for row in zip(*by_method, strict=True) for draft in row]
    apart = [drafts(fits, ["cancer"], *names, score, noticeably_higher)[0] for names in against]
    lines = (*tested(family), *shown(tested(apart)))
    return Block(f"{method}, {score.name}", PAIRED_TEST, lines, unfinished(fits, method, "ep", datasets))
