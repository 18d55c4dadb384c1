"""The document about differences: hand-written prose around generated tables of effects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.results.aggregate import FIELDS
from tilted.results.differences import (
    FILE,
    GAP,
    PROVENANCE,
    effects,
    load,
    outdated,
    read_with_bases,
    write_csv,
)
from tilted.results.grid import grid, items
from tilted.results.store import write_text

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

NAMES = {"ep": "EP", "qp": "QP", "vb": "VB", "vb-joint": "VB (joint)", GAP: "QP − EP"}
TODAYS = "Every fit behind these effects was made by today's source."
SECTION = re.compile(r"(<!-- effects: ([a-z0-9-]+) -->\n).*?(<!-- end -->)", re.S)
MADE = re.compile(r"(<!-- made -->\n).*?(<!-- end -->)", re.S)


def write_all(records: str | Path, table_path: str | Path, document: str | Path) -> None:
    """Write the table of effects and fill the document from a folder of compact records.

    Before the derived protocols were run, two records of a base can still be compared.
    """
    table = effects(read_with_bases(records))
    write_csv(table, table_path)
    loud = outdated(records) if Path(records, FILE).is_file() else None
    text = fill(Path(document).read_text(encoding="utf-8"), table, loud)
    write_text(document, text)


def fill(text: str, table: pd.DataFrame, loud: str | None = "") -> str:
    """A document with the effects in its generated sections.

    Parameters
    ----------
    text : str
        With a section ``<!-- effects: NAME -->`` to ``<!-- end -->`` for every difference, and one
        ``<!-- made -->`` for what was not made by today's source.
    table : pandas.DataFrame
        As `effects` returns it.
    loud : str
        `differences.outdated`; None without records of derived protocols.

    Raises
    ------
    ValueError
        The sections are not those of the differences, each once, or there is not one for the provenance.
    """
    present, known = [match[2] for match in SECTION.finditer(text)], [d.name for d in load()]
    if sorted(present) != sorted(known):
        odd = sorted(set(known) ^ set(present)) or sorted({n for n in present if present.count(n) > 1})
        raise ValueError(f"generated sections and differences do not agree: {', '.join(odd)}")
    text, n = MADE.subn(lambda match: f"{match[1]}{_made(loud)}\n{match[2]}", text)
    if n != 1:
        raise ValueError(f"{n} generated sections about provenance")
    return SECTION.sub(lambda match: f"{match[1]}{_section(table, match[2])}\n{match[3]}", text)


def _made(loud: str | None) -> str:
    """By which source the fits of derived protocols were made."""
    if loud is None:
        line = "No fits of changed protocols yet: the effects below compare two records of one protocol."
    else:
        line = f"{loud} (by which source: `results/qp/{PROVENANCE}`)." if loud else TODAYS
    return f"\n{line}\n"


def _section(table: pd.DataFrame, name: str) -> str:
    """Lines of one difference: a row a data set, effects of each method."""
    part = table[table["difference"] == name]
    if part.empty:
        return "\nNot measured yet.\n"
    methods = list(dict.fromkeys(part["method"]))
    shown = [(m, metric) for m in methods for metric in FIELDS if (m, metric) != (GAP, "TE")]
    header = ["Row", "Seeds", *(f"{NAMES[m]}, {metric}" for m, metric in shown)]
    cells = []
    for row, lines in part.groupby("row", sort=False):
        found = {(line.method, line.metric): line for line in lines.itertuples()}
        seeds = dict.fromkeys(str(line.n_seeds) for line in found.values())
        effects = [_cell(found[key]) if key in found else "" for key in shown]
        cells.append([row, "/".join(seeds), *effects])
    text = [*grid(header, "lr" + "r" * len(shown), cells)]
    unconverged = list(_unconverged(part))
    return "\n".join(["", *text, *(["", *items(unconverged)] if unconverged else []), ""])


def _cell(line: Any) -> str:
    """``effect ± standard error``, both in printed units."""
    spread = "" if np.isnan(line.se) else f" ± {_digits(line.se)}"
    sign = "" if line.effect == 0 else "−" if line.effect < 0 else "+"
    return f"{sign}{_digits(abs(line.effect))}{spread}"


def _digits(value: float) -> str:
    """Two decimals, more where the first digit comes later; 0 for what rounding made of 0."""
    if value < 1e-9:
        return "0"
    return f"{value:.2f}" if value >= 0.095 else f"{value:.1g}"


def _unconverged(part: pd.DataFrame) -> Iterator[str]:
    """What did not converge, a sentence a row and method."""
    counted = part[(part["metric"] == "NTLL") & (part["method"] != GAP)]
    for line in counted.itertuples():
        if line.base_unconverged or line.change_unconverged:
            yield (
                f"{line.row} {NAMES[line.method]}, not converged of {line.n_fits}: base "
                f"{line.base_unconverged}, change {line.change_unconverged}"
            )
