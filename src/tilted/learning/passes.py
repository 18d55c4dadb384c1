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
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from tilted.gaussian import Marginals, Sites
from tilted.inference.result import Status
from tilted.inference.rule import weighted
from tilted.likelihoods.contract import has_additive_noise
from tilted.numerics import linalg
from tilted.numerics.chunks import in_chunks

if TYPE_CHECKING:
    from tilted.inference.rule import Rule
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.pseudo import PseudoPoints

TOLERANCE = 1e-3  # of what a pass moves of z: the mean in sd, root mean square, and log det a dimension
GROUPS = 8  # of batches, one after the other
HALVINGS = 30  # of the move of a group's sites that leaves no proper posterior
AT_ONCE = 32  # batches that are handed out before their sums are added up
MOST = 50  # passes


@dataclass(frozen=True)
class Sums:
    """What rows add up to.

    Attributes
    ----------
    precision, shift : arrays [M, M], [M]
        The two sums.
    local : float
        Local parts of the log evidence, at the posterior and the sites before the update.
    rows, skipped, negative, floored : int
        Rows; sites left as they were; those with negative precision; conditional variances that rounding had
        put below zero.
    """

    precision: np.ndarray = field(repr=False)
    shift: np.ndarray = field(repr=False)
    local: float = 0.0
    rows: int = 0
    skipped: int = 0
    negative: int = 0
    floored: int = 0

    def plus(self, other: Sums) -> Sums:
        """Of both."""
        return Sums(
            self.precision + other.precision,
            self.shift + other.shift,
            self.local + other.local,
            self.rows + other.rows,
            self.skipped + other.skipped,
            self.negative + other.negative,
            self.floored + other.floored,
        )

    def part_of_the_way(self, old: Sums, share: float) -> Sums:
        """The sums, linear in the sites, where these go that share of their way from those of ``old``."""
        precision = old.precision + share * (self.precision - old.precision)
        return replace(self, precision=precision, shift=old.shift + share * (self.shift - old.shift))


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
        L = linalg.cholesky(sums.precision + np.eye(len(sums.shift)), "I + sum of tau v v^T")
        factor = linalg.inverse_lower(L)
        return cls(sums, factor, factor @ sums.shift, linalg.log_determinant(L))

    @classmethod
    def known(cls, factor: np.ndarray, projected: np.ndarray) -> Posterior:
        """One that rows left elsewhere; its sums are not known, and 0 here."""
        M = len(projected)
        return cls(Sums(np.zeros((M, M)), np.zeros(M)), factor, projected, -linalg.log_determinant(factor))

    def distance(self, other: Posterior) -> float:
        """From another: of the means in sd, root mean square, or of log det a dimension; the larger."""
        apart = self.factor.T @ self.projected - other.factor.T @ other.projected
        M = len(apart)
        whitened = np.linalg.solve(self.factor, apart)
        return float(max(np.linalg.norm(whitened) / np.sqrt(M), abs(self.log_det - other.log_det) / M))


@dataclass(frozen=True)
class Model:
    """What stays the same from pass to pass.

    Attributes
    ----------
    pseudo : PseudoPoints
    likelihood : Likelihood
    rule : Rule
        Without weights.
    mean : float
        Prior mean.
    """

    pseudo: PseudoPoints
    likelihood: Likelihood
    rule: Rule
    mean: float


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
                    delayed(_updated)(
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
            energy = 0.5 * float(now.projected @ now.projected - now.log_det) + local
    status = Status(
        converged=distance <= tolerance,
        sweeps=done,
        residual=distance,
        damping=smallest,
        jitter=model.pseudo.jitter,
        skipped=now.sums.skipped,
        retries=retries,
        negative_sites=now.sums.negative,
        message=_message(distance <= tolerance, done, most, len(y), distance, now.sums),
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


def _message(converged: bool, done: int, most: int, rows: int, distance: float, sums: Sums) -> str:
    ended = "converged in" if converged else "the posterior still moves after"
    text = f"{ended} {done} passes over {rows:,} rows"
    text += "" if converged else f", by {distance:.2g} sd"
    text += ": more time (max_time)" if not converged and done < most else ""
    text += f"; {sums.skipped} sites left out" if sums.skipped else ""
    return text + (f"; {sums.floored} variances lost to rounding" if sums.floored else "")


def _updated(
    model: Model,
    factor: np.ndarray,
    projected: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    tau: np.ndarray,
    nu: np.ndarray,
    weights: np.ndarray | None,
    step: float,
) -> tuple[Sums, Sites]:
    """What a batch adds up to, and its sites, updated once."""
    rows = in_chunks(np.arange(len(y)))
    rules = [weighted(model.rule, None if weights is None else weights[some]) for some in rows]
    found = [
        _piece(
            replace(model, rule=rule), factor, projected, X[some], y[some], Sites(tau[some], nu[some]), step
        )
        for some, rule in zip(rows, rules, strict=True)
    ]
    taus, nus = zip(*((sites.tau, sites.nu) for _, sites in found), strict=True)
    sums = reduce(Sums.plus, (each for each, _ in found))
    return sums, Sites(np.concatenate(taus), np.concatenate(nus))


def _piece(
    model: Model,
    factor: np.ndarray,
    projected: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    old: Sites,
    step: float,
) -> tuple[Sums, Sites]:
    X = np.ascontiguousarray(X, dtype=float)
    if has_additive_noise(model.likelihood):  # the same in differences, which keep their digits
        y, model = y - model.mean, replace(model, mean=0.0)
    V = model.pseudo.root @ model.pseudo.cross(X)
    extra, floored = model.pseudo.left_over(X, V)
    W = factor @ V
    marginals = Marginals(model.mean + projected @ W, np.einsum("mn,mn->n", W, W), extra)
    update = model.rule.update(marginals, old, model.likelihood, y)
    usable = np.isfinite(update.sites.tau) & np.isfinite(update.sites.nu)
    known, terms = marginals.variance + extra <= 0, update.log_terms
    if np.any(known):  # f has no prior variance: the likelihood is all that such a row tells
        power = 1.0 if model.rule.weights is None else model.rule.weights
        terms = np.where(known, power * model.likelihood.log_likelihood(y, marginals.mean), terms)
    tau = np.where(usable, old.tau + step * (update.sites.tau - old.tau), old.tau)
    nu = np.where(usable, old.nu + step * (update.sites.nu - old.nu), old.nu)
    local = float(np.sum(terms + model.mean * (old.nu - 0.5 * old.tau * model.mean)))
    left_out = update.skipped + int(np.sum(~usable)) - (int(np.sum(known)) if update.skipped else 0)
    counts = len(y), left_out, int(np.sum(tau < 0)), floored
    return Sums((V * tau) @ V.T, V @ (nu - tau * model.mean), local, *counts), Sites(tau, nu)
