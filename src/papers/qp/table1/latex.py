"""Table 1 in LaTeX (booktabs), in the paper's arrangement; it depends on the summary only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core.grid import seeds_text
from papers.core.store import write_text
from papers.qp import published
from papers.qp.published import METRICS, UNITS, method_order, paper_methods
from papers.qp.table1.tables import in_columns, marks, published_cells, vb_is

if TYPE_CHECKING:
    import pandas as pd

    from papers.qp.table1.rows import Summary


def write_latex(summary: Summary, path: str | Path) -> Path:
    """Write one ``table`` environment for each protocol; it needs the packages booktabs and xcolor.

    Rows are data sets, groups of columns TE and NTLL. The published value is in grey beneath ours. The
    caption names the methods left out and the rows with fewer seeds than the paper's.
    """
    tables = ["\n".join(_latex_table(summary, protocol)) for protocol in summary.protocols]
    return write_text(path, "% Needs \\usepackage{booktabs,xcolor}.\n" + "\n\n".join(tables) + "\n")


def _latex_table(summary: Summary, protocol: str) -> list[str]:
    table = summary.table[summary.table["protocol"] == protocol]
    methods = paper_methods(table["method"])
    groups = [rf"\multicolumn{{3}}{{c}}{{{metric} ($\times {_unit(metric)}$)}}" for metric in METRICS]
    return [
        r"\begin{table}",
        r"\centering",
        r"\small",
        _caption(protocol, table, methods),
        r"\begin{tabular}{lrrcccccc}",
        r"\toprule",
        " & ".join(["", "", "", *groups]).lstrip() + r" \\",
        r"\cmidrule(lr){4-6} \cmidrule(lr){7-9}",
        " & ".join(["Data", "$m$", "$n$", *["EP", "QP", "VB"] * 2]) + r" \\",
        r"\midrule",
        *_body(summary, protocol, table, methods),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def _body(summary: Summary, protocol: str, table: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    starred, lines = marks(summary.gaps, protocol), []
    for row, cells in table.groupby("row", sort=False):
        our_cells = [_number(c.mean, c.sd, c.n_seeds) if c else "--" for c in in_columns(cells, methods)]
        printed_cells = [_number(mean, sd) for mean, sd in published_cells(summary, row)]
        our_cells[4] += _star(starred.get(row, ""))
        printed_cells[4] += _star("*" if summary.printed.asterisks.get(row) else "")
        grey = [rf"\textcolor{{gray}}{{{text}}}" for text in printed_cells]
        size = list(map(str, summary.printed.sizes.get(row, ("--", "--"))))
        lines.append(" & ".join([row.replace("_", r"\_"), *size, *our_cells]) + r" \\")
        lines.append(" & ".join(["", "", "", *grey]).lstrip() + r" \\[2pt]")
    return lines


def _caption(protocol: str, table: pd.DataFrame, methods: Sequence[str]) -> str:
    rows = table[table["method"].isin(methods)].drop_duplicates(["row", "method"])
    text = (
        f"Ours, protocol {protocol}, with the published values beneath in grey: mean and "
        "population standard deviation over seeds (a dash for a single seed). "
        f"Column VB: {vb_is(methods[-1])}. "
        "An asterisk: QP's NTLL is below EP's in more than 90\\,\\% of the experiments "
        "(f, s: only counting folds, seeds). "
        f"{rows['n_converged'].sum()} of {rows['n_attempted'].sum()} fits converged; a seed with "
        "a failed or absent fold is left out whole."
    )
    fewer = _coverage(rows, methods)
    if fewer:
        text += f" Seeds (EP/QP/VB where they differ), fewer than the paper's: {', '.join(fewer)}."
    absent = method_order([m for m in table["method"] if m not in methods])
    if absent:
        text += f" Not shown: {', '.join(absent)}."
    return rf"\caption{{{text}}}"


def _coverage(table: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """Return the rows with fewer seeds than the paper's, each with its numbers of seeds."""
    fewer = []
    for row, lines in table.groupby("row", sort=False):
        n_seeds = dict(zip(lines["method"], lines["n_seeds"], strict=True))
        counts = [n_seeds.get(method, 0) for method in methods]
        if min(counts) < published.n_seeds(row):
            fewer.append(f"{row} {seeds_text(counts)}")
    return fewer


def _number(mean: float, sd: float, n_seeds: int | None = None) -> str:
    if math.isnan(mean):
        return "--"
    return rf"${mean:.1f}_{{\pm {f'{sd:.1f}' if n_seeds != 1 else '-'}}}$"


def _star(mark: str) -> str:
    letter = rf"\mathrm{{{mark[1:]}}}" if mark[1:] else ""
    return rf"\rlap{{$^{{*{letter}}}$}}" if mark else ""


def _unit(metric: str) -> str:
    base, power = UNITS[metric][1].split("^")
    return f"{base}^{{{power}}}"
