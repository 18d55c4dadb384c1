"""Moves of the posterior of rows in batches: groups of batches one after the other (`passes`).

By a rule that ascends a group moves the posterior far only where that raises the bound of its own rows, the
others being there as their sites,

    L(q) = sum_n E_q[log p(y_n|f_n)] - KL(q || the prior times the other rows' sites).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from tilted.learning.batch import Sums, factorised, summed, updated
from tilted.numerics import linalg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tilted.gaussian import Sites
    from tilted.learning.batch import Model

GROUPS = 8  # of batches, one after the other
HALVINGS = 30  # of the move of a group's sites that leaves no proper posterior, or lowers its bound
FAR = 0.1  # distance that the posterior is moved, from which on the bound is looked at
ROUNDING = 1e-10  # relative difference of two bounds that is taken for rounding
AT_ONCE = 32  # batches that are handed out before their sums are added up


@dataclass(frozen=True)
class Posterior:
    """N(mu, S) of z.

    Attributes
    ----------
    sums : Sums
    factor : array [M, M]
        L^-1 with L L^T = S^-1.
    projected : array [M]
        L^-1 of the second sum.
    log_det : float
        log det S^-1.
    """

    sums: Sums = field(repr=False)
    factor: np.ndarray = field(repr=False)
    projected: np.ndarray = field(repr=False)
    log_det: float

    @classmethod
    def of(cls, sums: Sums) -> Posterior:
        """NotPositiveDefinite if it is no proper Gaussian."""
        factor, log_det = factorised(sums.precision)
        return cls(sums, factor, factor @ sums.shift, log_det)

    @classmethod
    def from_factor(cls, factor: np.ndarray, projected: np.ndarray) -> Posterior:
        """One that rows left elsewhere; its sums are not known, and 0 here."""
        M = len(projected)
        return cls(Sums(np.zeros((M, M)), np.zeros(M)), factor, projected, -linalg.log_determinant(factor))

    @property
    def finite(self) -> bool:
        """Return whether all numbers are finite."""
        return bool(np.isfinite(self.log_det) and np.all(np.isfinite(self.projected)))

    def bound(self, other_groups: Sums, of_group: Sums) -> float:
        """L(q) of a group up to a constant; ``of_group`` has its local part at q, and the sites of that.

        -inf where it is no number.
        """
        z, S = self.factor.T @ self.projected, self.factor.T @ self.factor
        own = other_groups.precision + np.eye(len(z))
        fit = of_group.local - 0.5 * float(np.sum(of_group.precision * S))  # the expected log likelihood
        bound = (
            fit - 0.5 * float(np.sum(own * S) + z @ own @ z + self.log_det) + float(other_groups.shift @ z)
        )
        return bound if np.isfinite(bound) else -np.inf

    def distance(self, second: Posterior) -> float:
        """From another: of the means in sd, root mean square, or of log det a dimension; the larger."""
        apart = self.factor.T @ self.projected - second.factor.T @ second.projected
        M = len(apart)
        whitened = np.linalg.solve(self.factor.T, apart)  # S is factor^T factor
        return float(max(np.linalg.norm(whitened) / np.sqrt(M), abs(self.log_det - second.log_det) / M))


@dataclass
class Rows:
    """All rows in groups of batches, and their sites."""

    model: Model
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    batch: int
    deadline: float
    tau: np.ndarray = field(init=False)
    nu: np.ndarray = field(init=False)
    parallel: Parallel = field(init=False)

    def __post_init__(self) -> None:
        self.tau, self.nu = np.zeros((2, len(self.y)))

    @property
    def none(self) -> Sums:
        """Return the sums of no rows."""
        M = len(self.model.pseudo.Z)
        return Sums(np.zeros((M, M)), np.zeros(M))

    @cached_property
    def groups(self) -> list[list[slice]]:
        """The batches of each."""
        edges = [*range(0, len(self.y), self.batch), len(self.y)]
        slices = [slice(a, b) for a, b in pairwise(edges)]
        return [slices[first::GROUPS] for first in range(min(GROUPS, len(slices)))]

    def start_at(self, sites: Sites, before: Sums) -> tuple[Posterior, list[Sums]] | None:
        """Take these sites: the posterior, and the sums of groups; None, and flat sites, if it is none."""

        def task(rows: slice) -> object:
            return delayed(summed)(self.model, self.X[rows], sites.tau[rows], sites.nu[rows])

        had = [
            reduce(Sums.plus, (sums for _, sums in self._each(group, task)), self.none)
            for group in self.groups
        ]
        posterior = _proper(reduce(Sums.plus, had, before))
        if posterior is None:
            return None
        self.tau, self.nu = sites.tau, sites.nu
        return posterior, had

    def updated(self, at: Posterior, groups: list[list[slice]], step: float) -> list[Sums]:
        """Return the sums of each group after its sites moved a share of the way to the rule's sites."""
        return [self._updated(at, group, step) for group in groups]

    def _updated(self, at: Posterior, group: list[slice], step: float) -> Sums:
        def task(rows: slice) -> object:
            return delayed(updated)(
                self.model,
                at.factor,
                at.projected,
                *(column[rows] for column in (self.X, self.y, self.tau, self.nu)),
                None if self.weights is None else self.weights[rows],
                step,
            )

        total = self.none
        for rows, (sums, sites) in self._each(group, task):
            total, self.tau[rows], self.nu[rows] = total.plus(sums), sites.tau, sites.nu
        return total

    def _each(self, group: list[slice], task: Callable[[slice], object]) -> Iterator[tuple[slice, Any]]:
        """The batches of a group and what joblib made of their tasks, `AT_ONCE` of them in memory."""
        for first in range(0, len(group), AT_ONCE):
            some = group[first : first + AT_ONCE]
            yield from zip(some, self.parallel(task(rows) for rows in some), strict=True)

    def bound(self, at: Posterior, other_groups: Sums, groups: list[list[slice]]) -> float:
        """`Posterior.bound` of groups."""
        return at.bound(other_groups, reduce(Sums.plus, self.updated(at, groups, 0.0)))

    def passed(
        self, now: Posterior, had: list[Sums], before: Sums, step: float, first: bool
    ) -> tuple[Posterior, list[Sums], list[float]]:
        """The posterior after a pass, the sums of groups, and how far the sites of each move went.

        A group after the other; the flat sites of a ``first`` pass all at once, as a posterior without some
        of them is no better than the start. Sites of before are left as they were, in arrays of their own.
        """
        self.tau, self.nu, had, shares = self.tau.copy(), self.nu.copy(), list(had), []
        everyone = list(range(len(had)))
        for places in [everyone] if first else [[place] for place in everyone]:
            other_groups = reduce(Sums.plus, (sums for p, sums in enumerate(had) if p not in places), before)
            groups, old = [self.groups[place] for place in places], [had[place] for place in places]
            now, new, share = self.moved(now, other_groups, groups, old, step, first)
            shares.append(share)
            for place, sums in zip(places, new, strict=True):
                had[place] = sums
        return now, had, shares

    def moved(
        self,
        at: Posterior,
        other_groups: Sums,
        groups: list[list[slice]],
        old: list[Sums],
        step: float,
        first: bool,
    ) -> tuple[Posterior, list[Sums], float]:
        """The posterior after groups were updated at one, their sums, and how far their sites went.

        All the way to where ``step`` leads if they can, else half of it, and so on, until the time is up. The
        ``old`` sums are those of ``at``, but of a ``first`` pass.
        """
        was = [(rows, self.tau[rows].copy(), self.nu[rows].copy()) for group in groups for rows in group]
        new, least = self.updated(at, groups, step), None
        for share in (*(0.5**halvings for halvings in range(HALVINGS)), 0.0):
            if 0.0 < share < 1.0 and time.monotonic() >= self.deadline:
                continue
            sums = [
                new_sums.part_of_the_way(old_sums, share) for new_sums, old_sums in zip(new, old, strict=True)
            ]
            posterior = _proper(reduce(Sums.plus, sums, other_groups))
            if posterior is None:
                continue
            if not (share and self.model.rule.ascends) or posterior.distance(at) <= FAR:
                break
            if least is None:
                least = self._bound_of_old(at, other_groups, groups, old, new, first)
            if rises(self.bound(posterior, other_groups, groups), least):
                break
        else:  # that of the old sums was proper but for rounding
            posterior = replace(at, sums=reduce(Sums.plus, sums, other_groups))
        for rows, tau, nu in was if share < 1.0 else ():
            self.tau[rows] = tau + share * (self.tau[rows] - tau)
            self.nu[rows] = nu + share * (self.nu[rows] - nu)
        return posterior, sums, share

    def _bound_of_old(
        self,
        at: Posterior,
        other_groups: Sums,
        groups: list[list[slice]],
        old: list[Sums],
        new: list[Sums],
        first: bool,
    ) -> float:
        """Return groups' bound before they moved; after a first pass the update at ``at`` has it."""
        if first:
            start = _proper(reduce(Sums.plus, old, other_groups))
            return -np.inf if start is None else self.bound(start, other_groups, groups)
        local = sum(sums.local for sums in new)
        return at.bound(other_groups, replace(reduce(Sums.plus, old), local=local))


def _proper(sums: Sums) -> Posterior | None:
    """The posterior, or None where it is none or no numbers."""
    try:
        posterior = Posterior.of(sums)
    except linalg.NotPositiveDefinite:
        return None
    return posterior if posterior.finite else None


def rises(height: float, least: float) -> bool:
    """Return whether a bound is a number, and not lower than another except by rounding."""
    return height > -np.inf and height >= least - ROUNDING * abs(least)
