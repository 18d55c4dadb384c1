"""A comparison as files: CSV for machines, Markdown for eyes, LaTeX for the paper.

All three are functions of the table handed in and of nothing else, so writing twice gives the
same bytes. Means are printed with one decimal, as the paper prints them; the CSV has every digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.results.aggregate import LeftOutSeed, TroubledFit
from tilted.results.published import COLUMNS, METRICS, PUBLISHED_COLUMNS, method_order
from tilted.results.store import write_text
from tilted.results.troubles import left_out_lines, trouble_lines

if TYPE_CHECKING:
    import pandas as pd

UNITS = {"TE": ("Test error", "10^-2"), "NTLL": ("Negative test log-likelihood", "10^-3")}

HEADER = ("Data", "Method", "Ours", "Published", "Dev.", "Seeds", "Converged", "Note")
ALIGN = "llrrrrrl"

LEGEND = """\
Mean and population standard deviation over seeds ("± -": a single seed). Dev.: ours minus published
in units of the published standard deviation (note "sd 0": that is 0.0, there is no such ratio).
Converged: fits that met their convergence test, of those attempted; "unconv." counts the others,
failed ones included. A mean uses every seed all of whose folds gave finite numbers, whether or not
each fit converged; a seed with a failed or absent fold is left out whole."""


def write_csv(table: pd.DataFrame, path: str | Path) -> Path:
    """Write a comparison (`published.compare`) as CSV with exactly `published.COLUMNS`.

    Floats are written so that they read back exactly; an empty cell is a number that does not
    exist.

    Raises
    ------
    ValueError
        The table has other columns.
    """
    if tuple(table.columns) != COLUMNS:
        raise ValueError(f"columns {list(table.columns)} are not {list(COLUMNS)}")
    return write_text(path, table.to_csv(index=False, lineterminator="\n"))


def markdown(
    table: pd.DataFrame,
    troubles: Sequence[TroubledFit] = (),
    missing: Sequence[LeftOutSeed] = (),
    title: str = "Table 1: ours against published",
) -> str:
    """A comparison as Markdown that is also legible as plain text.

    Parameters
    ----------
    table : pandas.DataFrame
        As `published.compare` returns it.
    troubles : sequence of TroubledFit
        As `aggregate.troubled` returns them; listed below the table.
    missing : sequence of LeftOutSeed
        As `aggregate.left_out` returns them; listed below the table.
    title : str
        First heading.

    Returns
    -------
    text : str
        Ends with a line feed.
    """
    lines = [f"# {title}", "", *LEGEND.splitlines(), ""]
    for (protocol, metric), part in table.groupby(["protocol", "metric"], sort=False):
        name, unit = UNITS[metric]
        lines += [f"## {name} ({metric}, x {unit}), protocol {protocol}", ""]
        lines += [*_grid(list(part.itertuples(index=False))), ""]
    lines += ["## Seeds left out of the means", "", *left_out_lines(missing), ""]
    lines += ["## Fits that failed or did not converge", "", *trouble_lines(troubles)]
    return "\n".join(lines) + "\n"


def write_markdown(
    table: pd.DataFrame,
    path: str | Path,
    troubles: Sequence[TroubledFit] = (),
    missing: Sequence[LeftOutSeed] = (),
    title: str = "Table 1: ours against published",
) -> Path:
    """Write `markdown` to a file."""
    return write_text(path, markdown(table, troubles, missing, title))


def number(mean: float, sd: float, n_seeds: int | None = None) -> str:
    """``mean ± sd`` with one decimal; ``-`` where there is no mean, ``± -`` for one seed."""
    if math.isnan(mean):
        return "-"
    spread = f"{sd:.1f}" if n_seeds != 1 else "-"
    return f"{mean:.1f} ± {spread:>4}"


def deviation(value: float) -> str:
    """A deviation in standard deviations, signed, two decimals; empty when there is none."""
    return "" if math.isnan(value) else f"{value:+z.2f}"


def notes(line) -> str:
    """What a reader of one line of the table has to know, or an empty string."""
    parts = []
    if line.published_sd == 0:
        parts.append("sd 0, no dev.")
    if line.n_seeds == 0:
        parts.append("no complete seed")
    if line.n_converged < line.n_attempted:
        parts.append(f"{line.n_attempted - line.n_converged} unconv.")
    return "; ".join(parts)


def _grid(lines: Sequence) -> list[str]:
    """Aligned pipe table; a data set is named on its first line only."""
    cells, previous = [HEADER], None
    for line in lines:
        shown = "" if line.row == previous else line.row
        previous = line.row
        cells.append(
            (
                shown,
                line.method,
                number(line.mean, line.sd, line.n_seeds),
                number(line.published_mean, line.published_sd),
                deviation(line.deviation_sd),
                str(line.n_seeds),
                f"{line.n_converged}/{line.n_attempted}",
                notes(line),
            )
        )
    widths = [max(len(row[k]) for row in cells) for k in range(len(HEADER))]
    rules = ["-" * w if side == "l" else "-" * (w - 1) + ":" for w, side in zip(widths, ALIGN, strict=True)]
    return [_row(row, widths) for row in (cells[0], rules, *cells[1:])]


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        text.ljust(width) if side == "l" else text.rjust(width)
        for text, width, side in zip(row, widths, ALIGN, strict=True)
    ]
    return f"| {' | '.join(cells)} |"


def write_tex(
    table: pd.DataFrame,
    path: str | Path,
    sizes: dict[str, tuple[int, int]] | None = None,
    methods: Sequence[str] | None = None,
) -> Path:
    """Write a comparison as LaTeX (booktabs) in the paper's arrangement.

    Data sets are rows, TE and NTLL groups of columns; the published value stands in grey
    beneath ours. One ``table`` environment a protocol; needs packages booktabs and xcolor.

    Parameters
    ----------
    table : pandas.DataFrame
        As `published.compare` returns it.
    path : str or Path
    sizes : dict, optional
        Row -> (m, n), see `published.sizes`; without it the two columns are left out.
    methods : sequence of str, optional
        Columns of each group; default: the methods of the table that have a published column,
        in the paper's order. The caption names the methods of the table left out.
    """
    chosen = list(methods or [m for m in PUBLISHED_COLUMNS if m in set(table["method"])])
    parts = [
        "\n".join(_tex_table(str(protocol), part, sizes, chosen))
        for protocol, part in table.groupby("protocol", sort=False)
    ]
    return write_text(path, "% Needs \\usepackage{booktabs,xcolor}.\n" + "\n\n".join(parts) + "\n")


def _tex_table(protocol: str, part, sizes, methods: Sequence[str]) -> list[str]:
    cells = {(line.row, line.metric, line.method): line for line in part.itertuples(index=False)}
    first, width = (3 if sizes else 1), len(methods)
    spans = [(first + 1 + k * width, first + (k + 1) * width) for k in range(len(METRICS))]
    groups = [rf"\multicolumn{{{width}}}{{c}}{{{m} ($\times {_tex_unit(m)}$)}}" for m in METRICS]
    labels = [PUBLISHED_COLUMNS.get(m, m.upper()) for m in methods] * len(METRICS)
    names = ["Data", "$m$", "$n$"][:first]
    return [
        r"\begin{table}", r"\centering", r"\small", _tex_caption(protocol, part, methods),
        rf"\begin{{tabular}}{{l{'r' * (first - 1)}{'c' * width * len(METRICS)}}}", r"\toprule",
        " & ".join([*[""] * first, *groups]).lstrip() + r" \\",
        " ".join(rf"\cmidrule(lr){{{a}-{b}}}" for a, b in spans),
        " & ".join([*names, *labels]) + r" \\", r"\midrule",
        *_tex_body(cells, list(dict.fromkeys(part["row"])), sizes, methods),
        r"\bottomrule", r"\end{tabular}", r"\end{table}",
    ]  # fmt: skip


def _tex_body(cells: dict, rows: Sequence[str], sizes, methods: Sequence[str]) -> list[str]:
    lines = []
    for row in rows:
        found = [cells.get((row, metric, method)) for metric in METRICS for method in methods]
        size = list(map(str, sizes.get(row, ("--", "--")))) if sizes else []
        ours = [_tex_number(c.mean, c.sd, c.n_seeds) if c else "--" for c in found]
        theirs = [_tex_number(c.published_mean, c.published_sd) if c else "--" for c in found]
        grey = [rf"\textcolor{{gray}}{{{text}}}" for text in theirs]
        lines.append(" & ".join([row, *size, *ours]) + r" \\")
        lines.append(" & ".join([*[""] * (1 + len(size)), *grey]).lstrip() + r" \\[2pt]")
    return lines


def _tex_caption(protocol: str, part, methods: Sequence[str]) -> str:
    once = part[part["method"].isin(methods)].drop_duplicates(["row", "method"])
    text = (
        f"Ours, protocol {protocol}, with the published values beneath in grey: mean and "
        "population standard deviation over seeds (a dash for a single seed). "
        f"{once['n_converged'].sum()} of {once['n_attempted'].sum()} fits converged; a seed with "
        "a failed or absent fold is left out whole."
    )
    others = method_order([m for m in part["method"] if m not in methods])
    if others:
        text += f" Not shown: {', '.join(others)}."
    return rf"\caption{{{text}}}"


def _tex_number(mean: float, sd: float, n_seeds: int | None = None) -> str:
    if math.isnan(mean):
        return "--"
    return rf"${mean:.1f}_{{\pm {f'{sd:.1f}' if n_seeds != 1 else '-'}}}$"


def _tex_unit(metric: str) -> str:
    base, power = UNITS[metric][1].split("^")
    return f"{base}^{{{power}}}"
