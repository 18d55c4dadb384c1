"""Figures of scores against M: figure 3 and figures 11-13 (synthetic sets), 17-22 and 27-30 (UCI sets).

`means` draws means with their standard errors. `traces` draws every set or split and their mean, with a
column for each power. If some splits lack some M, the lines of means are broken, the full GP is that of the
available splits, and markers at fewer splits are hollow.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from papers.core import style
from papers.pep import scores
from papers.pep.compare import short_of_bound
from papers.pep.figures import looks
from papers.pep.regression import FULL
from papers.pep.scores import NAMES, SMSE

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from papers.core.comparisons import Score

    Panel = tuple[str, pd.DataFrame, Score]

COLUMNS = 4
"""Panels in a row of the figure if each panel is a data set."""

DODGE = 1.025
"""Factor between the places of neighbouring powers at one M, so that error bars do not hide each other."""

DASHED: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 0.9}
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
        axes.plot(ends, [middle, middle], zorder=2, **DASHED)
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
        for axes, heading in zip(grid[0], [*map(scores.label, powers), "means"], strict=True):
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


def _finish(figure: Figure, powers: Sequence[str], fits: pd.DataFrame, title: str) -> None:
    handles = looks.handles(powers)
    if (fits["alpha"] == FULL).any():
        handles.append(style.line("full GP", **DASHED))
    figure.suptitle(title, fontsize=9.0)
    sets = [stretches(group) for _, group in fits.groupby("dataset")]
    fewer = any(len({len(run.splits) for run in runs}) > 1 for runs in sets)
    more = "; hollow: of fewer splits or sets" if fewer else ""
    for name, (n, of, _) in short_of_bound(fits).items():
        more += f"; full GP: one search, above VFE's bound on {n} of {of} splits of {scores.name_of(name)}"
    looks.covered(figure, fits, handles, 5 if len(handles) > 6 else 6, more)
