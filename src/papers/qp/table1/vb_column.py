"""The printed VB column, step by step (docs/paper-qp.md): ``vb_column.{csv,md}`` and their figure.

The steps go from the released code's behaviour to its purpose:

============ ===========================================================================================
step         record
============ ===========================================================================================
released     ``vb-joint-released``: the released code's search, predicted and scored as that code does
stable       ``vb-joint`` of the same fits: predicted without an inverse of K, scored in closed form
gradient     ``vb-joint`` of the difference ``vb-right-gradient``: the search with the right gradient
bound        ``vb``: the bound maximised, with the variational parameters solved for at each evaluation
============ ===========================================================================================

`by_fold` gives the effect of predicting through the inverse of K, fold by fold: K factorised without jitter
or not, predictive variances clipped or not, and the change of the scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import render, style
from papers.core.grid import grid, number
from papers.core.render import Column, text
from papers.qp import published
from papers.qp.lines import FAILED, FOLD
from papers.qp.published import METRICS, RELEASED_VB
from papers.qp.table1.rows import FIELDS, means

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from papers.qp.published import Printed

PROTOCOL = "as-released"
STEPS = {
    "released": (PROTOCOL, RELEASED_VB),
    "stable": (PROTOCOL, "vb-joint"),
    "gradient": (f"{PROTOCOL}+vb-right-gradient", "vb-joint"),
    "bound": (PROTOCOL, "vb"),
}
"""Step -> protocol and method of its records."""

LABELS = {
    "released": "joint search, scored as released",
    "stable": "joint search, scored stably",
    "gradient": "joint search, right gradient",
    "bound": "bound maximised",
}
UNITS = {"TE": "10^{-2}", "NTLL": "10^{-3}"}
COLUMNS = ("row", "metric", "step", "mean", "sd", "n_seeds", "published_mean", "published_sd", "deviation_sd")
FOLD_COLUMNS = (
    *("row", "n_folds", "jitter", "clipped", "moved", "te_clipped", "ntll_clipped", "te", "ntll"),
    *("te_stable", "ntll_stable"),
)
MOVED = 1e-3
"""Nats by which a fold's NTLL has to differ between the two scorings to count as moved."""

LEGEND = """\
Mean ± population standard deviation over seeds (TE x 10^-2, NTLL x 10^-3), as-released. As released: the
joint search, whose posterior goes through the inverse of K and whose densities are integrated numerically.
Stable: the same fits without either. Right gradient: the joint search with its gradient mended, scored
stably. Bound: maximised, with the variational parameters solved for at each evaluation. Seeds: of the four,
in this order."""
SPREAD_LEGEND = """\
Scored as released, against the printed column: difference of the means in published sd, and our sd over the
published one."""
FOLD_LEGEND = """\
What predicting through the inverse of K does to the folds of the joint search: the share of folds whose K had
to be given jitter (the plain Cholesky factorisation failed); on which predictive variances were clipped (it
succeeded, and the inverse is noise); whose NTLL differs by more than 0.001 nats between the two scorings.
Then scored as released minus stably, in printed units: the mean over folds with clipped variances, and over
the others."""
SHARE_LEGEND = """\
Rows with clipped folds: their share, and the share at which our mean would be the printed one, were a clipped
fold to cost what it does here."""


def is_replayed(fits: pd.DataFrame) -> bool:
    """Test if some fits were scored as the released code does."""
    return bool(((fits["protocol"] == PROTOCOL) & (fits["method"] == RELEASED_VB)).any())


def steps(fits: pd.DataFrame, printed: Printed) -> pd.DataFrame:
    """Return every step's mean and spread over its complete seeds, with the printed column.

    Parameters
    ----------
    fits : pandas.DataFrame
        Fits of the protocols and of those derived from them (`differences.load_with_bases`).
    printed : Printed

    Returns
    -------
    table : pandas.DataFrame
        `COLUMNS`, in printed units: rows in the table's order, in each the metrics and steps that have a
        complete seed.
    """
    import pandas as pd

    names = {place: step for step, place in STEPS.items()}
    places = pd.Series(list(zip(fits["protocol"], fits["method"], strict=True)), index=fits.index)
    summary = means(_scored_both_ways(fits[places.isin(list(names))]))
    lines = []
    for line in summary.itertuples(index=False):
        if line.n_seeds:
            step = names[line.protocol, line.method]
            mean, sd = printed.cells.get((line.row, line.metric, "vb-joint"), (math.nan, math.nan))
            deviation = (line.mean - mean) / sd if sd > 0 else math.nan
            lines.append((line.row, line.metric, step, line.mean, line.sd, line.n_seeds, mean, sd, deviation))
    table = pd.DataFrame(lines, columns=list(COLUMNS))
    orders = {"row": list(published.ROWS.values()), "metric": list(METRICS), "step": list(STEPS)}
    ranks = pd.DataFrame({name: table[name].map(order.index) for name, order in orders.items()})
    return table.loc[ranks.sort_values(list(orders)).index].reset_index(drop=True)


def _scored_both_ways(fits: pd.DataFrame) -> pd.DataFrame:
    """Keep stably scored fits only if they were scored as released too."""
    stable = (fits["protocol"] == PROTOCOL) & (fits["method"] == STEPS["stable"][1])
    folds = [tuple(fold) for fold in fits.loc[fits["method"] == RELEASED_VB, list(FOLD)].to_numpy()]
    rescored = fits[list(FOLD)].apply(tuple, axis=1).isin(folds)
    return fits[~stable | rescored]


def by_fold(fits: pd.DataFrame) -> pd.DataFrame:
    """Measure the effect of the inverse of K on the folds of each row.

    Returns
    -------
    folds : pandas.DataFrame
        `FOLD_COLUMNS`: numbers of folds; in printed units mean differences of the two scorings (released
        minus stable), on folds with clipped variances and on the others (NaN where there are none); and the
        means of the stable scores.
    """
    import pandas as pd

    scored = fits[(fits["protocol"] == PROTOCOL) & (fits["outcome"] != FAILED)]
    sides = [scored[scored["method"] == STEPS[step][1]] for step in ("released", "stable")]
    both = sides[0].merge(sides[1], on=list(FOLD), suffixes=("", "_stable"))
    lines = []
    for dataset in published.row_order(both["dataset"]):
        folds = both[both["dataset"] == dataset]
        clipped = folds["clipped"] > 0
        moved = (folds["ntll"] - folds["ntll_stable"]).abs() > MOVED
        numbers = [len(folds), *(int(which.sum()) for which in (folds["retries"] > 0, clipped, moved))]
        shifts = [
            factor * float((folds[field] - folds[f"{field}_stable"])[which].mean())
            for which in (clipped, ~clipped)
            for field, factor in FIELDS.values()
        ]
        stable = [factor * float(folds[f"{field}_stable"].mean()) for field, factor in FIELDS.values()]
        lines.append((published.row_of(dataset), *numbers, *shifts, *stable))
    return pd.DataFrame(lines, columns=list(FOLD_COLUMNS))


def needed(line: Any, metric: str, printed: float) -> float:
    """Return the share of clipped folds at which the mean of a row would be the printed one.

    Parameters
    ----------
    line : named tuple
        Row of `by_fold` with some clipped folds.
    metric : str
        "TE" or "NTLL".
    printed : float
        Published mean.
    """
    name = metric.lower()
    clipped, stable = getattr(line, f"{name}_clipped"), getattr(line, f"{name}_stable")
    unclipped = 0.0 if math.isnan(getattr(line, name)) else getattr(line, name)
    return float((printed - stable - unclipped) / (clipped - unclipped))


def markdown(table: pd.DataFrame, folds: pd.DataFrame, printed: Printed) -> str:
    """Return the steps, the spread and the folds as Markdown."""
    return "\n".join(
        [
            "# The VB column of the printed Table 1, step by step",
            "",
            *LEGEND.splitlines(),
            "",
            "## Test error",
            "",
            *_steps_grid(table, "TE"),
            "",
            "## Negative test log-likelihood",
            "",
            *_steps_grid(table, "NTLL"),
            "",
            "## Mean and spread against the printed column",
            "",
            *SPREAD_LEGEND.splitlines(),
            "",
            *_spread_grid(table),
            "",
            "## Folds",
            "",
            *FOLD_LEGEND.splitlines(),
            "",
            *render.markdown(FOLD_TABLE, folds.itertuples(index=False)),
            "",
            "## Shares of clipped folds",
            "",
            *SHARE_LEGEND.splitlines(),
            "",
            *_share_grid(folds, printed),
            "",
        ]
    )


def _steps_grid(table: pd.DataFrame, metric: str) -> list[str]:
    header = ("Data", "Printed", "As released", "Stable", "Right gradient", "Bound", "Seeds")
    cells = []
    for row, lines in table[table["metric"] == metric].groupby("row", sort=False):
        by_step = {line.step: line for line in lines.itertuples(index=False)}
        first = next(iter(by_step.values()))
        columns = [by_step.get(step) for step in STEPS]
        seeds = "/".join(str(line.n_seeds) if line else "0" for line in columns)
        numbers = [number(line.mean, line.sd, line.n_seeds) if line else "-" for line in columns]
        cells.append((row, number(first.published_mean, first.published_sd), *numbers, seeds))
    return grid(header, "lrrrrrr", cells)


def _spread_grid(table: pd.DataFrame) -> list[str]:
    released = table[table["step"] == "released"]
    by_cell = {(line.row, line.metric): line for line in released.itertuples(index=False)}
    cells = []
    for row in dict.fromkeys(released["row"]):
        lines = [by_cell[row, metric] for metric in METRICS]
        cells.append((row, *(text for line in lines for text in _against(line)), str(lines[0].n_seeds)))
    header = ("Data", "TE, mean", "TE, sd", "NTLL, mean", "NTLL, sd", "Seeds")
    return grid(header, "lrrrrr", cells)


def _against(line: Any) -> tuple[str, str]:
    """Format the deviation of the mean in published sd, and the ratio of the spreads; empty if sd is 0."""
    if not line.published_sd > 0:
        return "", ""
    spread = f"{line.sd / line.published_sd:.2f}" if line.n_seeds > 1 else "-"
    return f"{line.deviation_sd:+z.2f}", spread


def _share_of_folds(name: str) -> Callable[[Any], str]:
    return lambda line: f"{100 * getattr(line, name) / line.n_folds:.1f} %"


FOLD_TABLE = (
    text("Data", "row"),
    Column("Folds", "n_folds"),
    Column("Jitter", _share_of_folds("jitter")),
    Column("Clipped", _share_of_folds("clipped")),
    Column("Moved", _share_of_folds("moved")),
    Column("TE, clipped", "te_clipped", "+z.1f"),
    Column("NTLL, clipped", "ntll_clipped", "+z.1f"),
    Column("TE, others", "te", "+z.1f"),
    Column("NTLL, others", "ntll", "+z.1f"),
)


def _share_grid(folds: pd.DataFrame, printed: Printed) -> list[str]:
    cells = []
    for line in folds[folds["clipped"] > 0].itertuples(index=False):
        means = {metric: printed.cells[line.row, metric, "vb-joint"][0] for metric in METRICS}
        shares = (line.clipped / line.n_folds, *(needed(line, *item) for item in means.items()))
        cells.append((line.row, *(f"{100 * share:.1f} %" for share in shares)))
    return grid(("Data", "Ours", "For the printed TE", "For the printed NTLL"), "lrrr", cells)


def figure(table: pd.DataFrame, path_stem: str | Path, title: str) -> None:
    """Draw the steps and the printed column, a panel for each metric; path_stem as in `style.drawing`."""
    rows = list(dict.fromkeys(table["row"]))
    looks = dict(zip(STEPS, style.CYCLE, strict=False))
    with style.drawing(path_stem, (6.9, 1.3 + 0.46 * len(rows))) as drawn:
        panels = drawn.subplots(1, 2, sharey=True)
        for axes, metric in zip(panels, METRICS, strict=True):
            _panel(axes, table[table["metric"] == metric], rows, looks)
            axes.set_xlabel(f"{metric} ($\\times {UNITS[metric]}$)")
        style.row_axis(panels, rows)
        handles: list[Artist] = [
            style.line(color=colour, marker=marker, markersize=4, linewidth=0.8, label=LABELS[step])
            for step, (colour, marker) in looks.items()
        ]
        handles.append(style.patch(color=style.LIGHT, label="printed, ± sd"))
        drawn.suptitle(title, fontsize=9.0)
        drawn.legend(handles=handles, loc="outside lower center", ncols=3)


def _panel(axes: Axes, lines: pd.DataFrame, rows: Sequence[str], looks: dict[str, tuple[str, str]]) -> None:
    """Draw one metric: printed mean and spread as a band in each row, each step as a dot with its spread."""
    step = 0.8 / len(looks)
    for row, cells in lines.groupby("row", sort=False):
        height, first = rows.index(row), cells.iloc[0]
        low = first["published_mean"] - first["published_sd"]
        width = 2.0 * first["published_sd"]
        axes.barh(height, width, left=low, height=0.86, color=style.LIGHT, linewidth=0, zorder=1)
        axes.plot(
            [first["published_mean"]] * 2, [height - 0.43, height + 0.43], color=style.GREY, linewidth=0.8
        )
        for line in cells.itertuples(index=False):
            colour, marker = looks[line.step]
            place = height + (list(looks).index(line.step) - (len(looks) - 1) / 2) * step
            dot: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3.2}
            axes.errorbar(line.mean, place, xerr=line.sd, elinewidth=0.8, zorder=3, **dot)
    reach = float(lines[["mean", "published_mean"]].max().max())  # of those there are
    axes.set_xscale("symlog", linthresh=0.01 * reach if reach > 0 else 1.0)
    axes.set_xlim(left=0.0)
