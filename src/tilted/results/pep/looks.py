"""What the figures share: colours and markers of powers, axes of M, limits, the line of coverage."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilted.results import style
from tilted.results.pep.scores import FULL, Score, coverage

if TYPE_CHECKING:
    import pandas as pd

MARKERS = "osD^vP<X>"
BEYOND = 0.02
"""Share of the points at either end that may lie outside of a panel; each panel says how many do."""

AXES = {"smse": "SMSE", "smll": "SMLL (nats)", "nlml": "NLML a point (nats)"}


def colour(alpha: str) -> str | tuple:
    """From dark blue (VFE) to orange (EP) in proportion to the power; black for the full GP."""
    if alpha == FULL:
        return "black"
    from matplotlib import colormaps

    return colormaps["plasma"](0.82 * float(alpha))


def marker(alpha: str, powers: Sequence[str]) -> str:
    """Of a power among those drawn, so that grey print tells them apart."""
    return MARKERS[list(powers).index(alpha) % len(MARKERS)]


def natural(fits: pd.DataFrame, score: Score) -> pd.Series:
    """The score as drawn: as recorded, NLML a training point."""
    return fits[score.column] / fits["n_train"] if score.column == "nlml" else fits[score.column]


def size_axis(axes, sizes: Sequence[int], few: bool = False) -> None:
    """A logarithmic axis of M with ticks at the numbers run; ``few``: at the ends and in the middle."""
    sizes = sorted(sizes)
    axes.set_xscale("log")
    axes.minorticks_off()
    shown = sorted({sizes[0], sizes[len(sizes) // 2], sizes[-1]}) if few else _apart(sizes)
    axes.set_xticks(shown, [f"{m}" for m in shown])
    axes.set_xlim(sizes[0] / 1.25, sizes[-1] * 1.25)


def _apart(sizes: Sequence[int]) -> list[int]:
    """Numbers at least a factor 1.5 apart, so that their labels are."""
    kept = [sizes[0]]
    for m in sizes[1:]:
        if m >= 1.5 * kept[-1]:
            kept.append(m)
    return kept


def bounds(values, log: bool = False) -> tuple[float, float]:
    """Limits of an axis that leave out at most `BEYOND` of the values at either end, if these are far out."""
    found = np.log(values) if log else np.asarray(values, dtype=float)
    low, high = np.quantile(found, [BEYOND, 1.0 - BEYOND])
    room = 0.35 * (high - low) + 1e-12
    low, high = max(found.min(), low - room), min(found.max(), high + room)
    pad = 0.06 * (high - low) + 1e-12
    ends = np.array([low - pad, high + pad])
    return tuple(np.exp(ends) if log else ends)


def outside(axes, n: int) -> None:
    """Says how many points lie outside of a panel."""
    if n:
        axes.text(0.97, 0.97, f"{n} outside", transform=axes.transAxes, ha="right", va="top",
                  fontsize=style.SMALL - 1.0, color=style.GREY)  # fmt: skip


def covered(figure, fits: pd.DataFrame, extra: str = "") -> None:
    """The line of coverage below a figure."""
    text = f"{coverage(fits).text}{extra}"
    characters = int(19.5 * figure.get_size_inches()[0])
    figure.supxlabel("\n".join(textwrap.wrap(text, characters)), fontsize=style.SMALL, color=style.GREY)
