"""What becomes of a fit that is made again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pandas as pd

    from papers.core.study import Study

HOWS = FIXED, SCRATCH = ("fixed", "scratch")
"""At the recorded hyperparameters; with the whole search."""
VERDICTS = PASSED, BY_SEARCH, DIFFERS, REPORTED = ("yes", "by search", "no", "reported")
"""``by search``: inference at the recorded hyperparameters ends elsewhere, the whole search reproduces the
record; ``reported``: chaotic, another result is no failure."""


class Outcome(NamedTuple):
    """A fit made again, beside its record.

    Attributes
    ----------
    how : str
        One of `HOWS`.
    passed : str
        One of `VERDICTS`.
    difference : float
        Largest difference of the recorded numbers, as the study's own way to make a line again counts it
        (absolute, or relative to 1 or the larger recorded number); NaN for a failed fit.
    gain : float
        Today's evidence, or what was maximised, minus the recorded, nats; NaN where there is none.
    note : str
        Why not ``yes``; of a failed fit, that it fails again.
    made : dict, optional
        The whole line as it was made, if it could stand in the place of the recorded one; not written down.
    """

    how: str
    passed: str
    difference: float
    gain: float = math.nan
    note: str = ""
    made: dict[str, Any] | None = None


def outcome_of(how: str, differences: dict[str, float], tolerance: float, gain: float = math.nan) -> Outcome:
    """Passed if no difference is beyond the tolerance; else which are."""
    largest = max((abs(value) for value in differences.values()), default=math.nan)
    beyond = [name for name, value in differences.items() if not abs(value) <= tolerance]
    text = f"{', '.join(beyond)} beyond {tolerance:g}" if beyond else ""
    return Outcome(how, DIFFERS if beyond else PASSED, largest, gain, text)


def reported(outcome: Outcome, why: str) -> Outcome:
    """The outcome of something chaotic: what did not pass is no failure, for a reason."""
    if outcome.passed == PASSED:
        return outcome
    return outcome._replace(passed=REPORTED, note=f"{why}: {outcome.note}")


class Context(NamedTuple):
    """What repeating rows needs beside them.

    Attributes
    ----------
    mirror : str or None
        Of raw data, tried first.
    every : pandas.DataFrame
        All rows of the same protocol and data set, or of whatever of the two the study has.
    study : Study
    folder : str or Path
        Of all results: repeating rows of one study may need those of another.
    """

    mirror: str | None
    every: pd.DataFrame
    study: Study
    folder: str | Path


MadeAgain = Iterator[tuple[dict[str, "Any"], Sequence[Outcome] | str]]
"""Rows, each with what was found, or why it could not be repeated."""

Again = Callable[["pd.DataFrame", Context], MadeAgain]
"""Rows of one data set, with a column ``scratch`` (whether from scratch too), context -> they repeated.

Raises `MissingData` where the data are not to be had; of rows not repeated until then it is said why."""
