"""Figures 31 and 32: errors and log-likelihood of the digits against processor seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tilted.experiments.mnist import OK
from tilted.results import style
from tilted.results.pep import looks, mnist, scores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.typing import ColorType

NUMBERS = {100: "figure31", 200: "figure32"}
CAPTIONS = {
    name: (
        f"Even against odd digits, M = {m}: errors and mean log p(y*) on the test images against processor "
        "seconds of the training. A thin line a seed, the bold one their mean, step by step."
    )
    for m, name in NUMBERS.items()
}
PANELS = (("error", "test errors (%)"), ("log_likelihood", "test log p(y*) (nats)"))
EVERY = 4
"""Measurements from one marker to the next."""


def write(table: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Draw the figures there are runs for.

    Returns
    -------
    paths : list of Path
        The PNG files; the PDF files stand beside them.
    """
    return [
        draw(table[table["m"] == m], Path(folder, name))[1]
        for m, name in NUMBERS.items()
        if ((table["m"] == m) & (table["outcome"] == OK)).any()
    ]


def draw(table: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """One figure of runs with the same M; the files of `style.save`."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    powers = {mnist.power(alpha): part for alpha, part in table.groupby("alpha")}
    with style.applied():
        figure = Figure(figsize=(6.9, 3.3), layout="constrained")
        for axes, (score, name) in zip(figure.subplots(1, 2), PANELS, strict=True):
            for k, (alpha, part) in enumerate(powers.items()):
                _curves(axes, part, score, looks.colour(alpha), looks.MARKERS[k % len(looks.MARKERS)], k)
            axes.set_xscale("log")
            axes.set_xlabel("processor seconds")
            axes.set_ylabel(name)
            axes.grid(True, axis="y")
            looks.plain_ticks(axes.xaxis, axes.get_xlim(), most=7)
        errors = figure.axes[0]
        errors.set_yscale("log")
        looks.plain_ticks(errors.yaxis, errors.get_ylim(), most=7)
        handles = [
            Line2D([], [], color=looks.colour(alpha), marker=looks.marker(alpha, list(powers)),
                   markersize=3.5, markeredgewidth=0, linewidth=1.2, label=scores.label(alpha))
            for alpha in powers
        ]  # fmt: skip
        figure.suptitle(f"Even against odd digits by minibatches, M = {table['m'].iloc[0]}")
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles),
                      title=mnist.covered(table), title_fontsize=style.SMALL).get_title().set(
            color=style.GREY)  # fmt: skip
        return style.save(figure, stem)


def _curves(axes: Axes, part: pd.DataFrame, score: str, colour: ColorType, marker: str, first: int) -> None:
    """Every seed, and their mean where it is of all; markers of different powers at different steps."""
    factor = 100.0 if score == "error" else 1.0
    measured = part[part["outcome"] == OK]
    for _, run in measured.groupby("seed"):
        line = run.sort_values("step")
        axes.plot(line["seconds"], factor * line[score], color=colour, alpha=0.4, linewidth=0.6)
    for _, alike in part.groupby("steps"):
        middle = mnist.curve(alike, score)
        axes.plot(middle["seconds"], factor * middle[score], color=colour, linewidth=1.4, marker=marker,
                  markersize=3.2, markeredgewidth=0, markevery=(first % EVERY, EVERY), zorder=3)  # fmt: skip
