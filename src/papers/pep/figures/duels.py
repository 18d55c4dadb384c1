"""Figures of powers against each other: 4, 6, 14-16 and 24-26 show pairs, 5 and 7 shares won and ranks.

Of a pair a row is a comparison; its columns are SMSE or error (scatter, histogram of differences that are not
zero) and SMLL or NLL (the same). Below the diagonal, and right of zero, the first power is better. Lighter
points have more pseudo-points.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from papers.core import style
from papers.pep import compare, scores
from papers.pep.figures import looks
from papers.pep.scores import NAMES, SMSE, label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from papers.core.comparisons import Score

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


# A pair


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
