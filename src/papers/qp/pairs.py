"""Pairs of fits on the same folds: EP's and QP's predictive variances, and the scores of any two methods.

Figure 1 of the Quantile Propagation paper compares the variances of EP and QP. EP as reported is tuned a
second time, QP is not. On some folds the reported pair therefore compares two models. The *main* pair is at
equal hyperparameters: EP at its first tuning (``ep-tune``) if that record's hyperparameters are QP's, else EP
as reported if it has not moved. Where the reported EP moved away from QP's hyperparameters, the reported pair
is kept as the *moved* one. On counts QP is tuned again too: they are compared as reported, with main pairs
only.

Scores are compared by seeds. A seed enters if all its folds have a number from both methods, converged or
not. Other seeds are counted and left out. EP is compared with QP in one of two records: ``ep`` as reported,
or `EQUAL`, the record at QP's hyperparameters (column ``pair`` of the records). Folds are the units of the
generalising estimand (docs/claims.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from papers.core import comparisons
from papers.core.claims import load
from papers.core.comparisons import Draft, Resampled, Rule, Score, require_one_protocol
from papers.core.grid import counted
from papers.core.verdicts import Line
from papers.data.registry import task_of
from papers.qp import protocols
from papers.qp.fit_rows import FAILED, OK, lengthscales, n_folds
from papers.qp.published import RELEASED_VB, ROWS, is_counts

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

FIT = ["dataset", "seed", "fold"]


# Variances of EP and QP

SAME = 1e-12
MOVED = 1e-6
SLACK = 1e-9
"""Relative: equal hyperparameters, moved hyperparameters, and rounding allowed in QP <= EP."""

RECORDED = 1e-6
"""Rounding allowed in QP <= EP for recorded variances, which have seven digits."""

EP_METHODS = ("ep-tune", "ep")
REFERENCES = MAIN_PAIR, REPORTED_PAIR = ("main", "moved")
"""Record of EP's variance: at QP's hyperparameters, or as reported where its second tuning moved."""


def unmoved(lines: pd.DataFrame, suffixes: tuple[str, str]) -> np.ndarray:
    """Test if the two fits of each row [N] of a merged frame have the same hyperparameters (to `MOVED`)."""
    first, second = ([f"{name}{end}" for name in ("variance", "lengthscale")] for end in suffixes)
    same = np.abs(lines[first[0]] / lines[second[0]] - 1.0).to_numpy() <= MOVED
    scales = zip(lines[first[1]].fillna(""), lines[second[1]].fillna(""), strict=True)
    return same & np.array(
        [a == b or _close(lengthscales(a), lengthscales(b)) for a, b in scales], dtype=bool
    )


def _close(first: np.ndarray, second: np.ndarray) -> bool:
    return first.shape == second.shape and np.allclose(first, second, MOVED, 0.0)


def with_pairs(record: dict[str, Any], others: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a QP record with its comparison with EP.

    Parameters
    ----------
    record : dict
        Of `papers.qp.fits.run_fold`.
    others : iterable of mapping
        Records of the same fold, EP's among them.

    Returns
    -------
    record : dict
        With the columns of the main pair as ``pair``, and in ``variances`` a pair of lists for each of the
        `REFERENCES` that exists.
    """
    variances: dict[str, list[list[float]]] = {}
    succeeded = {other["method"]: other for other in others if other["latent_variance"] is not None}
    ep = {name: succeeded[name] for name in EP_METHODS if name in succeeded}
    if record["latent_variance"] is None or not ep:
        return {**record, "pair": {}, "variances": variances}
    both = {name: [fit["latent_variance"], record["latent_variance"]] for name, fit in ep.items()}
    main = main_pair(record, ep)
    if not is_counts(record["dataset"]) and "ep" in ep and relative_difference(ep["ep"], record) > MOVED:
        variances[REPORTED_PAIR] = both["ep"]
    if not main:
        return {**record, "pair": {}, "variances": variances}
    variances[MAIN_PAIR] = both[main]
    ep_variances, qp_variances = map(np.asarray, both[main])
    ratio = qp_variances / ep_variances
    columns = {
        "pair": main,
        "n_above": int(np.sum(qp_variances > ep_variances * (1 + SLACK))),
        "ratio_min": float(ratio.min()),
        "ratio_median": float(np.median(ratio)),
        "ratio_max": float(ratio.max()),
    }
    return {**record, "pair": columns, "variances": variances}


def main_pair(qp: Mapping[str, Any], ep: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the EP record of QP's main pair: ``ep-tune``, ``ep``, or empty if there is no such pair.

    Parameters
    ----------
    qp : mapping
        QP's record of a fold.
    ep : mapping
        Method -> EP's record of the same fold; failed fits are absent.
    """
    if is_counts(qp["dataset"]):
        return "ep" if "ep" in ep else ""
    for method, tolerance in (("ep-tune", SAME), ("ep", MOVED)):
        if method in ep and relative_difference(ep[method], qp) <= tolerance:
            return method
    return ""


def relative_difference(first: Mapping[str, Any], second: Mapping[str, Any]) -> float:
    """Return the largest relative difference of the hyperparameters of two records.

    It is infinite if one has a lengthscale for each dimension and the other has not.
    """
    a, b = (np.hstack([*fit["hyperparameters"].values()]).astype(float) for fit in (first, second))
    return float(np.max(np.abs(a - b) / np.maximum(a, b))) if a.shape == b.shape else np.inf


@dataclass(frozen=True)
class Counts:
    """Numbers of folds and test points behind a figure, over every seed.

    Attributes
    ----------
    n_folds, n_points : int
        Folds and points with a main pair.
    n_not_above : int
        Points where QP's variance does not exceed EP's, up to rounding.
    n_moved : int
        Folds with a moved pair.
    n_unpaired : int
        Folds with neither, since a fit failed or is absent.
    n_unconverged : int
        Folds of the main pairs whose EP or QP fit did not converge.
    """

    n_folds: int
    n_points: int
    n_not_above: int
    n_moved: int
    n_unpaired: int
    n_unconverged: int


def counts(frame: pd.DataFrame, datasets: Collection[str]) -> Counts:
    """Count pairs in the records of one protocol; ValueError for several."""
    require_one_protocol(frame)
    wanted = frame["dataset"].isin(datasets) & frame["method"].isin((*EP_METHODS, "qp"))
    fits = {name: lines.set_index(FIT) for name, lines in frame[wanted].groupby("method")}
    every = frame[wanted].set_index(FIT).index.unique()
    qp = fits.get("qp", frame.iloc[:0].set_index(FIT))
    paired = qp[qp["pair"] != ""]
    moved = _moved_folds(fits["ep"], qp) if "ep" in fits else every[:0]
    unconverged = paired["outcome"] != OK
    for method, lines in paired.groupby("pair"):
        unconverged.loc[lines.index] |= fits[method].loc[lines.index, "outcome"] != OK
    n_points = int(paired["n_test"].sum())
    return Counts(
        n_folds=len(paired),
        n_points=n_points,
        n_not_above=n_points - int(paired["n_above"].sum()),
        n_moved=len(moved),
        n_unpaired=len(every) - len(paired.index.union(moved)),
        n_unconverged=int(unconverged.sum()),
    )


def _moved_folds(ep: pd.DataFrame, qp: pd.DataFrame) -> pd.Index:
    """Return the folds whose reported EP has other hyperparameters than QP."""
    both = ep.merge(qp, left_index=True, right_index=True, suffixes=("", "_qp"))
    both = both[(both["outcome"] != FAILED) & (both["outcome_qp"] != FAILED)]
    counted = np.array([is_counts(name) for name in both.index.get_level_values("dataset")], dtype=bool)
    return both.index[~counted & ~unmoved(both, ("", "_qp"))]


# Scores

PAIRED_TEST = "paired t over seeds, Holm"
MARGIN = load()["QP4"].margin
NTLL = Score("ntll", "NTLL", "nats", MARGIN["ntll"])
TE = Score("test_error", "TE", "error", MARGIN["test_error"])
FALLBACK = 1e-4
"""Median difference of EP and QP, in nats, below which a comparison of the two says little."""

EQUAL = "at QP's hyperparameters"
"""Method name that stands for the EP record named in QP's ``pair``."""


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
        both["usable"] &= unmoved(both, ("", "_first"))
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
