"""Figure 1: five points, one mislabelled; and its errors over the random sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments import five_points
from tilted.experiments.rep_points import EXACT
from tilted.inference.textbook import CONVERGED
from tilted.results import style
from tilted.results.rep import looks
from tilted.results.rep.looks import LOOKS
from tilted.results.rep.points import ERRORS, PEPS

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.typing import LineStyleType

BASE = -1
POWER = 0.8
POWER_TICKS, PENALTY_TICKS = (0.2, 0.4, 0.6, 0.8, 1.0), (1e-3, 1e-1, 1e1)


def of_base(table: pd.DataFrame) -> pd.DataFrame:
    """Lines of the base set."""
    return table[table["set"] == BASE]


def relaxed(table: pd.DataFrame) -> list[str]:
    """The readings of REP in a table."""
    return [name for name in looks.present(table) if name.startswith("rep-")]


def best(part: pd.DataFrame) -> pd.Series | None:
    """Line of a method with the smallest error of the mean among runs that converged, if any."""
    converged = part[part["outcome"] == CONVERGED]
    return None if converged.empty else converged.loc[converged["mean_error"].idxmin()]


def base(table: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Decision boundaries of the base set; errors of mean and covariance against u and c."""
    from matplotlib.figure import Figure

    table = of_base(table)
    with style.applied():
        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        panels = figure.subplot_mosaic("abc;tde", width_ratios=(1.25, 1.0, 1.0))
        _boundaries(panels["a"], panels["t"], table)
        sweeps = (("bc", PEPS, "power u"), ("de", relaxed(table), "penalty c"))
        for names, methods, label in sweeps:
            for name, score in zip(names, ERRORS, strict=True):
                _errors(panels[name], table, methods, score)
                panels[name].set_xlabel(label)
                panels[name].set_title(f"({name}) error of the {ERRORS[score]}", loc="left", fontsize=8.0)
                if name in "de":
                    panels[name].set_xscale("log")
                else:
                    panels[name].set_xticks(POWER_TICKS)
        for first, second in ("bd", "ce"):
            panels[first].set_ylabel("mean squared error" if first == "b" else "")
            panels[second].set_ylabel("mean squared error" if second == "d" else "")
            _same_limits(panels[first], panels[second])
        methods = ["ep", *looks.present(table, PEPS), *relaxed(table)]
        handles = [looks.line_handle(name, linestyle=looks.DASHES, marker="") if name == "ep"
                   else looks.line_handle(name) for name in methods]  # fmt: skip
        handles.append(looks.mark("x", "not converged: at its last posterior"))
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
        return style.save(figure, stem)


def _boundaries(axes: Axes, turns: Axes, table: pd.DataFrame) -> None:
    """The points with the boundaries; below, how far each is turned from the exact one."""
    X, y = five_points.points()
    for label, marker, colour in ((1.0, "x", "#B2182B"), (-1.0, "o", "black")):
        part = X[y == label]
        axes.plot(part[:, 0], part[:, 1], linestyle="", marker=marker, markersize=6.0, color=colour,
                  markerfacecolor="none", markeredgewidth=1.3, zorder=5)  # fmt: skip
    axes.annotate("mislabelled", X[-1], xytext=(0, 7), textcoords="offset points", ha="center", fontsize=6.5)
    exact = table[table["method"] == EXACT].iloc[0]
    _boundary(axes, exact, "black", "-", 2.4)
    shown = _shown(table)
    for height, (method, line) in enumerate(shown.items()):
        look = LOOKS[method]
        _boundary(axes, line, look.colour, looks.DASHES, 1.0)
        turns.plot(_turned(line, exact), height, marker=look.marker, color=look.colour, markersize=5.0,
                   markeredgewidth=0, zorder=3)  # fmt: skip
    axes.set(xlim=(-2.6, 5.0), ylim=(-2.2, 2.2), xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    axes.set_title("(a) boundaries; black: exact", loc="left", fontsize=8.0)
    style.row_axis([turns], [_named(method, line) for method, line in shown.items()])
    turns.tick_params(axis="y", labelsize=6.2)
    turns.axvline(0.0, color="black", linewidth=1.6, zorder=2)
    turns.grid(True, axis="x")
    turns.set_xlabel("turned from the exact one (degrees)")


def _shown(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Lines whose boundaries are drawn: EP, Power EP at one power, each reading at its best penalty."""
    powered = (table["method"] == "pep") & (table["value"] == POWER)
    found = {name: best(table[table["method"] == name]) for name in ("ep", *relaxed(table))}
    found = {"ep": found.pop("ep"), "pep": best(table[powered]), **found}
    return {method: line for method, line in found.items() if line is not None}


def _named(method: str, line: pd.Series) -> str:
    """Label of a method and, in a second line, its parameter."""
    name = {"ep": "", "pep": "u"}.get(method, "c")
    return LOOKS[method].label + (f"\n{name} = {line['value']:.3g}" if name else "")


def _boundary(axes: Axes, line: pd.Series, colour: str, dashes: LineStyleType, width: float) -> None:
    """The line through the origin at right angles to the mean weights."""
    direction = np.array([-float(line["mean_1"]), float(line["mean_0"])])
    ends = 12.0 * np.array([-1.0, 1.0])[:, None] * direction / np.linalg.norm(direction)
    axes.plot(ends[:, 0], ends[:, 1], color=colour, linestyle=dashes, linewidth=width, zorder=3)


def _turned(line: pd.Series, exact: pd.Series) -> float:
    """Angle from the exact boundary in degrees, counter-clockwise."""
    return float((np.degrees(_angle(line) - _angle(exact)) + 180.0) % 360.0 - 180.0)


def _angle(line: pd.Series) -> float:
    return float(np.arctan2(line["mean_1"], line["mean_0"]))


def _errors(axes: Axes, table: pd.DataFrame, methods: Iterable[str], score: str) -> None:
    """An error against the parameter, one line a method; EP's as a horizontal line."""
    for value in table.loc[table["method"] == "ep", score]:
        axes.axhline(value, color=LOOKS["ep"].colour, linestyle=looks.DASHES, linewidth=1.2, zorder=2)
    for method in methods:
        part, look = table[table["method"] == method].sort_values("value"), LOOKS[method]
        converged = part["outcome"] == CONVERGED
        axes.plot(part["value"], part[score].where(converged), color=look.colour, linewidth=1.0,
                  marker=look.marker, markersize=3.2, markeredgewidth=0, zorder=3)  # fmt: skip
        axes.plot(part["value"][~converged], part[score][~converged], linestyle="", marker="x",
                  markersize=3.2, markeredgewidth=0.8, color=look.colour, zorder=3)  # fmt: skip
    axes.set_yscale("log")
    axes.grid(True, axis="y")


def _same_limits(first: Axes, second: Axes) -> None:
    ends = [*first.get_ylim(), *second.get_ylim()]
    for axes in (first, second):
        axes.set_ylim(min(ends), max(ends))


def ratios(table: pd.DataFrame) -> pd.DataFrame:
    """Lines of the random sets, the errors divided by those of EP on the same set.

    Whatever the outcome: an error is that of the last proper posterior.
    """
    table = table[(table["set"] != BASE) & (table["method"] != EXACT)]
    ep = table[table["method"] == "ep"].set_index("set")
    found = table[table["method"] != "ep"].copy()
    for score in ERRORS:
        found[score] = found[score] / found["set"].map(ep[score])
    return found


def over_sets(table: pd.DataFrame, stem: str | Path) -> tuple[Path, Path]:
    """Ratios of errors to EP's over the random sets: median, quartiles; below, runs not converged."""
    from matplotlib.figure import Figure

    found = ratios(table)
    methods, n = looks.present(found), found["set"].nunique()
    with style.applied():
        figure = Figure(figsize=(7.2, 4.4), layout="constrained")
        grid = figure.subplots(3, len(methods), sharey="row", squeeze=False, height_ratios=(1.0, 1.0, 0.42))
        for column, method in zip(grid.T, methods, strict=True):
            part = found[found["method"] == method]
            for axes, score in zip(column, ERRORS, strict=False):
                _quartiles(axes, part, score, method)
            _unconverged(column[-1], part)
            column[0].set_title(LOOKS[method].label.replace("Power EP, as", "Power EP,\nas").replace(
                "REP, ", "REP,\n"), fontsize=7.5)  # fmt: skip
            column[-1].set_xlabel("u" if method in PEPS else "c")
            for axes in column:
                axes.sharex(column[0])
                if method not in PEPS:
                    axes.set_xscale("log")
                    axes.set_xticks(PENALTY_TICKS)
                if axes is not column[-1]:
                    axes.tick_params(labelbottom=False)
        for axes, name in zip(grid[:, 0], (*ERRORS.values(), None), strict=True):
            axes.set_ylabel(f"{name} error\n/ EP's" if name else "not\nconverged")
        ep = table[(table["method"] == "ep") & (table["set"] != BASE)]
        converged = int((ep["outcome"] == CONVERGED).sum())
        figure.suptitle(f"{n} random sets of five points; EP converged on {converged}", fontsize=8.5)
        figure.legend(handles=[*_quartile_handles(), *looks.end_handles(found["outcome"])],
                      loc="outside lower center", ncols=5)  # fmt: skip
        return style.save(figure, stem)


def _quartiles(axes: Axes, part: pd.DataFrame, score: str, method: str) -> None:
    by, look = part.groupby("value")[score], LOOKS[method]
    low, middle, high = (by.quantile(q) for q in (0.25, 0.5, 0.75))
    axes.fill_between(low.index, low, high, color=look.colour, alpha=0.28, linewidth=0, zorder=2)
    axes.plot(middle.index, middle, color=look.colour, linewidth=1.2, marker=look.marker, markersize=2.8,
              markeredgewidth=0, zorder=3)  # fmt: skip
    axes.axhline(1.0, color=LOOKS["ep"].colour, linestyle=looks.DASHES, linewidth=1.0, zorder=2.5)
    axes.set_yscale("log")
    axes.grid(True, axis="y")


def _unconverged(axes: Axes, part: pd.DataFrame) -> None:
    """Share of sets on which the runs of each value did not converge, an outcome on the other."""
    by = part.groupby("value")["outcome"]
    floor = 0.0
    for name, grey in looks.ENDS.items():
        share = by.apply(lambda found, name=name: float((found == name).mean()))
        if share.any():
            axes.fill_between(share.index, floor, floor + share, facecolor=grey, edgecolor="black",
                              linewidth=0.5, zorder=2)  # fmt: skip
        floor = floor + share
    axes.set_ylim(0.0, 1.0)
    axes.set_yticks([0.0, 0.5, 1.0], ["0", "50 %", "100 %"])


def _quartile_handles() -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [
        Line2D([], [], color=style.GREY, linewidth=1.2, marker="o", markersize=2.8, label="median"),
        Patch(color=style.GREY, alpha=0.28, linewidth=0, label="quartiles"),
        Line2D([], [], color=LOOKS["ep"].colour, linestyle=looks.DASHES, linewidth=1.0, label="EP"),
    ]
