"""Weights of rows and classes in the estimators."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils.class_weight import compute_sample_weight

import tilted
from tilted.estimators import (
    GPClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
)
from tilted.inference.options import Options
from tilted.kernels import Constant, SquaredExponential, White
from tilted.learning.likelihood import coordinates_of

N = 20
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 2))
F = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
LABELS = np.where(F + 0.4 * RNG.normal(size=N) > 0, "yes", "no")
THREE = np.digitize(F + 0.3 * RNG.normal(size=N), [-0.5, 0.5])
REALS = F + 0.2 * RNG.normal(size=N)
COUNTS = RNG.poisson(np.exp(0.8 * F)).astype(float)
W = RNG.integers(0, 4, N).astype(float)
ROWS = np.repeat(np.arange(N), W.astype(int))
KEPT = [
    (GPClassifier(), LABELS),
    (GPClassifier(class_weight={0: 2.0, 1: 1.0, 2: 3.0}), THREE),
    (GPClassifier("vb", likelihood="logit", ard=True), LABELS),
    (GPClassifier("power-ep", mean="constant"), LABELS),
    (GPClassifier("qp"), LABELS),
    (GPRegressor(), REALS),
    (GPRegressor("vb", likelihood="student-t"), REALS),
    (GPPoissonRegressor(), COUNTS),
    (GPPoissonRegressor("vb", likelihood="poisson-exp"), COUNTS),
    (SparseGPClassifier(n_pseudo=6), LABELS),
    (SparseGPPoissonRegressor(n_pseudo=6), COUNTS),
    (SparseGPPoissonRegressor("vb", likelihood="negative-binomial", n_pseudo=6), COUNTS),
    (SparseGPRegressor(n_pseudo=6), REALS),
    (SparseGPRegressor("vb", n_pseudo=6, mean="constant"), REALS),
]


@pytest.mark.parametrize("model, y", KEPT)
def test_whole_weights_are_repeated_rows(model, y):
    """With what is guessed from the data: rows of weight 0 are as absent."""
    model = clone(model).set_params(optimise=None)
    one, many = clone(model).fit(X, y, sample_weight=W), clone(model).fit(X[ROWS], y[ROWS])
    assert one.log_evidence_ == pytest.approx(many.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(one.theta_, many.theta_, rtol=1e-13)
    np.testing.assert_allclose(one.predict_latent(X), many.predict_latent(X), atol=1e-6)
    unweighted = clone(model).fit(X, y)
    assert abs(unweighted.log_evidence_ - one.log_evidence_) > 0.1
    if hasattr(one, "likelihood_"):
        guesses = (coordinates_of(each.likelihood_) for each in (one, many))
        np.testing.assert_allclose(*guesses, rtol=1e-12)


@pytest.mark.parametrize(
    "model, y",
    [(GPPoissonRegressor(), COUNTS), (SparseGPRegressor(n_pseudo=6), REALS), (GPClassifier(), LABELS)],
)
def test_searches_with_weights_and_repetitions_are_the_same_bits_in_any_order(model, y):
    order = RNG.permutation(N)
    one = clone(model).fit(X[order], y[order], sample_weight=W[order])
    many = clone(model).fit(X[ROWS], y[ROWS])
    assert one.log_evidence_ == many.log_evidence_
    np.testing.assert_array_equal(one.predict_latent(X), many.predict_latent(X))
    assert one.predict_latent(X, return_std=True)[0] == pytest.approx(one.predict_latent(X), abs=1e-10)


def test_repeated_rows_are_merged_where_weights_can_be():
    merged = GPClassifier(optimise=None).fit(X[ROWS], LABELS[ROWS]).models_[0].fit.problem
    assert len(merged.X) == np.sum(W > 0) and np.sum(merged.rule.weights) == len(ROWS)
    kept = [
        GPClassifier("rep", optimise=None),
        GPClassifier(correction="cheap", optimise=None),
        GPClassifier(optimise="cv", cv=2),
    ]
    for model in kept:
        assert len(model.fit(X[ROWS], LABELS[ROWS]).models_[0].fit.problem.X) == len(ROWS)
    alike = GPRegressor(optimise=None).fit(X[[0, 0, 0]], REALS[[0, 0, 0]])  # one row would be left
    assert len(alike.models_[0].fit.problem.X) == 3


def test_weights_beyond_those_of_sites_are_for_closed_forms():
    line = np.linspace(0.0, 1.0, N)[:, None]  # the grid of starts has to take them
    assert np.isfinite(SparseGPRegressor(n_pseudo=6).fit(line, REALS, np.full(N, 1e7)).log_evidence_)


NOISY = [
    SquaredExponential(1.0, 1.0) + White(2.0),
    (Constant(0.5) + White(1.0)) * SquaredExponential(2.0, 1.0),
    ConstantKernel(1.0) * RBF(1.0) + WhiteKernel(2.0),
]
WITH_NOISE = [(*one, NOISY[k % 3]) for k, one in enumerate(KEPT)]


@pytest.mark.parametrize("model, y, kernel", WITH_NOISE)
def test_repeated_rows_have_white_noise_of_their_own(model, y, kernel):
    """Merged ones shared it: another model, without a word; moved a little they are not merged."""
    model = clone(model).set_params(optimise=None, kernel=kernel, ard=False)
    if "pseudo_inputs" in model.get_params():  # by default some of the distinct rows
        model.set_params(pseudo_inputs=X[:6])
    apart = X[ROWS] + 1e-9 * np.arange(len(ROWS))[:, None]
    one, other = clone(model).fit(X[ROWS], y[ROWS]), clone(model).fit(apart, y[ROWS])
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-5)


def test_white_noise_of_repeated_rows_is_that_of_draws():
    x, y = np.repeat([0.0, 1.0, 2.0], 2)[:, None], np.array([1, 1, 1, -1, -1, -1])
    kernel = SquaredExponential(1.0, 1.0) + White(2.0)
    rng, n = np.random.default_rng(0), 400_000
    f = rng.multivariate_normal(np.zeros(6), kernel.matrix(x) + np.eye(6), size=n)
    share = float(np.mean(np.all(f * y > 0, axis=1)))
    model = GPClassifier(kernel=kernel, optimise=None).fit(x, y)
    assert abs(np.exp(model.log_evidence_) - share) < 4.0 * np.sqrt(share / n)


@pytest.mark.parametrize("of", [GPClassifier, lambda **more: SparseGPClassifier(n_pseudo=N, **more)])
@pytest.mark.parametrize("scales", [(365.0, 6575.0), (1e6, 1e4), (1e4, 20.0)])
def test_heavy_rows_do_not_overshoot(of, scales):
    """From the sites of lighter rows: from flat ones these did not converge in 100 sweeps."""
    apart = {"yes": 1000.0, "no": 1e-4}
    kernel, options = tilted.SquaredExponential(*scales), Options(max_sweeps=100, fallback=False)
    model = of(kernel=kernel, class_weight=apart, optimise=None, options=options).fit(20.0 * X, LABELS)
    assert model.status_.converged


def test_weights_of_one_change_nothing():
    for model, y in ((GPClassifier(optimise=None), LABELS), (GPRegressor(optimise=None), REALS)):
        plain, ones = clone(model).fit(X, y), clone(model).fit(X, y, sample_weight=np.ones(N))
        assert plain.log_evidence_ == ones.log_evidence_
        assert plain.models_[0].fit.problem.rule.weights is None


@pytest.mark.parametrize("class_weight", ["balanced", {"yes": 3.0, "no": 0.5}])
def test_class_weights_are_scikit_learns(class_weight):
    model = GPClassifier(optimise=None, class_weight=class_weight).fit(X, LABELS)
    expected = compute_sample_weight(class_weight, LABELS)
    np.testing.assert_allclose(model.models_[0].fit.problem.rule.weights, expected, rtol=1e-14)
    given = GPClassifier(optimise=None).fit(X, LABELS, sample_weight=expected)
    np.testing.assert_allclose(model.predict_proba(X), given.predict_proba(X), rtol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    plain = GPClassifier(optimise=None).fit(X, LABELS).predict_proba(X)
    assert np.max(np.abs(plain - model.predict_proba(X))) > 0.01


def test_cross_validation_weighs_fits_and_scores():
    """Folds take the weights of their rows: twice the weights are another score."""
    fits = [GPRegressor(optimise="cv", cv=2).fit(X, REALS, sample_weight=k * W) for k in (1.0, 2.0)]
    notes = [fit.status_.message for fit in fits]
    assert all("2-fold cross-validation" in note for note in notes) and notes[0] != notes[1]


@pytest.mark.parametrize(
    "model, weights, message",
    [
        (GPClassifier("rep", optimise=None), W, "relaxed EP"),
        (GPClassifier(correction="cheap"), W, "without weights"),
        (GPClassifier("qp"), W + 0.5, "weights below 1"),
        (GPClassifier(), -W, "[Nn]egative"),
        (GPClassifier(), np.eye(N)[0], "at least 2 rows"),
        (GPClassifier(), 1e9 * W, "at most 1e\\+06"),
        (GPClassifier(), 1e300 * W, "sample_weight has values up to"),
        (GPClassifier(class_weight={"yes": 0.0}), None, "positive"),
        (GPClassifier(class_weight="even"), None, "class_weight"),
    ],
)
def test_weights_that_cannot_be_are_refused(model, weights, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, LABELS, sample_weight=weights)


@pytest.mark.parametrize(
    "model, y", [(GPRegressor(), REALS), (GPClassifier(), THREE), (SparseGPRegressor(n_pseudo=5), REALS)]
)
def test_normalised_weights_are_said(model, y):
    """They count as one observation, of which nothing is learnt."""
    model = clone(model).set_params(optimise=None)
    with pytest.warns(UserWarning, match="^the weights sum to 1: a weight is a number of observations"):
        model.fit(X, y, sample_weight=np.full(N, 1.0 / N))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.fit(X, y, sample_weight=np.full(N, 0.5))


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan])
def test_a_class_without_a_weight_is_named(weight):
    """It was an error about rows."""
    X, y = np.linspace(0, 1, 12)[:, None], np.array(["a", "b", "c"] * 4)
    for model in (GPClassifier, SparseGPClassifier):
        with pytest.raises(ValueError, match="class_weight must be positive, got .* of class b: "):
            model(class_weight={"a": 1.0, "b": weight, "c": 2.0}).fit(X, y)
