"""Claims about predictive variances: QP5 (Figure 1a) and QP6 (Figure 1b and section 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tilted import protocols
from tilted.results import pairs
from tilted.results.audit.rows import NTLL, PAIRED_TEST, drafts, noticeably_higher, shown, tested
from tilted.results.audit.scores import CLASSIFICATION, fallback, joined, variational
from tilted.results.audit.verdicts import MISSING, NO, YES, Block, Inference, Line
from tilted.results.compact import FAILED, OK
from tilted.results.grid import counted
from tilted.results.paired import EQUAL
from tilted.results.published import ROWS

if TYPE_CHECKING:
    import pandas as pd

ACCURACY = 1e-6
"""A ratio above 1 by less shows nothing. A stop relative to the marginals bounds the error of a variance at
the fixed point by it; one by the sites' absolute change (``site-rms``) bounds nothing."""

SLACK = (
    f"sweeps stop by the sites' absolute change here, which leaves variances free by more than {ACCURACY:g}, "
    "so a larger ratio tells nothing: no data"
)

NAMES = {"ep": "EP", "qp": "QP"}
QUANTITY = "largest v_QP / v_EP - 1"
TEST = f"v_QP / v_EP at most 1 + {ACCURACY:g} at every test point; interval: smallest and largest"


def never_above(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """QP5: QP's predictive variances against EP's, all test points of all folds."""
    exceeded = _exceeded(protocol, "classification")
    lines = tuple(_largest_ratio(fits, name, exceeded) for name in CLASSIFICATION)
    remark = joined(_slack(lines), fallback(fits, protocol, EQUAL, CLASSIFICATION))
    return [Block("equal hyperparameters", TEST, lines, _smallness, remark)]


def _exceeded(protocol: str, task: str) -> str:
    """Status of a row with a ratio above 1 + `ACCURACY`: the protocol's stop may not let the records tell."""
    stop = protocols.block(protocol, task)["sites"].get("stop", "marginals")
    return MISSING if stop == "site-rms" else NO


def _slack(lines: Sequence[Line]) -> str:
    return (
        SLACK
        if any(line.unit == "excess" and line.sample.status == MISSING and line.n for line in lines)
        else ""
    )


def _smallness(effect: float) -> float:
    return -effect


def poisson(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """QP6: on the coal series smaller variances, QP's lower NTLL, and VB the worst; one row a part."""
    exceeded = _exceeded(protocol, "counts")
    variance = replace(_largest_ratio(fits, "coal", exceeded), row="variances")
    return [
        Block(
            f"VB is {method}",
            f"variances: {TEST}; NTLL: {PAIRED_TEST}",
            (variance, *_unmoved(fits), *_ranked(fits, method)),
            float,
            _slack([variance]),
        )
        for method in variational(protocol)
    ]


def _ranked(fits: pd.DataFrame, method: str) -> list[Line]:
    """QP against EP, and VB against both."""
    parts = (("QP below EP", "ep", "qp"), ("VB the worst", method, "ep"), ("VB the worst", method, "qp"))
    family = [
        draft
        for _, first, second in parts
        for draft in drafts(fits, ["coal"], _quantity(first, second), first, second, NTLL)
    ]
    lines = tested(family, NTLL, noticeably_higher)
    return [replace(line, row=part[0]) for line, part in zip(lines, parts, strict=True)]


def _quantity(first: str, second: str) -> str:
    return f"{NAMES.get(first, first)} - {NAMES[second]}"


def _unmoved(fits: pd.DataFrame) -> tuple[Line, ...]:
    """The variances of the seeds whose search for QP's hyperparameters did not leave EP's, if not all."""
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
    """Line of one data set from what the records keep of its pairs; its status if a ratio is too large."""
    qp = fits[(fits["dataset"] == dataset) & (fits["method"] == "qp")]
    matched = qp[qp["pair"] != ""]
    if matched.empty:
        return Line(ROWS[dataset], QUANTITY, "excess", note=f"{len(qp)} QP fits, none with a pair")
    low, high = float(matched["ratio_min"].min() - 1), float(matched["ratio_max"].max() - 1)
    above, n = int(matched["n_above"].sum()), int(matched["n_test"].sum())
    unconverged = int((matched["outcome"] != OK).sum())
    counts = ((len(qp) - len(matched), "fold without a pair"), (unconverged, "fit of QP not converged"))
    notes = [f"{above} of {n} points above by more than 1e-9"]
    notes += [counted(count, what) for count, what in counts if count]
    sample = Inference(YES if high <= ACCURACY else exceeded, low, high)
    return Line(ROWS[dataset], QUANTITY, "excess", high, sample=sample, n=n, note="; ".join(notes))
