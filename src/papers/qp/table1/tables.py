"""Table 1 as CSV, Markdown and LaTeX.

The CSV has six decimals of the printed units, far below any spread and far above rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core import provenance, render
from papers.core.grid import deviation, grid, items, number, seeds_text
from papers.core.render import Column, text
from papers.core.store import write_text
from papers.qp import published
from papers.qp.fit_rows import OK
from papers.qp.published import METRICS, PUBLISHED_COLUMNS, UNITS, method_order, paper_methods
from papers.qp.records import FITS
from papers.qp.table1.rows import AGAINST, REPORTED, has_asterisk, left_out, trouble_entries

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.qp.results import Results

TITLE = "Table 1 of the QP paper: ours and published"
LEGEND = """\
Mean ± population standard deviation over seeds ("± -": a single seed), the mean over the folds within a
seed. A mean uses every seed all of whose folds gave numbers, whether or not each fit converged; a seed
with a failed or absent fold is left out whole. Seeds: how many our means rest on, EP/QP/VB (one number where
all three rest on as many), and below it the paper's. Asterisk: QP's NTLL is strictly below EP's in more than
90 % of the experiments, by folds and by seeds; *f by folds only, *s by seeds only (the paper prints one
asterisk and does not say which)."""

LONG_LEGEND = """\
Dev.: ours minus published in units of the published standard deviation (note "sd 0": that is 0.0, there is
no such ratio). Converged: fits that met their convergence test, of those attempted; "unconv." counts the
others, failed ones included."""

GAP_LEGEND = """\
Gap: mean of EP - QP (NTLL x 10^-3); then the experiments in which QP's NTLL is strictly below EP's. All over
the seeds complete for both. First against EP as reported, then against the EP record with QP's
hyperparameters (they differ where a protocol tunes EP twice)."""


def write_rounded(table: pd.DataFrame, path: str | Path, decimals: int) -> Path:
    """Write a table as CSV, its numbers rounded; an empty cell is a number that does not exist."""
    floats = table.select_dtypes("float").columns
    rounded = table.assign(**{name: table[name].round(decimals) + 0.0 for name in floats})  # no -0.0
    return write_text(path, rounded.to_csv(index=False, lineterminator="\n"))


class PaperRow(NamedTuple):
    """A row of Table 1 in the paper's columns: EP, QP and VB, first their TE and then their NTLL.

    Attributes
    ----------
    row : str
    ours : list of tuple
        Mean, standard deviation and number of seeds; NaN where a method was not run.
    printed : list of tuple
        Mean and standard deviation; NaN where none is printed.
    stars : tuple of str
        Asterisks of our and of the printed NTLL of QP: ``*``, ``*f`` (by folds only), ``*s`` (by seeds only).
    """

    row: str
    ours: list[tuple[float, float, int]]
    printed: list[tuple[float, float]]
    stars: tuple[str, str]

    @property
    def n_seeds(self) -> list[int]:
        """Return our numbers of seeds of EP, QP and VB."""
        return [n_seeds for *_, n_seeds in self.ours[: len(PUBLISHED_COLUMNS)]]


QP_NTLL = 4
"""Column of `PaperRow` that has the asterisk."""


def paper_rows(results: Results, protocol: str, methods: Sequence[str]) -> Iterator[PaperRow]:
    """Yield the rows of Table 1 under a protocol; ``methods`` are in the columns EP, QP and VB."""
    table, starred = results.table[results.table["protocol"] == protocol], marks(results.gaps, protocol)
    for row, lines in table.groupby("row", sort=False):
        ours = {
            (line.metric, line.method): (line.mean, line.sd, line.n_seeds)
            for line in lines.itertuples(index=False)
        }
        yield PaperRow(
            row,
            [ours.get((metric, name), (math.nan, math.nan, 0)) for metric in METRICS for name in methods],
            [results.printed.cell(row, metric, name) for metric in METRICS for name in PUBLISHED_COLUMNS],
            (starred.get(row, ""), "*" if results.printed.asterisks.get(row) else ""),
        )


def marks(gaps: pd.DataFrame, protocol: str) -> dict[str, str]:
    """Map each row to its asterisk: ``*``, ``*f`` (by folds only), ``*s`` (by seeds only), or empty.

    The asterisk compares QP with EP as reported.
    """
    lines = gaps[(gaps["protocol"] == protocol) & (gaps["against"] == REPORTED)]
    kinds = {(True, True): "*", (True, False): "*f", (False, True): "*s", (False, False): ""}
    return {
        line.row: kinds[
            has_asterisk(line.n_below, line.n_folds), has_asterisk(line.n_seeds_below, line.n_seeds)
        ]
        for line in lines.itertuples(index=False)
    }


def vb_is(method: str) -> str:
    """Name the method in the column VB; the published column is always the joint search."""
    joint = published.printed_as(method) == "vb-joint"
    return f"VB is {method}" if joint else f"our VB is {method}, the published one vb-joint"


# Markdown


def markdown(results: Results) -> str:
    """Return Table 1 as Markdown that is also legible as plain text; ends with a line feed."""
    lines = [f"# {TITLE}", "", *LEGEND.splitlines(), ""]
    note = results.note(*FITS.values())
    if provenance.warnings(group for study in FITS.values() for group in results.groups[study]):
        lines += ["**Not all of these records were verified: see Provenance below.**", ""]
    for protocol, table in results.table.groupby("protocol", sort=False):
        lines += [*_paper_table(results, str(protocol), paper_methods(table["method"])), ""]
    lines += ["## QP's NTLL against EP's", "", *_gap_lines(results.gaps), ""]
    lines += ["## Every method", "", *LONG_LEGEND.splitlines(), ""]
    for (protocol, metric), cells in results.table.groupby(["protocol", "metric"], sort=False):
        name, unit = UNITS[metric]
        lines += [f"### {name} ({metric}, x {unit}), protocol {protocol}", "", *_long_table(cells), ""]
    lines += ["## Seeds left out of the means", "", *items(left_out(results.fits)), ""]
    lines += ["## Fits that failed or did not converge", "", *items(trouble_entries(results.fits)), ""]
    lines += ["## Provenance", "", *_provenance(results), *note]
    return "\n".join(lines).rstrip() + "\n"


def _paper_table(results: Results, protocol: str, methods: Sequence[str]) -> Iterator[str]:
    """Yield one protocol in the paper's arrangement, our values above the published ones."""
    labels = [f"{metric} {column}" for metric in METRICS for column in PUBLISHED_COLUMNS.values()]
    yield from [f"## Protocol {protocol} (TE x 10^-2, NTLL x 10^-3; {vb_is(methods[-1])})", ""]
    cells = []
    for line in paper_rows(results, protocol, methods):
        paper_seeds = str(published.n_seeds(line.row) or "-")
        cells.append((line.row, "ours", *_starred(line.ours, line.stars[0]), seeds_text(line.n_seeds)))
        cells.append(("", "published", *_starred(line.printed, line.stars[1]), paper_seeds))
    yield from grid(("Data", "Numbers", *labels, "Seeds"), "llrrrrrrr", cells)


def _starred(cells: Sequence[tuple[Any, ...]], star: str) -> list[str]:
    """Format the cells of a row; that of QP's NTLL has an asterisk, or its space."""
    texts = [number(*cell) for cell in cells]
    texts[QP_NTLL] += f" {star:<2}"
    return texts


def _gap_lines(gaps: pd.DataFrame) -> Iterator[str]:
    """Yield the shares of experiments with QP's NTLL below EP's, and the mean gap."""
    yield from GAP_LEGEND.splitlines()
    yield ""
    header = ("Protocol", "Data", "Gap", "Folds", "Seeds", "Gap (equal)", "Folds (equal)", "Seeds (equal)")
    cells = []
    for names, both in gaps.groupby(["protocol", "row"], sort=False):
        texts = {line.against: _gap_cells(line) for line in both.itertuples(index=False)}
        cells.append((*names, *(text for name in AGAINST for text in texts.get(name, ("-",) * 3))))
    yield from grid(header, "llrrrrrr", cells)


def _gap_cells(line: Any) -> tuple[str, str, str]:
    gap = "-" if math.isnan(line.gap) else f"{line.gap:+z.3f}"
    return gap, share(line.n_below, line.n_folds), share(line.n_seeds_below, line.n_seeds)


def share(count: int, n: int) -> str:
    """Format ``count/n`` with its per cent; ``-`` if n is 0."""
    return f"{count}/{n} {100 * count / n:5.1f} %" if n else "-"


def notes(line: Any) -> str:
    """Return the remarks on one row of the long table, or an empty string."""
    unconverged = line.n_attempted - line.n_converged
    remarks = (
        "sd 0, no dev." if line.published_sd == 0 else "",
        "no complete seed" if line.n_seeds == 0 else "",
        f"{unconverged} unconv." if unconverged else "",
    )
    return "; ".join(filter(None, remarks))


LONG_COLUMNS = (
    text("Data", "name"),
    text("Method", "method"),
    Column("Ours", lambda line: number(line.mean, line.sd, line.n_seeds)),
    Column("Published", lambda line: number(line.published_mean, line.published_sd)),
    Column("Dev.", lambda line: deviation(line.deviation_sd)),
    Column("Seeds", lambda line: f"{line.n_seeds}/{published.n_seeds(line.row) or '-'}"),
    Column("Converged", lambda line: f"{line.n_converged}/{line.n_attempted}"),
    text("Note", notes),
)


def _long_table(table: pd.DataFrame) -> list[str]:
    """Return a row for each data set and method; a data set is named on its first row."""
    named = table.assign(name=table["row"].where(table["row"] != table["row"].shift(), ""))
    return render.markdown(LONG_COLUMNS, named.itertuples(index=False))


def _provenance(results: Results) -> list[str]:
    """Return fits and core-hours of each method, and the machines."""
    fits, runs = results.fits, results.runs
    cells = []
    for name, lines in fits.groupby(["protocol", "method"], sort=False):
        converged, hours = (lines["outcome"] == OK).sum(), lines["seconds"].sum() / 3600
        days = sorted({runs[run].date for run in lines["run"].unique()} - {""})
        span = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "unknown"
        cells.append((*name, str(len(lines)), str(converged), f"{hours:.3f}", span))
    header = ("Protocol", "Method", "Fits", "Converged", "Core-hours", "Run on")
    environments = sorted({runs[name].environment for name in fits["run"].unique()} - {""})
    machines = [*items(environments), ""] if environments else []
    return [*grid(header, "llrrrl", cells), "", *machines]


# LaTeX


def latex(results: Results) -> str:
    """Return one ``table`` environment for each protocol; it needs the packages booktabs and xcolor.

    Rows are data sets, groups of columns TE and NTLL. The published value is in grey beneath ours. The
    caption names the methods left out and the rows with fewer seeds than the paper's.
    """
    protocols = results.table.groupby("protocol", sort=False)
    tables = ["\n".join(_latex_table(results, str(name), table)) for name, table in protocols]
    return "% Needs \\usepackage{booktabs,xcolor}.\n" + "\n\n".join(tables) + "\n"


def _latex_table(results: Results, protocol: str, table: pd.DataFrame) -> list[str]:
    methods = paper_methods(table["method"])
    rows = list(paper_rows(results, protocol, methods))
    groups = [rf"\multicolumn{{3}}{{c}}{{{metric} ($\times {_unit(metric)}$)}}" for metric in METRICS]
    return [
        r"\begin{table}",
        r"\centering",
        r"\small",
        _caption(protocol, table, methods, rows),
        r"\begin{tabular}{lrrcccccc}",
        r"\toprule",
        " & ".join(["", "", "", *groups]).lstrip() + r" \\",
        r"\cmidrule(lr){4-6} \cmidrule(lr){7-9}",
        " & ".join(["Data", "$m$", "$n$", *[*PUBLISHED_COLUMNS.values()] * 2]) + r" \\",
        r"\midrule",
        *(text for row in rows for text in _latex_row(row, results.printed.sizes)),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def _latex_row(line: PaperRow, sizes: dict[str, tuple[int, int]]) -> Iterator[str]:
    """Yield our numbers, and the printed ones in grey."""
    ours, printed = ([_number(*cell) for cell in cells] for cells in (line.ours, line.printed))
    for cells, star in zip((ours, printed), line.stars, strict=True):
        cells[QP_NTLL] += _star(star)
    size = map(str, sizes.get(line.row, ("--", "--")))
    yield " & ".join([line.row.replace("_", r"\_"), *size, *ours]) + r" \\"
    grey = [rf"\textcolor{{gray}}{{{text}}}" for text in printed]
    yield " & ".join(["", "", "", *grey]).lstrip() + r" \\[2pt]"


def _caption(protocol: str, table: pd.DataFrame, methods: Sequence[str], rows: Sequence[PaperRow]) -> str:
    shown = table[table["method"].isin(methods)].drop_duplicates(["row", "method"])
    text = (
        f"Ours, protocol {protocol}, with the published values beneath in grey: mean and "
        "population standard deviation over seeds (a dash for a single seed). "
        f"Column VB: {vb_is(methods[-1])}. "
        "An asterisk: QP's NTLL is below EP's in more than 90\\,\\% of the experiments "
        "(f, s: only counting folds, seeds). "
        f"{shown['n_converged'].sum()} of {shown['n_attempted'].sum()} fits converged; a seed with "
        "a failed or absent fold is left out whole."
    )
    fewer = [
        f"{line.row} {seeds_text(line.n_seeds)}"
        for line in rows
        if min(line.n_seeds) < published.n_seeds(line.row)
    ]
    if fewer:
        text += f" Seeds (EP/QP/VB where they differ), fewer than the paper's: {', '.join(fewer)}."
    absent = method_order([m for m in table["method"] if m not in methods])
    if absent:
        text += f" Not shown: {', '.join(absent)}."
    return rf"\caption{{{text}}}"


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
