"""Many chains side by side: moments in constant memory, standard errors, diagnostics.

Chains are independent of each other, so the spread of their averages gives the Monte-Carlo standard error
whatever the autocorrelation inside a chain. A thinned subset of the draws (bounded in number, single
precision) is kept for R-hat and the bulk effective sample size.

Latents f* at other inputs are Gaussian given f: their moments and predictive densities average the exact
conditional ones over the draws of f (Rao-Blackwell).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tilted.exact import diagnostics
from tilted.exact.moves import Moves, Walkers, iterate, suited
from tilted.exact.target import Conditional, Reference

KEPT = 200


@dataclass(frozen=True)
class Length:
    """Length: ``warmup`` iterations are dropped; moments take every ``thin``-th of ``iterations``."""

    chains: int = 256
    warmup: int = 200
    iterations: int = 2000
    thin: int = 1

    def __post_init__(self) -> None:
        if self.chains < 2 or self.warmup < 0 or self.thin < 1 or self.iterations < 4 * self.thin:
            raise ValueError("need chains >= 2, warmup >= 0, thin >= 1 and iterations >= 4 thin")


@dataclass(frozen=True)
class Moments:
    """Estimates for M latents, arrays [M].

    Attributes
    ----------
    mean, variance
    se_mean, se_variance : Monte-Carlo standard errors
    r_hat : of the kept draws
    bulk_size : effective number of the kept draws (a lower bound: there were more)
    """

    mean: np.ndarray
    variance: np.ndarray
    se_mean: np.ndarray
    se_variance: np.ndarray
    r_hat: np.ndarray
    bulk_size: np.ndarray

    @property
    def effective_size(self) -> np.ndarray:
        """Independent draws that would give the same error of the mean [M]."""
        return self.variance / self.se_mean**2


@dataclass(frozen=True)
class Sample:
    """The results of the chains.

    Attributes
    ----------
    latents : Moments
        Of the U latents of the target.
    others : Moments or None
        Of the latents at the other inputs.
    log_density, se_log_density : arrays [N*] or None
        Log predictive density of the other inputs' labels.
    evaluations : float
        Residuals evaluated, per latent, chain and iteration.
    stuck : int
        Moves given up (``moves.Walkers``).
    floored : int
        Conditional variances lost to rounding (``target.Conditional``).
    ends : array [U, C]
        Where the chains ended.
    """

    latents: Moments
    others: Moments | None
    log_density: np.ndarray | None
    se_log_density: np.ndarray | None
    evaluations: float
    stuck: int
    floored: int
    ends: np.ndarray = field(repr=False)


@dataclass
class _Sums:
    """Running sums of one call of :func:`sample`: M rows (latents, then others), one column a chain.

    ``log_density`` is the logarithm of that of predictive densities.
    """

    first: np.ndarray
    second: np.ndarray
    log_density: np.ndarray
    draws: np.ndarray
    count: int = 0


def sample(
    reference: Reference,
    rng: np.random.Generator,
    length: Length | None = None,
    moves: Moves | None = None,
    start: np.ndarray | None = None,
    inputs: np.ndarray | None = None,
    labels: np.ndarray | None = None,
) -> Sample:
    """Sample the posterior.

    Parameters
    ----------
    reference : Reference
    rng : numpy.random.Generator
        The only source of randomness.
    length : Length, optional
    moves : Moves, optional
        ``moves.suited(reference)`` by default.
    start : array [U, C], optional
        Latents f the chains start from; draws of the reference by default.
    inputs, labels : arrays [N*, D] and [N*], optional
        Where to predict.

    Returns
    -------
    Sample

    Raises
    ------
    ValueError
        If a chain starts where the posterior has no density, or only one of inputs and labels is given.
    """
    length, moves = length or Length(), moves or suited(reference)
    if (inputs is None) != (labels is None):
        raise ValueError("inputs and labels go together")
    conditional = None if inputs is None else Conditional.build(reference.target, inputs)
    D = reference.draw(rng, length.chains) if start is None else start - reference.mean[:, None]
    walkers = Walkers.start(reference, D)
    for _ in range(length.warmup):
        iterate(rng, reference, walkers, moves)
    recorded = length.iterations // length.thin
    stride = -(-recorded // KEPT)
    sums, began = _empty(D, conditional, recorded // stride), walkers.evaluations
    for t in range(recorded):
        for _ in range(length.thin):
            iterate(rng, reference, walkers, moves)
        values = _record(sums, reference, conditional, labels, walkers.D)
        if (t + 1) % stride == 0:
            sums.draws[:, :, t // stride] = values
    evaluations = (walkers.evaluations - began) / (D.size * recorded * length.thin)
    return _summary(sums, reference, conditional, walkers, evaluations)


def _empty(D: np.ndarray, conditional: Conditional | None, number: int) -> _Sums:
    n, chains = D.shape
    unobserved = 0 if conditional is None else len(conditional.variance)
    zeros = np.zeros((n + unobserved, chains))
    draws = np.empty((n + unobserved, chains, number), dtype=np.float32)
    return _Sums(zeros, zeros.copy(), np.full((unobserved, chains), -np.inf), draws)


def _record(
    sums: _Sums,
    reference: Reference,
    conditional: Conditional | None,
    labels: np.ndarray | None,
    D: np.ndarray,
) -> np.ndarray:
    """Add the present draws to the sums and return them, as deviations from the reference's prediction."""
    values = D
    if conditional is not None and labels is not None:
        unobserved = conditional.weights @ D
        values = np.concatenate([D, unobserved])
        mean = unobserved + _predicted(reference, conditional)[:, None]
        flat = np.repeat(conditional.variance, D.shape[1])
        y = np.repeat(labels, D.shape[1])
        log_density = reference.target.likelihood.log_predictive(y, mean.ravel(), flat)
        np.logaddexp(sums.log_density, log_density.reshape(mean.shape), out=sums.log_density)
    sums.first += values
    sums.second += values**2
    sums.count += 1
    return values


def _predicted(reference: Reference, conditional: Conditional) -> np.ndarray:
    """Mean of the other latents under the reference [N*]."""
    prior = reference.target.mean
    return prior + conditional.weights @ (reference.mean - prior)


def _summary(
    sums: _Sums,
    reference: Reference,
    conditional: Conditional | None,
    walkers: Walkers,
    evaluations: float,
) -> Sample:
    n = len(reference.mean)
    r_hat, bulk = diagnostics.split_r_hat(sums.draws), diagnostics.bulk_size(sums.draws)
    first, second = sums.first / sums.count, sums.second / sums.count
    latents = _moments(first[:n], second[:n], reference.mean, 0.0, r_hat[:n], bulk[:n])
    unobserved = log_density = se = None
    floored = 0
    if conditional is not None:
        centre = _predicted(reference, conditional)
        unobserved = _moments(first[n:], second[n:], centre, conditional.variance, r_hat[n:], bulk[n:])
        peak = np.maximum(sums.log_density.max(axis=1), -np.finfo(float).max)  # none is -inf less -inf
        density = np.exp(sums.log_density - peak[:, None])
        log_density = peak + np.log(density.mean(axis=1) / sums.count)
        se = _standard_error(density) / density.mean(axis=1)
        floored = conditional.floored
    ends = reference.mean[:, None] + walkers.D
    return Sample(latents, unobserved, log_density, se, evaluations, walkers.stuck, floored, ends)


def _moments(
    first: np.ndarray,
    second: np.ndarray,
    centre: np.ndarray,
    extra: float | np.ndarray,
    r_hat: np.ndarray,
    bulk: np.ndarray,
) -> Moments:
    """From each chain's averages [M, C] of deviations and their squares, and the variance beyond them."""
    mean, se_mean = first.mean(axis=1), _standard_error(first)
    # (mean)^2 overstates the square of the true mean by its error
    variance = second.mean(axis=1) - mean**2 + se_mean**2
    influence = second - 2.0 * mean[:, None] * first
    return Moments(centre + mean, variance + extra, se_mean, _standard_error(influence), r_hat, bulk)


def _standard_error(averages: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean over chains [M], from the chains' own averages [M, C]."""
    return averages.std(axis=1, ddof=1) / np.sqrt(averages.shape[1])
