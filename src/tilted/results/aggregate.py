"""Compact records to rows of a table.

As in the paper [Zhang 2020, section 6.1]: the mean over a fold's test points (already in the
record), the mean over the folds of a seed, then mean and population standard deviation over the
seeds, in the printed units (TE times 100, NTLL times 1000).

Which fits a mean uses: those of every seed all of whose folds gave numbers, whether or not the fit
met its convergence test. A seed with a failed or absent fold is left out whole, since the folds of
a data set differ in difficulty and a mean over the rest would be another quantity; ``n_seeds``
says how many entered, `left_out` which did not and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilted.results.compact import FAILED, FOLDS, OK, n_folds, ordered
from tilted.results.published import METRICS, SUMMARY_COLUMNS, row_of
from tilted.results.spans import spans

if TYPE_CHECKING:
    import pandas as pd

FIELDS = {"TE": ("test_error", 100.0), "NTLL": ("ntll", 1000.0)}
"""Metric -> (column of a frame in natural units, factor to the printed unit)."""

GROUP = ["protocol", "dataset", "method"]


def seed_means(frame: pd.DataFrame, folds: int = FOLDS) -> pd.DataFrame:
    """Means over the folds of each seed.

    Parameters
    ----------
    frame : pandas.DataFrame
        Compact records (`compact.read`), in any order; the result does not depend on it.
    folds : int
        Folds that make a seed complete (coal always has 1).

    Returns
    -------
    seeds : pandas.DataFrame
        A line a (protocol, dataset, method, seed), in the table's order, with the means ``TE`` and
        ``NTLL`` in printed units (NaN unless ``complete``), and whether the seed is ``complete``.
    """
    frame = ordered(frame).assign(failed=lambda lines: lines["outcome"] == FAILED)
    means = {metric: (field, "mean") for metric, (field, _) in FIELDS.items()}
    by_seed = frame.groupby([*GROUP, "seed"], sort=False)
    seeds = by_seed.agg(**means, n_failed=("failed", "sum"), n_folds=("fold", "size")).reset_index()
    expected = seeds["dataset"].map(lambda name: n_folds(name, folds))
    seeds["complete"] = (seeds.pop("n_failed") == 0) & (seeds.pop("n_folds") == expected)
    for metric, (_, factor) in FIELDS.items():
        seeds[metric] = (seeds[metric] * factor).where(seeds["complete"])
    return seeds


def summarise(frame: pd.DataFrame, folds: int = FOLDS) -> pd.DataFrame:
    """Means and spreads over seeds, one line a (protocol, row, metric, method).

    Parameters
    ----------
    frame, folds
        As `seed_means`.

    Returns
    -------
    summary : pandas.DataFrame
        Columns `SUMMARY_COLUMNS`. ``mean`` and ``sd`` (population) in printed units; both empty
        (NaN) when ``n_seeds`` is 0. ``n_attempted`` counts records, ``n_converged`` those whose
        outcome is ``ok``.
    """
    import pandas as pd

    seeds, lines = seed_means(frame, folds), ordered(frame)
    fits = lines.assign(ok=lines["outcome"] == OK).groupby(GROUP, sort=False)
    counts = fits.agg(n_converged=("ok", "sum"), n_attempted=("ok", "size"))
    parts = []
    for metric in METRICS:
        over_seeds = seeds.groupby(GROUP, sort=False)[metric]
        spread = {"mean": over_seeds.mean(), "sd": over_seeds.std(ddof=0), "n_seeds": over_seeds.count()}
        parts.append(counts.assign(metric=metric, **spread).reset_index())
    summary = pd.concat(parts, ignore_index=True)
    summary["row"] = summary["dataset"].map(row_of)
    by_protocol = [part for _, part in summary.groupby("protocol", sort=False)]
    empty = pd.DataFrame(columns=list(SUMMARY_COLUMNS))
    return (pd.concat(by_protocol, ignore_index=True) if by_protocol else empty)[list(SUMMARY_COLUMNS)]


def left_out(frame: pd.DataFrame, folds: int = FOLDS) -> pd.DataFrame:
    """Seeds that enter no mean: columns protocol, dataset, method, seed, reason, in the table's order."""
    seeds = seed_means(frame, folds)
    missing = seeds.loc[~seeds["complete"], [*GROUP, "seed"]]
    lines = missing.merge(frame, on=[*GROUP, "seed"])
    reasons = [
        _reason(part, n_folds(name[1], folds)) for name, part in lines.groupby([*GROUP, "seed"], sort=False)
    ]
    return missing.assign(reason=reasons).reset_index(drop=True)


def troubled(frame: pd.DataFrame) -> pd.DataFrame:
    """Lines of every fit that failed or did not converge, in the table's order."""
    return ordered(frame[frame["outcome"] != OK])


def runtimes(frame: pd.DataFrame) -> pd.DataFrame:
    """Processor seconds a fit: protocol, method, n_fits, median, longest, total over all data sets."""
    by_method = ordered(frame).groupby(["protocol", "method"], sort=False)["seconds"]
    return by_method.agg(n_fits="size", median="median", longest="max", total="sum").reset_index()


def _reason(lines: pd.DataFrame, n: int) -> str:
    """Why a seed of ``n`` folds is incomplete."""
    failed = lines.loc[lines["outcome"] == FAILED, "fold"].tolist()
    absent = set(range(n)) - set(lines["fold"])
    found = [
        f"{len(which)} of {n} folds {word} ({spans(which)})"
        for which, word in ((failed, "failed"), (absent, "absent"))
        if which
    ]
    return "; ".join(found)
