"""The printed numbers of a paper, compared with ours.

Table 1 of the Quantile Propagation paper [Zhang 2020, table 1] is stored as printed: test errors (TE) in
units of 1e-2, negative test log-likelihoods (NTLL) in units of 1e-3, each a mean and a population standard
deviation over seeds, with one decimal.

The deviation is ``(mean - published_mean) / published_sd``: the distance of the two means in the paper's own
standard deviations over seeds. It is empty where the printed sd is 0.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.data import registry

if TYPE_CHECKING:
    import pandas as pd

ROWS = {
    "ionosphere": "IonoS",
    "cancer": "Cancer",
    "pima": "Pima",
    "crabs": "Crabs",
    "sonar": "Sonar",
    "glass": "Glass",
    "wine12": "Wine1",
    "wine13": "Wine2",
    "wine23": "Wine3",
    "coal": "Mining",
}
"""Data set of a record -> row of the printed table, in the table's order. Other sets have their name."""

CLASSIFICATION = tuple(name for name in ROWS if name != "coal")

PUBLISHED_COLUMNS = {"ep": "EP", "qp": "QP", "vb-joint": "VB"}
"""Method of a record -> printed column. The printed VB is what the released code does, a joint
optimisation (``vb-joint``); every other method has no published value."""

SEEDS = {"Mining": 200}
"""Seeds of the rows that do not have 100."""

FOLDS = 10
"""Folds of a seed; the counts have one."""

TRUTH_PROTOCOL, TRUTH_METHODS = "as-released", ("ep", "qp", "vb")
"""Methods compared with the ground truth."""

RELEASED_VB = "vb-joint-released"
"""``vb-joint`` predicted and scored as the released code does: the paper's VB."""

METRICS = ("TE", "NTLL")

UNITS = {"TE": ("Test error", "10^-2"), "NTLL": ("Negative test log-likelihood", "10^-3")}
"""Metric -> (name, printed unit)."""

SUMMARY_COLUMNS = tuple("row metric method protocol mean sd n_seeds n_converged n_attempted".split())
"""Columns of a summary over seeds."""

COLUMNS = (*SUMMARY_COLUMNS, "published_mean", "published_sd", "deviation_sd")
"""Columns of a comparison, and of the CSV made from it."""


def row_of(dataset: str) -> str:
    """Return the row of a data set."""
    return ROWS.get(dataset, dataset)


def row_order(datasets: Iterable[str]) -> list[str]:
    """Return distinct data sets: the printed ones in the table's order, then the others by name."""
    return _known_first(datasets, ROWS)


def _known_first(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return distinct names: the known ones in their order, then the others by name."""
    present = set(names)
    ordered = [name for name in known if name in present]
    return ordered + sorted(present.difference(ordered))


def is_counts(dataset: str) -> bool:
    """Test if a known data set has counts: a seed of it has one fold, and QP is tuned as EP is."""
    return dataset == "coal" or (dataset not in ROWS and registry.task_of(dataset) == "counts")


def truth_file(dataset: str, split: int) -> str:
    """Return the file of ground truth of a split: a fold of seed 0, or a seed where seeds are not folded.

    The first split has no number in its file name, since it was once the only one.
    """
    return f"{dataset}{f'-{split}' if split else ''}.jsonl.gz"


def method_order(methods: Sequence[str]) -> list[str]:
    """Return distinct methods: the published ones in the paper's order, then the others by name."""
    return _known_first(methods, (*PUBLISHED_COLUMNS, RELEASED_VB))


def paper_methods(methods: Iterable[str]) -> list[str]:
    """Return the methods under the columns EP, QP and VB; VB is ``vb`` only if no joint search was run."""
    present = set(methods)
    return ["ep", "qp", next((name for name in (RELEASED_VB, "vb-joint") if name in present), "vb")]


def printed_as(method: str) -> str:
    """Return the method of `PUBLISHED_COLUMNS` whose printed numbers a record is compared with."""
    return "vb-joint" if method == RELEASED_VB else method


class Printed(NamedTuple):
    """The published table.

    Attributes
    ----------
    cells : dict
        (row, metric, method) -> mean and standard deviation, in printed units.
    sizes : dict
        Row -> (instances m, features n).
    asterisks : dict
        Row -> True if its NTLL has an asterisk, in the table's order.
    """

    cells: dict[tuple[str, str, str], tuple[float, float]]
    sizes: dict[str, tuple[int, int]]
    asterisks: dict[str, bool]

    def cell(self, row: str, metric: str, method: str) -> tuple[float, float]:
        """Return mean and standard deviation; NaN where none is printed."""
        return self.cells.get((row, metric, method), (math.nan, math.nan))


def read(path: str | Path) -> Printed:
    """Read the published table, a CSV file with columns ``C`` and ``C_sd`` for each method C."""
    import pandas as pd

    lines = pd.read_csv(path).to_dict("records")
    return Printed(
        {
            (line["row"], line["metric"], method): (float(line[column]), float(line[f"{column}_sd"]))
            for method, column in PUBLISHED_COLUMNS.items()
            for line in lines
        },
        {line["row"]: (int(line["m"]), int(line["n"])) for line in lines},
        {line["row"]: line["asterisk"] == "yes" for line in lines if line["metric"] == "NTLL"},
    )


def n_seeds(row: str) -> int:
    """Return the number of seeds of a row of the printed table; 0 for any other row."""
    return SEEDS.get(row, 100) if row in ROWS.values() else 0


def compare(summary: pd.DataFrame, printed: Printed) -> pd.DataFrame:
    """Return our means (`papers.qp.table1.rows.means`) with the published ones.

    Returns
    -------
    table : pandas.DataFrame
        `COLUMNS`, in the summary's order. Published values are empty (NaN) for methods the
        paper does not print, ``deviation_sd`` also where the published sd is 0 or no seed of
        ours is complete.
    """
    keys = zip(summary["row"], summary["metric"], summary["method"].map(printed_as), strict=True)
    cells = [printed.cell(*key) for key in keys]
    table = summary.assign(published_mean=[mean for mean, _ in cells], published_sd=[sd for _, sd in cells])
    spread = table["published_sd"].where(table["published_sd"] > 0)
    table["deviation_sd"] = (table["mean"] - table["published_mean"]) / spread
    return table[list(COLUMNS)]
