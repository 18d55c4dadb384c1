"""Figures 5 and 6: test errors on the real sets, and on Spam against the share of flipped labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.core import statistics, style
from papers.rep.claims import EP, NAMES, SPAM, UCI, once
from papers.rep.figures import styles
from papers.rep.figures.styles import STYLES
from tilted.inference.textbook import CONVERGED

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from papers.core.statistics import Estimate

FEWEST = 2
"""Number of splits that an interval needs."""
GROUPS = {
    "EP and Power EP": tuple(name for name in STYLES if not name.startswith("rep-")),
    "EP and REP": (EP, *(name for name in STYLES if name.startswith("rep-"))),
}
SPAM_PANELS = ("test error (%)", "difference from EP (points)", "runs not\nconverged (%)")
BELOW = (
    f"beside each method: {styles.COUNTS} runs; below: difference from EP on the same splits,\n"
    "with 95 % intervals over splits and, pale, for another sample"
)
DODGE, ROOM = 0.006, 2.5
"""Distance between methods along the axis of shares, and margin beyond its ends, in percent."""


def of_sets(fits: pd.DataFrame) -> pd.DataFrame:
    """Select the fits on the sets of figure 5 with common parameters and no flipped labels."""
    return _enough(once(fits[fits["dataset"].isin(UCI) & (fits["flips"] == 0)]), "dataset")


def of_spam(fits: pd.DataFrame) -> pd.DataFrame:
    """Select the fits on Spam with common parameters."""
    return _enough(once(fits[fits["dataset"] == SPAM]), "flips")


def _enough(fits: pd.DataFrame, name: str) -> pd.DataFrame:
    """Select the fits at values of a column where some method has enough scores for an interval."""
    scored = fits.groupby([name, "method"])["error"].transform("count")
    return fits[scored.groupby(fits[name]).transform("max") >= FEWEST]


def mean_error(fits: pd.DataFrame) -> Estimate | None:
    """Estimate a method's mean error over independent splits; None with fewer than two scores."""
    scored = fits["error"].dropna()
    return statistics.paired_t(scored) if len(scored) >= FEWEST else None


def differences(fits: pd.DataFrame, method: str) -> tuple[Estimate, Estimate] | None:
    """Estimate a method's error minus EP's on the same splits; None with fewer than two.

    Two estimates: splits taken as independent, and generalising to another sample.
    """
    errors = fits.pivot(index="split", columns="method", values="error")
    if method == EP or not {method, EP} <= set(errors):
        return None
    pairs = (errors[method] - errors[EP]).dropna()
    if len(pairs) < FEWEST:
        return None
    sizes = fits["n_train"].mean(), fits["n_test"].mean()
    return statistics.paired_t(pairs), statistics.corrected_resampled_t(pairs, *sizes)


def benchmarks(fits: pd.DataFrame, stem: Path) -> None:
    """Draw mean test errors of the sets, and differences from EP's on the same splits, with outcomes."""
    sets, methods = [name for name in UCI if (fits["dataset"] == name).any()], styles.present(fits)
    with style.drawing(stem, (7.6, 1.2 + 0.4 * len(methods))) as figure:
        grid = figure.subplots(2, len(sets), sharey="row", squeeze=False)
        for column, name in zip(grid.T, sets, strict=True):
            of_set = fits[fits["dataset"] == name]
            _errors(column[0], of_set, methods)
            _differences(column[1], of_set, methods)
            column[0].set_title(f"{NAMES[name]}: {of_set['split'].nunique()} splits", fontsize=8.0)
            column[0].set_xlabel("test error (%)")
            column[1].set_xlabel("difference (points)")
            for axes in column:
                axes.locator_params(axis="x", nbins=4)
                axes.grid(True, axis="x")
        for row in grid:
            styles.rows(row, methods)
        figure.supxlabel(BELOW, fontsize=style.SMALL, color=style.GREY)


def _errors(axes: Axes, fits: pd.DataFrame, methods: list[str]) -> None:
    """Draw mean errors in rows of methods; the numbers of outcomes stand at the right edge."""
    edge: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "va": "center_baseline"}
    for height, method in enumerate(methods):
        own = fits[fits["method"] == method]
        axes.text(1.02, height, styles.counts(own["outcome"]), fontsize=5.8, color=style.GREY, **edge)
        mean = mean_error(own)
        if mean is None:
            continue
        styles.interval(axes, mean, height, method)
        if method == EP:
            axes.axvline(100.0 * mean.mean, color=STYLES[EP].colour, linestyle=styles.DASHES, linewidth=0.8)


def _differences(axes: Axes, fits: pd.DataFrame, methods: list[str]) -> None:
    axes.axvline(0.0, color=STYLES[EP].colour, linestyle=styles.DASHES, linewidth=0.8)
    for height, method in enumerate(methods):
        both = differences(fits, method)
        if both is None:
            continue
        over_splits, beyond = both
        styles.interval(axes, over_splits, height, method)
        ends = [100.0 * end for end in beyond.interval()]
        axes.plot(ends, [height, height], color=STYLES[method].colour, linewidth=2.6, alpha=0.3, zorder=2)


def spam(fits: pd.DataFrame, stem: Path) -> None:
    """Draw errors against the share of flipped labels, differences from EP's, and runs not converged."""
    groups = {name: styles.present(fits, methods) for name, methods in GROUPS.items()}
    groups = {name: methods for name, methods in groups.items() if methods}
    rates = np.array(sorted(fits["flips"].unique()))
    heights = (1.0, 1.0, 0.6)
    with style.drawing(stem, (7.2, 6.0)) as figure:
        grid = figure.subplots(
            3, len(groups), sharex=True, sharey="row", squeeze=False, height_ratios=heights
        )
        for column, (name, methods) in zip(grid.T, groups.items(), strict=True):
            for k, method in enumerate(methods):
                _against_flips(column, fits, method, DODGE * (k - (len(methods) - 1) / 2))
            column[0].plot(100 * rates, 100 * rates, color="black", linestyle=styles.DASHES, linewidth=0.8)
            column[1].axhline(0.0, color=STYLES[EP].colour, linestyle=styles.DASHES, linewidth=0.8)
            column[0].set_title(name)
            column[2].set_xlabel("flipped labels, training and test part (%)")
            column[2].set_xlim(100 * rates.min() - ROOM, 100 * rates.max() + ROOM)
            column[2].set_xticks(100 * rates, [f"{100 * rate:g}" for rate in rates])
            for axes in column:
                axes.grid(True, axis="y")
        for axes, label in zip(grid[:, 0], SPAM_PANELS, strict=True):
            axes.set_ylabel(label)
        grid[2, 0].set_ylim(0.0, 100.0)
        handles = [styles.line_handle(name, linestyle="") for name in styles.present(fits)]
        handles.append(
            styles.mark("", "share of flipped test labels", color="black", linestyle=styles.DASHES)
        )
        runs = fits.groupby(["flips", "method"])["split"].nunique().max()
        figure.suptitle(f"Spam, {runs} splits a share of flipped labels", fontsize=9.0)
        figure.legend(handles=handles, loc="outside lower center", ncols=4)


def _against_flips(panels: np.ndarray, fits: pd.DataFrame, method: str, shift: float) -> None:
    """Draw mean error, difference from EP's and share of runs not converged of one method."""
    errors: dict[float, Estimate] = {}
    gaps: dict[float, Estimate] = {}
    lost: dict[float, float] = {}
    for flips, of_rate in fits.groupby("flips"):
        own, place = of_rate[of_rate["method"] == method], 100.0 * (flips + shift)
        if own.empty:
            continue
        mean, both = mean_error(own), differences(of_rate, method)
        errors |= {place: mean} if mean else {}
        gaps |= {place: both[0]} if both else {}
        lost[place] = 100.0 * float((own["outcome"] != CONVERGED).mean())
    _estimates(panels[0], errors, method)
    _estimates(panels[1], gaps, method)
    look = styles.marks(method, markersize=4.8, clip_on=False)
    panels[2].plot(list(lost), list(lost.values()), **look)


def _estimates(axes: Axes, estimates: Mapping[float, Estimate], method: str) -> None:
    """Draw means and 95 % intervals of shares at places, in percent."""
    if not estimates:
        return
    means = 100.0 * np.array([estimate.mean for estimate in estimates.values()])
    low, high = 100.0 * np.array([estimate.interval() for estimate in estimates.values()]).T
    look = styles.marks(method, markersize=4.8, elinewidth=0.9, **styles.CAPS)
    axes.errorbar(list(estimates), means, yerr=[means - low, high - means], **look)
