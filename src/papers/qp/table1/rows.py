"""Rows of Table 1 from the records, QP against EP, and all other numbers of the table and the report.

Means follow the paper [Zhang 2020, section 6.1]: over a fold's test points (already in the record), then over
the folds of a seed, then mean and population standard deviation over the seeds. Units are the printed ones
(TE times 100, NTLL times 1000).

A mean uses every seed all of whose folds gave numbers, converged or not. A seed with a failed or absent fold
is left out: the folds of a data set differ in difficulty, so a mean over fewer folds would be another
quantity. ``n_seeds`` counts the seeds used, and `left_out` lists the others with the reason.

The paper marks a row where QP's NTLL is below EP's in more than 90 % of the experiments [Zhang 2020, table
1]. It does not say whether an experiment is a fold or a seed, so `ntll_gaps` gives both shares. They compare
QP with EP as `REPORTED` (tuned twice where the protocol does) and at `EQUAL` hyperparameters (the record
named in QP's ``pair``, where its hyperparameters are QP's, see `papers.qp.pairs`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from papers.core.spans import spans
from papers.core.study import places
from papers.qp.fit_rows import FAILED, OK, clause_of, n_folds, reason_class
from papers.qp.pairs import EQUAL as AT_QPS
from papers.qp.pairs import Paired, paired
from papers.qp.published import METRICS, SUMMARY_COLUMNS, row_of
from papers.qp.records import ordered

if TYPE_CHECKING:
    import pandas as pd

FIELDS = {"TE": ("test_error", 100.0), "NTLL": ("ntll", 1000.0)}
"""Metric -> (column of a frame in natural units, factor to the printed unit)."""

GROUP = ["protocol", "dataset", "method"]
ASTERISK = 0.9
REPORTED, EQUAL = "reported", "equal"
AGAINST = {REPORTED: "ep", EQUAL: AT_QPS}
"""Name of an EP that QP is compared with -> the method of `paired`."""

GAP_COLUMNS = ("protocol", "row", "against", "n_folds", "n_below", "n_seeds", "n_seeds_below", "gap")


def seed_means(fits: pd.DataFrame) -> pd.DataFrame:
    """Return the means over the folds of each seed.

    Parameters
    ----------
    fits : pandas.DataFrame
        Records, in any order; the result does not depend on it.

    Returns
    -------
    seeds : pandas.DataFrame
        A row for each (protocol, dataset, method, seed), in the table's order, with the means ``TE`` and
        ``NTLL`` in printed units (NaN unless ``complete``), the number of folds ``unconverged``, and whether
        the seed is ``complete``.
    """
    fits, keys = ordered(fits), [*GROUP, "seed"]
    fits = fits.assign(failed=fits["outcome"] == FAILED, unconverged=fits["outcome"] != OK)
    averages = {metric: (field, "mean") for metric, (field, _) in FIELDS.items()}
    sums = {name: (name, "sum") for name in ("unconverged", "failed")}
    by_seed = fits.groupby(keys).agg(**averages, **sums, n=("fold", "size")).reset_index()
    seeds = fits[keys].drop_duplicates().merge(by_seed, on=keys)
    expected = seeds["dataset"].map(n_folds)
    seeds["complete"] = (seeds.pop("failed") == 0) & (seeds.pop("n") == expected)
    for metric, (_, factor) in FIELDS.items():
        seeds[metric] = (seeds[metric] * factor).where(seeds["complete"])
    return seeds


def means(fits: pd.DataFrame) -> pd.DataFrame:
    """Return means and spreads over seeds, one row for each (protocol, row, metric, method).

    Parameters
    ----------
    fits
        Records, as for `seed_means`.

    Returns
    -------
    summary : pandas.DataFrame
        Columns `SUMMARY_COLUMNS`. ``mean`` and ``sd`` (population) in printed units; both empty
        (NaN) when ``n_seeds`` is 0. ``n_attempted`` counts records, ``n_converged`` those whose
        outcome is ``ok``.
    """
    import pandas as pd

    seeds, lines = seed_means(fits), ordered(fits)
    grouped = lines.assign(ok=lines["outcome"] == OK).groupby(GROUP, sort=False)
    counts = grouped.agg(n_converged=("ok", "sum"), n_attempted=("ok", "size"))
    by_metric = []
    for metric in METRICS:
        over_seeds = seeds.groupby(GROUP, sort=False)[metric]
        spread = {"mean": over_seeds.mean(), "sd": over_seeds.std(ddof=0), "n_seeds": over_seeds.count()}
        by_metric.append(counts.assign(metric=metric, **spread).reset_index())
    summary = pd.concat(by_metric, ignore_index=True)
    summary["row"] = summary["dataset"].map(row_of)
    protocols = places(list(summary["protocol"].unique()))
    summary = summary.sort_values("protocol", key=protocols, kind="stable")
    return summary[list(SUMMARY_COLUMNS)].reset_index(drop=True)


def left_out(fits: pd.DataFrame) -> list[str]:
    """Name the seeds that enter no mean, by row, method and protocol, each with its reason."""
    seeds, keys = seed_means(fits), [*GROUP, "seed"]
    lines = seeds.loc[~seeds["complete"], keys].merge(fits, on=keys)
    by_reason: dict[tuple[str, str], list[int]] = {}
    for (protocol, dataset, method, seed), folds in lines.groupby(keys, sort=False):
        reason = _reason(folds, n_folds(dataset))
        by_reason.setdefault((f"{row_of(dataset)} {method} ({protocol})", reason), []).append(seed)
    return [f"{name}, seed {spans(which)}: {reason}" for (name, reason), which in by_reason.items()]


def _reason(lines: pd.DataFrame, n: int) -> str:
    """Explain why a seed of ``n`` folds is incomplete."""
    failed = lines.loc[lines["outcome"] == FAILED, "fold"].tolist()
    absent = sorted(set(range(n)) - set(lines["fold"]))
    reasons = [
        f"{len(which)} of {n} folds {word} ({spans(which)})"
        for which, word in ((failed, "failed"), (absent, "absent"))
        if which
    ]
    return "; ".join(reasons)


def ntll_gaps(fits: pd.DataFrame) -> pd.DataFrame:
    """Count how often QP's NTLL is below EP's, and measure the mean gap.

    Parameters
    ----------
    fits
        Records, as for `seed_means`.

    Returns
    -------
    gaps : pandas.DataFrame
        `GAP_COLUMNS`, a row for each (protocol, row, against). All numbers are over the seeds all of whose
        folds have numbers from both: the folds, and those with QP's NTLL strictly below; the seeds, and
        those with QP's mean below; and the mean of EP - QP in printed units (NaN without such a seed).
    """
    import pandas as pd

    lines = []
    for protocol, protocol_fits in ordered(fits).groupby("protocol", sort=False):
        matched = [paired(protocol_fits, first, "qp", "ntll") for first in AGAINST.values()]
        for dataset in protocol_fits["dataset"].unique():
            for against, scores in zip(AGAINST, matched, strict=True):
                if dataset in scores:
                    lines.append((protocol, row_of(dataset), against, *_below(scores[dataset])))
    return pd.DataFrame(lines, columns=list(GAP_COLUMNS))


def _below(scores: Paired) -> tuple[int, int, int, int, float]:
    """Return folds, folds with QP below EP, seeds, seeds with QP below EP, and the mean printed gap."""
    folds, seeds = scores.differences, scores.seed_differences
    gap = FIELDS["NTLL"][1] * float(seeds.mean()) if len(seeds) else math.nan
    return folds.size, int((folds > 0).sum()), len(seeds), int((seeds > 0).sum()), gap


def has_asterisk(n_below: int, n: int) -> bool:
    """Test if QP is below EP in more than 90 % of n experiments."""
    return n > 0 and n_below > ASTERISK * n


def trouble_entries(fits: pd.DataFrame) -> list[str]:
    """Name the failed and unconverged fits by row, method, protocol, outcome and cause (`reason_class`).

    A thousand fits that stopped for the same reason become one paragraph, so a single odd fit stays visible:
    ``Wine1 ep (as-released), 5 failed: no progress (seeds/folds: 0-2/1 7/4-5)``.
    """
    troubled = fits[fits["outcome"] != OK]
    causes = troubled.assign(cause=troubled["reason"].map(reason_class))
    entries = []
    for name, group in causes.groupby(["dataset", "method", "protocol", "outcome", "cause"], sort=False):
        dataset, method, protocol, outcome, cause = name
        seeds: dict[str, list[int]] = {}
        for seed, folds in group.groupby("seed")["fold"]:
            seeds.setdefault(spans(folds), []).append(seed)
        named = " ".join(f"{spans(which)}/{folds}" for folds, which in seeds.items())
        clauses = {clause_of(reason) for reason in group["reason"]}
        message = clauses.pop() if len(clauses) == 1 else cause
        heading = f"{row_of(dataset)} {method} ({protocol}), {len(group)} {outcome}: {message}"
        entries.append(f"{heading} (seeds/folds: {named})")
    return entries
