"""Figures of the Quantile Propagation paper, and of our table against the published one.

Figure 1 of the paper is a scatter of the latent predictive variances at test points, EP against QP. The two
are so close that the scatter alone cannot show a difference of a per cent. A panel beneath it therefore shows
the relative difference. Another panel shows the folds whose reported EP moved in its second tuning.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core import style
from papers.core.grid import seeds_text
from papers.core.spans import spans
from papers.qp import pairs
from papers.qp.pairs import REFERENCES
from papers.qp.published import METRICS, PUBLISHED_COLUMNS, is_counts, method_order, n_seeds, printed_as

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

CAPTIONS = {
    "figure1a": (
        "Predictive variances of the latent function on the test points of the classification rows, EP "
        "against QP at equal hyperparameters; below the diagonal QP's is smaller. Open circles and the "
        "lowest panel: folds whose reported EP moved in its second tuning."
    ),
    "figure1b": "The same for Poisson regression on the coal-mining counts, as reported.",
    "paired": (
        "Differences of NTLL between methods on the same folds, row by row: the mean over seeds, its spread "
        "over seeds, and the interval of the corrected resampled t test; the band is 0.001 nats wide on "
        "either side, the smallest effect that matters. At the right of a panel what a point rests on: seeds "
        "times folds a seed, over the seeds complete for both methods; a comparison with fewer than two is "
        "not drawn."
    ),
    "published": (
        "Ours minus published in printed units (TE in percent, NTLL in 0.001 nats): dot and line are the "
        "mean and spread over our seeds, the grey bar is the published spread."
    ),
    "vb_column": (
        "From the printed VB column (grey: mean and spread) to the bound's maximum: the released code's "
        "joint search scored as that code scores, the same fits scored stably, the search with the right "
        "gradient, and the bound maximised."
    ),
    "qp_truth": (
        "EP, QP and VB against the exact posterior on the folds of seed 0: predictive variance over the "
        "exact one (each dot a test point, bars their geometric mean), error of the latent means, mean test "
        "log density (NTLL) and log evidence minus the exact ones; grey is what two Monte-Carlo standard "
        "errors may explain, a hollow marker an evidence above the exact one."
    ),
    "qp_nearer": (
        "Errors of seven approximations against the exact posterior on the folds of seed 0, to the left is "
        "better: variances and means of the test latents, predictive log densities, log evidence; grey is "
        "what two Monte-Carlo standard errors may explain. Where EP corrected until nearly exact (stars) "
        "lies in grey, it cannot be told from the exact posterior."
    ),
    "qp_calibration": (
        "Probabilities of labels on the folds of seed 0. Left: how often the likelier label is right, "
        "against its probability, over all rows; black is the exact posterior, its bars what so few test "
        "points may explain. Middle: mean probability minus that share, row by row. Right: by how much the "
        "probability of the exactly likelier label differs from the exact one on average, against the exact "
        "one."
    ),
}

AXIS_LABELS = {
    "TE": r"TE: ours $-$ published ($\times 10^{-2}$)",
    "NTLL": r"NTLL: ours $-$ published ($\times 10^{-3}$)",
}


def predictive_variances(
    frame: pd.DataFrame,
    variances: pd.DataFrame,
    datasets: Sequence[str],
    path_stem: str | Path,
    title: str,
) -> None:
    """Draw figure 1a or 1b: predictive variances of the latent function, EP against QP.

    `papers.qp.pairs` explains which EP fit is compared with QP. The points are those in ``variances``. The
    shares and numbers of folds printed into the figure count every seed.

    Parameters
    ----------
    frame : pandas.DataFrame
        Records of one protocol.
    variances : pandas.DataFrame
        Matched variances (`papers.qp.records.VARIANCES`) of that protocol, some of them of these data sets.
    datasets : sequence of str
        Data sets to draw, names as in the records.
    path_stem, title : str
        Path for `style.drawing`; title above the figure.
    """
    counts = pairs.counts(frame, datasets)
    points = variances[variances["dataset"].isin(datasets)]
    main, moved = (points[points["reference"] == name] for name in REFERENCES)
    kinds = ((main, _dots), (moved, _rings))
    panels = [(matched, look(len(matched))) for matched, look in kinds if len(matched)]
    with style.drawing(path_stem, (4.2, 4.4 + 1.35 * len(panels))) as figure:
        heights = (3.0, *[1.0] * len(panels))
        upper, *lower = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
        _scatter(upper, main, moved, counts, _main_label(datasets))
        _remarks(upper, counts, _drawn(frame, points, datasets))
        for axes, (matched, look) in zip(lower, panels, strict=True):
            _difference(axes, matched, look | {"markersize": 2.6})
            axes.sharey(lower[0])
        upper.set_title(title)
        lower[-1].set_xlabel("EP: variance of the latent function")


def share(n_not_above: int, n: int) -> str:
    """Format the share of points with QP <= EP, rounded down, so that 100 % means all of them."""
    percent = "100" if n_not_above == n else f"{np.floor(10000 * n_not_above / n) / 100:.2f}"
    return rf"QP $\leq$ EP at {percent} % of n = {n:,}"


def _scatter(axes: Axes, main: pd.DataFrame, moved: pd.DataFrame, counts: pairs.Counts, label: str) -> None:
    every = np.concatenate([matched[name] for matched in (main, moved) for name in ("v_ep", "v_qp")])
    ends = np.array([every.min() / 1.5, every.max() * 1.5])
    if len(main):
        label = f"{label} ({counts.n_folds:,} folds)\n{share(counts.n_not_above, counts.n_points)}"
        axes.plot(main["v_ep"], main["v_qp"], label=label, **_dots(len(main)))
    if len(moved):
        not_above = int((moved["v_qp"] <= moved["v_ep"] * (1 + pairs.RECORDED)).sum())
        label = f"EP tuned again, as reported ({counts.n_moved:,} folds)\n"
        label += f"{share(not_above, len(moved))} shown"
        axes.plot(moved["v_ep"], moved["v_qp"], label=label, **_rings(len(moved)))
    axes.plot(ends, ends, color="black", linestyle=(0, (5, 3)), linewidth=0.8, label="QP = EP")
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set_ylabel("QP: variance of the latent function")
    legend = axes.legend(loc="upper left", handlelength=1.6, borderaxespad=0.2, labelspacing=0.6)
    for handle in filter(None, legend.legend_handles):
        handle.set(alpha=1.0)


def _remarks(axes: Axes, counts: pairs.Counts, drawn: str) -> None:
    """Write the corner text: the points drawn, the folds without a pair, the fits that did not converge."""
    remarks = [
        f"{count:,} {'fold' if count == 1 else 'folds'} {clause}"
        for count, clause in (
            (counts.n_unpaired, "without a pair"),
            (counts.n_unconverged, "with a fit not converged"),
        )
        if count
    ]
    text = "\n".join([*remarks, drawn]).strip()
    look: dict[str, Any] = {"ha": "right", "va": "bottom", "fontsize": style.SMALL, "color": style.GREY}
    axes.text(0.99, 0.02, text, transform=axes.transAxes, **look)


def _drawn(frame: pd.DataFrame, points: pd.DataFrame, datasets: Sequence[str]) -> str:
    """Name the seeds of the points, if these are not all."""
    of_sets = [set(of_set["seed"]) for _, of_set in frame[frame["dataset"].isin(datasets)].groupby("dataset")]
    seeds, drawn = set.intersection(*of_sets), set(points["seed"])
    more = "" if all(of_set == seeds for of_set in of_sets) else ", more of some sets"
    if drawn == seeds and not more:
        return ""
    return f"points of seeds {spans(drawn)} are drawn, {spans(seeds)} counted{more}"


def _difference(axes: Axes, points: pd.DataFrame, look: dict[str, Any]) -> None:
    """Draw the panel beneath the scatter: by how many per cent QP's variance is below EP's."""
    axes.axhline(0.0, color="black", linestyle=(0, (5, 3)), linewidth=0.8)
    axes.plot(points["v_ep"], 100 * (points["v_qp"] / points["v_ep"] - 1), **look)
    axes.set_ylabel("QP / EP $-$ 1 (%)")
    axes.margins(y=0.12)


def _dots(n: int) -> dict[str, Any]:
    """Return the look of small filled dots, fainter if many; as pixels, since a PDF of them takes minutes."""
    opacity = float(np.clip(8 / np.sqrt(max(n, 1)), 0.12, 0.7))
    face = {"color": style.BLUE, "alpha": opacity, "markeredgewidth": 0}
    return {"linestyle": "", "marker": "o", "markersize": 2.6, **face, "rasterized": True, "zorder": 3}


def _rings(n: int) -> dict[str, Any]:
    """Return the look of open circles beneath the dots and wider than these, so that both are visible."""
    opacity = float(np.clip(12 / np.sqrt(max(n, 1)), 0.2, 0.7))
    edge = {"markerfacecolor": "none", "markeredgecolor": style.ORANGE, "markeredgewidth": 0.5}
    ring = {"linestyle": "", "marker": "o", "markersize": 4.6, "alpha": opacity}
    return {**ring, **edge, "rasterized": True, "zorder": 2}


def _main_label(datasets: Sequence[str]) -> str:
    reported = [name for name in datasets if is_counts(name)]
    if not reported:
        return "Equal hyperparameters"
    if len(reported) == len(datasets):
        return "As reported"
    return f"Equal hyperparameters ({', '.join(reported)}: as reported)"


def figure_table1(
    table: pd.DataFrame, path_stem: str | Path, title: str = "Table 1: ours against published"
) -> None:
    """Draw our mean minus the published one as dots, a row for each data set, in printed units.

    A dot is the difference of the means, and its line our standard deviation over seeds. The grey bar behind
    it is the published standard deviation: a dot inside its bar agrees within the paper's own spread. The
    axis is linear within ±1 unit and logarithmic beyond. A row with fewer seeds than the paper's says so.

    Parameters
    ----------
    table : pandas.DataFrame
        Table of `published.compare`, of one protocol; at least one row has our mean and a published one.
    path_stem, title : str
        Path for `style.drawing`; title above the figure.
    """
    compared = table[table["published_mean"].notna() & table["mean"].notna()]
    rows = [row for row in dict.fromkeys(table["row"]) if n_seeds(row)]
    methods = method_order(list(compared["method"]))
    with style.drawing(path_stem, (6.9, 1.3 + 0.42 * len(rows))) as figure:
        panels = figure.subplots(1, 2, sharey=True)
        for axes, metric in zip(panels, METRICS, strict=True):
            _differences(axes, compared[compared["metric"] == metric], rows, methods)
            axes.set_xlabel(AXIS_LABELS[metric])
        style.row_axis(panels, [_row_label(compared, row) for row in rows])
        figure.suptitle(title, fontsize=9.0)
        figure.legend(handles=_method_handles(methods), loc="outside lower center", ncols=3)


def _differences(axes: Axes, cells: pd.DataFrame, rows: Sequence[str], methods: Sequence[str]) -> None:
    step = 0.72 / len(methods)
    for line in cells.itertuples(index=False):
        k = methods.index(line.method)
        height = rows.index(line.row) + (k - (len(methods) - 1) / 2) * step
        colour, marker = style.CYCLE[k % len(style.CYCLE)]
        band: dict[str, Any] = {"color": style.LIGHT, "linewidth": 0, "zorder": 1}
        axes.barh(height, 2 * line.published_sd, left=-line.published_sd, height=0.75 * step, **band)
        look: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "markersize": 3.4,
            "elinewidth": 0.8,
            "zorder": 3,
        }
        axes.errorbar(line.mean - line.published_mean, height, xerr=line.sd, **look)
    axes.axvline(0.0, color="black", linewidth=0.7, zorder=2)
    style.signed_axis(axes)


def _row_label(shown: pd.DataFrame, row: str) -> str:
    """Label a row, with its numbers of seeds by method if they are not the paper's."""
    lines = shown[shown["row"] == row].drop_duplicates("method")
    counts = lines["n_seeds"].tolist()
    complete = bool(counts) and min(counts) >= n_seeds(row)
    return row if complete else f"{row}\n(seeds: {seeds_text(counts or [0])})"


def _method_handles(methods: Sequence[str]) -> list[Artist]:
    dots = []
    for method, (colour, marker) in zip(methods, style.CYCLE, strict=False):
        label = f"{PUBLISHED_COLUMNS[printed_as(method)]} ({method}), ± our sd"
        dots.append(style.line(color=colour, marker=marker, markersize=4, linewidth=0.8, label=label))
    return [*dots, style.patch(color=style.LIGHT, label="± published sd")]
