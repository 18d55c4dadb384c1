"""How much it matters where a search starts: fits from other starts beside those from the default one.

The Power-EP paper says neither how pseudo-inputs were initialised nor with which hyperparameters. Fits are
paired on (data set, alpha, m, split); a pair of which one failed is counted, not averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.evidence.grid import grid
from papers.evidence.store import write_text
from papers.pep import regression as pep

if TYPE_CHECKING:
    import pandas as pd

SCORES = ("nlml", "smse", "smll")
CELL = ("dataset", "alpha", "m", "split")
NAMES = "pep_starts.csv", "pep_starts.md"
COLUMNS = (
    "dataset", "alpha", "start", "n_attempted", "n_paired", "n_lower", "nlml_mean", "nlml_largest",
    "smse_mean", "smse_largest", "smll_mean", "smll_largest",
)  # fmt: skip
LEGEND = f"""\
Every other start against `{pep.DEFAULT}` (training inputs drawn at random, variance 1, lengthscales sqrt(D),
noise 0.1) at the same split, alpha and M: other draws (`data-2`, `data-3`), cluster centres of the inputs
(`k-means`, `k-means-2`), lengthscales a third or three times as long (`short`, `long`), noise 0.001
(`quiet`). NLML: difference of the energy that was minimised, nats a training point, mean and largest; lower:
in how many pairs it ended lower. SMSE, SMLL: differences of the test scores, mean and largest. Pairs of which
one fit failed are not compared."""


def effects(frame: pd.DataFrame) -> pd.DataFrame:
    """Differences to the default start, a line a (data set, alpha, start).

    Parameters
    ----------
    frame : pandas.DataFrame
        Lines of `REGRESSION`.

    Returns
    -------
    pandas.DataFrame
        `COLUMNS`: fits attempted, pairs with numbers, pairs that ended with a lower NLML; means and values of
        largest size of the differences, those of NLML by training point; NaN without a pair.
    """
    import pandas as pd

    compared = _pairs(frame)
    lines = []
    for key, part in compared.groupby(["dataset", "alpha", "start"], sort=False):
        line = dict(zip(("dataset", "alpha", "start"), key, strict=True)) | {"n_attempted": len(part)}
        paired = part[part["nlml_there"].notna() & part["nlml"].notna()]
        line |= {"n_paired": len(paired), "n_lower": int((paired["nlml"] < paired["nlml_there"]).sum())}
        for score in SCORES:
            moved = (paired[score] - paired[f"{score}_there"]).to_numpy()
            if score == "nlml":
                moved = moved / paired["n_train"].to_numpy()
            line[f"{score}_mean"] = float(np.mean(moved)) if len(moved) else np.nan
            line[f"{score}_largest"] = float(moved[np.argmax(np.abs(moved))]) if len(moved) else np.nan
        lines.append(line)
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Fits from other starts with the scores of the default one (``..._there``) of the same cell."""
    there = frame[frame["start"] == pep.DEFAULT][[*CELL, *SCORES]]
    others = frame[frame["start"] != pep.DEFAULT]
    return others.merge(there, on=list(CELL), how="left", suffixes=("", "_there"), validate="many_to_one")


def ranges(frame: pd.DataFrame) -> tuple[float, float, int]:
    """Median range of SMLL over starts, that over powers at the default start, and the number of cells.

    Both are taken over the cells (data set, m, split) of the study in which no fit failed: the first at each
    power of the cell, the second once a cell. NaN if there is no cell.
    """
    others = frame[frame["start"] != pep.DEFAULT]
    cells = frame.merge(others[list(CELL)].drop_duplicates(), on=list(CELL))
    place = ["dataset", "m", "split"]
    by_start, by_power = [], []
    for _, cell in cells.groupby(place):
        default = cell[cell["start"] == pep.DEFAULT]["smll"]
        if cell["smll"].isna().any() or default.empty:
            continue
        by_start += [np.ptp(part["smll"]) for _, part in cell.groupby("alpha")]
        by_power.append(np.ptp(default))
    if not by_power:
        return np.nan, np.nan, 0
    return float(np.median(by_start)), float(np.median(by_power)), len(by_power)


def write(frame: pd.DataFrame, made: Sequence[str], tables: Path) -> list[Path]:
    """Write ``pep_starts.csv`` and ``pep_starts.md``.

    Parameters
    ----------
    frame : pandas.DataFrame
        Lines of `records.REGRESSION`.
    made : sequence of str
        What made them (`standing.note`).
    tables : Path

    Returns
    -------
    list of Path
        Empty if there are no fits from another start.
    """
    found = effects(frame)
    if not len(found):
        return []
    csv = found.to_csv(index=False, lineterminator="\n", float_format="%.6g")
    sections = ["# Where the search starts", LEGEND, _sizes(frame), "\n".join(made), _table(found)]
    return [
        write_text(Path(tables, NAMES[0]), csv),
        write_text(Path(tables, NAMES[1]), "\n\n".join(sections) + "\n"),
    ]


def _sizes(frame: pd.DataFrame) -> str:
    starts, powers, n = ranges(frame)
    others = frame[frame["start"] != pep.DEFAULT]
    m, splits = sorted(set(others["m"])), others.groupby("dataset", sort=False)["split"].nunique()
    return (
        f"Coverage: {', '.join(f'{name} ({count} splits)' for name, count in splits.items())}; M "
        f"{', '.join(map(str, m))}.\nMedian range of SMLL over the starts {starts:.3f} nats, over these "
        f"powers at the default start {powers:.3f} nats\n({n} cells of one data set, split and M)."
    )


def _table(found: pd.DataFrame) -> str:
    header = (
        "Data",
        "alpha",
        "Start",
        "Pairs",
        "Lower",
        "NLML",
        "largest",
        "SMSE",
        "largest",
        "SMLL",
        "largest",
    )
    cells = [
        (
            *(line.dataset, line.alpha, line.start, f"{line.n_paired}/{line.n_attempted}", f"{line.n_lower}"),
            *(_signed(getattr(line, f"{s}_{what}")) for s in SCORES for what in ("mean", "largest")),
        )
        for line in found.itertuples()
    ]
    return "\n".join(grid(header, "lrlrrrrrrrr", cells))


def _signed(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:+z.4f}"
