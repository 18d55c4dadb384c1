"""Training by minibatches: the engine's fixed point, unbiased gradients, resuming, refusals."""

from dataclasses import replace

import numpy as np
import pytest

from tilted import minibatch
from tilted.inference.options import Options
from tilted.kernels import SquaredExponential
from tilted.likelihoods.probit import Probit
from tilted.minibatch import Training, begin, train
from tilted.sparse_search import Problem, maximise

KERNEL = SquaredExponential(2.0, (0.9, 0.7))


@pytest.fixture(scope="module")
def labels():
    """X [120, 2], y in {-1, 1}, Z [6, 2]."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 2))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.standard_normal(120) > 0, 1.0, -1.0)
    return X, y, X[:6] + 0.1


def problem_of(labels, alpha, mean=0.0):
    X, y, _ = labels
    return Problem(X, y, Probit(), alpha, mean=mean, jitter=1e-6, options=Options(tolerance=1e-11))


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mean", [0.0, 0.4])
def test_one_batch_of_all_data_reaches_the_engine_s_fixed_point(alpha, mean, labels):
    problem = problem_of(labels, alpha, mean)
    all_at_once = Training(steps=200, batch=1000, rate=0.7, learning_rate=0.0)
    found = train(problem, begin(problem, KERNEL, labels[2]), all_at_once)
    posterior, engine = problem.infer(KERNEL, labels[2])
    np.testing.assert_allclose(found.sites.tau, engine.sites.tau, rtol=1e-8)
    np.testing.assert_allclose(found.sites.nu, engine.sites.nu, rtol=1e-8, atol=1e-8)
    assert found.energy == pytest.approx(engine.log_evidence, abs=1e-8)
    for ours, theirs in zip(
        found.predict(labels[0]), posterior.predict(engine.state, labels[0], mean), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_the_batches_gradients_add_up_to_the_engine_s(alpha, labels):
    """At the fixed point the mean over the batches of an epoch is the gradient of all the data."""
    problem = problem_of(labels, alpha, 0.3)
    X, y, Z = labels
    state = train(
        problem, begin(problem, KERNEL, Z), Training(steps=200, batch=1000, rate=0.7, learning_rate=0.0)
    )
    posterior, engine = problem.infer(KERNEL, Z)
    by_parameters, by_Z = posterior.evidence_gradient(engine.state, engine.by_extra)
    expected = np.concatenate([by_parameters * KERNEL.parameters(), by_Z.ravel()])
    gradients = []
    for rows in np.split(np.random.default_rng(0).permutation(120), 4):
        Kuf = state.pseudo.cross(X[rows])
        V = state.pseudo.root @ Kuf
        extra = KERNEL.diagonal(X[rows]) - np.einsum("mn,mn->n", V, V)
        _, local = minibatch._sweep(problem, problem.rule(), state, rows, (V, extra, y[rows]), 4.0, 1e-9)
        gradients.append(minibatch._gradient(state, X[rows], Kuf, V, *local, 4.0))
    np.testing.assert_allclose(np.mean(gradients, axis=0), expected, rtol=1e-6, atol=1e-6)
    assert np.std(gradients, axis=0).max() > 0.1  # the batches differ


def test_small_batches_come_near_the_fixed_point(labels):
    problem = problem_of(labels, 0.5)
    quiet = Training(steps=3000, batch=30, rate=0.3, decay=0.02, learning_rate=0.0)
    found = train(problem, begin(problem, KERNEL, labels[2]), quiet)
    posterior, engine = problem.infer(KERNEL, labels[2])
    mean, variance = found.predict(labels[0])
    exact, exact_variance = posterior.predict(engine.state, labels[0])
    assert np.max(np.abs(mean - exact) / np.sqrt(exact_variance)) < 0.02
    np.testing.assert_allclose(variance, exact_variance, rtol=0.02)


def test_training_comes_near_the_search(labels):
    problem, kernel = problem_of(labels, 0.5), SquaredExponential(1.0, (1.5, 1.5))
    training = Training(steps=3000, batch=40, rate=0.2, learning_rate=0.01)
    found = train(problem, begin(problem, kernel, labels[2]), training)
    best = maximise(problem, kernel, labels[2]).inference.log_evidence
    before = problem.infer(kernel, labels[2])[1].log_evidence
    reached = problem.infer(found.pseudo.kernel, found.pseudo.Z)[1].log_evidence
    assert best > reached > best - 2.0 > before + 10.0


def test_an_interrupted_training_goes_on_as_if_it_had_not_been(labels):
    problem, start = problem_of(labels, 0.5), begin(problem_of(labels, 0.5), KERNEL, labels[2])
    whole = train(problem, start, Training(steps=20, batch=50))
    seen = []
    half = train(problem, start, Training(steps=9, batch=50), seen.append)
    rest = train(problem, half, Training(steps=20, batch=50))
    assert [state.step for state in seen] == list(range(1, 10))
    assert rest.energy == whole.energy
    np.testing.assert_array_equal(rest.pseudo.Z, whole.pseudo.Z)
    np.testing.assert_array_equal(start.precision, 0.0)  # nothing was changed in place


def test_a_step_to_an_improper_kernel_is_refused_and_counted(labels):
    problem = problem_of(labels, 1.0)
    wild = Training(steps=5, batch=50, learning_rate=1e5)
    found = train(problem, begin(problem, KERNEL, labels[2]), wild)
    assert found.refused > 0 and np.all(np.isfinite(found.pseudo.kernel.parameters()))


def test_an_improper_sum_is_refused(labels):
    problem = problem_of(labels, 1.0)
    start = begin(problem, KERNEL, labels[2])

    class Negative:
        def update(self, marginals, sites, likelihood, y):
            new = problem.rule().update(marginals, sites, likelihood, y)
            return replace(new, sites=replace(new.sites, tau=-50.0 * np.ones(len(y))))

    rows = np.arange(50)
    found = minibatch._step(problem, Negative(), Training(learning_rate=0.0), start, rows)
    assert found.refused == 1 and not found.precision.any()


@pytest.mark.parametrize(
    "bad",
    [{"steps": 0}, {"batch": 0}, {"rate": 0.0}, {"rate": 1.5}, {"learning_rate": -1.0}, {"decay": np.nan}],
)
def test_options_are_checked(bad, labels):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Training(**bad)
    with pytest.raises(ValueError, match="one power"):
        train(problem_of(labels, np.ones(120)), begin(problem_of(labels, 1.0), KERNEL, labels[2]))
