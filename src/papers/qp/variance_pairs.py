"""Pairs of an EP fit and a QP fit whose predictive variances are compared, fold by fold.

Figure 1 of the Quantile Propagation paper compares the two variances. EP as reported is tuned a second time,
QP is not. On some folds the reported pair therefore compares two models. The *main* pair is at equal
hyperparameters: EP at its first tuning (``ep-tune``) if that record's hyperparameters are QP's, else EP as
reported if it has not moved. Where the reported EP moved away from QP's hyperparameters, the reported pair is
kept as the *moved* one. On counts QP is tuned again too: they are compared as reported, with main pairs only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from papers.core.comparisons import require_one_protocol
from papers.qp.lines import FAILED, OK, lengthscales
from papers.qp.published import is_counts

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

SAME = 1e-12
MOVED = 1e-6
SLACK = 1e-9
"""Relative: equal hyperparameters, moved hyperparameters, and rounding allowed in QP <= EP."""

RECORDED = 1e-6
"""Rounding allowed in QP <= EP for recorded variances, which have seven digits."""

EP_METHODS = ("ep-tune", "ep")
REFERENCES = MAIN_PAIR, REPORTED_PAIR = ("main", "moved")
"""Record of EP's variance: at QP's hyperparameters, or as reported where its second tuning moved."""

FOLD = ["dataset", "seed", "fold"]


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
    fits = {name: lines.set_index(FOLD) for name, lines in frame[wanted].groupby("method")}
    every = frame[wanted].set_index(FOLD).index.unique()
    qp = fits.get("qp", frame.iloc[:0].set_index(FOLD))
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
