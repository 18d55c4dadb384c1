"""The look of every figure, and the function that saves it.

Colours are from Okabe and Ito's palette, told apart by the colour-blind and in grey print; the
fonts ship with matplotlib, so a figure is the same on every machine with the same version.
Figures use matplotlib's object interface, which needs no window and has no global state.
"""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import figure_data
from papers.core.store import write_bytes

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

BLUE, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"
GREY, LIGHT = "#595959", "#E3E3E3"
CYCLE = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (PURPLE, "D"), (SKY, "v"))
"""Colour and marker of the first, second, … method of a figure."""

DPI = 160
SMALL = 7.0

RC = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "legend.handletextpad": 0.4,
    "grid.color": LIGHT,
    "grid.linewidth": 0.5,
    "pdf.fonttype": 42,
    "savefig.facecolor": "white",
    "svg.hashsalt": "tilted",
}


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """Apply the style inside the block, from matplotlib's defaults, and restore the settings afterwards."""
    import matplotlib.style

    with matplotlib.style.context(["default", RC]):
        yield


@contextlib.contextmanager
def drawing(path_stem: str | Path, size: tuple[float, float]) -> Iterator[Figure]:
    """Open a figure of a size in inches in this style; save it at the end of the block."""
    from matplotlib.figure import Figure

    with applied():
        figure = Figure(figsize=size, layout="constrained")
        yield figure
        save(figure, path_stem)


def line(label: str, **look: Any) -> Line2D:
    """Return a legend handle of a line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **look)


def patch(label: str, **look: Any) -> Patch:
    """Return a legend handle of an area."""
    from matplotlib.patches import Patch

    return Patch(label=label, **look)


def row_axis(panels: Sequence[Axes] | np.ndarray, labels: Sequence[str]) -> None:
    """Label rows 0, 1, ... from the top of panels that share their y axis, with a line between rows."""
    panels[0].set_yticks(range(len(labels)), labels)
    panels[0].set_ylim(max(len(labels), 1) - 0.5, -0.5)
    for axes in panels:
        axes.tick_params(axis="y", length=0)
        for k in range(1, len(labels)):
            axes.axhline(k - 0.5, color=LIGHT, linewidth=0.5, zorder=0)


def plain(tick: int) -> str:
    """Format an integer with a proper minus sign."""
    return str(tick).replace("-", "\N{MINUS SIGN}")


def signed_axis(axes: Axes, least: float = 1.0, label: Callable[[int], str] = plain) -> None:
    """Make an x axis symmetric about 0, linear to ±1 and logarithmic beyond, with ticks at powers of ten.

    It reaches at least ``least`` to either side, and beyond the last marker. Of more than three powers every
    other one has its number.
    """
    axes.set_xscale("symlog", linthresh=1.0, linscale=1.0)
    reach = max(least, *(1.2 * abs(end) for end in axes.get_xlim()))
    axes.set_xlim(-reach, reach)
    powers = [10**k for k in range(int(math.log10(reach)) + 1)]
    named = powers if len(powers) <= 3 else powers[::-2]
    ticks = [*(-power for power in reversed(powers)), 0, *powers]
    axes.set_xticks(ticks, [label(tick) if abs(tick) in (0, *named) else "" for tick in ticks])


def settle(figure: Figure) -> None:
    """Fix the layout of a figure of many panels before it is saved.

    The solver of constrained layouts adds up in the order of addresses: its last bits vary from run to run.
    """
    from matplotlib.transforms import Bbox

    figure.set_dpi(DPI)  # as the PNG, whose letters have whole pixels
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        edges = axes.get_position(original=True).bounds
        axes.set_position(Bbox.from_bounds(*(round(edge, 7) for edge in edges)))


def save(figure: Figure, path_stem: str | Path) -> tuple[Path, Path]:
    """Save a figure as ``<path_stem>.pdf`` and ``<path_stem>.png``, each atomically, and its data beside it.

    The drawn data go into ``<path_stem>.csv``, or ``.csv.gz`` if large (`figure_data`). No date,
    host or version is written, so the same figure gives the same bytes. Call it inside `applied`.

    Returns
    -------
    pdf, png : Path
        The files.
    """
    bare = {"CreationDate": None, "Creator": None, "Producer": None}
    paths = []
    for suffix, metadata in (("pdf", bare), ("png", {"Software": None})):
        content = io.BytesIO()
        figure.savefig(content, format=suffix, dpi=DPI, metadata=metadata)
        paths.append(write_bytes(f"{path_stem}.{suffix}", content.getvalue()))
    figure_data.write(figure, path_stem)
    return paths[0], paths[1]


def nothing(path_stem: str | Path) -> tuple[Path, Path]:
    """Save a figure whose text says that no fit gave anything to draw."""
    from matplotlib.figure import Figure

    with applied():
        figure = Figure(figsize=(4.2, 1.0))
        figure.text(0.5, 0.5, "no fit gave what would be drawn here", ha="center", va="center", color=GREY)
        return save(figure, path_stem)
