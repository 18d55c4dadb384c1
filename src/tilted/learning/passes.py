"""Power EP through pseudo-points for as many rows as one likes: passes over them in batches.

In the coordinates z = Luu^-1 u a posterior through pseudo-points is N(mu, S) with

    S^-1 = I + sum_n tau_n v_n v_n^T,    S^-1 mu = sum_n (nu_n - tau_n mean) v_n,    v_n = Luu^-1 k(Z, x_n).

A pass updates the sites of all rows, a batch at a time, and adds up what the batches have of both sums. Its
fixed point is that of sweeps over all rows at once [Bui et al. 2017, section 3]; beyond the data memory is
O(N + M^2 + batch M). Every `GROUPS`-th batch is updated at one posterior, then the next ones at what follows:
batches of a group need not know of each other, and joblib hands them to processes, or machines, of whatever
backend is in force. Rows that came earlier can be there as their sums.

By a rule that ascends a group moves the posterior far only where that raises the bound of its own rows, the
others being there as their sites:

    L(q) = sum_n E_q[log p(y_n|f_n)] - KL(q || the prior times the other rows' sites).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from tilted.inference.result import Status
from tilted.learning.batch import Model, Sums, factorised, updated
from tilted.learning.starts import first_sites
from tilted.numerics import linalg

TOLERANCE = 1e-3  # of what a pass moves of z: the mean in sd, root mean square, and log det a dimension
GROUPS = 8  # of batches, one after the other
HALVINGS = 30  # of the move of a group's sites that leaves no proper posterior, or lowers its bound
FAR = 0.1  # distance that a group moves the posterior, from which on its bound is looked at
ROUNDING = 1e-8  # relative difference of two bounds that is taken for rounding
AT_ONCE = 32  # batches that are handed out before their sums are added up
MOST = 50  # passes


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
    def known(cls, factor: np.ndarray, projected: np.ndarray) -> Posterior:
        """One that rows left elsewhere; its sums are not known, and 0 here."""
        M = len(projected)
        return cls(Sums(np.zeros((M, M)), np.zeros(M)), factor, projected, -linalg.log_determinant(factor))

    @property
    def finite(self) -> bool:
        """Whether it is numbers."""
        return bool(np.isfinite(self.log_det) and np.all(np.isfinite(self.projected)))

    def bound(self, others: Sums, of_group: Sums) -> float:
        """L(q) of a group up to a constant; ``of_group`` has its local part at q, and the sites of that."""
        z, S = self.factor.T @ self.projected, self.factor.T @ self.factor
        own = others.precision + np.eye(len(z))
        fit = of_group.local - 0.5 * float(np.sum(of_group.precision * S))  # the expected log likelihood
        return fit - 0.5 * float(np.sum(own * S) + z @ own @ z + self.log_det) + float(others.shift @ z)

    def distance(self, other: Posterior) -> float:
        """From another: of the means in sd, root mean square, or of log det a dimension; the larger."""
        apart = self.factor.T @ self.projected - other.factor.T @ other.projected
        M = len(apart)
        whitened = np.linalg.solve(self.factor.T, apart)  # S is factor^T factor
        return float(max(np.linalg.norm(whitened) / np.sqrt(M), abs(self.log_det - other.log_det) / M))


class Passed(NamedTuple):
    """Where passes ended.

    Attributes
    ----------
    posterior : Posterior
    log_evidence : float
        Power EP's energy or VB's bound, to about the tolerance; NaN of rows beside earlier sums.
    status : Status
    """

    posterior: Posterior
    log_evidence: float
    status: Status


def passes(
    model: Model,
    X: np.ndarray,
    y: np.ndarray,
    batch: int,
    start: Posterior | None = None,
    earlier: Sums | None = None,
    weights: np.ndarray | None = None,
    tolerance: float = TOLERANCE,
    most: int = MOST,
    deadline: float = np.inf,
    n_jobs: int | None = None,
    watch: Callable[[int, float], object] | None = None,
) -> Passed:
    """Pass over rows until the posterior stays where it is.

    Parameters
    ----------
    model : Model
    X, y : arrays [N, D], [N]
        Memory-mapped ones are read a batch at a time.
    batch : int
        Rows a task.
    start : Posterior, optional
        At which the first pass updates flat sites, such as that of some of the rows; by default that of
        ``earlier``.
    earlier : Sums, optional
        Of rows seen before, whose sites stay as they are.
    weights : array [N], optional
        Powers of the likelihood's factors.
    tolerance, most, deadline
        To stop by: distance of two posteriors (`Posterior.distance`), passes, `time.monotonic`.
    n_jobs : int, optional
        Of joblib.
    watch : callable, optional
        Hears, after each pass, its number and the distance.

    Raises
    ------
    NotPositiveDefinite
        If Kuu comes so near to singular that K - Q loses its sign: allow jitter.
    """
    rows = _Rows(model, X, y, weights, batch)
    before = earlier or rows.none
    now = start or Posterior.of(before)
    had = [rows.none for _ in rows.groups]
    together = [list(range(len(had)))]
    one_by_one = [[place] for place in range(len(had))]
    step, smallest, retries, distance, energy, done = 1.0, 1.0, 0, np.inf, np.nan, 0
    with Parallel(n_jobs=n_jobs) as rows.parallel:
        guess = first_sites(model.likelihood, y, model.mean, weights)
        if guess is not None:
            rows.tau, rows.nu = guess.tau, guess.nu
            had = rows.updated(now, rows.groups, 0.0)
            now = Posterior.of(reduce(Sums.plus, had, before))
        while done < most and not distance <= tolerance and (not done or time.monotonic() < deadline):
            began, shortest = now, 1.0
            # flat sites go all at once: a posterior without some of them is no better than the start
            for places in together if not done and guess is None else one_by_one:
                others = reduce(Sums.plus, (sums for p, sums in enumerate(had) if p not in places), before)
                moving = [rows.groups[place] for place in places]
                now, moved_on, share = rows.moved(now, others, moving, [had[place] for place in places], step)
                for place, sums in zip(places, moved_on, strict=True):
                    had[place] = sums
                retries, shortest = retries + (share < 1.0), min(shortest, share)
            # sites that were held back have not settled
            moved, done = now.distance(began) / (shortest * step) if shortest else np.inf, done + 1
            if moved > distance and step > 0.1:  # no contraction
                step, retries = 0.5 * step, retries + 1
            elif moved < (1.0 if model.rule.ascends else 0.5) * distance:
                step = min(1.0, 2.0 * step)
            distance, smallest = moved, min(smallest, step, shortest)
            if watch is not None:
                watch(done, distance)
        if earlier is None:  # where posterior and sites ended: once more, and nothing is moved
            # by the integrand of prior and sites at its maximum
            local = sum(sums.local for sums in rows.updated(now, rows.groups, 0.0))
            z = now.factor.T @ now.projected
            energy = local - 0.5 * float(z @ z + now.log_det)
    stays, left_out = bool(distance <= tolerance), now.sums.skipped - before.skipped
    converged = stays and not left_out and (earlier is not None or bool(np.isfinite(energy)))
    status = Status(
        converged=converged,
        sweeps=done,
        residual=distance,
        damping=smallest,
        jitter=model.pseudo.jitter,
        skipped=now.sums.skipped,
        retries=retries,
        negative_sites=now.sums.negative,
        message=_message(converged, stays, done, most, len(y), distance, now.sums, left_out),
    )
    return Passed(now, energy, status)


@dataclass
class _Rows:
    """All rows in groups of batches, and their sites, flat at first."""

    model: Model
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    batch: int
    tau: np.ndarray = field(init=False)
    nu: np.ndarray = field(init=False)
    parallel: Parallel = field(init=False)

    def __post_init__(self) -> None:
        self.tau, self.nu = np.zeros((2, len(self.y)))

    @property
    def none(self) -> Sums:
        """Of no rows."""
        M = len(self.model.pseudo.Z)
        return Sums(np.zeros((M, M)), np.zeros(M))

    @cached_property
    def groups(self) -> list[list[slice]]:
        """The batches of each."""
        edges = [*range(0, len(self.y), self.batch), len(self.y)]
        parts = [slice(a, b) for a, b in pairwise(edges)]
        return [parts[first::GROUPS] for first in range(min(GROUPS, len(parts)))]

    def updated(self, at: Posterior, groups: list[list[slice]], step: float) -> list[Sums]:
        """What each group adds up to, once its sites went so much of their way to the rule's."""
        return [self._updated(at, group, step) for group in groups]

    def _updated(self, at: Posterior, group: list[slice], step: float) -> Sums:
        total = self.none
        for first in range(0, len(group), AT_ONCE):
            some = group[first : first + AT_ONCE]
            found = self.parallel(
                delayed(updated)(
                    self.model,
                    at.factor,
                    at.projected,
                    *(column[rows] for column in (self.X, self.y, self.tau, self.nu)),
                    None if self.weights is None else self.weights[rows],
                    step,
                )
                for rows in some
            )
            for rows, (sums, sites) in zip(some, found, strict=True):
                total, self.tau[rows], self.nu[rows] = total.plus(sums), sites.tau, sites.nu
        return total

    def moved(
        self, at: Posterior, others: Sums, groups: list[list[slice]], old: list[Sums], step: float
    ) -> tuple[Posterior, list[Sums], float]:
        """The posterior after groups were updated at one, their sums, and how far their sites went.

        All the way to where ``step`` leads if they can, else half of it, and so on. With the ``old`` sums,
        which ``at`` need not have, the posterior of all is proper.
        """
        was = [(rows, self.tau[rows].copy(), self.nu[rows].copy()) for group in groups for rows in group]
        new = self.updated(at, groups, step)
        least = None
        for share in (*(0.5**halvings for halvings in range(HALVINGS)), 0.0):
            sums = [one.part_of_the_way(other, share) for one, other in zip(new, old, strict=True)]
            try:
                found = Posterior.of(reduce(Sums.plus, sums, others))
            except linalg.NotPositiveDefinite:
                continue
            if not share or (found.finite and not self._may_descend(found, at)):
                break
            if least is None:
                least = self._bound(Posterior.of(reduce(Sums.plus, old, others)), others, groups)
                least -= ROUNDING * abs(least)
            height = self._bound(found, others, groups) if found.finite else -np.inf
            if np.isfinite(height) and not height < least:
                break
        for rows, tau, nu in was if share < 1.0 else ():
            self.tau[rows] = tau + share * (self.tau[rows] - tau)
            self.nu[rows] = nu + share * (self.nu[rows] - nu)
        return found, sums, share

    def _may_descend(self, found: Posterior, at: Posterior) -> bool:
        """Whether a rule that ascends goes so far that it may go too far."""
        return self.model.rule.ascends and not found.distance(at) <= FAR

    def _bound(self, at: Posterior, others: Sums, groups: list[list[slice]]) -> float:
        """That of groups at a posterior."""
        return at.bound(others, reduce(Sums.plus, self.updated(at, groups, 0.0)))


def _message(
    converged: bool, stays: bool, done: int, most: int, rows: int, distance: float, sums: Sums, left_out: int
) -> str:
    stayed = "converged in" if converged else "not converged: the posterior stays where it is after"
    text = f"{stayed if stays else 'the posterior still moves after'} {done} passes over {rows:,} rows"
    text += "" if stays else f", by {distance:.2g} sd"
    text += ": more time (max_time)" if not stays and done < most else ""
    text += f"; {sums.skipped} sites left out" if sums.skipped else ""
    text += "; no finite evidence" if stays and not converged and not left_out else ""
    return text + (f"; {sums.floored} variances lost to rounding" if sums.floored else "")
