"""A run of the digits on few made-up images: what is measured, when, and what a failure leaves."""

import time
from dataclasses import replace

import numpy as np
import pytest

from papers.data.mnist import Digits
from papers.pep import digits as mnist
from papers.pep.records import DIGITS
from tilted.learning.minibatch import begin, train
from tilted.learning.sparse import Problem
from tilted.likelihoods.probit import Probit

SMALL = replace(mnist.TRAINING, batch=40)


@pytest.fixture(scope="module")
def digits():
    """Two kinds of images with 9 pixels that a straight line nearly parts."""
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(300, 9))
    y = np.where(X[:, :4].sum(axis=1) + 0.1 * rng.normal(size=300) > 2.0, 1.0, -1.0)
    return Digits(X[:200], y[:200], X[200:], y[200:])


def test_measurements_are_evenly_far_apart_in_their_logarithm():
    steps = mnist.schedule(5000)
    assert steps[:8] == [1, 2, 3, 4, 6, 7, 10, 13] and steps[-1] == 5000
    assert steps == sorted(set(steps)) and len(steps) == 29
    np.testing.assert_allclose(np.diff(np.log10(steps[11:-1])), 1 / 8, atol=0.02)
    assert mnist.schedule(1) == [1]


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_a_run_learns_and_is_what_one_training_of_its_length_gives(digits, alpha):
    lines = list(mnist.run(digits, alpha, 8, 3, 60, SMALL))
    assert [tuple(line) for line in lines] == [tuple(DIGITS.columns)] * len(mnist.schedule(60))
    assert {line["outcome"] for line in lines} == {"ok"}
    assert np.all(np.diff([line["seconds"] for line in lines]) > 0)
    assert lines[-1]["error"] < 0.15 and lines[-1]["log_likelihood"] > lines[0]["log_likelihood"] + 0.1
    problem = Problem(digits.X, digits.y, Probit(), alpha, jitter=mnist.JITTER)
    Z = mnist.pseudo_inputs(digits.X, 8, 3)
    kernel = mnist.SquaredExponential(mnist.VARIANCE, mnist.LENGTHSCALE)
    end = train(problem, begin(problem, kernel, Z), replace(SMALL, steps=60, seed=3))
    m, v = end.predict(digits.X_test)
    p = Probit().log_predictive(digits.y_test, m, v)
    assert lines[-1]["log_likelihood"] == pytest.approx(np.mean(p), abs=1e-12)
    assert lines[-1]["error"] == pytest.approx(np.mean(np.exp(p) < 0.5), abs=1e-12)
    assert lines[-1]["energy"] == pytest.approx(end.energy)


def test_measuring_and_what_is_done_between_lines_is_not_training(digits, monkeypatch):
    plain = list(mnist.run(digits, 1.0, 8, 0, 4, SMALL))[-1]["seconds"]
    predict = mnist.Trained.predict

    def slow(self, Xs):
        until = time.process_time() + 0.3
        while time.process_time() < until:
            pass
        return predict(self, Xs)

    monkeypatch.setattr(mnist.Trained, "predict", slow)
    seconds = [
        (slow(begin_of(digits), digits.X_test), line["seconds"])[1]
        for line in mnist.run(digits, 1.0, 8, 0, 4, SMALL)
    ]
    assert seconds[-1] < plain + 0.3


def begin_of(digits):
    problem = Problem(digits.X, digits.y, Probit(), 1.0, jitter=mnist.JITTER)
    kernel = mnist.SquaredExponential(mnist.VARIANCE, mnist.LENGTHSCALE)
    return begin(problem, kernel, digits.X[:3])


def test_seeds_draw_pseudo_inputs_and_batches(digits):
    first, again, other = (list(mnist.run(digits, 1.0, 8, seed, 3, SMALL))[-1] for seed in (0, 0, 1))
    assert first["log_likelihood"] == again["log_likelihood"] != other["log_likelihood"]
    with pytest.raises(ValueError, match="201 pseudo-points for 200 images"):
        mnist.pseudo_inputs(digits.X, 201, 0)


def test_a_training_that_fails_ends_with_its_reason(digits, monkeypatch):
    def fail(problem, state, training):
        if training.steps > 2:
            raise ArithmeticError("no\n luck")
        return train(problem, state, training)

    monkeypatch.setattr(mnist, "train", fail)
    lines = list(mnist.run(digits, 0.5, 8, 0, 60, SMALL))
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert [line["outcome"] for line in lines] == ["ok", "ok", "failed"]
    assert (
        lines[-1]["message"] == "no luck"
        and lines[-1]["error"] is None
        and tuple(lines[-1]) == tuple(DIGITS.columns)
    )


def test_a_measurement_that_fails_does_not_end_the_training(digits, monkeypatch):
    predict = mnist.Trained.predict

    def fail(self, Xs):
        if self.step == 1:
            raise ArithmeticError("lost")
        return predict(self, Xs)

    monkeypatch.setattr(mnist.Trained, "predict", fail)
    lines = list(mnist.run(digits, 0.5, 8, 0, 2, SMALL))
    assert [line["outcome"] for line in lines] == ["failed", "ok"]
    assert (lines[0]["error"], lines[0]["message"], lines[0]["skipped"]) == (None, "lost", 0)
    assert tuple(lines[0]) == tuple(DIGITS.columns)
