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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core import provenance, records
from papers.core.grid import grid, items
from papers.core.store import write_text
from papers.qp import protocols
from papers.qp.lines import n_folds
from papers.qp.published import ROWS
from papers.qp.records import DIFFERENCES, load_fits
from papers.qp.table1.rows import FIELDS, GROUP, seed_means
from papers.qp.table1.tables import write_rounded

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    Job = tuple[str, str, str, int, int]

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


@dataclass(frozen=True)
class Difference:
    """A difference between text and code.

    Attributes
    ----------
    name, base, why : str
    rows : dict
        Data set -> seeds 0, 1, ... that are compared.
    sides : dict
        Method -> ((protocol, record) of the base, (protocol, record) of the change).
    runs : bool
        True if fits under a derived protocol are needed.
    """

    name: str
    base: str
    why: str
    rows: dict[str, int]
    sides: dict[str, tuple[tuple[str, str], tuple[str, str]]]
    runs: bool


def load() -> list[Difference]:
    """Return every difference, in the file's order."""
    listed = []
    for name, entry in protocols.differences().items():
        base, runs = entry["base"], "change" in entry
        changed = base + protocols.PLUS + name if runs else base
        partners = {method: method for method in entry["methods"]} if runs else entry["compare"]
        sides = {method: ((base, method), (changed, partner)) for method, partner in partners.items()}
        listed.append(Difference(name, base, entry["why"], entry["rows"], sides, runs))
    return listed


def bases(names: Sequence[str] = ()) -> list[str]:
    """Return the protocols that some differences change; all differences by default."""
    return list(dict.fromkeys(d.base for d in load() if not names or d.name in names))


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
    runnable = {difference.name: difference for difference in load() if difference.runs}
    unknown = sorted(set(names) - set(runnable))
    if unknown:
        raise ValueError(f"no difference '{unknown[0]}' to run; known: {', '.join(runnable)}")
    out = []
    for name in names or runnable:
        for dataset, n in runnable[name].rows.items():
            n = n if seeds is None else min(n, seeds)
            for _, (protocol, method) in runnable[name].sides.values():
                for first in range(0, n, block):
                    out.append((protocol, dataset, method, first, min(first + block, n) - 1))
    return out


def load_with_bases(folder: str | Path) -> pd.DataFrame:
    """Load the fits of the protocols, and of the derived ones if there are any, from a folder of records."""
    import pandas as pd

    return pd.concat([load_fits(folder), records.load(DIFFERENCES, folder)], ignore_index=True)


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

    scores, lines = _seed_scores(frame), []
    ntll = frame.set_index([*GROUP, "seed", "fold"])["ntll"].sort_index()
    for difference in load():
        for dataset, seeds in difference.rows.items():
            sides = {
                method: pair
                for method, names in difference.sides.items()
                if (pair := _pair(scores, dataset, seeds, names)) is not None
            }
            if all(base == change for base, change in (difference.sides[method] for method in sides)):
                continue  # the methods that the difference changes were not run
            if {"ep", "qp"} <= set(sides):
                names = zip(difference.sides["qp"], difference.sides["ep"], strict=True)
                ahead = [_share_ahead(ntll, dataset, *pair) for pair in names]
                gaps = (q.sub(e).dropna() for q, e in zip(sides["qp"], sides["ep"], strict=True))
                before, after = (g.assign(**{AHEAD: a}) for g, a in zip(gaps, ahead, strict=True))
                sides[GAP] = before, after
            for method, pair in sides.items():
                where = (difference.name, difference.base, ROWS[dataset], method)
                lines += list(_lines(where, pair, n_folds(dataset)))
    return pd.DataFrame(lines, columns=list(EFFECT_COLUMNS))


def _share_ahead(ntll: pd.Series, dataset: str, qp: tuple[str, str], ep: tuple[str, str]) -> pd.Series:
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
    names: tuple[tuple[str, str], tuple[str, str]],
) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Return the scores of base and change on their common seeds; None if there is no such seed."""
    base, change = (scores.get((protocol, dataset, record)) for protocol, record in names)
    if base is None or change is None:
        return None
    common = base.index.intersection(change.index)
    common = common[common < seeds].sort_values()
    return (base.loc[common], change.loc[common]) if len(common) else None


def _lines(
    where: tuple[str, ...], pair: tuple[pd.DataFrame, pd.DataFrame], folds: int
) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the table of effects, one for each metric."""
    base, change = pair
    n = len(base)
    unconverged = ("", "") if where[-1] == GAP else tuple(int(side["unconverged"].sum()) for side in pair)
    for metric in (*FIELDS, AHEAD):
        if metric not in base:
            continue
        differences = (change[metric] - base[metric]).to_numpy()
        se = float(np.std(differences, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        means = float(base[metric].mean()), float(change[metric].mean())
        yield *where, metric, n, *means, float(differences.mean()), se, n * folds, *unconverged


def write_all(folder: str | Path, table_path: str | Path, page_path: str | Path) -> None:
    """Write the table of effects as CSV and as a page, from a folder of records.

    Without fits of derived protocols, two records of a base can still be compared.
    """
    table = effects(load_with_bases(folder))
    write_rounded(table, table_path, 9)
    write_text(page_path, page(table, provenance.note(provenance.groups(DIFFERENCES, folder))))


def page(table: pd.DataFrame, note: Sequence[str] = ()) -> str:
    """Return the table of effects as a page: a section for each difference.

    Parameters
    ----------
    table : pandas.DataFrame
        Table of `effects`.
    note : sequence of str
        Lines on which fits were refitted (`papers.core.provenance.note`); none without records
        of derived protocols.
    """
    sections = [
        f"## {each.name}\n\n{each.why} Base: `{each.base}`.\n{_section(table, each.name)}" for each in load()
    ]
    return "\n".join([INTRODUCTION, *(note or [NOT_RUN]), "", *sections])


def _section(table: pd.DataFrame, name: str) -> str:
    """Return the text of one difference: a row for each data set, effects of each method."""
    measured = table[table["difference"] == name]
    if measured.empty:
        return "\nNot measured yet.\n"
    methods = list(dict.fromkeys(measured["method"]))
    by_itself = [(m, metric) for m in methods if m != GAP for metric in FIELDS]
    columns = by_itself + [(GAP, metric) for metric in ("NTLL", AHEAD) if GAP in methods]
    names = [f"{NAMES[m]}, {metric}" if metric != AHEAD else "QP ahead" for m, metric in columns]
    header = ["Row", "Seeds", *names]
    cells = []
    for row, lines in measured.groupby("row", sort=False):
        by_name = {(line.method, line.metric): line for line in lines.itertuples()}
        seeds = dict.fromkeys(str(line.n_seeds) for line in by_name.values())
        cells.append(
            [row, "/".join(seeds), *(_cell(by_name[key]) if key in by_name else "" for key in columns)]
        )
    text = [*grid(header, "lr" + "r" * len(columns), cells)]
    unconverged = list(_unconverged(measured))
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


def _unconverged(measured: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence on the fits that did not converge, for each row and method."""
    counted = measured[(measured["metric"] == "NTLL") & (measured["method"] != GAP)]
    for line in counted.itertuples():
        if line.base_unconverged or line.change_unconverged:
            yield (
                f"{line.row} {NAMES[line.method]}, not converged of {line.n_fits}: base "
                f"{line.base_unconverged}, change {line.change_unconverged}"
            )
