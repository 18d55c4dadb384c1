"""The printed results: shares of experiments won, and data sets [Bui et al. 2017, sections 4.2 and 4.3]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

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


class Published(NamedTuple):
    """The printed shares of experiments and numbers of data sets, in the paper's order."""

    shares: Sequence[Printed]
    counts: Sequence[Counted]

    def of(self, claim: str) -> list[Printed]:
        """Return the shares that belong to a claim."""
        return [line for line in self.shares if line.claim == claim]


def read(folder: Path) -> Published:
    """Read the printed shares (`FILE`) and numbers of data sets (`SETS_FILE`) of a folder."""
    import pandas as pd

    shares, counts = (
        pd.read_csv(folder / name, dtype={"first": "str", "second": "str"}) for name in (FILE, SETS_FILE)
    )
    return Published(
        [Printed(*row) for row in shares[list(Printed._fields)].itertuples(index=False)],
        [Counted(*row) for row in counts[list(Counted._fields)].itertuples(index=False)],
    )
