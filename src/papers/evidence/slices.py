"""Lines of a study by values of columns: what a claim or a figure is made of, and what a job makes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Study


class Slice(NamedTuple):
    """Lines of a study.

    Attributes
    ----------
    study : Study
    where : mapping
        Column -> values that it may have; other columns may have any.
    """

    study: Study
    where: Mapping[str, Collection[Any]] = {}

    def mask(self, frame: pd.DataFrame) -> np.ndarray:
        """Which lines [N] of the study's frame belong to it."""
        mask = np.ones(len(frame), dtype=bool)
        for column, values in self.where.items():
            mask &= frame[column].isin(list(values)).to_numpy()
        return mask

    def is_whole(self, frame: pd.DataFrame, least: int) -> bool:
        """Whether a frame has at least so many of its lines, for every value some of every unit.

        Units are the values of columns that have a range: seeds, splits, sets.
        """
        lines = frame[self.mask(frame)]
        units = {name: set(values) for name, values in self.where.items() if isinstance(values, range)}
        others = {name: values for name, values in self.where.items() if name not in units}
        of_each = [lines[lines[name] == value] for name, values in others.items() for value in values]
        return len(lines) >= least and all(
            len(some) and all(asked <= set(some[name]) for name, asked in units.items())
            for some in [lines, *of_each]
        )

    def meets(self, other: Slice) -> bool:
        """Whether a line may belong to both."""
        shared = self.where.keys() & other.where.keys()
        return self.study is other.study and all(
            not set(self.where[column]).isdisjoint(other.where[column]) for column in shared
        )

    def up_to(self, most: int) -> tuple[Slice, float]:
        """The part with units (values of columns that have a range) below ``most``, and its share of all."""
        where, share = dict(self.where), 1.0
        for column, values in self.where.items():
            if isinstance(values, range):
                where[column] = range(values.start, min(values.stop, most))
                share *= len(where[column]) / len(values)
        return Slice(self.study, where), share


def mask(slices: Iterable[Slice], study: Study, frame: pd.DataFrame) -> np.ndarray:
    """Which lines [N] of a study's frame belong to any of some slices."""
    found = np.zeros(len(frame), dtype=bool)
    for one in slices:
        if one.study is study:
            found |= one.mask(frame)
    return found
