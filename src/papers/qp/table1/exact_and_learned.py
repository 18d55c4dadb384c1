"""Table 1's exact column, and Table 1 with hyperparameters learned by the corrected evidence.

The exact column predicts at the hyperparameters of EP's column. Learning differs from EP's in the objective
only: splits, likelihood and search are the same, started at the hyperparameters of EP's column (methods
``corrected-evidence`` and ``corrected-evidence-exact`` of the protocol as-released). The sections are part of
``qp_nearer.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from papers.core.grid import grid, number
from papers.qp.fit_rows import FAILED, OK, lengthscales
from papers.qp.fits import UNTRUSTED
from papers.qp.published import RELEASED_VB, TRUTH_PROTOCOL, row_of, row_order
from papers.qp.table1.rows import seed_means

if TYPE_CHECKING:
    import pandas as pd

EXACT = "exact"
EXACT_LABELS = {"ep": "EP", "qp": "QP", RELEASED_VB: "VB as released", "vb": "VB", EXACT: "Exact"}
EXACT_LEGEND = """\
Table 1 under as-released on the seeds that all columns have, and what the exact posterior would say at the
hyperparameters of EP's column: weighted draws of it; of counts, EP corrected until nearly exact. Mean ±
standard deviation over seeds. VB has hyperparameters of its own. "EP - exact": how much of EP's score is EP's
and not the model's. "Not trusted": folds on which some latent or the evidence could not be corrected, or too
few draws were effective; their latents are EP's."""

LEARNED = "corrected-evidence"
PAIRS = {"EP": ("ep", LEARNED), EXACT: (EXACT, f"{LEARNED}-exact")}
"""Predictor -> records at hyperparameters learned by EP's evidence, and by the corrected one."""

LEGEND = """\
Table 1 under as-released with hyperparameters learned by EP's evidence, and by the corrected one, climbed
from there by the same search; predicted by EP, and by the exact posterior (of counts, EP corrected until
nearly exact), on the seeds that both have. Mean ± standard deviation over seeds. "Gain": the first minus the
second, mean ± standard error over seeds; above 0 the corrected evidence's hyperparameters predict better."""

LEARNED_LEGEND = """\
"Moved": median change over folds of the logarithms of variance and lengthscale, in size. Where data are
separable the variance lies on a flat ridge, where the search's tolerance sets it; EP's fits at which the
searches start were made again for this, and on the ridge some end elsewhere than those of EP's column.
"Kept": folds on which the corrected evidence is not to be trusted at EP's hyperparameters, which stay. "Not
converged": others whose search did not. "Evidence": by how many nats a fold the exact log evidence rose (of
counts, the corrected one), mean ± standard error over seeds; "not trusted": folds on which the exact answer
could not be had there."""


TITLES = {"NTLL": "NTLL, 10^-3 nats", "TE": "Test error, 10^-2"}


def sections(fits: pd.DataFrame) -> list[str]:
    """Return the sections: the exact column; scores by learned hyperparameters; what was learned."""
    fits = fits[fits["protocol"] == TRUTH_PROTOCOL]
    return [
        *("## Table 1's exact column", "", *EXACT_LEGEND.splitlines(), "", *_exact_column(fits)),
        *("## Learned by the corrected evidence", "", *_learned_columns(fits)),
    ]


def _exact_column(fits: pd.DataFrame) -> list[str]:
    """Return grids of test errors and NTLL on the seeds that every column of a row has."""
    exact = fits[fits["method"] == EXACT]
    if exact.empty:
        return ["Not run."]
    lost = (exact["outcome"] != OK).groupby(exact["dataset"], sort=False).agg(["sum", "size"])
    header = ["Data", "Seeds", *EXACT_LABELS.values(), "EP - exact", "QP - exact", "not trusted"]
    lines: list[str] = []
    for metric, title in TITLES.items():
        cells = []
        for dataset, (n_lost, n) in lost.iterrows():
            wide = _by_seed(fits[fits["dataset"] == dataset], list(EXACT_LABELS), metric)
            wide = wide.dropna(axis="columns", how="all").dropna()
            means = [_mean(wide[name]) if name in wide else "-" for name in EXACT_LABELS]
            gaps = [_over_seeds(wide[name] - wide[EXACT], 2) for name in ("ep", "qp")]
            cells.append([row_of(str(dataset)), str(len(wide)), *means, *gaps, f"{n_lost} of {n}"])
        lines += [f"**{title}** (differences: mean ± standard error over seeds)", ""]
        lines += [*_grid(header, cells), ""]
    return lines


def _learned_columns(fits: pd.DataFrame) -> list[str]:
    """Return NTLL and test errors, and, with its heading, the learned hyperparameters."""
    datasets = row_order(fits.loc[fits["method"] == LEARNED, "dataset"])
    if not datasets:
        return ["Not run."]
    by_row = {row_of(name): fits[fits["dataset"] == name] for name in datasets}
    lines = [*LEGEND.splitlines(), ""]
    names = [f"{evidence}: {by}" for by in PAIRS for evidence in ("EP's evidence", "corrected")]
    header = ["Data", "Seeds", *names[:2], "Gain", "Seeds", *names[2:], "Gain"]
    for metric, title in TITLES.items():
        cells = [
            [row, *(text for pair in PAIRS.values() for text in _scores(of_row, pair, metric))]
            for row, of_row in by_row.items()
        ]
        lines += [f"**{title}** (learned by: predicted by)", "", *_grid(header, cells), ""]
    header = ["Data", "Folds", "Variance moved", "Lengthscale moved", "Kept", "Not converged"]
    cells = [[row, *_learned(of_row), *_evidence(of_row)] for row, of_row in by_row.items()]
    lines += ["## What the corrected evidence learned", "", *LEARNED_LEGEND.splitlines(), ""]
    return [*lines, *_grid([*header, "Evidence", "Not trusted"], cells)]


def _grid(header: list[str], cells: list[list[str]]) -> list[str]:
    return grid(header, "l" + "r" * (len(header) - 1), cells)


def _by_seed(fits: pd.DataFrame, methods: Sequence[str], metric: str) -> pd.DataFrame:
    """Return the means of a data set in printed units, a row for each seed and a column for each method."""
    means = seed_means(fits[fits["method"].isin(methods)])
    return means.pivot(index="seed", columns="method", values=metric).reindex(columns=methods)


def _mean(scores: pd.Series) -> str:
    """Format mean ± standard deviation over seeds."""
    return number(scores.mean(), scores.std(ddof=0))


def _over_seeds(gains: pd.Series, digits: int) -> str:
    """Format mean ± standard error over seeds."""
    return f"{gains.mean():+.{digits}f} ± {gains.sem():.{digits}f}"


def _scores(fits: pd.DataFrame, pair: tuple[str, str], metric: str) -> list[str]:
    """Return seeds, both means and their difference on a data set."""
    both = _by_seed(fits, pair, metric).dropna()
    if both.empty:
        return ["-"] * 4
    first, second = (both[name] for name in pair)
    return [str(len(both)), _mean(first), _mean(second), _over_seeds(first - second, 2)]


def _on_common_folds(fits: pd.DataFrame, by: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the fits of a pair on the folds on which both gave numbers."""
    fits = fits[fits["outcome"] != FAILED].set_index(["seed", "fold"])
    first, second = (fits[fits["method"] == name] for name in PAIRS[by])
    common = first.index.intersection(second.index)
    return first.loc[common], second.loc[common]


def _learned(fits: pd.DataFrame) -> list[str]:
    """Return folds, median changes of variance and lengthscale, and the folds without a learned optimum."""
    ep, learned = _on_common_folds(fits, "EP")
    scales = [side["lengthscale"].map(lambda text: lengthscales(text)[0]) for side in (learned, ep)]
    ratios = learned["variance"] / ep["variance"], scales[0] / scales[1]
    lines = fits[fits["method"] == LEARNED]
    untrusted = lines["reason"].str.startswith(UNTRUSTED)
    unconverged = (lines["outcome"] != OK) & ~untrusted
    moved = (f"{np.log(ratio).abs().median():.4f}" for ratio in ratios)
    return [str(len(lines)), *moved, str(untrusted.sum()), str(unconverged.sum())]


def _evidence(fits: pd.DataFrame) -> list[str]:
    """Return the rise of the log evidence, and the folds without an exact answer."""
    ep, learned = _on_common_folds(fits, EXACT)
    if learned.empty:
        return ["-", "-"]
    rise = (learned["log_evidence"] - ep["log_evidence"]).groupby("seed").mean()
    return [_over_seeds(rise, 4), f"{(learned['outcome'] != OK).sum()} of {len(learned)}"]
