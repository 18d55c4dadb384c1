"""Records of single fits to rows of a table.

As in the paper [Zhang 2020, section 6.1]: the mean over a fold's test points (already in the
record), the mean over the folds of a seed, then mean and population standard deviation over the
seeds, in the printed units (TE times 100, NTLL times 1000).

Which fits a mean uses: those of every seed all of whose folds gave a finite number, whether or
not the fit met its convergence test. A seed with a failed or absent fold is left out whole, since
the folds of a data set differ in difficulty and a mean over the rest would be another quantity;
``n_seeds`` says how many entered, `left_out` which did not and why, `troubled` lists every fit
that failed or stopped unconverged.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tilted.results.published import METRICS, ROWS, SUMMARY_COLUMNS, method_order

if TYPE_CHECKING:
    import pandas as pd

FIELDS = {"TE": ("test_error", 100.0), "NTLL": ("ntll", 1000.0)}
"""Metric -> (field of a record in natural units, factor to the printed unit)."""

FOLDS = 10
SINGLE_FOLD = frozenset({"coal"})


@dataclass(frozen=True)
class Group:
    """Fits of one (protocol, data set, method): seed -> fold -> record, both ascending."""

    protocol: str
    dataset: str
    method: str
    seeds: dict[int, dict[int, dict]]
    n_folds: int

    @property
    def fits(self) -> list[dict]:
        return [record for folds in self.seeds.values() for record in folds.values()]

    @property
    def n_converged(self) -> int:
        return sum(bool(record["status"]["converged"]) for record in self.fits)

    def seed_means(self, metric: str) -> tuple[list[float], dict[int, str]]:
        """Means of the complete seeds in printed units, and seed -> reason for the others."""
        field, factor = FIELDS[metric]
        means, reasons = [], {}
        for seed, folds in self.seeds.items():
            failed = [k for k, record in folds.items() if not _is_finite(record[field])]
            absent = [k for k in range(self.n_folds) if k not in folds]
            if failed or absent:
                reasons[seed] = _reason(failed, absent, self.n_folds)
            else:
                means.append(factor * float(np.mean([r[field] for r in folds.values()])))
        return means, reasons


@dataclass(frozen=True)
class TroubledFit:
    """A fit that gave no numbers (``failed``) or stopped early (``not converged``)."""

    row: str
    method: str
    protocol: str
    seed: int
    fold: int
    outcome: str
    reason: str


@dataclass(frozen=True)
class LeftOutSeed:
    """A seed that enters no mean of `metric`, and why."""

    row: str
    metric: str
    method: str
    protocol: str
    seed: int
    reason: str


@dataclass(frozen=True)
class Runtime:
    """Wall-clock seconds of the fits of one method; fits without a time are not in `n_timed`."""

    protocol: str
    method: str
    n_fits: int
    n_timed: int
    median: float | None
    longest: float | None
    total: float


def groups(records: Iterable[dict], folds: int = FOLDS) -> list[Group]:
    """Sort records by protocol, row of the table, method, seed and fold.

    Raises
    ------
    ValueError
        Two records of one fit, a data set with no row in the table, or a fold number outside
        ``0 … folds - 1`` (coal: 0).
    """
    found: dict[tuple, dict[int, dict[int, dict]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        name = (record["protocol"], record["dataset"], record["method"])
        seed, fold = record["seed"], record["fold"]
        if record["dataset"] not in ROWS:
            raise ValueError(f"data set {record['dataset']!r} has no row in the published table")
        if not 0 <= fold < _n_folds(record["dataset"], folds):
            raise ValueError(f"{name}, seed {seed}: unexpected fold {fold}")
        if fold in found[name][seed]:
            raise ValueError(f"{name}, seed {seed}, fold {fold}: two records of one fit")
        found[name][seed][fold] = record
    rows, methods = list(ROWS), method_order([name[2] for name in found])
    names = sorted(found, key=lambda n: (n[0], rows.index(n[1]), methods.index(n[2])))
    return [
        Group(*n, {s: dict(sorted(f.items())) for s, f in sorted(found[n].items())},
              _n_folds(n[1], folds))
        for n in names
    ]  # fmt: skip


def summarise(records: Iterable[dict], folds: int = FOLDS) -> pd.DataFrame:
    """Means and spreads over seeds, one line a (protocol, row, metric, method).

    Parameters
    ----------
    records : iterable of dict
        Single fits, in any order; the result does not depend on it.
    folds : int
        Folds that make a seed complete (coal always has 1); fewer only for a preview that
        runs fewer.

    Returns
    -------
    summary : pandas.DataFrame
        Columns `SUMMARY_COLUMNS`. ``mean`` and ``sd`` (population) in printed units; both empty
        (NaN) when ``n_seeds`` is 0. ``n_attempted`` counts records, ``n_converged`` those whose
        status says so.

    Raises
    ------
    ValueError
        See `groups`.
    """
    import pandas as pd

    grouped = groups(records, folds)
    rows = [_summary_row(group, metric) for group, metric in _in_table_order(grouped)]
    return pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))


def troubled(records: Iterable[dict], folds: int = FOLDS) -> list[TroubledFit]:
    """Every fit that failed or did not converge, in the table's order."""
    return [
        TroubledFit(ROWS[g.dataset], g.method, g.protocol, r["seed"], r["fold"], outcome,
                    " ".join(str(r["status"].get("message") or "no reason given").split()))
        for g in groups(records, folds)
        for r in g.fits
        if (outcome := _outcome(r)) is not None
    ]  # fmt: skip


def left_out(records: Iterable[dict], folds: int = FOLDS) -> list[LeftOutSeed]:
    """Every seed that does not enter a mean, in the table's order."""
    return [
        LeftOutSeed(ROWS[group.dataset], metric, group.method, group.protocol, seed, reason)
        for group, metric in _in_table_order(groups(records, folds))
        for seed, reason in group.seed_means(metric)[1].items()
    ]


def runtimes(records: Iterable[dict]) -> list[Runtime]:
    """Seconds a fit, over all data sets, one entry a (protocol, method)."""
    found: dict[tuple[str, str], list] = defaultdict(list)
    for record in records:
        found[record["protocol"], record["method"]].append(record.get("seconds"))
    methods = method_order([method for _, method in found])
    entries = []
    for name in sorted(found, key=lambda n: (n[0], methods.index(n[1]))):
        timed = sorted(value for value in found[name] if _is_finite(value))
        median = float(np.median(timed)) if timed else None
        longest = timed[-1] if timed else None
        entries.append(Runtime(*name, len(found[name]), len(timed), median, longest, math.fsum(timed)))
    return entries


def _in_table_order(grouped: Sequence[Group]) -> Iterator[tuple[Group, str]]:
    """Protocol, then metric, then row, then method."""
    for protocol in dict.fromkeys(group.protocol for group in grouped):
        for metric in METRICS:
            yield from ((g, metric) for g in grouped if g.protocol == protocol)


def _summary_row(group: Group, metric: str) -> tuple:
    means, _ = group.seed_means(metric)
    mean = float(np.mean(means)) if means else math.nan
    sd = float(np.std(means)) if means else math.nan  # population sd, as the paper
    return (
        ROWS[group.dataset], metric, group.method, group.protocol, mean, sd,
        len(means), group.n_converged, len(group.fits),
    )  # fmt: skip


def _outcome(record: dict) -> str | None:
    if not all(_is_finite(record[field]) for field, _ in FIELDS.values()):
        return "failed"
    return None if record["status"]["converged"] else "not converged"


def _reason(failed: Sequence[int], absent: Sequence[int], n_folds: int) -> str:
    parts = [
        f"{len(which)} of {n_folds} folds {word} ({', '.join(map(str, which))})"
        for which, word in ((failed, "failed"), (absent, "absent"))
        if which
    ]
    return "; ".join(parts)


def _n_folds(dataset: str, folds: int) -> int:
    return 1 if dataset in SINGLE_FOLD else folds


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)
