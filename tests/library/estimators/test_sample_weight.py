"""Weights of rows and classes in the estimators."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

import tilted
from tilted.estimators import (
    GPClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPRegressor,
)
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


@pytest.mark.parametrize("model, y", [(GPPoissonRegressor(), COUNTS), (SparseGPRegressor(n_pseudo=6), REALS)])
def test_searches_end_at_the_same_place(model, y):
    one, many = clone(model).fit(X, y, sample_weight=W), clone(model).fit(X[ROWS], y[ROWS])
    assert one.log_evidence_ == pytest.approx(many.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(one.predict(X), many.predict(X), rtol=1e-4, atol=1e-4)


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
        (GPClassifier(class_weight={"yes": 0.0}), None, "positive"),
        (GPClassifier(class_weight="even"), None, "class_weight"),
    ],
)
def test_weights_that_cannot_be_are_refused(model, weights, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, LABELS, sample_weight=weights)


def test_fits_without_weights_have_rules_without():
    assert tilted.fit(X, np.where(LABELS == "yes", 1.0, -1.0), optimise=False).problem.rule.weights is None
