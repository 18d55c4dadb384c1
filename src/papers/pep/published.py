"""The printed results: shares of experiments won, and data sets [Bui et al. 2017, sections 4.2 and 4.3]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from papers.pep.scores import predictive

if TYPE_CHECKING:
    import pandas as pd

FILE, SETS_FILE = "pep_win_rates.csv", "pep_set_counts.csv"


class Printed(NamedTuple):
    """A printed share: ``first`` beats ``second`` in ``percent`` of experiments; NaN: no clear winner."""

    claim: str
    score: str
    first: str
    second: str
    percent: float


class Counted(NamedTuple):
    """A printed count: ``first`` is better than ``second`` on ``sets`` of ``total`` data sets."""

    claim: str
    score: str
    first: str
    second: str
    sets: int
    total: int


def read(folder: Path) -> list[Printed]:
    """Read the printed shares (`FILE` of a folder), in the paper's order."""
    return [Printed(*line) for line in _lines(folder / FILE, Printed._fields)]


def read_counts(folder: Path) -> list[Counted]:
    """Read the printed numbers of data sets (`SETS_FILE` of a folder), in the paper's order."""
    return [Counted(*line) for line in _lines(folder / SETS_FILE, Counted._fields)]


def _lines(path: Path, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    import pandas as pd

    table = pd.read_csv(path, dtype={"first": "str", "second": "str"})
    return table[list(columns)].itertuples(index=False)


def about(fits: pd.DataFrame, printed: Sequence[Printed]) -> list[Printed]:
    """Select the printed shares of the scores that a frame of fits has."""
    names = {score.name for score in predictive(fits)}
    return [line for line in printed if line.score in names]
