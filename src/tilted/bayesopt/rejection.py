"""The functions given where the constrained minimum is, by rejection sampling: ground truth.

Values of the functions at the points and at x* are drawn from the posterior given the data, and kept where
the factors of `nfcpd` are all 1 [PESC supplement, eq. 3]; f and c at an x are drawn given those, and kept
where the factor at x is 1 [eq. 31]. Nothing is approximated but by the number of draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tilted.bayesopt.joint import loads, of_constraint
from tilted.bayesopt.surrogate import Surrogate

if TYPE_CHECKING:
    from tilted.bayesopt.joint import Projections

BATCH = 20_000


@dataclass(frozen=True)
class Before:
    """The draws kept before the factor at x itself: what [eq. 34] approximates.

    Attributes
    ----------
    mean, variance : arrays [K + 1, n]
        Of f and c at the inputs.
    u_mean, u_variance, with_u : arrays [n]
        Of u = f(x) - f(x*), and the covariance of f(x) with u.
    """

    mean: np.ndarray
    variance: np.ndarray
    u_mean: np.ndarray
    u_variance: np.ndarray
    with_u: np.ndarray


@dataclass(frozen=True)
class Kept:
    """Moments of the accepted draws.

    Attributes
    ----------
    draws, kept : int
        At the points and x*.
    values : list of arrays [kept, N + 1]
        f, c_1, ... at the points, then at x*.
    mean, variance : arrays [K + 1, n]
        Of f and c at the inputs asked for; NaN where fewer than two draws were kept.
    kept_at : array of int [n]
        Draws behind them.
    before : Before or None
        None where fewer than two draws were kept.
    """

    draws: int
    kept: int
    values: list[np.ndarray]
    mean: np.ndarray
    variance: np.ndarray
    kept_at: np.ndarray
    before: Before | None


def sample(
    objective: Surrogate,
    constraints: Sequence[Surrogate],
    optimum: np.ndarray,
    Xs: np.ndarray,
    rng: np.random.Generator,
    wanted: int = 20_000,
    most: int = 2_000_000,
) -> Kept:
    """Draw until so many are kept, or so many were drawn.

    Parameters
    ----------
    objective, constraints : Surrogate
    optimum : array [D]
        x*.
    Xs : array [n, D]
    rng : numpy.random.Generator
    wanted, most : int
        Draws kept; draws in all, in batches of 20,000.
    """
    functions, optima = (objective, *constraints), np.atleast_2d(optimum)
    at_points = [of_constraint(function, optima) for function in functions]
    coordinates: list[list[np.ndarray]] = [[] for _ in functions]
    draws = accepted = 0
    while accepted < wanted and draws < most:
        normals = [rng.standard_normal((BATCH, p.directions.shape[2])) for p in at_points]
        holds = _possible(
            [p.means[0] + z @ p.directions[0].T for p, z in zip(at_points, normals, strict=True)]
        )
        for chosen, z in zip(coordinates, normals, strict=True):
            chosen.append(z[holds])
        draws, accepted = draws + BATCH, accepted + int(np.sum(holds))
    normals = [np.concatenate(chosen) for chosen in coordinates]
    values = [p.means[0] + z @ p.directions[0].T for p, z in zip(at_points, normals, strict=True)]
    at_x = [
        _at(function, p, z, Xs, optima, rng)
        for function, p, z in zip(functions, at_points, normals, strict=True)
    ]
    holds = np.where(
        np.all([c > 0 for c in at_x[1:]], axis=0), at_x[0] > values[0][:, -1:], True
    )  # no constraints: all([]) is True
    number = np.sum(holds, axis=0)
    mean, variance = (np.full((len(functions), len(Xs)), np.nan) for _ in range(2))
    for i in np.flatnonzero(number >= 2):
        accepted_values = np.array([v[holds[:, i], i] for v in at_x])
        mean[:, i], variance[:, i] = accepted_values.mean(axis=1), accepted_values.var(axis=1, ddof=1)
    before = _before(at_x, at_x[0] - values[0][:, -1:]) if accepted >= 2 else None
    return Kept(draws, accepted, values, mean, variance, number, before)


def _before(at_x: list[np.ndarray], u: np.ndarray) -> Before:
    f = at_x[0] - at_x[0].mean(axis=0)
    with_u = np.sum(f * (u - u.mean(axis=0)), axis=0) / (len(u) - 1)
    mean, variance = [v.mean(axis=0) for v in at_x], [v.var(axis=0, ddof=1) for v in at_x]
    return Before(np.array(mean), np.array(variance), u.mean(axis=0), u.var(axis=0, ddof=1), with_u)


def _possible(values: list[np.ndarray]) -> np.ndarray:
    """Return which draws have all g and h at 1."""
    f, constraints = values[0], values[1:]
    better = f[:, :-1] < f[:, -1:]
    for c in constraints:
        better &= c[:, :-1] > 0
    return ~np.any(better, axis=1) & np.all([c[:, -1] > 0 for c in constraints], axis=0)


def _at(
    function: Surrogate,
    projections: Projections,
    z: np.ndarray,
    Xs: np.ndarray,
    optima: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draws of a function at ``Xs``, given the coordinates of its values at the points and x* [kept, n]."""
    rows = function.rows(Xs)
    load, residual = loads(function, projections, rows, Xs, optima)
    fresh = rng.standard_normal((len(z), len(Xs)))
    return rows.mean + z[:, :-1] @ rows.root.T + z[:, -1:] * load[0] + np.sqrt(residual[0]) * fresh
