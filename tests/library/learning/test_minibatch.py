"""Training by minibatches: the engine's fixed point, unbiased gradients, resuming, refusals."""

import numpy as np
import pytest

from tilted.inference.options import Options
from tilted.kernels import SquaredExponential
from tilted.learning import minibatch
from tilted.learning.minibatch import Training, begin, train
from tilted.learning.sparse import Problem, maximise
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit

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
        extra = state.pseudo.left_over(X[rows], V)[0]
        _, *local = minibatch._sweep(problem, problem.rule, state, rows, V, extra, 4.0, 1e-9)
        gradients.append(minibatch._gradient(state, rows, X[rows], Kuf, V, *local, 4.0))
    np.testing.assert_allclose(np.mean(gradients, axis=0), expected, rtol=1e-6, atol=1e-6)
    assert np.std(gradients, axis=0).max() > 0.1  # the batches differ


@pytest.mark.slow
def test_small_batches_come_near_the_fixed_point(labels):
    problem = problem_of(labels, 0.5)
    quiet = Training(steps=3000, batch=30, rate=0.3, decay=0.02, learning_rate=0.0)
    found = train(problem, begin(problem, KERNEL, labels[2]), quiet)
    posterior, engine = problem.infer(KERNEL, labels[2])
    mean, variance = found.predict(labels[0])
    exact, exact_variance = posterior.predict(engine.state, labels[0])
    assert np.max(np.abs(mean - exact) / np.sqrt(exact_variance)) < 0.02
    np.testing.assert_allclose(variance, exact_variance, rtol=0.02)


@pytest.mark.slow
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
    half = train(problem, start, Training(steps=9, batch=50))
    rest = train(problem, half, Training(steps=20, batch=50))
    assert (half.step, rest.step) == (9, 20)
    assert rest.energy == whole.energy
    np.testing.assert_array_equal(rest.pseudo.Z, whole.pseudo.Z)
    np.testing.assert_array_equal(start.precision, 0.0)  # nothing was changed in place


def test_steps_are_those_of_the_published_adam(labels):
    """Algorithm 1 of [Kingma & Ba 2015], uphill, with beta 0.9 and 0.999 and epsilon 1e-8."""
    state = begin(problem_of(labels, 1.0), KERNEL, labels[2])
    place = np.concatenate([np.log(KERNEL.parameters()), labels[2].ravel()])
    m, v = np.zeros_like(place), np.zeros_like(place)
    for t, size in enumerate((1.0, -0.3, 20.0), start=1):
        gradient = size * np.linspace(-1.0, 2.0, len(place))
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        place += 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        state = minibatch._adam(state, gradient, 0.01)
    found = np.concatenate([np.log(state.pseudo.kernel.parameters()), state.pseudo.Z.ravel()])
    np.testing.assert_allclose(found, place, rtol=1e-12)
    assert state.moved == 3


def test_a_step_to_an_improper_kernel_is_refused_and_counted(labels):
    problem = problem_of(labels, 1.0)
    wild = Training(steps=5, batch=50, learning_rate=1e5)
    found = train(problem, begin(problem, KERNEL, labels[2]), wild)
    assert found.refused > 0 and np.all(np.isfinite(found.pseudo.kernel.parameters()))


@pytest.fixture
def counts():
    """Counts with rate f^2, f from 0.5 to 2.5: sites of VB have negative precisions on the way."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (400, 1))
    return X, rng.poisson((1.5 + np.sin(2 * X[:, 0])) ** 2).astype(float), np.linspace(-2, 2, 12)[:, None]


@pytest.mark.parametrize("rate", [0.5, 0.1])
def test_a_move_that_would_be_improper_is_halved_and_the_fixed_point_still_reached(rate, counts):
    X, y, Z = counts
    problem = Problem(X, y, PoissonSquare(), 0.0, mean=0.5, jitter=1e-6)
    kernel = SquaredExponential(1.0, 0.8)
    steady = Training(steps=400, batch=400, rate=rate, learning_rate=0.0)
    found = train(problem, begin(problem, kernel, Z), steady)
    engine = problem.infer(kernel, Z)[1]
    assert engine.status.converged and 0 < found.refused < 200
    assert found.energy == pytest.approx(engine.log_evidence, abs=0.01)


@pytest.mark.parametrize(
    "bad",
    [{"steps": 0}, {"batch": 0}, {"rate": 0.0}, {"rate": 1.5}, {"learning_rate": -1.0}, {"decay": np.nan}],
)
def test_options_are_checked(bad, labels):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Training(**bad)
    with pytest.raises(ValueError, match="one power"):
        train(problem_of(labels, np.ones(120)), begin(problem_of(labels, 1.0), KERNEL, labels[2]))
