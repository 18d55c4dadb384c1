"""Figures of scores against M: figure 3 and figures 11-13 (synthetic sets), 17-22 and 27-30 (UCI sets).

``means`` draws means with their standard errors, ``traces`` every set or split with its mean, a column a
power. Where not all splits were run with every M, lines of means are broken, the full GP is that of the
splits there are, and markers are hollow where these are fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.evidence import style
from papers.pep import compare, looks, scores
from papers.pep.scores import FAILED, FULL, NAMES, SCORES

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from papers.evidence.comparisons import Score

COLUMNS = 4
"""Panels beside each other where a panel is a data set."""

DODGE = 1.025
"""Factor between the places of neighbouring powers at one M, so that error bars do not hide each other."""


def numbers(fits: pd.DataFrame, score: Score) -> pd.DataFrame:
    """Fits with a number, with the score as it is drawn in a column ``value``."""
    kept = fits[fits["outcome"] != FAILED]
    return kept.assign(value=looks.natural(kept, score))


def means(
    panels: Sequence[tuple[str, pd.DataFrame, Score]], fits: pd.DataFrame, stem: str | Path, title: str
) -> tuple[Path, Path]:
    """Means and standard errors, a panel each (heading, fits, score).

    Parameters
    ----------
    panels : sequence
    fits : pandas.DataFrame
        All that is drawn, for the line of coverage.
    stem, title : str
        Of `style.save`, whose files are returned; above the figure.
    """
    from matplotlib.figure import Figure

    columns = min(len(panels), COLUMNS if len(panels) != 3 else 3)
    rows = -(-len(panels) // columns)
    powers = scores.alphas(fits)
    with style.applied():
        figure = Figure(figsize=(6.9, 1.0 + (1.75 if rows > 1 else 2.2) * rows), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (heading, part, score) in zip(grid, panels, strict=False):
            _means(axes, numbers(part, score), score, powers, looks.WIDE if columns < 4 else looks.NARROW)
            axes.set_title(heading)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        same = len({score for _, _, score in panels}) == 1
        for axes in grid[:: columns if same else 1][: len(panels)]:
            axes.set_ylabel(looks.AXES[panels[0][2].column] if same else "")
        _finish(figure, powers, fits, title)
        return style.save(figure, stem)


def _means(
    axes: Axes, part: pd.DataFrame, score: Score, powers: Sequence[str], apart: float, bars: bool = True
) -> None:
    runs = stretches(part)
    most = max((len(run.splits) for run in runs), default=0)
    for k, alpha in enumerate(powers):
        of = part[part["alpha"] == alpha]
        for run in runs:
            groups = of[of["m"].isin(run.sizes)].groupby("m")["value"]
            middle, error = groups.mean(), groups.agg(compare.standard_error).fillna(0.0)
            place = middle.index.to_numpy(float) * DODGE ** (k - (len(powers) - 1) / 2)
            hollow: dict[str, Any] = {} if len(run.splits) == most else {"markerfacecolor": "white"}
            axes.errorbar(place, middle, yerr=error if bars else None, color=looks.colour(alpha),
                          linewidth=1.0, elinewidth=0.7, marker=looks.marker(alpha, powers), markersize=2.8,
                          markeredgewidth=0.6 if hollow else 0, zorder=3, **hollow)  # fmt: skip
    _full(axes, part)
    if score.column == "smse":
        axes.set_yscale("log")
        looks.plain_ticks(axes.yaxis, axes.get_ylim())
    looks.size_axis(axes, part.loc[part["alpha"] != FULL, "m"].unique(), apart)
    axes.set_xlabel("M")


class Stretch(NamedTuple):
    """Neighbouring numbers of pseudo-points that the same splits were run with."""

    sizes: list[int]
    splits: frozenset[int]


def stretches(part: pd.DataFrame) -> list[Stretch]:
    """Of the fits of one data set; means over different splits are no curve."""
    found: list[Stretch] = []
    for m, group in part[part["alpha"] != FULL].groupby("m"):
        splits = frozenset(group["split"])
        if not found or found[-1].splits != splits:
            found.append(Stretch([], splits))
        found[-1].sizes.append(int(m))
    return found


def _full(axes: Axes, part: pd.DataFrame) -> None:
    """The full GP on the splits of each stretch: its mean, and a band of its standard error."""
    full = part[part["alpha"] == FULL].set_index("split")["value"]
    runs = stretches(part)
    for run in runs:
        values = full[full.index.isin(run.splits)]
        if not len(values):
            continue
        middle, error = values.mean(), compare.standard_error(values)
        # across the panel where there is one stretch, else a little beyond its ends
        first, last = (0.0, np.inf) if len(runs) == 1 else (run.sizes[0] / 1.22, run.sizes[-1] * 1.22)
        ends = np.clip([first, last], 1.0, 1e6)
        axes.plot(ends, [middle, middle], color="black", linestyle=(0, (4, 2)), linewidth=0.9, zorder=2)
        if np.isfinite(error):
            axes.fill_between(ends, middle - error, middle + error, color=style.LIGHT, linewidth=0, zorder=0)


def traces(fits: pd.DataFrame, score: Score, stem: str | Path, title: str) -> tuple[Path, Path]:
    """Every set or split as a thin line, a row a data set, a column a power; the last column has all means.

    On the synthetic sets, which are all of one kind, there is one row and a line a set.
    """
    from matplotlib.figure import Figure

    names, powers = scores.datasets(fits), scores.alphas(fits)
    height = 1.15 * len(names) if len(names) > 1 else 1.7
    with style.applied():
        figure = Figure(figsize=(6.9, 1.0 + height))
        figure.set_layout_engine("constrained", w_pad=0.02, wspace=0.02)
        grid = figure.subplots(len(names), len(powers) + 1, squeeze=False, sharey="row")
        for row, name in zip(grid, names, strict=True):
            _traces(row, numbers(fits[fits["dataset"] == name], score), score, powers)
            row[0].set_ylabel(NAMES[name] if len(names) > 1 else looks.AXES[score.column])
        for axes, heading in zip(grid[0], [*map(scores.label, powers), "means"], strict=True):
            axes.set_title(heading, fontsize=7.5)
        for axes in grid[-1]:
            axes.set_xlabel("M")
        _finish(figure, powers, fits, title)
        return style.save(figure, stem)


def _traces(row: np.ndarray, part: pd.DataFrame, score: Score, powers: Sequence[str]) -> None:
    log = score.column == "smse"
    sparse = part[part["alpha"] != FULL]
    ends = looks.bounds(part["value"], log)
    for axes, alpha in zip(row, powers, strict=False):
        of = sparse[sparse["alpha"] == alpha]
        for _, trace in of.groupby("split"):
            line = trace.sort_values("m")
            axes.plot(line["m"], line["value"], color=looks.colour(alpha), alpha=0.35, linewidth=0.6)
        for run in stretches(part):
            middle = of[of["m"].isin(run.sizes)].groupby("m")["value"].mean()
            axes.plot(middle.index, middle, color=looks.colour(alpha), linewidth=1.5,
                      marker="." if len(run.sizes) == 1 else "", markersize=4.0)  # fmt: skip
        _full(axes, part)
        looks.outside(axes, int(((of["value"] < ends[0]) | (of["value"] > ends[1])).sum()))
    _means(row[-1], part, score, powers, looks.NARROW, bars=False)
    row[-1].set_xlabel("")
    for axes in row:
        if log:
            axes.set_yscale("log")
        looks.size_axis(axes, sparse["m"].unique(), 2 * looks.NARROW)
        axes.set_ylim(*ends)
        axes.tick_params(labelsize=6.5)
    if log:
        looks.plain_ticks(row[0].yaxis, ends)


def _finish(figure: Figure, powers: Sequence[str], fits: pd.DataFrame, title: str) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=looks.colour(alpha), marker=looks.marker(alpha, powers), markersize=3.5,
               markeredgewidth=0, linewidth=1.0, label=scores.label(alpha))
        for alpha in powers
    ]  # fmt: skip
    if (fits["alpha"] == FULL).any():
        handles.append(Line2D([], [], color="black", linestyle=(0, (4, 2)), linewidth=0.9, label="full GP"))
    figure.suptitle(title, fontsize=9.0)
    looks.covered(figure, fits, handles, 5 if len(handles) > 6 else 6)


def synthetic_means(fits: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Figure 3: SMSE, SMLL and NLML against M."""
    part = scores.made_up(fits)
    panels = [(looks.AXES[score.column], part, score) for score in SCORES]
    return means(panels, part, stem, "Synthetic sets: means and standard errors over the sets")


def real_means(fits: pd.DataFrame, score: Score, stem: str | Path) -> tuple[Path, Path]:
    """Figures 18, 20, 22, 28, 30: a panel a UCI set."""
    part = scores.real(fits)
    panels = [(NAMES[name], part[part["dataset"] == name], score) for name in scores.datasets(part)]
    return means(panels, part, stem, f"{score.name}: means and standard errors over splits")
