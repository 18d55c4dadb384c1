"""What each difference between a paper's text and its code is worth, one at a time.

A difference (``differences.yaml``) replaces one choice of a base protocol: fits under the derived
protocol are compared with the base's on the same seeds, or two records of the base with each other. The
effect is the mean over seeds of change minus base, in the printed units of Table 1 (TE times 100, NTLL
times 1000), with its standard error over seeds. Besides single methods the gap ``qp - ep`` is compared.

Compact records of all derived protocols share one file, ``differences.csv.gz``, and their provenance
(`runs`) another; the base's are those of `tilted.results.compact`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted import protocols
from tilted.results import compact, runs, standing
from tilted.results.aggregate import FIELDS
from tilted.results.compact import COLUMNS, DIGITS, FAILED, FOLDS, OK, TYPES, n_folds
from tilted.results.published import ROWS
from tilted.results.store import RecordError, write_bytes, write_text

if TYPE_CHECKING:
    import pandas as pd

    from tilted.results.collect import Collected

    Job = tuple[str, str, str, int, int]

FILE, PROVENANCE = "differences.csv.gz", "differences.json"
GAP = "qp - ep"
EFFECT_COLUMNS = tuple(
    "difference base row method metric n_seeds base_mean change_mean effect se "
    "n_fits base_unconverged change_unconverged".split()
)
"""Columns of the table of effects; ``n_fits`` fits a side, the unconverged ones among them."""


@dataclass(frozen=True)
class Difference:
    """One difference.

    Attributes
    ----------
    name, base, why : str
    rows : dict
        Data set -> seeds 0, 1, ... that are compared.
    sides : dict
        Method -> ((protocol, record) of the base, (protocol, record) of the change).
    runs : bool
        Whether fits under a derived protocol are needed.
    """

    name: str
    base: str
    why: str
    rows: dict[str, int]
    sides: dict[str, tuple[tuple[str, str], tuple[str, str]]]
    runs: bool


def load() -> list[Difference]:
    """Every difference, in the file's order."""
    found = []
    for name, entry in protocols.differences().items():
        base, runs = entry["base"], "change" in entry
        changed = base + protocols.PLUS + name if runs else base
        records = {method: method for method in entry["methods"]} if runs else entry["compare"]
        sides = {method: ((base, method), (changed, record)) for method, record in records.items()}
        found.append(Difference(name, base, entry["why"], entry["rows"], sides, runs))
    return found


def bases(names: Sequence[str] = ()) -> list[str]:
    """Protocols that some differences change; all differences by default."""
    return list(dict.fromkeys(d.base for d in load() if not names or d.name in names))


def jobs(names: Sequence[str] = (), seeds: int | None = None, block: int = 5) -> list[Job]:
    """Fits that the differences need: (protocol, data set, method, first seed, last seed).

    Parameters
    ----------
    names : sequence of str
        Some differences; all by default.
    seeds : int, optional
        At most so many seeds a row.
    block : int
        Seeds a job.

    Raises
    ------
    ValueError
        For a name that is not one of a difference with fits of its own; lists those.
    """
    known = {difference.name: difference for difference in load() if difference.runs}
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ValueError(f"no difference '{unknown[0]}' to run; known: {', '.join(known)}")
    out = []
    for name in names or known:
        for dataset, n in known[name].rows.items():
            n = n if seeds is None else min(n, seeds)
            for _, (protocol, method) in known[name].sides.values():
                for first in range(0, n, block):
                    out.append((protocol, dataset, method, first, min(first + block, n) - 1))
    return out


def write(records: Collected, folder: str | Path) -> list[Path]:
    """Write compact records of derived protocols, sorted, and their provenance; byte for byte reproducibly.

    Raises
    ------
    RecordError
        A protocol is not derived, or its records contradict themselves (`compact.check`).
    """
    frame, path = records.frame, Path(folder, FILE)
    order = {name: k for k, name in enumerate(protocols.derived())}
    for protocol, part in frame.groupby("protocol", sort=False):
        if protocol not in order:
            raise RecordError(f"{path}: '{protocol}' is not a derived protocol")
        compact.check(part.drop(columns="protocol"), f"{path}, {protocol}")
    frame = compact.ordered(frame).sort_values(
        "protocol", key=lambda column: column.map(order), kind="stable", ignore_index=True
    )
    content, provenance = compact.packed(frame, DIGITS), runs.encode(records.runs, frame)
    return [write_bytes(path, content), write_text(Path(folder, PROVENANCE), provenance)]


def outdated(folder: str | Path) -> str:
    """How many derived fits in a folder are not by today's source (`standing.outdated`)."""
    return standing.outdated(runs.entries(runs.read(folder, PROVENANCE), read(Path(folder, FILE))))


def read(path: str | Path) -> pd.DataFrame:
    """Read what `write` wrote (errors as `compact.read`)."""
    frame = compact.parsed(Path(path), ("protocol", *COLUMNS), (*DIGITS, "n_above"))
    return frame.astype({"n_above": TYPES["n_above"]})


def read_with_bases(folder: str | Path) -> pd.DataFrame:
    """The derived protocols' records of a folder, if there are any, and those of the protocols themselves."""
    import pandas as pd

    derived, bases = Path(folder, FILE), compact.read_all(compact.protocol_files(folder))
    return pd.concat([bases, read(derived)], ignore_index=True) if derived.is_file() else bases


def effects(frame: pd.DataFrame, folds: int = FOLDS) -> pd.DataFrame:
    """Effect of every difference that the records of a frame tell about.

    Parameters
    ----------
    frame : pandas.DataFrame
        Compact records of base and derived protocols, in any order.
    folds : int
        Folds that make a seed complete (coal always has 1); incomplete seeds enter no mean.

    Returns
    -------
    effects : pandas.DataFrame
        `EFFECT_COLUMNS`; ``se`` is empty (NaN) for a single seed.
    """
    import pandas as pd

    scores, lines = _seed_scores(frame, folds), []
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
                before, after = (q.sub(e).dropna() for q, e in zip(sides["qp"], sides["ep"], strict=True))
                sides[GAP] = before, after
            for method, pair in sides.items():
                where = (difference.name, difference.base, ROWS[dataset], method)
                lines += list(_lines(where, pair, n_folds(dataset, folds)))
    return pd.DataFrame(lines, columns=list(EFFECT_COLUMNS))


def _seed_scores(frame: pd.DataFrame, folds: int) -> dict[tuple[str, str, str], pd.DataFrame]:
    """(protocol, data set, method) -> mean scores of its complete seeds, in printed units."""
    frame = frame.assign(unconverged=frame["outcome"] != OK, failed=frame["outcome"] == FAILED)
    by_seed = frame.groupby(["protocol", "dataset", "method", "seed"])
    means = {metric: (field, "mean") for metric, (field, _) in FIELDS.items()}
    seeds = by_seed.agg(
        **means, unconverged=("unconverged", "sum"), failed=("failed", "sum"), n=("fold", "size")
    )
    complete = seeds.index.get_level_values("dataset").map(lambda name: n_folds(name, folds))
    seeds = seeds[(seeds.pop("n") == complete) & (seeds.pop("failed") == 0)]
    seeds = seeds.assign(**{metric: seeds[metric] * factor for metric, (_, factor) in FIELDS.items()})
    return {name: part.droplevel([0, 1, 2]) for name, part in seeds.groupby(level=[0, 1, 2])}


def _pair(
    scores: dict[tuple[str, str, str], pd.DataFrame],
    dataset: str,
    seeds: int,
    names: tuple[tuple[str, str], tuple[str, str]],
) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Scores of base and change on the seeds that both have; None if there is no such seed."""
    base, change = (scores.get((protocol, dataset, record)) for protocol, record in names)
    if base is None or change is None:
        return None
    common = base.index.intersection(change.index)
    common = common[common < seeds].sort_values()
    return (base.loc[common], change.loc[common]) if len(common) else None


def _lines(
    where: tuple[str, ...], pair: tuple[pd.DataFrame, pd.DataFrame], folds: int
) -> Iterator[tuple[object, ...]]:
    """Lines of the table of effects: one a metric."""
    base, change = pair
    n = len(base)
    unconverged = ("", "") if where[-1] == GAP else tuple(int(side["unconverged"].sum()) for side in pair)
    for metric in FIELDS:
        differences = (change[metric] - base[metric]).to_numpy()
        se = float(np.std(differences, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        means = float(base[metric].mean()), float(change[metric].mean())
        yield *where, metric, n, *means, float(differences.mean()), se, n * folds, *unconverged


def write_csv(table: pd.DataFrame, path: str | Path) -> Path:
    """Write effects as CSV, rounded to 9 digits after the point."""
    floats = table.select_dtypes("float").columns
    rounded = table.assign(**{name: table[name].round(9) + 0.0 for name in floats})  # no -0.0
    return write_text(path, rounded.to_csv(index=False, lineterminator="\n"))
