"""Searches of sparse regressions."""

import numpy as np
import pytest

from tilted import regression
from tilted.kernels import SquaredExponential
from tilted.linalg import NotPositiveDefinite
from tilted.optimise import Outcome
from tilted.posteriors.collapsed import Regression, condition
from tilted.regression import Search, maximise


@pytest.fixture(scope="module")
def sines():
    """A noisy sine of one input: X [80, 1], y, Z [6, 1]."""
    rng = np.random.default_rng(2)
    X = np.sort(rng.uniform(0, 6, 80))[:, None]
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(80), np.linspace(0.5, 5.5, 6)[:, None]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_a_search_finds_a_stationary_point(alpha, sines):
    X, y, Z = sines
    problem, kernel = Regression(X, y, alpha, jitter=1e-6), SquaredExponential(1.0, 1.0)
    found = maximise(problem, kernel, Z, 0.5)
    assert found.status.converged
    assert found.status.residual < 1e-2
    assert found.state.log_evidence > condition(problem, kernel, Z, 0.5).log_evidence + 20
    again = condition(problem, found.state.kernel, found.state.Z, found.state.noise)
    assert again.log_evidence == pytest.approx(found.state.log_evidence, abs=1e-9)
    mean, variance = found.state.predict(X)
    assert np.sqrt(np.mean((mean - np.sin(2 * X[:, 0])) ** 2)) < 0.1
    assert np.all(variance > 0)


def test_pseudo_inputs_stay_where_they_are_if_told(sines):
    X, y, Z = sines
    found = maximise(Regression(X, y), SquaredExponential(), Z, 0.5, Search(move_pseudo_inputs=False))
    np.testing.assert_array_equal(found.state.Z, Z)
    assert found.status.converged


def test_the_best_point_is_kept_whatever_the_search_does_last(sines, monkeypatch):
    X, y, Z = sines
    problem, kernel = Regression(X, y), SquaredExponential()
    seen = []
    real = regression.energy_and_gradient

    def spy(*arguments):
        out = real(*arguments)
        seen.append(out[0].log_evidence)
        return out

    def wander(objective, x0, *limits):
        for shift in (0.0, 0.3, -0.2, 1.0):
            objective(x0 + shift)
        return Outcome(x0, 0.0, x0, 4, False, "lost")

    monkeypatch.setattr(regression, "energy_and_gradient", spy)
    monkeypatch.setattr(regression, "lbfgs", wander)
    found = maximise(problem, kernel, Z, 0.5)
    assert found.state.log_evidence == max(seen) != seen[-1]
    assert not found.status.converged
    assert found.status.evaluations == 4


def test_evaluations_that_fail_are_counted_and_the_search_goes_on(sines, monkeypatch):
    X, y, Z = sines
    real, calls = regression.energy_and_gradient, []

    def sometimes(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise NotPositiveDefinite("Kuu of the pseudo-inputs", 2, 6)
        return real(*arguments)

    monkeypatch.setattr(regression, "energy_and_gradient", sometimes)
    found = maximise(Regression(X, y, jitter=1e-8), SquaredExponential(), Z, 0.5)
    assert "1 evaluations without an energy (Kuu of the pseudo-inputs" in found.status.message
    assert "jitter 2" in found.status.message
    assert found.status.converged


def test_a_start_that_fails_is_an_error(sines):
    X, y, Z = sines
    with pytest.raises(NotPositiveDefinite):
        maximise(Regression(X, y), SquaredExponential(), np.vstack([Z, Z]), 0.5)
