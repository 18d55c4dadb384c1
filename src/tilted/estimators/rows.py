"""Rows of data and their weights, as `fit` is given them and as they are fitted."""

from __future__ import annotations

import mmap
from tempfile import TemporaryFile
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight

from tilted.estimators.given import require_numbers, require_present, unpacked
from tilted.inference.rule import LARGEST_WEIGHT
from tilted.learning.starts import require_moderate
from tilted.likelihoods.contract import require_unmasked
from tilted.numerics.chunks import in_chunks


def weighed(
    X: np.ndarray, y: np.ndarray, sample_weight: ArrayLike | None, least: int = 2
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows [N', D], targets [N'] and weights [N'] of the rows that have one; None if all are 1.

    ValueError for negative weights, for such as are masked, not finite or too large (`require_moderate`), and
    for fewer than ``least`` that are not zero. OSError where the rows of a memory-mapped ``X`` that have a
    weight, if not all have one, find no room for temporary files.
    """
    if sample_weight is None:
        return X, y, None
    weights = checked_weights(sample_weight, X)
    rows = weights > 0
    if np.sum(rows) < least:
        raise ValueError(f"at least {least} rows need a sample weight above zero, got {np.sum(rows)}")
    if np.all(rows):
        return X, y, unless_alike(weights)  # as they are: they may be on a disk
    return _some(X, rows), y[rows], unless_alike(weights[rows])


def _some(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The ``rows`` [N] of ``X``; of a memory-mapped one, larger than memory perhaps, in a temporary file."""
    if not _is_mapped(X):
        return X[rows]
    with TemporaryFile() as file:
        for some in in_chunks(np.flatnonzero(rows)):
            file.write(X[some].tobytes())
        file.flush()
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(content, X.dtype).reshape(-1, X.shape[1])


def _is_mapped(X: Any) -> bool:
    while X is not None and not isinstance(X, mmap.mmap):  # of a copy there is none behind it
        X = getattr(X, "base", None)
    return X is not None


def checked_weights(sample_weight: ArrayLike, X: ArrayLike) -> np.ndarray:
    """Weights [N] of the rows of ``X``; ValueError as `weighed`."""
    require_numbers(sample_weight, "sample_weight")
    try:
        weights: np.ndarray = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    except OverflowError as error:
        raise ValueError(f"sample_weight has a number that is too large: {error}") from None
    if not np.isfinite(weights).all():  # which scikit-learn does not ask under ``assume_finite``
        raise ValueError("sample_weight has a number that is not finite")
    require_moderate("sample_weight", weights)
    return weights


class Scored:
    """A score that is asked of sound rows, before scikit-learn's own."""

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of right classes, or R^2 of a regression, as scikit-learn's.

        Parameters
        ----------
        X : array-like [N, D]
        y : array-like [N]
        sample_weight : array-like [N], optional

        Raises
        ------
        ValueError
            For bad inputs, missing or masked targets, and weights that `fit` would refuse.
        NotFittedError
        """
        require_unmasked(y, "y")
        require_present(y)
        weights = None if sample_weight is None else checked_weights(sample_weight, X)
        scored: float = cast(Any, super()).score(X, unpacked(y), weights)
        return scored


def merged(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The same data [N, D], [N] with rows that come more than once in one, of their weights' sum.

    In an order of their own, so that weights, repetitions and their order make no difference, not even by
    rounding. As they are without weights and repetitions, and where fewer than 2 rows would be left. Rows
    that come more than a million times are in several, each of a weight that a model takes.
    """
    order = np.lexsort((y, *X.T))
    inputs, targets = X[order], y[order]
    new = np.append(True, np.any(inputs[1:] != inputs[:-1], axis=1) | (targets[1:] != targets[:-1]))
    if np.sum(new) < 2 or (weights is None and np.all(new)):
        return X, y, weights
    each = np.ones(len(y)) if weights is None else weights[order]
    sums, given = (of.reduceat(each, np.flatnonzero(new)) for of in (np.add, np.maximum))
    inputs, targets, sums = parted(inputs[new], targets[new], sums, given)
    return inputs, targets, unless_alike(sums)


def parted(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray, given: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The data with rows too heavy for a model in several, but where the weight ``given`` [N] was."""
    heavy = (weights > LARGEST_WEIGHT) & (given <= LARGEST_WEIGHT)
    parts = np.where(heavy, np.ceil(weights / LARGEST_WEIGHT), 1).astype(int)
    if not np.any(heavy):
        return X, y, weights
    return np.repeat(X, parts, axis=0), np.repeat(y, parts), np.repeat(weights / parts, parts)


def unless_alike(weights: np.ndarray) -> np.ndarray | None:
    """The weights [N], or None if all are 1."""
    return None if np.all(weights == 1.0) else weights


MOST = 10_000
"""Rows that whole weights may stand for where each is fitted as a row."""


def repeated(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows with whole weights as that many rows without; others as they are.

    ValueError for more than `MOST`.
    """
    if weights is None or np.any(weights != np.floor(weights)):
        return X, y, weights
    if np.max(weights) > MOST or np.sum(weights) > MOST:
        raise ValueError(f"weights stand for more than {MOST:,} rows, which are fitted one by one")
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    return X[rows], y[rows], None
