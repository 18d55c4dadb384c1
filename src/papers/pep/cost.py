"""Predicted costs of the fits of a grid, from the records of other fits (`Costs`), for the plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from papers.pep.records import power
from papers.pep.regression import FULL

if TYPE_CHECKING:
    from collections.abc import Iterable

CELL = ["dataset", "alpha", "m"]


@dataclass(frozen=True)
class Costs:
    """Predicted seconds of fits, from a table of recorded fits: `CELL`, n_train, evaluations and seconds.

    A fit costs the mean of its records (same data set, power and M). Without any, a power between 0 and 1
    costs as much as the nearest such power with the same data set and M. (At 0 and 1 a classification needs
    less quadrature, or none, and takes a third of the time.) If ``others``, records of other protocols, have
    both powers, the cost is multiplied by their ratio there. Without records of any such power the cost is
    `Searches.evaluations` times `Searches.each`.
    """

    frame: pd.DataFrame
    others: pd.DataFrame | None = None
    _told: dict[tuple[str, int, str, int], float | None] = field(default_factory=dict)

    def seconds(self, dataset: str, n: int, alpha: str, m: int) -> float | None:
        """Return the seconds of one fit with ``n`` training points; None without any record to use."""
        key = dataset, n, alpha, m
        if key not in self._told:
            self._told[key] = self._seconds(*key)
        return self._told[key]

    def _seconds(self, dataset: str, n: int, alpha: str, m: int) -> float | None:
        same = self._means.get((dataset, alpha, m))
        if same is not None:
            return same
        if alpha != FULL and 0 < float(alpha) < 1:
            inner = {a: s for (d, a, k), s in self._means.items() if (d, k) == (dataset, m) and _is_inner(a)}
            if inner:
                nearest = _nearest(inner, alpha)
                both = [self._theirs.get((dataset, a, m), 0.0) for a in (alpha, nearest)]
                return inner[nearest] * (both[0] / both[1] if min(both) > 0 else 1.0)
        searches = self._exact if alpha == FULL else self._sparse
        if not len(searches.frame):
            return None
        return searches.evaluations(dataset, alpha, m) * searches.each(dataset, n, m)

    @cached_property
    def _means(self) -> dict[tuple[str, str, int], float]:
        return _means(self.frame)

    @cached_property
    def _theirs(self) -> dict[tuple[str, str, int], float]:
        return {} if self.others is None else _means(self.others)

    @cached_property
    def _exact(self) -> Searches:
        return Searches(self.frame[self.frame["alpha"] == FULL])

    @cached_property
    def _sparse(self) -> Searches:
        return Searches(self.frame[self.frame["alpha"] != FULL])


@dataclass(frozen=True)
class Searches:
    """Predicted evaluations and seconds of searches, all of exact regressions or all of sparse ones.

    The logarithm of the number of evaluations is an effect of the data set plus an effect of the power and
    M, by least squares over the means of recorded fits: a set whose searches are long with few pseudo-points
    has long ones with many. The seconds of an evaluation are a combination of N, N M and N M^2 (exact: N and
    N^3) with nonnegative coefficients. On a set with records they are scaled by the ratio of recorded to
    predicted seconds at the nearest M.
    """

    frame: pd.DataFrame

    def evaluations(self, dataset: str, alpha: str, m: int) -> float:
        """Return the mean number of evaluations of a search.

        The number is interpolated in log M between recorded M, constant beyond them, and at most the recorded
        maximum. A set without records has the mean effect, a power without records that of the nearest.
        """
        of_sets, of_cells = self._effects
        there = np.exp(of_cells[_nearest(of_cells.index.get_level_values(0), alpha)])
        cell = np.interp(_log(m), _log(there.index.to_numpy()), there.to_numpy())
        return min(float(np.exp(of_sets.get(dataset, of_sets.mean())) * cell), float(self._used.max()))

    def each(self, dataset: str, n: int, m: int) -> float:
        """Return the seconds of an evaluation with ``n`` training points."""
        modelled = self._modelled(n, m)
        own = self.frame[self.frame["dataset"] == dataset]
        nearest = min(own["m"].unique(), key=lambda other: abs(_log(other) - _log(m)), default=m)
        own = own[own["m"] == nearest]
        seconds, used = own["seconds"].sum(), self._used[own.index].sum()
        return modelled * seconds / used / self._modelled(n, nearest) if seconds > 0 else modelled

    def _modelled(self, n: int, m: int) -> float:
        return float((_terms(np.array([n]), np.array([m])) @ self._coefficients)[0])

    @cached_property
    def _used(self) -> pd.Series:
        return self.frame["evaluations"].clip(lower=1).astype(float)

    @cached_property
    def _effects(self) -> tuple[pd.Series, pd.Series]:
        """Return the effects of data sets, and of (power, M) in order; only sums of both are identified."""
        logs = np.log(self._used.groupby([self.frame[name] for name in CELL]).mean()).reset_index(name="used")
        set_of, sets = pd.factorize(logs["dataset"])
        cell_of, cells = pd.factorize(pd.MultiIndex.from_frame(logs[["alpha", "m"]]), sort=True)
        design = np.hstack([np.eye(len(sets))[set_of], np.eye(len(cells))[cell_of]])
        used, mean = (
            logs["used"].to_numpy(),
            logs["used"].mean(),
        )  # which neither side of records apart is without
        effects = np.linalg.lstsq(design, used - mean)[0]
        return pd.Series(effects[: len(sets)], sets), pd.Series(effects[len(sets) :] + mean, cells)

    @cached_property
    def _coefficients(self) -> np.ndarray:
        """Return the coefficients of the terms, by relative least squares, none negative."""
        seconds = np.maximum(self.frame["seconds"] / self._used, 1e-6).to_numpy()  # the clock may not see it
        terms = _terms(self.frame["n_train"].to_numpy(), self.frame["m"].to_numpy())
        return nnls(terms / seconds[:, None], np.ones(len(seconds)))[0]


def _means(frame: pd.DataFrame) -> dict[tuple[str, str, int], float]:
    """Return the mean seconds of each of `CELL`."""
    return frame.groupby(CELL)["seconds"].mean().to_dict()


def _terms(n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the terms [K, 4] of an evaluation's cost for arrays of N and M; M = 0 is exact regression."""
    n, m = n.astype(float), m.astype(float)
    exact = m == 0
    return np.column_stack([n, n * m, n * m**2, n**3]) * np.where(exact[:, None], [1, 0, 0, 1], [1, 1, 1, 0])


def _log(m: np.ndarray | int) -> np.ndarray:
    return np.log(np.maximum(np.asarray(m, dtype=float), 1.0))


def _nearest(alphas: Iterable[str], alpha: str) -> str:
    """Return the power nearest to ``alpha``, which is itself if it is among them."""
    return min(alphas, key=lambda other: 0.0 if other == alpha else abs(float(other) - float(alpha)))


def _is_inner(alpha: str) -> bool:
    return alpha not in (FULL, power(0), power(1))
