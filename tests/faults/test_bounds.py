"""Bounds that are kept, and targets, names and numbers of kinds that a person's table has."""

import time

import numpy as np
import pandas as pd
import pytest

import tilted
from tilted import GPClassifier, GPPoissonRegressor, GPRegressor, SparseGPClassifier, SparseGPRegressor
from tilted.estimators import GPOrdinalClassifier
from tilted.gaussian import Marginals, Sites
from tilted.inference import rep
from tilted.inference.options import Options
from tilted.inference.relaxations import Relaxation, relaxations
from tilted.kernels import SquaredExponential
from tilted.learning.starts import best_of, promising
from tilted.likelihoods import probit, student_t
from tilted.posteriors.dense import Dense

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
y = (X[:, 0] > 0).astype(int)
CLASSIFIERS = [GPClassifier, GPOrdinalClassifier, SparseGPClassifier]


def test_one_update_of_relaxed_ep_ends_in_time():
    """The search of relaxations took seconds for some hundred sites, whatever the limit."""
    n, noise = 1500, student_t.StudentT(1.0)
    state = Marginals(rng.normal(size=n), np.full(n, 0.5), np.zeros(n))
    sites, targets = Sites(np.full(n, 0.3), np.zeros(n)), rng.normal(size=n)
    began = time.monotonic()
    found = relaxations(state, sites, noise, targets, Relaxation(0.1), began + 0.2)
    assert time.monotonic() - began < 2.0
    assert np.isnan(found[-1])
    some = slice(0, 30)
    parts = Marginals(state.mean[some], state.variance[some], state.extra[some])
    whole = relaxations(parts, Sites(sites.tau[some], sites.nu[some]), noise, targets[some], Relaxation(0.1))
    assert np.all(np.isfinite(whole))
    np.testing.assert_array_equal(whole[:20], found[:20])


def test_relaxed_ep_that_is_late_is_not_converged():
    posterior, labels = Dense.build(SquaredExponential(1.0, 1.0).matrix(X)), 2.0 * y - 1.0
    found = rep.infer(posterior, probit.Probit(), labels, Relaxation(0.1), Options(deadline=time.monotonic()))
    assert not found.status.converged
    assert "when the time was up" in found.status.message
    assert np.all(np.isnan(found.b)) and not found.frozen
    assert found.status.skipped == len(labels)


def test_what_a_search_starts_from_is_looked_for_in_time():
    kernel = SquaredExponential(1.0, 1.0)
    model = probit.Probit(), 0.0, kernel, None
    assert promising(X, 2.0 * y - 1.0, *model, time.monotonic()) == [kernel]
    assert promising(X, 2.0 * y - 1.0, *model) != [kernel]


@pytest.mark.parametrize("kind", [GPClassifier, SparseGPClassifier, SparseGPRegressor])
def test_a_billion_restarts_are_refused(kind):
    """They filled the memory before the first of them."""
    with pytest.raises(ValueError, match="n_restarts must be a whole number of at most 10,000"):
        kind(n_restarts=10**9).fit(X, y)
    with pytest.raises(ValueError, match="n_restarts must be a whole number of at most 10,000"):
        tilted.fit(X, 2.0 * y - 1.0, n_restarts=10**9)


def test_of_many_starts_one_model_is_kept():
    alive = []

    class Found:
        kernel = SquaredExponential(1.0, 1.0)

        def __init__(self, standing):
            self.standing = standing
            alive.append(1)

        def __del__(self):
            alive.pop()

    most = []

    def search(start):
        most.append(len(alive))
        return Found(start)

    best_of(search, [3.0, 1.0, 2.0, 0.0, 5.0])
    assert max(most) <= 2


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("type_", ["boolean", "Int64", "UInt8", "category", "bool"])
def test_classes_are_of_the_kind_that_was_given(kind, type_):
    """scikit-learn takes pandas' nullable labels for floats."""
    given = pd.Series(y == 1) if type_ in ("boolean", "bool", "category") else pd.Series(y)
    labels = given.astype(type_)
    plain = {"Int64": np.int64, "UInt8": np.uint8}.get(type_, np.bool_)
    for targets in (labels, labels.array, labels.to_frame()):
        model = kind(optimise=None).fit(X, targets)
        assert model.classes_.dtype == model.predict(X).dtype == plain
        assert model.score(X, labels) > 0.9


@pytest.mark.parametrize("kind", [*CLASSIFIERS, GPRegressor, GPPoissonRegressor])
@pytest.mark.parametrize("type_", ["boolean", "Int64", "Float64", "category", "string"])
def test_a_missing_target_of_pandas_is_named_by_its_row(kind, type_):
    text = pd.Series(y).astype("Int64").astype("string")
    given = text if type_ == "string" else pd.Series(y).astype("Int64").astype(type_)
    lacking = given.mask(given.index == 7)
    for targets in (lacking, lacking.array, lacking.to_frame()):
        with pytest.raises(ValueError, match="y has a missing value at row 7"):
            kind(optimise=None).fit(X, targets)


def test_two_columns_of_one_name_are_refused():
    frame = pd.DataFrame(X, columns=["a", "a"])
    with pytest.raises(ValueError, match="X has two columns of the name 'a'"):
        GPRegressor(optimise=None).fit(frame, y)
    with pytest.raises(ValueError, match="X has two columns of the name 'a'"):
        tilted.fit(frame, 2.0 * y - 1.0, optimise=False)


def test_whole_numbers_that_no_float_holds_are_refused():
    huge = [10**400] * 30
    with pytest.raises(ValueError, match="too large"):
        GPRegressor(optimise=None).fit(X, huge)
    with pytest.raises(ValueError, match="too large"):
        GPRegressor(optimise=None).fit(X, y).predict([[10**400, 1]])
    with pytest.raises(ValueError, match="y must be numeric: int too large"):
        tilted.fit(X, huge, "gaussian", optimise=False)


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one():
    labels = 2.0 * y - 1.0
    with pytest.raises(ValueError, match="'power-ep'; did you mean 'ep'"):
        tilted.fit(X, labels, inference="EP")
    with pytest.raises(ValueError, match="did you mean 'power-ep'"):
        tilted.fit(X, labels, inference="power_ep")
    with pytest.raises(ValueError, match="did you mean 'power-ep'"):
        tilted.fit(X, labels, inference="pep")
    with pytest.raises(ValueError, match="unknown optimise .*did you mean 'evidence'"):
        tilted.fit(X, labels, optimise="evidnce")
    with pytest.raises(ValueError, match="did you mean 'probit'"):
        tilted.fit(X, labels, "Probit")
    with pytest.raises(ValueError, match="did you mean 'ep'"):
        GPClassifier("EP").fit(X, y)


@pytest.mark.parametrize("name", ["ard", "learn_likelihood"])
def test_the_front_door_takes_no_text_for_yes(name):
    with pytest.raises(ValueError, match=f"{name} must be True or False"):
        tilted.fit(X, 2.0 * y - 1.0, **{name: "no"})


def test_a_projection_is_quantile_propagations_alone():
    """Power EP took it and went on without."""
    with pytest.raises(ValueError, match="only 'qp' takes a projection"):
        tilted.fit(X, 2.0 * y - 1.0, inference="power-ep", projection=object())


def test_a_text_is_neither_yes_nor_no_of_a_prediction():
    model = GPRegressor(optimise=None).fit(X, y)
    for call in (model.predict, model.predict_latent):
        with pytest.raises(ValueError, match="return_std must be True or False, got 'no'"):
            call(X, return_std="no")
    with pytest.raises(ValueError, match="eval_gradient must be True or False"):
        model.log_marginal_likelihood(model.theta_, "no")
    with pytest.raises(ValueError, match="theta must be numeric: complex"):
        model.log_marginal_likelihood(model.theta_ + 1j)


def test_weights_that_no_float_holds_are_refused():
    with pytest.raises(ValueError, match="sample_weight has a number that is too large"):
        GPRegressor(optimise=None).fit(X, y, sample_weight=[10**400] * 30)
