"""Figures 2 to 4, of the made-up set, and its methods beside the exact posterior."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments import blobs
from tilted.experiments.rep import BLOBS, TOLERANCE
from tilted.inference.textbook import CONVERGED, UNSETTLED
from tilted.results import style
from tilted.results.rep import looks
from tilted.results.rep.claims import once
from tilted.results.rep.looks import LOOKS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.lines import Line2D
    from matplotlib.typing import LineStyleType

    Grid = tuple[np.ndarray, np.ndarray, np.ndarray]

BAYES = "bayes"
PER_ROW = 5
FLIPS, SPLIT = 0.2, 0
"""Of the maps; the curves are of the same split."""
SHOWN = (
    ("ep", "ep-damped", "pep"),
    ("rep-normalised", "rep-unnormalised", "rep-printed", "rep-as-described"),
)
"""Methods of the left and of the right panels of curves: those that sweep point by point."""
STEP = 0.05  # of the integration of the best classifier's error
COLUMNS = {
    "mean_error": "rms error of latent\nmeans (exact sd)",
    "variance_error": "rms error of log\nlatent variances",
    "wrong_sign": "latent means of the\nwrong sign (%)",
}


def of_blobs(fits: pd.DataFrame) -> pd.DataFrame:
    """Fits on the made-up set with common parameters."""
    return once(fits[fits["dataset"] == BLOBS])


def followed(table: pd.DataFrame) -> pd.DataFrame:
    """Lines of the one training set a rate whose curves are drawn."""
    table = of_blobs(table)
    return table[table["split"] == SPLIT]


def mapped(table: pd.DataFrame) -> pd.DataFrame:
    """Lines of the maps that are drawn."""
    return table[np.isclose(table["flips"], FLIPS) & (table["split"] == SPLIT)]


def maps(table: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Predictive probabilities of every method, and the training points beside the best classifier."""
    from matplotlib.figure import Figure

    table = mapped(table)
    methods = looks.present(table)
    bayes = _grid(table[table["method"] == BAYES])
    n_rows = -(-(len(methods) + 1) // PER_ROW)
    with style.applied():
        figure = Figure(figsize=(7.2, 0.55 + 1.68 * n_rows), layout="constrained")
        grid = figure.subplots(n_rows, PER_ROW, sharex=True, sharey=True, squeeze=False)
        panels = list(grid.ravel())
        _points(panels[0], bayes)
        for axes, method in zip(panels[1:], methods, strict=False):
            part = table[table["method"] == method]
            image = _map(axes, _grid(part), bayes)
            settled = part["outcome"].iloc[0] == CONVERGED
            axes.set_title(
                _ended(method, part.iloc[0]), fontsize=6.6, color="black" if settled else style.ORANGE
            )
        for axes in panels[len(methods) + 1 :]:
            axes.set_visible(False)
        for axes in panels:
            axes.set(aspect="equal", xticks=(-5, 0, 5), yticks=(-5, 0, 5))
        bar = figure.colorbar(image, ax=panels, shrink=0.75, pad=0.01, aspect=30)
        bar.set_label("probability that the true label is +1", fontsize=7.5)
        figure.legend(handles=_map_handles(), loc="outside lower center", ncols=4)
        return style.save(figure, stem)


def _grid(part: pd.DataFrame) -> Grid:
    """Coordinates along both axes and probabilities [y, x]."""
    wide = part.pivot(index="y", columns="x", values="probability").sort_index().sort_index(axis=1)
    return wide.columns.to_numpy(float), wide.index.to_numpy(float), wide.to_numpy(float)


def _ended(method: str, line: pd.Series) -> str:
    """Name, parameter and lengthscale, outcome and sweeps."""
    name = {"pep": "u", "ep": "", "ep-damped": "", "ep-engine": ""}.get(method, "c")
    value = f"{name} = {line['value']:g}, " if name else ""
    sweeps = int(line["sweeps"])
    first = f"{LOOKS[method].label}\n{value}ℓ = {line['lengthscale']:.3g}"
    return f"{first}\n{line['outcome']}, {sweeps} sweep{'' if sweeps == 1 else 's'}"


def _map(axes: Axes, found: Grid, bayes: Grid) -> QuadMesh:
    image = axes.pcolormesh(*found, cmap="PuOr_r", vmin=0.0, vmax=1.0, shading="nearest", rasterized=True)
    axes.contour(*found, levels=[0.5], colors="black", linewidths=1.1)
    _best(axes, bayes)
    return image


def _best(axes: Axes, bayes: Grid) -> None:
    axes.contour(*bayes, levels=[0.5], colors="#00796B", linewidths=1.1, linestyles="dashed")


def _points(axes: Axes, bayes: Grid) -> None:
    X, y, _, _ = blobs.draw(SPLIT, flips=FLIPS, n_test=2)
    for label, marker, colour in ((1.0, "x", "#B35806"), (-1.0, "o", "#542788")):
        part = X[y == label]
        axes.plot(part[:, 0], part[:, 1], linestyle="", marker=marker, markersize=1.9, color=colour,
                  markerfacecolor="none", markeredgewidth=0.5)  # fmt: skip
    _best(axes, bayes)
    axes.set(xlim=bayes[0][[0, -1]], ylim=bayes[1][[0, -1]])
    axes.set_title(f"training points,\n{looks.percent(FLIPS)} of labels flipped", fontsize=6.6)


def _map_handles() -> list[Line2D]:
    return [
        looks.mark("", "boundary of the method", color="black", linestyle="-"),
        looks.mark("", "of the best classifier", color="#00796B", linestyle="--"),
        looks.mark("x", "label +1", color="#B35806"),
        looks.mark("o", "label −1", color="#542788", markerfacecolor="none"),
    ]


def changes(curves: pd.DataFrame, fits: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Change of the weights sweep by sweep on one training set a rate of flips; how each run ended."""
    from matplotlib.figure import Figure

    fits, curves = followed(fits), followed(curves)
    rates = sorted(curves["flips"].unique())
    with style.applied():
        figure = Figure(figsize=(7.2, 0.9 + 2.0 * len(rates)), layout="constrained")
        grid = figure.subplots(len(rates), len(SHOWN), sharex=True, sharey=True, squeeze=False)
        for row, flips in zip(grid, rates, strict=True):
            for axes, panel in zip(row, SHOWN, strict=True):
                for method in looks.present(curves, panel):
                    own = [
                        part[(part["flips"] == flips) & (part["method"] == method)] for part in (curves, fits)
                    ]
                    if len(own[0]):
                        _curve(axes, own[0].sort_values("sweep"), own[1], method)
                axes.axhline(TOLERANCE, color="black", linestyle=looks.DASHES, linewidth=0.7, zorder=1)
                axes.set_yscale("log")
                looks.sweep_axis(axes)
                axes.grid(True, axis="y")
                axes.set_title(f"{looks.percent(flips)} of labels flipped", fontsize=8.0)
            row[0].set_ylabel("change of the weights")
        for axes in grid[-1]:
            axes.set_xlabel("sweep")
        ends = [looks.mark("o", "converged"), looks.mark("X", "diverged after this sweep", markersize=6.0),
                looks.mark(">", "unsettled at the limit"),
                looks.mark("", "tolerance", color="black", linestyle=looks.DASHES)]  # fmt: skip
        methods = [name for panel in SHOWN for name in looks.present(curves, panel)]
        handles = [looks.line_handle(name, marker="", linestyle=_dashes(name)) for name in methods]
        figure.legend(handles=[*handles, *ends], loc="outside lower center", ncols=4)
        return style.save(figure, stem)


def _dashes(method: str) -> LineStyleType:
    """Of a curve: the two printed forms of REP often coincide."""
    return looks.DASHES if method == "rep-as-described" else "-"


def _curve(axes: Axes, line: pd.DataFrame, fit: pd.DataFrame, method: str) -> None:
    colour = LOOKS[method].colour
    axes.plot(line["sweep"], line["change"], color=colour, linestyle=_dashes(method), linewidth=1.1, zorder=3)
    outcome = fit["outcome"].iloc[0] if len(fit) else ""
    marker = {CONVERGED: "o", UNSETTLED: ">"}.get(outcome, "X")
    size = 4.0 if marker == "o" else 6.0
    axes.plot(line["sweep"].iloc[-1:], line["change"].iloc[-1:], marker=marker, color=colour,
              markersize=size, markeredgecolor="white", markeredgewidth=0.4, zorder=4)  # fmt: skip


def scores(fits: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Sweeps, runs that did not converge and test errors, a row a method, for each rate of flips."""
    from matplotlib.figure import Figure

    fits = of_blobs(fits)
    rates, methods = sorted(fits["flips"].unique()), looks.present(fits)
    with style.applied():
        figure = Figure(figsize=(7.2, 1.0 + (0.45 + 0.2 * len(methods)) * len(rates)), layout="constrained")
        grid = figure.subplots(len(rates), 3, sharex="col", sharey=True, squeeze=False,
                               width_ratios=(1.0, 0.6, 1.0))  # fmt: skip
        for row, flips in zip(grid, rates, strict=True):
            of_rate = fits[fits["flips"] == flips]
            for height, method in enumerate(methods):
                _score_row(row, of_rate[of_rate["method"] == method], height, method)
            looks.sweep_axis(row[0])
            row[2].axvline(
                100.0 * blobs.bayes_error(STEP), color="black", linestyle=looks.DASHES, linewidth=0.8
            )
            looks.rows(row, methods)
            runs = of_rate["split"].nunique()
            title = f"{looks.percent(flips)} of labels flipped, {runs} runs a method"
            row[0].set_title(title, loc="left", fontsize=8.5)
        labels = (
            "(a) sweeps",
            "(b) runs not converged",
            "(c) test error (%)",
        )
        for axes, label in zip(grid[-1], labels, strict=True):
            axes.set_xlabel(label)
        grid[0, 1].set_xlim(0, fits["split"].nunique())
        grid[0, 1].xaxis.get_major_locator().set_params(integer=True)
        handles = [looks.mark("o", "a run"), looks.mark("x", "a run that did not converge"),
                   looks.mark("|", "mean", color="black", markersize=9.0, markeredgewidth=1.1),
                   *looks.end_handles(fits["outcome"]),
                   looks.mark("", "best classifier", color="black", linestyle=looks.DASHES)]  # fmt: skip
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
        return style.save(figure, stem)


def _score_row(panels: np.ndarray, part: pd.DataFrame, height: int, method: str) -> None:
    """Sweeps, outcomes and errors of a method; the mean of sweeps is of runs that converged."""
    looks.runs(panels[0], part, "sweeps", height, method)
    converged = part[part["outcome"] == CONVERGED]
    if len(converged):
        looks.middle(panels[0], converged["sweeps"].mean(), height)
    looks.bars(panels[1], part, height)
    looks.runs(panels[2], part, "error", height, method, scale=100.0)
    scored = part["error"].dropna()
    if len(scored):
        looks.middle(panels[2], 100.0 * scored.mean(), height)


def exact(table: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Errors of the latent marginals against long-run sampling, a row a method, for each rate of flips."""
    from matplotlib.figure import Figure

    rates, methods = sorted(table["flips"].unique()), looks.present(table)
    with style.applied():
        figure = Figure(figsize=(7.2, 1.0 + (0.45 + 0.19 * len(methods)) * len(rates)), layout="constrained")
        grid = figure.subplots(len(rates), len(COLUMNS), sharex="col", sharey=True, squeeze=False)
        for row, flips in zip(grid, rates, strict=True):
            of_rate = table[table["flips"] == flips]
            for axes, score in zip(row, COLUMNS, strict=True):
                for height, method in enumerate(methods):
                    part = of_rate[of_rate["method"] == method]
                    _distance(axes, part, score, height, method)
                axes.grid(True, axis="x")
            row[0].axvspan(0.0, of_rate["monte_carlo_error"].max(), color=style.LIGHT, linewidth=0, zorder=0)
            looks.rows(row, methods)
            row[0].set_title(f"{looks.percent(flips)} of labels flipped", loc="left", fontsize=8.5)
        for axes, label in zip(grid[-1], COLUMNS.values(), strict=True):
            axes.set_xlabel(label)
            axes.set_xlim(left=0.0)
        figure.legend(handles=_exact_handles(), loc="outside lower center", ncols=3)
        return style.save(figure, stem)


def _distance(axes: Axes, part: pd.DataFrame, score: str, height: int, method: str) -> None:
    look, scale = LOOKS[method], 100.0 if score == "wrong_sign" else 1.0
    for _, line in part.iterrows():
        marker, edge = (look.marker, 0.0) if line["outcome"] == CONVERGED else ("x", 1.3)
        axes.plot(scale * line[score], height, marker=marker, color=look.colour, markersize=5.0,
                  markeredgewidth=edge, clip_on=False, zorder=3)  # fmt: skip


def _exact_handles() -> list[Artist]:
    from matplotlib.patches import Patch

    return [
        looks.mark("o", "converged (marker by method)"),
        looks.mark("x", "not converged: at its last posterior", markeredgewidth=1.3),
        Patch(color=style.LIGHT, label="Monte-Carlo error of the exact means"),
    ]
