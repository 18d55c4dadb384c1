"""Classes in an order: thresholds learned, and what a scikit-learn user expects of the estimator."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import get_scorer

import tilted
from tilted import GPClassifier, GPOrdinalClassifier, likelihoods
from tilted.likelihoods.ordinal import Ordinal

RNG = np.random.default_rng(0)
X = RNG.uniform(-3.0, 3.0, (160, 2))
F = 2.0 * np.sin(X[:, 0]) + 0.5 * X[:, 1]
LEVELS = np.digitize(F + 0.5 * RNG.normal(size=160), [-1.0, 0.0, 1.2])
GRADES = np.array(["poor", "fair", "good", "best"])
TRAIN, TEST = slice(0, 80), slice(80, 160)


def log_loss(model, y):
    return -np.mean(model.predict_log_proba(X[TEST])[np.arange(80), y[TEST]])


@pytest.fixture(scope="module")
def fitted():
    return GPOrdinalClassifier().fit(X[TRAIN], LEVELS[TRAIN])


def test_an_order_that_is_known_pays(fitted):
    assert fitted.status_.converged
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0, rtol=1e-13)
    plain = GPClassifier().fit(X[TRAIN], LEVELS[TRAIN])
    assert log_loss(fitted, LEVELS) < log_loss(plain, LEVELS) - 0.03
    assert np.all(np.diff(fitted.thresholds_) > 1.0)


def test_thresholds_are_where_the_evidence_is_highest(fitted):
    at, fit = fitted.likelihood_.coordinates(), fitted.models_[0].fit

    def evidence(coordinates):
        likelihood = Ordinal().at(coordinates)
        return tilted.fit(
            X[TRAIN], LEVELS[TRAIN], likelihood, kernel=fitted.kernel_, optimise=False
        ).log_evidence

    assert evidence(at) == pytest.approx(fitted.log_evidence_, abs=1e-6)
    assert fit.status.evaluations > 1
    for e in 1e-2 * np.eye(3):
        assert abs(evidence(at + e) - evidence(at - e)) / 2e-2 < 2e-2
        assert max(evidence(at + 10 * e), evidence(at - 10 * e)) < fitted.log_evidence_


def test_categories_are_the_order_and_names_make_no_difference(fitted):
    y = GRADES[LEVELS]
    named = GPOrdinalClassifier(categories=GRADES).fit(X[TRAIN], y[TRAIN])
    assert named.categories_.tolist() == GRADES.tolist() and named.classes_.tolist() == sorted(GRADES)
    np.testing.assert_array_equal(named.predict_proba(X), fitted.predict_proba(X)[:, np.argsort(GRADES)])
    assert named.predict(X).tolist() == GRADES[fitted.predict(X)].tolist()
    with pytest.warns(UserWarning, match="order of the alphabet, best, fair, good, poor"):
        GPOrdinalClassifier(optimise=None).fit(X[:40], y[:40])
    for wrong in (GRADES[:3], [*GRADES, "best"], [GRADES]):
        with pytest.raises(ValueError, match="categories must have the classes of y"):
            GPOrdinalClassifier(categories=wrong).fit(X[:40], y[:40])
    with pytest.raises(ValueError, match="numbered before they came here"):
        GPOrdinalClassifier(categories=GRADES).fit(X[:40], LEVELS[:40])
    with pytest.raises(ValueError, match="numbered before they came here"):
        GPOrdinalClassifier(categories=[*GRADES, "better still"]).fit(X[:40], LEVELS[:40])


def test_a_category_without_rows_is_left_out():
    """Folds of cross-validation may lack a rare one: they failed, and their scores were NaN."""
    y = GRADES[LEVELS]
    order = ["worse", *GRADES, "better still"]
    found = GPOrdinalClassifier(categories=order, optimise=None).fit(X[TRAIN], y[TRAIN])
    expected = GPOrdinalClassifier(categories=GRADES, optimise=None).fit(X[TRAIN], y[TRAIN])
    assert found.categories_.tolist() == GRADES.tolist()
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("words", [True, False])
def test_an_ordered_categorical_says_its_order(fitted, words):
    """By the alphabet, or by their numbers, grades would be out of order."""
    kinds = GRADES if words else 10 * np.arange(len(GRADES), 0, -1)
    frame = pd.Series(pd.Categorical(kinds[LEVELS[TRAIN]], [*kinds, kinds[0] + kinds[0]], ordered=True))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = GPOrdinalClassifier().fit(X[TRAIN], frame)
    assert named.categories_.tolist() == kinds.tolist()
    np.testing.assert_array_equal(named.predict_proba(X), fitted.predict_proba(X)[:, np.argsort(kinds)])
    alone = GPOrdinalClassifier(optimise=None).fit(X[TRAIN], frame.to_frame("grade"))
    assert alone.categories_.tolist() == kinds.tolist()
    backwards = GPOrdinalClassifier(categories=kinds[::-1], optimise=None).fit(X[TRAIN], frame)
    assert backwards.categories_.tolist() == kinds[::-1].tolist()


def test_scores_of_scikit_learn_take_the_probabilities_for_those_of_their_classes(fitted):
    """They sort the labels: columns from the lowest class to the highest were taken for others."""
    y = GRADES[LEVELS]
    named = GPOrdinalClassifier(categories=GRADES).fit(X[TRAIN], y[TRAIN])
    for score in ("neg_log_loss", "roc_auc_ovr"):
        expected = get_scorer(score)(fitted, X, LEVELS)
        assert get_scorer(score)(named, X, y) == pytest.approx(expected, abs=1e-12)


def test_two_classes_are_the_probit_with_a_learned_level():
    y, kernel = LEVELS[TRAIN] > 0, tilted.SquaredExponential(3.0, 1.5)
    one = GPOrdinalClassifier(kernel=kernel, optimise=None).fit(X[TRAIN], y)
    (threshold,) = one.thresholds_
    other = GPClassifier(kernel=kernel, optimise=None, mean=-threshold).fit(X[TRAIN], y)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(one.predict_proba(X[TEST]), other.predict_proba(X[TEST]), atol=1e-9)


def test_categories_that_are_no_numbers_or_texts_are_told_apart_by_codes():
    """Intervals of `pd.cut`: texts of them would come in the order of the alphabet."""
    pd = pytest.importorskip("pandas")
    X = np.linspace(-2.0, 2.0, 12)[:, None]
    y = pd.cut(pd.Series(X[:, 0]), 3)
    with pytest.raises(ValueError, match=r"y\.cat\.codes .*, in their order"):
        GPOrdinalClassifier().fit(X, y)
    assert GPOrdinalClassifier(optimise=None).fit(X, y.cat.codes).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_the_front_door_takes_the_levels_that_there_are(levels):
    """It had thresholds -1 and 1 whatever y was: of two levels a model with a third, of five an error."""
    X = np.linspace(0, 5, 40)[:, None]
    y = np.minimum(X[:, 0] * levels / 5, levels - 1).astype(int)
    kernel = tilted.SquaredExponential(4.0, 1.5)
    found = tilted.fit(X, y, "ordinal", kernel=kernel, optimise=False)
    assert found.problem.likelihood == Ordinal.of_levels(y, 4.0)
    model = GPOrdinalClassifier(kernel=kernel, optimise=None).fit(X, y)
    assert found.log_evidence == pytest.approx(model.log_evidence_, abs=1e-6)
    as_text = tilted.fit(X, y.astype(str), "ordinal", kernel=kernel, optimise=False)
    assert as_text.log_evidence == found.log_evidence
    given = likelihoods.get("ordinal", thresholds=tuple(np.linspace(-1.0, 1.0, levels - 1)))
    assert tilted.fit(X, y, given, kernel=kernel, optimise=False).problem.likelihood == given


def test_grades_between_whole_numbers_are_to_be_numbered():
    X, y = np.linspace(0, 5, 40)[:, None], np.repeat([1.0, 1.5, 2.0, 2.5], 10)
    with pytest.raises(ValueError, match="Unknown label type.*return_inverse"):
        GPOrdinalClassifier().fit(X, y)


def test_levels_that_the_front_door_refuses():
    X = np.linspace(0, 5, 40)[:, None]
    for y, said in (
        (np.zeros(40), "at least two levels"),
        (np.ones(40), "at least two levels"),
        (np.full(40, 0.5), "whole numbers from 0"),
        (np.full(40, np.nan), "missing or infinite"),
        (np.zeros((40, 2)), "one-dimensional"),
        (np.arange(40) % 3 + 1, "no row has level 0: number"),
        (np.arange(40) % 2 * 2, "no row has level 1: number"),
    ):
        with pytest.raises(ValueError, match=said):
            tilted.fit(X, y, "ordinal")
    with pytest.raises(ValueError, match=r"from 0 to 2, got 3 at row 3; Ordinal.of_levels\(y\)"):
        tilted.fit(X, np.arange(40) % 5, Ordinal())
    with pytest.raises(ValueError, match=r"got -1 at row 0$"):
        tilted.fit(X, np.arange(40) % 5 - 1, Ordinal())
