"""Draw the rows that a receipt repeats: whole blocks that a claim compares, cheap ones first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import slices
from papers.core.repeat import APART, seconds_of

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.slices import Slice
    from papers.core.study import Study

LONGEST = 20.0
"""Processor seconds above which a single row is not repeated unless everything is."""


class Sample(NamedTuple):
    """Rows to repeat.

    Attributes
    ----------
    rows : mapping
        Study -> rows.
    recorded : int
        Rows that the target rests on, of studies that can be repeated.
    seconds, every : float
        Processor seconds that these rows, and all of them, are expected to take.
    """

    rows: Mapping[Study, pd.DataFrame]
    recorded: int
    seconds: float
    every: float


def draw(
    wanted: Sequence[Slice], frames: Mapping[Study, pd.DataFrame], budget: float | None, seed: int
) -> Sample:
    """Draw rows to repeat from those that a target rests on.

    Parameters
    ----------
    wanted : sequence of Slice
    frames : mapping
        Study -> all its rows.
    budget : float or None
        Processor seconds, shared equally by the studies; None repeats every row.
    seed : int
        Of the draw.
    """
    among = {
        study: frame[slices.mask(wanted, study, frame)]
        for study, frame in frames.items()
        if study.repeat is not None
    }
    among = {study: rows for study, rows in among.items() if len(rows)}
    share = None if budget is None else budget / max(1, len(among))
    rows = {study: of if share is None else _drawn(study, of, share, seed) for study, of in among.items()}
    return Sample(
        {study: chosen for study, chosen in rows.items() if len(chosen)},
        sum(map(len, among.values())),
        sum(float(seconds_of(study, chosen).sum()) for study, chosen in rows.items()),
        sum(float(seconds_of(study, of).sum()) for study, of in among.items()),
    )


def _drawn(study: Study, rows: pd.DataFrame, budget: float, seed: int) -> pd.DataFrame:
    """Draw blocks (`Study.together`) in turn from every stratum, the cheapest stratum first."""
    import pandas as pd

    rows = rows.assign(cost=seconds_of(study, rows))
    rows = rows[rows["cost"] <= LONGEST]
    block = [name for name in dict.fromkeys((*APART, *study.together)) if name in rows]
    stratum = [name for name in block if name in (*APART, *study.group)]
    strata = []
    for name, of_stratum in rows.groupby(stratum, sort=True) if stratum else [("", rows)]:
        blocks = [chosen for _, chosen in of_stratum.groupby(block, sort=True, dropna=False)]
        order = np.random.default_rng([seed, *f"{study.file} {name}".encode()]).permutation(len(blocks))
        strata.append([blocks[k] for k in order])
    strata.sort(key=lambda blocks: float(np.median([part["cost"].sum() for part in blocks])))
    chosen, remaining = [], budget
    while any(strata):
        for blocks in strata:
            if blocks:
                cost = float(blocks[0]["cost"].sum())
                if cost <= remaining:
                    chosen.append(blocks[0])
                    remaining -= cost
                del blocks[0]
    drawn = pd.concat(chosen) if chosen else rows[:0]
    return drawn.drop(columns="cost").sort_index()
