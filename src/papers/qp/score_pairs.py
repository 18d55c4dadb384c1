"""Scores of two methods on the same folds, and their comparisons for the audit.

A seed enters if all its folds have a number from both methods, converged or not. Other seeds are counted and
left out. EP is compared with QP in one of two records: ``ep`` as reported, or `EQUAL`, the record at QP's
hyperparameters (column ``pair`` of the records). The units of a comparison are seeds. Folds are the units of
the generalising estimand (docs/claims.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from papers.core import comparisons
from papers.core.claims import load
from papers.core.comparisons import Draft, Resampled, Rule, Score, require_one_protocol
from papers.core.grid import counted
from papers.core.verdicts import Line
from papers.data.registry import task_of
from papers.qp import protocols, variance_pairs
from papers.qp.lines import FAILED, OK, n_folds
from papers.qp.published import RELEASED_VB, ROWS

if TYPE_CHECKING:
    import pandas as pd

PAIRED_TEST = "paired t over seeds, Holm"
MARGIN = load()["QP4"].margin
NTLL = Score("ntll", "NTLL", "nats", MARGIN["ntll"])
TE = Score("test_error", "TE", "error", MARGIN["test_error"])
FALLBACK = 1e-4
"""Median difference of EP and QP, in nats, below which a comparison of the two says little."""

EQUAL = "at QP's hyperparameters"
"""Method name that stands for the EP record named in QP's ``pair``."""

FIT = ["dataset", "seed", "fold"]


@dataclass(frozen=True)
class Paired:
    """One score under two methods; arrays [S, F] over complete seeds and their folds.

    Attributes
    ----------
    first, second : array [S, F]
        Scores in natural units.
    seeds : array [S]
    n_train, n_test : float
        Mean sizes of the folds.
    n_incomplete : int
        Seeds run with both methods that have a failed, absent, unpaired or, at `EQUAL`, moved fold.
    n_unconverged : int
        Folds [of S times F] where at least one of the two fits did not converge.
    """

    first: np.ndarray
    second: np.ndarray
    seeds: np.ndarray
    n_train: float
    n_test: float
    n_incomplete: int
    n_unconverged: int

    @property
    def n_seeds(self) -> int:
        return len(self.seeds)

    @property
    def differences(self) -> np.ndarray:
        """Return first - second of every fold [S, F]."""
        return self.first - self.second

    @property
    def seed_differences(self) -> np.ndarray:
        """Return the differences of the means of each seed [S]."""
        return self.differences.mean(axis=1)


def paired(fits: pd.DataFrame, first: str, second: str, score: str) -> dict[str, Paired]:
    """Match the fits of two methods.

    Parameters
    ----------
    fits : pandas.DataFrame
        Records of one protocol, in any order.
    first, second : str
        Methods; ``first`` may be `EQUAL` if ``second`` is ``qp``.
    score : str
        ``ntll`` or ``test_error``.

    Returns
    -------
    scores : dict
        Data set -> scores; data sets with no seed run with both methods are absent.

    Raises
    ------
    ValueError
        Several protocols.
    """
    require_one_protocol(fits)
    right = fits[fits["method"] == second]
    right = right.assign(partner=right["pair"] if first == EQUAL else first)
    partners = fits[[*FIT, "method", "outcome", "variance", "lengthscale", score]].rename(
        columns={"method": "partner"}
    )
    both = right.merge(
        partners, on=[*FIT, "partner"], how="left" if first == EQUAL else "inner", suffixes=("", "_first")
    ).sort_values(FIT)
    usable = (both["outcome"] != FAILED) & (both["outcome_first"] != FAILED)
    both["usable"] = usable & both[[score, f"{score}_first"]].notna().all(axis=1)
    if first == EQUAL:  # on the counts QP's own search moves some
        both["usable"] &= variance_pairs.unmoved(both, ("", "_first"))
    return {
        str(dataset): _complete(lines, score, n_folds(str(dataset)))
        for dataset, lines in both.groupby("dataset", sort=False)
    }


def _complete(lines: pd.DataFrame, score: str, folds: int) -> Paired:
    """Return the scores of the seeds of one data set whose ``folds`` folds are all usable."""
    counts = lines.groupby("seed")["usable"].agg(["sum", "size"])
    seeds = counts.index[(counts["sum"] == folds) & (counts["size"] == folds)]
    complete = lines[lines["seed"].isin(seeds)]
    converged = (complete["outcome"] == OK) & (complete["outcome_first"] == OK)
    return Paired(
        first=complete[f"{score}_first"].to_numpy(float).reshape(len(seeds), folds),
        second=complete[score].to_numpy(float).reshape(len(seeds), folds),
        seeds=seeds.to_numpy(),
        n_train=float(complete["n_train"].mean()),
        n_test=float(complete["n_test"].mean()),
        n_incomplete=len(counts) - len(seeds),
        n_unconverged=int((~converged).sum()),
    )


def tunings(fits: pd.DataFrame) -> list[tuple[str, str]]:
    """Return name and method of each EP to compare with QP.

    They are EP as reported and, if EP was tuned twice, EP at QP's hyperparameters.
    """
    second = [("equal hyperparameters", EQUAL)] if (fits["pair"] == "ep-tune").any() else []
    return [("EP as reported", "ep"), *second]


def drafts(
    fits: pd.DataFrame,
    datasets: Sequence[str],
    quantity: str,
    first: str,
    second: str,
    score: Score,
    judge: Rule,
) -> list[Draft]:
    """Return the comparisons first - second, one for each data set."""
    matched = paired(fits, first, second, score.column)
    return [_draft(name, f"{quantity}, {score.name}", matched.get(name), score, judge) for name in datasets]


def _draft(dataset: str, quantity: str, scores: Paired | None, score: Score, judge: Rule) -> Draft:
    if scores is None or scores.n_seeds < 2:
        n_seeds = scores.n_seeds if scores else 0
        complete = f"{n_seeds} complete {'seed' if n_seeds == 1 else 'seeds'}"
        note = "; ".join([complete, *(troubles(scores) if scores else [])])
        return comparisons.missing(ROWS[dataset], quantity, score.unit, note)
    return Draft(
        ROWS[dataset],
        quantity,
        score.unit,
        scores.seed_differences,
        Resampled(scores.differences.ravel(), scores.n_train, scores.n_test),
        score.margin,
        judge,
        scores.differences.size,
        of="seed",
        note="; ".join(troubles(scores)),
    )


def troubles(scores: Paired) -> list[str]:
    """Return remarks on matched scores: seeds left out, folds not converged."""
    counts = ((scores.n_incomplete, "seed left out"), (scores.n_unconverged, "fold not converged"))
    return [counted(count, noun) for count, noun in counts if count]


def tested(family: Sequence[Draft]) -> tuple[Line, ...]:
    """Return the rows of one family of tests; Holm's correction counts all of them."""
    return tuple(comparisons.tested(family, adjust_intervals=True))


def joined(*remarks: str) -> str:
    """Join the remarks that are not empty."""
    return "; ".join(filter(None, remarks))


def fallback(fits: pd.DataFrame, protocol: str, first: str, datasets: Sequence[str]) -> str:
    """Return a remark on rows where QP is as good as EP, if the protocol's QP uses the paper's table."""
    matched = paired(fits, first, "qp", NTLL.column)
    scored = [name for name in datasets if name in matched and matched[name].n_seeds]
    if not scored or not all(looks_up(protocol, name) for name in scored):
        return ""
    close = sum(is_ep(protocol, name, matched[name]) for name in scored)
    return (
        f"outside the table's box QP is EP; the median |EP - QP| of a fold's NTLL is below {FALLBACK:g} nats "
        f"on {close} of {len(scored)} rows, by that or because the two are so close"
    )


def unfinished(fits: pd.DataFrame, method: str, second: str, datasets: Sequence[str]) -> str:
    """Return a remark on the folds where at least one of two methods did not converge."""
    matched = paired(fits, method, second, NTLL.column)
    scores = [matched[name] for name in datasets if name in matched]
    n_folds, n = sum(x.differences.size for x in scores), sum(x.n_unconverged for x in scores)
    return f"{method} or {second} not converged on {n} of {n_folds} folds" if n else ""


def looks_up(protocol: str, dataset: str) -> bool:
    """Test if the protocol's QP uses the paper's table."""
    spec = protocols.block(protocol, task_of(dataset))["methods"].get("qp", {})
    return bool(spec.get("lookup") == "as-described")


def is_ep(protocol: str, dataset: str, scores: Paired) -> bool:
    """Test if QP, by the paper's table, cannot be told from EP on half of the folds or more.

    Outside the table's box QP is EP. On some rows the two are as close by quadrature too.
    """
    return looks_up(protocol, dataset) and bool(np.median(np.abs(scores.differences)) < FALLBACK)


def variational(fits: pd.DataFrame, protocol: str) -> list[str]:
    """Return the VB methods, the paper's first, then ``vb``.

    The paper's is the joint search, scored as the released code does where such scores exist.
    """
    methods = protocols.block(protocol, "classification")["methods"]
    scored = [RELEASED_VB] if (fits["method"] == RELEASED_VB).any() else []
    return scored + [name for name in ("vb-joint", "vb") if name in methods]
