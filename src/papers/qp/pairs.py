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
from typing import TYPE_CHECKING, NamedTuple

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


class Fit(NamedTuple):
    """Hyperparameters of a fit that succeeded and its latent predictive variances [n_test]."""

    hyperparameters: dict[str, Any]
    variances: np.ndarray


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


def reference(dataset: str, fits: Mapping[str, Fit]) -> str:
    """Return the EP record of the main pair: ``ep-tune``, ``ep``, or empty if there is no such pair.

    Parameters
    ----------
    dataset : str
        Name as in the records.
    fits : mapping
        Method -> fit of one fold; failed fits are absent.
    """
    if "qp" not in fits:
        return ""
    if is_counts(dataset):
        return "ep" if "ep" in fits else ""
    for method, tolerance in (("ep-tune", SAME), ("ep", MOVED)):
        if method in fits and _distance(fits, method) <= tolerance:
            return method
    return ""


def has_moved(dataset: str, fits: Mapping[str, Fit]) -> bool:
    """Test if there is a moved pair: EP as reported, away from QP's hyperparameters."""
    return not is_counts(dataset) and {"ep", "qp"} <= fits.keys() and _distance(fits, "ep") > MOVED


def comparison(ep: np.ndarray, qp: np.ndarray) -> dict[str, float]:
    """Return the columns of a main pair in the records."""
    ratio = qp / ep
    return {
        "n_above": int(np.sum(qp > ep * (1 + SLACK))),
        "ratio_min": float(ratio.min()),
        "ratio_median": float(np.median(ratio)),
        "ratio_max": float(ratio.max()),
    }


def fits_of(records: Iterable[Mapping[str, Any]]) -> dict[str, Fit]:
    """Return method -> `Fit` of the records of one fold; failed fits are absent."""
    return {
        record["method"]: Fit(record["hyperparameters"], np.asarray(record["latent_variance"], dtype=float))
        for record in records
        if record.get("latent_variance") is not None
    }


def with_pairs(record: dict[str, Any], ep_fits: Mapping[str, Fit]) -> dict[str, Any]:
    """Return a QP record with its comparison with EP.

    Parameters
    ----------
    record : dict
        Of `papers.qp.fits.run_fold`.
    ep_fits : mapping
        EP's fits of the same fold (`fits_of`); others are passed over.

    Returns
    -------
    record : dict
        With the columns of the main pair as ``pair``, and in ``variances`` a pair of lists for each of the
        `REFERENCES` that exists.
    """
    fits = {name: fit for name, fit in ep_fits.items() if name in EP_METHODS} | fits_of([record])
    columns: dict[str, Any] = {}
    variances: dict[str, list[list[float]]] = {}
    if has_moved(record["dataset"], fits):
        variances[REPORTED_PAIR] = _variances(fits, "ep")
    method = reference(record["dataset"], fits)
    if method:
        columns = {"pair": method, **comparison(fits[method].variances, fits["qp"].variances)}
        variances[MAIN_PAIR] = _variances(fits, method)
    return {**record, "pair": columns, "variances": variances}


def _variances(fits: Mapping[str, Fit], method: str) -> list[list[float]]:
    """Return the variances of the same test points under EP and QP."""
    return [fits[name].variances.tolist() for name in (method, "qp")]


def relative_difference(first: dict[str, Any], second: dict[str, Any]) -> float:
    """Return the largest relative difference of two sets of hyperparameters; infinite if names differ.

    Values are numbers, or lists of numbers with one lengthscale for each dimension.
    """
    if first.keys() != second.keys():
        return np.inf
    largest = 0.0
    for name in first:
        a, b = (np.atleast_1d(np.asarray(p[name], dtype=float)) for p in (first, second))
        if a.shape != b.shape:
            return np.inf
        scale = np.maximum(np.abs(a), np.abs(b))
        largest = max(largest, float(np.max(np.abs(a - b) / np.where(scale > 0, scale, 1.0))))
    return largest


def _distance(fits: Mapping[str, Fit], method: str) -> float:
    return relative_difference(fits[method].hyperparameters, fits["qp"].hyperparameters)


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
