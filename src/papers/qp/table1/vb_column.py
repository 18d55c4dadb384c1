"""The printed VB column, step by step (docs/paper-qp.md): ``vb_column.{csv,md}`` and their figure.

The steps (`STEPS`, described in `LEGEND`) go from the released code's behaviour to its purpose. `by_fold`
gives the effect of predicting through the inverse of K, fold by fold: K factorised without jitter or not,
predictive variances clipped or not, and the change of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import render, study, style
from papers.core.grid import grid, number
from papers.core.render import Column, text
from papers.qp import published
from papers.qp.fit_rows import FAILED, FOLD
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
        Fits of the protocols and of those derived from them (`Results.fits_with_derived`).
    printed : Printed

    Returns
    -------
    table : pandas.DataFrame
        `COLUMNS`, in printed units: rows in the table's order, in each the metrics and steps that have a
        complete seed.
    """
    names = {place: step for step, place in STEPS.items()}
    places = [place in names for place in zip(fits["protocol"], fits["method"], strict=True)]
    summary = means(_scored_both_ways(fits[places]))
    summary = summary[summary["n_seeds"] > 0]
    step = [names[place] for place in zip(summary["protocol"], summary["method"], strict=True)]
    table = published.compare(summary.assign(method="vb-joint"), printed).assign(step=step)
    orders = {"row": list(published.ROWS.values()), "metric": METRICS, "step": list(STEPS)}
    ranked = table.sort_values(list(orders), key=lambda column: study.places(orders[column.name])(column))
    return ranked[list(COLUMNS)].reset_index(drop=True)


def _scored_both_ways(fits: pd.DataFrame) -> pd.DataFrame:
    """Keep stably scored fits only if they were scored as released too."""
    stable = (fits["protocol"] == PROTOCOL) & (fits["method"] == STEPS["stable"][1])
    folds = fits.set_index(list(FOLD)).index
    return fits[~stable | folds.isin(folds[fits["method"] == RELEASED_VB])]


def by_fold(fits: pd.DataFrame) -> pd.DataFrame:
    """Measure the effect of the inverse of K on the folds of each row.

    Returns
    -------
    folds : pandas.DataFrame
        ``row``; numbers of folds: ``n_folds``, ``jitter``, ``clipped``, ``moved``; in printed units mean
        differences of the two scorings (released minus stable), ``te_clipped`` and ``ntll_clipped`` on folds
        with clipped variances, ``te`` and ``ntll`` on the others (NaN where there are none); and the means of
        the stable scores, ``te_stable`` and ``ntll_stable``.
    """
    import pandas as pd

    scored = fits[(fits["protocol"] == PROTOCOL) & (fits["outcome"] != FAILED)]
    sides = [scored[scored["method"] == STEPS[step][1]] for step in ("released", "stable")]
    both = sides[0].merge(sides[1], on=list(FOLD), suffixes=("", "_stable"))
    stable = {name.lower(): factor * both[f"{field}_stable"] for name, (field, factor) in FIELDS.items()}
    shifts = {
        name.lower(): factor * (both[field] - both[f"{field}_stable"])
        for name, (field, factor) in FIELDS.items()
    }
    flags = {
        "jitter": both["retries"] > 0,
        "clipped": both["clipped"] > 0,
        "moved": shifts["ntll"].abs() > FIELDS["NTLL"][1] * MOVED,
    }
    dataset, clipped = both["dataset"], flags["clipped"]
    folds = pd.concat(
        [
            pd.DataFrame(flags).groupby(dataset).sum(),
            pd.DataFrame(shifts)[clipped].groupby(dataset).mean().add_suffix("_clipped"),
            pd.DataFrame(shifts)[~clipped].groupby(dataset).mean(),
            pd.DataFrame(stable).groupby(dataset).mean().add_suffix("_stable"),
        ],
        axis=1,
    ).assign(n_folds=dataset.value_counts())
    folds = folds.loc[published.row_order(folds.index)]
    return folds.assign(row=folds.index.map(published.row_of)).reset_index(drop=True)


def needed(folds: pd.DataFrame, metric: str, printed: pd.Series) -> pd.Series:
    """Return the share of clipped folds at which the mean of each row would be the printed one.

    Parameters
    ----------
    folds : pandas.DataFrame
        Rows of `by_fold` with some clipped folds.
    metric : str
        "TE" or "NTLL".
    printed : pandas.Series
        Published means of these rows.
    """
    name = metric.lower()
    unclipped = folds[name].fillna(0.0)
    return (printed - folds[f"{name}_stable"] - unclipped) / (folds[f"{name}_clipped"] - unclipped)


def markdown(table: pd.DataFrame, folds: pd.DataFrame, printed: Printed) -> str:
    """Return the steps, the spread and the folds as Markdown."""
    sections = {
        "# The VB column of the printed Table 1, step by step": LEGEND.splitlines(),
        "## Test error": _steps_grid(table, "TE"),
        "## Negative test log-likelihood": _steps_grid(table, "NTLL"),
        "## Mean and spread against the printed column": [
            *SPREAD_LEGEND.splitlines(),
            "",
            *_spread_grid(table),
        ],
        "## Folds": [
            *FOLD_LEGEND.splitlines(),
            "",
            *render.markdown(FOLD_TABLE, folds.itertuples(index=False)),
        ],
        "## Shares of clipped folds": [*SHARE_LEGEND.splitlines(), "", *_share_grid(folds, printed)],
    }
    return "\n".join(text for title, lines in sections.items() for text in (title, "", *lines, ""))


def _steps_grid(table: pd.DataFrame, metric: str) -> list[str]:
    header = ("Data", "Printed", "As released", "Stable", "Right gradient", "Bound", "Seeds")
    cells = []
    for row, lines in table[table["metric"] == metric].groupby("row", sort=False):
        printed = number(*lines.iloc[0][["published_mean", "published_sd"]])
        by_step = lines.set_index("step").reindex(list(STEPS)).fillna({"n_seeds": 0})
        numbers = [number(line.mean, line.sd, line.n_seeds) for line in by_step.itertuples()]
        cells.append((row, printed, *numbers, "/".join(f"{n:.0f}" for n in by_step["n_seeds"])))
    return grid(header, "lrrrrrr", cells)


def _spread_grid(table: pd.DataFrame) -> list[str]:
    released = table[table["step"] == "released"]
    cells = [
        (
            row,
            *(text for line in lines.itertuples() for text in _against(line)),
            str(lines["n_seeds"].iloc[0]),
        )
        for row, lines in released.groupby("row", sort=False)
    ]
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
    folds = folds[folds["clipped"] > 0]
    shares = [folds["clipped"] / folds["n_folds"]]
    for metric in METRICS:
        means = folds["row"].map({row: printed.cell(row, metric, "vb-joint")[0] for row in folds["row"]})
        shares.append(needed(folds, metric, means))
    texts = [[f"{100 * share:.1f} %" for share in column] for column in shares]
    header = ("Data", "Ours", "For the printed TE", "For the printed NTLL")
    return grid(header, "lrrr", list(zip(folds["row"], *texts, strict=True)))


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
