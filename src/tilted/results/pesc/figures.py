"""Figures of the PESC studies: errors against the distance from x*, and gaps against evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.results import studies, style
from tilted.results.pesc.claims import AWAY, MEAN, SD
from tilted.results.pesc.tables import PROBLEMS, RULES, regret

if TYPE_CHECKING:
    import pandas as pd

CAPTIONS = {
    "accuracy": (
        "EP's predictive distributions given the constrained minimum against rejection sampling: the largest "
        "error of a mean and of a standard deviation of each random problem, over its tolerance, against the "
        "distance from x* of the worst. What is above 1 is outside the tolerance."
    ),
    "regret": (
        "Objective at the recommended place minus the constrained minimum against evaluations: median over "
        "repeats, quartiles shaded. Where a line is absent, the place is not feasible in so many repeats."
    ),
}
FLOOR = 1e-5
"""Gaps below this are drawn here: the model's optimum is no better known."""


def write(found: dict[str, pd.DataFrame | None], folder: str | Path) -> list[Path]:
    """Draw what there are studies of; the PNG files, the PDF files stand beside them."""
    drawn = []
    if found[studies.ACCURACY] is not None:
        drawn.append(draw_accuracy(found[studies.ACCURACY], Path(folder, "accuracy"))[1])
    if found[studies.REGRET] is not None:
        drawn.append(draw_regret(regret(found[studies.REGRET]), Path(folder, "regret"))[1])
    return drawn


def draw_accuracy(found: pd.DataFrame, stem: str | Path):
    """A point a problem."""
    from matplotlib.figure import Figure

    with style.applied():
        figure = Figure(figsize=(4.6, 3.2), layout="constrained")
        axes = figure.subplots()
        for (family, part), (colour, marker) in zip(
            found.groupby("family", sort=False), style.CYCLE, strict=False
        ):
            worst = np.maximum(part["mean_error"] / MEAN, part["sd_error"] / SD)
            axes.scatter(
                part["worst_distance"], worst, s=14, color=colour, marker=marker, label=family, linewidth=0
            )
        axes.axhline(1.0, color=style.GREY, linewidth=0.8)
        axes.axvline(AWAY, color=style.GREY, linewidth=0.6, linestyle=":")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("distance of the worst input from x* (lengthscales)")
        axes.set_ylabel("largest error over its tolerance")
        axes.legend()
        return style.save(figure, stem)


def draw_regret(table: pd.DataFrame, stem: str | Path):
    """A panel a problem, a line a rule."""
    from matplotlib.figure import Figure

    problems = [name for name in PROBLEMS if name in set(table["problem"])]
    with style.applied():
        figure = Figure(figsize=(6.9, 3.0), layout="constrained")
        for axes, problem in zip(np.ravel(figure.subplots(1, len(problems))), problems, strict=True):
            part = table[table["problem"] == problem]
            for rule, (colour, marker) in zip(RULES, style.CYCLE, strict=False):
                line = part[part["rule"] == rule].sort_values("evaluations")
                gaps = {
                    name: np.clip(line[f"recommended_{name}"].replace(np.inf, np.nan), FLOOR, None)
                    for name in ("low", "median", "high")
                }
                axes.plot(line["evaluations"], gaps["median"], color=colour, marker=marker, markersize=3.5,
                          linewidth=1.2, label=RULES[rule])  # fmt: skip
                axes.fill_between(line["evaluations"], gaps["low"], gaps["high"], color=colour, alpha=0.15,
                                  linewidth=0)  # fmt: skip
            axes.set_yscale("log")
            axes.set_title(PROBLEMS[problem])
            axes.set_xlabel("evaluations")
            axes.grid(True, axis="y")
        figure.axes[0].set_ylabel("objective minus the minimum")
        figure.axes[0].legend()
        return style.save(figure, stem)
