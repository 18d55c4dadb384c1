"""Claims about predictive variances: QP5 (Figure 1a) and QP6 (Figure 1b and section 6.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.results.audit.rows import NTLL, PAIRED_TEST, drafts, higher, shown, tested
from tilted.results.audit.scores import CLASSIFICATION, variational
from tilted.results.audit.verdicts import NO, YES, Block, Inference, Line
from tilted.results.compact import FAILED, OK
from tilted.results.grid import counted
from tilted.results.published import ROWS

if TYPE_CHECKING:
    import pandas as pd

ACCURACY = 1e-6
"""Relative accuracy of a variance at the fixed point; a ratio above 1 by less shows nothing."""

NAMES = {"ep": "EP", "qp": "QP"}
QUANTITY = "largest v_QP / v_EP - 1"
TEST = f"v_QP / v_EP at most 1 + {ACCURACY:g} at every test point; interval: smallest and largest"


def never_above(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """QP5: QP's predictive variances against EP's, all test points of all folds."""
    lines = tuple(_largest_ratio(fits, name) for name in CLASSIFICATION)
    return [Block("equal hyperparameters", TEST, lines, _smallness)]


def _smallness(effect: float) -> float:
    return -effect


def poisson(fits: pd.DataFrame, protocol: str) -> list[Block]:
    """QP6: on the coal series smaller variances, QP's lower NTLL, and VB the worst; one row a part."""
    variance = replace(_largest_ratio(fits, "coal"), row="variances")
    return [
        Block(
            f"VB is {method}",
            f"variances: {TEST}; NTLL: {PAIRED_TEST}",
            (variance, *_unmoved(fits), *_ranked(fits, method)),
            float,
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
    lines = tested(family, NTLL, higher)
    return [replace(line, row=part[0]) for line, part in zip(lines, parts, strict=True)]


def _quantity(first: str, second: str) -> str:
    return f"{NAMES.get(first, first)} - {NAMES[second]}"


def _unmoved(fits: pd.DataFrame) -> tuple[Line, ...]:
    """The variances of the seeds whose search for QP's hyperparameters did not leave EP's, if not all."""
    coal = fits[(fits["dataset"] == "coal") & (fits["outcome"] != FAILED)]
    kernels = {name: part.set_index("seed") for name, part in coal.groupby("method")}
    if not {"ep", "qp"} <= kernels.keys():
        return ()
    ep = kernels["ep"][["variance", "lengthscale"]].add_suffix("_ep")
    both = kernels["qp"].join(ep, how="inner")
    same = np.isclose(both["variance"], both["variance_ep"], rtol=ACCURACY, atol=0.0)
    same &= np.isclose(_number(both["lengthscale"]), _number(both["lengthscale_ep"]), rtol=ACCURACY, atol=0.0)
    if same.all() or not same.any():
        return ()
    line = _largest_ratio(both[same], "coal")
    return shown([replace(line, row="variances, same hyperparameters")])


def _number(texts: pd.Series) -> np.ndarray:
    return texts.astype(float).to_numpy()


def _largest_ratio(fits: pd.DataFrame, dataset: str) -> Line:
    """Line of one data set from what the records keep of its pairs."""
    qp = fits[(fits["dataset"] == dataset) & (fits["method"] == "qp")]
    pairs = qp[qp["pair"] != ""]
    if pairs.empty:
        return Line(ROWS[dataset], QUANTITY, "excess", note=f"{len(qp)} QP fits, none with a pair")
    low, high = float(pairs["ratio_min"].min() - 1), float(pairs["ratio_max"].max() - 1)
    above, n = int(pairs["n_above"].sum()), int(pairs["n_test"].sum())
    unconverged = int((pairs["outcome"] != OK).sum())
    counts = ((len(qp) - len(pairs), "fold without a pair"), (unconverged, "fit of QP not converged"))
    notes = [f"{above} of {n} points above by more than 1e-9"]
    notes += [counted(count, what) for count, what in counts if count]
    sample = Inference(YES if high <= ACCURACY else NO, low, high)
    return Line(ROWS[dataset], QUANTITY, "excess", high, sample=sample, n=n, note="; ".join(notes))
