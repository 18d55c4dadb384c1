"""Figures 8 to 10: exact regression with true and learned hyperparameters, a dot a synthetic set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments.pep_toy import LEARNED, TRUE
from tilted.experiments.synthetic import NOISE
from tilted.results import style
from tilted.results.pep import looks, toy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

FIGURES = {"figure9": 500, "figure10": 1000}
"""Figure of errors on the training and the test part -> its number of training points."""

AGAINST = {
    "nlml": ("NLML a training point (nats)", " (nats, all points)"),
    "mse_test": ("test mean squared error", ""),
    "loss_test": ("test log loss (nats)", " (nats)"),
}
"""Panels of figure 8: score -> its heading, and the unit of its differences."""

ERRORS = {
    "mse": ("mean squared error", NOISE),
    "loss": ("mean log loss (nats)", 0.5 * np.log(2.0 * np.pi * np.e * NOISE)),
}
"""Panels of figures 9 and 10: score -> its heading, and its mean if the function were known."""

PARTS = {"train": ("training part", style.CYCLE[0]), "test": ("test part", style.CYCLE[1])}
DASHES = (0, (5, 3))
ROOM = 0.06


def write(table: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Draw the figures there are numbers for; the PNG files, the PDF files stand beside them."""
    present = [n for n in toy.sizes(table) if len(toy.pairs(table, n, "nlml").true)]
    if not present:
        return []
    drawn = [true_against_learned(table[table["n_train"].isin(present)], Path(folder, "figure8"))]
    drawn += [train_and_test(table, n, Path(folder, name)) for name, n in FIGURES.items() if n in present]
    return [png for _, png in drawn]


def true_against_learned(table: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Figure 8: NLML a training point, test mean squared error and log loss; below, their differences."""
    from matplotlib.figure import Figure

    kinds = dict(zip(toy.sizes(table), style.CYCLE, strict=False))
    with style.applied():
        figure = Figure(figsize=(6.9, 4.7), layout="constrained")
        grid = figure.subplots(2, len(AGAINST), height_ratios=(1.0, 0.5))
        for (above, below), (score, (heading, unit)) in zip(grid.T, AGAINST.items(), strict=True):
            shown = []
            for n, kind in kinds.items():
                found = toy.pairs(table, n, score)
                by = n if score == "nlml" else 1
                true, learned = found.true / by, found.learned / by
                shown += [true, learned]
                _dots(above, true, learned, *kind)
                _dots(below, true, found.learned - found.true, *kind)
            _square(above, shown)
            below.axhline(0.0, color="black", linestyle=DASHES, linewidth=0.7, zorder=1)
            below.set(xlim=above.get_xlim(), xlabel="true hyperparameters")
            for axes in (above, below):
                axes.locator_params(nbins=5)
            below.set_title(f"learned − true{unit}", fontsize=8.0)
            above.set_title(heading)
        grid[0, 0].set_ylabel("learned hyperparameters")
        grid[1, 0].set_ylabel("difference")
        figure.suptitle("Exact regression on the synthetic sets, a dot a set", fontsize=9.0)
        labels = {f"{n} training points": kind for n, kind in kinds.items()}
        looks.below(figure, toy.coverage(table), _handles(labels))
        return style.save(figure, stem)


def train_and_test(table: pd.DataFrame, n: int, stem: str | Path) -> tuple[Path, Path]:
    """Figures 9 and 10: errors on the training and on the test part of every set, in order of the latter."""
    from matplotlib.figure import Figure

    part = table[(table["n_train"] == n) & table["nlml"].notna()].set_index("split")
    learned, true = (part[part["hyperparameters"] == name] for name in (LEARNED, TRUE))
    order = learned["mse_test"].astype(float).sort_values().index
    true = true[true.index.isin(order)]
    place = dict(zip(order, range(1, len(order) + 1), strict=True))
    with style.applied():
        figure = Figure(figsize=(6.9, 3.0), layout="constrained")
        panels = figure.subplots(1, 2)
        for axes, (score, (heading, best)) in zip(panels, ERRORS.items(), strict=True):
            for name, (_, kind) in PARTS.items():
                values = [fits[f"{score}_{name}"].astype(float) for fits in (learned, true)]
                _dots(axes, values[0].index.map(place), values[0], *kind)
                axes.plot(values[1].index.map(place), values[1], linestyle="", marker="_", markersize=6.0,
                          markeredgewidth=0.9, color=style.GREY, zorder=2)  # fmt: skip
            axes.axhline(best, color="black", linestyle=DASHES, linewidth=0.7, zorder=1)
            if score == "mse":
                axes.set_yscale("log")
                looks.plain_ticks(axes.yaxis, axes.get_ylim(), 5)
            axes.set_title(heading)
            axes.set_xlabel("synthetic set, by test error")
            axes.set_xlim(0.3, len(order) + 0.7)
        figure.suptitle(f"Exact regression with {n} training points", fontsize=9.0)
        labels = dict(PARTS.values()) | {"the same, true hyperparameters": (style.GREY, "_")}
        handles = [*_handles(labels), _line("the noise alone")]
        looks.below(figure, toy.coverage(table[table["n_train"] == n]), handles)
        return style.save(figure, stem)


def _dots(axes: Axes, x: pd.Series, y: pd.Series, colour: str, marker: str) -> None:
    axes.plot(x, y, linestyle="", marker=marker, color=colour, markersize=3.4, markeredgewidth=0.0, alpha=0.8,
              zorder=3)  # fmt: skip


def _square(axes: Axes, values: Sequence[pd.Series]) -> None:
    """The same limits on both axes, and the diagonal."""
    found = np.concatenate([v.to_numpy(float) for v in values])
    room = ROOM * (found.max() - found.min()) + 1e-12
    ends = found.min() - room, found.max() + room
    axes.plot(ends, ends, color="black", linestyle=DASHES, linewidth=0.7, zorder=1)
    axes.set(xlim=ends, ylim=ends, box_aspect=1.0)


def _handles(labels: dict[str, tuple[str, str]]) -> list[Line2D]:
    from matplotlib.lines import Line2D

    return [
        Line2D([], [], linestyle="", marker=marker, color=colour, markersize=6.0 if marker == "_" else 4.0,
               markeredgewidth=0.9 if marker == "_" else 0.0, label=label)
        for label, (colour, marker) in labels.items()
    ]  # fmt: skip


def _line(label: str) -> Line2D:
    from matplotlib.lines import Line2D

    return Line2D([], [], color="black", linestyle=DASHES, linewidth=0.7, label=label)
