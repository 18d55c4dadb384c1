"""Power EP through pseudo-points for as many rows as one likes: passes over them in batches.

In the coordinates z = Luu^-1 u a posterior through pseudo-points is N(mu, S) with

    S^-1 = I + sum_n tau_n v_n v_n^T,    S^-1 mu = sum_n (nu_n - tau_n mean) v_n,    v_n = Luu^-1 k(Z, x_n).

A pass updates the sites of all rows, a batch at a time, and adds up what the batches have of both sums. Its
fixed point is that of sweeps over all rows at once [Bui et al. 2017, section 3]; beyond the data memory is
O(N + M^2 + batch M). Every `GROUPS`-th batch is updated at one posterior, then the next ones at what follows:
batches of a group need not know of each other, and joblib hands them to processes, or machines, of whatever
backend is in force. Rows that came earlier can be there as their sums.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from tilted.inference.result import Status
from tilted.learning.batch import Model, Sums, factorised, updated
from tilted.numerics import linalg

if TYPE_CHECKING:
    from tilted.gaussian import Sites

TOLERANCE = 1e-3  # of what a pass moves of z: the mean in sd, root mean square, and log det a dimension
GROUPS = 8  # of batches, one after the other
HALVINGS = 30  # of the move of a group's sites that leaves no proper posterior
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
    M = len(model.pseudo.Z)
    none = Sums(np.zeros((M, M)), np.zeros(M))
    before = earlier or none
    now = start or Posterior.of(before)
    edges = list(range(0, len(y), batch)) + [len(y)]
    parts = [slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True)]
    groups = [parts[first::GROUPS] for first in range(min(GROUPS, len(parts)))]
    had = [none for _ in groups]
    tau, nu = np.zeros((2, len(y)))
    step, smallest, retries, distance, energy, done = 1.0, 1.0, 0, np.inf, np.nan, 0
    with Parallel(n_jobs=n_jobs) as parallel:

        def update(at: Posterior, group: list[slice], step: float) -> Iterator[tuple[slice, Sums, Sites]]:
            """Each batch of a group, what it adds up to, and its sites."""
            for first in range(0, len(group), AT_ONCE):
                some = group[first : first + AT_ONCE]
                found = parallel(
                    delayed(updated)(
                        model,
                        at.factor,
                        at.projected,
                        *(column[rows] for column in (X, y, tau, nu)),
                        None if weights is None else weights[rows],
                        step,
                    )
                    for rows in some
                )
                for rows, (sums, sites) in zip(some, found, strict=True):
                    yield rows, sums, sites

        while done < most and distance > tolerance and (not done or time.monotonic() < deadline):
            began, shortest = now, 1.0
            for place, group in enumerate(groups):
                total, was = none, [(rows, tau[rows].copy(), nu[rows].copy()) for rows in group]
                for rows, sums, sites in update(now, group, step):
                    total, tau[rows], nu[rows] = total.plus(sums), sites.tau, sites.nu
                others = reduce(Sums.plus, had[:place] + had[place + 1 :], before)
                found_now, had[place], share = _proper(others, total, had[place])
                if share < 1.0:
                    retries, shortest = retries + 1, min(shortest, share)
                    for rows, a, b in was:
                        tau[rows], nu[rows] = a + share * (tau[rows] - a), b + share * (nu[rows] - b)
                if done or place == len(groups) - 1:  # at first, until all rows have sites, at the start
                    now = found_now
            # sites that were held back have not settled
            moved, done = now.distance(began) / (shortest * step) if shortest else np.inf, done + 1
            if moved > distance and step > 0.1:  # no contraction
                step, retries = 0.5 * step, retries + 1
            elif moved < 0.5 * distance:
                step = min(1.0, 2.0 * step)
            distance, smallest = moved, min(smallest, step, shortest)
            if watch is not None:
                watch(done, distance)
        if earlier is None:  # where posterior and sites ended: once more, and nothing is moved
            local = sum(sums.local for _, sums, _ in update(now, parts, 0.0))
            z = now.factor.T @ now.projected  # by the integrand of prior and sites at its maximum
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


def _proper(others: Sums, new: Sums, old: Sums) -> tuple[Posterior, Sums, float]:
    """A proper posterior of all sums, those of a group, and how far its sites went: all the way if they can.

    With the ``old`` ones it is proper: where the new ones lead to none, half of the way is tried.
    """
    for halvings in range(HALVINGS):
        share = 0.5**halvings
        part = new if share == 1.0 else new.part_of_the_way(old, share)
        try:
            return Posterior.of(others.plus(part)), part, share
        except linalg.NotPositiveDefinite:
            pass
    return Posterior.of(others.plus(old)), old, 0.0


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
