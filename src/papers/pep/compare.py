"""The aggregation behind every table, figure and verdict: differences, shares won, ranks, means.

An experiment is a (data set, split, M). Powers are only compared on the same experiment. One without a number
of either power is excluded from that comparison and counted. Lower scores are better.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from papers.core.comparisons import estimate
from papers.pep.regression import FULL, STOPPED
from papers.pep.scores import (
    alphas,
    datasets,
    predictive,
    real,
    scores_of,
    sparse,
    values,
    with_numbers,
)

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.comparisons import Score

EXPERIMENT = ["dataset", "split", "m"]
ALL = "all"
"""Value in place of a data set's name: all data sets."""


def wide(fits: pd.DataFrame, score: Score) -> pd.DataFrame:
    """Return the scores [experiments, powers] in the scale of their differences; NaN without a number."""
    runs = sparse(fits)
    table = runs.assign(value=values(runs, score)).pivot(index=EXPERIMENT, columns="alpha", values="value")
    return table.reindex(columns=alphas(runs)).sort_index()


@dataclass(frozen=True)
class Duel:
    """Two powers on the experiments for which both have a number.

    Attributes
    ----------
    differences : pandas.Series
        second - first by experiment: above zero the first is better.
    n_left_out : int
        Experiments run in which one of the two has no number.
    """

    differences: pd.Series
    n_left_out: int

    @property
    def n(self) -> int:
        return len(self.differences)

    @property
    def wins(self) -> int:
        """Count the experiments that the first power wins."""
        return int((self.differences > 0).sum())

    @property
    def losses(self) -> int:
        return int((self.differences < 0).sum())

    @property
    def ties(self) -> int:
        return self.n - self.wins - self.losses

    @property
    def share(self) -> float:
        """Return the mean over split numbers of the share won of experiments not tied; NaN if all are."""
        of_splits = self.shares("split")
        return float(of_splits.mean()) if len(of_splits) else np.nan

    def beyond(self, margin: float) -> tuple[int, int]:
        """Count the wins and losses by more than ``margin``."""
        return int((self.differences > margin).sum()), int((self.differences < -margin).sum())

    def shares(self, unit: str) -> np.ndarray:
        """Return the share of each ``split`` or ``dataset``, without those whose experiments are all tied."""
        return self.differences.groupby(level=unit).agg(_share).dropna().to_numpy(float)

    def among(self, reference: Duel) -> Duel:
        """Return this duel restricted to the experiments of another duel."""
        return Duel(self.differences[self.differences.index.isin(reference.differences.index)], 0)

    def less(self, reference: Duel, unit: str) -> np.ndarray:
        """Return this share minus another duel's for each ``split`` or ``dataset`` that both have."""
        first, second = (duel.differences.groupby(level=unit).agg(_share) for duel in (self, reference))
        return (first - second).dropna().to_numpy(float)


def _share(differences: pd.Series) -> float:
    wins, losses = (differences > 0).sum(), (differences < 0).sum()
    return float(wins / (wins + losses)) if wins + losses else np.nan


def duel(fits: pd.DataFrame, first: str, second: str, score: Score) -> Duel | None:
    """Return the duel of two powers; None if no experiment has a number of both."""
    return duel_in(wide(fits, score), first, second)


def duel_in(table: pd.DataFrame, first: str, second: str) -> Duel | None:
    """Return the duel of two powers of a table (`wide`); None if no experiment has a number of both."""
    if not {first, second} <= set(table.columns):
        return None
    differences = (table[second] - table[first]).dropna()
    return Duel(differences, len(table) - len(differences)) if len(differences) else None


def ranks(fits: pd.DataFrame, score: Score) -> pd.DataFrame:
    """Rank all powers [experiments, powers]: 1 is best, ties get their mean; complete experiments only."""
    return wide(fits, score).dropna().rank(axis=1, method="average")


def mean_ranks(fits: pd.DataFrame, score: Score) -> pd.DataFrame:
    """Return a row for each power: mean rank, standard errors over splits and data sets, and counts.

    The mean is over split numbers, of their means over data sets and M. The unit of a standard error is a
    split number or a data set; it is NaN with fewer than two.
    """
    import pandas as pd

    table = ranks(fits, score)
    n_left_out = len(wide(fits, score)) - len(table)
    lines = []
    for alpha in table.columns if len(table) else []:
        by_split, by_set = (table[alpha].groupby(level=unit).mean() for unit in ("split", "dataset"))
        lines.append(
            {
                "score": score.name,
                "alpha": alpha,
                "rank": by_split.mean(),
                "se_splits": by_split.sem(),
                "se_datasets": by_set.sem(),
                "n": len(table),
                "n_splits": len(by_split),
                "n_datasets": len(by_set),
                "n_left_out": n_left_out,
            }
        )
    return pd.DataFrame(lines)


WIN_COLUMNS = (
    *"score first second dataset n won lost tied share low high sets_low sets_high".split(),
    *"won_beyond lost_beyond left_out".split(),
)


def wins(fits: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each score, ordered pair of powers and data set (`ALL` first): wins and losses."""
    import pandas as pd

    sets = real(fits)
    groups = {ALL: sets} | {name: sets[sets["dataset"] == name] for name in datasets(sets)}
    lines = []
    for score in predictive(fits):
        tables = {name: wide(group, score) for name, group in groups.items()}
        for first, second in permutations(alphas(sets), 2):
            for name, table in tables.items():
                result = duel_in(table, first, second)
                if result is not None:
                    lines.append((score.name, first, second, name, *_won(result, score)))
    return pd.DataFrame(lines, columns=WIN_COLUMNS)


def _won(duel: Duel, score: Score) -> tuple[float, ...]:
    """Return the numbers of a row of `WIN_COLUMNS`."""
    over_splits, over_sets = (_interval(duel.shares(unit)) for unit in ("split", "dataset"))
    counts = duel.n, duel.wins, duel.losses, duel.ties
    return *counts, duel.share, *over_splits, *over_sets, *duel.beyond(score.margin), duel.n_left_out


def _interval(shares: np.ndarray) -> tuple[float, ...]:
    """Return the 95 % interval of a mean share, clipped to [0, 1]; NaN with too few."""
    mean = estimate(shares)
    return tuple(np.clip(mean.interval(), 0.0, 1.0).tolist()) if mean else (np.nan, np.nan)


def ranks_of_powers(fits: pd.DataFrame) -> pd.DataFrame:
    """Return `mean_ranks` of both predictive scores on the UCI sets."""
    import pandas as pd

    return pd.concat([mean_ranks(real(fits), score) for score in predictive(fits)])


def means(fits: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each (data set, M, power), the full GP included: mean and error of every score.

    Means are of the recorded numbers (NLML in nats), over the fits that have one. The full GP comes last; its
    mean at an M is over the splits with this M.
    """
    import pandas as pd

    place = {name: k for k, name in enumerate([*datasets(fits), *alphas(fits), FULL])}
    lines = []
    runs, full = sparse(fits), fits[fits["alpha"] == FULL].drop(columns="m")
    full_rows = full.merge(runs[EXPERIMENT].drop_duplicates(), on=["dataset", "split"])
    for (dataset, m, alpha), group in pd.concat([runs, full_rows]).groupby(
        ["dataset", "m", "alpha"], sort=False
    ):
        scored = with_numbers(group)
        line = {"dataset": dataset, "m": int(m), "alpha": alpha, "n": len(scored)}
        line |= {"n_stopped": int((scored["outcome"] == STOPPED).sum()), "n_failed": len(group) - len(scored)}
        for score in scores_of(fits):
            line[score.column] = scored[score.column].mean()
            line[f"{score.column}_se"] = scored[score.column].sem()
        lines.append(line)
    lines.sort(key=lambda x: (place[x["dataset"]], x["alpha"] == FULL, x["m"], place[x["alpha"]]))
    return pd.DataFrame(lines)


def short_of_bound(fits: pd.DataFrame) -> dict[str, tuple[int, int, float]]:
    """Map data sets to (splits where the full GP's search fell short, all splits, largest shortfall in nats).

    VFE's energy is nowhere below the full GP's of the same kernel (Titsias 2009, equation 9). If its minimum
    is lower by more than a nat, the full GP's search did not reach the least energy. Sets without such a
    split are not in the result.
    """
    short = {}
    for name, of_set in with_numbers(fits).groupby("dataset", sort=False):
        full = of_set[of_set["alpha"] == FULL].set_index("split")["nlml"]
        beyond = (full - of_set[of_set["alpha"] == "0"].groupby("split")["nlml"].min()).dropna()
        if n := int((beyond > 1.0).sum()):
            short[str(name)] = n, len(beyond), float(beyond.max())
    return short
