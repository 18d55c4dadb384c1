"""Shared elements of the figures: colours and markers of powers, axes of M, limits, text of coverage."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from papers.core import style
from papers.pep.regression import DESCRIBED, FULL
from papers.pep.scores import coverage, label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D
    from matplotlib.typing import ColorType
    from numpy.typing import ArrayLike

MARKERS = "osD^vPX<>"
POWERS = (0.0, 0.05, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
"""The paper's powers, equally far apart in colour."""

BEYOND = 0.02
"""Share of the points at either end that may lie outside of a panel; each panel states their number."""

AXES = {
    "smse": "SMSE",
    "smll": "SMLL (nats)",
    "nlml": "NLML a point (nats)",
    "error": "test error",
    "nll": "NLL (nats)",
}
DIFFERENCES = {
    "smse": "log ratio",
    "smll": "difference (nats)",
    "error": "difference",
    "nll": "difference (nats)",
}
SMALL_GREY: dict[str, Any] = {"fontsize": 6.0, "color": style.GREY}
WIDE, NARROW = 2.2, 3.0
"""Smallest factor between labelled ticks of pseudo-points, by width of the panel."""


class Figure(NamedTuple):
    """A figure: the function that draws it from rows to a path stem (or draws nothing), and its caption."""

    draw: Callable[..., None]
    caption: str


def colour(alpha: str) -> ColorType:
    """Return the colour of a power, from dark blue (VFE) to orange (EP); black for the full GP."""
    if alpha == FULL:
        return "black"
    from matplotlib import colormaps

    return colormaps["plasma"](0.85 * np.interp(float(alpha), POWERS, np.linspace(0.0, 1.0, len(POWERS))))


def marker(alpha: str, powers: Sequence[str]) -> str:
    """Return the marker of a power among those drawn, which tells powers apart in grey print."""
    return MARKERS[list(powers).index(alpha) % len(MARKERS)]


def handles(powers: Sequence[str], width: float = 1.0) -> list[Line2D]:
    """Return the legend handles of the lines of powers."""
    dot = {"markersize": 3.5, "markeredgewidth": 0, "linewidth": width}
    return [style.line(label(a), color=colour(a), marker=marker(a, powers), **dot) for a in powers]


def size_axis(axes: Axes, sizes: Sequence[int], apart: float) -> None:
    """Make a logarithmic axis of M with ticks at numbers run that are a factor ``apart``, from the first.

    Where all are nearer, the last has one too.
    """
    from matplotlib.ticker import NullLocator

    sizes = sorted(sizes)
    apart = min(apart, sizes[-1] / sizes[0])
    ticks = [sizes[0]]
    for m in sizes[1:]:
        if m >= apart * ticks[-1]:
            ticks.append(m)
    axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(ticks, [f"{m}" for m in ticks])
    axes.set_xlim(sizes[0] / 1.25, sizes[-1] * 1.25)


def plain_ticks(axis: Axis, ends: tuple[float, float], most: int = 4) -> None:
    """Set ticks of a logarithmic axis at round numbers written out, at most ``most`` of them."""
    from matplotlib.ticker import MaxNLocator, NullLocator

    powers = 10.0 ** np.arange(np.floor(np.log10(ends[0])), np.ceil(np.log10(ends[1])) + 1)
    for steps in ((1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = [x for power in powers for s in steps if ends[0] <= (x := s * power) <= ends[1]]
        if len(ticks) <= most:
            break
    if len(ticks) < 2:  # less than a factor of two: as on a linear axis
        ticks = [x for x in MaxNLocator(most).tick_values(*ends) if ends[0] <= x <= ends[1]]
    ticks = ticks[:: -(-len(ticks) // most)] if ticks else []
    axis.set_minor_locator(NullLocator())
    axis.set_ticks(ticks, [f"{x:g}".replace("e-0", "e-") for x in ticks])


def bounds(values: ArrayLike, log: bool = False) -> tuple[float, float]:
    """Return limits of an axis without far-out values, which are at most `BEYOND` of all at either end."""
    places = np.log(values) if log else np.asarray(values, dtype=float)
    low, high = np.quantile(places, [BEYOND, 1.0 - BEYOND])
    room = 0.35 * (high - low) + 1e-12
    low, high = max(places.min(), low - room), min(places.max(), high + room)
    pad = 0.06 * (high - low) + 1e-12
    ends = np.array([low - pad, high + pad])
    return tuple(np.exp(ends) if log else ends)


def outside(axes: Axes, n: int, height: float = 0.97) -> None:
    """Write how many points lie outside of a panel."""
    if n:
        look: dict[str, Any] = {"ha": "right", "va": "top" if height > 0.5 else "bottom"}
        axes.text(0.97, height, f"{n} outside", transform=axes.transAxes, **look, **SMALL_GREY)


def covered(
    figure: Canvas, fits: pd.DataFrame, handles: Sequence[Artist] = (), columns: int = 9, more: str = ""
) -> None:
    """Write the coverage below a figure, above its legend if it has one; ``more`` goes to its end."""
    searches = "searches cut off as in the paper; " if DESCRIBED in set(fits["protocol"]) else ""
    below(figure, f"{searches}{coverage(fits)}{more}", handles, columns)


def below(figure: Canvas, text: str, handles: Sequence[Artist] = (), columns: int = 9) -> None:
    """Write text below a figure, wrapped, above its legend if it has one."""
    n_lines = -(-len(text) // int(19.0 * figure.get_size_inches()[0]))
    text = "\n".join(textwrap.wrap(text, len(text) // n_lines + 10))
    if not handles:
        figure.supxlabel(text, fontsize=style.SMALL, color=style.GREY)
        return
    look: dict[str, Any] = {"title_fontsize": style.SMALL, "columnspacing": 1.4}
    look |= {"loc": "outside lower center", "ncols": min(len(handles), columns)}
    legend = figure.legend(handles=list(handles), title=text, **look)
    legend.get_title().set(color=style.GREY, multialignment="center")
