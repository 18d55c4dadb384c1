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
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.step import NoisyStep
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.projections.moments import TableGrid

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
        ([["a"]] * 12, LABELS, {}, "X must be numeric"),
        (GRID, LABELS, {"inference": "laplace"}, "unknown inference 'laplace'; known: 'ep'"),
        (GRID, LABELS, {"likelihood": "student"}, "unknown likelihood"),
        (GRID, LABELS, {"mean": np.nan}, "prior mean"),
        (GRID, LABELS, {"mean": "a"}, "unknown mean 'a'; known: 'constant'"),
        (GRID, LABELS, {"mean": 10**400}, "mean must be one finite number"),
        (GRID, LABELS, {"mean": np.zeros(12)}, "mean must be one finite number"),
        (GRID, LABELS, {"kernel": "rbf"}, "kernel must be .*, got 'rbf'"),
        (GRID, LABELS, {"kernel": 0}, "kernel must be .*, got 0"),
        (GRID, LABELS, {"options": {}}, "options must be Options, got {}"),
        (GRID, LABELS, {"search": {"rounds": 2}}, "search must be a tilted.learning.search.Search"),
        (GRID, LABELS, {"optimise": "cv"}, "unknown optimise 'cv'; known: True, False"),
        (GRID, LABELS, {"likelihood": 3}, "likelihood must be a name"),
        (GRID, LABELS, {"inference": ["ep"]}, "unknown inference"),
        (GRID, LABELS, {"inference": "qp", "projection": "table"}, "'table' is no projection"),
        (GRID, LABELS, {"start": 1.0}, "start must be Sites"),
        (GRID, LABELS, {"start": Sites.zeros(11)}, "start.tau has shape .11,. for 12"),
        (GRID, LABELS, {"start": Sites(np.zeros(12), np.zeros(3))}, "start.nu has shape"),
        (GRID, LABELS, {"start": Sites(changed(LABELS, 2, np.nan), LABELS)}, "start.tau has a missing"),
        (GRID, LABELS, {"start": Sites(np.ones(12), changed(LABELS, 2, np.nan))}, "start.nu has a missing"),
        (GRID + 1j, LABELS, {}, "X must be numeric: complex"),
        (GRID, LABELS + 0j, {}, "y must be numeric: complex"),
        (np.ma.array(GRID, mask=np.eye(12, 1)), LABELS, {}, "X has masked values"),
        (GRID, np.ma.array(LABELS, mask=np.eye(12)[0]), {}, "y has masked values"),
    ],
)
def test_bad_input_is_named(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        tilted.fit(X, y, **options)


@pytest.mark.parametrize(
    "variance, lengthscale",
    [(0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (1.0, np.nan), (np.inf, 1.0), (1.0, (1.0, -2.0)), (1.0, ())],
)
def test_hyperparameters_must_be_positive(variance, lengthscale):
    with pytest.raises(ValueError, match="positive|lengthscale"):
        tilted.SquaredExponential(variance, lengthscale)


def test_ard_needs_one_lengthscale_a_dimension():
    with pytest.raises(ValueError, match="2 lengthscales for inputs of dimension 1"):
        tilted.fit(GRID, LABELS, kernel=tilted.SquaredExponential(1.0, (1.0, 1.0)))


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
    contradictory = tilted.fit(
        np.vstack([GRID, GRID]),
        np.concatenate([LABELS, -LABELS]),
        inference=method,
        kernel=kernel,
        optimise=False,
    )
    assert contradictory.status.converged
    np.testing.assert_allclose(contradictory.predict_latent(GRID)[0], 0.0, atol=1e-6)


@pytest.mark.parametrize("method", ["ep", "qp", "vb"])
@pytest.mark.parametrize("transform", ["softplus", "log"])
def test_search_ends_at_a_stationary_point(method, transform, toy):
    X, y = toy
    search = Search(transform=transform, relative_tolerance=1e-13, gradient_tolerance=1e-6)
    fitted = tilted.fit(X, y, inference=method, search=search, priors=None)
    start = tilted.fit(X, y, inference=method, optimise=False)
    assert fitted.status.converged
    assert fitted.log_evidence > start.log_evidence + 0.1
    p = fitted.kernel.parameters()
    for i in range(2):
        for factor in (0.97, 1.03):
            q = p.copy()
            q[i] *= factor
            at = fitted.kernel.with_parameters(q)
            nearby = tilted.fit(X, y, inference=method, kernel=at, optimise=False)
            assert nearby.log_evidence < fitted.log_evidence


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


def test_large_predictions_come_in_chunks(monkeypatch):
    fitted = tilted.fit(GRID, LABELS, optimise=False)
    Xs = np.linspace(-3, 3, 101)[:, None]
    whole = fitted.predict_latent(Xs)
    monkeypatch.setattr("tilted.numerics.chunks.CHUNK", 7)
    np.testing.assert_allclose(fitted.predict_latent(Xs), whole, rtol=1e-10)


def test_predictive_variances_lost_to_rounding_are_an_error():
    X = np.linspace(0, 1, 50)[:, None]
    fitted = tilted.fit(X, np.sin(X[:, 0]), GaussianNoise(1e-13), optimise=False)
    for predict in (fitted.predict_latent, lambda X: fitted.log_predictive(X, np.zeros(50))):
        with pytest.raises(ArithmeticError, match="a predictive variance is lost to rounding"):
            predict(X)


@pytest.mark.parametrize("likelihood", ["probit", "poisson-square"])
def test_predictions_compute_no_matrix_among_training_points(likelihood, counts, monkeypatch):
    """And are those of the posterior with it, for negative precisions too."""
    X, y = counts if likelihood == "poisson-square" else (GRID, LABELS)
    fitted = tilted.fit(X, y, likelihood, kernel=SquaredExponential(4.0, 0.2), mean=0.2, optimise=False)
    assert (fitted.status.negative_sites > 0) == (likelihood == "poisson-square")
    Xs, n = np.linspace(-1, 4, 7)[:, None], len(y)
    kernel = fitted.kernel
    expected = fitted.inference.state.predict(kernel.matrix(Xs, X), kernel.diagonal(Xs), 0.2)
    matrix, shapes = SquaredExponential.matrix, []

    def spy(*arguments, **options):
        K = matrix(*arguments, **options)
        shapes.append(K.shape)
        return K

    monkeypatch.setattr(SquaredExponential, "matrix", spy)
    np.testing.assert_array_equal(fitted.predict_latent(Xs), expected)
    assert shapes == [(7, n)]


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


def test_counts_and_predictive_choice(counts):
    X, y = counts
    exact = tilted.fit(X, y, "poisson-square", mean=1.0)
    mixture = dataclasses.replace(
        exact, problem=dataclasses.replace(exact.problem, likelihood=PoissonSquare("negative-binomial"))
    )
    assert exact.status.converged
    assert not np.allclose(exact.log_predictive(X, y), mixture.log_predictive(X, y), atol=1e-6)


def test_improper_start_is_an_error(toy):
    X, y = toy
    with pytest.raises(NotPositiveDefinite, match="Lambda"):
        tilted.fit(X, y, start=Sites(np.full(len(y), -9.0), np.zeros(len(y))))


def test_unknown_public_name():
    with pytest.raises(AttributeError, match="nonesuch"):
        tilted.nonesuch  # noqa: B018
    assert {"fit", "Fit", "SquaredExponential", "kernels"} <= set(dir(tilted))
    for room in (bayesopt, estimators):
        assert set(room.__all__) <= set(dir(room)), "completion knows what is imported when it is asked for"


def test_table_has_no_exact_gradient(toy):
    with pytest.raises(ValueError, match="sites-fixed"):
        tilted.fit(*toy, inference="qp", projection=TableGrid())
