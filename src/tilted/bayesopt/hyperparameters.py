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
    """Medians and standard deviations of logarithms; ``bounds`` in standard deviations from the medians."""

    variance: tuple[float, float] = (1.0, 1.0)
    lengthscale: tuple[float, float] = (0.5, 1.0)
    noise: tuple[float, float] = (1e-4, 2.0)
    bounds: float = 3.0


@dataclass(frozen=True)
class Scaled:
    """Observations of one function in the units it is modelled in: y / scale, with a prior mean.

    Attributes
    ----------
    scale, mean : float
        Spread of the observations, 1 where they have none; their mean over the scale.
    y : array [n]
    """

    scale: float
    mean: float
    y: np.ndarray


@dataclass(frozen=True)
class Learned:
    """Kernel and variance of the noise, how the search ended."""

    kernel: SquaredExponential
    noise: float
    outcome: Outcome


def scaled(y: np.ndarray) -> Scaled:
    """Observations over their standard deviation; 0 stays 0, so that signs keep their meaning."""
    spread = float(np.std(y))
    scale = spread if spread > 1e-12 * float(np.max(np.abs(y))) else 1.0
    return Scaled(scale, float(np.mean(y)) / scale, y / scale)


def learn(X: np.ndarray, data: Scaled, prior: Prior | None = None, limit: int = 60) -> Learned:
    """Search from the prior's medians by L-BFGS-B, within its bounds.

    Parameters
    ----------
    X : array [n, D]
        In the unit cube.
    data : Scaled
    prior : Prior, optional
    limit : int
        On iterations and evaluations.
    """
    prior = prior or Prior()
    pairs = np.array([prior.variance, *[prior.lengthscale] * X.shape[1], prior.noise])
    centre, spread = np.log(pairs[:, 0]), pairs[:, 1]
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

    limits = list(zip(centre - prior.bounds * spread, centre + prior.bounds * spread, strict=True))
    outcome = lbfgs(objective, centre, limit, 1e-9, 1e-4, bounds=limits)
    return Learned(*_at(outcome.x), outcome)


def _at(x: np.ndarray) -> tuple[SquaredExponential, float]:
    values = np.exp(x)
    return SquaredExponential(float(values[0]), tuple(values[1:-1])), float(values[-1])
