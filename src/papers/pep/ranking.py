"""Figures 5 and 7: which power beats which, and average ranks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.evidence import style
from papers.pep import compare, looks, scores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from papers.evidence.comparisons import Score


def shares(fits: pd.DataFrame, score: Score) -> np.ndarray:
    """Share of the experiments that the power of a row wins against that of a column; NaN on the diagonal."""
    powers = scores.alphas(fits)
    table = np.full((len(powers), len(powers)), np.nan)
    for i, first in enumerate(powers):
        for j, second in enumerate(powers):
            found = compare.duel(fits, first, second, score) if i != j else None
            table[i, j] = found.share if found else np.nan
    return table


def figure_ranks(fits: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Matrices of shares above, average ranks below, a column a score."""
    from matplotlib.figure import Figure

    part = scores.real(fits)
    powers = scores.alphas(part)
    with style.applied():
        figure = Figure(figsize=(6.4, 5.9), layout="constrained")
        grid = figure.subplots(2, 2, height_ratios=(1.7, 1.0))
        for k, score in enumerate(scores.predictive(part)):
            _matrix(grid[0, k], shares(part, score), powers)
            grid[0, k].set_title(f"{score.name}: row beats column (%)")
            _ranks(grid[1, k], compare.mean_ranks(part, score))
        grid[0, 0].set_ylabel("α")
        grid[1, 0].set_ylabel("average rank (1 the best)")
        figure.suptitle("UCI sets: pairwise comparisons and average ranks", fontsize=9.0)
        looks.covered(figure, part)
        return style.save(figure, stem)


def _matrix(axes: Axes, table: np.ndarray, powers: list[str]) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    between = LinearSegmentedColormap.from_list("shares", [style.BLUE, "white", style.ORANGE])
    axes.set_facecolor(style.LIGHT)  # of the diagonal, which is masked
    axes.imshow(np.ma.masked_invalid(table), cmap=between, vmin=0.0, vmax=1.0)
    for (i, j), share in np.ndenumerate(table):
        if np.isfinite(share):
            axes.text(j, i, f"{100 * share:.0f}", ha="center", va="center", fontsize=style.SMALL,
                      color="white" if abs(share - 0.5) > 0.35 else "black")  # fmt: skip
    axes.set_xticks(range(len(powers)), powers)
    axes.set_yticks(range(len(powers)), [scores.label(a).removeprefix("α = ") for a in powers])
    axes.tick_params(length=0)
    axes.set_xlabel("α")
    for side in axes.spines.values():
        side.set_visible(False)


def _ranks(axes: Axes, table: pd.DataFrame) -> None:
    for k, line in enumerate(table.itertuples()):
        error = line.se_splits if np.isfinite(line.se_splits) else 0.0
        axes.errorbar(k, line.rank, yerr=error, color=looks.colour(line.alpha), marker="o", markersize=4.0,
                      elinewidth=0.9, capsize=2.0)  # fmt: skip
    axes.axhline((len(table) + 1) / 2, color=style.LIGHT, linewidth=0.8, zorder=0)
    axes.set_xticks(range(len(table)), table["alpha"])
    axes.set_xlim(-0.5, len(table) - 0.5)
    axes.set_xlabel("α")
