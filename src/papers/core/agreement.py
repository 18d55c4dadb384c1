"""Compare repeated rows with recorded ones, by the tolerances and the kind of their study.

A processor with another rounding repeats an inference to many digits, a search to its tolerance or in another
optimum, and a chaotic iteration not at all. `compare` says which of these happened to a row, `compare_means`
whether the means of many chaotic rows agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core.study import EXACT, Float

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Row, Study

SAME, BETTER, WORSE, DIFFERENT, CHAOTIC = (
    "same",
    "better optimum",
    "worse optimum",
    "different",
    "chaotic",
)


class Comparison(NamedTuple):
    """The result for one row.

    Attributes
    ----------
    status : str
        `SAME`: all compared columns agree. `BETTER`, `WORSE`: the search ended in an optimum with a higher or
        lower objective. `DIFFERENT`: a column differs although the objective, if there is one, agrees.
        `CHAOTIC`: a column differs in a row of kind ``chaotic``, from which nothing follows.
    column : str
        The first column that differs, empty if none.
    difference : float
        How far that column is from the record; NaN for text and where one of the two is missing.
    """

    status: str
    column: str = ""
    difference: float = math.nan


def compare(study: Study, record: Row, repeated: Row) -> Comparison:
    """Compare a repeated row with the recorded one.

    Parameters
    ----------
    study : Study
        Says which columns count and by how much they may differ.
    record, repeated : mapping
        Values by column. Columns of the key are not compared, nor those that the repeated row lacks.

    Returns
    -------
    Comparison
    """
    kind = study.kind_of(record)
    differing = _first_difference(study, record, repeated)
    if differing is None:
        return Comparison(SAME)
    objective = study.objective.removeprefix("-")
    if objective and is_missing(record[objective]) != is_missing(repeated[objective]):
        return Comparison(DIFFERENT, objective)  # one of the two fits failed
    if kind == "chaotic":
        return Comparison(CHAOTIC, *differing)
    if kind == "optimum":
        gain = float(repeated[objective]) - float(record[objective])
        if not _agrees(study, objective, record, repeated):
            higher = (gain > 0) != study.objective.startswith("-")
            return Comparison(BETTER if higher else WORSE, objective, gain)
    return Comparison(DIFFERENT, *differing)


def largest_difference(study: Study, records: pd.DataFrame, repeated: pd.DataFrame) -> float:
    """Return the largest difference of compared numbers, relative to 1 or the larger recorded number."""
    largest = [0.0]
    for name in _compared(study):
        if isinstance(study.columns[name], Float):
            before, after = (frame[name].to_numpy(dtype=float) for frame in (records, repeated))
            apart = np.abs(after - before) / np.maximum(1.0, np.abs(before))
            largest.append(float(np.max(apart, initial=0.0, where=np.isfinite(apart))))
    return max(largest)


class Means(NamedTuple):
    """The mean difference of a column over repeated rows, and its standard error."""

    column: str
    difference: float
    error: float
    agree: bool


def compare_means(study: Study, records: pd.DataFrame, repeated: pd.DataFrame) -> list[Means]:
    """Compare the means of many rows, column by column, for columns with a tolerance of their own.

    Means agree if they differ by no more than the tolerance plus four standard errors of the paired
    differences: many means are compared at once. A tolerance that depends on the row is one for single rows,
    and counts as none here. Digits that a file leaves out are no difference.

    Parameters
    ----------
    study : Study
    records, repeated : pandas.DataFrame
        The same rows in the same order.
    """
    means = []
    for name in _compared(study):
        column = study.columns[name]
        if not isinstance(column, Float) or column.tolerance is None:
            continue
        recorded = records[name].to_numpy(dtype=float)
        differences = repeated[name].to_numpy(dtype=float) - recorded
        finite = np.isfinite(differences)
        differences = differences[finite]
        if len(differences) > 1:
            mean = float(np.mean(differences))
            error = float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
            tolerance = 0.0 if callable(column.tolerance) else column.tolerance
            tolerance += rounded_away(float(np.max(np.abs(recorded[finite]))), column.digits)
            means.append(Means(name, mean, error, abs(mean) <= tolerance + 4 * error))
    return means


class Agreement(NamedTuple):
    """The result for a table of rows: of each row, and of the means of its chaotic rows in each group."""

    rows: list[Comparison]
    differing: list[str]
    means: list[str]

    @property
    def differences(self) -> list[str]:
        """Both lists of sentences."""
        return [*self.differing, *self.means]


def compare_frames(study: Study, records: pd.DataFrame, repeated: pd.DataFrame) -> Agreement:
    """Compare a table of repeated rows with the recorded ones, which are the same rows in the same order.

    Returns
    -------
    Agreement
        ``differing`` has a sentence for each row that is `DIFFERENT`, ``means`` one for each mean of chaotic
        rows that does not agree.
    """
    pairs = list(zip(records.to_dict("records"), repeated.to_dict("records"), strict=True))
    rows = [compare(study, record, row) for record, row in pairs]
    chaotic = np.array([study.kind_of(record) == "chaotic" for record, _ in pairs], dtype=bool)
    differing = [
        f"{study.name_of(record)}: {result.column} by {result.difference:.2g}"
        for (record, _), result in zip(pairs, rows, strict=True)
        if result.status == DIFFERENT
    ]
    apart = []
    group = [name for name in study.group if name in records]
    chaotic_rows = records[chaotic]
    for key, rows_of_group in chaotic_rows.groupby(group, sort=False) if group else [((), chaotic_rows)]:
        means = compare_means(study, rows_of_group, repeated.loc[rows_of_group.index])
        name = " ".join(map(str, key))
        apart += [f"{name}: mean {m.column} by {m.difference:.2g}" for m in means if not m.agree]
    return Agreement(rows, differing, apart)


def _compared(study: Study) -> list[str]:
    """Return the columns that are compared."""
    return [name for name, column in study.columns.items() if column.compared and name not in study.key]


def _first_difference(study: Study, record: Row, repeated: Row) -> tuple[str, float] | None:
    for name in _compared(study):
        if name in repeated and not _agrees(study, name, record, repeated):
            return name, _distance(record[name], repeated[name])
    return None


def _agrees(study: Study, name: str, record: Row, repeated: Row) -> bool:
    column, before, after = study.columns[name], record[name], repeated[name]
    if is_missing(before) or is_missing(after):
        return is_missing(before) and is_missing(after)
    if not isinstance(column, Float):
        return bool(before == after)
    allowed = _tolerance(column, record, name) + rounded_away(before, column.digits)
    return abs(float(after) - float(before)) <= allowed


def rounded_away(value: float, digits: int) -> float:
    """Return by how much a recorded number may differ from the one that was rounded to its digits."""
    return (
        0.0
        if digits == EXACT or value == 0
        else 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
    )


def _tolerance(column: Float, record: Mapping[str, Any], name: str) -> float:
    if callable(column.tolerance):
        return column.tolerance(record)
    return 1e-6 * max(1.0, abs(float(record[name]))) if column.tolerance is None else column.tolerance


def _distance(before: Any, after: Any) -> float:
    if isinstance(before, str) or is_missing(before) or is_missing(after):
        return math.nan
    return float(after) - float(before)


def is_missing(value: Any) -> bool:
    """Test if a value is None, NaN or <NA>."""
    import pandas as pd

    return bool(pd.isna(value))
