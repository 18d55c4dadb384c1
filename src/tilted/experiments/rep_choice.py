"""Lengthscale and parameter of each method by cross-validation on training data [Qi & Guo 2012, section 6.2].

Every pair of a lengthscale and a value of the method's parameter is tried on the same three folds; the pair
with the smallest error rate is chosen, of equal ones that with the higher predictive probability. A run that
diverges counts with the posterior it had. Once for a data set, on the training part of one split.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tilted.data import Dataset
from tilted.experiments import rep
from tilted.inference.textbook import OUTCOMES

if TYPE_CHECKING:
    from typing import Any

FOLDS = 3
SWEEPS = 25
DIGITS = 9  # decimals of an error rate that are not rounding
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Lengthscales, in units of the square root of the number of features (inputs are standardised)."""


def modules_of() -> list[str]:
    """Modules whose closures a line depends on."""
    return [__name__]


def lines(name: str, flips: float, split: int, dataset: Dataset | None = None) -> Iterator[dict[str, Any]]:
    """A line for every method, lengthscale and value: mean error rate and nll over the folds, and outcomes.

    Parameters
    ----------
    name, flips, split, dataset : see ``rep.run_block``
    """
    from sklearn.model_selection import StratifiedKFold

    X, _, y, _ = rep.parts_of(name, split, flips, dataset)
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=split).split(X, y))
    for factor in FACTORS:
        lengthscale = factor * float(np.sqrt(X.shape[1]))
        epsilon = rep.epsilon_of(name, flips)
        tried = [_fold(X, y, train, test, lengthscale, epsilon) for train, test in folds]
        for key in tried[0]:
            method, value = key
            yield {
                "paper": rep.PAPER, "dataset": name, "flips": flips, "split": int(split), "method": method,
                "value": value, "lengthscale": lengthscale, **_mean([fold[key] for fold in tried]),
            }  # fmt: skip


def _fold(
    X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, lengthscale: float, epsilon: float
) -> dict[tuple[str, float], dict[str, Any]]:
    """Records of one fold by (method, value)."""
    posterior = rep.posterior_of(X[train], lengthscale)
    parts = X[train], X[test], y[train], y[test]
    return {
        (name, value): rep.run_cell(parts, name, value, lengthscale, epsilon, SWEEPS, posterior)
        for name, method in rep.METHODS.items()
        for value in method.values
    }


def _mean(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Scores over the points of all folds, whose sizes may differ by one; None if a fold has none."""
    scores = {}
    sizes = [record["n_test"] for record in records]
    for name in ("error", "nll"):
        values = [record[name] for record in records]
        scores[name] = None if None in values else float(np.average(values, weights=sizes))
    outcomes = [record["outcome"] for record in records]
    counts = {f"n_{outcome}": outcomes.count(outcome) for outcome in (*OUTCOMES, rep.FAILED)}
    return {**scores, **counts, "seconds": sum(record["seconds"] for record in records)}


def chosen(tried: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Method -> (value, lengthscale) of the best line; ValueError for a method without any score.

    Error rates of as many wrong labels are equal, whatever their last digits.
    """
    best: dict[str, dict[str, Any]] = {}
    for line in tried:
        if line["error"] is None:
            continue
        had = best.get(line["method"])
        if had is None or _place(line) < _place(had):
            best[line["method"]] = line
    missing = {line["method"] for line in tried} - best.keys()
    if missing:
        raise ValueError(f"no cross-validated score of {', '.join(sorted(missing))}")
    return {name: (line["value"], line["lengthscale"]) for name, line in best.items()}


def _place(line: dict[str, Any]) -> tuple[float, float]:
    return round(line["error"], DIGITS), line["nll"]
