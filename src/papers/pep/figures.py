"""The figures of regressions and classifications: scores against M, and powers against each other.

Figures 3, 11-13 (synthetic sets), 17-22 and 27-30 (UCI sets) show scores against M: means with their
standard errors, or every set or split and their mean, with a column for each power. If some splits lack some
M, the lines of means are broken, the full GP is that of the available splits, and markers at fewer splits are
hollow.

Figures 4, 6, 14-16 and 24-26 show pairs of powers, a row a comparison. The columns are SMSE or error
(scatter, histogram of differences that are not zero) and SMLL or NLL (the same). Below the diagonal, and
right of zero, the first power is better. Lighter points have more pseudo-points. Figures 5 and 7 show shares
won and ranks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from papers.core import style
from papers.pep import compare, looks, scores
from papers.pep.compare import short_of_bound
from papers.pep.looks import Figure
from papers.pep.regression import FULL
from papers.pep.scores import ENDS, ERROR, NAMES, NLL, NLML, SMLL, SMSE, label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

    from papers.core.comparisons import Score

    Panel = tuple[str, pd.DataFrame, Score]


# Scores against M

COLUMNS = 4
"""Panels in a row of the figure if each panel is a data set."""

DODGE = 1.025
"""Factor between the places of neighbouring powers at one M, so that error bars do not hide each other."""

FULL_LINE: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 0.9}
"""The full GP."""


def numbers(fits: pd.DataFrame, score: Score) -> pd.DataFrame:
    """Return the fits with a number, with the drawn score in a column ``value``."""
    scored = scores.with_numbers(fits)
    return scored.assign(value=scores.natural(scored, score))


def synthetic_means(fits: pd.DataFrame, stem: Path) -> None:
    """Draw figure 3: SMSE, SMLL and NLML of the synthetic sets against M."""
    sets = scores.made_up(fits)
    panels = [(looks.AXES[score.column], sets, score) for score in scores.scores_of(fits)]
    means(panels, sets, stem, "Synthetic sets: means and standard errors over the sets")


def real_means(fits: pd.DataFrame, stem: Path, score: Score) -> None:
    """Draw figures 18, 20, 22, 28, 30: a panel for each UCI set."""
    sets = scores.real(fits)
    panels = [(NAMES[name], sets[sets["dataset"] == name], score) for name in scores.datasets(sets)]
    means(panels, sets, stem, f"{score.name}: means and standard errors over splits")


def means(panels: Sequence[Panel], fits: pd.DataFrame, stem: Path, title: str) -> None:
    """Draw means and standard errors, a panel each (heading, fits, score); nothing without fits.

    Parameters
    ----------
    panels : sequence
    fits : pandas.DataFrame
        All drawn fits, for the text on coverage.
    stem, title : path, str
        Of `style.drawing`; above the figure.
    """
    if scores.sparse(fits).empty:
        return
    columns = min(len(panels), COLUMNS if len(panels) != 3 else 3)
    rows = -(-len(panels) // columns)
    powers = scores.alphas(fits)
    with style.drawing(stem, (6.9, 1.0 + (1.75 if rows > 1 else 2.2) * rows)) as figure:
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (heading, of_panel, score) in zip(grid, panels, strict=False):
            apart = looks.WIDE if columns < 4 else looks.NARROW
            _means(axes, numbers(of_panel, score), score, powers, apart)
            axes.set_title(heading)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        same = len({score for _, _, score in panels}) == 1
        for axes in grid[:: columns if same else 1][: len(panels)]:
            axes.set_ylabel(looks.AXES[panels[0][2].column] if same else "")
        _finish(figure, powers, fits, title)


def _means(
    axes: Axes, fits: pd.DataFrame, score: Score, powers: Sequence[str], apart: float, bars: bool = True
) -> None:
    runs = stretches(fits)
    most = max((len(run.splits) for run in runs), default=0)
    for k, alpha in enumerate(powers):
        look: dict[str, Any] = {"color": looks.colour(alpha), "marker": looks.marker(alpha, powers)}
        look |= {"linewidth": 1.0, "elinewidth": 0.7, "markersize": 2.8, "zorder": 3}
        for run in runs:
            is_complete = len(run.splits) == most
            hollow: dict[str, Any] = {} if is_complete else {"markerfacecolor": "white"}
            groups = run.of(fits, alpha)
            middle, error = groups.mean(), groups.sem().fillna(0.0)
            place = middle.index.to_numpy(float) * DODGE ** (k - (len(powers) - 1) / 2)
            edge = 0 if is_complete else 0.6
            axes.errorbar(place, middle, yerr=error if bars else None, markeredgewidth=edge, **look, **hollow)
    _full(axes, fits)
    if score == SMSE:
        axes.set_yscale("log")
        looks.plain_ticks(axes.yaxis, axes.get_ylim())
    looks.size_axis(axes, scores.sparse(fits)["m"].unique(), apart)
    axes.set_xlabel("M")


class Stretch(NamedTuple):
    """Neighbouring numbers of pseudo-points that were run on the same splits."""

    sizes: list[int]
    splits: frozenset[int]

    def of(self, fits: pd.DataFrame, alpha: str) -> Any:
        """Return the numbers of a power on this stretch, grouped by M."""
        return fits[(fits["alpha"] == alpha) & fits["m"].isin(self.sizes)].groupby("m")["value"]


def stretches(fits: pd.DataFrame) -> list[Stretch]:
    """Return the stretches of one data set; means over different splits are not joined by a line."""
    runs: list[Stretch] = []
    for m, group in scores.sparse(fits).groupby("m"):
        splits = frozenset(group["split"])
        if not runs or runs[-1].splits != splits:
            runs.append(Stretch([], splits))
        runs[-1].sizes.append(int(m))
    return runs


def _full(axes: Axes, fits: pd.DataFrame) -> None:
    """Draw the full GP on the splits of each stretch: its mean and a band of its standard error."""
    full = fits[fits["alpha"] == FULL].set_index("split")["value"]
    runs = stretches(fits)
    for run in runs:
        values = full[full.index.isin(run.splits)]
        if not len(values):
            continue
        middle, error = values.mean(), values.sem()
        # across the panel where there is one stretch, else a little beyond its ends
        first, last = (0.0, np.inf) if len(runs) == 1 else (run.sizes[0] / 1.22, run.sizes[-1] * 1.22)
        ends = np.clip([first, last], 1.0, 1e6)
        axes.plot(ends, [middle, middle], zorder=2, **FULL_LINE)
        if np.isfinite(error):
            axes.fill_between(ends, middle - error, middle + error, color=style.LIGHT, linewidth=0, zorder=0)


def synthetic_traces(fits: pd.DataFrame, stem: Path, score: Score) -> None:
    """Draw figures 11 to 13: every synthetic set."""
    traces(scores.made_up(fits), stem, score, f"Synthetic sets: {score.name} of every set")


def real_traces(fits: pd.DataFrame, stem: Path, score: Score) -> None:
    """Draw figures 17, 19, 21, 27, 29: every split of the UCI sets."""
    traces(scores.real(fits), stem, score, f"{score.name} on the UCI sets, every split")


def traces(fits: pd.DataFrame, stem: Path, score: Score, title: str) -> None:
    """Draw every set or split as a thin line, a row a data set, a column a power; the last has all means.

    The synthetic sets, which are all of one kind, share one row with a line for each set.
    """
    if scores.sparse(fits).empty:
        return
    names, powers = scores.datasets(fits), scores.alphas(fits)
    height = 1.15 * len(names) if len(names) > 1 else 1.7
    with style.drawing(stem, (6.9, 1.0 + height)) as figure:
        figure.set_layout_engine("constrained", w_pad=0.02, wspace=0.02)
        grid = figure.subplots(len(names), len(powers) + 1, squeeze=False, sharey="row")
        for row, name in zip(grid, names, strict=True):
            _traces(row, numbers(fits[fits["dataset"] == name], score), score, powers)
            row[0].set_ylabel(NAMES[name] if len(names) > 1 else looks.AXES[score.column])
        for axes, heading in zip(grid[0], [*map(label, powers), "means"], strict=True):
            axes.set_title(heading, fontsize=7.5)
        for axes in grid[-1]:
            axes.set_xlabel("M")
        _finish(figure, powers, fits, title)


def _traces(row: np.ndarray, fits: pd.DataFrame, score: Score, powers: Sequence[str]) -> None:
    log = score == SMSE
    ends = looks.bounds(fits["value"], log)
    for axes, alpha in zip(row, powers, strict=False):
        of_power, colour = fits[fits["alpha"] == alpha], looks.colour(alpha)
        for _, trace in of_power.groupby("split"):
            line = trace.sort_values("m")
            axes.plot(line["m"], line["value"], color=colour, alpha=0.35, linewidth=0.6)
        for run in stretches(fits):
            middle, dot = run.of(fits, alpha).mean(), "." if len(run.sizes) == 1 else ""
            axes.plot(middle.index, middle, color=colour, linewidth=1.5, marker=dot, markersize=4.0)
        _full(axes, fits)
        looks.outside(axes, int(((of_power["value"] < ends[0]) | (of_power["value"] > ends[1])).sum()))
    _means(row[-1], fits, score, powers, looks.NARROW, bars=False)
    row[-1].set_xlabel("")
    for axes in row:
        if log:
            axes.set_yscale("log")
        looks.size_axis(axes, scores.sparse(fits)["m"].unique(), 2 * looks.NARROW)
        axes.set_ylim(*ends)
        axes.tick_params(labelsize=6.5)
    if log:
        looks.plain_ticks(row[0].yaxis, ends)


def _finish(figure: Canvas, powers: Sequence[str], fits: pd.DataFrame, title: str) -> None:
    handles = looks.handles(powers)
    if (fits["alpha"] == FULL).any():
        handles.append(style.line("full GP", **FULL_LINE))
    figure.suptitle(title, fontsize=9.0)
    sets = [stretches(group) for _, group in fits.groupby("dataset")]
    fewer = any(len({len(run.splits) for run in runs}) > 1 for runs in sets)
    more = "; hollow: of fewer splits or sets" if fewer else ""
    for name, (n, of, _) in short_of_bound(fits).items():
        more += f"; full GP: one search, above VFE's bound on {n} of {of} splits of {scores.name_of(name)}"
    looks.covered(figure, fits, handles, 5 if len(handles) > 6 else 6, more)


# Pairs of powers

PAIRS = (("0.5", "0"), ("1", "0"), ("0.5", "1"))
"""First and second power of figures 14, 15 and 16, and of the rows of figure 4."""

BINS = 31
DOTS: dict[str, Any] = {"linestyle": "", "marker": "o", "markeredgewidth": 0}


class Row(NamedTuple):
    """A comparison: its name, the fits and the two powers."""

    heading: str
    fits: pd.DataFrame
    first: str
    second: str

    def duel(self, score: Score) -> compare.Duel | None:
        """Return the duel on the experiments of this row."""
        return compare.duel(self.fits, self.first, self.second, score)


def overview(fits: pd.DataFrame, stem: Path) -> None:
    """Draw figures 4 and 6: the three pairs over all UCI sets."""
    sets = scores.real(fits)
    rows = [Row("", sets, *pair) for pair in PAIRS]
    _draw(rows, sets, stem, "UCI sets: every experiment under two powers", 1.75)


def by_dataset(fits: pd.DataFrame, stem: Path, first: str, second: str) -> None:
    """Draw figures 14 to 16, 24 to 26: one pair, a row for each UCI set."""
    sets = scores.real(fits)
    groups = {name: sets[sets["dataset"] == name] for name in scores.datasets(sets)}
    rows = [Row(NAMES[name], group, first, second) for name, group in groups.items()]
    _draw(rows, sets, stem, f"{label(first)} against {label(second)}, UCI sets", 1.35)


def _draw(pairs: Sequence[Row], fits: pd.DataFrame, stem: Path, title: str, height: float) -> None:
    """Draw the rows; nothing if no two powers share an experiment."""
    rows = [row for row in pairs if row.duel(scores.predictive(fits)[0])]
    if not rows:
        return
    with style.drawing(stem, (6.4, 1.1 + height * len(rows))) as figure:
        figure.set_layout_engine("constrained", w_pad=0.03, wspace=0.02)
        grid = figure.subplots(len(rows), 4, squeeze=False, width_ratios=(1.0, 1.1, 1.0, 1.1))
        sizes = _sizes(fits)  # one scale for all rows, also of sets that lack some
        for panels, row in zip(grid, rows, strict=True):
            for k, score in enumerate(scores.predictive(fits)):
                _scatter(panels[2 * k], row, score, sizes)
                _histogram(panels[2 * k + 1], row, score)
            for axes in panels:
                axes.tick_params(labelsize=6.5, pad=2.0)
                if row.heading and row is not rows[-1]:
                    axes.set_xlabel("")
            side = f"{row.heading}\n{label(row.first)}" if row.heading else label(row.first)
            panels[0].set_ylabel(side, fontsize=7.5)
        for k, score in enumerate(scores.predictive(fits)):
            grid[0, 2 * k].set_title(score.name, fontsize=8.0)
            grid[0, 2 * k + 1].set_title(f"{score.name}: differences", fontsize=8.0)
        figure.suptitle(title, fontsize=9.0)
        dots = DOTS | {"markersize": 3.5}
        handles = [style.line(f"M = {m}", color=shade(m, sizes), **dots) for m in sizes]
        looks.covered(figure, fits, handles, more="; the outermost bins hold all differences beyond")
        style.settle(figure)


def _sizes(fits: pd.DataFrame) -> list[int]:
    return sorted(scores.sparse(fits)["m"].unique())


def shade(m: int, sizes: Sequence[int]) -> tuple[float, float, float, float]:
    """Return the colour of a number of pseudo-points among those run; more points are lighter."""
    from matplotlib import colormaps

    return colormaps["viridis"](0.9 * sizes.index(m) / max(len(sizes) - 1, 1))


def points(row: Row, score: Score) -> pd.DataFrame:
    """Return the recorded scores of both powers (columns ``first``, ``second``) on common experiments."""
    powers = {row.first: "first", row.second: "second"}
    scored = scores.with_numbers(row.fits[row.fits["alpha"].isin(powers)])
    table = scored.pivot(index=compare.EXPERIMENT, columns="alpha", values=score.column).dropna()
    return table.rename(columns=powers)


def _scatter(axes: Axes, row: Row, score: Score, sizes: Sequence[int]) -> None:
    table, log = points(row, score), score == SMSE
    ends = looks.bounds(table.to_numpy().ravel(), log)
    dots = DOTS | {"markersize": 2.6, "alpha": 0.8, "rasterized": True}
    for m, of_size in table.groupby(level="m"):
        axes.plot(of_size["second"], of_size["first"], color=shade(m, sizes), **dots)
    axes.plot(ends, ends, color="black", linestyle=(0, (5, 3)), linewidth=0.7)
    axes.set(xscale="log" if log else "linear", yscale="log" if log else "linear")
    axes.set(xlim=ends, ylim=ends, box_aspect=1.0)
    for axis in (axes.xaxis, axes.yaxis):
        if log:
            looks.plain_ticks(axis, ends, 3)
    if not log:
        axes.locator_params(nbins=4)
    looks.outside(axes, int(((table < ends[0]) | (table > ends[1])).any(axis=1).sum()), 0.03)
    axes.set_xlabel(label(row.second), fontsize=7.5)


def _histogram(axes: Axes, row: Row, score: Score) -> None:
    """Draw the differences second - first; values beyond the outermost bins are counted in them."""
    duel = row.duel(score)
    assert duel is not None  # a fit has all scores or none, and the row is there
    values = duel.differences.to_numpy(float)
    values = values[values != 0]
    reach = max(np.quantile(np.abs(values), 0.95), score.margin) if len(values) else score.margin
    edges = np.linspace(-reach, reach, BINS + 1 + BINS % 2)
    counts, _ = np.histogram(np.clip(values, -reach, reach), edges)
    colours = [style.ORANGE if x > 0 else style.BLUE for x in 0.5 * (edges[1:] + edges[:-1])]
    axes.bar(0.5 * (edges[1:] + edges[:-1]), counts, width=np.diff(edges), color=colours, linewidth=0)
    axes.axvline(0.0, color="black", linewidth=0.6)
    above: dict[str, Any] = {"transform": axes.transAxes, "va": "top"}
    for x, n, side, colour in (
        (0.97, duel.wins, "right", style.ORANGE),
        (0.03, duel.losses, "left", style.BLUE),
    ):
        share = f"{100 * n / (duel.wins + duel.losses):.0f} %" if duel.ties < duel.n else "tied"
        axes.text(x, 0.97, share, ha=side, color=colour, fontsize=7.5, **above)
    if duel.ties:
        behind = {"facecolor": "white", "linewidth": 0, "pad": 1.0}  # hides the line at zero
        small: dict[str, Any] = {"color": style.GREY, "fontsize": 6.5}
        axes.text(0.5, 0.97, f"{duel.ties} tied", ha="center", bbox=behind, **small, **above)
    axes.set_ylim(0, 1.3 * max(counts.max(), 1))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=3)
    axes.set_xlabel(looks.DIFFERENCES[score.column], fontsize=7.5)


# Who beats whom


def ranking(fits: pd.DataFrame, stem: Path) -> None:
    """Draw figures 5 and 7: matrices of shares above, average ranks below, a column for each score."""
    sets = scores.real(fits)
    powers = scores.alphas(sets)
    if compare.ranks(sets, scores.predictive(sets)[0]).empty:
        return
    with style.drawing(stem, (6.4, 5.9)) as figure:
        grid = figure.subplots(2, 2, height_ratios=(1.7, 1.0))
        for column, score in zip(grid.T, scores.predictive(sets), strict=True):
            _matrix(column[0], shares(sets, score), powers)
            column[0].set_title(f"{score.name}: row beats column (%)")
            _ranks(column[1], compare.mean_ranks(sets, score))
        grid[0, 0].set_ylabel("α")
        grid[1, 0].set_ylabel("average rank (1 the best),\nwith standard errors")
        figure.suptitle("UCI sets: pairwise comparisons and average ranks", fontsize=9.0)
        looks.covered(figure, sets)


def shares(fits: pd.DataFrame, score: Score) -> np.ndarray:
    """Return the shares of experiments that the row's power wins against the column's; diagonal NaN."""
    powers, table = scores.alphas(fits), compare.wide(fits, score)
    duels = [[compare.duel_in(table, a, b) if a != b else None for b in powers] for a in powers]
    return np.array([[duel.share if duel else np.nan for duel in row] for row in duels])


def _matrix(axes: Axes, table: np.ndarray, powers: list[str]) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    between = LinearSegmentedColormap.from_list("shares", [style.BLUE, "white", style.ORANGE])
    axes.set_facecolor(style.LIGHT)  # of the diagonal, which is masked
    axes.imshow(np.ma.masked_invalid(table), cmap=between, vmin=0.0, vmax=1.0)
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": style.SMALL}
    for (i, j), share in np.ndenumerate(table):
        if np.isfinite(share):
            axes.text(
                j, i, f"{100 * share:.0f}", color="white" if abs(share - 0.5) > 0.35 else "black", **middle
            )
    axes.set_xticks(range(len(powers)), powers)
    axes.set_yticks(range(len(powers)), [label(a).removeprefix("α = ") for a in powers])
    axes.tick_params(length=0)
    axes.set_xlabel("α")
    for side in axes.spines.values():
        side.set_visible(False)


def _ranks(axes: Axes, table: pd.DataFrame) -> None:
    look: dict[str, Any] = {"marker": "o", "markersize": 4.0, "elinewidth": 0.9, "capsize": 2.0}
    for k, line in enumerate(table.itertuples()):
        error = line.se_splits if np.isfinite(line.se_splits) else 0.0
        axes.errorbar(k, line.rank, yerr=error, color=looks.colour(line.alpha), **look)
    axes.axhline((len(table) + 1) / 2, color=style.LIGHT, linewidth=0.8, zorder=0)
    axes.set_xticks(range(len(table)), table["alpha"])
    axes.set_xlim(-0.5, len(table) - 0.5)
    axes.set_xlabel("α")


# By number

A_SPLIT = "a thin line a split, the bold one their mean."
MEAN = "mean over splits and its standard error; hollow: over fewer splits."
A_SET = "a thin line a set, the bold one their mean"


def _synthetic(score: Score, caption: str) -> Figure:
    return Figure(partial(synthetic_traces, score=score), f"Synthetic sets, {caption}")


def _pairs(first: int, kind: str, differences: str) -> dict[str, Figure]:
    """Return the figures of `PAIRS`, numbered from ``first``."""
    figures = {}
    for number, pair in enumerate(PAIRS, first):
        first_name, second_name = (ENDS.get(alpha, f"α = {alpha}") for alpha in pair)
        pair_text = f"{first_name} against {second_name}, a row a {kind} set"
        caption = f"{pair_text}: scores of every experiment, {differences}."
        drawn = partial(by_dataset, first=pair[0], second=pair[1])
        figures[f"figure{number}"] = Figure(drawn, caption)
    return figures


def _scores(first: int, headings: Mapping[Score, str]) -> dict[str, Figure]:
    """Return two figures for each score, numbered from ``first``: a line for each split, and means."""
    kinds = ((real_traces, A_SPLIT), (real_means, MEAN))
    every = [
        (partial(draw, score=x), f"{heading}: {how}")
        for x, heading in headings.items()
        for draw, how in kinds
    ]
    return {f"figure{number}": Figure(*drawing) for number, drawing in enumerate(every, first)}


REGRESSION = {
    "figure3": Figure(
        synthetic_means,
        "Synthetic sets: mean of each score against the number of pseudo-points M, with its standard "
        "error over the sets; the full GP as a dashed line, its standard error as a band. NLML a training "
        "point. Lines are broken where the sets differ: hollow markers and the full GP beside them are of "
        "fewer sets.",
    ),
    "figure4": Figure(
        overview,
        "UCI sets: experiments of two powers against each other (top and left method by name, below the "
        "diagonal the method of the y axis is better) and histograms of the differences. Every point is a "
        "data set, split and M; differences of SMSE are relative.",
    ),
    "figure5": Figure(
        ranking,
        "UCI sets: share of experiments in which the power of the row beats that of the column, and "
        "average ranks of all powers with their standard errors over splits.",
    ),
    "figure11": _synthetic(SMLL, f"SMLL: {A_SET}; last panel: all means."),
    "figure12": _synthetic(SMSE, f"SMSE: {A_SET}; last panel: all means."),
    "figure13": _synthetic(NLML, f"NLML a training point: {A_SET}."),
    **_pairs(14, "UCI", "and their differences"),
    **_scores(
        17,
        {
            NLML: "NLML a training point on the UCI sets",
            SMSE: "SMSE on the UCI sets",
            SMLL: "SMLL on the UCI sets",
        },
    ),
}
CLASSIFICATION = {
    "figure6": Figure(
        overview,
        "Classification: experiments of two powers against each other (below the diagonal the method of the "
        "y axis is better) and histograms of the differences that are not zero. Every point is a data set, "
        "split and M; errors are shares of a few dozen test points, so that many points coincide.",
    ),
    "figure7": Figure(
        ranking,
        "Classification: share of experiments, without ties, in which the power of the row beats that of the "
        "column, and average ranks of all powers with their standard errors over splits.",
    ),
    **_pairs(24, "classification", "differences"),
    **_scores(27, {ERROR: "Test error", NLL: "NLL of the test labels"}),
}
