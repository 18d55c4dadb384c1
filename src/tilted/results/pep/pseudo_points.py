"""PEP10 and figure 23: where pseudo-points go, from the study `studies.BANANA` and its map."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments import pep_banana
from tilted.results import studies, style
from tilted.results.audit.rows import higher, not_lower
from tilted.results.audit.units import Draft, missing, tested
from tilted.results.audit.verdicts import Block
from tilted.results.pep import looks, scores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from tilted.results.audit.rows import Rule

STEP, COVERING = 0.1, 0.25
"""Ratios of distances: a fall along α that would matter; how far below the data they may be at α = 1."""

QUANTITY = "distance to the boundary, pseudo-points / data"
TEST = "t over draws, Holm; steps and covering: 95 % interval against minus the smallest effect that matters"
BESIDE = "95 % interval over draws against minus the smallest effect that matters"


def record(folder: str | Path) -> list[Path]:
    """Run the study and write its records, fits and map, every line with its stamp."""
    found = list(pep_banana.study())
    lines = {studies.BANANA: [line for line, _ in found], studies.MAP: [p for _, of in found for p in of]}
    return [studies.record(Path(folder, name), name, part) for name, part in lines.items()]


def moved(found: pd.DataFrame | None) -> list[Block]:
    """PEP10 from the study; draws of the set are independent, so both estimands are one."""
    if found is None:
        return [_block([missing("pseudo-points", QUANTITY, "factor", "not run")], "needs `tilted banana`")]
    ratios = found.pivot(index="seed", columns="alpha", values="ratio").dropna()
    low, middle, high = (ratios[alpha].to_numpy(float) for alpha in (0.0, 0.5, 1.0))
    drafts = [
        _draft("α = 0 near the boundary", 1.0 - low, higher, STEP, "1 - ratio at α = 0"),
        _draft("α = 1 further than α = 0", high - low, higher, STEP, "difference of ratios"),
        _draft("0.5 not nearer than 0", middle - low, not_lower, STEP, "difference of ratios"),
        _draft("1 not nearer than 0.5", high - middle, not_lower, STEP, "difference of ratios"),
        _draft("α = 1 covers the data", high - 1.0, not_lower, COVERING, "ratio at α = 1 - 1"),
    ]
    sizes = f"{len(ratios)} draws, M = {found['m'].iloc[0]}, N = {found['n'].iloc[0]}"
    means = f"mean ratio {_by_power(found, 'ratio')}"
    outside = f"mean number of pseudo-points outside the data's rectangle {_by_power(found, 'outside')}"
    beyond = _draft("α = 1 no further than the data", 1.0 - high, not_lower, COVERING, "1 - ratio at α = 1")
    return [
        _block(drafts, f"{sizes}; {stopped(found)}; {means}; {outside}"),
        Block("do they stay with the data", BESIDE, tuple(tested([beyond])), float),
    ]


def stopped(found: pd.DataFrame) -> str:
    """How many searches did not converge, by power."""
    counts = found.groupby("alpha")["converged"].agg(lambda of: f"{int((~of).sum())} of {len(of)}")
    return f"not converged: {', '.join(f'{n} at α = {alpha:g}' for alpha, n in counts.items())}"


def _by_power(found: pd.DataFrame, column: str) -> str:
    means = found.groupby("alpha")[column].mean()
    return ", ".join(f"{value:.2f} at α = {alpha:g}" for alpha, value in means.items())


def _draft(row: str, units: np.ndarray, judge: Rule, margin: float, note: str) -> Draft:
    return Draft(row, QUANTITY, "factor", units, units, margin, judge, len(units), of="draw", note=note)


def _block(drafts: list[Draft], remark: str) -> Block:
    return Block("where pseudo-points end", TEST, tuple(tested(drafts)), float, remark)


def draw(found: pd.DataFrame, points: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Figure 23: a panel a power, and the distances of all draws.

    Parameters
    ----------
    found, points : pandas.DataFrame
        `studies.BANANA`, `studies.MAP`.
    stem : str or Path
    """
    from matplotlib.figure import Figure

    powers = sorted(points["alpha"].unique())
    with style.applied():
        figure = Figure(figsize=(6.9, 2.5), layout="constrained")
        panels = figure.subplots(1, len(powers) + 1, width_ratios=[1.0] * len(powers) + [0.75])
        for axes, alpha in zip(panels, powers, strict=False):
            _panel(axes, points[points["alpha"] == alpha])
            axes.set_title(scores.label(f"{alpha:g}"))
        _distances(panels[-1], found)
        sizes = f"N = {found['n'].iloc[0]}, M = {found['m'].iloc[0]}"
        figure.suptitle(f"Pseudo-points and decision boundary of a made-up set, {sizes}", fontsize=9.0)
        shown = f"draw {pep_banana.SHOWN} of {found['seed'].nunique()}, and the distances of all"
        looks.below(figure, f"{shown}; searches {stopped(found)}")
        return style.save(figure, stem)


def _panel(axes: Axes, points: pd.DataFrame) -> None:
    data, start, pseudo, boundary = (
        points[points["kind"] == kind] for kind in ("data", "start", "pseudo", "boundary")
    )
    for label, colour in ((1, style.ORANGE), (-1, style.BLUE)):
        part = data[data["label"] == label]
        axes.plot(part["x"], part["y"], linestyle="", marker=".", markersize=2.5, color=colour, alpha=0.35)
    for _, line in boundary.groupby("line", sort=False):
        axes.plot(line["x"], line["y"], color="black", linewidth=0.9)
    axes.plot(start["x"], start["y"], linestyle="", marker="x", markersize=3.0, color=style.GREY)
    axes.plot(pseudo["x"], pseudo["y"], linestyle="", marker="o", markersize=4.0, markeredgewidth=0.6,
              markeredgecolor="white", color="black")  # fmt: skip
    low, high = data[["x", "y"]].min() - 0.3, data[["x", "y"]].max() + 0.3
    inside = ((pseudo[["x", "y"]] >= low) & (pseudo[["x", "y"]] <= high)).all(axis=1)
    axes.set(xlim=(low["x"], high["x"]), ylim=(low["y"], high["y"]), xticks=[], yticks=[])
    looks.outside(axes, int((~inside).sum()), 0.03)


def _distances(axes: Axes, found: pd.DataFrame) -> None:
    for _, line in found.groupby("seed"):
        part = line.sort_values("alpha")
        axes.plot(part["alpha"], part["ratio"], color=style.LIGHT, linewidth=0.7, zorder=1)
    means = found.groupby("alpha")["ratio"].mean()
    axes.plot(means.index, means, color="black", marker="o", markersize=3.5, linewidth=1.2)
    axes.axhline(1.0, color=style.GREY, linestyle=(0, (4, 2)), linewidth=0.7)
    axes.set(xlabel="α", title="distance / data's", xticks=sorted(found["alpha"].unique()))
    axes.set_ylim(bottom=0.0)
