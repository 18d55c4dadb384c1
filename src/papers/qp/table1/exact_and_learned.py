"""Table 1's exact column, and Table 1 with hyperparameters learned by the corrected evidence.

The exact column predicts at the hyperparameters of EP's column. Learning differs from EP's in the objective
only: splits, likelihood and search are the same, started at the hyperparameters of EP's column (methods
``corrected-evidence`` and ``corrected-evidence-exact`` of the protocol as-released). The sections are part of
``qp_nearer.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from papers.core.grid import grid, number
from papers.qp.fits import UNTRUSTED
from papers.qp.lines import FAILED, OK, lengthscales
from papers.qp.published import RELEASED_VB, TRUTH_PROTOCOL, row_of, row_order
from papers.qp.table1.rows import FIELDS, seed_means

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


def sections(fits: pd.DataFrame) -> list[str]:
    """Return the sections: the exact column; scores by learned hyperparameters; what was learned."""
    return [
        *("## Table 1's exact column", "", *EXACT_LEGEND.splitlines(), "", *_exact_column(fits)),
        *("## Learned by the corrected evidence", "", *_learned_columns(fits)),
    ]


def _exact_column(fits: pd.DataFrame) -> list[str]:
    """Return grids of test errors and NTLL on the seeds that every column of a row has."""
    selected = fits[(fits["protocol"] == TRUTH_PROTOCOL) & fits["method"].isin(EXACT_LABELS)]
    rows = list(selected.loc[selected["method"] == EXACT, "dataset"].unique())
    if not rows:
        return ["Not run."]
    seeds = seed_means(selected[selected["dataset"].isin(rows)])
    lost = selected[(selected["method"] == EXACT) & (selected["outcome"] != "ok")].groupby("dataset").size()
    lines: list[str] = []
    for metric in reversed(FIELDS):
        header = ["Data", "Seeds", *EXACT_LABELS.values(), "EP - exact", "QP - exact", "not trusted"]
        cells = []
        for dataset in rows:
            wide = seeds[seeds["dataset"] == dataset].pivot(index="seed", columns="method", values=metric)
            wide = wide.reindex(columns=list(EXACT_LABELS)).dropna(axis="columns", how="all").dropna()
            values = [
                number(wide[name].mean(), wide[name].std(ddof=0)) if name in wide else "-"
                for name in EXACT_LABELS
            ]
            gaps = [_over_seeds(wide[name] - wide[EXACT], 2) for name in ("ep", "qp")]
            total = int(((selected["dataset"] == dataset) & (selected["method"] == EXACT)).sum())
            cells.append(
                [row_of(dataset), str(len(wide)), *values, *gaps, f"{lost.get(dataset, 0)} of {total}"]
            )
        name = "Test error, 10^-2" if metric == "TE" else "NTLL, 10^-3 nats"
        lines += [f"**{name}** (differences: mean ± standard error over seeds)", ""]
        lines += [*_grid(header, cells), ""]
    return lines


def _learned_columns(fits: pd.DataFrame) -> list[str]:
    """Return NTLL and test errors, and, with its heading, the learned hyperparameters."""
    selected = fits[fits["protocol"] == TRUTH_PROTOCOL]
    rows = row_order(selected.loc[selected["method"] == LEARNED, "dataset"])
    if not rows:
        return ["Not run."]
    by_row = [selected[selected["dataset"] == name] for name in rows]
    lines = [*LEGEND.splitlines(), ""]
    names = [f"{evidence}: {by}" for by in PAIRS for evidence in ("EP's evidence", "corrected")]
    header = ["Data", "Seeds", *names[:2], "Gain", "Seeds", *names[2:], "Gain"]
    for metric in reversed(FIELDS):
        name = "Test error, 10^-2" if metric == "TE" else "NTLL, 10^-3 nats"
        cells = [
            [_name(here), *_scores(here, "EP", metric), *_scores(here, EXACT, metric)] for here in by_row
        ]
        lines += [f"**{name}** (learned by: predicted by)", "", *_grid(header, cells), ""]
    header = ["Data", "Folds", "Variance moved", "Lengthscale moved", "Kept", "Not converged"]
    cells = [[_name(here), *_learned(here), *_evidence(here)] for here in by_row]
    lines += ["## What the corrected evidence learned", "", *LEARNED_LEGEND.splitlines(), ""]
    return [*lines, *_grid([*header, "Evidence", "Not trusted"], cells)]


def _name(fits: pd.DataFrame) -> str:
    return row_of(fits.iloc[0]["dataset"])


def _grid(header: list[str], cells: list[list[str]]) -> list[str]:
    return grid(header, "l" + "r" * (len(header) - 1), cells)


def _over_seeds(gains: pd.Series, digits: int) -> str:
    """Format mean ± standard error over seeds."""
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return f"{gains.mean():+.{digits}f} ± {error:.{digits}f}"


def _scores(fits: pd.DataFrame, by: str, metric: str) -> list[str]:
    """Return seeds, both means and their difference on a data set."""
    methods = list(PAIRS[by])
    means = seed_means(fits[fits["method"].isin(methods)])
    both = means.pivot(index="seed", columns="method", values=metric).reindex(columns=methods).dropna()
    if both.empty:
        return ["-"] * 4
    texts = [number(both[name].mean(), both[name].std(ddof=0)) for name in methods]
    return [str(len(both)), *texts, _over_seeds(both[methods[0]] - both[methods[1]], 2)]


def _on_common_folds(fits: pd.DataFrame, by: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the fits of a pair on the folds on which both gave numbers."""
    fits = fits[fits["outcome"] != FAILED]
    pair = [fits[fits["method"] == name].set_index(["seed", "fold"]) for name in PAIRS[by]]
    common = pair[0].index.intersection(pair[1].index)
    return pair[0].loc[common], pair[1].loc[common]


def _learned(fits: pd.DataFrame) -> list[str]:
    ep, learned = _on_common_folds(fits, "EP")
    variance = np.log(learned["variance"] / ep["variance"])
    scales = (np.array([lengthscales(text)[0] for text in side["lengthscale"]]) for side in (learned, ep))
    moved = (np.median(np.abs(change)) for change in (variance, np.subtract(*map(np.log, scales))))
    lines = fits[fits["method"] == LEARNED]
    untrusted = lines["reason"].str.startswith(UNTRUSTED)
    lost = (lines["outcome"] != OK) & ~untrusted
    return [
        str(len(lines)),
        *(f"{median:.4f}" for median in moved),
        str(int(untrusted.sum())),
        str(int(lost.sum())),
    ]


def _evidence(fits: pd.DataFrame) -> list[str]:
    ep, learned = _on_common_folds(fits, EXACT)
    if learned.empty:
        return ["-", "-"]
    rise = (learned["log_evidence"] - ep["log_evidence"]).groupby("seed").mean()
    lost = int((learned["outcome"] != OK).sum())
    return [_over_seeds(rise, 4), f"{lost} of {len(learned)}"]
