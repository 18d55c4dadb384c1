"""How much it matters where a search starts: fits from other starts beside those from the default one.

The Power-EP paper says neither how pseudo-inputs were initialised nor with which hyperparameters. Fits are
paired on (data set, alpha, m, split); a pair of which one failed is counted, not averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.evidence.grid import grid
from papers.evidence.store import write_csv, write_text
from papers.pep.regression import DEFAULT, STOPPED

if TYPE_CHECKING:
    import pandas as pd

SCORES = ("nlml", "smse", "smll")
CELL = ["dataset", "alpha", "m", "split"]
NAMES = "pep_starts.csv", "pep_starts.md"
DIFFERENCES = [f"{score}_{what}" for score in SCORES for what in ("mean", "largest")]
COLUMNS = [*"dataset alpha start n_attempted n_paired n_lower".split(), *DIFFERENCES]
HEADER = "Data|alpha|Start|Pairs|Lower|NLML|largest|SMSE|largest|SMLL|largest".split("|")
LEGEND = f"""\
Every other start against `{DEFAULT}` (training inputs drawn at random, variance 1, lengthscales sqrt(D),
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

    default = frame[frame["start"] == DEFAULT][[*CELL, *SCORES]]
    pairs = _others(frame).merge(
        default, on=CELL, how="left", suffixes=("", "_default"), validate="many_to_one"
    )
    lines = []
    for key, attempted in pairs.groupby(["dataset", "alpha", "start"], sort=False):
        paired = attempted[attempted["nlml_default"].notna() & attempted["nlml"].notna()]
        differences: list[float] = []
        for score in SCORES:
            moved = (paired[score] - paired[f"{score}_default"]).to_numpy()
            moved = moved / paired["n_train"].to_numpy() if score == "nlml" else moved
            largest = moved[np.argmax(np.abs(moved))] if len(moved) else np.nan
            differences += [float(np.mean(moved)) if len(moved) else np.nan, float(largest)]
        n_lower = int((paired["nlml"] < paired["nlml_default"]).sum())
        lines.append((*key, len(attempted), len(paired), n_lower, *differences))
    return pd.DataFrame(lines, columns=COLUMNS)


def _others(frame: pd.DataFrame) -> pd.DataFrame:
    """Fits that started elsewhere."""
    return frame[frame["start"] != DEFAULT]


def ranges(frame: pd.DataFrame) -> tuple[float, float, int]:
    """Median range of SMLL over starts, that over powers at the default start, and the number of cells.

    Both are taken over the cells (data set, m, split) of the study in which no fit failed: the first at each
    power of the cell, the second once a cell. NaN if there is no cell.
    """
    cells = frame.merge(_others(frame)[CELL].drop_duplicates(), on=CELL)
    by_start, by_power = [], []
    for _, cell in cells.groupby(["dataset", "m", "split"]):
        default = cell[cell["start"] == DEFAULT]["smll"]
        if cell["smll"].notna().all() and len(default):
            by_start += [np.ptp(of_power["smll"]) for _, of_power in cell.groupby("alpha")]
            by_power.append(np.ptp(default))
    if not by_power:
        return np.nan, np.nan, 0
    return float(np.median(by_start)), float(np.median(by_power)), len(by_power)


def write(frame: pd.DataFrame, made: Sequence[str], tables: Path) -> None:
    """Write ``pep_starts.csv`` and ``pep_starts.md``, if there are fits from another start.

    Parameters
    ----------
    frame : pandas.DataFrame
        Lines of `records.REGRESSION`.
    made : sequence of str
        What made them (`standing.note`).
    tables : Path
    """
    table = effects(frame)
    if table.empty:
        return
    cells = grid(HEADER, "lrlrrrrrrrr", map(_cells, table.itertuples()))
    sections = ["# Where the search starts", LEGEND, _sizes(frame), "\n".join(made), "\n".join(cells)]
    write_csv(Path(tables, NAMES[0]), table)
    write_text(Path(tables, NAMES[1]), "\n\n".join(sections) + "\n")


def _sizes(frame: pd.DataFrame) -> str:
    starts, powers, n = ranges(frame)
    others = _others(frame)
    splits = others.groupby("dataset", sort=False)["split"].nunique()
    sets = ", ".join(f"{name} ({count} splits)" for name, count in splits.items())
    stopped = (others["outcome"] == STOPPED).groupby(others["alpha"]).agg(["sum", "count"])
    by_power = ", ".join(f"{k} of {of} at {alpha}" for alpha, k, of in stopped.itertuples())
    return (
        f"Coverage: {sets}; M {', '.join(map(str, sorted(set(others['m']))))}; protocol "
        f"{', '.join(sorted(set(others['protocol'])))}.\n"
        f"Not converged, of the fits from other starts: {by_power}.\n"
        f"Median range of SMLL over the starts {starts:.3f} nats, over these powers at the default start "
        f"{powers:.3f} nats\n({n} cells of one data set, split and M)."
    )


def _cells(line: Sequence[Any]) -> list[str]:
    dataset, alpha, start, n_attempted, n_paired, n_lower, *differences = line[1:]
    signed = ("-" if np.isnan(value) else f"{value:+z.4f}" for value in differences)
    return [dataset, alpha, start, f"{n_paired}/{n_attempted}", f"{n_lower}", *signed]
