"""Figure 1: five points, one mislabelled; and the errors over the random sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from papers.core import style
from papers.rep import points
from papers.rep.figures import styles
from papers.rep.figures.styles import STYLES
from papers.rep.points import BASE_SET, EXACT
from papers.rep.points_claims import ERRORS, PEPS
from tilted.inference.textbook import CONVERGED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.typing import LineStyleType

POWER = 0.8
POWER_TICKS, PENALTY_TICKS = (0.2, 0.4, 0.6, 0.8, 1.0), (1e-3, 1e-1, 1e1)
LABELS = ((1.0, "x", "#B2182B"), (-1.0, "o", "black"))
"""Label, marker and colour of the points."""
LINE = {"linestyle": "-", "linewidth": 1.2}


def of_base(table: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of the base set."""
    return table[table["set"] == BASE_SET]


def relaxed(table: pd.DataFrame) -> list[str]:
    """Return the readings of REP in a table."""
    return [name for name in styles.present(table) if name.startswith("rep-")]


def best(lines: pd.DataFrame) -> pd.Series | None:
    """Return a method's row with the smallest error of the mean among runs that converged, if any."""
    converged = lines[lines["outcome"] == CONVERGED]
    return None if converged.empty else converged.loc[converged["mean_error"].idxmin()]


def base(table: pd.DataFrame, stem: Path) -> None:
    """Draw decision boundaries of the base set, and errors of mean and covariance against u and c."""
    with style.drawing(stem, (7.2, 4.6)) as figure:
        panels = figure.subplot_mosaic("abc;tde", width_ratios=(1.25, 1.0, 1.0))
        _boundaries(panels["a"], panels["t"], table)
        for names, methods, label in (("bc", PEPS, "power u"), ("de", relaxed(table), "penalty c")):
            for name, score in zip(names, ERRORS, strict=True):
                _errors(panels[name], table, methods, score)
                panels[name].set_xlabel(label)
                panels[name].set_title(f"({name}) error of the {ERRORS[score]}", loc="left", fontsize=8.0)
                if methods is PEPS:
                    panels[name].set_xticks(POWER_TICKS)
                else:
                    panels[name].set_xscale("log")
        for name in "bd":
            panels[name].set_ylabel("mean squared error")
        for pair in ("bd", "ce"):
            ends = [end for name in pair for end in panels[name].get_ylim()]
            for name in pair:
                panels[name].set_ylim(min(ends), max(ends))
        handles = [styles.line_handle("ep", linestyle=styles.DASHES, marker="")]
        handles += [styles.line_handle(name) for name in (*styles.present(table, PEPS), *relaxed(table))]
        handles.append(styles.mark("x", "not converged: at its last posterior"))
        figure.legend(handles=handles, loc="outside lower center", ncols=4)


def _boundaries(axes: Axes, turns: Axes, table: pd.DataFrame) -> None:
    """Draw the points with the boundaries, and below, each boundary's angle to the exact one."""
    X, y = points.points()
    styles.labelled(axes, X, y, LABELS, markersize=6.0, markeredgewidth=1.3, zorder=5)
    axes.annotate("mislabelled", X[-1], xytext=(0, 7), textcoords="offset points", ha="center", fontsize=6.5)
    exact = table[table["method"] == EXACT].iloc[0]
    _boundary(axes, exact, "black", "-", 2.4)
    by_method = _chosen(table)
    for height, (method, line) in enumerate(by_method.items()):
        _boundary(axes, line, STYLES[method].colour, styles.DASHES, 1.0)
        turns.plot(_turned(line, exact), height, **styles.marks(method, markersize=5.0, linestyle="-"))
    axes.set(xlim=(-2.6, 5.0), ylim=(-2.2, 2.2), xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    axes.set_title("(a) boundaries; black: exact", loc="left", fontsize=8.0)
    style.row_axis([turns], [_named(method, line) for method, line in by_method.items()])
    turns.tick_params(axis="y", labelsize=6.2)
    turns.axvline(0.0, color="black", linewidth=1.6, zorder=2)
    turns.grid(True, axis="x")
    turns.set_xlabel("turned from the exact one (degrees)")


def _chosen(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Select the rows whose boundaries are drawn: EP, one Power EP, each reading at its best penalty."""
    powered = (table["method"] == "pep") & (table["value"] == POWER)
    lines = {"ep": best(table[table["method"] == "ep"]), "pep": best(table[powered])}
    lines |= {name: best(table[table["method"] == name]) for name in relaxed(table)}
    return {method: line for method, line in lines.items() if line is not None}


def _named(method: str, line: pd.Series) -> str:
    """Return the label of a method and, in a second line, its parameter."""
    name = {"ep": "", "pep": "u"}.get(method, "c")
    return STYLES[method].label + (f"\n{name} = {line['value']:.3g}" if name else "")


def _boundary(axes: Axes, line: pd.Series, colour: str, dashes: LineStyleType, width: float) -> None:
    """Draw the line through the origin at right angles to the mean weights."""
    direction = np.array([-float(line["mean_1"]), float(line["mean_0"])])
    x_1, x_2 = (12.0 * np.array([-1.0, 1.0])[:, None] * direction / np.linalg.norm(direction)).T
    axes.plot(x_1, x_2, color=colour, linestyle=dashes, linewidth=width, zorder=3)


def _turned(line: pd.Series, exact: pd.Series) -> float:
    """Return the angle from the exact boundary in degrees, counter-clockwise."""
    angle, truth = (np.degrees(np.arctan2(row["mean_1"], row["mean_0"])) for row in (line, exact))
    return float((angle - truth + 180.0) % 360.0 - 180.0)


def _errors(axes: Axes, table: pd.DataFrame, methods: Iterable[str], score: str) -> None:
    """Draw an error against the parameter, one line for each method; EP's is horizontal."""
    for value in table.loc[table["method"] == "ep", score]:
        axes.axhline(value, color=STYLES["ep"].colour, linestyle=styles.DASHES, linewidth=1.2, zorder=2)
    for method in methods:
        lines = table[table["method"] == method].sort_values("value")
        converged = lines["outcome"] == CONVERGED
        joined = styles.marks(method, markersize=3.2, linestyle="-", linewidth=1.0)
        axes.plot(lines["value"], lines[score].where(converged), **joined)
        cross = styles.marks(method, markersize=3.2, marker="x", markeredgewidth=0.8)
        axes.plot(lines["value"][~converged], lines[score][~converged], **cross)
    axes.set_yscale("log")
    axes.grid(True, axis="y")


def of_random_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Select the rows of the methods on the random sets."""
    return table[(table["set"] != BASE_SET) & (table["method"] != EXACT)]


def ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of methods other than EP, with errors divided by those of EP on the same set.

    Whatever the outcome: an error is that of the last proper posterior.
    """
    ep = table[table["method"] == "ep"].set_index("set")
    relative = table[table["method"] != "ep"].copy()
    for score in ERRORS:
        relative[score] = relative[score] / relative["set"].map(ep[score])
    return relative


def over_sets(table: pd.DataFrame, stem: Path) -> None:
    """Draw ratios of errors to EP's over the random sets: median, quartiles; below, runs not converged."""
    relative = ratios(table)
    methods = styles.present(relative)
    with style.drawing(stem, (7.2, 4.4)) as figure:
        heights = (1.0, 1.0, 0.42)
        grid = figure.subplots(3, len(methods), sharey="row", squeeze=False, height_ratios=heights)
        for column, method in zip(grid.T, methods, strict=True):
            lines = relative[relative["method"] == method]
            for axes, score in zip(column, ERRORS, strict=False):
                _quartiles(axes, lines, score, method)
            _unconverged(column[-1], lines)
            label = STYLES[method].label.replace("Power EP, as", "Power EP,\nas").replace("REP, ", "REP,\n")
            column[0].set_title(label, fontsize=7.5)
            column[-1].set_xlabel("u" if method in PEPS else "c")
            for axes in column:
                axes.sharex(column[0])
                if method not in PEPS:
                    axes.set_xscale("log")
                    axes.set_xticks(PENALTY_TICKS)
                if axes is not column[-1]:
                    axes.tick_params(labelbottom=False)
        for axes, name in zip(grid[:, 0], ERRORS.values(), strict=False):
            axes.set_ylabel(f"{name} error\n/ EP's")
        grid[-1, 0].set_ylabel("not\nconverged")
        ep = table[table["method"] == "ep"]
        converged, n = int((ep["outcome"] == CONVERGED).sum()), relative["set"].nunique()
        figure.suptitle(f"{n} random sets of five points; EP converged on {converged}", fontsize=8.5)
        handles = [
            styles.mark("o", "median", markersize=2.8, **LINE),
            style.patch("quartiles", color=style.GREY, alpha=0.28, linewidth=0),
            styles.mark("", "EP", color=STYLES["ep"].colour, linestyle=styles.DASHES, linewidth=1.0),
            *styles.end_handles(relative["outcome"]),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=5)


def _quartiles(axes: Axes, lines: pd.DataFrame, score: str, method: str) -> None:
    of_values, colour = lines.groupby("value")[score], STYLES[method].colour
    low, middle, high = (of_values.quantile(q) for q in (0.25, 0.5, 0.75))
    axes.fill_between(low.index, low, high, color=colour, alpha=0.28, linewidth=0, zorder=2)
    axes.plot(middle.index, middle, **styles.marks(method, markersize=2.8, **LINE))
    axes.axhline(1.0, color=STYLES["ep"].colour, linestyle=styles.DASHES, linewidth=1.0, zorder=2.5)
    axes.set_yscale("log")
    axes.grid(True, axis="y")


def _unconverged(axes: Axes, lines: pd.DataFrame) -> None:
    """Draw the share of sets without convergence at each value, outcomes stacked."""
    of_values = lines.groupby("value")["outcome"]
    floor = 0.0
    for name, grey in styles.ENDS.items():
        share = of_values.apply(lambda outcomes, name=name: float((outcomes == name).mean()))
        if share.any():
            axes.fill_between(share.index, floor, floor + share, facecolor=grey, zorder=2, **styles.EDGE)
        floor = floor + share
    axes.set_ylim(0.0, 1.0)
    axes.set_yticks([0.0, 0.5, 1.0], ["0", "50 %", "100 %"])
