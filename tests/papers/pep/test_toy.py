"""Exact regressions at true and learned hyperparameters, against formulas written here with scipy alone."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from papers.core import records
from papers.pep import regression as pep
from papers.pep import toy
from papers.pep.records import TOY
from tilted.kernels import SquaredExponential
from tilted.posteriors.full import FullRegression

RESULTS = Path(__file__).resolve().parents[3] / "results"


def expected(X, Xs, y, ys, variance, lengthscales, noise):
    """The scores of `toy`, by dense formulas."""
    scales = np.asarray(lengthscales)

    def covariance(A, B):
        return variance * np.exp(-0.5 * np.sum(((A[:, None] - B) / scales) ** 2, axis=2))

    S = covariance(X, X) + noise * np.eye(len(y))
    found = {"nlml": -multivariate_normal(cov=S).logpdf(y)}
    for name, A, targets in (("train", X, y), ("test", Xs, ys)):
        K = covariance(A, X)
        mean = K @ np.linalg.solve(S, y)
        sd = np.sqrt(variance + noise - np.einsum("an,na->a", K, np.linalg.solve(S, K.T)))
        found[f"mse_{name}"] = np.mean((targets - mean) ** 2)
        found[f"loss_{name}"] = -np.mean(norm(mean, sd).logpdf(targets))
    return found


def of_line(line):
    """What was tested, and with which hyperparameters."""
    data = toy.problem(line["split"], line["n_train"])
    scales = [float(scale) for scale in line["lengthscales"].split(":")]
    return *data[:4], line["variance"], scales, line["noise"]


@pytest.fixture(scope="module")
def small():
    """60 training and 40 test points of a made-up function."""
    drawn = pep.draw(5, 100)
    return toy.Problem(drawn.X[:60], drawn.X[60:], drawn.y[:60], drawn.y[60:], drawn.kernel, drawn.noise)


@pytest.mark.parametrize("hyperparameters", [toy.TRUE, toy.LEARNED])
def test_scores_are_those_of_the_dense_formulas(small, hyperparameters):
    line = toy.fit(small, 5, hyperparameters)
    assert set(TOY.columns) <= set(line) and json.loads(json.dumps(line)) == line
    scales = [float(scale) for scale in line["lengthscales"].split(":")]
    for name, value in expected(*small[:4], line["variance"], scales, line["noise"]).items():
        assert line[name] == pytest.approx(value, rel=1e-7), name
    assert (line["outcome"], line["n_train"], line["n_test"]) == ("ok", 60, 40)


def test_true_hyperparameters_are_those_it_was_drawn_with_and_learned_ones_are_better(small):
    true, learned = (toy.fit(small, 5, name) for name in (toy.TRUE, toy.LEARNED))
    assert (true["variance"], true["noise"], true["evaluations"]) == (1.0, 0.01, 1)
    np.testing.assert_allclose(
        [float(s) for s in true["lengthscales"].split(":")], small.kernel.lengthscale, rtol=1e-11
    )
    assert learned["nlml"] < true["nlml"] and learned["evaluations"] > 1


def test_the_committed_record_holds_the_numbers_of_its_hyperparameters():
    table = records.load(TOY, RESULTS).set_index(["split", "n_train", "hyperparameters"])
    for key in ((0, 500, "true"), (11, 500, "learned"), (29, 1000, "learned")):
        line = table.loc[key].to_dict() | dict(zip(("split", "n_train"), key[:2], strict=True))
        for name, value in expected(*of_line(line)).items():
            assert line[name] == pytest.approx(value, rel=1e-6), (key, name)


def test_the_larger_training_part_holds_the_smaller_and_is_tested_on_the_same_points():
    half, whole = toy.problem(3, 500), toy.problem(3, 1000)
    parts = pep.parts_of("synthetic", 3, None)
    for ours, theirs in zip(half[:4], parts, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(whole.X[:500], half.X)
    np.testing.assert_array_equal(whole.y[:500], half.y)
    np.testing.assert_array_equal(whole.ys, half.ys)
    assert whole.X.shape == (1000, 5) and len(np.unique(whole.X, axis=0)) == 1000
    assert np.all(np.abs(whole.X) <= 2)


def test_more_points_are_of_the_same_function():
    """Given the function at the points there were, the new values have its conditional distribution."""
    kernel = SquaredExponential(1.0, (0.8, 0.6))
    X = np.random.default_rng(1).uniform(-2, 2, (60, 2))
    L = np.linalg.cholesky(kernel.matrix(X) + pep.DRAWN_JITTER * np.eye(60))
    whitened, noise = [], []
    for split in range(20):
        f = L @ np.random.default_rng(split).standard_normal(60)
        more = toy.grown(pep.Drawn(X, f, f, kernel, 0.01), split, 15)
        A = np.linalg.solve(L, kernel.matrix(X, more.X))
        left = kernel.matrix(more.X) + pep.DRAWN_JITTER * np.eye(15) - A.T @ A
        whitened.append(np.linalg.solve(np.linalg.cholesky(left), more.f - A.T @ np.linalg.solve(L, f)))
        noise.append(more.y - more.f)
    n = 300
    assert abs(np.mean(whitened)) < 4 / np.sqrt(n)
    assert np.mean(np.square(whitened)) == pytest.approx(1.0, abs=4 * np.sqrt(2 / n))
    assert np.var(noise) == pytest.approx(0.01, rel=4 * np.sqrt(2 / n))


@pytest.mark.parametrize("hyperparameters", [toy.TRUE, toy.LEARNED])
def test_a_failed_fit_is_a_line_with_its_reason(small, hyperparameters, monkeypatch):
    line = toy.fit(small._replace(y=np.full(60, np.nan)), 0, hyperparameters)
    assert line["outcome"] == "failed" and line["message"] == "X and y must be finite"
    assert all(line[name] is None for name in (*toy.SCORES, "noise")) and line["lengthscales"] == ""
    monkeypatch.setattr(FullRegression, "evaluate", lambda *a: (_ for _ in ()).throw(ArithmeticError("lost")))
    assert toy.fit(small, 0, hyperparameters)["message"] == "lost"
