"""The front door: bad input is refused by name, odd input is handled, results are values."""

import dataclasses
import pickle

import numpy as np
import pytest

import tilted
from tilted import bayesopt, estimators
from tilted.gaussian import Sites
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.kernels import Constant, Linear, SquaredExponential, White
from tilted.learning.dense import Problem, flat_ridge, infer_at
from tilted.learning.search import Search
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.step import NoisyStep

GRID = np.linspace(-2, 2, 12)[:, None]
LABELS = np.array([-1, -1, 1, -1, -1, 1, -1, 1, 1, 1, -1, 1.0])


def changed(array, index, value):
    out = array.astype(float)
    out[index] = value
    return out


@pytest.mark.parametrize(
    "X, y, options, message",
    [
        (changed(GRID, (3, 0), np.nan), LABELS, {}, "row 3, column 0"),
        (changed(GRID, (5, 0), np.inf), LABELS, {}, "row 5, column 0"),
        (GRID, changed(LABELS, 2, np.nan), {}, "row 2"),
        (GRID, np.ones(12), {}, "both classes"),
        (GRID, changed(LABELS, 4, 2), {}, "got 2 at row 4"),
        (GRID, changed(LABELS, 4, -1), {"likelihood": "poisson-square"}, "got -1 at row 0"),
        (GRID, changed(np.zeros(12), 4, 0.5), {"likelihood": "poisson-square"}, "0.5 at row 4"),
        (GRID[:1], np.ones(1), {"likelihood": "poisson-square"}, "at least 2 training points, got 1"),
        (GRID[:5], LABELS, {}, "5 rows but y has 12"),
        (GRID[:, 0], LABELS, {}, "matrix"),
        (GRID[:0], LABELS[:0], {}, "only one|matrix"),
        (GRID, LABELS, {"inference": "laplace"}, "unknown inference 'laplace'; known: 'ep'"),
        (GRID, LABELS, {"likelihood": "student"}, "unknown likelihood"),
        (GRID, LABELS, {"mean": np.nan}, "prior mean"),
        (GRID, LABELS, {"mean": "a"}, "unknown mean 'a'; known: 'constant'"),
        (GRID, LABELS, {"kernel": "rbf"}, "kernel must be .*, got 'rbf'"),
        (GRID, LABELS, {"options": {}}, "options must be Options, got {}"),
        (GRID, LABELS, {"search": {"rounds": 2}}, "search must be a tilted.learning.search.Search"),
        (GRID, LABELS, {"optimise": "cv"}, "unknown optimise 'cv'; known: True, False"),
        (GRID, LABELS, {"likelihood": 3}, "likelihood must be a name"),
        (GRID, LABELS, {"inference": "qp", "projection": "table"}, "'table' is no projection"),
        (GRID, LABELS, {"start": 1.0}, "start must be Sites"),
        (GRID, LABELS, {"start": Sites.zeros(11)}, "start.tau has shape .11,. for 12"),
        (GRID, LABELS, {"start": Sites(changed(LABELS, 2, np.nan), LABELS)}, "start.tau has a missing"),
        (GRID + 1j, LABELS, {}, "X must be numeric: complex"),
        (np.ma.array(GRID, mask=np.eye(12, 1)), LABELS, {}, "X has masked values"),
    ],
)
def test_bad_input_is_named(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        tilted.fit(X, y, **options)


def test_prediction_inputs_are_checked():
    fitted = tilted.fit(GRID, LABELS, optimise=False)
    with pytest.raises(ValueError, match="1 columns, as in training, got 2"):
        fitted.predict_latent(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="row 0"):
        fitted.predict_latent([[np.nan]])
    with pytest.raises(ValueError, match="got 0 at row 1"):
        fitted.log_predictive(GRID[:2], [1, 0])
    with pytest.raises(ValueError, match="2 rows but y has 3"):
        fitted.log_predictive(GRID[:2], [1, 1, 1])
    assert fitted.log_predictive(GRID[:2], [1, 1]).shape == (2,)


@pytest.mark.parametrize("method", ["ep", "qp", "vb"])
def test_constant_columns_and_duplicate_rows_are_handled(method):
    """A constant column changes nothing; duplicates are ordinary data."""
    kernel = tilted.SquaredExponential(2.0, 0.8)
    plain = tilted.fit(GRID, LABELS, inference=method, kernel=kernel, optimise=False)
    padded = np.column_stack([GRID, np.full(12, 3.0)])
    same = tilted.fit(padded, LABELS, inference=method, kernel=kernel, optimise=False)
    assert same.log_evidence == pytest.approx(plain.log_evidence, abs=1e-12)
    twice = tilted.fit(
        np.vstack([GRID, GRID]), np.tile(LABELS, 2), inference=method, kernel=kernel, optimise=False
    )
    assert twice.status.converged and np.isfinite(twice.log_evidence)


def test_search_reports_its_evaluations_and_limits(toy):
    X, y = toy
    fitted = tilted.fit(X, y, search=Search(max_iterations=2))
    assert not fitted.status.converged
    assert fitted.status.evaluations >= 2
    assert "LIMIT" in fitted.status.message.upper()
    unsettled = tilted.fit(X, y, options=Options(max_sweeps=1))
    assert not unsettled.status.converged
    assert "unconverged sites" in unsettled.status.message


def test_flat_ridge_of_separable_data_is_said():
    X = np.concatenate([np.linspace(-3, -1, 10), np.linspace(1, 3, 10)])[:, None]
    y = np.sign(X[:, 0])
    assert "flat ridge" in tilted.fit(X, y).status.message
    assert "flat ridge" not in tilted.fit(X, y, priors="weak").status.message
    SE = SquaredExponential(200.0, 2.0)
    noisy = (White(1e-3) + SE, SE + White(1e-3), Linear(200.0) + White(1e-3))
    for kernel in (*noisy, Constant(20.0) * SquaredExponential(10.0, 2.0)):
        assert "flat ridge" in tilted.fit(X, y, "logit", kernel=kernel).status.message
    flips, reals = (Problem(X, y, of, EP) for of in (NoisyStep(), GaussianNoise(1.0)))
    assert "flat ridge" in flat_ridge(flips, SE, infer_at(flips, SE))
    assert flat_ridge(reals, SE, infer_at(reals, SE)) == ""
    assert "flat ridge" not in tilted.fit(GRID, LABELS).status.message


def test_fits_are_values():
    fitted = tilted.fit(GRID, LABELS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        fitted.seconds = 0.0
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict_latent(GRID)[0], fitted.predict_latent(GRID)[0])
    again = tilted.fit(GRID, LABELS)
    assert again.log_evidence == fitted.log_evidence  # no state between calls


def test_warm_start_by_argument(toy):
    X, y = toy
    kernel = tilted.SquaredExponential(2.0, 1.0)
    cold = tilted.fit(X, y, kernel=kernel, optimise=False)
    warm = tilted.fit(X, y, kernel=kernel, optimise=False, start=cold.inference.sites)
    assert warm.status.sweeps == 0
    assert warm.log_evidence == pytest.approx(cold.log_evidence, abs=1e-10)


def test_predictive_variances_lost_to_rounding_are_an_error():
    X = np.linspace(0, 1, 50)[:, None]
    fitted = tilted.fit(X, np.sin(X[:, 0]), GaussianNoise(1e-13), optimise=False)
    for predict in (fitted.predict_latent, lambda X: fitted.log_predictive(X, np.zeros(50))):
        with pytest.raises(ArithmeticError, match="a predictive variance is lost to rounding"):
            predict(X)


@pytest.mark.parametrize("method", ["ep", "vb"])
def test_a_symmetric_end_is_said(method, counts):
    """The square link with a zero mean: a search is refused; an inference learns nothing, and says so."""
    X, y = counts
    with pytest.raises(ValueError, match="no search leaves a prior mean of 0: start from another"):
        tilted.fit(X, y, "poisson-square", method)
    note, start = "every mean is 0", Sites(np.ones(len(y)), np.sqrt(y + 0.5))
    stuck = tilted.fit(X, y, "poisson-square", method, optimise=False)
    assert note in stuck.status.message and not np.any(stuck.predict_latent(X)[0])
    for free in ({"mean": 1.0}, {"start": start, "optimise": False}, {"start": start}):
        assert note not in tilted.fit(X, y, "poisson-square", method, **free).status.message
    assert note not in tilted.fit(X, np.zeros(len(y)), "gaussian", method).status.message


def test_unknown_public_name():
    with pytest.raises(AttributeError, match="nonesuch"):
        tilted.nonesuch  # noqa: B018
    assert {"fit", "Fit", "SquaredExponential", "kernels"} <= set(dir(tilted))
    for room in (bayesopt, estimators):
        assert set(room.__all__) <= set(dir(room)), "completion knows what is imported when it is asked for"
