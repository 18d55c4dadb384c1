"""Observations as they are modelled: a few that dwarf all others do not hide these."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from tilted.bayesopt import Optimizer
from tilted.bayesopt.hyperparameters import Prior, held, learn, scaled

PLACES = np.random.default_rng(5).random((20, 2))
VALUES = PLACES[:, 0] * PLACES[:, 1] - 0.1


def with_one(value, i=3):
    return np.where(np.arange(20) == i, value, VALUES)


@pytest.mark.parametrize("penalty", [-1e2, -1e3, -1e6, 1e40])
def test_one_that_dwarfs_the_others_is_moved_nearer_and_keeps_its_sign(penalty):
    data, others = scaled(PLACES, with_one(penalty)), np.delete(VALUES, 3)
    assert data.held == 1
    assert np.sign(data.y[3]) == np.sign(penalty)
    assert np.ptp(others) < abs(data.y[3] * data.scale) < 10 * np.ptp(others)
    np.testing.assert_allclose(np.delete(data.y, 3) * data.scale, others, rtol=1e-12)


@pytest.mark.parametrize(
    "y",
    [
        VALUES,
        1e6 * VALUES,
        np.exp(20.0 * PLACES[:, 0]),
        1.0 / (PLACES[:, 0] + 0.01),
        np.zeros(20),
        np.full(20, 2.0),
        np.where(PLACES[:, 0] < 0.3, 2.0 + PLACES[:, 1], 1.0),  # a plateau
        np.where(np.arange(20) == 3, 7.0, 1e-4),
        np.append(1.0 + 1e-6 * np.maximum(np.arange(19) - 12.0, 0.0), 7.0),  # and where it ends
        np.where(np.arange(20) < 5, np.median(VALUES) + 1e-6 * VALUES, VALUES),  # few are alike
        with_one(-5.0),
        np.where(np.arange(20) % 2, -1e6, VALUES),  # half of them
        np.array([-1e6, 0.1, 0.2]),  # too few to say
    ],
)
def test_ordinary_observations_stay_as_they_are(y):
    np.testing.assert_array_equal(held(PLACES[: len(y)], y), y)


def test_low_values_of_what_is_minimised_are_what_is_looked_for():
    np.testing.assert_array_equal(held(PLACES, with_one(-1e6), minimised=True), with_one(-1e6))
    assert held(PLACES, with_one(1e6), minimised=True)[3] < 10.0


@pytest.mark.parametrize(("penalty", "seed"), [(-1e3, 0), (-1e6, 1)])
def test_a_penalty_for_one_failure_leaves_the_search_as_good(penalty, seed):
    """The place recommended was infeasible, and said to be sure, or far from the minimum."""
    search = Optimizer([(0, 1), (0, 1)], 1, rule="improvement", seed=seed)
    for i in range(20):
        x = search.ask()
        search.tell(x, x[0] + x[1], penalty if i == 3 else x[0] * x[1] - 0.1)
    found = search.found()
    assert found.recommended.prod() - 0.1 >= -2e-3
    assert found.recommended.sum() < 0.75  # 0.632 is the least
    assert "constraint 1 has values that dwarf all others (1, modelled nearer" in found.message
    assert "objective" not in found.message


def test_a_pole_of_the_objective_leaves_the_search_as_good():
    search = Optimizer([(0, 1), (0, 1)], rule="improvement", seed=0)
    for i in range(20):
        x = search.ask()
        search.tell(x, 1e4 if i == 3 else (x[0] - 0.3) ** 2 + (x[1] - 0.6) ** 2)
    found = search.found()
    assert np.abs(found.recommended - [0.3, 0.6]).max() < 0.1
    assert "the objective has values that dwarf all others" in found.message


@pytest.mark.parametrize(("constraints", "seed"), [(0, 0), (1, 1)])
def test_a_search_that_sees_the_same_everywhere_looks_elsewhere(constraints, seed):
    """Failures alone, or a plateau: corners were looked at again and again, the inside never."""
    search = Optimizer([(0, 1), (0, 1)], constraints, rule="improvement", seed=seed)
    seen = []
    for _ in range(30):
        seen.append(search.ask())
        search.tell(seen[-1], 1.0, *([-1.0],) * constraints)
    apart = pdist(np.array(seen))
    assert apart.min() > 0.03
    grid = np.stack(np.meshgrid(*[np.linspace(0.05, 0.95, 19)] * 2), axis=-1).reshape(-1, 2)
    assert cdist(grid, np.array(seen)).min(axis=1).max() < 0.3
    assert "the prior's medians" in learn(np.array(seen), scaled(np.array(seen), np.ones(30))).outcome.message


@pytest.mark.parametrize("share", [0.25, 0.5, 1.0])
def test_much_noise_is_no_structure(share):
    """It was held at a bound of 0.04 of the variance, with a tenth of the right lengthscale."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 1))
    f = np.sin(6.0 * X[:, 0])
    y = f + np.sqrt(share * np.var(f)) * rng.normal(size=60)
    found = learn(X, scaled(X, y))
    assert found.outcome.success and found.kernel.lengthscale[0] > 0.15
    assert found.noise * np.var(y) == pytest.approx(share * np.var(f), rel=0.25)
    held_low = learn(X, scaled(X, y), Prior(most_noise=1e-4))
    assert held_low.kernel.lengthscale[0] < 0.1 and held_low.outcome.value > found.outcome.value
