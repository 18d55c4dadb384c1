"""Figure of the distances of EP, QP and VB from the exact posterior, a row for each data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core import style
from papers.qp.published import ROWS
from papers.qp.truth.experiment import METHODS
from papers.qp.truth.tables import LABELS, log_ratios, log_variance_errors

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

STEP = 0.25
MILLI = 1000.0
TITLES = ("Latent variances", "Latent means", "Test log density", "Log evidence")
AXIS_LABELS = (
    "method / exact, test inputs",
    "rms error (exact sd)",
    "NTLL: method $-$ exact\n($10^{-3}$ nats)",
    "exact $-$ method (nats)",
)
NOISE: dict[str, Any] = {"color": style.LIGHT, "linewidth": 0, "zorder": 1}
MARK: dict[str, Any] = {"linestyle": "", "markersize": 4.2, "zorder": 3}


def figure_truth(latents: pd.DataFrame, table: pd.DataFrame, path_stem: str | Path) -> None:
    """Draw variances, means, test log densities and evidence against the exact ones.

    From the left:

    - variance over exact variance at every test input (dots) and its geometric mean (bar);
    - root mean square error of the test latents' means in exact standard deviations;
    - mean negative test log density minus that of the exact posterior (right of zero: worse);
    - exact log evidence minus the method's.

    Grey covers two Monte-Carlo standard errors.

    Parameters
    ----------
    latents : pandas.DataFrame
        `papers.qp.truth.records.TRUTH_LATENTS`, not empty.
    table : pandas.DataFrame
        Table of `papers.qp.truth.tables.summary`.
    path_stem : str or Path
        Path for `style.drawing`.
    """
    test = dict(iter(latents[latents["part"] == "test"].groupby("dataset", sort=False)))
    rows = [ROWS[name] for name in test]
    with style.drawing(path_stem, (7.6, 1.35 + 0.46 * len(rows))) as figure:
        panels = figure.subplots(1, 4, sharey=True, width_ratios=(2.0, 1.0, 1.25, 1.0))
        _variances(panels[0], list(test.values()))
        _errors(panels[1], table, rows, "test", "mean_rms", "mean_noise")
        _densities(panels[2], table, rows)
        _errors(panels[3], table, rows, "train", "evidence_error", "evidence_se")
        for axes, title, label in zip(panels, TITLES, AXIS_LABELS, strict=True):
            axes.set_title(title)
            axes.set_xlabel(label)
        style.row_axis(panels, rows)
        figure.legend(handles=_handles(), loc="outside lower center", ncols=4)


def _height(row: int, method: str) -> float:
    return row + (METHODS.index(method) - 1) * STEP


def _look(method: str) -> dict[str, Any]:
    colour, marker = style.CYCLE[METHODS.index(method)]
    return {"color": colour, "marker": marker}


def _variances(axes: Axes, rows: Sequence[pd.DataFrame]) -> None:
    for row, latents in enumerate(rows):
        noise = 2.0 * np.sqrt(np.mean(log_variance_errors(latents) ** 2))
        axes.fill_betweenx([row - 0.5, row + 0.5], np.exp(-noise), np.exp(noise), **NOISE)
        for method in METHODS:
            ratios, height, look = log_ratios(latents, method), _height(row, method), _look(method)
            opacity = float(np.clip(3.0 / np.sqrt(len(ratios)), 0.15, 0.7))
            dots: dict[str, Any] = {
                "linestyle": "",
                "markersize": 2.6,
                "markeredgewidth": 0,
                "alpha": opacity,
                "zorder": 3,
            }
            axes.plot(np.exp(ratios), np.full(len(ratios), height), **dots, **look)
            bar: dict[str, Any] = {"color": "black", "linewidth": 1.1, "solid_capstyle": "butt", "zorder": 4}
            axes.plot([np.exp(ratios.mean())] * 2, [height - 0.11, height + 0.11], **bar)
    axes.axvline(1.0, color="black", linewidth=0.7, zorder=2)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    ticks = [t for t in (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0) if low <= t <= high]
    axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()


def _errors(axes: Axes, table: pd.DataFrame, rows: Sequence[str], half: str, value: str, noise: str) -> None:
    """Draw absolute errors on a logarithmic axis, with the range of the Monte-Carlo error in grey."""
    selected = table[table["part"] == half]
    smallest = min(selected[value].abs().min(), 2.0 * selected[noise].min()) / 1.6
    axes.set_xscale("log")
    for line in selected.itertuples(index=False):
        row, error, spread = rows.index(line.row), getattr(line, value), getattr(line, noise)
        if line.method == METHODS[0]:
            axes.barh(row, 2.0 * spread - smallest, left=smallest, height=1.0, **NOISE)
        # hollow: on the other side of the exact value than the axis says
        face: dict[str, Any] = {} if value == "mean_rms" or error < 0 else {"markerfacecolor": "white"}
        axes.plot(abs(error), _height(row, line.method), **MARK, **_look(line.method), **face)
    axes.set_xlim(left=smallest)


def _densities(axes: Axes, table: pd.DataFrame, rows: Sequence[str]) -> None:
    """Draw NTLL minus the exact one on an axis linear to 10^-3 nats, logarithmic beyond."""
    axes.axvline(0.0, color="black", linewidth=0.7, zorder=2)
    for line in table[table["part"] == "test"].itertuples(index=False):
        row = rows.index(line.row)
        if line.method == METHODS[0]:
            reach = 2.0 * MILLI * line.ntll_se
            axes.barh(row, 2.0 * reach, left=-reach, height=1.0, **NOISE)
        height = _height(row, line.method)
        axes.plot(MILLI * line.ntll_difference, height, **MARK, **_look(line.method))
    style.signed_axis(axes, least=2.0)


def _handles() -> list[Artist]:
    dots = [style.line(linestyle="", markersize=4.5, label=LABELS[m], **_look(m)) for m in METHODS]
    return [*dots, style.patch(color=style.LIGHT, label="within 2 Monte-Carlo standard errors")]
