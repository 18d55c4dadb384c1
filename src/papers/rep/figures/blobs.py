"""Figures 2 to 4 of the made-up set, and its methods against the exact posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.core import style
from papers.rep import blobs
from papers.rep.boundary import BAYES
from papers.rep.claims import once
from papers.rep.figures import styles
from papers.rep.figures.styles import STYLES
from papers.rep.fits import BLOBS
from papers.rep.methods import TOLERANCE
from tilted.inference.textbook import CONVERGED, UNSETTLED

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import LineStyleType

    Grid = tuple[np.ndarray, np.ndarray, np.ndarray]

PER_ROW = 5
FLIPS, SPLIT = 0.2, 0
"""Share of flips and split of the maps; the curves are of the same split."""
CURVE_PANELS = (
    ("ep", "ep-damped", "pep"),
    ("rep-normalised", "rep-unnormalised", "rep-printed", "rep-as-described"),
)
"""Methods of the left and of the right panels of curves: those that sweep point by point."""
STEP = 0.05  # of the integration of the best classifier's error
BEST = "#00796B"
LABELS = ((1.0, "x", "#B35806"), (-1.0, "o", "#542788"))
"""Label, marker and colour of the training points."""
SCORES = ("(a) sweeps", "(b) runs not converged", "(c) test error (%)")
ERRORS = {
    "mean_error": "rms error of latent\nmeans (exact sd)",
    "variance_error": "rms error of log\nlatent variances",
    "wrong_sign": "latent means of the\nwrong sign (%)",
}


def of_blobs(fits: pd.DataFrame) -> pd.DataFrame:
    """Select the fits on the made-up set with common parameters."""
    return once(fits[fits["dataset"] == BLOBS])


def followed(table: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of the one training set for each flip rate whose curves are drawn."""
    table = of_blobs(table)
    return table[table["split"] == SPLIT]


def mapped(table: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of the maps that are drawn."""
    return table[np.isclose(table["flips"], FLIPS) & (table["split"] == SPLIT)]


def maps(table: pd.DataFrame, stem: Path) -> None:
    """Draw predictive probabilities of every method, and the training points with the best classifier."""
    methods = styles.present(table)
    bayes = _grid(table[table["method"] == BAYES])
    n_rows = -(-(len(methods) + 1) // PER_ROW)
    with style.drawing(stem, (7.2, 0.55 + 1.68 * n_rows)) as figure:
        panels = figure.subplots(n_rows, PER_ROW, sharex=True, sharey=True, squeeze=False).ravel().tolist()
        _points(panels[0], bayes)
        for axes, method in zip(panels[1:], methods, strict=False):
            lines = table[table["method"] == method]
            grid = _grid(lines)
            image = axes.pcolormesh(
                *grid, cmap="PuOr_r", vmin=0.0, vmax=1.0, shading="nearest", rasterized=True
            )
            axes.contour(*grid, levels=[0.5], colors="black", linewidths=1.1)
            _best(axes, bayes)
            colour = "black" if lines["outcome"].iloc[0] == CONVERGED else style.ORANGE
            axes.set_title(_ended(method, lines.iloc[0]), fontsize=6.6, color=colour)
        for axes in panels[len(methods) + 1 :]:
            axes.set_visible(False)
        for axes in panels:
            axes.set(aspect="equal", xticks=(-5, 0, 5), yticks=(-5, 0, 5))
        bar = figure.colorbar(image, ax=panels, shrink=0.75, pad=0.01, aspect=30)
        bar.set_label("probability that the true label is +1", fontsize=7.5)
        handles = [
            styles.mark("", "boundary of the method", color="black", linestyle="-"),
            styles.mark("", "of the best classifier", color=BEST, linestyle="--"),
            styles.mark("x", "label +1", color=LABELS[0][2]),
            styles.mark("o", "label −1", color=LABELS[1][2], markerfacecolor="none"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)


def _grid(lines: pd.DataFrame) -> Grid:
    """Return the coordinates along both axes and the probabilities [y, x]."""
    wide = lines.pivot(index="y", columns="x", values="probability").sort_index().sort_index(axis=1)
    return wide.columns.to_numpy(float), wide.index.to_numpy(float), wide.to_numpy(float)


def _ended(method: str, line: pd.Series) -> str:
    """Return text: name, parameter and lengthscale, outcome and sweeps."""
    name = {"pep": "u", "ep": "", "ep-damped": "", "ep-engine": ""}.get(method, "c")
    value = f"{name} = {line['value']:g}, " if name else ""
    sweeps = int(line["sweeps"])
    first = f"{STYLES[method].label}\n{value}ℓ = {line['lengthscale']:.3g}"
    return f"{first}\n{line['outcome']}, {sweeps} sweep{'' if sweeps == 1 else 's'}"


def _best(axes: Axes, bayes: Grid) -> None:
    axes.contour(*bayes, levels=[0.5], colors=BEST, linewidths=1.1, linestyles="dashed")


def _points(axes: Axes, bayes: Grid) -> None:
    X, y, _, _ = blobs.draw(SPLIT, flips=FLIPS, n_test=2)
    styles.labelled(axes, X, y, LABELS, markersize=1.9, markeredgewidth=0.5)
    _best(axes, bayes)
    axes.set(xlim=bayes[0][[0, -1]], ylim=bayes[1][[0, -1]])
    axes.set_title(f"training points,\n{styles.percent(FLIPS)} of labels flipped", fontsize=6.6)


def changes(curves: pd.DataFrame, fits: pd.DataFrame, stem: Path) -> None:
    """Draw the change of the weights in each sweep on one training set for each flip rate, and its end."""
    fits = followed(fits)
    rates = sorted(curves["flips"].unique())
    with style.drawing(stem, (7.2, 0.9 + 2.0 * len(rates))) as figure:
        grid = figure.subplots(len(rates), len(CURVE_PANELS), sharex=True, sharey=True, squeeze=False)
        for row, flips in zip(grid, rates, strict=True):
            for axes, methods in zip(row, CURVE_PANELS, strict=True):
                for method in styles.present(curves, methods):
                    curve, fit = (
                        table[(table["flips"] == flips) & (table["method"] == method)]
                        for table in (curves, fits)
                    )
                    if len(curve):
                        _curve(axes, curve.sort_values("sweep"), fit, method)
                axes.axhline(TOLERANCE, color="black", linestyle=styles.DASHES, linewidth=0.7, zorder=1)
                axes.set_yscale("log")
                styles.sweep_axis(axes)
                axes.grid(True, axis="y")
                axes.set_title(f"{styles.percent(flips)} of labels flipped", fontsize=8.0)
            row[0].set_ylabel("change of the weights")
        for axes in grid[-1]:
            axes.set_xlabel("sweep")
        drawn = [name for methods in CURVE_PANELS for name in styles.present(curves, methods)]
        handles = [
            *(styles.line_handle(name, marker="", linestyle=_dashes(name)) for name in drawn),
            styles.mark("o", "converged"),
            styles.mark("X", "diverged after this sweep", markersize=6.0),
            styles.mark(">", "unsettled at the limit"),
            styles.mark("", "tolerance", color="black", linestyle=styles.DASHES),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)


def _dashes(method: str) -> LineStyleType:
    """Return the dashes of a curve: the two printed forms of REP often coincide."""
    return styles.DASHES if method == "rep-as-described" else "-"


def _curve(axes: Axes, curve: pd.DataFrame, fit: pd.DataFrame, method: str) -> None:
    sweeps, change, colour = curve["sweep"], curve["change"], STYLES[method].colour
    axes.plot(sweeps, change, color=colour, linestyle=_dashes(method), linewidth=1.1, zorder=3)
    outcome = fit["outcome"].iloc[0] if len(fit) else ""
    marker = {CONVERGED: "o", UNSETTLED: ">"}.get(outcome, "X")
    size, edge = 4.0 if marker == "o" else 6.0, {"markeredgecolor": "white", "markeredgewidth": 0.4}
    end = styles.marks(method, linestyle="-", marker=marker, markersize=size, zorder=4, **edge)
    axes.plot(sweeps.iloc[-1:], change.iloc[-1:], **end)


def scores(fits: pd.DataFrame, stem: Path) -> None:
    """Draw sweeps, runs that did not converge and test errors: a row for each method, at each flip rate."""
    with style.drawing(stem, _size(fits, 0.2)) as figure:
        rows = _rows_of_methods(figure, fits, SCORES, width_ratios=(1.0, 0.6, 1.0))
        for flips, row in rows.items():
            lines = fits[fits["flips"] == flips]
            for height, method in enumerate(styles.present(fits)):
                _score_row(row, lines[lines["method"] == method], height, method)
            styles.sweep_axis(row[0])
            error = 100.0 * blobs.bayes_error(STEP)
            row[2].axvline(error, color="black", linestyle=styles.DASHES, linewidth=0.8)
            styles.rows(row, styles.present(fits))
            title = f"{styles.percent(flips)} of labels flipped, {lines['split'].nunique()} runs a method"
            row[0].set_title(title, loc="left", fontsize=8.5)
        counts = next(iter(rows.values()))[1]
        counts.set_xlim(0, fits["split"].nunique())
        counts.xaxis.get_major_locator().set_params(integer=True)
        handles = [
            styles.mark("o", "a run"),
            styles.mark("x", "a run that did not converge"),
            styles.mark("|", "mean", color="black", markersize=9.0, markeredgewidth=1.1),
            *styles.end_handles(fits["outcome"]),
            styles.mark("", "best classifier", color="black", linestyle=styles.DASHES),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)


def _size(table: pd.DataFrame, height: float) -> tuple[float, float]:
    """Return the size in inches of a figure with a row for every method at each flip rate."""
    return 7.2, 1.0 + (0.45 + height * len(styles.present(table))) * table["flips"].nunique()


def _rows_of_methods(
    figure: Figure, table: pd.DataFrame, labels: Sequence[str], **settings: Any
) -> dict[float, np.ndarray]:
    """Return flip rate -> a row of panels, in which every method will have a row."""
    rates = sorted(table["flips"].unique())
    grid = figure.subplots(len(rates), len(labels), sharex="col", sharey=True, squeeze=False, **settings)
    for axes, label in zip(grid[-1], labels, strict=True):
        axes.set_xlabel(label)
    return dict(zip(rates, grid, strict=True))


def _score_row(panels: np.ndarray, fits: pd.DataFrame, height: int, method: str) -> None:
    """Draw sweeps, outcomes and errors of a method; the mean of sweeps is of runs that converged."""
    styles.runs(panels[0], fits, "sweeps", height, method)
    converged = fits[fits["outcome"] == CONVERGED]
    if len(converged):
        styles.middle(panels[0], converged["sweeps"].mean(), height)
    styles.bars(panels[1], fits, height)
    styles.runs(panels[2], fits, "error", height, method, scale=100.0)
    scored = fits["error"].dropna()
    if len(scored):
        styles.middle(panels[2], 100.0 * scored.mean(), height)


def exact(table: pd.DataFrame, stem: Path) -> None:
    """Draw errors of the latent marginals against sampling: a row for each method, at each flip rate."""
    with style.drawing(stem, _size(table, 0.19)) as figure:
        rows = _rows_of_methods(figure, table, tuple(ERRORS.values()))
        for flips, row in rows.items():
            lines = table[table["flips"] == flips]
            for axes, score in zip(row, ERRORS, strict=True):
                scale = 100.0 if score == "wrong_sign" else 1.0
                for height, method in enumerate(styles.present(table)):
                    for _, line in lines[lines["method"] == method].iterrows():
                        cross = (
                            {} if line["outcome"] == CONVERGED else {"marker": "x", "markeredgewidth": 1.3}
                        )
                        marks = styles.marks(method, markersize=5.0, linestyle="-", **cross)
                        axes.plot(scale * line[score], height, clip_on=False, **marks)
                axes.grid(True, axis="x")
            row[0].axvspan(0.0, lines["monte_carlo_error"].max(), color=style.LIGHT, linewidth=0, zorder=0)
            styles.rows(row, styles.present(table))
            row[0].set_title(f"{styles.percent(flips)} of labels flipped", loc="left", fontsize=8.5)
        for axes in figure.axes[-len(ERRORS) :]:
            axes.set_xlim(left=0.0)
        handles = [
            styles.mark("o", "converged (marker by method)"),
            styles.mark("x", "not converged: at its last posterior", markeredgewidth=1.3),
            style.patch("Monte-Carlo error of the exact means", color=style.LIGHT),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
