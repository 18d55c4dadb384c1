"""Observations as they are modelled: a few that dwarf all others do not hide these."""

import numpy as np
import pytest

from tilted.bayesopt import Optimizer
from tilted.bayesopt.hyperparameters import held, scaled

PLACES = np.random.default_rng(5).random((20, 2))
VALUES = PLACES[:, 0] * PLACES[:, 1] - 0.1


@pytest.mark.parametrize("penalty", [-1e3, -1e6, 1e40])
def test_one_that_dwarfs_the_others_is_moved_nearer_and_keeps_its_sign(penalty):
    y = VALUES.copy()
    y[3] = penalty
    data, others = scaled(PLACES, y), np.delete(VALUES, 3)
    assert data.held == 1
    assert np.sign(data.y[3]) == np.sign(penalty)
    assert np.ptp(others) < abs(data.y[3] * data.scale) < 10 * np.ptp(others)
    np.testing.assert_allclose(np.delete(data.y, 3) * data.scale, others, rtol=1e-12)


def test_signs_stay_where_all_others_are_on_one_side():
    y = np.where(np.arange(20) == 3, -1e4, 5.0 + 0.01 * VALUES)
    assert held(PLACES, y)[3] <= -5.0
    assert held(PLACES, -y)[3] >= 5.0


def test_ordinary_observations_stay_as_they_are():
    for y in (
        VALUES,
        1e6 * VALUES,
        np.exp(3.0 * VALUES),
        np.zeros(20),
        np.full(20, 2.0),
        VALUES[:3] * [1, 1, 1e6],
    ):
        np.testing.assert_array_equal(held(PLACES[: len(y)], y), y)
    half = np.where(np.arange(20) % 2, -1e6, VALUES)  # too many to be the exception
    np.testing.assert_array_equal(held(PLACES, half), half)


def test_where_a_search_converged_the_places_it_came_from_stay_as_they_are():
    X = np.concatenate([PLACES, PLACES[0] + 1e-6 * PLACES, PLACES[0] + 1e-7 * PLACES])
    y = X[:, 0] * X[:, 1] - 0.1
    np.testing.assert_array_equal(held(X, y), y)


def test_low_values_of_what_is_minimised_are_what_is_looked_for():
    y = np.where(np.arange(20) == 3, -1e6, VALUES)
    np.testing.assert_array_equal(held(PLACES, y, minimised=True), y)
    assert held(PLACES, -y, minimised=True)[3] < 1e6


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("penalty", [-1e3, -1e6])
def test_a_penalty_for_one_failure_leaves_the_search_as_good(penalty, seed):
    """Where a quarter of the square was infeasible the place recommended was, and said to be sure."""
    search = Optimizer([(0, 1), (0, 1)], 1, rule="improvement", seed=seed)
    for i in range(20):
        x = search.ask()
        search.tell(x, x[0] + x[1], penalty if i == 3 else x[0] * x[1] - 0.1)
    found = search.found()
    assert found.recommended.prod() - 0.1 >= -1e-3
    assert found.recommended.sum() < 0.71  # 0.632 is the least
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
