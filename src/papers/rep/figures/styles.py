"""What the relaxed-EP figures share: styles of methods, marks of outcomes, rows of methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from papers.core import statistics, style
from papers.rep.fits import FAILED
from tilted.inference.textbook import CONVERGED, DIVERGED, UNSETTLED

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    Labels = tuple[tuple[float, str, str], ...]
    """Label, marker and colour."""


class Style(NamedTuple):
    """Label, colour and marker of a method."""

    label: str
    colour: str
    marker: str


STYLES = {
    "ep": Style("EP", style.BLUE, "o"),
    "ep-damped": Style("EP, damped", style.SKY, "s"),
    "ep-engine": Style("EP, engine", "#12305E", "d"),
    "pep": Style("Power EP", style.GREEN, "^"),
    "pep-as-described": Style("Power EP, as described", "#8BA300", "v"),
    "rep-normalised": Style("REP, normalised", style.ORANGE, "D"),
    "rep-unnormalised": Style("REP, unnormalised", style.PURPLE, "<"),
    "rep-printed": Style("REP, printed", "#E69F00", ">"),
    "rep-as-described": Style("REP, as described", "#7A3B12", "P"),
    "rep-engine": Style("REP, engine", "#7B3294", "h"),
}
"""By method: EP in blues, Power EP in greens, REP in warm colours. In grey print the markers tell."""

ENDS = {UNSETTLED: "#BDBDBD", DIVERGED: "#4D4D4D", FAILED: "white"}
"""Outcomes other than convergence, and the grey of their bars."""

ALL = (CONVERGED, *ENDS)
EDGE: dict[str, Any] = {"edgecolor": "black", "linewidth": 0.5}
CAPS: dict[str, Any] = {"capsize": 1.8, "capthick": 0.9}
ROOM = 0.26
"""Half of the height that the runs of a method use of its row."""

COUNTS = "converged / unsettled / diverged / failed"
DASHES = (0, (5, 3))
SWEEPS = (1, 2, 5, 10, 20, 50, 100, 1000)


def present(table: pd.DataFrame, among: Iterable[str] = STYLES) -> list[str]:
    """Return the methods of a table in the order of `STYLES`."""
    methods = set(table["method"]) & set(among)
    return [name for name in STYLES if name in methods]


def counts(outcomes: pd.Series) -> str:
    """Count the runs by outcome, in the order of `COUNTS`."""
    return "/".join(str(int((outcomes == name).sum())) for name in ALL)


def percent(share: float) -> str:
    """Format a share in percent."""
    return f"{100.0 * share:g} %"


def rows(panels: Sequence[Axes] | np.ndarray, methods: Sequence[str]) -> None:
    """Label the rows of methods on panels that share their y axis."""
    style.row_axis(panels, [STYLES[name].label for name in methods])


def marks(method: str, **changes: Any) -> dict[str, Any]:
    """Return arguments of ``plot`` for marks of a method that no line joins."""
    _, colour, marker = STYLES[method]
    return {"linestyle": "", "marker": marker, "color": colour, "markeredgewidth": 0, "zorder": 3, **changes}


def labelled(axes: Axes, X: np.ndarray, y: np.ndarray, labels: Labels, **changes: Any) -> None:
    """Draw points of the plane as open marks, with a marker and colour for each label."""
    for label, marker, colour in labels:
        x_1, x_2 = X[y == label].T
        axes.plot(x_1, x_2, linestyle="", marker=marker, color=colour, markerfacecolor="none", **changes)


def runs(axes: Axes, fits: pd.DataFrame, score: str, height: float, method: str, scale: float = 1.0) -> None:
    """Draw single runs of a method in its row: a dot if converged, else a cross; none without a score."""
    places = height + np.linspace(-ROOM, ROOM, max(len(fits), 1))
    values, ended = scale * fits[score].to_numpy(float), (fits["outcome"] == CONVERGED).to_numpy()
    axes.plot(values[ended], places[ended], **marks(method, marker="o", markersize=3.0, alpha=0.75))
    cross = marks(method, marker="x", markersize=3.6, markeredgewidth=0.9)
    axes.plot(values[~ended], places[~ended], **cross)


def middle(axes: Axes, value: float, height: float) -> None:
    """Draw a black tick in a row."""
    ends = [height - 0.36, height + 0.36]
    axes.plot([value, value], ends, color="black", linewidth=1.1, zorder=2, solid_capstyle="butt")


def bars(axes: Axes, fits: pd.DataFrame, height: float) -> None:
    """Draw the numbers of runs that did not converge, with a grey for each outcome."""
    start = 0
    for name, grey in ENDS.items():
        n = int((fits["outcome"] == name).sum())
        if n:
            axes.barh(height, n, left=start, height=0.62, color=grey, zorder=2, **EDGE)
        start += n


def sweep_axis(axes: Axes) -> None:
    """Make a logarithmic axis of the sweeps drawn so far, with its ticks written out."""
    from matplotlib.ticker import NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    ticks = [n for n in SWEEPS if n <= axes.get_xlim()[1]]
    axes.set_xticks(ticks, [f"{n}" for n in ticks])


def interval(axes: Axes, estimate: statistics.Estimate, height: float, method: str) -> None:
    """Draw mean and 95 % interval of an estimate of a share in a row, in percent."""
    low, high = (100.0 * end for end in estimate.interval())
    mean = 100.0 * estimate.mean
    line = marks(method, markersize=4.8, linestyle="-", elinewidth=1.0, **CAPS)
    axes.errorbar(mean, height, xerr=[[mean - low], [high - mean]], **line)


def line_handle(method: str, **changes: Any) -> Line2D:
    """Return the legend handle of a method with line and marker."""
    label, colour, marker = STYLES[method]
    line = {"linewidth": 1.2, "marker": marker, "markersize": 4.0, "markeredgewidth": 0.0, **changes}
    return style.line(label, color=colour, **line)


def mark(marker: str, label: str, **changes: Any) -> Line2D:
    """Return the legend handle of a grey mark."""
    drawn = {"color": style.GREY, "markersize": 4.0, "linestyle": "", **changes}
    return style.line(label, marker=marker, **drawn)


def end_handles(outcomes: pd.Series) -> list[Patch]:
    """Return the legend handles of `bars` for the occurring outcomes."""
    drawn = {name: grey for name, grey in ENDS.items() if name in set(outcomes)}
    return [style.patch(f"{name} runs", facecolor=grey, **EDGE) for name, grey in drawn.items()]
