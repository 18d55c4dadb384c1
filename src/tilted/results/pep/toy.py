"""True against learned hyperparameters: the record of `experiments.pep_toy`, and its table.

Sets are the units: differences, learned - true, are of one set and one number of training points. A set in
which one of the two fits failed is left out of them and counted. All scores are better low.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.experiments.pep_toy import COLUMNS, LEARNED, SCORES, TRUE
from tilted.results import stamps, studies
from tilted.results.audit.units import estimate
from tilted.results.grid import counted, grid
from tilted.results.pep import scores
from tilted.results.pep.scores import FAILED, OK, STOPPED
from tilted.results.store import RecordError, write_text

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

NAMES = {
    "nlml": ("NLML (nats)", ".2f"),
    "mse_test": ("test MSE", ".5f"),
    "loss_test": ("test log loss (nats)", ".4f"),
    "mse_train": ("training MSE", ".5f"),
    "loss_train": ("training log loss (nats)", ".4f"),
}
"""Score -> its name in the table and the form of its numbers."""

HEADING = "True and learned hyperparameters"
LEGEND = """\
Exact regression on the synthetic sets at the hyperparameters they were drawn with and at those of largest
evidence, in the units of the data (function variance 1, noise variance 0.01): means over the sets, and the
difference learned - true with its 95 % interval (t over the sets) and its range. 1000 training points are
the 500 and 500 more of the same function; the test points are the same."""


def record(lines: Iterable[dict[str, Any]], path: str | Path) -> Path:
    """Write the record from lines with their stamps, in order of set, size and hyperparameters.

    Raises
    ------
    RecordError
        As `read`; the file stays as it was.
    """
    import pandas as pd

    table = pd.DataFrame(lines, columns=[*COLUMNS, *stamps.COLUMNS])
    check(table, path)
    table = table.sort_values(["split", "n_train", "hyperparameters"], ascending=[True, True, False])
    seconds = table["seconds"].map("{:.3g}".format)
    text = table.assign(seconds=seconds).to_csv(index=False, lineterminator="\n", float_format="%.12g")
    return write_text(path, text)


def read(folder: str | Path) -> pd.DataFrame | None:
    """The record in a folder, or None if it was not made.

    Raises
    ------
    RecordError
        Two lines of one fit, or a line that contradicts itself.
    ValueError
        The file lacks a column.
    """
    table = studies.read(folder, studies.TOY)
    if table is not None:
        check(table, Path(folder, studies.TOY))
    return table


def check(table: pd.DataFrame, where: object) -> None:
    """Refuse (RecordError) a table whose lines contradict one another or themselves."""
    failed = table["outcome"] == FAILED
    numbers = table[list(SCORES)].astype(float)
    silent = table["message"].isna() | table["message"].eq("")
    for wrong, what in (
        (table["dataset"] != scores.SYNTHETIC, "unknown data set"),
        (~table["hyperparameters"].isin([TRUE, LEARNED]), "hyperparameters are true or learned"),
        (~table["outcome"].isin([OK, STOPPED, FAILED]), "unknown outcome"),
        (np.isfinite(numbers).all(axis=1) == failed, "scores do not agree with the outcome"),
        (silent != (table["outcome"] == OK), "message does not agree with the outcome"),
        (table.duplicated(list(studies.STUDIES[studies.TOY].key)), "two records of one fit"),
    ):
        if wrong.any():
            line = table[wrong].iloc[0]
            fit = f"set {line['split']}, {line['n_train']} points, {line['hyperparameters']}"
            raise RecordError(f"{where}: {fit}: {what}")


class Pairs(NamedTuple):
    """Scores [sets] with true and with learned hyperparameters, and how many sets were left out."""

    true: pd.Series
    learned: pd.Series
    n_left_out: int


def pairs(table: pd.DataFrame, n: int, score: str) -> Pairs:
    """A score of the sets for which both fits with ``n`` training points have numbers."""
    part = table[table["n_train"] == n]
    wide = part.pivot(index="split", columns="hyperparameters", values=score).reindex(columns=[TRUE, LEARNED])
    kept = wide.astype(float).dropna()
    return Pairs(kept[TRUE], kept[LEARNED], len(wide) - len(kept))


def sizes(table: pd.DataFrame) -> list[int]:
    """Numbers of training points."""
    return sorted(int(n) for n in table["n_train"].unique())


def coverage(table: pd.DataFrame) -> str:
    """What the record covers, without a full stop."""
    n_stopped, n_failed = (int((table["outcome"] == what).sum()) for what in (STOPPED, FAILED))
    stopped = f", {n_stopped} not converged" if n_stopped else ""
    return (
        f"{counted(table['split'].nunique(), 'set')} of synthetic data; "
        f"{' and '.join(map(str, sizes(table)))} training points; "
        f"{counted(len(table), 'fit')}{stopped}, {n_failed} failed"
    )


def section(table: pd.DataFrame) -> list[str]:
    """Lines of Markdown: what was compared, the table, who made it."""
    header = ("Training points", "Score", "True", "Learned", "Learned - true", "Interval", "Range",
              "Lower if learned", "Left out")  # fmt: skip
    cells = [_cells(table, n, score) for n in sizes(table) for score in NAMES]
    made = stamps.note(studies.made(studies.TOY, table))
    lines = [f"## {HEADING}", "", *LEGEND.splitlines(), "", f"Coverage: {coverage(table)}.", ""]
    return [*lines, *grid(header, "rlrrrrrrr", cells), "", *made, ""]


def _cells(table: pd.DataFrame, n: int, score: str) -> Sequence[str]:
    found = pairs(table, n, score)
    name, form = NAMES[score]
    if not len(found.true):
        return (f"{n}", name, *[""] * 6, f"{found.n_left_out}")
    moved = found.learned - found.true
    known = estimate(moved.to_numpy())
    interval = _range(*known.interval(), form) if known else ""
    means = f"{found.true.mean():{form}}", f"{found.learned.mean():{form}}", f"{moved.mean():+{form}}"
    lower = f"{int((moved < 0).sum())} of {len(moved)}"
    return (
        f"{n}",
        name,
        *means,
        interval,
        _range(moved.min(), moved.max(), form),
        lower,
        f"{found.n_left_out}",
    )


def _range(low: float, high: float, form: str) -> str:
    return f"[{low:+{form}}, {high:+{form}}]"
