"""Claims about test errors and test log-likelihoods: QP1 to QP4.

Each function takes the compact records of one protocol and returns blocks, the deciding one first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tilted import protocols
from tilted.experiments import qp
from tilted.results import statistics
from tilted.results.audit.rows import (
    NTLL,
    PAIRED_TEST,
    TE,
    Score,
    drafts,
    not_lower,
    noticeably_higher,
    shown,
    similar,
    tested,
    troubles,
)
from tilted.results.audit.verdicts import MISSING, NO, YES, Block, Inference, Line
from tilted.results.gaps import ASTERISK, has_asterisk
from tilted.results.paired import EQUAL, Paired, paired
from tilted.results.published import ROWS
from tilted.results.statistics import ALPHA

if TYPE_CHECKING:
    import pandas as pd

CLASSIFICATION = tuple(name for name in ROWS if name != "coal")
STARRED = ("cancer", "pima", "sonar", "glass", "wine12", "wine13", "wine23")
"""Rows with an asterisk in the printed table."""

VARIANTS = (
    ("QP tuned by its own evidence", "ep", "qp-own"),
    ("one lengthscale a dimension", "ep-ard", "qp-ard"),
)
"""Further comparisons, shown where they were run: name, EP's method, QP's."""


def tunings(fits: pd.DataFrame) -> list[tuple[str, str]]:
    """Name and method of each EP beside QP: as reported, and at QP's hyperparameters if tuned twice."""
    second = [("equal hyperparameters", EQUAL)] if (fits["pair"] == "ep-tune").any() else []
    return [("EP as reported", "ep"), *second]


FALLBACK = 1e-4
"""Nats; where the median difference of EP and QP is smaller, a comparison of the two compares little."""


def fallback(fits: pd.DataFrame, protocol: str, first: str, datasets: Sequence[str]) -> str:
    """A remark on rows where QP is EP but for a few sites, if the protocol's QP uses the paper's table."""
    tasks = {qp.task_of(name) for name in datasets}
    specs = [protocols.block(protocol, task)["methods"].get("qp", {}) for task in sorted(tasks)]
    matched = paired(fits, first, "qp", NTLL.column)
    found = [matched[name] for name in datasets if name in matched and matched[name].n_seeds]
    if not found or not all(spec.get("lookup") == "as-described" for spec in specs):
        return ""
    close = sum(np.median(np.abs(scores.differences)) < FALLBACK for scores in found)
    return (
        f"outside the table's box QP is EP: the median |EP - QP| of a fold's NTLL is below {FALLBACK:g} nats "
        f"on {close} of {len(found)} rows"
    )


def variational(protocol: str) -> list[str]:
    """The paper's VB first: ``vb-joint`` where the protocol has it, then the converged ``vb``."""
    methods = protocols.block(protocol, "classification")["methods"]
    return [name for name in ("vb-joint", "vb") if name in methods]


def similar_errors(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """QP1: EP's and QP's test errors."""
    blocks = []
    test = f"two one-sided t tests over seeds against ±{TE.margin:g}, Holm"
    for name, first in tunings(fits):
        family = drafts(fits, CLASSIFICATION, "EP - QP", first, "qp", TE)
        prints = [_printed(draft.scores) for draft in family]
        lines = tuple(
            replace(line, note=joined(f"prints {' and '.join(what)}" if what else "", line.note))
            for line, what in zip(tested(family, TE, similar), prints, strict=True)
        )
        found = [what for what in prints if what]
        same = sum(first == second for first, second in found)
        alike = f"both means print alike on {same} of {len(found)} rows" if found else ""
        remark = joined(alike, fallback(fits, protocol, first, CLASSIFICATION))
        blocks.append(Block(name, test, lines, _closeness, remark))
    return blocks


def joined(*remarks: str) -> str:
    """Those that say something."""
    return "; ".join(filter(None, remarks))


def _closeness(effect: float) -> float:
    return -abs(effect)


def _printed(scores: Paired | None) -> tuple[str, ...]:
    """Both mean test errors as the paper prints them; empty without a complete seed."""
    if scores is None or not scores.n_seeds:
        return ()
    return f"{100 * scores.first.mean():.1f}", f"{100 * scores.second.mean():.1f}"


def no_higher_ntll(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """QP2: QP's NTLL against EP's."""
    run = set(fits["method"])
    pairs = [(name, first, "qp") for name, first in tunings(fits)]
    pairs += [variant for variant in VARIANTS if set(variant[1:]) <= run]
    test = f"paired t over seeds, 95 % interval against {-NTLL.margin:g}"
    blocks = []
    for name, first, second in pairs:
        lines = tested(drafts(fits, tuple(ROWS), "EP - QP", first, second, NTLL), NTLL, not_lower)
        remark = joined(_what_matters(lines), fallback(fits, protocol, first, tuple(ROWS)))
        blocks.append(Block(name, test, lines, float, remark))
    return blocks


def _what_matters(lines: Sequence[Line]) -> str:
    found = [line for line in lines if line.sample.status != MISSING]
    if not found:
        return ""
    small = sum(line.sample.p_equivalent < ALPHA for line in found)
    large = sum(line.sample.low > NTLL.margin for line in found)
    slight = sum(line.sample.status == YES and _is_above(line) for line in found)
    return (
        f"shown to differ by less than {NTLL.margin:g} nats on {small} of {len(found)} rows, "
        f"QP lower by more on {large}, significantly higher by less on {slight}"
    )


def _is_above(line: Line) -> bool:
    """Whether QP is significantly above EP."""
    return line.effect < 0 and line.sample.p_holm < ALPHA


def asterisks(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """QP3: the share of experiments in which QP's NTLL is below EP's."""
    order = [*STARRED, *(name for name in ROWS if name not in STARRED)]
    blocks = []
    for unit in ("folds", "seeds"):
        share = f"{ASTERISK:g}; exact binomial interval, p of a share of {ASTERISK:g} or less"
        test = f"share of {unit} above {share}"
        for name, first in tunings(fits):
            found = paired(fits, first, "qp", NTLL.column)
            lines = [_share(dataset, found.get(dataset), unit) for dataset in order]
            inside, outside = lines[: len(STARRED)], lines[len(STARRED) :]
            remark = fallback(fits, protocol, first, STARRED)
            blocks.append(Block(f"by {unit}, {name}", test, (*inside, *shown(outside)), float, remark))
    return blocks


def _share(dataset: str, scores: Paired | None, unit: str) -> Line:
    from scipy import stats

    quantity = f"{unit} with QP below EP, NTLL"
    if scores is None or not scores.n_seeds:
        return Line(ROWS[dataset], quantity, "share", note="0 complete seeds")
    differences = scores.differences.ravel() if unit == "folds" else scores.seed_differences
    below, n = int(np.sum(differences > 0)), len(differences)
    p = float(stats.binomtest(below, n, ASTERISK, alternative="greater").pvalue)
    status = YES if has_asterisk(below, n) else NO
    sample = Inference(status, *statistics.share_interval(below, n), p)
    note = "; ".join([f"{below} of {n}", *troubles(scores)])
    return Line(ROWS[dataset], quantity, "share", below / n, sample=sample, n=n, note=note)


def worse_vb(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """QP4: VB's scores above EP's and above QP's, Cancer apart."""
    return [_worse(fits, method, score) for score in (NTLL, TE) for method in variational(protocol)]


def _worse(fits: pd.DataFrame, method: str, score: Score) -> Block:
    rest = [name for name in ROWS if name != "cancer"]
    against = [(f"{method} - {other.upper()}", method, other) for other in ("ep", "qp")]
    by_method = [drafts(fits, rest, *names, score) for names in against]
    family = [draft for row in zip(*by_method, strict=True) for draft in row]
    apart = [drafts(fits, ["cancer"], *names, score)[0] for names in against]
    lines = (*tested(family, score, noticeably_higher), *shown(tested(apart, score, noticeably_higher)))
    return Block(f"{method}, {score.name}", PAIRED_TEST, lines, float)
