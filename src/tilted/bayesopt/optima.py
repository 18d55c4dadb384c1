"""Samples of the constrained minimum: functions are drawn from the posterior, and minimised.

A squared exponential is the mean of cos(w^T (x - x')) over Gaussian frequencies w, so that random features
[Rahimi & Recht 2007] give functions g from the prior; they become draws from the posterior by the correction
[Wilson et al. 2020, pathwise conditioning]

    f(x) = mean + g(x) + k(x, X) (K + noise I)^-1 (y - mean - g(X) - e),    e ~ N(0, noise I),

whose mean and whose behaviour near the data are exact, whatever the number of features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from tilted.bayesopt.surrogate import Surrogate
from tilted.numerics import linalg

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.kernels.squared_exponential import SquaredExponential

SLACK = 1e-6
"""Of a constraint's prior standard deviation: by how much a refined minimum may violate it."""

STEPS = 60  # of the local search
REACHES = (1.0, 0.1)  # of the box: how far from its start it may go, and where it fails, at a second try


@dataclass(frozen=True)
class Paths:
    """S functions from the posterior of one.

    Attributes
    ----------
    frequencies, phases : arrays [F, D], [F]
    weights : array [F, S]
        Of the features.
    basis, corrections : arrays [R, D], [R, S]
        Of the kernel's functions.
    """

    kernel: SquaredExponential
    mean: float
    frequencies: np.ndarray = field(repr=False)
    phases: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    basis: np.ndarray = field(repr=False)
    corrections: np.ndarray = field(repr=False)

    def __call__(self, Xs: np.ndarray) -> np.ndarray:
        """Values [n, S] at ``Xs`` [n, D]."""
        features = np.cos(Xs @ self.frequencies.T + self.phases)
        return self.mean + features @ self.weights + self.kernel.matrix(Xs, self.basis) @ self.corrections

    def slope(self, x: np.ndarray, s: int) -> np.ndarray:
        """Gradient [D] of the s-th at x [D]."""
        turned = np.sin(self.frequencies @ x + self.phases) * self.weights[:, s]
        near = self.kernel.matrix(x[None], self.basis)[0] * self.corrections[:, s]
        scales = np.asarray(self.kernel.lengthscale) ** 2
        return -turned @ self.frequencies + near @ ((self.basis - x) / scales)


@dataclass(frozen=True)
class Optima:
    """Places of the constrained minima of functions drawn from the posteriors.

    Attributes
    ----------
    places : array [S, D]
        May be fewer than asked for.
    drawn : int
        Sets of functions drawn.
    infeasible : int
        Of these, sets without a feasible point among the candidates; they give no place.
    unrefined : int
        Minima where the local search led nowhere feasible and better, left at the best candidate.
    """

    places: np.ndarray
    drawn: int
    infeasible: int
    unrefined: int


def paths(function: Surrogate, number: int, rng: np.random.Generator, features: int = 500) -> Paths:
    """Draw from the posterior of one function; the draws share their features, not their weights."""
    dimension = function.points.shape[1]
    scales = np.broadcast_to(np.asarray(function.kernel.lengthscale), dimension)
    frequencies = rng.standard_normal((features, dimension)) / scales
    phases = rng.uniform(0.0, 2.0 * np.pi, features)
    weights = rng.standard_normal((features, number)) * np.sqrt(2.0 * function.scale / features)
    at_data = function.rows(function.points[function.observed])
    there = np.cos(function.points[function.observed] @ frequencies.T + phases) @ weights
    there += np.sqrt(function.noise) * rng.standard_normal(there.shape)
    moved = function.centre[:, None] - at_data.root.T @ (there / function.noise)
    corrections = linalg.solve_lower(function.factor, function.whiten.T @ moved, transpose=True)
    return Paths(function.kernel, function.mean, frequencies, phases, weights, function.basis, corrections)


def sample(
    objective: Surrogate,
    constraints: Sequence[Surrogate],
    bounds: np.ndarray,
    number: int,
    rng: np.random.Generator,
    candidates: int = 1000,
    rounds: int = 4,
) -> Optima:
    """Draw functions and minimise them under their constraints, until there are so many places.

    Parameters
    ----------
    objective, constraints : Surrogate
    bounds : array [D, 2]
    number : int
        Places wanted.
    rng : numpy.random.Generator
    candidates : int
        Random points, beside those of the functions, from whose best feasible one the local search starts.
    rounds : int
        At most so many times ``number`` sets of functions are drawn.
    """
    minima: list[np.ndarray] = []
    drawn = infeasible = unrefined = 0
    low, high = bounds.T
    inside = np.all((objective.points >= low) & (objective.points <= high), axis=1)
    for _ in range(rounds):
        wanted = number - len(minima)
        if wanted <= 0:
            break
        drawings = [paths(function, wanted, rng) for function in (objective, *constraints)]
        grid = np.vstack([objective.points[inside], rng.uniform(low, high, (candidates, len(bounds)))])
        values = [drawing(grid) for drawing in drawings]
        feasible = np.all([c > 0 for c in values[1:]], axis=0) & np.ones(values[0].shape, dtype=bool)
        best = np.argmin(np.where(feasible, values[0], np.inf), axis=0)
        drawn += wanted
        for s in range(wanted):
            if not feasible[best[s], s]:
                infeasible += 1
                continue
            place = _refine(drawings, s, grid[best[s]], values[0][best[s], s], bounds)
            unrefined += place is None
            minima.append(grid[best[s]] if place is None else place)
    return Optima(np.array(minima).reshape(-1, len(bounds)), drawn, infeasible, unrefined)


def _refine(
    drawings: Sequence[Paths], s: int, start: np.ndarray, value: float, bounds: np.ndarray
) -> np.ndarray | None:
    """A feasible point that is no worse, from a local search; None if it found none."""
    objective, constraints = drawings[0], drawings[1:]
    scales = [np.sqrt(c.kernel.variance) for c in constraints]

    def of(path: Paths) -> tuple[Callable[[np.ndarray], float], Callable[[np.ndarray], np.ndarray]]:
        function_paths = Paths(
            path.kernel,
            path.mean,
            path.frequencies,
            path.phases,
            path.weights[:, s : s + 1],
            path.basis,
            path.corrections[:, s : s + 1],
        )
        return lambda x: float(function_paths(x[None])[0, 0]), lambda x: function_paths.slope(x, 0)

    f, slope = of(objective)
    limits = [of(c) for c in constraints]
    rules = [{"type": "ineq", "fun": c, "jac": by_x} for c, by_x in limits]
    low, high = np.transpose(bounds)
    for reach in REACHES:  # far steps may lead to where no feasible point is near
        near = np.maximum(low, start - reach * (high - low)), np.minimum(high, start + reach * (high - low))
        end = minimize(
            f,
            start,
            jac=slope,
            bounds=np.transpose(near),
            constraints=rules,
            method="SLSQP",
            options={"maxiter": STEPS},
        )
        x = np.clip(end.x, *near)
        holds = all(c(x) >= -SLACK * scale for (c, _), scale in zip(limits, scales, strict=True))
        if holds and np.all(np.isfinite(x)) and f(x) <= value:
            return x
    return None
