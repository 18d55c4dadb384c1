"""The claims about variances: QP5 (Figure 1a) and QP6 (Figure 1b and section 6.2).

They compare QP's variances with EP's, by the pairs in the records.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from papers.core.claims import load
from papers.core.comparisons import higher, shown
from papers.core.grid import counted
from papers.core.spans import spans
from papers.core.verdicts import NO, UNDECIDED, YES, Block, Inference, Line
from papers.qp import pairs, protocols
from papers.qp.fit_rows import FAILED, OK
from papers.qp.pairs import (
    EQUAL,
    NTLL,
    PAIRED_TEST,
    REPORTED_PAIR,
    drafts,
    fallback,
    joined,
    tested,
    unfinished,
    variational,
)
from papers.qp.published import CLASSIFICATION, ROWS

if TYPE_CHECKING:
    import pandas as pd

ACCURACY = load()["QP5"].margin["ratio"]
"""Excess of a ratio over 1 below which it shows nothing. A stop relative to the marginals bounds the error of
a variance at the fixed point by it; one by the sites' absolute change (``site-rms``) bounds nothing."""

SLACK = (
    f"sweeps stop by the sites' absolute change here, which leaves variances free by more than {ACCURACY:g}, "
    "so a larger ratio may be the stop's"
)
SLIGHT = NTLL._replace(margin=load()["QP6"].margin["gap"])
"""The NTLL with the paper's own gap on the coal series as the smallest difference that matters."""

LARGEST = "largest v_QP / v_EP - 1"
BELOW = f"v_QP / v_EP at most 1 + {ACCURACY:g} at every test point; interval: smallest and largest"


def never_above(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge QP5: QP's predictive variances against EP's, at all test points of all folds."""
    exceeded = _exceeded(protocol, "classification")
    lines = tuple(_largest_ratio(fits, name, exceeded) for name in CLASSIFICATION)
    remark = joined(_slack(lines), fallback(fits, protocol, EQUAL, CLASSIFICATION))
    covered = {"seeds": _fewest_seeds(fits, CLASSIFICATION)}
    return [Block("equal hyperparameters", BELOW, lines, remark, covered, best=-math.inf)]


def as_reported(variances: pd.DataFrame, protocol: str) -> list[Block]:
    """Compare the folds whose reported EP left QP's hyperparameters, on the seeds that figure 1a draws.

    ``variances`` are those of every protocol (`papers.qp.records.VARIANCES`).
    """
    here = variances[(variances["protocol"] == protocol) & (variances["reference"] == REPORTED_PAIR)]
    if here.empty:
        return []
    exceeded, lines = _exceeded(protocol, "classification"), []
    for dataset in CLASSIFICATION:
        points = here[here["dataset"] == dataset]
        if points.empty:
            lines.append(Line(ROWS[dataset], LARGEST, "excess", note="no fold moved"))
            continue
        excess = points["v_qp"] / points["v_ep"] - 1
        low, high = float(excess.min()), float(excess.max())
        folds = len(points[["seed", "fold"]].drop_duplicates())
        note = f"{int((excess > ACCURACY).sum())} of {len(points)} points above; {counted(folds, 'fold')}"
        lines.append(_largest(dataset, low, high, exceeded, len(points), note))
    drawn = spans(set(here["seed"]))
    remark = f"EP where its second tuning moved it, QP where the first had ended; seeds {drawn}"
    return [Block("EP as reported", BELOW, tuple(lines), remark, best=-math.inf)]


def poisson(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge QP6 on the coal series: smaller variances, QP's lower NTLL, VB the worst; one row for each."""
    variance = replace(_largest_ratio(fits, "coal", _exceeded(protocol, "counts")), row="variances")
    test, covered = f"variances: {BELOW}; NTLL: {PAIRED_TEST}", {"seeds": _fewest_seeds(fits, ["coal"])}
    return [
        Block(
            f"VB is {method}",
            test,
            (variance, *_unmoved(fits), *_ranked(fits, method)),
            joined(_slack([variance]), unfinished(fits, method, "ep", ["coal"])),
            covered,
        )
        for method in variational(fits, protocol)
    ]


def _exceeded(protocol: str, task: str) -> str:
    """Return the status of a row with a ratio above 1 + `ACCURACY`; undecided if the stop is too loose."""
    stop = protocols.block(protocol, task)["sites"].get("stop", "marginals")
    return UNDECIDED if stop == "site-rms" else NO


def _slack(lines: Iterable[Line]) -> str:
    return SLACK if any(line.sample.status == UNDECIDED for line in lines) else ""


def _fewest_seeds(fits: pd.DataFrame, datasets: Sequence[str]) -> int:
    """Return the smallest number of seeds with pairs among the data sets that have any."""
    with_pair = fits[fits["dataset"].isin(datasets) & (fits["method"] == "qp") & (fits["pair"] != "")]
    return int(with_pair.groupby("dataset")["seed"].nunique().min()) if len(with_pair) else 0


def _ranked(fits: pd.DataFrame, method: str) -> list[Line]:
    """Compare QP with EP, and VB with both."""
    contrasts = (
        ("QP below EP", "EP - QP", "ep", "qp", SLIGHT),
        ("VB the worst", f"{method} - EP", method, "ep", NTLL),
        ("VB the worst", f"{method} - QP", method, "qp", NTLL),
    )
    family = [
        drafts(fits, ["coal"], quantity, first, second, score, higher)[0]
        for _, quantity, first, second, score in contrasts
    ]
    return [replace(line, row=row) for line, (row, *_) in zip(tested(family), contrasts, strict=True)]


def _unmoved(fits: pd.DataFrame) -> tuple[Line, ...]:
    """Compare variances on the seeds where QP's search stayed at EP's hyperparameters.

    Return no row if all seeds stayed, or none.
    """
    coal = fits[(fits["dataset"] == "coal") & (fits["outcome"] != FAILED)]
    kernels = coal[["seed", "variance", "lengthscale"]]
    sides = [kernels[coal["method"] == method] for method in ("qp", "ep")]
    both = sides[0].merge(sides[1], on="seed", suffixes=("", "_ep"))
    same = pairs.unmoved(both, ("", "_ep"))
    if same.all() or not same.any():
        return ()
    line = _largest_ratio(coal[coal["seed"].isin(both.loc[same, "seed"])], "coal", NO)
    return shown([replace(line, row="variances, same hyperparameters")])


def _largest_ratio(fits: pd.DataFrame, dataset: str, exceeded: str) -> Line:
    """Return the row of one data set from its recorded pairs.

    Its status is ``exceeded`` if a ratio is too large.
    """
    qp = fits[(fits["dataset"] == dataset) & (fits["method"] == "qp")]
    matched = qp[qp["pair"] != ""]
    if matched.empty:
        return Line(ROWS[dataset], LARGEST, "excess", note=f"{len(qp)} QP fits, none with a pair")
    low, high = float(matched["ratio_min"].min() - 1), float(matched["ratio_max"].max() - 1)
    above, n = int(matched["n_above"].sum()), int(matched["n_test"].sum())
    unconverged = int((matched["outcome"] != OK).sum())
    counts = ((len(qp) - len(matched), "fold without a pair"), (unconverged, "fit of QP not converged"))
    notes = [f"{above} of {n} points above by more than 1e-9"]
    notes += [counted(count, noun) for count, noun in counts if count]
    return _largest(dataset, low, high, exceeded, n, "; ".join(notes))


def _largest(dataset: str, low: float, high: float, exceeded: str, n: int, note: str) -> Line:
    """Return the row of a data set whose n excesses lie between ``low`` and ``high``."""
    sample = Inference(YES if high <= ACCURACY else exceeded, low, high)
    return Line(ROWS[dataset], LARGEST, "excess", high, sample=sample, n=n, note=note)
