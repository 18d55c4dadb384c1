"""Cross-validated lengthscale and parameter of each method on training data [Qi & Guo 2012, section 6.2].

Every pair of a lengthscale and a value of the method's parameter is tried on the same three folds; the pair
with the smallest error rate is chosen, of equal ones that with the higher predictive probability. A run that
diverges counts with the posterior it had. Once for a data set, on the training part of one split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from papers.data import Dataset
from papers.rep import fits
from papers.rep.methods import METHODS
from tilted.inference.textbook import OUTCOMES

if TYPE_CHECKING:
    from typing import Any

FOLDS = 3
SWEEPS = 25
DIGITS = 9  # decimals of an error rate that are not rounding
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Lengthscales, in units of the square root of the number of features (inputs are standardised)."""


def lines(
    name: str, flips: float, split: int, dataset: Dataset | None = None, methods: Iterable[str] = METHODS
) -> Iterator[dict[str, Any]]:
    """Yield a row for every method, lengthscale and value: mean error rate, mean nll, and outcomes.

    Parameters
    ----------
    name, flips, split, dataset : see `fits.run_split`
    methods : iterable of str
        Of `METHODS`.
    """
    X, _, y, _ = fits.parts_of(name, split, flips, dataset)
    pairs = [(method, value) for method in methods for value in METHODS[method].values]
    for lengthscale in lengthscales(X.shape[1]):
        scores = cross_validated(X, y, split, lengthscale, fits.epsilon_of(name, flips), pairs)
        for (method, value), score in scores.items():
            about = {"dataset": name, "flips": flips, "split": int(split), "method": method, "value": value}
            yield {**about, "lengthscale": lengthscale, **score}


def lengthscales(n_features: int) -> list[float]:
    """Return the lengthscales to try."""
    return [factor * float(np.sqrt(n_features)) for factor in FACTORS]


def cross_validated(
    X: np.ndarray,
    y: np.ndarray,
    split: int,
    lengthscale: float,
    epsilon: float,
    pairs: Iterable[tuple[str, float]],
) -> dict[tuple[str, float], dict[str, Any]]:
    """Return mean scores over the folds of the training points, and outcomes, by (method, value).

    Parameters
    ----------
    X, y : arrays [N, D], [N]
    split : int
        Seed of the folds.
    lengthscale, epsilon : float
    pairs : iterable of (method, value)
    """
    from sklearn.model_selection import StratifiedKFold

    pairs = list(pairs)
    of_folds = []
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(X, y):
        prior = fits.prior_of(X[train], lengthscale)
        split_data = X[train], X[test], y[train], y[test]
        of_folds.append(
            [
                fits.run_cell(split_data, method, value, lengthscale, epsilon, SWEEPS, prior)
                for method, value in pairs
            ]
        )
    return {pair: _mean(records) for pair, *records in zip(pairs, *of_folds, strict=True)}


def _mean(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Average scores over the points of all folds, whose sizes may differ by one; None if a fold has none."""
    scores = {}
    sizes = [record["n_test"] for record in records]
    for name in ("error", "nll"):
        values = [record[name] for record in records]
        scores[name] = None if None in values else float(np.average(values, weights=sizes))
    outcomes = [record["outcome"] for record in records]
    counts = {f"n_{outcome}": outcomes.count(outcome) for outcome in (*OUTCOMES, fits.FAILED)}
    return {**scores, **counts, "seconds": sum(record["seconds"] for record in records)}


def chosen(tried: Iterable[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """Return method -> (value, lengthscale) of the best row; ValueError for a method without any score.

    Error rates of equally many wrong labels count as equal. The first of equal rows wins.
    """
    import pandas as pd

    rows = pd.DataFrame(tried).astype({"error": float, "nll": float})
    best = rows.assign(error=rows["error"].round(DIGITS)).sort_values(["error", "nll"], kind="stable")
    best = best.drop_duplicates("method").set_index("method")
    missing = sorted(best.index[best["error"].isna()])
    if missing:
        raise ValueError(f"no cross-validated score of {', '.join(missing)}")
    best = best.loc[rows["method"].unique()]
    return dict(
        zip(best.index, best[["value", "lengthscale"]].itertuples(index=False, name=None), strict=True)
    )
