"""Small problems."""

import numpy as np
import pytest

from tilted.bayesopt import surrogate
from tilted.kernels import SquaredExponential


def problem(seed, n=10, dimension=1, constraints=1, noise=0.01, lengthscale=0.3, shift=0.5):
    """Objective and constraints, drawn from their priors and observed at the same n points."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, dimension))
    kernel = SquaredExponential(1.0, (lengthscale,) * dimension)
    root = np.linalg.cholesky(kernel.matrix(X) + 1e-9 * np.eye(n))
    functions = []
    for j in range(constraints + 1):
        y = root @ rng.standard_normal(n) + np.sqrt(noise) * rng.standard_normal(n) + shift * (j > 0)
        functions.append(surrogate.condition(kernel, noise, X, y, X, mean=shift * (j > 0)))
    return functions, X


def likely_optimum(functions, points=201):
    """The feasible minimum of the posterior means on a grid of [0, 1] [1, 1]."""
    grid = np.linspace(0, 1, points)[:, None]
    means = [function.predict(grid)[0] for function in functions]
    feasible = np.all([c > 0 for c in means[1:]], axis=0)
    assert np.any(feasible)
    return grid[[np.argmin(np.where(feasible, means[0], np.inf))]]


@pytest.fixture
def make():
    """The maker of problems."""
    return problem


@pytest.fixture
def likely():
    """Where the minimum is likely to be."""
    return likely_optimum
