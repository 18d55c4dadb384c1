"""What estimators refuse by name among what they are given: masked cells, times, missing values, no flags."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from tilted.likelihoods.contract import require_unmasked

TIMES = ("m", "M")
"""Kinds of NumPy's types that would be read as so many nanoseconds, or microseconds, or days."""


def require_numbers(values: object, what: str) -> None:
    """ValueError for masked cells, and for dates and spans of time, of an array or of a frame's column."""
    require_unmasked(values, what)
    columns, types = getattr(values, "columns", None), getattr(values, "dtypes", None)
    if columns is None or types is None:
        columns, types = [None], [getattr(values, "dtype", None)]
    for column, type_ in zip(columns, types, strict=True):
        if getattr(type_, "kind", None) in TIMES:
            where = what if column is None else f"{what}, column {column!r},"
            raise ValueError(f"{where} has times ({type_}): give numbers, such as days since the first")


def require_present(y: object) -> None:
    """ValueError with the row of the first missing cell among objects: None, NaN, NaT or pandas' NA."""
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    cells = np.asarray(y, dtype=object) if kind == "O" and isinstance(y, np.ndarray | list | tuple) else None
    if kind == "O" and hasattr(y, "to_numpy"):
        cells = np.asarray(y.to_numpy(dtype=object))
    if cells is not None and cells.ndim == 1:
        for row, cell in enumerate(cells):
            if _missing(cell):
                raise ValueError(f"y has a missing value at row {row}")


def _missing(cell: object) -> bool:
    same: Any = cell == cell
    if same is True or np.ndim(same):
        return cell is None
    return not (isinstance(same, bool | np.bool_) and same)


def require_flags(estimator: Any) -> None:
    """ValueError for a parameter that says yes or no and is neither: a text "no" would count as yes."""
    for one in fields(estimator):
        value = getattr(estimator, one.name)
        if one.type == "bool" and not (isinstance(value, int | np.bool_ | np.integer) and value in (0, 1)):
            raise ValueError(f"{one.name} must be True or False, got {value!r}")
