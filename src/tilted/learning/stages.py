"""A first search on some of the rows, from whose end that of all of them starts if it is the better start.

Far from the best pseudo-inputs a part of the rows says where to go as well as all of them do, for a share of
the time. What comes back is the second search's: its energy is of all rows, and so is its posterior, whenever
the time is up. It starts at the first one's end only where that is better for all rows than the start: rows
that the first one never saw may make it worse, or impossible.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from tilted.learning.search import Search

WORTH = 3
"""Times as many rows as the first search has, from which it is worth while."""

COST = 6
"""Evaluations of all rows that a first search may cost: after more it follows what its rows alone say."""

TIME = 10
"""Evaluations of all rows that there must be time for, if a first search is to have half of it."""


FoundT = TypeVar("FoundT")


def begun(
    search: Search,
    rows: int,
    deadline: float,
    find: Callable[[np.ndarray, Search, float], FoundT],
    value: Callable[[FoundT | None], float],
) -> tuple[FoundT | None, str]:
    """The end of the first search, and a note for the status.

    Parameters
    ----------
    search : Search
        Its ``first_rows`` are taken, always the same ones.
    rows : int
        How many there are.
    deadline : float
        Instant of ``time.monotonic()`` at which the time is up; half of what is left is the first search's.
    find : callable
        Rows, how to search them and until when -> what is found.
    value : callable
        What is found, or None for the start -> what is maximised, of all rows.

    Returns
    -------
    found : None
        Where there is no first search: not asked for, pseudo-inputs that stay, or too few rows. Also where
        time is short, it failed, or all rows are no better off at its end, which the note says.
    note : str

    Raises
    ------
    ArithmeticError, ValueError
        If all rows cannot be evaluated at the start.
    """
    few = search.first_rows
    if few is None or not search.move_pseudo_inputs or rows < WORTH * few:
        return None, ""
    began = time.monotonic()
    at_start = value(None)
    now = time.monotonic()
    if deadline - now < TIME * (now - began):
        return None, "too little time for a first search"
    some = np.sort(np.random.default_rng(0).permutation(rows)[:few])
    limit = min(search.max_iterations, COST * rows // few)
    how = replace(search, first_rows=None, max_iterations=limit, rounds=1)
    name = f"the first search, of {few:,} rows"
    try:
        result: Any = find(some, how, now + 0.5 * (deadline - now))
        gain = value(result) - at_start
    except (ArithmeticError, ValueError) as error:
        return None, f"{name}, failed ({error})"
    if not gain > 0.0:
        return None, f"{name}, left aside: all rows are no better off at its end"
    return result, f"{result.status.evaluations} evaluations of {few:,} rows before"
