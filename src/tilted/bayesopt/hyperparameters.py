"""Hyperparameters of one function: the maximum of evidence times a weak prior.

The evidence alone takes a handful of observations for a line or for noise. The prior is independent and
log-normal, in units of the box for lengthscales and of the observations' spread for variances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilted.kernels.squared_exponential import SquaredExponential
from tilted.numerics.optimise import Outcome, lbfgs, wall
from tilted.posteriors.full import FullRegression


@dataclass(frozen=True)
class Prior:
    """Medians and standard deviations of logarithms; ``bounds`` in standard deviations from the medians.

    Noise that reaches its bound is searched for again up to ``most_noise``, all that the observations vary.
    """

    variance: tuple[float, float] = (1.0, 1.0)
    lengthscale: tuple[float, float] = (0.5, 1.0)
    noise: tuple[float, float] = (1e-4, 2.0)
    bounds: float = 3.0
    most_noise: float = 1.0


@dataclass(frozen=True)
class Scaled:
    """Observations of one function in the units it is modelled in: y / scale, with a prior mean.

    Attributes
    ----------
    scale, mean : float
        Spread of the observations, where they are `alike` their size, 1 where all are 0; their mean over the
        scale.
    y : array [n]
    held : int
        Observations so far from the others that they were moved nearer (`held`).
    alike : bool
        Whether they differ by no more than rounding of their size.
    """

    scale: float
    mean: float
    y: np.ndarray
    held: int = 0
    alike: bool = False


@dataclass(frozen=True)
class Learned:
    """Kernel and variance of the noise, how the search ended."""

    kernel: SquaredExponential
    noise: float
    outcome: Outcome


LIMIT = 60
"""On iterations and evaluations of each of at most two searches."""
GAP = 30.0
"""Times as far from the median as all others that an observation is if it dwarfs their differences."""
LEAST = 3
"""Places of the others from which that can be said; more than half are theirs."""
REACH = 3.0
"""Ranges of the others beyond them to where such an observation is moved."""
ROUNDING = 1e-14
"""Standard deviation of observations, as a part of their size, that rounding alone may make."""
TINY = 1e-100
"""Size of observations below which squares of their differences may be lost."""
APART = 0.05
"""Distance in the unit cube of two places: where a search converges many observations are alike."""


def scaled(X: np.ndarray, y: np.ndarray, minimised: bool = False) -> Scaled:
    """Observations [n] at ``X`` [n, D] over their standard deviation; 0 stays 0, as do signs.

    Those that are alike are over their size instead: the units of a constraint do not matter then either.
    """
    near = held(X, y, minimised)
    size = float(np.max(np.abs(near)))
    unit = size if 0.0 < size < TINY else 1.0
    spread = unit * float(np.std(near / unit))
    constant = spread <= ROUNDING * size
    scale = (size or 1.0) if constant else spread
    return Scaled(scale, float(np.mean(near)) / scale, near / scale, int(np.sum(near != y)), constant)


def held(X: np.ndarray, y: np.ndarray, minimised: bool = False) -> np.ndarray:
    """Observations [n] at ``X`` [n, D], those that dwarf the differences of all others moved nearer to these.

    Penalties for failures, say, beside which the others would be alike to the model. They stay outside of the
    others, and on their side of 0; of a function that is ``minimised`` low ones are looked for and stay.
    """
    away = np.abs(y - np.median(y))
    by_place = np.sort([np.max(away[close]) for close in places(X)])
    n = len(by_place)
    for k in range(max(LEAST, n // 2 + 1), n):  # the k nearest, and is there a gap after them?
        if by_place[n // 2] > 0.0 and GAP * by_place[k - 1] <= by_place[k]:
            neighbours = y[away < by_place[k]]
            reach = REACH * np.ptp(neighbours)
            high = max(np.max(neighbours) + reach, -np.min(neighbours))
            low = -np.inf if minimised else min(np.min(neighbours) - reach, -np.max(neighbours))
            return np.clip(y, low, high)
    return y


def places(X: np.ndarray) -> list[np.ndarray]:
    """Rows of ``X`` [n, D] at each place: those close to its first, which is close to no other's."""
    remaining, groups = np.arange(len(X)), []
    while len(remaining):
        close = np.sum((X[remaining] - X[remaining[0]]) ** 2, axis=1) <= APART**2
        groups.append(remaining[close])
        remaining = remaining[~close]
    return groups


def learn(X: np.ndarray, data: Scaled, prior: Prior | None = None) -> Learned:
    """Search from the prior's medians by L-BFGS-B, within its bounds; the medians where all data are alike.

    These say nothing of lengthscales, yet are likelier the longer they are, and would leave nothing to learn.

    Parameters
    ----------
    X : array [n, D]
        In the unit cube.
    data : Scaled
    prior : Prior, optional
    """
    prior = prior or Prior()
    pairs = np.array([prior.variance, *[prior.lengthscale] * X.shape[1], prior.noise])
    centre, spread = np.log(pairs[:, 0]), pairs[:, 1]
    if data.alike:
        message = "the prior's medians: all observations are alike"
        return Learned(*_at(centre), Outcome(centre, 0.0, np.zeros_like(centre), 0, True, message))
    problem = FullRegression(X, data.y - data.mean)
    worst = 0.0

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal worst
        kernel, noise = _at(x)
        try:
            state, gradient = problem.evaluate(kernel, np.empty((0, X.shape[1])), noise)
        except ArithmeticError:
            return wall(worst), np.zeros_like(x)
        slope = np.append(gradient.kernel, gradient.noise) * np.exp(x)
        away = (x - centre) / spread
        value = 0.5 * away @ away - state.log_evidence
        worst = max(worst, value)
        return value, away / spread - slope

    low, high = centre - prior.bounds * spread, centre + prior.bounds * spread
    outcome = lbfgs(objective, centre, LIMIT, 1e-9, 1e-4, bounds=list(zip(low, high, strict=True)))
    if outcome.x[-1] >= high[-1] and np.log(prior.most_noise) > high[-1]:
        high[-1] = np.log(prior.most_noise)
        outcome = lbfgs(objective, centre, LIMIT, 1e-9, 1e-4, bounds=list(zip(low, high, strict=True)))
    return Learned(*_at(outcome.x), outcome)


def _at(x: np.ndarray) -> tuple[SquaredExponential, float]:
    values = np.exp(x)
    return SquaredExponential(float(values[0]), tuple(values[1:-1])), float(values[-1])
