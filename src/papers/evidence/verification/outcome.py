"""What becomes of a fit that is made again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

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
