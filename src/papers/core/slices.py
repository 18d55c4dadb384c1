"""Rows of a study by values of columns: those that a claim or a figure needs, and those that a job makes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Study


class Slice(NamedTuple):
    """Rows of a study.

    Attributes
    ----------
    study : Study
    where : mapping
        Column -> values that it may have; other columns may have any.
    """

    study: Study
    where: Mapping[str, Collection[Any]] = {}

    def mask(self, frame: pd.DataFrame) -> np.ndarray:
        """Return a mask [N] of the rows of the study's frame that belong to it."""
        mask = np.ones(len(frame), dtype=bool)
        for column, values in self.where.items():
            mask &= frame[column].isin(list(values)).to_numpy()
        return mask

    def covers(self, frame: pd.DataFrame, least: int) -> bool:
        """Return True if a frame has at least ``least`` of its rows, and for every value some of every unit.

        Units are the values of columns that have a range: seeds, splits, sets.
        """
        rows = frame[self.mask(frame)]
        units = {name: set(values) for name, values in self.where.items() if isinstance(values, range)}
        tables = [rows]
        for name in self.where.keys() - units:
            tables += [rows[rows[name] == value] for value in self.where[name]]
        return len(rows) >= least and all(
            len(table) and all(values <= set(table[name]) for name, values in units.items())
            for table in tables
        )


def mask(slices: Iterable[Slice], study: Study, frame: pd.DataFrame) -> np.ndarray:
    """Return a mask [N] of the rows of a study's frame that belong to any of the slices."""
    masks = [rows.mask(frame) for rows in slices if rows.study is study]
    return np.any([np.zeros(len(frame), dtype=bool), *masks], axis=0)
