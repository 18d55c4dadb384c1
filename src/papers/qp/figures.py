"""Figures of Table 1: predictive variances, ours against published, paired differences.

Figure 1 of the paper is a scatter of the latent predictive variances at test points, EP against QP. The two
are so close that the scatter alone cannot show a difference of a per cent. A panel beneath it therefore shows
the relative difference. Another panel shows the folds whose reported EP moved in its second tuning.

Paired differences are those of test log-likelihoods, EP against QP and EP against VB, by data set. Right of
zero the other method has the lower NTLL. The captions (`papers.qp.artifacts.FIGURES`) say what is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import statistics, style
from papers.core.grid import seeds_text
from papers.core.spans import spans
from papers.qp import pairs
from papers.qp.pairs import NTLL, REFERENCES, Paired, paired, tunings
from papers.qp.published import (
    METRICS,
    PUBLISHED_COLUMNS,
    is_counts,
    method_order,
    n_seeds,
    printed_as,
    row_of,
    row_order,
)

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

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

    `papers.qp.pairs` explains which EP fit is compared with QP. The points are those in
    ``variances``. The shares and numbers of folds printed into the figure count every seed.

    Parameters
    ----------
    frame : pandas.DataFrame
        Records of one protocol.
    variances : pandas.DataFrame
        Matched variances (`papers.qp.records.VARIANCES`) of that protocol, some of them of these data sets.
    datasets : sequence of str
        Data sets to draw, of one task, names as in the records.
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
        label = "As reported" if is_counts(datasets[0]) else "Equal hyperparameters"
        _scatter(upper, main, moved, counts, label)
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
    opacity = float(np.clip(8 / np.sqrt(n), 0.12, 0.7))
    face = {"color": style.BLUE, "alpha": opacity, "markeredgewidth": 0}
    return {"linestyle": "", "marker": "o", "markersize": 2.6, **face, "rasterized": True, "zorder": 3}


def _rings(n: int) -> dict[str, Any]:
    """Return the look of open circles beneath the dots and wider than these, so that both are visible."""
    opacity = float(np.clip(12 / np.sqrt(n), 0.2, 0.7))
    edge = {"markerfacecolor": "none", "markeredgecolor": style.ORANGE, "markeredgewidth": 0.5}
    ring = {"linestyle": "", "marker": "o", "markersize": 4.6, "alpha": opacity}
    return {**ring, **edge, "rasterized": True, "zorder": 2}


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
        Table of `published.compare`, of one protocol; nothing is drawn if no row has our mean and a
        published one.
    path_stem, title : str
        Path for `style.drawing`; title above the figure.
    """
    compared = table[table["published_mean"].notna() & table["mean"].notna()]
    rows = [row for row in dict.fromkeys(table["row"]) if n_seeds(row)]
    methods = method_order(list(compared["method"]))
    if not methods:
        return
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
        dot: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3.4}
        difference = line.mean - line.published_mean
        axes.errorbar(difference, height, xerr=line.sd, elinewidth=0.8, zorder=3, **dot)
    axes.axvline(0.0, color="black", linewidth=0.7, zorder=2)
    style.signed_axis(axes)


def _row_label(table: pd.DataFrame, row: str) -> str:
    """Label a row, with its numbers of seeds by method if they are not the paper's."""
    lines = table[table["row"] == row].drop_duplicates("method")
    counts = lines["n_seeds"].tolist()
    complete = bool(counts) and min(counts) >= n_seeds(row)
    return row if complete else f"{row}\n(seeds: {seeds_text(counts or [0])})"


def _method_handles(methods: Sequence[str]) -> list[Artist]:
    dots = [
        _dot(colour, marker, f"{PUBLISHED_COLUMNS[printed_as(method)]} ({method}), ± our sd")
        for method, (colour, marker) in zip(methods, style.CYCLE, strict=False)
    ]
    return [*dots, style.patch(color=style.LIGHT, label="± published sd")]


def _dot(colour: str, marker: str, label: str) -> Artist:
    """Return a legend handle of a marker with its line."""
    return style.line(color=colour, marker=marker, markersize=4, linewidth=0.8, label=label)


# Paired differences

MILLI = 1000.0
VB = (("vb-joint", "VB, joint search (vb-joint)"), ("vb", "VB, bound maximised (vb)"))
QP_STYLES = ((style.BLUE, "o"), (style.SKY, "D"))
VB_STYLES = ((style.GREEN, "^"), (style.ORANGE, "s"))


class Series(NamedTuple):
    """One comparison of a panel: data set -> matched scores, with label, colour and marker."""

    label: str
    scores: dict[str, Paired]
    colour: str
    marker: str

    @property
    def drawn(self) -> list[str]:
        """Return the data sets with at least two complete seeds."""
        return [name for name, scores in self.scores.items() if scores.n_seeds >= 2]

    def rests_on(self, dataset: str) -> str:
        """Format the seeds times folds of a point, such as ``100 × 10``; ``0`` without a complete seed."""
        scores = self.scores.get(dataset)
        if scores is None or not scores.n_seeds:
            return "0"
        return "{} × {}".format(*scores.differences.shape)


def paired_differences(fits: pd.DataFrame, path_stem: str | Path, title: str) -> None:
    """Draw EP - QP (at both tunings where there are two) and EP - VB (both kinds where run).

    Parameters
    ----------
    fits : pandas.DataFrame
        Records of one protocol; nothing is drawn if no comparison has two complete seeds.
    path_stem, title : str
        Path for `style.drawing`; title above the figure.
    """
    panels = {"QP": _against_qp(fits), "VB": _against_vb(fits)}
    present = {name for series in panels.values() for comparison in series for name in comparison.drawn}
    rows = row_order(present)
    if not rows:
        return
    with style.drawing(path_stem, (6.9, 1.5 + 0.36 * len(rows))) as figure:
        both = figure.subplots(1, 2, sharey=True)
        for axes, (method, series) in zip(both, panels.items(), strict=True):
            _paired_panel(axes, series, rows)
            axes.set_xlabel(f"EP $-$ {method}: NTLL ($10^{{-3}}$ nats)")
            axes.set_title(f"$\\leftarrow$ EP better        {method} better $\\rightarrow$", fontsize=8.0)
        style.row_axis(both, [row_of(name) for name in rows])
        figure.suptitle(title, fontsize=9.0)
        figure.legend(handles=_paired_handles(panels), loc="outside lower center", ncols=3)


def _against_qp(fits: pd.DataFrame) -> list[Series]:
    return [
        Series(f"QP, {name}", paired(fits, first, "qp", NTLL.column), *look)
        for (name, first), look in zip(tunings(fits), QP_STYLES, strict=False)
    ]


def _against_vb(fits: pd.DataFrame) -> list[Series]:
    run = set(fits["method"])
    return [
        Series(label, paired(fits, "ep", method, NTLL.column), *look)
        for (method, label), look in zip(VB, VB_STYLES, strict=True)
        if method in run
    ]


def _paired_panel(axes: Axes, series: list[Series], rows: list[str]) -> None:
    step = 0.7 / max(len(series), 1)
    reach = MILLI * NTLL.margin
    axes.axvspan(-reach, reach, color=style.LIGHT, linewidth=0, zorder=0)
    axes.axvline(0.0, color="black", linewidth=0.7, zorder=1)
    for k, comparison in enumerate(series):
        offset = (k - (len(series) - 1) / 2) * step
        for height, name in enumerate(rows):
            if name in comparison.drawn:
                _paired_difference(axes, comparison.scores[name], height + offset, 0.62 * step, comparison)
            _at_edge(axes, height + offset, comparison.rests_on(name))
    if series:
        _at_edge(axes, -0.5, "seeds × folds", va="bottom")
    style.signed_axis(axes, 2.0, _power)


def _at_edge(axes: Axes, height: float, text: str, va: str = "center_baseline") -> None:
    """Write text at the right edge of a panel, at a height in its rows."""
    look: dict[str, Any] = {"fontsize": style.SMALL, "color": style.GREY, "va": va}
    axes.text(1.01, height, text, transform=axes.get_yaxis_transform(), **look)


def _paired_difference(axes: Axes, scores: Paired, height: float, thickness: float, look: Series) -> None:
    """Draw the mean, its spread over seeds, and the interval of the generalising estimate."""
    mean, sd = (MILLI * float(f(scores.seed_differences)) for f in (np.mean, np.std))
    general = statistics.corrected_resampled_t(scores.differences.ravel(), scores.n_train, scores.n_test)
    low, high = (MILLI * end for end in general.interval())
    bar: dict[str, Any] = {"color": look.colour, "alpha": 0.35, "linewidth": 0, "zorder": 2}
    axes.barh(height, 2 * sd, left=mean - sd, height=thickness, **bar)
    marker: dict[str, Any] = {"color": look.colour, "marker": look.marker, "markersize": 3.4}
    line: dict[str, Any] = {"elinewidth": 0.8, "capsize": 1.6, "capthick": 0.8, "zorder": 3}
    axes.errorbar(mean, height, xerr=[[mean - low], [high - mean]], **marker, **line)


def _power(tick: int) -> str:
    """Label a tick of 0 or of a power of ten, in full up to ten."""
    if tick == 0:
        return "0"
    return f"${tick}$" if abs(tick) < 100 else f"${'-' if tick < 0 else ''}10^{len(str(abs(tick))) - 1}$"


def _paired_handles(panels: dict[str, list[Series]]) -> list[Artist]:
    dots = [
        _dot(comparison.colour, comparison.marker, comparison.label)
        for series in panels.values()
        for comparison in series
        if comparison.drawn
    ]
    bar = style.patch(color=style.GREY, alpha=0.35, linewidth=0, label="± 1 sd over seeds")
    line = style.line(color=style.GREY, linewidth=0.8, label="95 % interval, another data set")
    band = style.patch(color=style.LIGHT, label=r"± $10^{-3}$ nats")
    return [*dots, bar, line, band]
