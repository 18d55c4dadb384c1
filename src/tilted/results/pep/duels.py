"""Figures 4 and 14-16: two powers against each other, experiment by experiment.

A column is a comparison; its rows are SMSE (scatter, histogram of differences) and SMLL (the same). Below
the diagonal, and right of zero, the first power is better. Lighter points have more pseudo-points.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.results import style
from tilted.results.pep import compare, looks, scores
from tilted.results.pep.compare import EXPERIMENT
from tilted.results.pep.scores import FAILED, NAMES, PREDICTIVE, SMSE, Score

if TYPE_CHECKING:
    import pandas as pd

PAIRS = (("0.5", "0"), ("1", "0"), ("0.5", "1"))
"""First and second of figures 14, 15 and 16, and the columns of figure 4."""

BINS = 31


class Column(NamedTuple):
    """One comparison: heading, fits, and the two powers."""

    heading: str
    fits: pd.DataFrame
    first: str
    second: str


def drawable(fits: pd.DataFrame, first: str, second: str) -> bool:
    """Whether two powers share any experiment on the UCI sets."""
    part = scores.real(fits)
    return len(part) > 0 and compare.duel(part, first, second, SMSE) is not None


def overview(fits: pd.DataFrame, stem: str | Path):
    """Figure 4: the three pairs over all UCI sets."""
    part = scores.real(fits)
    columns = [
        Column(f"{scores.label(a)} against {scores.label(b)}", part, a, b)
        for a, b in PAIRS
        if drawable(fits, a, b)
    ]
    return _draw(columns, part, stem, "UCI sets: every experiment under two powers", 2.25)


def by_dataset(fits: pd.DataFrame, first: str, second: str, stem: str | Path):
    """Figures 14 to 16: one pair, a column a UCI set."""
    part = scores.real(fits)
    columns = [
        Column(NAMES[name], one, first, second)
        for name in scores.datasets(part)
        if compare.duel(one := part[part["dataset"] == name], first, second, SMSE) is not None
    ]
    title = f"{scores.label(first)} against {scores.label(second)}, UCI sets"
    return _draw(columns, part, stem, title, max(6.9 / len(columns), 0.95))


def _draw(columns: Sequence[Column], fits: pd.DataFrame, stem: str | Path, title: str, width: float):
    from matplotlib.figure import Figure

    inches = min(width * len(columns), 7.6)
    side = inches / len(columns)
    with style.applied():
        figure = Figure(figsize=(max(inches, 3.4), 0.9 + 2 * (side + 0.6 * side + 0.5)), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.02, wspace=0.02)
        grid = figure.subplots(4, len(columns), squeeze=False, height_ratios=(1.0, 0.55, 1.0, 0.55))
        small = len(columns) > 3
        for k, column in enumerate(columns):
            for score, pair in zip(PREDICTIVE, (grid[:2, k], grid[2:, k]), strict=True):
                _scatter(pair[0], column, score, label=k == 0 or not small)
                _histogram(pair[1], column, score, label=k == 0, small=small)
                for axes in pair:
                    axes.tick_params(labelsize=6.0 if small else 7.0)
            grid[0, k].set_title(column.heading, fontsize=8.0)
        figure.suptitle(title, fontsize=9.0)
        figure.legend(handles=_handles(fits), loc="outside upper center", ncols=6)
        looks.covered(figure, fits)
        return style.save(figure, stem)


def shade(m: int, sizes: Sequence[int]) -> tuple:
    """Colour of a number of pseudo-points, the lighter the more."""
    from matplotlib import colormaps

    sizes = sorted(sizes)
    return colormaps["viridis"](0.9 * sizes.index(m) / max(len(sizes) - 1, 1))


def _handles(fits: pd.DataFrame) -> list:
    from matplotlib.lines import Line2D

    sizes = sorted(scores.sparse(fits)["m"].unique())
    return [Line2D([], [], linestyle="", marker="o", markersize=3.5, markeredgewidth=0, color=shade(m, sizes),
                   label=f"M = {m}") for m in sizes]  # fmt: skip


def points(fits: pd.DataFrame, first: str, second: str, score: Score) -> pd.DataFrame:
    """Recorded scores of both powers (columns ``first``, ``second``) on the experiments both have."""
    kept = fits[(fits["outcome"] != FAILED) & fits["alpha"].isin([first, second])]
    table = kept.pivot(index=EXPERIMENT, columns="alpha", values=score.column).dropna()
    return table.rename(columns={first: "first", second: "second"})


def _scatter(axes, column: Column, score: Score, label: bool) -> None:
    table = points(column.fits, column.first, column.second, score)
    sizes = sorted(scores.sparse(column.fits)["m"].unique())
    log = score.column == "smse"
    ends = looks.bounds(table.to_numpy().ravel(), log)
    for m, part in table.groupby(level="m"):
        axes.plot(part["second"], part["first"], linestyle="", marker="o", markersize=2.6, markeredgewidth=0,
                  color=shade(m, sizes), alpha=0.8, rasterized=True)  # fmt: skip
    axes.plot(ends, ends, color="black", linestyle=(0, (5, 3)), linewidth=0.7)
    if log:
        axes.set(xscale="log", yscale="log")
        _decades(axes, ends)
    axes.set(xlim=ends, ylim=ends, box_aspect=1.0)
    beyond = ((table < ends[0]) | (table > ends[1])).any(axis=1).sum()
    looks.outside(axes, int(beyond))
    if label:
        axes.set_xlabel(f"{score.name}, {scores.label(column.second)}", fontsize=7.0)
        axes.set_ylabel(f"{score.name}, {scores.label(column.first)}", fontsize=7.0)


def _decades(axes, ends: tuple[float, float]) -> None:
    """Few plain ticks on both logarithmic axes."""
    from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

    subs = (1.0,) if ends[1] / ends[0] > 30 else (1.0, 3.0) if ends[1] / ends[0] > 5 else (1.0, 2.0, 3.0, 5.0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=subs, numticks=6))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())


def _histogram(axes, column: Column, score: Score, label: bool, small: bool) -> None:
    """Differences second - first; what lies beyond the outermost bins is counted in them."""
    found = compare.duel(column.fits, column.first, column.second, score)
    values = found.differences.to_numpy(float)
    reach = max(np.quantile(np.abs(values), 0.95), score.margin)
    edges = np.linspace(-reach, reach, BINS + 1 + BINS % 2)
    counts, _ = np.histogram(np.clip(values, -reach, reach), edges)
    middle = 0.5 * (edges[1:] + edges[:-1])
    colours = [style.ORANGE if x > 0 else style.BLUE for x in middle]
    axes.bar(middle, counts, width=np.diff(edges), color=colours, linewidth=0)
    axes.axvline(0.0, color="black", linewidth=0.6)
    decided = found.wins + found.losses
    for x, n, side, shown in (
        (0.97, found.wins, "right", style.ORANGE),
        (0.03, found.losses, "left", style.BLUE),
    ):
        text = f"{100 * n / decided:.0f} %" if decided else "tied"
        axes.text(x, 0.97, text, transform=axes.transAxes, ha=side, va="top", color=shown,
                  fontsize=6.5 if small else 8.0)  # fmt: skip
    axes.set_ylim(0, 1.3 * counts.max())
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=3)
    axes.set_xlabel("log ratio" if score is SMSE else "difference (nats)", fontsize=6.5)
    if label:
        axes.set_ylabel("experiments", fontsize=7.0)
