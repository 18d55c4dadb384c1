"""The printed shares of experiments won [Bui et al. 2017, section 4.2 and figure 4]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.pep.scores import predictive

if TYPE_CHECKING:
    import pandas as pd

FILE = "pep_win_rates.csv"


class Printed(NamedTuple):
    """``first`` beats ``second`` in ``percent`` of the experiments on a score; NaN: no clear winner."""

    claim: str
    score: str
    first: str
    second: str
    percent: float


def read(path: str | Path) -> list[Printed]:
    """The printed shares, in the paper's order."""
    import pandas as pd

    table = pd.read_csv(path, dtype={"first": "str", "second": "str"})
    return [Printed(*line) for line in table[list(Printed._fields)].itertuples(index=False)]


def about(fits: pd.DataFrame, printed: Sequence[Printed]) -> list[Printed]:
    """Those on the scores that a frame of fits has."""
    names = {score.name for score in predictive(fits)}
    return [line for line in printed if line.score in names]
