"""The numbers a paper printed, and ours beside them.

Table 1 of the Quantile Propagation paper [Zhang 2020, table 1] is kept as it was printed: test
errors (TE) in units of 1e-2, negative test log-likelihoods (NTLL) in units of 1e-3, each a mean
and a population standard deviation over seeds, with one decimal.

The deviation is ``(mean - published_mean) / published_sd``: how many of the paper's own seed to
seed standard deviations separate the two means. Where the printed sd is 0.0 the ratio means
nothing and is left empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.data import registry

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

PUBLISHED_COLUMNS = {"ep": "EP", "qp": "QP", "vb-joint": "VB"}
"""Method of a record -> printed column. The printed VB is what the released code does, a joint
optimisation (``vb-joint``); every other method has no published value."""

SEEDS = {"Mining": 200}
"""Seeds of the rows that do not have 100."""

METRICS = ("TE", "NTLL")

UNITS = {"TE": ("Test error", "10^-2"), "NTLL": ("Negative test log-likelihood", "10^-3")}
"""Metric -> (name, printed unit)."""

SUMMARY_COLUMNS = tuple("row metric method protocol mean sd n_seeds n_converged n_attempted".split())
"""Columns of a summary over seeds."""

COLUMNS = (*SUMMARY_COLUMNS, "published_mean", "published_sd", "deviation_sd")
"""Columns of a comparison, and of the CSV made from it."""


def row_of(dataset: str) -> str:
    """Row of a data set."""
    return ROWS.get(dataset, dataset)


def row_order(datasets: Iterable[str]) -> list[str]:
    """Distinct data sets: the printed ones in the table's order, then the others by name."""
    present = set(datasets)
    return [name for name in ROWS if name in present] + sorted(present.difference(ROWS))


def is_known(dataset: str) -> bool:
    """Whether a data set is one of the printed table or of the registry."""
    return dataset in ROWS or dataset in registry.names()


def is_counts(dataset: str) -> bool:
    """Whether a known data set is of counts: a seed of it has one fold, and QP is tuned as EP is."""
    return dataset == "coal" or (dataset not in ROWS and registry.task_of(dataset) == "counts")


def method_order(methods: Sequence[str]) -> list[str]:
    """Distinct methods: the published ones in the paper's order, then the others by name."""
    present = set(methods)
    known = [method for method in PUBLISHED_COLUMNS if method in present]
    return known + sorted(present.difference(known))


def paper_methods(methods: Iterable[str]) -> list[str]:
    """Methods under the paper's columns EP, QP and VB; VB is ``vb`` only where no ``vb-joint`` was run."""
    return ["ep", "qp", "vb" if "vb-joint" not in set(methods) else "vb-joint"]


def load(path: str | Path) -> pd.DataFrame:
    """Read the published table, one line a (row, metric, method).

    Parameters
    ----------
    path : str or Path
        CSV with columns ``row, m, n, metric`` and, for each printed column C, ``C`` and ``C_sd``.

    Returns
    -------
    published : pandas.DataFrame
        Columns row, metric, method, published_mean, published_sd, in printed units.

    Raises
    ------
    ValueError
        A column is missing, a number is missing, or a (row, metric) stands twice.
    """
    import pandas as pd

    wide = pd.read_csv(path)
    needed = ["row", "metric", *(c + s for c in PUBLISHED_COLUMNS.values() for s in ("", "_sd"))]
    missing = [column for column in needed if column not in wide.columns]
    if missing:
        raise ValueError(f"{path}: no column {', '.join(missing)}")
    if wide[needed].isna().any(axis=None) or wide.duplicated(["row", "metric"]).any():
        raise ValueError(f"{path}: a number is missing or a (row, metric) stands twice")
    parts = [
        pd.DataFrame(
            {
                "row": wide["row"],
                "metric": wide["metric"],
                "method": method,
                "published_mean": wide[column].astype(float),
                "published_sd": wide[f"{column}_sd"].astype(float),
            }
        )
        for method, column in PUBLISHED_COLUMNS.items()
    ]
    return pd.concat(parts, ignore_index=True)


def printed(path: str | Path) -> dict[tuple[str, str, str], tuple[float, float]]:
    """(row, metric, method) -> printed mean and standard deviation (errors as `load`)."""
    lines = load(path).itertuples(index=False)
    return {(line.row, line.metric, line.method): (line.published_mean, line.published_sd) for line in lines}


def sizes(path: str | Path) -> dict[str, tuple[int, int]]:
    """Printed size of each data set: row -> (instances m, features n)."""
    import pandas as pd

    wide = pd.read_csv(path).drop_duplicates("row")
    return {str(r): (int(m), int(n)) for r, m, n in zip(wide["row"], wide["m"], wide["n"], strict=True)}


def asterisks(path: str | Path) -> dict[str, bool]:
    """Row -> whether the paper prints an asterisk beside its NTLL, in the table's order."""
    import pandas as pd

    wide = pd.read_csv(path)
    wide = wide[wide["metric"] == "NTLL"]
    return {str(row): mark == "yes" for row, mark in zip(wide["row"], wide["asterisk"], strict=True)}


def n_seeds(row: str) -> int:
    """Seeds behind a row of the printed table; 0 of a row that is not printed."""
    return SEEDS.get(row, 100) if row in ROWS.values() else 0


def compare(summary: pd.DataFrame, path: str | Path) -> pd.DataFrame:
    """Join a summary with the published table.

    Parameters
    ----------
    summary : pandas.DataFrame
        As `aggregate.summarise` returns it, in printed units.
    path : str or Path
        The published table, see `load`.

    Returns
    -------
    table : pandas.DataFrame
        `COLUMNS`, in the summary's order. Published values are empty (NaN) for methods the
        paper does not print, ``deviation_sd`` also where the published sd is 0 or no seed of
        ours is complete.
    """
    keys = ["row", "metric", "method"]
    table = summary.merge(load(path), on=keys, how="left", validate="many_to_one")
    spread = table["published_sd"].where(table["published_sd"] > 0)
    table["deviation_sd"] = (table["mean"] - table["published_mean"]) / spread
    return table[list(COLUMNS)]
