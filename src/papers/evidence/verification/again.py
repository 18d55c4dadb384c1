"""Lines made again beside their records, number by number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from papers.core.comparison import BETTER, CHAOTIC, DIFFERENT, SAME, WORSE, compare, is_missing, rounded_away
from papers.evidence.verification.outcome import DIFFERS, PASSED, REPORTED, SCRATCH, Outcome, outcome_of

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Study
    from papers.evidence.verification.outcome import Context, MadeAgain

TOLERANCE = 1e-6
SECONDS = "seconds"
"""Column of processor times, which nobody expects to be the same again."""
LISTS = ("lengthscale", "lengthscales")
"""Columns whose texts are numbers joined by ``:``."""


def compared(how: str, study: Study, line: Mapping[str, Any], made: Mapping[str, Any]) -> Outcome:
    """Passed if no column differs by more than `TOLERANCE` (`differences`); else which do."""
    return outcome_of(how, differences(study, line, made), TOLERANCE)


def by_tolerance(study: Study, record: Mapping[str, Any], repeated: Mapping[str, Any]) -> Outcome:
    """Compare a row repeated from scratch with its record, by the tolerances and the kind of the study.

    A better optimum, and any end of a chaotic row, is reported and no failure; a worse optimum differs.
    """
    result = compare(study, record, repeated)
    gain = math.nan
    if study.objective:
        objective, sign = study.objective.removeprefix("-"), -1 if study.objective.startswith("-") else 1
        if not (is_missing(repeated[objective]) or is_missing(record[objective])):
            gain = sign * (float(repeated[objective]) - float(record[objective]))
    verdict = {SAME: PASSED, BETTER: REPORTED, CHAOTIC: REPORTED, WORSE: DIFFERS, DIFFERENT: DIFFERS}
    note = "" if result.status == SAME else f"{result.status}: {result.column} by {result.difference:.2g}"
    numbers = {name: value for name, value in repeated.items() if name in study.floats}
    largest = max(differences(study, record, numbers).values(), default=math.nan)
    return Outcome(SCRATCH, verdict[result.status], largest, gain, note, dict(repeated))


def differences(study: Study, line: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, float]:
    """How far the columns of a line made again are from those of its record.

    Parameters
    ----------
    study : Study
    line, made : mapping
        What is recorded; what was made, of which columns that name the line, and its `SECONDS`, are not
        compared.

    Returns
    -------
    dict
        Column -> difference of numbers, less what the digits of the file round away, relative to 1 or, if
        that is larger, the recorded number; infinite where one of the two is missing or texts differ (but for
        `LISTS`, of which the largest difference counts).
    """
    compared = [name for name in study.columns if name in made and name not in (*study.key, SECONDS)]
    return {name: _difference(study, name, line[name], made[name]) for name in compared}


def _difference(study: Study, name: str, had: Any, made: Any) -> float:
    if isinstance(had, str) and had != made and name in LISTS:
        return _difference_of_lists(had, str(made))
    if isinstance(had, str):
        return 0.0 if had == made else math.inf
    missing = is_missing(had), is_missing(made)
    if any(missing):
        return 0.0 if all(missing) else math.inf
    difference = abs(float(made) - float(had))
    if name in study.floats:
        difference -= rounded_away(had, study.floats[name].digits)
    return max(0.0, difference) / max(1.0, abs(float(had)))


def _difference_of_lists(had: str, made: str) -> float:
    """The largest; infinite where they are no finite numbers, or of other lengths."""
    try:
        pairs = [(float(x), float(y)) for x, y in zip(had.split(":"), made.split(":"), strict=True)]
    except ValueError:
        return math.inf
    apart = [abs(x - y) / max(1.0, abs(x)) for x, y in pairs]
    return max(apart) if all(map(math.isfinite, apart)) else math.inf


def matched(lines: pd.DataFrame, context: Context, made: Iterable[Mapping[str, Any]]) -> MadeAgain:
    """Compare each row with the repeated one of its name (`by_tolerance`)."""
    study = context.study
    by_name = {tuple(study.line(new)[name] for name in study.key): new for new in made}
    for line in lines.to_dict("records"):
        today = by_name.get(tuple(line[name] for name in study.key))
        if today is None:
            yield line, [Outcome(SCRATCH, DIFFERS, math.inf, note="not among what is made today")]
        else:
            yield line, [by_tolerance(study, line, today)]
