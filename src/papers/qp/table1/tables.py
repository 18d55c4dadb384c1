"""Table 1 as CSV and as Markdown (LaTeX: `latex`).

All functions depend on the summary only, so writing twice gives the same bytes. The CSV has six decimals of
the printed units, far below any spread and far above rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import provenance, render
from papers.core.grid import deviation, grid, items, number, seeds_text
from papers.core.render import Column, text
from papers.core.store import write_text
from papers.qp import published
from papers.qp.lines import OK
from papers.qp.published import METRICS, PUBLISHED_COLUMNS, UNITS, paper_methods
from papers.qp.table1.rows import EQUAL, REPORTED, has_asterisk, left_out_entries, trouble_entries

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.qp.table1.rows import Summary

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


def write_rounded(table: pd.DataFrame, path: str | Path, decimals: int) -> Path:
    """Write a table as CSV, its numbers rounded; an empty cell is a number that does not exist."""
    floats = table.select_dtypes("float").columns
    rounded = table.assign(**{name: table[name].round(decimals) + 0.0 for name in floats})  # no -0.0
    return write_text(path, rounded.to_csv(index=False, lineterminator="\n"))


def markdown(summary: Summary) -> str:
    """Return Table 1 as Markdown that is also legible as plain text; ends with a line feed."""
    lines = [f"# {TITLE}", "", *LEGEND.splitlines(), ""]
    if provenance.warnings(summary.groups):
        lines += ["**Not all of these records were verified: see Provenance below.**", ""]
    for protocol in summary.protocols:
        lines += [*_paper_table(summary, protocol), ""]
    lines += ["## QP's NTLL against EP's", "", *_gap_lines(summary.gaps), ""]
    lines += ["## Every method", "", *LONG_LEGEND.splitlines(), ""]
    for (protocol, metric), cells in summary.table.groupby(["protocol", "metric"], sort=False):
        name, unit = UNITS[metric]
        lines += [f"### {name} ({metric}, x {unit}), protocol {protocol}", "", *_long_table(cells), ""]
    troubles = [f"{heading} (seeds/folds: {fits})" for heading, fits in trouble_entries(summary.troubled)]
    lines += ["## Seeds left out of the means", "", *items(left_out_entries(summary.left_out)), ""]
    lines += ["## Fits that failed or did not converge", "", *items(troubles), ""]
    lines += ["## Provenance", "", *_provenance(summary)]
    return "\n".join(lines).rstrip() + "\n"


def _provenance(summary: Summary) -> list[str]:
    """Return fits and core-hours of each method, machines, and which fits were repeated."""
    cells = [
        (
            *name,
            str(len(fits)),
            str((fits["outcome"] == OK).sum()),
            f"{fits['seconds'].sum() / 3600:.3f}",
            days(summary.days(fits["run"])),
        )
        for name, fits in summary.fits.groupby(["protocol", "method"], sort=False)
    ]
    header = ("Protocol", "Method", "Fits", "Converged", "Core-hours", "Run on")
    machines = [*items(summary.environments), ""] if summary.environments else []
    return [*grid(header, "llrrrl", cells), "", *machines, *provenance.note(summary.groups)]


def days(dates: Sequence[str]) -> str:
    """Format days as text, the first and the last of several."""
    if not dates:
        return "unknown"
    return dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"


def notes(line: Any) -> str:
    """Return the remarks on one row of the long table, or an empty string."""
    remarks = []
    if line.published_sd == 0:
        remarks.append("sd 0, no dev.")
    if line.n_seeds == 0:
        remarks.append("no complete seed")
    if line.n_converged < line.n_attempted:
        remarks.append(f"{line.n_attempted - line.n_converged} unconv.")
    return "; ".join(remarks)


def marks(gaps: pd.DataFrame, protocol: str) -> dict[str, str]:
    """Map each row to its asterisk: ``*``, ``*f`` (by folds only), ``*s`` (by seeds only), or empty.

    The asterisk compares QP with EP as reported.
    """
    lines = gaps[(gaps["protocol"] == protocol) & (gaps["against"] == REPORTED)]
    kinds = {(True, True): "*", (True, False): "*f", (False, True): "*s", (False, False): ""}
    starred = {}
    for line in lines.itertuples(index=False):
        by_folds = has_asterisk(line.n_below, line.n_folds)
        by_seeds = has_asterisk(line.n_seeds_below, line.n_seeds)
        starred[line.row] = kinds[bool(by_folds), bool(by_seeds)]
    return starred


def _paper_table(summary: Summary, protocol: str) -> Iterator[str]:
    """Yield one protocol in the paper's arrangement, our values above the published ones."""
    table = summary.table[summary.table["protocol"] == protocol]
    methods = paper_methods(table["method"])
    starred, printed = marks(summary.gaps, protocol), summary.printed.asterisks
    labels = [f"{metric} {column}" for metric in METRICS for column in ("EP", "QP", "VB")]
    yield from [f"## Protocol {protocol} (TE x 10^-2, NTLL x 10^-3; {vb_is(methods[-1])})", ""]
    cells = []
    for row, lines in table.groupby("row", sort=False):
        columns = in_columns(lines, methods)
        seeds = seeds_text([line.n_seeds if line else 0 for line in columns[:3]])
        our_cells = [number(line.mean, line.sd, line.n_seeds) if line else "-" for line in columns]
        printed_cells = [number(mean, sd) for mean, sd in published_cells(summary, row)]
        cells.append((row, "ours", *_starred(our_cells, starred.get(row, "")), seeds))
        star = "*" if printed.get(row) else ""
        cells.append(("", "published", *_starred(printed_cells, star), str(published.n_seeds(row) or "-")))
    yield from grid(("Data", "Numbers", *labels, "Seeds"), "llrrrrrrr", cells)


def in_columns(lines: pd.DataFrame, methods: Sequence[str]) -> list[Any]:
    """Arrange a row's methods in the paper's columns, metric by metric; None if a method was not run."""
    by_name = {(line.metric, line.method): line for line in lines.itertuples(index=False)}
    return [by_name.get((metric, method)) for metric in METRICS for method in methods]


def vb_is(method: str) -> str:
    """Name the method in the column VB; the published column is always the joint search."""
    joint = published.printed_as(method) == "vb-joint"
    return f"VB is {method}" if joint else f"our VB is {method}, the published one vb-joint"


def published_cells(summary: Summary, row: str) -> list[tuple[float, float]]:
    """Return printed mean and sd of EP, QP and VB, metric by metric; NaN where none is printed."""
    cells = [(row, metric, name) for metric in METRICS for name in PUBLISHED_COLUMNS]
    return [summary.printed.cells.get(cell, (math.nan, math.nan)) for cell in cells]


def _starred(cells: Sequence[str], star: str) -> list[str]:
    """Add an asterisk, or its space, to the cell of QP's NTLL."""
    return [f"{text} {star:<2}" if k == 4 else text for k, text in enumerate(cells)]


def _gap_lines(gaps: pd.DataFrame) -> Iterator[str]:
    """Yield the shares of experiments with QP's NTLL below EP's, and the mean gap."""
    yield from GAP_LEGEND.splitlines()
    yield ""
    header = ("Protocol", "Data", "Gap", "Folds", "Seeds", "Gap (equal)", "Folds (equal)", "Seeds (equal)")
    cells = []
    for (protocol, row), both in gaps.groupby(["protocol", "row"], sort=False):
        lines = both.set_index("against")
        texts = [text for name in (REPORTED, EQUAL) for text in _gap_cells(lines, name)]
        cells.append((protocol, row, *texts))
    yield from grid(header, "llrrrrrr", cells)


GAP_LEGEND = """\
Gap: mean of EP - QP (NTLL x 10^-3); then the experiments in which QP's NTLL is strictly below EP's. All over
the seeds complete for both. First against EP as reported, then against the EP record with QP's
hyperparameters (they differ where a protocol tunes EP twice)."""


def _gap_cells(lines: pd.DataFrame, against: str) -> tuple[str, str, str]:
    if against not in lines.index:
        return "-", "-", "-"
    line = lines.loc[against]
    gap = f"{line['gap']:+z.3f}" if line["gap"] == line["gap"] else "-"
    return gap, share(line["n_below"], line["n_folds"]), share(line["n_seeds_below"], line["n_seeds"])


def share(count: int, n: int) -> str:
    """Format ``count/n`` with its per cent; ``-`` if n is 0."""
    return f"{count}/{n} {100 * count / n:5.1f} %" if n else "-"


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
