"""The log evidence by annealed importance sampling [Neal 2001].

From independent draws of the reference q (power 0) to the posterior (power 1) through
q(f) exp(power x R(f)), with Markov moves at each power in between. A run's weight, the product of
exp((next power - power) R), has mean Z / Z_q exactly, however short the runs; log Z = log Z_q + log of the
mean weight. With the prior as reference this is Neal's scheme; with EP's sites R is nearly constant and the
weights nearly equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from tilted.exact.moves import Moves, Walkers, iterate, suited
from tilted.exact.target import Reference
from tilted.numerics.quadrature import bisect

BLOCK = 256  # runs side by side
LIMIT = 5000  # steps of a schedule


@dataclass(frozen=True)
class Annealed:
    """An evidence estimate.

    Attributes
    ----------
    log_evidence : float
    standard_error : float
        Of the log evidence, by the delta method; trustworthy while ``effective`` is not small.
    effective : float
        Effective number of weights, (sum w)^2 / sum w^2.
    log_weights : array [runs]
    stuck : int
        Moves given up (``moves.Walkers``).
    """

    log_evidence: float
    standard_error: float
    effective: float
    log_weights: np.ndarray = field(repr=False)
    stuck: int = 0

    @property
    def share_of_heaviest(self) -> float:
        """Largest weight over the sum of all; near 1 the estimate is one run's."""
        return float(np.exp(self.log_weights.max() - logsumexp(self.log_weights)))


def schedule(
    reference: Reference,
    rng: np.random.Generator,
    share: float = 0.97,
    moves: Moves | None = None,
) -> np.ndarray:
    """Powers from 0 to 1 at which neighbours overlap equally, found by a pilot run.

    Separable labels with a large prior variance give residuals from 0 to -10^6 under the reference, so
    that the first powers have to be tiny; no formula knows how tiny. The pilot's draws are used for the
    schedule only, which keeps :func:`anneal` unbiased.

    Parameters
    ----------
    share : float in (0, 1)
        Effective number of the weights of one step, as a share of the chains. Nearer to 1: more steps.

    Returns
    -------
    powers : array [T + 1]

    Raises
    ------
    ValueError
        If `LIMIT` steps do not reach 1.
    """
    moves = moves or suited(reference)
    walkers = Walkers.start(reference, reference.draw(rng, BLOCK))
    powers = [0.0]
    while powers[-1] < 1.0:
        if len(powers) > LIMIT:
            raise ValueError(f"the schedule is at power {powers[-1]:.2g} after {LIMIT} steps; lower share")
        powers.append(min(1.0, powers[-1] + _step(walkers.residual, share, 1.0 - powers[-1])))
        iterate(rng, reference, walkers, moves, powers[-1])
    return np.array(powers)


def _step(residual: np.ndarray, share: float, largest: float) -> float:
    """Step at which the weights' effective number is ``share`` of the chains, by bisection of its log."""

    def excess(log_step: float) -> float:
        weights = np.exp(np.exp(log_step) * (residual - residual.max()))
        return weights.sum() ** 2 / (len(weights) * np.sum(weights**2)) - share

    log_largest = np.log(largest)
    if excess(log_largest) >= 0:
        return largest
    ends = np.full(1, log_largest - 60.0), np.full(1, log_largest)
    return float(np.exp(bisect(lambda x: np.array([excess(x[0])]), *ends, 60)[0]))


def anneal(
    reference: Reference,
    rng: np.random.Generator,
    powers: np.ndarray,
    runs: int = 256,
    moves: Moves | None = None,
) -> Annealed:
    """Estimate the log evidence of the target.

    Parameters
    ----------
    reference : Reference
        Where the runs start.
    rng : numpy.random.Generator
    powers : array [T + 1]
        Rising from 0 to 1, such as :func:`schedule` finds.
    runs : int
        Independent runs, at least 2.
    moves : Moves, optional
        At each power; ``moves.suited(reference)`` by default.

    Raises
    ------
    ValueError
        For powers that do not rise from 0 to 1, or fewer than 2 runs.
    """
    powers, moves = np.asarray(powers, dtype=float), moves or suited(reference)
    if powers[0] != 0.0 or powers[-1] != 1.0 or np.any(np.diff(powers) <= 0):
        raise ValueError("the powers must rise from 0 to 1")
    if runs < 2:
        raise ValueError("need at least 2 runs for a standard error")
    log_weights: list[np.ndarray] = []
    stuck = 0
    for first in range(0, runs, BLOCK):
        walkers = Walkers.start(reference, reference.draw(rng, min(BLOCK, runs - first)))
        log_weight = np.zeros_like(walkers.residual)
        for k, step in enumerate(np.diff(powers), start=1):
            log_weight += step * walkers.residual
            if k < len(powers) - 1:
                iterate(rng, reference, walkers, moves, powers[k])
        log_weights.append(log_weight)
        stuck += walkers.stuck
    return _estimate(reference.log_normaliser, np.concatenate(log_weights), stuck)


def _estimate(log_normaliser: float, log_weights: np.ndarray, stuck: int) -> Annealed:
    weights = np.exp(log_weights - log_weights.max())
    error = weights.std(ddof=1) / (weights.mean() * np.sqrt(len(weights)))
    log_evidence = log_normaliser + log_weights.max() + np.log(weights.mean())
    effective = weights.sum() ** 2 / np.sum(weights**2)
    return Annealed(float(log_evidence), float(error), float(effective), log_weights, stuck)
