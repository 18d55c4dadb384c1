"""Figures of the PESC studies: errors against the distance from x*, and gaps against evaluations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from papers.core import style
from papers.pesc.accuracy import ACCURACY, AWAY, MEAN, SD
from papers.pesc.searches import REGRET
from papers.pesc.tables import PROBLEMS, RULES, by_rule

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study

FLOOR = 1e-5
"""Gaps below this are drawn here: the model's optimum is no better known."""


def accuracy(lines: pd.DataFrame, stem: Path) -> None:
    """Draw a point a problem: against the distance from x*, and against the last factor's own error."""
    with style.drawing(stem, (6.9, 3.1)) as figure:
        left_panel, right_panel = figure.subplots(1, 2, sharey=True)
        families = lines.groupby("family", sort=False)
        for (family, problems), (colour, marker) in zip(families, style.CYCLE, strict=False):
            look: dict[str, Any] = {"s": 4, "color": colour, "marker": marker, "linewidth": 0, "alpha": 0.4}
            left_panel.scatter(problems["worst_distance"], _over(problems), label=family, **look)
            right_panel.scatter(np.maximum(_over(problems, "_last"), 0.01), _over(problems), **look)
        ends = left_panel.get_ylim()
        right_panel.plot(ends, ends, color=style.GREY, linewidth=0.6, linestyle=":")
        left_panel.axvline(AWAY, color=style.GREY, linewidth=0.6, linestyle=":")
        right_panel.axvline(1.0, color=style.GREY, linewidth=0.8)
        for axes in (left_panel, right_panel):
            axes.axhline(1.0, color=style.GREY, linewidth=0.8)
            axes.set_xscale("log")
            axes.set_yscale("log")
        left_panel.set_xlabel("distance of the worst input from $x^*$ (lengthscales)")
        right_panel.set_xlabel("error of the last factor alone, over its tolerance")
        left_panel.set_ylabel("largest error over its tolerance")
        figure.legend(loc="outside upper center", ncols=4, markerscale=2.5)


def _over(problems: pd.DataFrame, suffix: str = "") -> pd.Series:
    """Return each problem's largest error over its tolerance; above 1 is outside."""
    return np.maximum(problems[f"mean_error{suffix}"] / MEAN, problems[f"sd_error{suffix}"] / SD)


def searches(lines: pd.DataFrame, stem: Path) -> None:
    """Draw a panel for each problem, with a line for each rule."""
    table = by_rule(lines)
    problems = [name for name in PROBLEMS if name in set(table["problem"])]
    with style.drawing(stem, (6.9, 3.2)) as figure:
        for axes, problem in zip(np.ravel(figure.subplots(1, len(problems))), problems, strict=True):
            for rule, (colour, marker) in zip(RULES, style.CYCLE, strict=False):
                line = table[(table["problem"] == problem) & (table["rule"] == rule)].sort_values(
                    "evaluations"
                )
                n, low, high = line["evaluations"], line["recommended_low"], line["recommended_high"]
                look = {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1.2}
                axes.plot(n, _drawn(line["recommended_median"]), label=RULES[rule], **look)
                axes.fill_between(n, _drawn(low), _drawn(high), color=colour, alpha=0.15, linewidth=0)
                axes.plot(n, _drawn(line["observed_median"]), color=colour, linewidth=0.9, linestyle="--")
            axes.set_yscale("log")
            axes.set_title(PROBLEMS[problem])
            axes.set_xlabel("evaluations")
            axes.grid(True, axis="y")
        figure.axes[0].set_ylabel("objective minus the minimum")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(RULES))


def _drawn(gaps: pd.Series) -> pd.Series:
    """Return the drawn gaps: none that is infinite, none below `FLOOR`."""
    return np.clip(gaps.replace(np.inf, np.nan), FLOOR, None)


class Figure(NamedTuple):
    """A figure: the study whose rows it shows, the function that draws them to a path stem, its caption."""

    study: Study
    draw: Callable[[pd.DataFrame, Path], None]
    caption: str


FIGURES = {
    "accuracy": Figure(
        ACCURACY,
        accuracy,
        "EP's predictive distributions given the constrained minimum against rejection sampling: the largest "
        "error of a mean or standard deviation of each random problem, over its tolerance (above 1: "
        "outside). Left: against the distance from x* of the worst input. Right: against the error of the "
        "last factor (35-37) alone, on the exact moments before it (below 0.01 drawn there); on the diagonal "
        "it is all of the error.",
    ),
    "regret": Figure(
        REGRET,
        searches,
        "Objective at the recommended place minus the constrained minimum against evaluations: median over "
        f"repeats, quartiles shaded; dashed: the best feasible observation, median. Gaps below {FLOOR:g} are "
        "drawn there. Where a line is absent, half of the repeats have no feasible place or observation.",
    ),
}
