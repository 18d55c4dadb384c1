"""The classification experiments of the Power-EP paper: grids, starts, records, the made-up set."""

import json

import numpy as np
import pytest

from papers.core import runs
from papers.data import classification
from papers.pep import classification as experiment
from papers.pep import regression as pep
from tilted.kernels import SquaredExponential
from tilted.learning.search import Search
from tilted.learning.sparse import Problem
from tilted.likelihoods.probit import Probit

SHORT = Search(max_iterations=15)
RELEASED = "as-released"


@pytest.fixture(scope="module")
def parts():
    """A small problem: X_train [60, 3], X_test [30, 3], y_train, y_test, its last column constant."""
    X, y = experiment.draw_banana(5, 90)
    X = np.column_stack([3.0 * X + 7.0, np.full(90, 0.1)])
    return X[:60], X[60:], y[:60], y[60:]


def test_a_grid_is_every_m_with_every_alpha():
    assert experiment.cells({"alphas": [0, 1], "m": [5, 10]}) == [(0, 5), (1, 5), (0, 10), (1, 10)]


def test_sizes_are_those_of_the_parts():
    X, Xs, y, ys = experiment.parts_of("banana", 3, None)
    assert experiment.sizes("banana") == (len(y), 20) == (len(X), 20) and len(ys) == len(Xs) == 40
    assert experiment.sizes("iono", "corrected") == (316, 20) and experiment.sizes("iono") == (315, 20)
    assert experiment.datasets() == ["banana", *classification.names()]


def test_the_made_up_set_has_two_crescents_of_equal_size():
    X, y = experiment.draw_banana(0, 4000)
    assert (y == 1).sum() == (y == -1).sum() == 2000 and np.array_equal(X, experiment.draw_banana(0, 4000)[0])
    assert not np.array_equal(X, experiment.draw_banana(1, 4000)[0])
    upper, lower = X[y == 1], X[y == -1]
    np.testing.assert_allclose(upper.mean(axis=0), [0.0, 2 / np.pi], atol=0.05)
    np.testing.assert_allclose(lower.mean(axis=0), [1.0, 0.5 - 2 / np.pi], atol=0.05)
    np.testing.assert_allclose((np.hypot(*upper.T) ** 2).mean(), 1 + 2 * experiment.NOISE**2, rtol=0.03)


def test_a_search_starts_at_distinct_training_inputs(parts):
    X, _, y, _ = experiment.prepared(parts)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-14)
    assert np.all(X[:, 2] == 0)
    twice, labels = np.vstack([X[:20], X[:20]]), np.concatenate([y[:20], y[:20]])
    problem, kernel, Z = experiment.start(twice, labels, 0.5, 20, 4)
    assert len(np.unique(Z, axis=0)) == 20 and all(any(np.array_equal(z, x) for x in X[:20]) for z in Z)
    assert kernel == SquaredExponential(1.0, (np.sqrt(3.0),) * 3) and problem.jitter == pep.JITTER
    assert not np.array_equal(Z, experiment.start(twice, labels, 0.5, 20, 5)[2])
    with pytest.raises(ValueError, match="21 pseudo-points for 20 training points"):
        experiment.start(twice, labels, 0.5, 21, 4)


@pytest.mark.parametrize("alpha", [0, 0.5, 1])
def test_a_record_has_energy_and_scores_at_its_hyperparameters(alpha, parts, monkeypatch):
    monkeypatch.setitem(experiment.SEARCHES, RELEASED, SHORT)
    kept = []
    maximise = experiment.maximise
    monkeypatch.setattr(experiment, "maximise", lambda *a: kept.append(maximise(*a)) or kept[-1])
    record = experiment.run_cell(parts, "crabs", 7, alpha, 6, RELEASED)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    names = ("protocol", "dataset", "split", "alpha", "m", "n_train", "n_test")
    assert [record[name] for name in names] == [RELEASED, "crabs", 7, f"{alpha}", 6, 60, 30]
    X, Xs, y, ys = experiment.prepared(parts)
    at, Z = record["hyperparameters"], kept[0].posterior.pseudo.Z
    kernel = SquaredExponential(at["variance"], tuple(at["lengthscale"]))
    posterior, found = Problem(X, y, Probit(), alpha, jitter=pep.JITTER).infer(kernel, Z)
    assert record["nlml"] == pytest.approx(-found.log_evidence, abs=1e-6)
    mean, variance = posterior.predict(found.state, Xs)
    right = 0.5 * (
        1.0 + np.array([_erf(m / np.sqrt(2 * (1 + v))) for m, v in zip(mean, variance, strict=True)])
    )
    right = np.where(ys > 0, right, 1 - right)
    assert record["error"] == np.mean(right < 0.5) and record["error"] < 0.4
    assert record["nll"] == pytest.approx(-np.mean(np.log(right)), rel=1e-5)
    assert record["evaluations"] >= 15 and record["outcome"] == "stopped"


def _erf(x):
    from math import erf

    return erf(x)


def test_the_search_is_that_of_the_protocol(parts, monkeypatch):
    seen = []

    def maximise(problem, kernel, Z, search):
        seen.append(search)
        raise ValueError("seen")

    monkeypatch.setattr(experiment, "maximise", maximise)
    for protocol in (RELEASED, "corrected"):
        experiment.run_cell(parts, "crabs", 0, 1, 5, protocol)
    assert seen == [experiment.SEARCH, pep.SEARCHES["converged"]]
    assert [search.method for search in seen] == ["lbfgs", "bfgs"]


def test_a_search_that_is_not_the_first_one_is_part_of_what_the_protocol_says():
    line = {"protocol": "corrected", "dataset": "crabs"}
    assert (
        experiment.choices(RELEASED) == {}
        and experiment.todays({"protocol": RELEASED, "dataset": "crabs"}) == ""
    )
    assert experiment.choices("corrected")["search"]["method"] == "bfgs"
    assert experiment.todays(line) == runs.stamp(experiment.choices("corrected"))["protocol"] != ""


def test_corrected_labels_are_searched_until_they_converge():
    parts = experiment.parts_of("banana", 3, None)
    assert experiment.run_cell(parts, "banana", 3, 1, 8, "corrected")["outcome"] == "ok"


def test_wrong_arguments_are_errors_not_records(parts):
    with pytest.raises(ValueError, match="61 pseudo-points for 60 training points"):
        experiment.run_cell(parts, "crabs", 0, 0.5, 61, RELEASED)
    with pytest.raises(ValueError, match="powers are 0 for all data"):
        experiment.run_cell(parts, "crabs", 0, 1.5, 4, RELEASED)
    X, Xs, y, ys = parts
    with pytest.raises(ValueError, match="labels must be -1 or"):
        experiment.run_cell((X, Xs, y, 2 * ys), "crabs", 0, 0.5, 4, RELEASED)
    with pytest.raises(ValueError, match="both classes"):
        experiment.run_cell((X, Xs, np.ones(60), ys), "crabs", 0, 0.5, 4, RELEASED)
