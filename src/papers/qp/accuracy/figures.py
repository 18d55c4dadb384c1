"""Figures of the accuracy against the exact posterior: ``qp_truth``, ``qp_nearer`` and ``qp_calibration``.

The points of a calibration are the test points with labels on the splits of the ground truth. A curve shows
how often the likelier label is right, against its mean probability [Niculescu-Mizil & Caruana, ICML 2005].
A few hundred test points measure calibration to some per cent, no better. The exact posterior need not be
calibrated either. A second comparison has no such noise: the distance of the probabilities from the exact
ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core import style
from papers.core.statistics import share_interval
from papers.qp.accuracy.approximations import METHODS
from papers.qp.accuracy.records import SPLIT
from papers.qp.accuracy.tables import (
    DECIDED,
    LABELS,
    confidence,
    error_of_mean,
    log_ratios,
    log_variance_errors,
    overconfidence,
)
from papers.qp.published import CLASSIFICATION, ROWS, TRUTH_METHODS
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT, SAMPLED

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

LOOKS: dict[str, dict[str, Any]] = {
    method: {"color": colour, "marker": mark}
    for method, (colour, mark) in {
        **dict(zip((*TRUTH_METHODS, "pep", "laplace"), style.CYCLE, strict=True)),
        CHEAP: (style.GREY, "P"),
        NEARLY_EXACT: ("black", "*"),
        SAMPLED: ("black", "x"),
    }.items()
}
"""Colour and marker of each method."""

NOISE: dict[str, Any] = {"color": style.LIGHT, "linewidth": 0, "zorder": 1}
"""Look of the grey areas, within two Monte-Carlo standard errors of the exact numbers."""


def _handles(methods: Sequence[str], **look: Any) -> list[Artist]:
    """Return the legend's handles: the methods."""
    return [style.line(label=LABELS[method], **look, **LOOKS[method]) for method in methods]


def _noise_handle() -> Artist:
    return style.patch(color=style.LIGHT, label="within 2 Monte-Carlo standard errors")


def _errors(
    axes: Axes, table: pd.DataFrame, columns: tuple[str, str], step: float, size: float, signed: bool = False
) -> None:
    """Draw absolute errors on a logarithmic axis, with the range of the Monte-Carlo error in grey.

    Parameters
    ----------
    axes : Axes
    table : pandas.DataFrame
        A row for each data set and method.
    columns : tuple of str
        Errors, and the Monte-Carlo errors of the exact numbers.
    step : float
        Distance of two methods.
    size : float
        Of the markers.
    signed : bool
        Whether the markers of positive errors are hollow.
    """
    value, noise = columns
    rows, methods = list(dict.fromkeys(table["row"])), list(dict.fromkeys(table["method"]))
    smallest = min(table[value].abs().min(), 2.0 * table[noise].min()) / 1.6
    axes.set_xscale("log")
    for line in table.itertuples(index=False):
        row, error = rows.index(line.row), getattr(line, value)
        if line.method == "ep":
            reach = 2.0 * getattr(line, noise)
            axes.barh(row, reach - smallest, left=smallest, height=1.0, **NOISE)
        look: dict[str, Any] = {"linestyle": "", "zorder": 3, **LOOKS[line.method]}
        look["markersize"] = 6.5 if line.method == NEARLY_EXACT else size
        if signed and error >= 0:
            look["markerfacecolor"] = "white"
        axes.plot(abs(error), row + (methods.index(line.method) - len(methods) // 2) * step, **look)
    axes.set_xlim(left=smallest)


# EP, QP and VB

STEP = 0.25
MILLI = 1000.0
TITLES = ("Latent variances", "Latent means", "Test log density", "Log evidence")
AXIS_LABELS = (
    "method / exact, test inputs",
    "rms error (exact sd)",
    "NTLL: method $-$ exact\n($10^{-3}$ nats)",
    "exact $-$ method (nats)",
)


def truth(latents: pd.DataFrame, table: pd.DataFrame, path_stem: str | Path) -> None:
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
        `papers.qp.accuracy.records.TRUTH_LATENTS`, not empty.
    table : pandas.DataFrame
        `papers.qp.accuracy.tables.summarise_truth`.
    path_stem : str or Path
        Path for `style.drawing`.
    """
    test = dict(iter(latents[latents["part"] == "test"].groupby("dataset", sort=False)))
    rows = [ROWS[name] for name in test]
    with style.drawing(path_stem, (7.6, 1.35 + 0.46 * len(rows))) as figure:
        panels = figure.subplots(1, 4, sharey=True, width_ratios=(2.0, 1.0, 1.25, 1.0))
        _variances(panels[0], list(test.values()))
        parts = dict(iter(table.groupby("part")))
        _errors(panels[1], parts["test"], ("mean_rms", "mean_noise"), STEP, 4.2)
        _densities(panels[2], parts["test"], rows)
        _errors(panels[3], parts["train"], ("evidence_error", "evidence_se"), STEP, 4.2, signed=True)
        for axes, title, label in zip(panels, TITLES, AXIS_LABELS, strict=True):
            axes.set_title(title)
            axes.set_xlabel(label)
        style.row_axis(panels, rows)
        handles = [*_handles(TRUTH_METHODS, linestyle="", markersize=4.5), _noise_handle()]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)


def _variances(axes: Axes, rows: Sequence[pd.DataFrame]) -> None:
    for row, latents in enumerate(rows):
        noise = 2.0 * np.sqrt(np.mean(log_variance_errors(latents) ** 2))
        axes.fill_betweenx([row - 0.5, row + 0.5], np.exp(-noise), np.exp(noise), **NOISE)
        for method in TRUTH_METHODS:
            ratios, height, look = log_ratios(latents, method), _height(row, method), LOOKS[method]
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


def _height(row: int, method: str) -> float:
    return row + (TRUTH_METHODS.index(method) - 1) * STEP


def _densities(axes: Axes, table: pd.DataFrame, rows: Sequence[str]) -> None:
    """Draw NTLL minus the exact one on an axis linear to 10^-3 nats, logarithmic beyond."""
    axes.axvline(0.0, color="black", linewidth=0.7, zorder=2)
    for line in table.itertuples(index=False):
        row = rows.index(line.row)
        if line.method == "ep":
            reach = 2.0 * MILLI * line.ntll_se
            axes.barh(row, 2.0 * reach, left=-reach, height=1.0, **NOISE)
        look: dict[str, Any] = {"linestyle": "", "markersize": 4.2, "zorder": 3, **LOOKS[line.method]}
        axes.plot(MILLI * line.ntll_difference, _height(row, line.method), **look)
    style.signed_axis(axes, least=2.0)


# Seven approximations

PANELS: dict[str, tuple[str, str, str]] = {
    "Latent variances": ("variance_rms", "variance_noise", "rms of log(v / exact)"),
    "Latent means": ("mean_rms", "mean_noise", "rms error (exact sd)"),
    "Test log densities": ("density_error", "density_noise", "mean |error| (nats)"),
    "Log evidence": ("evidence_error", "evidence_noise", "mean |error| (nats)"),
}


def approximations(table: pd.DataFrame, path_stem: str | Path) -> None:
    """Draw every method's errors against the exact posterior, by data set, on logarithmic axes.

    Grey covers two Monte-Carlo standard errors of the exact numbers. Left is better.
    """
    rows = list(dict.fromkeys(table["row"]))
    with style.drawing(path_stem, (7.6, 1.5 + 0.5 * len(rows))) as drawing:
        panels = drawing.subplots(1, len(PANELS), sharey=True)
        for axes, (title, (column, noise, label)) in zip(panels, PANELS.items(), strict=True):
            _errors(axes, table, (column, noise), 0.105, 4.0)
            axes.set_title(title)
            axes.set_xlabel(label)
        style.row_axis(panels, rows)
        handles = [*_handles(METHODS, linestyle="", markersize=5), _noise_handle()]
        drawing.legend(handles=handles, loc="outside lower center", ncols=4)


# Calibration

EXACT, ERROR = "exact", "se"
"""Columns: the exact probability of a point's true label, and its Monte-Carlo standard error."""

COMPARED = tuple(method for method in METHODS if method != SAMPLED)
"""Methods to compare; weighted draws are no approximation."""

KEYS = list(SPLIT)
EDGES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995, 1.0])
"""Edges of the bins, by the probability of the likelier label."""

PERCENT = 100.0


def label_probabilities(latents: pd.DataFrame, exact: pd.DataFrame) -> pd.DataFrame:
    """Return the true labels' probabilities at test points with approximations and an exact posterior.

    Parameters
    ----------
    latents, exact : pandas.DataFrame
        `papers.qp.accuracy.records.NEARER_LATENTS`, `TRUTH_LATENTS`.

    Returns
    -------
    points : pandas.DataFrame
        A row for each test point with a label: split, point, a column for each method, `EXACT`, `ERROR`.
    """
    exact = exact[(exact["part"] == "test") & exact["dataset"].isin(CLASSIFICATION)]
    probability = np.exp(exact["log_density"])
    exact = exact[[*KEYS, "point"]].assign(
        **{EXACT: probability, ERROR: probability * exact["se_log_density"]}
    )
    wide = latents.pivot(index=[*KEYS, "point"], columns="method", values="log_density")
    probabilities = np.exp(wide[[method for method in COMPARED if method in wide]]).reset_index()
    return probabilities.merge(exact, on=[*KEYS, "point"])


def _bin(sure: np.ndarray) -> np.ndarray:
    """Return the number [N] of the bin of each confidence."""
    return np.searchsorted(EDGES[1:-1], sure, side="right")


def binned(own: np.ndarray) -> list[tuple[float, int, int]]:
    """Return mean confidence, right answers and points of each bin with points.

    ``own`` has the probabilities [N] of the true labels.
    """
    sure = confidence(own)
    bins = (_bin(sure) == k for k in range(len(EDGES) - 1))
    return [
        (float(sure[members].mean()), int(np.sum(own[members] > 0.5)), int(members.sum()))
        for members in bins
        if members.any()
    ]


def differences(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """Compare a method's probabilities with the exact ones, by bins of the exact confidence.

    Returns
    -------
    frame : pandas.DataFrame
        A row for each bin with points: ``confidence``, the mean exact one; ``bias``, mean probability of the
        exactly likelier label minus the exact one; ``noise``, the Monte-Carlo error of that mean.
    """
    import pandas as pd

    sure = confidence(table[EXACT].to_numpy())
    likelier = np.where(table[EXACT] > 0.5, table[method], 1.0 - table[method])
    frame = table[KEYS].assign(sure=sure, gap=likelier - sure, noise=table[ERROR]).sort_values(KEYS)
    lines = []
    for _, here in frame.groupby(_bin(frame["sure"].to_numpy())):
        noise = error_of_mean(here["noise"].to_numpy(), here.groupby(KEYS).size().tolist())
        lines.append((here["sure"].mean(), here["gap"].mean(), noise))
    return pd.DataFrame(lines, columns=["confidence", "bias", "noise"])


EXACT_LABEL = "exact posterior (bars: 95 %, binomial)"
EXACT_LOOK: dict[str, Any] = {"color": "black", "linewidth": 1.3, "zorder": 4, "label": EXACT_LABEL}
DASHED: dict[str, Any] = {"color": style.GREY, "linestyle": (0, (5, 3)), "linewidth": 0.7, "zorder": 1}
ROW_STEP = 0.12


def calibration(table: pd.DataFrame, path_stem: str | Path) -> None:
    """Draw calibration curves over all rows, over- and underconfidence by row, and differences from exact.

    Parameters
    ----------
    table : pandas.DataFrame
        `label_probabilities`, not empty.
    path_stem : str or Path
        Path for `style.drawing`.
    """
    methods = [method for method in COMPARED if method in table]
    with style.drawing(path_stem, (7.6, 4.1)) as drawing:
        panels = drawing.subplots(1, 3, width_ratios=(1.0, 0.9, 1.0))
        _curves(panels[0], table, methods)
        _rows(panels[1], table, methods)
        _differences(panels[2], table, methods)
        handles = _handles(methods, linewidth=0.9, markersize=4.5)
        handles += [style.line(**EXACT_LOOK), _noise_handle()]
        drawing.legend(handles=handles, loc="outside lower center", ncols=3)


def _look(method: str) -> dict[str, Any]:
    return {**LOOKS[method], "markersize": 3.6, "zorder": 3}


def _curves(axes: Axes, table: pd.DataFrame, methods: Sequence[str]) -> None:
    axes.plot([0.5, 1.0], [0.5, 1.0], label="calibrated", **DASHED)
    for method in methods:
        curve = binned(table[method].to_numpy())
        axes.plot(
            [sure for sure, *_ in curve], [right / n for _, right, n in curve], linewidth=0.8, **_look(method)
        )
    for sure, right, n in binned(table[EXACT].to_numpy()):
        axes.plot([sure, sure], share_interval(right, n), **EXACT_LOOK)
    curve = binned(table[EXACT].to_numpy())
    axes.plot([sure for sure, *_ in curve], [right / n for _, right, n in curve], **EXACT_LOOK)
    axes.set(xlim=(0.49, 1.01), ylim=(0.49, 1.01), title="Calibration, all rows")
    axes.set_xlabel("probability of the likelier label")
    axes.set_ylabel("share in which it is right")


def _rows(axes: Axes, table: pd.DataFrame, methods: Sequence[str]) -> None:
    names = [name for name in ROWS if name in set(table["dataset"])]
    for row, name in enumerate(names):
        here = table[table["dataset"] == name]
        for k, method in enumerate(methods):
            off = (k - (len(methods) - 1) / 2) * ROW_STEP
            axes.plot(
                PERCENT * overconfidence(here[method].to_numpy()), row + off, linestyle="", **_look(method)
            )
        own = here[EXACT].to_numpy()
        reach = np.array(share_interval(int(np.sum(own > 0.5)), len(own)))
        axes.plot(PERCENT * (confidence(own).mean() - reach), [row, row], **EXACT_LOOK)
        gap = PERCENT * overconfidence(own)
        axes.plot([gap, gap], [row - 0.3, row + 0.3], **EXACT_LOOK)
    axes.axvline(0.0, **DASHED)
    style.row_axis([axes], [ROWS[name] for name in names])
    style.signed_axis(axes, least=2.0 * max(map(abs, axes.get_xlim())))
    axes.set(title="By row", xlabel="probability $-$ share right (%)")


def _differences(axes: Axes, table: pd.DataFrame, methods: Sequence[str]) -> None:
    frames = {method: differences(table, method) for method in methods}
    first = frames[methods[0]]
    reach = DECIDED * PERCENT * first["noise"]
    axes.fill_between(first["confidence"], -reach, reach, **NOISE)
    axes.axhline(0.0, **EXACT_LOOK)
    for method, frame in frames.items():
        axes.plot(frame["confidence"], PERCENT * frame["bias"], linewidth=0.8, **_look(method))
    axes.set_yscale("symlog", linthresh=0.1, linscale=0.6)
    ticks = [-10, -1, -0.1, 0.1, 1, 10]
    axes.set_yticks(ticks, [f"{tick:+g}".replace("-", "\N{MINUS SIGN}") for tick in ticks])
    axes.minorticks_off()
    axes.set(xlim=(0.49, 1.01), title="Against the exact posterior")
    axes.set_xlabel("exact probability of the likelier label")
    axes.set_ylabel("method $-$ exact, mean (%)")
