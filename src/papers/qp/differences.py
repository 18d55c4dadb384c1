"""The effect of each difference between a paper's text and its code, one at a time.

A difference (``differences.yaml``) replaces one choice of a base protocol. Its effect is measured in one of
two ways: fits under the derived protocol are compared with the base's on the same seeds, or two records of
the base with each other. The effect is the mean over seeds of change minus base, with its standard error over
seeds, in the printed units of Table 1 (TE times 100, NTLL times 1000). Besides single methods, the gap ``qp -
ep`` is compared, and the share of a seed's folds on which QP's NTLL is below EP's. The paper counts this
share.

``differences.csv`` and ``differences.md`` of the tables have the effects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core import provenance, records
from papers.core.grid import grid, items
from papers.core.jobs import blocks
from papers.core.store import write_text
from papers.qp import protocols
from papers.qp.fit_rows import n_folds
from papers.qp.published import ROWS
from papers.qp.records import DIFFERENCES, load_fits
from papers.qp.table1.rows import FIELDS, GROUP, seed_means
from papers.qp.table1.tables import write_rounded

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    Job = tuple[str, str, str, int, int]
    Record = tuple[str, str]
    """Protocol and method."""


GAP, AHEAD = "qp - ep", "ahead"
INTRODUCTION = """# Differences between the QP paper's text and its code

Effects are change minus base on the same seeds, mean ± standard error: test error (TE) in percent, of Mining
the mean absolute error; negative test log-likelihood (NTLL) in 0.001 nats. "QP ahead" is the change of the
share of folds on which QP has the lower NTLL. What text and code say is in
[docs/differences.md](../docs/differences.md).
"""
NOT_RUN = "No fits of changed protocols yet: the effects below compare two records of one protocol."
NAMES = {
    "ep": "EP",
    "qp": "QP",
    "vb": "VB",
    "vb-joint": "VB (joint)",
    "vb-joint-released": "VB (as released)",
    GAP: "QP − EP",
}
EFFECT_COLUMNS = tuple(
    "difference base row method metric n_seeds base_mean change_mean effect se "
    "n_fits base_unconverged change_unconverged".split()
)
"""Columns of the table of effects; ``n_fits`` fits a side, the unconverged ones among them."""


def _compared(name: str, entry: Mapping[str, Any]) -> dict[str, tuple[Record, Record]]:
    """Return, for each method of a difference, the records of the base and of the change."""
    base = entry["base"]
    if "change" in entry:
        return {
            method: ((base, method), (f"{base}{protocols.PLUS}{name}", method)) for method in entry["methods"]
        }
    return {method: ((base, method), (base, partner)) for method, partner in entry["compare"].items()}


def bases(names: Sequence[str] = ()) -> list[str]:
    """Return the protocols that some differences change; all differences by default."""
    chosen = (entry for name, entry in protocols.differences().items() if not names or name in names)
    return list(dict.fromkeys(entry["base"] for entry in chosen))


def jobs(names: Sequence[str] = (), seeds: int | None = None, block: int = 5) -> list[Job]:
    """Return the fits that the differences need: (protocol, data set, method, first seed, last seed).

    Parameters
    ----------
    names : sequence of str
        Some differences; all by default.
    seeds : int, optional
        Largest number of seeds for each row.
    block : int
        Seeds a job.

    Raises
    ------
    ValueError
        No difference with fits has this name; the message lists those that have.
    """
    runnable = {name: entry for name, entry in protocols.differences().items() if "change" in entry}
    unknown = sorted(set(names) - set(runnable))
    if unknown:
        raise ValueError(f"no difference '{unknown[0]}' to run; known: {', '.join(runnable)}")
    return [
        (protocol, dataset, method, first, last)
        for name in names or runnable
        for dataset, n in runnable[name]["rows"].items()
        for _, (protocol, method) in _compared(name, runnable[name]).values()
        for first, last in blocks(n if seeds is None else min(n, seeds), block)
    ]


def effects(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the effect of every difference for which a frame has records.

    Parameters
    ----------
    frame : pandas.DataFrame
        Records of base and derived protocols, in any order; incomplete seeds enter no mean.

    Returns
    -------
    effects : pandas.DataFrame
        `EFFECT_COLUMNS`; ``se`` is empty (NaN) for a single seed.
    """
    import pandas as pd

    lines: list[tuple[object, ...]] = []
    scores = _seed_scores(frame)
    ntll = frame.set_index([*GROUP, "seed", "fold"])["ntll"].sort_index()
    for name, entry in protocols.differences().items():
        compared = _compared(name, entry)
        for dataset, seeds in entry["rows"].items():
            sides = {
                method: pair
                for method, records in compared.items()
                if (pair := _pair(scores, dataset, seeds, records)) is not None
            }
            if all(base == change for base, change in (compared[method] for method in sides)):
                continue  # the methods that the difference changes were not run
            if {"ep", "qp"} <= set(sides):
                ahead = [
                    _share_ahead(ntll, dataset, *pair)
                    for pair in zip(compared["qp"], compared["ep"], strict=True)
                ]
                gaps = [q.sub(e).dropna() for q, e in zip(sides["qp"], sides["ep"], strict=True)]
                before, after = (gap.assign(**{AHEAD: a}) for gap, a in zip(gaps, ahead, strict=True))
                sides[GAP] = before, after
            for method, pair in sides.items():
                where = (name, entry["base"], ROWS[dataset], method)
                lines += _lines(where, *pair, n_folds(dataset))
    return pd.DataFrame(lines, columns=list(EFFECT_COLUMNS))


def _share_ahead(ntll: pd.Series, dataset: str, qp: Record, ep: Record) -> pd.Series:
    """Return, by seed, the share of folds on which QP has the lower NTLL; records as (protocol, name)."""
    gap = ntll[qp[0], dataset, qp[1]] - ntll[ep[0], dataset, ep[1]]
    return (gap < 0.0).groupby("seed").mean()


def _seed_scores(fits: pd.DataFrame) -> dict[tuple[str, str, str], pd.DataFrame]:
    """Map (protocol, data set, method) to mean scores of its complete seeds, in printed units."""
    seeds = seed_means(fits)
    by_method = seeds[seeds["complete"]].groupby(GROUP, sort=False)
    return {name: scores.set_index("seed")[[*FIELDS, "unconverged"]] for name, scores in by_method}


def _pair(
    scores: dict[tuple[str, str, str], pd.DataFrame],
    dataset: str,
    seeds: int,
    records: tuple[Record, Record],
) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Return the scores of base and change on their common seeds; None if there is no such seed."""
    base, change = (scores.get((protocol, dataset, record)) for protocol, record in records)
    if base is None or change is None:
        return None
    common = base.index.intersection(change.index)
    common = common[common < seeds].sort_values()
    return (base.loc[common], change.loc[common]) if len(common) else None


def _lines(
    where: tuple[str, ...], base: pd.DataFrame, change: pd.DataFrame, folds: int
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the table of effects, one for each metric."""
    n = len(base)
    unconverged = ("", "") if where[-1] == GAP else tuple(int(x["unconverged"].sum()) for x in (base, change))
    for metric in base.columns.drop("unconverged"):
        differences = (change[metric] - base[metric]).to_numpy()
        se = float(np.std(differences, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        means = float(base[metric].mean()), float(change[metric].mean())
        yield *where, metric, n, *means, float(differences.mean()), se, n * folds, *unconverged


def write_all(folder: str | Path, table_path: str | Path, page_path: str | Path) -> None:
    """Write the table of effects as CSV and as a page, from a folder of records.

    Without fits of derived protocols, two records of a base can still be compared.
    """
    import pandas as pd

    derived = records.load(DIFFERENCES, folder)
    table = effects(pd.concat([load_fits(folder), derived], ignore_index=True))
    write_rounded(table, table_path, 9)
    write_text(page_path, page(table, provenance.note(provenance.groups(DIFFERENCES, folder, derived))))


def page(table: pd.DataFrame, note: Sequence[str]) -> str:
    """Return the table of effects as a page: a section for each difference.

    ``note`` has lines on how many fits were repeated (`papers.core.provenance.note`), none without fits of
    derived protocols.
    """
    sections = [
        f"## {name}\n\n{entry['why']} Base: `{entry['base']}`.\n"
        + _section(table[table["difference"] == name])
        for name, entry in protocols.differences().items()
    ]
    return "\n".join([INTRODUCTION, *(note or [NOT_RUN]), "", *sections])


def _section(measured: pd.DataFrame) -> str:
    """Return the text of one difference: a row for each data set, effects of each method."""
    if measured.empty:
        return "\nNot measured yet.\n"
    methods = list(measured["method"].unique())
    columns = [(m, metric) for m in methods if m != GAP for metric in FIELDS]
    columns += [(GAP, metric) for metric in ("NTLL", AHEAD) if GAP in methods]
    names = [f"{NAMES[m]}, {metric}" if metric != AHEAD else "QP ahead" for m, metric in columns]
    cells = []
    for row, lines in measured.groupby("row", sort=False):
        texts = {(line.method, line.metric): _cell(line) for line in lines.itertuples()}
        seeds = "/".join(map(str, lines["n_seeds"].unique()))
        cells.append([row, seeds, *(texts.get(key, "") for key in columns)])
    counted = measured[(measured["metric"] == "NTLL") & (measured["method"] != GAP)]
    unconverged = [
        f"{line.row} {NAMES[line.method]}, not converged of {line.n_fits}: base "
        f"{line.base_unconverged}, change {line.change_unconverged}"
        for line in counted.itertuples()
        if line.base_unconverged or line.change_unconverged
    ]
    text = grid(["Row", "Seeds", *names], "lr" + "r" * len(columns), cells)
    return "\n".join(["", *text, *(["", *items(unconverged)] if unconverged else []), ""])


def _cell(line: Any) -> str:
    """Format ``effect ± standard error``, both in printed units."""
    spread = "" if np.isnan(line.se) else f" ± {_digits(line.se)}"
    sign = "" if line.effect == 0 else "−" if line.effect < 0 else "+"
    return f"{sign}{_digits(abs(line.effect))}{spread}"


def _digits(value: float) -> str:
    """Format with two decimals, more if the first digit comes later; 0 for a rounding error of 0."""
    if value < 1e-9:
        return "0"
    return f"{value:.2f}" if value >= 0.095 else f"{value:.1g}"
