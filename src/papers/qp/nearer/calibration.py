"""Calibration of label probabilities: curves of seven approximations and of the exact posterior.

The points are the test points with labels on the splits of the ground truth, under the approximations of
`papers.qp.nearer.experiment`. A curve shows how often the likelier label is right, against its mean
probability [Niculescu-Mizil & Caruana, ICML 2005].

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
from papers.qp.nearer.experiment import METHODS
from papers.qp.nearer.pages import LABELS, LOOKS
from papers.qp.nearer.tables import confidence, overconfidence
from papers.qp.published import ROWS, is_counts
from papers.qp.truth.tables import DECIDED, error_of_mean
from tilted.corrections.marginals import SAMPLED

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.axes import Axes

    from papers.qp.truth.tables import Record

EXACT, ERROR = "exact", "se"
"""Columns: the exact probability of a point's true label, and its Monte-Carlo standard error."""

SHOWN = tuple(method for method in METHODS if method != SAMPLED)
"""Methods to compare; weighted draws are no approximation."""

SPLIT = ["dataset", "seed", "fold"]
EDGES = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995, 1.0])
"""Edges of the bins, by the probability of the likelier label."""

PERCENT = 100.0


def points(latents: pd.DataFrame, sampled: Sequence[Record]) -> pd.DataFrame:
    """Return the true labels' probabilities at test points with approximations and an exact posterior.

    Parameters
    ----------
    latents : pandas.DataFrame
        `papers.qp.records.NEARER_LATENTS`.
    sampled : sequence of dict
        Records of `papers.qp.truth.records.read`.

    Returns
    -------
    points : pandas.DataFrame
        A row for each test point with a label: `SPLIT`, point, a column for each method, `EXACT`, `ERROR`.
    """
    import pandas as pd

    exact = [
        {
            **{name: record[name] for name in SPLIT},
            "point": k,
            EXACT: np.exp(value),
            ERROR: np.exp(value) * se,
        }
        for record in sampled
        if not is_counts(record["dataset"])
        for k, (value, se) in enumerate(
            zip(record["truth"]["log_density"], record["truth"]["se_log_density"], strict=True)
        )
    ]
    wide = latents.pivot(index=[*SPLIT, "point"], columns="method", values="log_density")
    probabilities = np.exp(wide[[method for method in SHOWN if method in wide]]).reset_index()
    return probabilities.merge(
        pd.DataFrame(exact, columns=[*SPLIT, "point", EXACT, ERROR]), on=[*SPLIT, "point"]
    )


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
    frame = table[SPLIT].assign(sure=sure, gap=likelier - sure, noise=table[ERROR]).sort_values(SPLIT)
    lines = []
    for _, here in frame.groupby(_bin(frame["sure"].to_numpy())):
        noise = error_of_mean(here["noise"].to_numpy(), here.groupby(SPLIT).size().tolist())
        lines.append((here["sure"].mean(), here["gap"].mean(), noise))
    return pd.DataFrame(lines, columns=["confidence", "bias", "noise"])


# The figure

EXACT_LABEL = "exact posterior (bars: 95 %, binomial)"
EXACT_LOOK: dict[str, Any] = {"color": "black", "linewidth": 1.3, "zorder": 4, "label": EXACT_LABEL}
DASHED: dict[str, Any] = {"color": style.GREY, "linestyle": (0, (5, 3)), "linewidth": 0.7, "zorder": 1}
STEP = 0.12


def figure(table: pd.DataFrame, path_stem: str | Path) -> None:
    """Draw calibration curves over all rows, over- and underconfidence by row, and differences from exact.

    Parameters
    ----------
    table : pandas.DataFrame
        `points`.
    path_stem : str or Path
        Path for `style.drawing`.

    Raises
    ------
    ValueError
        No points.
    """
    if table.empty:
        raise ValueError("nothing to draw: no labels with approximations and an exact posterior")
    methods = [method for method in SHOWN if method in table]
    with style.drawing(path_stem, (7.6, 4.1)) as drawing:
        panels = drawing.subplots(1, 3, width_ratios=(1.0, 0.9, 1.0))
        _curves(panels[0], table, methods)
        _rows(panels[1], table, methods)
        _differences(panels[2], table, methods)
        handles: list[Any] = [
            style.line(linewidth=0.9, marker=mark, color=colour, markersize=4.5, label=LABELS[method])
            for method, (colour, mark) in LOOKS.items()
            if method in methods
        ]
        handles.append(style.line(**EXACT_LOOK))
        handles.append(style.patch(color=style.LIGHT, label="within 2 Monte-Carlo standard errors"))
        drawing.legend(handles=handles, loc="outside lower center", ncols=3)


def _look(method: str) -> dict[str, Any]:
    colour, mark = LOOKS[method]
    return {"color": colour, "marker": mark, "markersize": 3.6, "linewidth": 0.8, "zorder": 3}


def _curves(axes: Axes, table: pd.DataFrame, methods: Sequence[str]) -> None:
    axes.plot([0.5, 1.0], [0.5, 1.0], label="calibrated", **DASHED)
    for method in methods:
        curve = binned(table[method].to_numpy())
        axes.plot([sure for sure, *_ in curve], [right / n for _, right, n in curve], **_look(method))
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
            off = (k - (len(methods) - 1) / 2) * STEP
            axes.plot(
                PERCENT * overconfidence(here[method].to_numpy()), row + off, linestyle="", **_mark(method)
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


def _mark(method: str) -> dict[str, Any]:
    return {name: value for name, value in _look(method).items() if name != "linewidth"}


def _differences(axes: Axes, table: pd.DataFrame, methods: Sequence[str]) -> None:
    frames = {method: differences(table, method) for method in methods}
    first = frames[methods[0]]
    reach = DECIDED * PERCENT * first["noise"]
    axes.fill_between(first["confidence"], -reach, reach, color=style.LIGHT, linewidth=0, zorder=1)
    axes.axhline(0.0, **EXACT_LOOK)
    for method, frame in frames.items():
        axes.plot(frame["confidence"], PERCENT * frame["bias"], **_look(method))
    axes.set_yscale("symlog", linthresh=0.1, linscale=0.6)
    ticks = [-10, -1, -0.1, 0.1, 1, 10]
    axes.set_yticks(ticks, [f"{tick:+g}".replace("-", "\N{MINUS SIGN}") for tick in ticks])
    axes.minorticks_off()
    axes.set(xlim=(0.49, 1.01), title="Against the exact posterior")
    axes.set_xlabel("exact probability of the likelier label")
    axes.set_ylabel("method $-$ exact, mean (%)")
