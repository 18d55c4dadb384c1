"""Extrapolated warm starts."""

import numpy as np
import pytest

from tilted.gaussian import Sites
from tilted.inference import RULES
from tilted.inference.options import Options
from tilted.kernels import SquaredExponential
from tilted.learning.dense import Problem, infer_at, maximise
from tilted.learning.warmstarts import MOST_POINTS, WarmStarts
from tilted.likelihoods.probit import Probit


def log_linear(parameters):
    """Sites whose coordinates are linear in the log parameters."""
    u = np.log(parameters)
    tau = np.exp(np.array([0.3, -1.0]) + np.array([[0.2, -0.1], [0.4, 0.3]]) @ u)
    return Sites(tau, np.sqrt(tau) * (np.array([1.0, -2.0]) + np.array([[0.1, 0.2], [-0.3, 0.1]]) @ u))


def test_learns_a_log_linear_dependence():
    starts = WarmStarts(extrapolate=True)
    assert starts.sites(np.array([1.0, 1.0])) is None
    for point in ([1.0, 1.0], [1.5, 1.0], [1.5, 1.4]):
        starts.record(np.array(point), log_linear(point))
    expected, found = log_linear([2.0, 1.1]), starts.sites(np.array([2.0, 1.1]))
    np.testing.assert_allclose(found.tau, expected.tau, rtol=1e-12)
    np.testing.assert_allclose(found.nu, expected.nu, rtol=1e-12)


def test_starts_at_the_nearest_point_and_forgets_far_ones():
    starts = WarmStarts(extrapolate=True)
    near, far = np.array([1.0, 1.0]), np.array([1e-15, 1e-15])
    starts.record(near, log_linear(near))
    starts.record(far, Sites(np.ones(2), np.zeros(2)))
    np.testing.assert_allclose(starts.sites(1.01 * near).tau, log_linear(near).tau)
    assert not np.any(starts.slope)


def test_a_prediction_reaches_no_further_than_its_limit():
    starts = WarmStarts(extrapolate=True)
    one = np.array([1.0])
    starts.record(one, Sites(np.array([1.0]), np.array([1.0])))
    starts.record(2 * one, Sites(np.array([3.0]), np.array([1.0])))
    assert starts.sites(100 * one).tau[0] == pytest.approx(3.0 * np.e)


def test_negative_precisions_are_not_extrapolated():
    starts = WarmStarts(extrapolate=True)
    sites = Sites(np.array([-1.0]), np.array([0.5]))
    starts.record(np.array([1.0]), sites)
    assert starts.sites(np.array([2.0])) is sites


def test_a_long_search_forgets_its_oldest_point():
    """What is kept is bounded; predictions come from the points that are left."""
    starts, far = WarmStarts(extrapolate=True), np.array([1e-15, 1e-15])
    starts.record(far, Sites(np.array([5.0, 5.0]), np.zeros(2)))
    for first in np.linspace(1.0, 2.0, MOST_POINTS - 1):
        starts.record(np.array([first, 1.0]), log_linear([first, 1.0]))
    np.testing.assert_allclose(starts.sites(far).tau, [5.0, 5.0])
    for point in ([2.0, 1.1], [2.0, 1.2]):
        starts.record(np.array(point), log_linear(point))
    assert not np.any(np.isclose(starts.sites(far).tau, 5.0))
    for point in ([1.3, 1.0], [2.0, 1.2]):
        np.testing.assert_allclose(starts.sites(np.array(point)).tau, log_linear(point).tau, rtol=1e-3)


def test_without_extrapolation_the_last_sites_come_back():
    starts = WarmStarts(extrapolate=False)
    for point in ([1.0, 1.0], [2.0, 1.0]):
        starts.record(np.array(point), log_linear(point))
    np.testing.assert_array_equal(starts.sites(np.array([1.0, 1.0])).tau, log_linear([2.0, 1.0]).tau)


@pytest.mark.parametrize("method", ["ep", "vb"])
def test_a_search_ends_where_cold_inference_agrees(method, toy):
    """Its last sites are a fixed point of their own, however they were found."""
    X, y = toy
    problem = Problem(X, y, Probit(), RULES[method])
    found = maximise(problem, SquaredExponential(1.0, 1.0))
    cold = infer_at(problem, found.kernel)
    assert cold.log_evidence == pytest.approx(found.inference.log_evidence, abs=1e-9)
    plain = infer_at(Problem(X, y, Probit(), RULES[method], options=Options(newton=False)), found.kernel)
    assert plain.log_evidence == pytest.approx(found.inference.log_evidence, abs=1e-9)
