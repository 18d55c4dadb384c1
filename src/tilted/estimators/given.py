"""What estimators refuse by name among what they are given: masked cells, times, missing values, no flags."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Set
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tilted.likelihoods.contract import alike_as_floats, names_of, require_unmasked

USED_BY = {"power": "power-ep", "penalty": "rep"}
"""Parameters that one inference only has a use for."""
OF_SEARCHES = {"priors", "n_restarts"}
"""Parameters that only a search of an evidence has a use for."""
MANY_ROWS = 10_000
"""From which on a step of a dense model takes minutes, and some GB."""
TIMES = ("m", "M")
"""Kinds of NumPy's types that would be read as so many nanoseconds, or microseconds, or days."""


def require_numbers(values: Any, what: str) -> None:
    """ValueError for masked cells, and for dates and spans of time, of an array or a frame's column.

    Also for columns of one name, and for whole numbers of which floats make fewer.
    """
    require_unmasked(values, what)
    require_array(values, what)
    names_of(values)  # refuses two of one name
    columns, types = getattr(values, "columns", None), getattr(values, "dtypes", None)
    if columns is None or types is None:
        columns, types = [None], [getattr(values, "dtype", None)]
    for column, type_ in zip(columns, types, strict=True):
        where = what if column is None else f"{what}, column {column!r},"
        kind = getattr(type_, "kind", "O")
        if kind in TIMES:
            raise ValueError(f"{where} has times ({type_}): give numbers, such as days since the first")
        if kind in "OTUS":
            require_no_text(values if column is None else values[column], where)
        if kind in "iuO" and alike_as_floats(values if column is None else values[column]):
            raise ValueError(
                f"{where} has whole numbers that are alike as floats: leave it out, or subtract one of them"
            )


def require_no_text(values: Any, where: str) -> None:
    """ValueError with the row of the first text that is no number, among cells [N] or [N, D] of objects."""
    if getattr(values, "dtype", None) is None:  # a list or tuple, which scikit-learn reads
        return
    for row, cells in enumerate(np.asarray(values, dtype=object)):
        for cell in np.ravel(cells):
            if isinstance(cell, str | bytes) and not _is_number(cell):
                what = f"{str(cell)!r} at row {row}"
                raise ValueError(f"{where} has text, {what}: give numbers, a column a category")


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def idle(estimator: Any) -> Iterator[str]:
    """What is not its default and has no effect under an estimator's inference, or in cross-validation."""
    inference, optimise = estimator.inference, estimator.optimise
    for one in fields(estimator):
        value, of = getattr(estimator, one.name), USED_BY.get(one.name, inference)
        if of != inference and value != one.default:
            yield f"{one.name}={value!r} has no effect: it is for inference={of!r}, not {inference!r}"
        if one.name not in OF_SEARCHES or value in (None, 0):
            continue
        if optimise == "cv":
            yield f"{one.name}={value!r} has no effect: optimise='cv' compares ten kernels by folds"
        if optimise is None or optimise is False:
            yield f"{one.name}={value!r} has no effect: optimise={optimise} keeps the kernel as it is"
    if estimator.priors == "weak" and estimator.kernel is not None and optimise not in ("cv", None, False):
        yield "priors='weak' has no effect: they are about a guess, and a kernel is given"


def warn_of_many(estimator: Any, rows: int) -> None:
    """UserWarning, three calls up, of a dense model of more rows than its time limit can be kept for."""
    if rows > MANY_ROWS and not hasattr(estimator, "n_pseudo"):
        note = (
            f"{rows:,} rows: a step of a dense model takes O(N^3), and max_time is looked at between steps; "
        )
        warnings.warn(f"{note}the sparse estimators are for so many", UserWarning, stacklevel=4)


def require_array(values: object, what: str) -> None:
    """ValueError for records, and for what has no rows in an order: dictionaries, sets, generators."""
    if isinstance(values, Mapping | Set | Iterator) and not hasattr(values, "dtype"):
        raise ValueError(f"{what} is a {type(values).__name__}: give an array, a list or a data frame")
    if (type_ := getattr(values, "dtype", None)) is not None and getattr(type_, "kind", "") == "V":
        raise ValueError(f"{what} has records ({type_}): give a column for each of their fields")


def require_present(y: object) -> None:
    """ValueError with the row of the first missing cell of pandas, or among objects: None, NaN, NaT or NA."""
    given: Any = y
    require_array(y, "y")
    if hasattr(y, "isna"):
        missing = np.ravel(np.asarray(given.isna(), dtype=bool))
    elif isinstance(y, list | tuple) or (isinstance(y, np.ndarray) and y.dtype.kind in "OT"):
        cells = np.asarray(y, dtype=object)
        missing = np.array([_missing(cell) for cell in cells] if cells.ndim == 1 else [], dtype=bool)
    else:
        return
    if np.any(missing):
        raise ValueError(f"y has a missing value at row {int(np.argmax(missing))}")


def validated(estimator: Any, X: object, *y: object, **how: Any) -> Any:
    """What scikit-learn makes of inputs, and targets; ValueError for whole numbers beyond its floats."""
    try:
        return validate_data(estimator, X, *y, dtype=np.float64, **how)
    except OverflowError as error:
        raise ValueError(f"X or y has a number that is too large: {error}") from None


def unpacked(y: Any) -> Any:
    """Targets of pandas' own types (nullable, categories, arrow) as NumPy has them, StringDType as objects.

    scikit-learn would take truth values and whole numbers among them for floats.
    """
    y = _column(y)
    type_ = getattr(y, "dtype", None)
    if getattr(type_, "kind", "") == "T":
        return y.astype(object)
    type_ = getattr(getattr(type_, "categories", None), "dtype", type_)
    plain = getattr(type_, "numpy_dtype", type_)
    if hasattr(y, "isna") and isinstance(plain, np.dtype) and plain.kind in "biuf":
        return np.asarray(y, dtype=plain)
    return y


def _column(y: Any) -> Any:
    """The column of a frame of one; others as they are."""
    return y.iloc[:, 0] if getattr(y, "columns", None) is not None and np.shape(y)[1:] == (1,) else y


def order_of(y: object) -> list[Any] | None:
    """Categories of an ordered categorical of pandas, in their order; None of others."""
    type_ = getattr(_column(y), "dtype", None)
    return list(type_.categories) if type_ is not None and getattr(type_, "ordered", False) else None


def _missing(cell: object) -> bool:
    same: Any = cell == cell
    if same is True or np.ndim(same):
        return cell is None
    return not (isinstance(same, bool | np.bool_) and same)


def alike(one: Any, other: Any) -> bool:
    """Whether two values of a parameter say the same, arrays too; a copy of what cannot be compared does."""
    if one is other:
        return True
    if isinstance(one, np.ndarray | list) or isinstance(other, np.ndarray | list):
        return np.array_equal(one, other)
    plain: Any = object.__eq__
    if type(one) is type(other) and type(one).__eq__ is plain:
        return True
    return bool(one == other)


def require_alone(alone: bool) -> None:
    """RuntimeError unless nobody else fitted the estimator meanwhile: two fits would be mixed."""
    if not alone:
        raise RuntimeError("another thread fitted this estimator meanwhile: give each thread its own (clone)")


def require_flags(estimator: Any) -> None:
    """`require_flag` of each parameter of an estimator that says yes or no."""
    for one in fields(estimator):
        if one.type == "bool":
            require_flag(**{one.name: getattr(estimator, one.name)})


def require_flag(**flags: object) -> None:
    """ValueError for one that is neither yes nor no: a text "no" would count as yes."""
    for name, value in flags.items():
        if not (isinstance(value, int | np.bool_ | np.integer) and value in (0, 1)):
            raise ValueError(f"{name} must be True or False, got {value!r}")
