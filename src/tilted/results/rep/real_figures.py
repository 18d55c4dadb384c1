"""Figures 5 and 6: test errors on the real sets, and on Spam against the share of flipped labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.inference.textbook import CONVERGED
from tilted.results import statistics, style
from tilted.results.rep import looks
from tilted.results.rep.claims import EP, NAMES, SPAM, UCI, once
from tilted.results.rep.looks import LOOKS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SETS = {name: NAMES[name] for name in UCI}
REFERENCE = EP
FEWEST = 2
"""Splits an interval needs."""
GROUPS = {
    "EP and Power EP": tuple(name for name in LOOKS if not name.startswith("rep-")),
    "EP and REP": (EP, *(name for name in LOOKS if name.startswith("rep-"))),
}
SPAM_PANELS = ("test error (%)", "difference from EP (points)", "runs not\nconverged (%)")
BELOW = (
    f"beside each method: {looks.COUNTS} runs; below: difference from EP on the same splits,\n"
    "with 95 % intervals over splits and, pale, for another sample"
)
DODGE, ROOM = 0.006, 2.5
"""Between methods along the axis of shares; beyond its ends, in percent."""


def of_sets(fits: pd.DataFrame) -> pd.DataFrame:
    """Fits on the sets of figure 5 with common parameters, no label flipped."""
    return _enough(once(fits[fits["dataset"].isin(SETS) & (fits["flips"] == 0)]), ["dataset"])


def of_spam(fits: pd.DataFrame) -> pd.DataFrame:
    """Fits on Spam with common parameters."""
    return _enough(once(fits[fits["dataset"] == SPAM]), ["flips"])


def _enough(fits: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Fits of what ``by`` names where some method has enough scores for an interval."""
    n = fits.assign(n=fits.groupby([*by, "method"])["error"].transform("count"))
    return fits[n.groupby(by)["n"].transform("max") >= FEWEST]


def mean_error(part: pd.DataFrame) -> statistics.Estimate | None:
    """Mean error of a method over splits, taken as independent; None with fewer than two scores."""
    scored = part["error"].dropna()
    return statistics.paired_t(scored) if len(scored) >= FEWEST else None


def differences(part: pd.DataFrame, method: str) -> tuple[statistics.Estimate, statistics.Estimate] | None:
    """Error of a method minus EP's on the same splits; None where there are fewer than two.

    Two estimates: splits taken as independent, and generalising to another sample.
    """
    both = part.pivot(index="split", columns="method", values="error")
    if method == REFERENCE or not {method, REFERENCE} <= set(both):
        return None
    found = (both[method] - both[REFERENCE]).dropna()
    if len(found) < FEWEST:
        return None
    sizes = part["n_train"].mean(), part["n_test"].mean()
    return statistics.paired_t(found), statistics.corrected_resampled_t(found, *sizes)


def benchmarks(fits: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Mean test errors of the sets, and differences from EP's on the same splits; outcomes beside."""
    from matplotlib.figure import Figure

    fits = of_sets(fits)
    sets, methods = [name for name in SETS if (fits["dataset"] == name).any()], looks.present(fits)
    with style.applied():
        figure = Figure(figsize=(7.6, 1.2 + 0.4 * len(methods)), layout="constrained")
        grid = figure.subplots(2, len(sets), sharey="row", squeeze=False)
        for column, name in zip(grid.T, sets, strict=True):
            part = fits[fits["dataset"] == name]
            _errors(column[0], part, methods)
            _differences(column[1], part, methods)
            column[0].set_title(f"{SETS[name]}: {part['split'].nunique()} splits", fontsize=8.0)
            column[0].set_xlabel("test error (%)")
            column[1].set_xlabel("difference (points)")
            for axes in column:
                axes.locator_params(axis="x", nbins=4)
                axes.grid(True, axis="x")
        for row in grid:
            looks.rows(row, methods)
        figure.supxlabel(BELOW, fontsize=style.SMALL, color=style.GREY)
        return style.save(figure, stem)


def _errors(axes: Axes, part: pd.DataFrame, methods: list[str]) -> None:
    for height, method in enumerate(methods):
        own = part[part["method"] == method]
        looks.beside(axes, height, looks.counts(own["outcome"]))
        found = mean_error(own)
        if found is not None:
            looks.interval(axes, found, height, method)
            if method == REFERENCE:
                axes.axvline(
                    100.0 * found.mean, color=LOOKS[method].colour, linestyle=looks.DASHES, linewidth=0.8
                )


def _differences(axes: Axes, part: pd.DataFrame, methods: list[str]) -> None:
    axes.axvline(0.0, color=LOOKS[REFERENCE].colour, linestyle=looks.DASHES, linewidth=0.8)
    for height, method in enumerate(methods):
        found = differences(part, method)
        if found is not None:
            looks.interval(axes, found[0], height, method)
            ends = [100.0 * end for end in found[1].interval()]
            axes.plot(ends, [height, height], color=LOOKS[method].colour, linewidth=2.6, alpha=0.3, zorder=2)


def spam(fits: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Errors against the share of flipped labels, differences from EP's, and runs that did not converge."""
    from matplotlib.figure import Figure

    fits = of_spam(fits)
    groups = {name: looks.present(fits, methods) for name, methods in GROUPS.items()}
    groups = {name: methods for name, methods in groups.items() if methods}
    with style.applied():
        figure = Figure(figsize=(7.2, 6.0), layout="constrained")
        grid = figure.subplots(3, len(groups), sharex=True, sharey="row", squeeze=False,
                               height_ratios=(1.0, 1.0, 0.6))  # fmt: skip
        for column, (name, methods) in zip(grid.T, groups.items(), strict=True):
            for k, method in enumerate(methods):
                _against_flips(column, fits, method, DODGE * (k - (len(methods) - 1) / 2))
            rates = np.array(sorted(fits["flips"].unique()))
            column[0].plot(100 * rates, 100 * rates, color="black", linestyle=looks.DASHES, linewidth=0.8)
            column[1].axhline(0.0, color=LOOKS[REFERENCE].colour, linestyle=looks.DASHES, linewidth=0.8)
            column[0].set_title(name)
            column[2].set_xlabel("flipped labels, training and test part (%)")
            column[2].set_xlim(100 * rates.min() - ROOM, 100 * rates.max() + ROOM)
            column[2].set_xticks(100 * rates, [f"{100 * rate:g}" for rate in rates])
            for axes in column:
                axes.grid(True, axis="y")
        for axes, label in zip(grid[:, 0], SPAM_PANELS, strict=True):
            axes.set_ylabel(label)
        grid[2, 0].set_ylim(0.0, 100.0)
        methods = looks.present(fits)
        handles = [looks.line_handle(name, linestyle="") for name in methods]
        handles.append(looks.mark("", "share of flipped test labels", color="black", linestyle=looks.DASHES))
        runs = fits.groupby(["flips", "method"])["split"].nunique().max()
        figure.suptitle(f"Spam, {runs} splits a share of flipped labels", fontsize=9.0)
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
        return style.save(figure, stem)


def _against_flips(panels: np.ndarray, fits: pd.DataFrame, method: str, shift: float) -> None:
    """Mean error, difference from EP's and share of runs that did not converge of one method."""
    own = fits[fits["method"] == method]
    errors: dict[float, statistics.Estimate] = {}
    gaps: dict[float, statistics.Estimate] = {}
    lost: dict[float, float] = {}
    for flips, part in own.groupby("flips"):
        mean = mean_error(part)
        errors |= {flips: mean} if mean else {}
        gap = differences(fits[fits["flips"] == flips], method)
        gaps |= {flips: gap[0]} if gap else {}
        lost[flips] = float((part["outcome"] != CONVERGED).mean())
    _estimates(panels[0], errors, method, shift)
    _estimates(panels[1], gaps, method, shift)
    look = LOOKS[method]
    panels[2].plot([100 * (flips + shift) for flips in lost], [100 * share for share in lost.values()],
                   color=look.colour, marker=look.marker, markersize=4.8, markeredgewidth=0, linestyle="",
                   clip_on=False, zorder=3)  # fmt: skip


def _estimates(axes: Axes, found: dict[float, statistics.Estimate], method: str, shift: float) -> None:
    if not found:
        return
    look = LOOKS[method]
    means = 100.0 * np.array([one.mean for one in found.values()])
    low, high = 100.0 * np.array([one.interval() for one in found.values()]).T
    places = [100.0 * (flips + shift) for flips in found]
    axes.errorbar(places, means, yerr=[means - low, high - means],
                  color=look.colour, marker=look.marker, markersize=4.8, markeredgewidth=0, linestyle="",
                  elinewidth=0.9, capsize=1.8, capthick=0.9, zorder=3)  # fmt: skip
