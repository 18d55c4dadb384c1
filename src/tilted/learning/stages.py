"""A first search on some of the rows, from whose end that of all of them starts.

Far from the best pseudo-inputs a part of the rows says where to go as well as all of them do, for a share of
the time. What comes back is the second search's: its energy is of all rows, and so is its posterior, whenever
the time is up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from tilted.inference.result import Status
    from tilted.learning.search import Search

WORTH = 3
"""Times as many rows as the first search has, from which it is worth while."""

COST = 6
"""Evaluations of all rows that a first search may cost: after more it follows what its rows alone say."""


class Found(Protocol):
    """What a search brings."""

    @property
    def status(self) -> Status:
        """How it ended."""


FoundT = TypeVar("FoundT", bound=Found)


def begun(
    search: Search, rows: int, find: Callable[[np.ndarray, Search], FoundT]
) -> tuple[FoundT | None, str]:
    """The end of the first search, and a note for the status.

    Parameters
    ----------
    search : Search
        Its ``first_rows`` are taken, always the same ones.
    rows : int
        How many there are.
    find : callable
        Rows and how to search them -> what is found.

    Returns
    -------
    found : None
        Where there is no first search: not asked for, pseudo-inputs that stay, or too few rows. Also where it
        failed, which the note says.
    note : str
    """
    few = search.first_rows
    if few is None or not search.move_pseudo_inputs or rows < WORTH * few:
        return None, ""
    some = np.sort(np.random.default_rng(0).permutation(rows)[:few])
    limit = min(search.max_iterations, COST * rows // few)
    try:
        found = find(some, replace(search, first_rows=None, max_iterations=limit, rounds=1))
    except (ArithmeticError, ValueError) as error:
        return None, f"the first search, of {few:,} rows, failed ({error})"
    return found, f"{found.status.evaluations} evaluations of {few:,} rows before"
