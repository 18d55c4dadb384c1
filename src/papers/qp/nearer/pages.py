"""Page and figure of the errors of seven approximations; the exact column of Table 1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core import style
from papers.core.grid import grid, number
from papers.core.store import write_csv, write_text
from papers.qp.nearer.experiment import METHODS
from papers.qp.published import RELEASED_VB, row_of
from papers.qp.table1 import learned as learned_pages
from papers.qp.table1.rows import FIELDS, seed_means
from papers.qp.truth.experiment import PROTOCOL
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT, SAMPLED

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.axes import Axes

LABELS = {
    "ep": "EP",
    "qp": "QP",
    "vb": "VB",
    "pep": "Power EP 1/2",
    "laplace": "Laplace",
    CHEAP: "EP, cheap correction",
    NEARLY_EXACT: "EP, nearly exact",
    SAMPLED: "weighted draws",
}
SHORT = {**LABELS, "pep": "PEP 1/2", CHEAP: "cheap", NEARLY_EXACT: "nearly exact", SAMPLED: "draws"}

TITLE = "Nearer to the exact posterior than EP"
LEGEND = """\
Seven approximations at the same hyperparameters (EP's first tuning, as-released) beside the sampled exact
posterior, at all test latents of the folds of seed 0 (Mining: seeds 0 to 9), as many as "Splits" says.
"Noise": the Monte-Carlo error of the exact numbers, below which nothing can be told. A latent whose
correction is not to be trusted is EP's ("not trusted": how many). "Draws" are no approximation but the exact
posterior of labels once more, by another sampler, ten thousand effective draws if they can be had: how far
two samplers differ. (Pima's exact numbers are of such draws themselves, of other ones.)"""

ERRORS: dict[str, tuple[str, str, str]] = {
    "Variances of test latents: rms of log(v / exact)": ("variance_rms", "variance_noise", ".4f"),
    "Means of test latents: rms error, in exact standard deviations": ("mean_rms", "mean_noise", ".4f"),
    "Predictive log densities: mean absolute error, nats": ("density_error", "density_noise", ".5f"),
    "Log evidence: mean absolute error over splits, nats": ("evidence_error", "evidence_noise", ".3f"),
}
"""Title -> column, column of its noise, format."""

PLAIN = {
    "Test NTLL, nats": ("ntll", ".5f"),
    "Overconfidence: mean probability of the likelier label minus the share of right ones": (
        "overconfidence",
        "+.4f",
    ),
    "Inference and evidence: processor seconds a split": ("seconds", ".3g"),
    "Prediction: processor milliseconds a test point": ("milliseconds", ".3g"),
}

EXACT, COLUMNS = "exact", ("ep", "qp", RELEASED_VB, "vb", "exact")
EXACT_LABELS = {"ep": "EP", "qp": "QP", RELEASED_VB: "VB as released", "vb": "VB", EXACT: "Exact"}
EXACT_LEGEND = """\
Table 1 under as-released on the seeds that all columns have, and what the exact posterior would say at the
hyperparameters of EP's column: weighted draws of it; of counts, EP corrected until nearly exact. Mean ±
standard deviation over seeds. VB has hyperparameters of its own. "EP - exact": how much of EP's score is EP's
and not the model's. "Not trusted": folds on which some latent or the evidence could not be corrected, or too
few draws were effective; their latents are EP's."""


def write(table: pd.DataFrame, fits: pd.DataFrame, folder: Path) -> None:
    """Write ``qp_nearer.csv`` and ``qp_nearer.md``.

    Parameters
    ----------
    table : pandas.DataFrame
        `papers.qp.nearer.tables.summary`.
    fits : pandas.DataFrame
        Records of Table 1.
    """
    write_csv(folder / "qp_nearer.csv", table)
    lines = [f"# {TITLE}", "", *LEGEND.splitlines(), ""]
    for title, (column, noise, number_format) in ERRORS.items():
        lines += [f"## {title}", "", *_of_methods(table, column, number_format, noise), ""]
    for title, (column, number_format) in PLAIN.items():
        lines += [f"## {title}", "", *_of_methods(table, column, number_format), ""]
    lines += ["## Table 1's exact column", "", *EXACT_LEGEND.splitlines(), "", *exact_column(fits)]
    lines += ["## Learned by the corrected evidence", "", *learned_pages.section(fits)]
    write_text(folder / "qp_nearer.md", "\n".join(lines).rstrip() + "\n")


def _of_methods(table: pd.DataFrame, column: str, shown: str, noise: str = "") -> list[str]:
    """Return a grid with a row for each data set and a column for each method."""
    header = ["Data", "Splits", *SHORT.values(), *(["noise", "not trusted"] if noise else [])]
    cells = []
    for row, lines in table.groupby("row", sort=False):
        by_method = {line.method: line for line in lines.itertuples(index=False)}
        ep, best = by_method["ep"], by_method[NEARLY_EXACT]
        values = [getattr(by_method.get(method), column, np.nan) for method in METHODS]
        text = [row, str(ep.splits), *("-" if np.isnan(value) else format(value, shown) for value in values)]
        if noise:
            of_evidence = column.startswith("evidence")
            lost = (best.evidences_not_trusted, best.splits) if of_evidence else (best.not_trusted, best.n)
            text += [format(getattr(ep, noise), shown), f"{lost[0]} of {lost[1]}"]
        cells.append(text)
    return grid(header, "l" + "r" * (len(header) - 1), cells)


def exact_column(fits: pd.DataFrame) -> list[str]:
    """Return grids of test errors and NTLL on the seeds that every column of a row has."""
    selected = fits[(fits["protocol"] == PROTOCOL) & fits["method"].isin(COLUMNS)]
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
            wide = wide.reindex(columns=list(COLUMNS)).dropna(axis="columns", how="all").dropna()
            values = [
                number(wide[name].mean(), wide[name].std(ddof=0)) if name in wide else "-" for name in COLUMNS
            ]
            gaps = [(wide[name] - wide[EXACT]) for name in ("ep", "qp")]
            gap_texts = [f"{gap.mean():+.2f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.2f}" for gap in gaps]
            total = int(((selected["dataset"] == dataset) & (selected["method"] == EXACT)).sum())
            cells.append(
                [row_of(dataset), str(len(wide)), *values, *gap_texts, f"{lost.get(dataset, 0)} of {total}"]
            )
        name = "Test error, 10^-2" if metric == "TE" else "NTLL, 10^-3 nats"
        lines += [f"**{name}** (differences: mean ± standard error over seeds)", ""]
        lines += [*grid(header, "l" + "r" * (len(header) - 1), cells), ""]
    return lines


# The figure

STEP = 0.105
LOOKS: dict[str, Any] = {
    "ep": (style.BLUE, "o"),
    "qp": (style.ORANGE, "s"),
    "vb": (style.GREEN, "^"),
    "pep": (style.PURPLE, "D"),
    "laplace": (style.SKY, "v"),
    CHEAP: (style.GREY, "P"),
    NEARLY_EXACT: ("black", "*"),
    SAMPLED: ("black", "x"),
}
PANELS: dict[str, tuple[str, str, str]] = {
    "Latent variances": ("variance_rms", "variance_noise", "rms of log(v / exact)"),
    "Latent means": ("mean_rms", "mean_noise", "rms error (exact sd)"),
    "Test log densities": ("density_error", "density_noise", "mean |error| (nats)"),
    "Log evidence": ("evidence_error", "evidence_noise", "mean |error| (nats)"),
}


def figure(table: pd.DataFrame, path_stem: str | Path) -> None:
    """Draw every method's errors against the exact posterior, by data set, on logarithmic axes.

    Grey covers two Monte-Carlo standard errors of the exact numbers. Left is better.

    Raises
    ------
    ValueError
        The table is empty.
    """
    if table.empty:
        raise ValueError("nothing to draw: no approximation beside the ground truth")
    rows = list(dict.fromkeys(table["row"]))
    with style.drawing(path_stem, (7.6, 1.5 + 0.5 * len(rows))) as drawing:
        panels = drawing.subplots(1, len(PANELS), sharey=True)
        for axes, (title, (column, noise, label)) in zip(panels, PANELS.items(), strict=True):
            _panel(axes, table, rows, column, noise)
            axes.set_title(title)
            axes.set_xlabel(label)
        style.row_axis(panels, rows)
        handles: list[Any] = [
            style.line(linestyle="", marker=mark, color=colour, markersize=5, label=LABELS[method])
            for method, (colour, mark) in LOOKS.items()
        ]
        handles.append(style.patch(color=style.LIGHT, label="within 2 Monte-Carlo standard errors"))
        drawing.legend(handles=handles, loc="outside lower center", ncols=4)


def _panel(axes: Axes, table: pd.DataFrame, rows: Sequence[str], column: str, noise: str) -> None:
    smallest = min(table[column].min(), 2.0 * table[noise].min()) / 1.6
    axes.set_xscale("log")
    for line in table.itertuples(index=False):
        row, (colour, mark) = rows.index(line.row), LOOKS[line.method]
        if line.method == METHODS[0]:
            reach = 2.0 * getattr(line, noise)
            grey: dict[str, Any] = {"color": style.LIGHT, "linewidth": 0, "zorder": 1}
            axes.barh(row, reach - smallest, left=smallest, height=1.0, **grey)
        size = 6.5 if line.method == NEARLY_EXACT else 4.0
        axes.plot(
            getattr(line, column),
            row + (METHODS.index(line.method) - len(METHODS) // 2) * STEP,
            color=colour,
            marker=mark,
            markersize=size,
            linestyle="",
            zorder=3,
        )
    axes.set_xlim(left=smallest)
