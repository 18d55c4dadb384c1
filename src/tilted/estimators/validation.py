"""Checks of inputs, targets, weights and flags, and the conversion of rows to what a model takes."""

from __future__ import annotations

import mmap
import warnings
from dataclasses import fields
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight, validate_data

from tilted.learning.starts import require_moderate
from tilted.likelihoods.contract import (
    columns_of,
    names_of,
    require_no_times,
    require_unmasked,
)
from tilted.numerics.chunks import in_chunks

MOST_REPEATED = 10_000
"""Rows that integer weights may stand for where each is fitted as a row."""
NORMALISED = (
    "the weights sum to {:.3g}: a weight is a number of observations, so that all rows count as so many; "
    "multiply normalised weights by the number of rows"
)


def require_numbers(values: Any, name: str) -> None:
    """ValueError for masked cells, texts, and times, of an array or a frame's column.

    Also for columns of one name.
    """
    require_unmasked(values, name)
    names_of(values)  # refuses two of one name
    for column, cells in columns_of(values):
        where = name if column is None else f"{name}, column {column!r},"
        require_no_times(cells, where)
        require_no_text(cells, where)


def require_no_text(cells: np.ndarray, where: str) -> None:
    """ValueError with the row of the first text that is no number, among cells [N] or [N, D]."""
    if cells.dtype.kind not in "OTUS" or not cells.ndim:
        return
    for row, of_row in enumerate(cells):
        for cell in np.ravel(of_row):
            if isinstance(cell, str | bytes) and not _is_number(cell):
                place = f"{str(cell)!r} at row {row}"
                raise ValueError(f"{where} has text, {place}: give numbers, a column a category")


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def require_present(y: object) -> None:
    """ValueError with the row of the first missing cell: None, NaN, NaT or NA."""
    column = _column(y)
    cells = np.asarray(column, dtype=None if hasattr(column, "dtype") else object)
    if cells.ndim != 1:
        return
    missing = np.array([_missing(cell) for cell in cells]) if cells.dtype.kind in "OT" else cells != cells
    if np.any(missing):
        raise ValueError(f"y has a missing value at row {int(np.argmax(missing))}")


def validated(estimator: Any, X: object, *y: object, **how: Any) -> Any:
    """Validate inputs and targets by scikit-learn."""
    return validate_data(estimator, X, *y, dtype=np.float64, **how)


def to_numpy(y: Any) -> Any:
    """Targets of a data frame's column as NumPy has them, StringDType as objects; lists as they are.

    scikit-learn would take truth values and whole numbers among pandas' own types for floats.
    """
    y = _column(y)
    type_ = getattr(y, "dtype", None)
    if type_ is None:
        return y
    type_ = getattr(getattr(type_, "categories", None), "dtype", type_)
    plain = getattr(type_, "numpy_dtype", None)  # of pandas' nullable types
    if isinstance(plain, np.dtype) and plain.kind in "biuf":
        return np.asarray(y, dtype=plain)
    cells = np.asarray(y)
    return cells.astype(object) if cells.dtype.kind == "T" else cells


def _column(y: Any) -> Any:
    """The column of a frame of one; others as they are."""
    return y[y.columns[0]] if getattr(y, "columns", None) is not None and np.shape(y)[1:] == (1,) else y


def category_order(y: object) -> list[Any] | None:
    """Categories of an ordered categorical of pandas, in their order; None of others."""
    type_ = getattr(_column(y), "dtype", None)
    return list(type_.categories) if type_ is not None and getattr(type_, "ordered", False) else None


def _missing(cell: object) -> bool:
    same: Any = cell == cell
    if same is True or np.ndim(same):
        return cell is None
    return not (isinstance(same, bool | np.bool_) and same)


def require_flags(estimator: Any) -> None:
    """`require_flag` of each parameter of an estimator that says yes or no."""
    for parameter in fields(estimator):
        if parameter.type == "bool":
            require_flag(**{parameter.name: getattr(estimator, parameter.name)})


def require_flag(**flags: object) -> None:
    """ValueError for one that is neither yes nor no: a text "no" would count as yes."""
    for name, value in flags.items():
        if not (isinstance(value, int | np.bool_ | np.integer) and value in (0, 1)):
            raise ValueError(f"{name} must be True or False, got {value!r}")


def weighted_rows(
    X: np.ndarray, y: np.ndarray, sample_weight: ArrayLike | None, least: int = 2
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows [N', D], targets [N'] and weights [N'] of the rows that have one; None if all are 1.

    ValueError for negative weights, for such as are masked, not finite or too large (`require_moderate`), and
    for fewer than ``least`` that are not zero. UserWarning for weights that sum to less. OSError where a
    memory-mapped ``X`` has rows without weight and the disk has no room for a temporary copy of the others.
    """
    if sample_weight is None:
        return X, y, None
    weights = checked_weights(sample_weight, X)
    rows = weights > 0
    if np.sum(rows) < least:
        raise ValueError(f"at least {least} rows need a sample weight above zero, got {np.sum(rows)}")
    if (total := float(np.sum(weights))) < least:
        warnings.warn(NORMALISED.format(total), UserWarning, stacklevel=3)
    if np.all(rows):
        return X, y, none_if_ones(weights)  # as they are: they may be on a disk
    return _select_rows(X, rows), y[rows], none_if_ones(weights[rows])


def _select_rows(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
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
    """Weights [N] of the rows of ``X``; ValueError as `weighted_rows`."""
    require_numbers(sample_weight, "sample_weight")
    weights: np.ndarray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not np.isfinite(weights).all():  # which scikit-learn does not ask under ``assume_finite``
        raise ValueError("sample_weight has a number that is not finite")
    require_moderate("sample_weight", weights)
    return weights


def merge_rows(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Merge equal rows [N, D] with equal targets [N] into one row, of their weights' sum.

    In an order of their own, so that weights, repetitions and their order make no difference, not even by
    rounding. As they are without weights and repetitions, and where fewer than 2 rows would be left.
    """
    order = np.lexsort((y, *X.T))
    inputs, targets = X[order], y[order]
    new = np.append(True, np.any(inputs[1:] != inputs[:-1], axis=1) | (targets[1:] != targets[:-1]))
    if np.sum(new) < 2 or (weights is None and np.all(new)):
        return X, y, weights
    each = np.ones(len(y)) if weights is None else weights[order]
    return inputs[new], targets[new], none_if_ones(np.add.reduceat(each, np.flatnonzero(new)))


def none_if_ones(weights: np.ndarray) -> np.ndarray | None:
    """The weights [N], or None if all are 1."""
    return None if np.all(weights == 1.0) else weights


def repeat_rows(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Rows with whole weights as that many rows without; others as they are.

    ValueError for more than `MOST_REPEATED`.
    """
    if weights is None or np.any(weights != np.floor(weights)):
        return X, y, weights
    if np.max(weights) > MOST_REPEATED or np.sum(weights) > MOST_REPEATED:
        raise ValueError(f"weights stand for more than {MOST_REPEATED:,} rows, which are fitted one by one")
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    return X[rows], y[rows], None
