"""Figures 4 and 14-16: two powers against each other, experiment by experiment.

Figures 6 and 24-26 are the same for classification. A row is a comparison; its columns are SMSE or error
(scatter, histogram of differences that are not zero) and SMLL or NLL (the same). Below the diagonal, and
right of zero, the first power is better. Lighter points have more pseudo-points.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.evidence import style
from papers.pep import compare, looks, scores
from papers.pep.compare import EXPERIMENT
from papers.pep.scores import FAILED, NAMES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from papers.evidence.comparisons import Score

PAIRS = (("0.5", "0"), ("1", "0"), ("0.5", "1"))
"""First and second of figures 14, 15 and 16, and the rows of figure 4."""

BINS = 31


class Row(NamedTuple):
    """One comparison: what it is of, fits, and the two powers."""

    heading: str
    fits: pd.DataFrame
    first: str
    second: str


def drawable(fits: pd.DataFrame, first: str, second: str) -> bool:
    """Whether two powers share any experiment on the UCI sets."""
    part = scores.real(fits)
    return len(part) > 0 and _duel(part, first, second) is not None


def _duel(fits: pd.DataFrame, first: str, second: str) -> compare.Duel | None:
    return compare.duel(fits, first, second, scores.predictive(fits)[0])


def overview(fits: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Figures 4 and 6: the three pairs over all UCI sets."""
    part = scores.real(fits)
    rows = [Row("", part, *pair) for pair in PAIRS if drawable(fits, *pair)]
    return _draw(rows, part, stem, "UCI sets: every experiment under two powers", 1.75)


def by_dataset(fits: pd.DataFrame, first: str, second: str, stem: str | Path) -> tuple[Path, Path]:
    """Figures 14 to 16, 24 to 26: one pair, a row a UCI set."""
    part = scores.real(fits)
    rows = [
        Row(NAMES[name], one, first, second)
        for name in scores.datasets(part)
        if _duel(one := part[part["dataset"] == name], first, second) is not None
    ]
    title = f"{scores.label(first)} against {scores.label(second)}, UCI sets"
    return _draw(rows, part, stem, title, 1.35)


def _draw(
    rows: Sequence[Row], fits: pd.DataFrame, stem: str | Path, title: str, height: float
) -> tuple[Path, Path]:
    from matplotlib.figure import Figure

    with style.applied():
        figure = Figure(figsize=(6.4, 1.1 + height * len(rows)))
        figure.set_layout_engine("constrained", w_pad=0.03, wspace=0.02)
        grid = figure.subplots(len(rows), 4, squeeze=False, width_ratios=(1.0, 1.1, 1.0, 1.1))
        for k, row in enumerate(rows):
            for score, pair in zip(scores.predictive(fits), (grid[k, :2], grid[k, 2:]), strict=True):
                _scatter(pair[0], row, score)
                _histogram(pair[1], row, score)
                pair[1].set_title(f"{score.name}: differences" if k == 0 else "", fontsize=8.0)
                pair[0].set_title(score.name if k == 0 else "", fontsize=8.0)
            for axes in grid[k]:
                axes.tick_params(labelsize=6.5, pad=2.0)
                if row.heading and k < len(rows) - 1:
                    axes.set_xlabel("")
            side = f"{row.heading}\n{scores.label(row.first)}" if row.heading else scores.label(row.first)
            grid[k, 0].set_ylabel(side, fontsize=7.5)
        figure.suptitle(title, fontsize=9.0)
        looks.covered(figure, fits, _handles(fits))
        return style.save(figure, stem)


def shade(m: int, sizes: Sequence[int]) -> tuple[float, float, float, float]:
    """Colour of a number of pseudo-points, the lighter the more."""
    from matplotlib import colormaps

    sizes = sorted(sizes)
    return colormaps["viridis"](0.9 * sizes.index(m) / max(len(sizes) - 1, 1))


def _handles(fits: pd.DataFrame) -> list[Line2D]:
    from matplotlib.lines import Line2D

    sizes = sorted(scores.sparse(fits)["m"].unique())
    return [Line2D([], [], linestyle="", marker="o", markersize=3.5, markeredgewidth=0, color=shade(m, sizes),
                   label=f"M = {m}") for m in sizes]  # fmt: skip


def points(fits: pd.DataFrame, first: str, second: str, score: Score) -> pd.DataFrame:
    """Recorded scores of both powers (columns ``first``, ``second``) on the experiments both have."""
    kept = fits[(fits["outcome"] != FAILED) & fits["alpha"].isin([first, second])]
    table = kept.pivot(index=EXPERIMENT, columns="alpha", values=score.column).dropna()
    return table.rename(columns={first: "first", second: "second"})


def _scatter(axes: Axes, row: Row, score: Score) -> None:
    table = points(row.fits, row.first, row.second, score)
    sizes = sorted(scores.sparse(row.fits)["m"].unique())
    log = score.column == "smse"
    ends = looks.bounds(table.to_numpy().ravel(), log)
    for m, part in table.groupby(level="m"):
        axes.plot(part["second"], part["first"], linestyle="", marker="o", markersize=2.6, markeredgewidth=0,
                  color=shade(m, sizes), alpha=0.8, rasterized=True)  # fmt: skip
    axes.plot(ends, ends, color="black", linestyle=(0, (5, 3)), linewidth=0.7)
    axes.set(xscale="log" if log else "linear", yscale="log" if log else "linear")
    axes.set(xlim=ends, ylim=ends, box_aspect=1.0)
    for axis in (axes.xaxis, axes.yaxis):
        if log:
            looks.plain_ticks(axis, ends, 3)
    if not log:
        axes.locator_params(nbins=4)
    looks.outside(axes, int(((table < ends[0]) | (table > ends[1])).any(axis=1).sum()), 0.03)
    axes.set_xlabel(scores.label(row.second), fontsize=7.5)


def _histogram(axes: Axes, row: Row, score: Score) -> None:
    """Differences second - first; what lies beyond the outermost bins is counted in them."""
    found = compare.duel(row.fits, row.first, row.second, score)
    assert found is not None  # a fit has all scores or none, and the row is there
    values = found.differences.to_numpy(float)
    values = values[values != 0]
    reach = max(np.quantile(np.abs(values), 0.95), score.margin) if len(values) else score.margin
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
                  fontsize=7.5)  # fmt: skip
    if found.ties:
        behind = {"facecolor": "white", "linewidth": 0, "pad": 1.0}  # hides the line at zero
        axes.text(0.5, 0.97, f"{found.ties} tied", transform=axes.transAxes, ha="center", va="top",
                  color=style.GREY, fontsize=6.5, bbox=behind)  # fmt: skip
    axes.set_ylim(0, 1.3 * max(counts.max(), 1))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=3)
    axes.set_xlabel(looks.DIFFERENCES[score.column], fontsize=7.5)
