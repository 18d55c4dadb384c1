"""What a person gives to an estimator by mistake: cells that are no numbers, texts for yes and no, lists."""

import re
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import tilted
from tilted import (
    GPClassifier,
    GPOrdinalClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
    api,
)
from tilted.kernels import SquaredExponential
from tilted.likelihoods.gaussian import GaussianNoise

X = np.random.default_rng(0).normal(size=(30, 2))
y = (X[:, 0] > 0).astype(int)
DAYS = pd.Series(pd.date_range("2020-01-01", periods=30))
CLASSIFIERS = [GPClassifier, GPOrdinalClassifier, SparseGPClassifier]
REGRESSORS = [GPRegressor, GPPoissonRegressor, SparseGPRegressor, SparseGPPoissonRegressor]
KINDS = [*CLASSIFIERS, *REGRESSORS]


@pytest.mark.parametrize("kind", KINDS)
def test_times_are_no_numbers(kind):
    """They would be so many nanoseconds or microseconds, by the version of pandas."""
    model, frame = kind(optimise=None), pd.DataFrame(X, columns=["load", "day"])
    for dated in (frame.assign(day=DAYS), pd.DataFrame({"day": DAYS, "due": DAYS}), DAYS.to_numpy()[:, None]):
        with pytest.raises(ValueError, match="X.* has times .datetime64.*give numbers"):
            model.fit(dated, y)
    with pytest.raises(ValueError, match="X, column 'day', has times .timedelta64"):
        model.fit(frame, y).predict(frame.assign(day=DAYS - DAYS[0]))
    with pytest.raises(ValueError, match="sample_weight has times"):
        model.fit(X, y, sample_weight=DAYS)
    if kind in REGRESSORS:
        with pytest.raises(ValueError, match="y has times"):
            model.fit(X, DAYS)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_that_are_alike_as_floats_are_refused(kind):
    """Keys of 18 digits: floats there are 16 apart."""
    keys = 10**17 + np.arange(30)
    model, frame = kind(optimise=None), pd.DataFrame({"load": X[:, 0], "key": keys})
    mixed = frame.assign(key=keys.astype(object))
    two = np.column_stack([keys, keys + 1])
    own = frame.assign(key=np.array([np.int64(key) for key in keys], dtype=object))
    frames = (frame, mixed, own)
    for given, where in (*((f, "X, column 'key',") for f in frames), (two, "X"), (two.tolist(), "X")):
        with pytest.raises(ValueError, match=f"^{where} has whole numbers that are alike as floats"):
            model.fit(given, y)
    with pytest.raises(ValueError, match="X must be numeric: it has whole numbers that are alike as floats"):
        tilted.fit(two, np.sign(X[:, 0]))
    model.fit(frame.assign(key=10**17 + 16 * np.arange(30)), y)  # as far apart as floats there
    if kind in REGRESSORS:
        with pytest.raises(ValueError, match="^y has whole numbers that are alike"):
            model.fit(X, keys)


@pytest.mark.parametrize("missing", [None, pd.NA, np.nan, pd.NaT])
@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_target_is_named_by_its_row(kind, missing):
    words = np.where(y > 0, "few", "many") if kind in CLASSIFIERS else y
    for given in (pd.Series(words, dtype=object), pd.Series(words, dtype=object).to_numpy()):
        lacking = given.copy()
        lacking[7] = missing
        with pytest.raises(ValueError, match="y has a missing value at row 7"):
            kind(optimise=None).fit(X, lacking)


def test_labels_that_are_objects_are_told_from_classes():
    """As of a column of a table that had words in others."""
    with pytest.raises(ValueError, match=r"label type: objects.*y\.astype\(int\)"):
        GPClassifier(optimise=None).fit(X, y.astype(object))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_of_numpys_variable_strings_are_labels(kind):
    """scikit-learn takes their type for none of NumPy's."""
    words = np.where(y > 0, "few", "many").astype(np.dtypes.StringDType())
    model = kind(optimise=None).fit(X, words)
    assert model.score(X, words) > 0.8
    lacking = words.astype(np.dtypes.StringDType(na_object=None))
    lacking[7] = None
    with pytest.raises(ValueError, match="y has a missing value at row 7"):
        kind(optimise=None).fit(X, lacking)


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_neither_yes_nor_no(kind):
    for value in ("no", "", 2, None, [True], np.array([1, 0])):
        with pytest.raises(ValueError, match="ard must be True or False, got"):
            kind(ard=value, optimise=None).fit(X, y)
    for flag in (True, 0, np.True_, np.int64(1)):
        kind(ard=flag, optimise=None).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [["ep"], {}, np.array(["ep", "vb"])])
@pytest.mark.parametrize("name", ["inference", "optimise", "priors"])
def test_a_list_of_names_is_no_name(kind, value, name):
    with pytest.raises(ValueError, match=f"unknown {name} .*known: "):
        kind(**{"optimise": None, name: value}).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_that_would_be_something_else_are_named(kind):
    for wrong, said in [
        ({"random_state": -1}, "random_state must be a seed"),
        ({"n_restarts": True}, "n_restarts must be a whole number of at least 0, got True"),
    ]:
        with pytest.raises(ValueError, match=said):
            kind(optimise="evidence", **wrong).fit(X, y)


def test_weights_of_classes_are_no_array():
    with pytest.raises(ValueError, match="unknown class_weight"):
        GPClassifier(optimise=None, class_weight=np.ones(2)).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_a_mean_of_a_narrow_type_is_the_same_number():
    at = [GPRegressor(optimise=None, mean=mean).fit(X, y).predict(X) for mean in (0.5, np.float32(0.5))]
    np.testing.assert_array_equal(*at)


@pytest.mark.parametrize("kind", [GPPoissonRegressor, SparseGPPoissonRegressor])
def test_counts_of_next_to_no_weight_are_predicted_as_the_others(kind):
    """Half a count that stands for none at all was divided by their weights: 1e8 calls where 2 were seen."""
    counts = np.random.default_rng(1).poisson(2.0, 30)
    for weight in (1e-3, 1e-10):
        model = kind(optimise=None).fit(X, counts, sample_weight=np.full(30, weight))
        assert np.all(model.predict(X) < 10.0)


def test_columns_in_another_order_are_refused_by_a_fit_too():
    """As by estimators; arrays have no names, and are taken as they are."""
    frame = pd.DataFrame(X, columns=["load", "age"])
    labels = 2 * y - 1
    fitted = tilted.fit(frame, labels, optimise=False)
    for predict in (fitted.predict_latent, lambda frame: fitted.log_predictive(frame, labels)):
        predict(frame)
        with pytest.raises(ValueError, match="X has columns age, load; in training it had load, age"):
            predict(frame[["age", "load"]])
        with pytest.raises(ValueError, match="X has columns load, weight"):
            predict(frame.rename(columns={"age": "weight"}))
    means, _ = fitted.predict_latent(frame)
    np.testing.assert_array_equal(fitted.predict_latent(X)[0], means)


@pytest.mark.parametrize("likelihood", ["gaussian", "student-t", "laplace"])
@pytest.mark.parametrize("unit", [1e-5, 1e5])
def test_units_of_targets_make_no_model_useless(likelihood, unit):
    x = np.linspace(0.0, 10.0, 40)[:, None]
    targets = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GPRegressor(likelihood=likelihood).fit(x, unit * targets)
    assert model.score(x, unit * targets) > 0.9


def test_cross_validation_ends_when_the_time_is_up(monkeypatch):
    """Once a kernel has a score; a slow inference at every kernel would go on for minutes."""
    tried, real = [], api.fit_problem

    def slow(*args, **how):
        tried.append(time.sleep(0.05))
        return real(*args, **how)

    monkeypatch.setattr(api, "fit_problem", slow)
    model = GPClassifier(optimise="cv", max_time=0.1)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert len(tried) <= 2 * model.cv + 1
    assert re.search(r"one of [12] kernels tried, .* \(the time was up for \d+ more\)", model.status_.message)


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_rows_or_has_records_is_named(kind):
    """NumPy's words for these were of types of its own."""
    X, y = np.arange(8.0)[:, None], np.array([0, 1] * 4)
    records, model = np.rec.fromarrays([X[:, 0], y], names="a,b"), kind(optimise=None)
    for rows in ({"a": X[:, 0]}, set(X[:, 0]), (row for row in X)):
        with pytest.raises(ValueError, match=f"X is a {type(rows).__name__}: give an array"):
            model.fit(rows, y)
    with pytest.raises(ValueError, match="X has records"):
        model.fit(records, y)
    with pytest.raises(ValueError, match="y has records"):
        model.fit(X, records)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        model.fit(X, np.array(1.0))
    with pytest.raises(ValueError, match="sample_weight is a dict"):
        model.fit(X, y, {"a": 1})


def test_targets_without_noise_have_joint_draws():
    """As of a computer's model; the covariance had lost its digits where the standard deviations had not."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2.0, 2.0, (30, 2)), rng.uniform(-2.0, 2.0, (20, 2))
    kernel = SquaredExponential(1800.0, 3.8)
    model = GPRegressor(kernel=kernel, optimise=None, likelihood=GaussianNoise(1e-6)).fit(X, np.exp(X[:, 0]))
    std = model.predict_latent(new, return_std=True)[1]
    covariance = model.predict_latent(new, return_cov=True)[1]
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance)), std, rtol=1e-3)
    draws = model.sample_latent(new, 2000)
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)


def test_variances_that_rounding_took_leave_the_means():
    """The refusal says what can be had."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (30, 2))
    model = GPRegressor(kernel=SquaredExponential(4e3, 115.0), optimise=None, likelihood=GaussianNoise(1e-11))
    model.fit(X, X[:, 0])
    with pytest.raises(ArithmeticError, match=r"no noise, .* \(means can be had alone\)"):
        model.predict(X, return_std=True)
    np.testing.assert_allclose(model.predict(X), X[:, 0], atol=1e-4)


HOWS: list[dict[str, str]] = [{}, {"inference": "vb"}, {"mean": "constant"}, {"optimise": "ep-evidence"}]


@pytest.mark.parametrize("how", HOWS, ids=str)
def test_a_fit_of_targets_without_noise_has_standard_deviations(how):
    """The search had taken the noise to where rounding takes the variances."""
    X, new = np.linspace(0.0, 5.0, 30)[:, None], np.linspace(-1.0, 6.0, 57)[:, None]
    with pytest.warns(UserWarning, match="the noise ended at its lower bound"):
        model = GPRegressor(**how).fit(X, np.sin(X[:, 0]))
    assert model.status_.converged and model.status_.message.count("the noise ended at its lower bound") == 1
    for points in (X, new):
        mean, std = model.predict(points, return_std=True)
        assert np.all(np.abs(mean - np.sin(points[:, 0])) < 4.0 * std + 1e-5)
    assert np.max(model.predict(X, return_std=True)[1]) < 1e-4


@pytest.mark.parametrize("rows", [12, 400])
def test_a_fit_of_repeated_targets_without_noise_has_standard_deviations(rows):
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 5.0, (rows, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = GPRegressor().fit(X, np.cos(X[:, 0]), np.full(rows, 30.0))
    assert np.all(model.predict(np.linspace(-1.0, 6.0, 99)[:, None], return_std=True)[1] > 0)


@pytest.mark.parametrize("kind", [SparseGPRegressor, SparseGPPoissonRegressor])
@pytest.mark.parametrize("unit", [1e-9, 1e5])
def test_units_of_inputs_make_no_other_sparse_model(kind, unit):
    """Pseudo-inputs were searched in the units of the inputs, where small ones ended beside the start."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=120)
    y = f if kind is SparseGPRegressor else rng.poisson(np.exp(0.5 * f))
    one, other = (
        kind(n_pseudo=12, ard=kind is SparseGPRegressor, move_pseudo_inputs=True).fit(X * scale, y)
        for scale in (1.0, np.array([unit, 1.0 if kind is SparseGPRegressor else unit]))
    )
    assert other.status_.converged
    assert other.log_evidence_ == pytest.approx(one.log_evidence_, abs=0.02)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("variance", [300.0, 1e5])
def test_expectations_beyond_numbers_are_said_to_be(variance):
    """One spike among zeros: f goes to minus hundreds with a spread of hundreds, E[e^f] has no meaning.

    At given kernels: where a search ends, VB's above all, is another on other machines.
    """
    X, y = np.linspace(0.0, 5.0, 30)[:, None], np.zeros(30)
    y[10] = 1000.0
    kernel = SquaredExponential(variance, 0.4)
    model = GPPoissonRegressor(likelihood="poisson-exp", kernel=kernel, optimise=None).fit(X, y)
    with pytest.warns(UserWarning, match=r"beyond 9e\+15 in \d+ of 30 rows: the data say so little of f"):
        model.predict(X, return_std=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X[[10]], return_std=True)


@pytest.mark.parametrize("kind", [GPPoissonRegressor, SparseGPPoissonRegressor])
def test_counts_that_are_all_0_tell_nothing_of_their_dispersion(kind):
    """It was learned to be 1e12: the likelihood of zeros rises with it for ever."""
    with pytest.warns(UserWarning, match="every count is 0, the likelier the larger the dispersion"):
        model = kind(likelihood="negative-binomial").fit(X, np.zeros(len(X)))
    assert model.likelihood_.dispersion == 0.5
    assert np.max(model.predict(X, return_std=True)[1]) < 1.0
