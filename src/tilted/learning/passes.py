"""Power EP through pseudo-points for as many rows as one likes: passes over them in batches.

In the coordinates z = Luu^-1 u a posterior through pseudo-points is N(mu, S) with

    S^-1 = I + sum_n tau_n v_n v_n^T,    S^-1 mu = sum_n (nu_n - tau_n mean) v_n,    v_n = Luu^-1 k(Z, x_n).

A pass updates the sites of all rows, a batch at a time, and adds up what the batches have of both sums. Its
fixed point is that of sweeps over all rows at once [Bui et al. 2017, section 3]; beyond the data memory is
O(N + M^2 + batch M). Every `moves.GROUPS`-th batch is updated at one posterior, then the next ones at what
follows: batches of a group need not know of each other, and joblib hands them to processes, or machines, of
whatever backend is in force. Rows that came earlier can be there as their sums. By a rule that ascends a pass
that moves the posterior far is taken back where the bound of all rows is lower after it, and the step halved.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel

from tilted.inference.result import Status
from tilted.learning.batch import Model, Sums
from tilted.learning.moves import FAR, Posterior, Rows, rises
from tilted.learning.site_starts import first_sites

TOLERANCE = 1e-3  # of what a pass moves of z: the mean in sd, root mean square, and log det a dimension
MOST = 50  # passes


class Passed(NamedTuple):
    """The result of passes.

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
        ``earlier``. Where nothing came earlier and `first_sites` has some, sites start at these.
    earlier : Sums, optional
        Of rows seen before, whose sites stay as they are.
    weights : array [N], optional
        Powers of the likelihood's factors.
    tolerance, most, deadline
        To stop by: distance of two posteriors (`Posterior.distance`), passes, `time.monotonic`.
    n_jobs : int, optional
        Of joblib.
    watch : callable, optional
        Hears, after each pass, its number and the distance; of one that is taken back the last one's.

    Raises
    ------
    NotPositiveDefinite
        If Kuu comes so near to singular that K - Q loses its sign: allow jitter.
    """
    rows = Rows(model, X, y, weights, batch, deadline)
    before, ascends = earlier or rows.none, model.rule.ascends
    now, had = start or Posterior.of(before), [rows.none for _ in rows.groups]
    least: float | None = None
    step, smallest, retries, distance, energy, done = 1.0, 1.0, 0, np.inf, np.nan, 0
    with Parallel(n_jobs=n_jobs) as rows.parallel:
        guess = first_sites(model.likelihood, y, model.mean, weights) if earlier is None else None
        begun = None if guess is None else rows.start_at(guess, before)
        if begun is not None:
            now, had = begun
        while done < most and not distance <= tolerance and (not done or time.monotonic() < deadline):
            began, state, first = now, (rows.tau, rows.nu, had), begun is None and not done
            now, had, shares = rows.passed(now, had, before, step, first)
            moved, shortest, done = now.distance(began), min(shares), done + 1
            retries += sum(share < 1.0 for share in shares)
            if ascends and not first and not moved <= FAR:
                least = rows.bound(began, before, rows.groups) if least is None else least
                height = rows.bound(now, before, rows.groups)
                if not rises(height, least):
                    now, (rows.tau, rows.nu, had) = began, state
                    step, retries = 0.5 * step, retries + 1
                    smallest = min(smallest, step)
                    if watch is not None:
                        watch(done, distance)
                    continue
                least = height
            else:
                least = None
            # sites that were held back have not settled
            moved = moved / (shortest * step) if shortest else np.inf
            if moved > distance and step > 0.1:  # no contraction
                step, retries = 0.5 * step, retries + 1
            elif moved < (1.0 if ascends else 0.5) * distance:
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
