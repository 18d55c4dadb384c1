"""Moves that leave N(f; reference) exp(power x residual(f)) invariant, for many chains side by side.

Both are elliptical slice sampling [Murray, Adams & MacKay 2010, figure 2]: from the present deviation D and
an independent draw E of the same Gaussian, D cos(a) + E sin(a) is searched for an angle a whose residual
lies above a random level; the bracket of angles shrinks towards 0, the present point, which qualifies.
``joint_step`` moves all latents along one ellipse. Where every latent has its own sharp edge (separable
labels, hundreds of nearly independent latents) such steps become tiny; ``sweep`` then moves one latent after
the other along the ellipse of its Gaussian given all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tilted.exact.target import Reference

ROUNDS = 200
INDEPENDENT = 0.5


@dataclass(frozen=True)
class Moves:
    """The moves of one iteration: ``joint`` steps of all latents, then ``sweeps`` over single latents."""

    joint: int = 1
    sweeps: int = 0

    def __post_init__(self) -> None:
        if min(self.joint, self.sweeps) < 0 or self.joint + self.sweeps < 1:
            raise ValueError("an iteration needs at least one joint step or sweep, and none negative")


def suited(reference: Reference) -> Moves:
    """Joint steps; with sweeps where the latents are nearly independent under the reference."""
    return Moves(joint=1, sweeps=int(reference.independence() > INDEPENDENT))


@dataclass
class Walkers:
    """Chains side by side.

    Attributes
    ----------
    D : array [U, C]
        Deviations from the reference's mean.
    residual : array [C]
        R there.
    evaluations : int
        Residuals of single latents evaluated so far.
    stuck : int
        Moves given up after ``ROUNDS`` shrinkings, the chain staying where it was.
    """

    D: np.ndarray
    residual: np.ndarray
    evaluations: int = 0
    stuck: int = 0

    @classmethod
    def start(cls, reference: Reference, D: np.ndarray) -> Walkers:
        """At deviations ``D`` [U, C]; ValueError where the posterior has no density."""
        residual = reference.residuals(D).sum(axis=0)
        if not np.all(np.isfinite(residual)):
            raise ValueError("a chain starts where the posterior has no density")
        return cls(D, residual, D.size)


def iterate(
    rng: np.random.Generator, reference: Reference, walkers: Walkers, moves: Moves, power: float = 1.0
) -> None:
    """One iteration in place, 0 < ``power`` <= 1; at 1 the posterior is invariant.

    Raises
    ------
    ValueError
        If sweeps are asked for and the reference is singular to rounding.
    """
    for _ in range(moves.joint):
        joint_step(rng, reference, walkers, power)
    for _ in range(moves.sweeps):
        sweep(rng, reference, walkers, power)


def joint_step(rng: np.random.Generator, reference: Reference, walkers: Walkers, power: float = 1.0) -> None:
    """Move all latents of every chain along one ellipse."""
    D, E = walkers.D, reference.draw(rng, walkers.D.shape[1])

    def value(active: np.ndarray, angle: np.ndarray) -> np.ndarray:
        walkers.evaluations += len(D) * len(angle)
        proposal = D[:, active] * np.cos(angle) + E[:, active] * np.sin(angle)
        return reference.residuals(proposal).sum(axis=0)

    angle, walkers.residual, stuck = slice_angles(rng, value, walkers.residual, power)
    walkers.D = D * np.cos(angle) + E * np.sin(angle)
    walkers.stuck += stuck


def sweep(rng: np.random.Generator, reference: Reference, walkers: Walkers, power: float = 1.0) -> None:
    """Move one latent after the other, each along the ellipse of its Gaussian given the others.

    Raises
    ------
    ValueError
        If the reference is singular to rounding.
    """
    D, precision = walkers.D, reference.precision
    if precision is None:
        raise ValueError("sweeps need a reference whose covariance is not singular to rounding")
    sd = 1.0 / np.sqrt(np.diagonal(precision))
    residuals = reference.residuals(D)
    walkers.evaluations += D.size

    def value(
        u: int, centre: np.ndarray, here: np.ndarray, draw: np.ndarray, active: np.ndarray, angle: np.ndarray
    ) -> np.ndarray:
        walkers.evaluations += len(angle)
        proposal = centre[active] + here[active] * np.cos(angle) + draw[active] * np.sin(angle)
        return reference.residual_of(u, proposal)

    for u in range(len(D)):
        centre = D[u] - (precision[u] @ D) * sd[u] ** 2
        here, draw = D[u] - centre, sd[u] * rng.standard_normal(D.shape[1])
        at = partial(value, u, centre, here, draw)
        angle, residuals[u], stuck = slice_angles(rng, at, residuals[u], power)
        D[u] = centre + here * np.cos(angle) + draw * np.sin(angle)
        walkers.stuck += stuck
    walkers.residual = residuals.sum(axis=0)


def slice_angles(
    rng: np.random.Generator,
    value: Callable[[np.ndarray, np.ndarray], np.ndarray],
    present: np.ndarray,
    power: float,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Angles of C chains whose residual lies above each chain's random level.

    Parameters
    ----------
    value : callable
        (which chains, their angles [K]) -> their residuals [K].
    present : array [C]
        Residuals at angle 0.
    power : float
        Of the residual in the density.

    Returns
    -------
    angle : array [C]
    values : array [C]
        Residuals at these angles.
    stuck : int
        Chains left at angle 0.
    """
    chains = len(present)
    level = power * present - rng.standard_exponential(chains)
    angle = 2.0 * np.pi * rng.random(chains)
    low, high = angle - 2.0 * np.pi, angle.copy()
    values, active = present.copy(), np.arange(chains)
    for _ in range(ROUNDS):
        log_p = value(active, angle[active])
        inside = power * log_p > level[active]
        values[active[inside]] = log_p[inside]
        active = active[~inside]
        if not len(active):
            return angle, values, 0
        rejected = angle[active]
        below = np.where(rejected < 0.0, rejected, low[active])
        above = np.where(rejected < 0.0, high[active], rejected)
        low[active], high[active] = below, above
        angle[active] = below + (above - below) * rng.random(len(active))
    angle[active] = 0.0
    return angle, values, len(active)
