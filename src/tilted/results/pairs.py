"""Latent predictive variances of EP and QP, matched test point by test point.

Figure 1 of the Quantile Propagation paper compares the two variances. EP as reported is tuned a
second time, which QP is not, so on some folds the reported pair compares two models. The *main*
pairs are therefore at equal hyperparameters: EP at its first tuning (``ep-tune``) where that
record's hyperparameters are QP's, else EP as reported where it has not moved. Folds whose
reported EP moved away from QP's hyperparameters are kept apart as *moved* pairs. Data sets to be
compared as reported (the coal series, whose QP is tuned again as well) have main pairs only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

SAME = 1e-12
MOVED = 1e-6
SLACK = 1e-9
"""Relative: equal hyperparameters, moved hyperparameters, and rounding allowed in QP <= EP."""


@dataclass(frozen=True)
class Points:
    """Matched variances, arrays [n] in squared latent units, from `n_folds` folds."""

    ep: np.ndarray
    qp: np.ndarray
    n_folds: int

    @property
    def n(self) -> int:
        return len(self.ep)

    @property
    def n_not_above(self) -> int:
        """Points where QP's variance does not exceed EP's, up to rounding."""
        return int(np.sum(self.qp <= self.ep * (1 + SLACK)))


@dataclass(frozen=True)
class VariancePairs:
    """Main and moved points; `n_unpaired` folds have no pair, since a fit failed or is absent.

    `n_unconverged` folds of the main points have an EP or QP fit that did not converge.
    """

    main: Points
    moved: Points
    n_unpaired: int
    n_unconverged: int


def variance_pairs(
    records: Iterable[dict],
    datasets: Sequence[str],
    as_reported: Collection[str] = ("coal",),
) -> VariancePairs:
    """Match the records of methods ``ep-tune``, ``ep`` and ``qp``.

    Parameters
    ----------
    records : iterable of dict
        Single fits; other methods and data sets are passed over.
    datasets : sequence of str
        Names as in the records.
    as_reported : collection of str
        Data sets compared at their reported hyperparameters, whatever these are.

    Returns
    -------
    pairs : VariancePairs
        In the order of `datasets`, seeds and folds, whatever the order of the records.

    Raises
    ------
    ValueError
        More than one protocol, two records of one fit, different numbers of test points in a
        pair, or a variance that is not positive.
    """
    fits = _index(records, datasets)
    main, moved, n_unpaired, n_unconverged = [], [], 0, 0
    for (dataset, *_), methods in sorted(fits.items(), key=lambda f: _order(f[0], datasets)):
        reference = _reference(methods, reported=dataset in as_reported)
        has_moved = dataset not in as_reported and _has_moved(methods)
        if reference is not None:
            main.append(_matched(methods[reference], methods["qp"]))
            converged = [methods[m]["status"]["converged"] for m in (reference, "qp")]
            n_unconverged += not all(converged)
        if has_moved:
            moved.append(_matched(methods["ep"], methods["qp"]))
        n_unpaired += reference is None and not has_moved
    return VariancePairs(_points(main), _points(moved), n_unpaired, n_unconverged)


def relative_difference(first: dict, second: dict) -> float:
    """Largest relative difference of two sets of hyperparameters; infinite if names differ.

    Values are numbers or lists of numbers (one lengthscale a dimension).
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


def _index(records: Iterable[dict], datasets: Sequence[str]) -> dict[tuple, dict[str, dict]]:
    """(data set, seed, fold) -> method -> record."""
    fits: dict[tuple, dict[str, dict]] = {}
    protocols = set()
    for record in records:
        if record["dataset"] not in datasets or record["method"] not in ("ep-tune", "ep", "qp"):
            continue
        protocols.add(record["protocol"])
        key = (record["dataset"], record["seed"], record["fold"])
        methods = fits.setdefault(key, {})
        if len(protocols) > 1:
            raise ValueError(f"records of several protocols: {', '.join(sorted(protocols))}")
        if record["method"] in methods:
            raise ValueError(f"two records of {record['method']} for {_name(record)}")
        methods[record["method"]] = record
    return fits


def _reference(methods: dict[str, dict], reported: bool) -> str | None:
    """Which EP record stands beside QP in the main points, if any."""
    if not _usable(methods, "qp"):
        return None
    if reported:
        return "ep" if _usable(methods, "ep") else None
    for method, tolerance in (("ep-tune", SAME), ("ep", MOVED)):
        if _usable(methods, method) and _difference(methods, method) <= tolerance:
            return method
    return None


def _has_moved(methods: dict[str, dict]) -> bool:
    usable = _usable(methods, "ep") and _usable(methods, "qp")
    return usable and _difference(methods, "ep") > MOVED


def _usable(methods: dict[str, dict], method: str) -> bool:
    return method in methods and methods[method]["latent_variance"] is not None


def _difference(methods: dict[str, dict], method: str) -> float:
    return relative_difference(methods[method]["hyperparameters"], methods["qp"]["hyperparameters"])


def _matched(ep: dict, qp: dict) -> np.ndarray:
    """Variances [2, n_test] of one fold, EP first."""
    pair = [np.asarray(record["latent_variance"], dtype=float) for record in (ep, qp)]
    if pair[0].shape != pair[1].shape:
        raise ValueError(f"{_name(qp)}: {ep['method']} and qp have different test points")
    for record, values in zip((ep, qp), pair, strict=True):
        if not np.all(values > 0):
            raise ValueError(f"{_name(record)}, {record['method']}: a variance is not positive")
    return np.stack(pair)


def _points(folds: Sequence[np.ndarray]) -> Points:
    ep, qp = np.concatenate(folds, axis=1) if folds else np.empty((2, 0))
    return Points(ep, qp, len(folds))


def _order(key: tuple, datasets: Sequence[str]) -> tuple:
    return (list(datasets).index(key[0]), *key[1:])


def _name(record: dict) -> str:
    return f"{record['dataset']}, seed {record['seed']}, fold {record['fold']}"
