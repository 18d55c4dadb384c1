"""What the figures of the relaxed-EP paper share: looks of methods, marks of outcomes, rows of methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.experiments.rep import FAILED
from tilted.inference.textbook import CONVERGED, DIVERGED, UNSETTLED
from tilted.results import statistics, style

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch


class Look(NamedTuple):
    """Label of a method, its colour and its marker."""

    label: str
    colour: str
    marker: str


LOOKS = {
    "ep": Look("EP", style.BLUE, "o"),
    "ep-damped": Look("EP, damped", style.SKY, "s"),
    "ep-engine": Look("EP, engine", "#12305E", "d"),
    "pep": Look("Power EP", style.GREEN, "^"),
    "pep-as-described": Look("Power EP, as described", "#8BA300", "v"),
    "rep-normalised": Look("REP, normalised", style.ORANGE, "D"),
    "rep-unnormalised": Look("REP, unnormalised", style.PURPLE, "<"),
    "rep-printed": Look("REP, printed", "#E69F00", ">"),
    "rep-as-described": Look("REP, as described", "#7A3B12", "P"),
    "rep-engine": Look("REP, engine", "#7B3294", "h"),
}
"""By method: EP in blues, Power EP in greens, REP in warm colours. In grey print the markers tell."""

ENDS = {UNSETTLED: "#BDBDBD", DIVERGED: "#4D4D4D", FAILED: "white"}
"""Outcomes other than convergence, and the grey of their bars."""

ALL = (CONVERGED, *ENDS)
COUNTS = "converged / unsettled / diverged / failed"
DASHES = (0, (5, 3))
SWEEPS = (1, 2, 5, 10, 20, 50, 100, 1000)


def present(table: pd.DataFrame, among: Iterable[str] = LOOKS) -> list[str]:
    """Methods of a table in the order of `LOOKS`."""
    found = set(table["method"])
    return [name for name in LOOKS if name in found and name in set(among)]


def counts(outcomes: pd.Series) -> str:
    """Numbers of runs by outcome, in the order of `COUNTS`."""
    return "/".join(str(int((outcomes == name).sum())) for name in ALL)


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100.0 * share:g} %"


def rows(panels: Sequence[Axes] | np.ndarray, methods: Sequence[str]) -> None:
    """Rows of methods on panels that share their y axis."""
    style.row_axis(panels, [LOOKS[name].label for name in methods])


def beside(axes: Axes, height: float, text: str, **others: Any) -> None:
    """Small text at the right edge of a panel, at a height in its rows."""
    axes.text(1.02, height, text, transform=axes.get_yaxis_transform(), fontsize=5.8, color=style.GREY,
              **{"va": "center_baseline", **others})  # fmt: skip


def runs(axes: Axes, part: pd.DataFrame, score: str, height: float, method: str, scale: float = 1.0) -> None:
    """Single runs of a method in its row: a dot where it converged, else a cross; none without a score."""
    look, room = LOOKS[method], 0.26
    places = height + np.linspace(-room, room, max(len(part), 1))
    values, ended = scale * part[score].to_numpy(float), (part["outcome"] == CONVERGED).to_numpy()
    axes.plot(values[ended], places[ended], linestyle="", marker="o", markersize=3.0, color=look.colour,
              markeredgewidth=0, alpha=0.75, zorder=3)  # fmt: skip
    axes.plot(values[~ended], places[~ended], linestyle="", marker="x", markersize=3.6, color=look.colour,
              markeredgewidth=0.9, zorder=3)  # fmt: skip


def middle(axes: Axes, value: float, height: float) -> None:
    """A black tick in a row."""
    axes.plot([value, value], [height - 0.36, height + 0.36], color="black", linewidth=1.1, zorder=2,
              solid_capstyle="butt")  # fmt: skip


def bars(axes: Axes, part: pd.DataFrame, height: float) -> None:
    """Numbers of runs that did not converge, a grey an outcome."""
    left = 0
    for name, grey in ENDS.items():
        n = int((part["outcome"] == name).sum())
        if n:
            axes.barh(
                height, n, left=left, height=0.62, color=grey, edgecolor="black", linewidth=0.5, zorder=2
            )
        left += n


def sweep_axis(axes: Axes) -> None:
    """A logarithmic axis of the sweeps drawn so far, its ticks written out."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    shown = [n for n in SWEEPS if n <= axes.get_xlim()[1]]
    axes.set_xticks(shown, [f"{n}" for n in shown])


def interval(axes: Axes, found: statistics.Estimate, height: float, method: str) -> None:
    """Mean and 95 % interval of an estimate of a share in a row, in percent."""
    look = LOOKS[method]
    low, high = (100.0 * end for end in found.interval())
    mean = 100.0 * found.mean
    axes.errorbar(mean, height, xerr=[[mean - low], [high - mean]], color=look.colour, marker=look.marker,
                  markersize=4.8, markeredgewidth=0, elinewidth=1.0, capsize=1.8, capthick=0.9,
                  zorder=3)  # fmt: skip


def line_handle(method: str, label: str | None = None, **others: Any) -> Line2D:
    """Handle of a method with line and marker."""
    from matplotlib.lines import Line2D

    look = LOOKS[method]
    drawn = {"linewidth": 1.2, "marker": look.marker, "markersize": 4.0, "markeredgewidth": 0.0, **others}
    return Line2D([], [], color=look.colour, label=label or look.label, **drawn)


def mark(marker: str, label: str, **others: Any) -> Line2D:
    """Handle of a grey mark."""
    from matplotlib.lines import Line2D

    drawn = {"color": style.GREY, "markersize": 4.0, "linestyle": "", **others}
    return Line2D([], [], marker=marker, label=label, **drawn)


def end_handles(outcomes: pd.Series) -> list[Patch]:
    """Handles of `bars`, of the outcomes there are."""
    from matplotlib.patches import Patch

    found = set(outcomes)
    return [
        Patch(facecolor=grey, edgecolor="black", linewidth=0.5, label=f"{name} runs")
        for name, grey in ENDS.items()
        if name in found
    ]
