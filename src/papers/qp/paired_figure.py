"""Figure of paired differences of test log-likelihoods, EP against QP and EP against VB, by data set.

A marker is the mean difference. Its bar is one standard deviation over seeds to either side (this sample).
Its line is the 95 % interval for another data set of the same kind (`statistics.corrected_resampled_t`). The
band is the smallest effect that matters. Right of zero the other method has the lower NTLL. The text at the
right edge is seeds times folds per seed. Comparisons with fewer than two complete seeds have no spread and no
interval and are not drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import statistics, style
from papers.qp.paired import NTLL, Paired, paired, tunings
from papers.qp.published import row_of, row_order

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

MILLI = 1000.0
VB = (("vb-joint", "VB, joint search (vb-joint)"), ("vb", "VB, bound maximised (vb)"))
QP_STYLES = ((style.BLUE, "o"), (style.SKY, "D"))
VB_STYLES = ((style.GREEN, "^"), (style.ORANGE, "s"))


class Series(NamedTuple):
    """One comparison of a panel: data set -> matched scores, with label, colour and marker."""

    label: str
    scores: dict[str, Paired]
    colour: str
    marker: str

    @property
    def drawn(self) -> list[str]:
        """Return the data sets with at least two complete seeds."""
        return [name for name, scores in self.scores.items() if scores.n_seeds >= 2]

    def rests_on(self, dataset: str) -> str:
        """Format the seeds times folds of a point, such as ``100 × 10``; ``0`` without a complete seed."""
        scores = self.scores.get(dataset)
        if scores is None or not scores.n_seeds:
            return "0"
        return "{} × {}".format(*scores.differences.shape)


def paired_differences(fits: pd.DataFrame, path_stem: str | Path, title: str) -> None:
    """Draw EP - QP (at both tunings where there are two) and EP - VB (both kinds where run).

    Parameters
    ----------
    fits : pandas.DataFrame
        Records of one protocol that are `drawable`.
    path_stem, title : str
        Path for `style.drawing`; title above the figure.
    """
    panels = {"QP": _against_qp(fits), "VB": _against_vb(fits)}
    present = {name for series in panels.values() for comparison in series for name in comparison.drawn}
    rows = row_order(present)
    with style.drawing(path_stem, (6.9, 1.5 + 0.36 * len(rows))) as figure:
        both = figure.subplots(1, 2, sharey=True)
        for axes, (method, series) in zip(both, panels.items(), strict=True):
            _panel(axes, series, rows)
            axes.set_xlabel(f"EP $-$ {method}: NTLL ($10^{{-3}}$ nats)")
            axes.set_title(f"$\\leftarrow$ EP better        {method} better $\\rightarrow$", fontsize=8.0)
        style.row_axis(both, [row_of(name) for name in rows])
        figure.suptitle(title, fontsize=9.0)
        figure.legend(handles=_handles(panels), loc="outside lower center", ncols=3)


def drawable(fits: pd.DataFrame) -> bool:
    """Test if any comparison of one protocol has two complete seeds."""
    return any(comparison.drawn for comparison in [*_against_qp(fits), *_against_vb(fits)])


def _against_qp(fits: pd.DataFrame) -> list[Series]:
    return [
        Series(f"QP, {name}", paired(fits, first, "qp", NTLL.column), *look)
        for (name, first), look in zip(tunings(fits), QP_STYLES, strict=False)
    ]


def _against_vb(fits: pd.DataFrame) -> list[Series]:
    run = set(fits["method"])
    return [
        Series(label, paired(fits, "ep", method, NTLL.column), *look)
        for (method, label), look in zip(VB, VB_STYLES, strict=True)
        if method in run
    ]


def _panel(axes: Axes, series: list[Series], rows: list[str]) -> None:
    step = 0.7 / max(len(series), 1)
    reach = MILLI * NTLL.margin
    axes.axvspan(-reach, reach, color=style.LIGHT, linewidth=0, zorder=0)
    axes.axvline(0.0, color="black", linewidth=0.7, zorder=1)
    for k, comparison in enumerate(series):
        offset = (k - (len(series) - 1) / 2) * step
        for height, name in enumerate(rows):
            if name in comparison.drawn:
                _difference(axes, comparison.scores[name], height + offset, 0.62 * step, comparison)
            _beside(axes, height + offset, comparison.rests_on(name))
    if series:
        _beside(axes, -0.5, "seeds × folds", va="bottom")
    style.signed_axis(axes, 2.0, _power)


def _beside(axes: Axes, height: float, text: str, va: str = "center_baseline") -> None:
    """Write text at the right edge of a panel, at a height in its rows."""
    look: dict[str, Any] = {"fontsize": style.SMALL, "color": style.GREY, "va": va}
    axes.text(1.01, height, text, transform=axes.get_yaxis_transform(), **look)


def _difference(axes: Axes, scores: Paired, height: float, thickness: float, look: Series) -> None:
    """Draw the mean, its spread over seeds, and the interval of the generalising estimate."""
    mean, sd = (MILLI * float(f(scores.seed_differences)) for f in (np.mean, np.std))
    general = statistics.corrected_resampled_t(scores.differences.ravel(), scores.n_train, scores.n_test)
    low, high = (MILLI * end for end in general.interval())
    bar: dict[str, Any] = {"color": look.colour, "alpha": 0.35, "linewidth": 0, "zorder": 2}
    axes.barh(height, 2 * sd, left=mean - sd, height=thickness, **bar)
    marker: dict[str, Any] = {"color": look.colour, "marker": look.marker, "markersize": 3.4}
    line: dict[str, Any] = {"elinewidth": 0.8, "capsize": 1.6, "capthick": 0.8, "zorder": 3}
    axes.errorbar(mean, height, xerr=[[mean - low], [high - mean]], **marker, **line)


def _power(tick: int) -> str:
    """Label a tick of 0 or of a power of ten, in full up to ten."""
    if tick == 0:
        return "0"
    return f"${tick}$" if abs(tick) < 100 else f"${'-' if tick < 0 else ''}10^{len(str(abs(tick))) - 1}$"


def _handles(panels: dict[str, list[Series]]) -> list[Artist]:
    dots = [
        style.line(
            color=comparison.colour,
            marker=comparison.marker,
            markersize=4,
            linewidth=0.8,
            label=comparison.label,
        )
        for series in panels.values()
        for comparison in series
        if comparison.drawn
    ]
    bar = style.patch(color=style.GREY, alpha=0.35, linewidth=0, label="± 1 sd over seeds")
    line = style.line(color=style.GREY, linewidth=0.8, label="95 % interval, another data set")
    band = style.patch(color=style.LIGHT, label=r"± $10^{-3}$ nats")
    return [*dots, bar, line, band]
