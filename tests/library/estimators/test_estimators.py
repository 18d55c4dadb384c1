"""The scikit-learn estimators: scikit-learn's own checks, and equality with what they are made of."""

import doctest
import importlib
import io
import pickle
import warnings
from dataclasses import dataclass

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_estimator,
    estimator_checks_generator,
    parametrize_with_checks,
)

import tilted
from tests.helpers import differences
from tilted.estimators import (
    GPClassifier,
    GPOrdinalClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
    dense,
    regressors,
)
from tilted.estimators.diagnostics import reach
from tilted.inference import RULES, rep
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.relaxations import Relaxation
from tilted.kernels import Constant, Linear, Matern, Restricted, SquaredExponential, White
from tilted.learning import mean as means
from tilted.learning.dense import Problem
from tilted.learning.priors import LogNormal
from tilted.learning.search import Search
from tilted.learning.starts import best_of, with_notes
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.step import NoisyStep
from tilted.numerics import chunks
from tilted.posteriors.dense import Dense

KERNEL = SquaredExponential(2.0, 1.3)
QUICK = Search(max_iterations=60, relative_tolerance=1e-5, gradient_tolerance=1e-3)
SHORT = Search(max_iterations=25, relative_tolerance=1e-4, gradient_tolerance=1e-2)
CHECKED = [  # dense labels, dense counts, and a sparse model that searches; the others in the long run
    GPClassifier(optimise=None),
    GPPoissonRegressor(optimise=None),
    SparseGPRegressor(n_pseudo=6, search=SHORT),
]
CHECKED_SLOWLY = [
    *(of() for of in (GPClassifier, GPPoissonRegressor, SparseGPClassifier, SparseGPRegressor)),
    *(of(correction="cheap", optimise=None) for of in (GPClassifier, GPPoissonRegressor)),
    SparseGPPoissonRegressor(n_pseudo=20),  # the checks' targets are real: other links refuse them
    *(GPClassifier(multi_class=kind) for kind in ("joint", "joint-kernels")),
    GPOrdinalClassifier(),
    SparseGPRegressor(n_pseudo=6),
    *(GPRegressor(likelihood=likelihood) for likelihood in ("gaussian", "laplace", "student-t")),
    *(GPClassifier(inference) for inference in ("vb", "power-ep")),
    *(GPPoissonRegressor(inference) for inference in ("vb", "power-ep")),
    *(
        of(inference, optimise=None)
        for of in (GPClassifier, GPPoissonRegressor)
        for inference in ("qp", "rep")
    ),
    *(SparseGPClassifier(inference, n_pseudo=4, optimise=None) for inference in ("power-ep", "vb")),
    *(SparseGPRegressor(inference, n_pseudo=6) for inference in ("ep", "vb")),
    GPClassifier(mean="constant"),
    GPPoissonRegressor(mean="constant"),
    SparseGPClassifier("ep", n_pseudo=4, search=SHORT, mean="constant"),
    SparseGPRegressor(n_pseudo=6, mean="constant"),
]
FIXED = {  # every kind of model at given hyperparameters
    "ep": GPClassifier("ep", kernel=KERNEL, optimise=None),
    "qp": GPClassifier("qp", kernel=KERNEL, optimise=None),
    "vb": GPClassifier("vb", kernel=KERNEL, optimise=None),
    "power-ep": GPClassifier("power-ep", kernel=KERNEL, optimise=None, power=0.7),
    "noisy-step": GPClassifier(likelihood="noisy-step", kernel=KERNEL, optimise=None),
    "ard": GPClassifier(kernel=KERNEL, ard=True, optimise=None),
    "sparse": SparseGPClassifier(kernel=KERNEL, n_pseudo=6, optimise=None),
    "sparse-vb": SparseGPClassifier("vb", kernel=KERNEL, n_pseudo=6, optimise=None),
    "counts": GPPoissonRegressor(kernel=KERNEL, optimise=None),
    "counts-power": GPPoissonRegressor("power-ep", kernel=KERNEL, optimise=None),
    "counts-sparse": SparseGPPoissonRegressor(kernel=KERNEL, n_pseudo=6, optimise=None),
    "counts-sparse-vb": SparseGPPoissonRegressor(
        "vb", likelihood="negative-binomial", kernel=KERNEL, n_pseudo=6, optimise=None
    ),
    "regression": SparseGPRegressor(kernel=KERNEL, noise=0.2, n_pseudo=6, optimise=None),
    "regression-vb": SparseGPRegressor("vb", kernel=KERNEL, noise=0.2, n_pseudo=6, optimise=None),
    "mean": GPClassifier(kernel=KERNEL, optimise=None, mean="constant"),
    "counts-mean": GPPoissonRegressor("vb", kernel=KERNEL, optimise=None, mean="constant"),
    "regression-mean": SparseGPRegressor(
        kernel=KERNEL, noise=0.2, n_pseudo=6, optimise=None, mean="constant"
    ),
}


REFUSED = {"rep": ("sample_weight", "class_weight"), "qp": ("class_weight",), "joint": ("class_weight",)}
REFUSED["corrected"] = REFUSED["rep"]
"""Kind of model -> words in the names of checks whose weights it refuses."""


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y has values")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "kind", sorted({type(model) for model in CHECKED_SLOWLY}, key=lambda kind: kind.__name__)
)
def test_every_name_may_be_asked_for(kind):
    """`dir`, as a notebook's completion calls it, raised for sparse estimators."""
    model = kind()
    asked = {name: hasattr(model, name) for name in dir(kind)}
    assert asked["fit"] and not asked.get("pseudo_inputs_") and set(dir(model)) >= {"fit", "predict"}


@pytest.mark.slow
@pytest.mark.parametrize("model", CHECKED_SLOWLY)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y has values")
def test_scikit_learns_own_checks_of_every_inference(model):
    """One test a model: a test a check would be a thousand to collect each time."""
    names = [check.func.__name__ for _, check in estimator_checks_generator(model)]
    several = getattr(model, "multi_class", "").startswith("joint")
    kind = "joint" if several else getattr(model, "inference", "")
    kind = "corrected" if getattr(model, "correction", None) else kind
    refused = [name for name in names if any(word in name for word in REFUSED.get(kind, ()))]
    check_estimator(model, expected_failed_checks=dict.fromkeys(refused, "weights"), on_skip=None)


@pytest.fixture
def data(toy, counts):
    """Inputs and targets for a model of `FIXED` by its name."""

    def of(name):
        return counts if name.startswith(("counts", "regression")) else toy

    return of


@pytest.mark.parametrize(
    ("inference", "likelihood"), [("ep", "probit"), ("ep", "noisy-step"), ("qp", "probit"), ("vb", "logit")]
)
def test_is_what_fit_is(inference, likelihood, toy):
    X, y = toy
    optimise = inference == "ep"
    fit = tilted.fit(X, y, likelihood, inference, KERNEL, optimise=optimise, search=Search(rounds=2))
    model = GPClassifier(
        inference,
        likelihood=likelihood,
        kernel=KERNEL,
        optimise="evidence" if optimise else None,
        search=Search(rounds=2),
    ).fit(X, np.where(y > 0, "yes", "no"))
    assert model.kernel_ == fit.kernel
    assert model.log_evidence_ == fit.log_evidence == model.log_marginal_likelihood()
    assert model.status_ == fit.status
    mean, variance = fit.predict_latent(X)
    np.testing.assert_array_equal(model.predict_latent(X, return_std=True), (mean, np.sqrt(variance)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.exp(fit.log_predictive(X, np.ones(30))))
    np.testing.assert_array_equal(model.predict(X), np.where(mean > 0, "yes", "no"))


def test_counts_are_what_fit_is(counts):
    X, y = counts
    model = GPPoissonRegressor(mean=1.0, kernel=KERNEL, search=Search()).fit(X, y)
    fit = tilted.fit(X, y, "poisson-square", "ep", KERNEL, mean=1.0, search=Search())
    assert model.kernel_ == fit.kernel and model.log_evidence_ == fit.log_evidence
    np.testing.assert_array_equal(model.log_predictive(X, y), fit.log_predictive(X, y))


def test_expected_counts_are_sums_over_the_predictive_distribution(counts):
    X, y = counts
    model = FIXED["counts"].fit(X, y)
    k = np.arange(120.0)
    for x, expected in zip(X[::8], model.predict(X[::8]), strict=True):
        log_p = model.log_predictive(np.tile(x, (len(k), 1)), k)
        np.testing.assert_allclose(np.exp(log_p) @ k, expected, rtol=1e-9)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(X))
    log_p = model.log_predictive(np.tile(X[3], (len(k), 1)), k)
    np.testing.assert_allclose(np.exp(log_p) @ (k - mean[3]) ** 2, std[3] ** 2, rtol=1e-9)


def test_sparse_regression_with_every_input_is_scikit_learns(counts):
    X, y = counts
    theirs = GaussianProcessRegressor(
        ConstantKernel(2.0) * RBF(1.3) + WhiteKernel(0.2), optimizer=None, alpha=0.0
    ).fit(X, y - y.mean())
    ours = SparseGPRegressor(
        "ep", kernel=KERNEL, noise=0.2, optimise=None, pseudo_inputs=X, jitter=1e-10
    ).fit(X, y)
    new = np.linspace(-0.5, 5.5, 7)[:, None]
    mean, std = theirs.predict(new, return_std=True)
    np.testing.assert_allclose(ours.predict(new, return_std=True), (mean + y.mean(), std), atol=1e-5)
    theta = np.log([1.5, 1.1, 0.3])
    value, gradient = theirs.log_marginal_likelihood(theta, eval_gradient=True)
    found = ours.log_marginal_likelihood(theta, eval_gradient=True)
    np.testing.assert_allclose(found[0], value, atol=1e-5)
    np.testing.assert_allclose(found[1], gradient, atol=1e-4)


@pytest.mark.parametrize("name", FIXED)
def test_gradients_are_finite_differences(name, data):
    X, y = (part[::2] for part in data(name))
    model = clone(FIXED[name]).fit(X, y)
    theta = model.theta_ + 0.1
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood(theta), abs=1e-9)
    numeric = differences(model.log_marginal_likelihood, theta, 1e-4)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6)
    assert np.max(np.abs(gradient)) > 1e-2


@pytest.mark.parametrize("name", FIXED)
def test_covariances_belong_to_the_standard_deviations(name, data):
    X, y = data(name)
    model = clone(FIXED[name]).fit(X, y)
    new = X[:6] + 0.1
    mean, std = model.predict_latent(new, return_std=True)
    same, covariance = model.predict_latent(new, return_cov=True)
    np.testing.assert_allclose(same, mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.sqrt(np.diagonal(covariance)), std, rtol=1e-8)
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-10)
    np.testing.assert_allclose(model.predict_latent(new), mean, rtol=1e-12, atol=1e-14)  # without variances


@pytest.fixture(scope="module")
def wine():
    """Every third of the wines, and the others: standardised inputs, names of three classes."""
    X, y = load_wine(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), np.array(["a", "b", "c"])[y]
    test = np.arange(len(y)) % 3 > 0
    return X[~test], y[~test], X[test], y[test]


@pytest.mark.parametrize("of", [GPClassifier, SparseGPClassifier])
def test_three_classes_are_one_against_the_rest(of, wine):
    X, y, Xs, ys = wine
    kernel = SquaredExponential(4.0, 5.0)
    sparse = {} if of is GPClassifier else {"pseudo_inputs": X[::4]}
    model = of("ep", kernel=kernel, optimise=None, **sparse).fit(X, y)
    assert model.score(Xs, ys) > 0.93
    each = [of("ep", kernel=kernel, optimise=None, **sparse).fit(X, y == name) for name in "abc"]
    one = np.stack([binary.predict_proba(Xs)[:, 1] for binary in each], axis=1)
    found = model.predict_proba(Xs)
    np.testing.assert_allclose(found, one / one.sum(axis=1, keepdims=True), rtol=1e-10)
    np.testing.assert_allclose(model.predict_log_proba(Xs), np.log(found))
    assert model.log_evidence_ == pytest.approx(np.mean([binary.log_evidence_ for binary in each]))
    means, covariance = model.predict_latent(Xs[:4], return_cov=True)
    assert means.shape == (4, 3) and covariance.shape == (4, 4, 3)
    np.testing.assert_allclose(means[:, 2], each[2].predict_latent(Xs[:4]))
    assert len(model.kernel_) == len(model.status_) == len(model.models_) == 3


def test_evidence_of_three_classes(wine):
    X, y, _, _ = wine
    model = GPClassifier(kernel=SquaredExponential(4.0, 5.0), optimise=None).fit(X, y)
    at = np.arange(6) / 10.0
    value, gradient = model.log_marginal_likelihood(at, eval_gradient=True)
    numeric = differences(model.log_marginal_likelihood, at, 1e-4)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-7)
    with pytest.raises(ValueError, match="must have 2 or 6 entries, got shape \\(3,\\)"):
        model.log_marginal_likelihood(np.zeros(3))
    together, shared = model.log_marginal_likelihood(np.zeros(2), eval_gradient=True)
    apart, split = model.log_marginal_likelihood(np.zeros(6), eval_gradient=True)
    assert together == apart != value
    np.testing.assert_allclose(shared, split.reshape(3, 2).sum(axis=0))


@pytest.mark.parametrize(
    "likelihood",
    [NoisyStep(0.2), pytest.param(Probit(), marks=pytest.mark.slow)],
    ids=lambda found: found.name,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_relaxed_ep_is_its_own(likelihood, toy):
    X, y = (part[::3] for part in toy)
    kernel = SquaredExponential(50.0, 2.0)
    model = GPClassifier("rep", likelihood=likelihood, kernel=kernel, optimise=None, penalty=1e-3)
    model.fit(X, y)
    found = rep.infer(Dense.build(kernel.matrix(X)), likelihood, y, Relaxation(1e-3))
    np.testing.assert_allclose(model.predict_latent(X), found.state.marginals.mean, atol=1e-9)
    assert model.log_evidence_ is None and np.any(found.b > 0)
    for arguments in ((), (model.theta_,)):
        with pytest.raises(ValueError, match="no evidence"):
            model.log_marginal_likelihood(*arguments)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_kernel_by_cross_validation(toy):
    X, y = toy
    start = SquaredExponential(1.0, 40.0)  # too long: every candidate is, the shortest is best
    chosen = GPClassifier(kernel=start, optimise="cv").fit(X, y)
    assert chosen.kernel_ == SquaredExponential(10.0, 10.0)
    assert "one of 10 kernels tried, by 3-fold cross-validation" in chosen.status_.message
    assert "its lengthscales are at the edge of the grid" in chosen.status_.message
    inside = GPClassifier(kernel=chosen.kernel_.with_parameters([1.0, 1.0]), optimise="cv").fit(X, y)
    assert inside.kernel_.lengthscale in (0.5, 1.0, 2.0) and "edge" not in inside.status_.message
    relaxed = GPClassifier("rep", likelihood="noisy-step", optimise="cv", cv=2).fit(X[:16], y[:16])
    assert relaxed.score(X, y) > 0.7 and "cross-validation" in relaxed.status_.message
    with pytest.raises(ValueError, match="at least 2 members of every class"):
        GPClassifier(optimise="cv").fit(X, np.arange(30) == 3)


ERRORS = [
    ({"inference": "laplace"}, "unknown inference 'laplace'; known: 'ep', 'qp', 'vb', 'power-ep', 'rep'"),
    ({"inference": SquaredExponential(1.0, 1.0)}, "a kernel goes by its name, kernel=Squared"),
    ({"inference": RBF()}, "a kernel goes by its name, kernel=RBF"),
    ({"likelihood": "cloglog"}, "unknown likelihood 'cloglog'; known: 'probit', 'logit', 'noisy-step'"),
    ({"likelihood": PoissonSquare()}, "labels -1 and \\+1"),
    ({"optimise": 1}, "unknown optimise 1; known: 'evidence', 'ep-evidence', .*, 'cv', None"),
    ({"kernel": SquaredExponential}, "kernel must be a kernel"),
    ({"search": "softplus"}, "search must be a tilted.learning.search.Search"),
    ({"options": 3}, "options must be a tilted.inference.options.Options"),
    ({"n_restarts": -1}, "n_restarts must be a whole number"),
    ({"inference": "power-ep", "power": 1.5}, "power must lie in \\[1e-06, 1\\], got 1.5"),
    ({"mean": "linear"}, "unknown mean 'linear'; known: 'constant'"),
    ({"inference": "rep", "mean": "constant", "optimise": None}, "no evidence to learn a mean by"),
    ({"inference": "power-ep", "projection": Probit()}, "takes a projection, not 'power-ep'"),
    ({"cv": 1, "optimise": "cv"}, "cv must be a whole number of at least 2"),
    ({"random_state": "one"}, "random_state must be a seed or a generator, got 'one'"),
    ({"inference": "rep", "penalty": -1.0, "optimise": None}, "penalty must be"),
]


@pytest.mark.parametrize("settings, message", ERRORS, ids=lambda value: str(value)[:30])
def test_wrong_settings_are_named(settings, message, toy):
    with pytest.raises(ValueError, match=message):
        GPClassifier(**settings).fit(*toy)


SPARSE_ERRORS = [
    ({"inference": "qp"}, "unknown inference 'qp'; known: 'power-ep', 'ep', 'vb'"),
    ({"optimise": "cv"}, "unknown optimise 'cv'; known: 'evidence', None"),
    ({"power": 0.0}, "0 is inference='vb'"),
    ({"n_pseudo": 0}, "n_pseudo must be"),
    ({"pseudo_inputs": np.zeros((3, 5))}, "pseudo_inputs must be a matrix \\[M, 2\\]"),
    ({"search": Search}, "search must be a tilted.learning.search.Search"),
    ({"jitter": -1.0}, "jitter must be"),
    ({"pseudo_inputs": "few"}, "pseudo_inputs must be numeric"),
]


@pytest.mark.parametrize("of", [SparseGPClassifier, SparseGPRegressor])
@pytest.mark.parametrize("settings, message", SPARSE_ERRORS, ids=lambda value: str(value)[:30])
def test_wrong_sparse_settings_are_named(of, settings, message, toy):
    with pytest.raises(ValueError, match=message):
        of(**settings).fit(*toy)


def test_wrong_data_are_named(toy, counts):
    X, y = toy
    with pytest.raises(ValueError, match="NaN"):
        GPClassifier().fit(np.where(np.arange(30)[:, None] == 3, np.nan, X), y)
    with pytest.raises(ValueError, match="only one class, x"):
        GPClassifier().fit(X, np.full(30, "x"))
    with pytest.raises(ValueError, match="Unknown label type"):
        SparseGPClassifier().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="numbers from 0 to 100000, got -1 at row 2"):
        GPPoissonRegressor().fit(counts[0], np.where(np.arange(25) == 2, -1.0, counts[1]))
    with pytest.raises(NotFittedError):
        GPClassifier().predict_latent(X)
    model = clone(FIXED["ep"]).fit(X, y)
    with pytest.raises(ValueError, match="exclude each other"):
        model.predict_latent(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="must have 2 entries, got shape \\(3,\\)"):
        model.log_marginal_likelihood(np.zeros(3))
    with pytest.raises(ValueError, match="theta that is given"):
        model.log_marginal_likelihood(eval_gradient=True)


UNCONVERGED = [
    GPClassifier("qp", kernel=KERNEL, optimise=None, options=Options(max_sweeps=1, newton=False)),
    GPClassifier(search=Search(max_iterations=1)),
    SparseGPRegressor(n_pseudo=4, search=Search(max_iterations=2)),
]


@pytest.mark.parametrize("model", UNCONVERGED, ids=str)
def test_what_has_not_converged_warns(model, toy, counts):
    X, y = toy if hasattr(model, "predict_proba") else counts
    with pytest.warns(ConvergenceWarning) as found:
        model.fit(X, y)
    assert model.status_.message in str(found[0].message) and not model.status_.converged
    assert found[0].filename == __file__  # whoever called fit


def test_a_warning_names_the_class(wine):
    X, y, _, _ = wine
    with pytest.warns(ConvergenceWarning) as found:
        GPClassifier(search=Search(max_iterations=1)).fit(X[:20], np.resize(["a", "b", "c"], 20))
    unconverged = [str(one.message) for one in found if one.category is ConvergenceWarning]
    assert [text.split(":")[0] for text in unconverged] == [f"class {c} against the rest" for c in "abc"]


@pytest.mark.parametrize("name", ["ep", "sparse", "counts", "regression"])
def test_frames_pickles_and_clones(name, data):
    X, y = data(name)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])], index=np.arange(len(X)) + 7)
    model = clone(FIXED[name]).fit(frame, pd.Series(y, index=frame.index))
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    assert model.n_features_in_ == X.shape[1]
    expected = clone(FIXED[name]).fit(X, y).predict(X)
    np.testing.assert_array_equal(model.predict(frame), expected)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"x0": "z"}))
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(stream)):
        np.testing.assert_array_equal(copy.predict(frame), expected)
        assert copy.log_marginal_likelihood(copy.theta_) == model.log_marginal_likelihood(model.theta_)
    assert not hasattr(clone(model), "models_") and clone(model).kernel == KERNEL


def test_predictions_come_in_chunks(toy, counts, monkeypatch):
    models = [clone(FIXED[name]) for name in ("ep", "sparse", "regression")]
    parts = [toy, toy, counts]
    whole = [
        model.fit(*part).predict_latent(part[0], True) for model, part in zip(models, parts, strict=True)
    ]
    seen = []
    monkeypatch.setattr(chunks, "CHUNK", 7)
    original = SquaredExponential.diagonal
    monkeypatch.setattr(
        SquaredExponential, "diagonal", lambda self, X: (seen.append(len(X)), original(self, X))[1]
    )
    for model, part, expected in zip(models, parts, whole, strict=True):
        np.testing.assert_allclose(model.predict_latent(part[0], True), expected, atol=1e-12)
        np.testing.assert_allclose(model.predict_latent(part[0]), expected[0], atol=1e-12)
    assert max(seen) <= 7 and sum(seen) == 30 + 30 + 25


@pytest.mark.parametrize("inference", ["ep", "vb", "power-ep", pytest.param("qp", marks=pytest.mark.slow)])
def test_a_learned_mean_is_that_of_the_search_over_means(inference, uneven):
    X, y = uneven
    power = {"power": 0.7} if inference == "power-ep" else {}
    model = GPClassifier(inference, kernel=KERNEL, mean="constant", **power).fit(X, y)
    rule = power_rule(0.7) if inference == "power-ep" else RULES[inference]
    problem = Problem(X, y, Probit(), rule)
    found = means.maximise(problem, KERNEL, dense.SEARCH)
    assert model.mean_ == found.mean != 0.0 and model.kernel_ == found.kernel
    assert (
        model.status_ == with_notes(found.status, "") and model.log_evidence_ == found.inference.log_evidence
    )
    given = GPClassifier(inference, kernel=model.kernel_, mean=model.mean_, optimise=None, **power)
    given.fit(X, y)
    assert given.mean_ == model.mean_
    new = np.vstack([X[:5] + 0.2, [[50.0, 50.0]]])
    np.testing.assert_allclose(model.predict_proba(new), given.predict_proba(new), atol=1e-6)
    np.testing.assert_allclose(
        model.predict_latent(new, return_std=True), given.predict_latent(new, return_std=True), atol=1e-5
    )
    assert model.log_marginal_likelihood(model.theta_) == pytest.approx(model.log_evidence_, abs=1e-8)


@pytest.mark.parametrize("of", [GPClassifier, SparseGPClassifier])
def test_far_from_the_data_a_learned_mean_says_the_rate(of):
    rng = np.random.default_rng(4)
    X, y = rng.uniform(-1, 1, (60, 2)), np.where(np.arange(60) % 5 == 0, "rare", "usual")
    pseudo = {} if of is GPClassifier else {"n_pseudo": 6, "search": QUICK}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        half, rate = (of("ep", mean=mean, **pseudo).fit(X, y) for mean in (0.0, "constant"))
    for model, expected, error in ((half, 0.5, 1e-12), (rate, 0.2, 0.02)):
        far = np.full((1, 2), 100.0 * (1.0 + model.kernel_.lengthscale))
        assert model.predict_proba(far)[0, 0] == pytest.approx(expected, abs=error)
    assert rate.log_evidence_ > half.log_evidence_ + 1.0 and half.mean_ == 0.0


@pytest.mark.parametrize("of", [GPClassifier, SparseGPClassifier])
def test_every_class_learns_a_mean_of_its_own(of, uneven):
    X, _ = uneven
    y = np.digitize(X[:, 0] + 0.8 * np.random.default_rng(5).normal(size=40), [-0.5, 1.0])
    pseudo = {} if of is GPClassifier else {"pseudo_inputs": X[::5], "move_pseudo_inputs": False}
    model = of("ep", mean="constant", **pseudo).fit(X, y)
    each = [of("ep", mean="constant", **pseudo).fit(X, y == c).mean_ for c in range(3)]
    np.testing.assert_array_equal(model.mean_, each)
    assert model.mean_.shape == (3,) and len(set(each)) == 3
    assert of("ep", mean=0.3, optimise=None, **pseudo).fit(X, y).mean_.tolist() == [0.3] * 3


def test_a_mean_is_learned_whatever_becomes_of_the_kernel(uneven, counts):
    X, y = uneven
    chosen = GPClassifier(optimise="cv", mean="constant").fit(X, y)
    again = GPClassifier(kernel=chosen.kernel_, optimise=None, mean="constant").fit(X, y)
    assert chosen.mean_ == again.mean_ < 0.0 and "cross-validation" in chosen.status_.message
    X, y = counts
    learned, default = (GPPoissonRegressor(mean=mean).fit(X, y) for mean in ("constant", None))
    assert learned.log_evidence_ >= default.log_evidence_ and learned.mean_ != default.mean_ > 0.0
    np.testing.assert_allclose(learned.predict([[1e6]]), learned.mean_**2 + learned.kernel_.variance)
    with pytest.raises(ValueError, match="learned with its kernel"):
        SparseGPClassifier(optimise=None, mean="constant").fit(*uneven)


@pytest.mark.parametrize("inference", ["ep", "power-ep", "vb"])
def test_the_mean_of_a_regression_is_that_of_generalised_least_squares(inference, counts):
    X, y = counts
    settings = {"pseudo_inputs": X, "jitter": 1e-10, "mean": "constant"}
    kept = SparseGPRegressor(inference, kernel=KERNEL, noise=0.2, optimise=None, **settings).fit(X, y)
    weights = np.linalg.solve(KERNEL.matrix(X) + 0.2 * np.eye(25), np.ones(25))  # with every input: exact
    assert kept.mean_ == pytest.approx(weights @ y / weights.sum(), rel=1e-6)
    found = SparseGPRegressor(inference, **settings | {"pseudo_inputs": X[::4], "priors": None}).fit(X, y)
    np.testing.assert_allclose(found.predict([[1e6]]), found.mean_)
    _, slope = found.log_marginal_likelihood(found.theta_, eval_gradient=True)
    assert np.max(np.abs(slope)) < 0.05  # the mean held where it was learned


@pytest.mark.parametrize("of", [GPClassifier, SparseGPClassifier, SparseGPRegressor])
def test_ard_and_constant_columns(of, toy):
    X, y = toy
    X = np.column_stack([X, np.full(30, 3.0)])
    settings = {"priors": None}
    if of is not GPClassifier:
        settings |= {"n_pseudo": 4, "search": QUICK, "inference": "ep"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = of(ard=True, **settings).fit(X, y)
    assert len(model.kernel_.lengthscale) == 3 and len(model.theta_) in (4, 5)
    assert model.kernel_.lengthscale[1] > 1.5 * model.kernel_.lengthscale[0]  # only the first column tells


def test_restarts_repeat_themselves_and_look_elsewhere(toy):
    X, y = toy
    flat = SquaredExponential(1.0, 0.01)  # no two points are correlated: no slope to follow
    once = GPClassifier(kernel=flat).fit(X, y)
    many = [GPClassifier(kernel=flat, n_restarts=3, random_state=s).fit(X, y) for s in (0, 0, 1)]
    assert many[0].log_evidence_ > once.log_evidence_ + 1.0
    assert "best of 4 starts" in many[0].status_.message
    assert many[0].kernel_ == many[1].kernel_ and many[0].status_ == many[1].status_
    assert many[2].log_evidence_ > many[0].log_evidence_ + 0.5  # another seed, another peak


@dataclass(frozen=True)
class Found:
    """What a search brings."""

    selection_score: float
    kernel: SquaredExponential = KERNEL


def test_the_best_of_several_searches():
    found = iter(
        [Found(-3.0), ArithmeticError("lost"), Found(-1.0), ValueError("not finite"), Found(-np.inf)]
    )
    asked = []

    def search(at):
        asked.append(at)
        value = next(found)
        if isinstance(value, Exception):
            raise value
        return value

    best, note = best_of(search, "abcde")
    assert best.selection_score == -1.0
    assert note == "best of 3 starts, 2 failed (lost)" and asked == list("abcde")
    assert best_of(lambda at: Found(at), [-2.0, -1.0], deadline=0.0) == (
        Found(-2.0),
        "best of 1 starts, 1 not tried, the time was up",
    )
    with pytest.raises(ArithmeticError, match="first"):
        best_of(lambda at: (_ for _ in ()).throw(ArithmeticError(at)), ["first", "second"])
    prior = LogNormal((1.0, 1.0), (1.0, 1.0))
    near, far = Found(-3.0, SquaredExponential(1.0, 1.0)), Found(-1.0, SquaredExponential(1.0, 20.0))
    assert best_of(lambda at: at, [near, far]) == (far, "best of 2 starts")
    assert best_of(lambda at: at, [near, far], prior)[0] == near


def test_seeds(toy):
    X, y = toy
    state = np.random.get_state()[1].copy()

    def inputs(seed):
        return SparseGPRegressor(n_pseudo=4, optimise=None, random_state=seed).fit(X, y).pseudo_inputs_

    np.testing.assert_array_equal(inputs(3), inputs(3))
    assert not np.array_equal(inputs(3), inputs(4))
    np.testing.assert_array_equal(np.random.get_state()[1], state)


def test_pseudo_inputs_move_or_stay(toy):
    X, y = toy
    shared = {"n_pseudo": 4, "search": QUICK}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        moved, kept = (SparseGPRegressor(move_pseudo_inputs=m, **shared).fit(X, y) for m in (True, False))
    assert all(np.any(np.all(z == X, axis=1)) for z in kept.pseudo_inputs_)
    assert not any(np.any(np.all(z == X, axis=1)) for z in moved.pseudo_inputs_)
    assert moved.log_evidence_ > kept.log_evidence_
    of_classes = SparseGPClassifier(n_pseudo=4).fit(X, y)  # which stay by default
    assert all(np.any(np.all(z == X, axis=1)) for z in of_classes.pseudo_inputs_)
    doubled = SparseGPRegressor(optimise=None, n_pseudo=60).fit(np.vstack([X, X]), np.tile(y, 2))
    assert len(doubled.pseudo_inputs_) == 30  # distinct ones
    given = SparseGPRegressor(optimise=None, pseudo_inputs=X[:3] + 0.1).fit(X, y)
    np.testing.assert_array_equal(given.pseudo_inputs_, X[:3] + 0.1)


def test_predictions_are_of_the_last_fit_and_of_none_if_it_failed(toy, counts):
    X, y = toy
    model = clone(FIXED["noisy-step"]).fit(X, y)
    before = model.predict_proba(X)
    np.testing.assert_array_equal(model.set_params(likelihood="probit").predict_proba(X), before)
    with pytest.raises(ValueError, match="lengthscales for inputs"):
        model.set_params(kernel=SquaredExponential(1.0, (1.0,) * 5)).fit(X, np.arange(30) % 3)
    with pytest.raises(NotFittedError):
        model.predict_proba(X)


@pytest.mark.parametrize("mean", [None, "constant", 3.0])
def test_constant_targets(mean):
    X = np.linspace(0.0, 1.0, 30)[:, None]
    with pytest.warns(UserWarning, match="targets are constant") as found:
        model = SparseGPRegressor(n_pseudo=4, mean=mean).fit(X, np.full(30, 0.1))
    assert len(found) == 1 and found[0].filename == __file__
    assert "targets are constant" in model.status_.message
    kept = np.append(model.kernel_.variance, model.noise_)
    np.testing.assert_array_equal(kept, [1.0, regressors.NOISE])
    assert np.all(model.predict(X, return_std=True)[1] > 0.3)


def test_a_mean_learned_from_no_counts_is_said(counts):
    X, y = counts
    with pytest.warns(UserWarning, match="every count is 0") as found:
        model = GPPoissonRegressor(mean="constant").fit(X, np.zeros(len(y)))
    assert "every count is 0" in model.status_.message and found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "every" not in GPPoissonRegressor(mean="constant").fit(X, y).status_.message


def test_covariances_lost_to_rounding_are_refused(toy, monkeypatch):
    model = clone(FIXED["ep"]).fit(*toy)
    monkeypatch.setattr(type(model.models_[0]), "covariance", lambda self, X: (X[:, 0], -np.eye(len(X))))
    with pytest.raises(ArithmeticError, match="lost to rounding"):
        model.predict_latent(toy[0], return_cov=True)


@pytest.mark.parametrize(("name", "theta"), [("ep", [800.0, 0.0]), ("sparse", [np.nan, 0.0])])
def test_hyperparameters_without_a_kernel_are_refused(name, theta, toy):
    model = clone(FIXED[name]).fit(*toy)
    with pytest.raises(ValueError, match="must be finite and positive"):
        model.log_marginal_likelihood(theta)


@pytest.mark.parametrize("of", [GPClassifier, GPPoissonRegressor, SparseGPClassifier, SparseGPRegressor])
def test_only_the_inference_has_a_place(of):
    assert of("vb").inference == "vb"
    with pytest.raises(TypeError):
        of("vb", KERNEL)


@pytest.mark.parametrize("module, least", [("classifiers", 13), ("regressors", 5), ("counts", 12)])
def test_examples(module, least):
    found = doctest.testmod(importlib.import_module(f"tilted.estimators.{module}"))
    assert found.attempted >= least and found.failed == 0


@pytest.mark.parametrize(
    "setting, message",
    [
        ({"inference": "vb", "power": 0.9}, "has no effect: it is for inference=.*, not 'vb'"),
        ({"optimise": "cv", "n_restarts": 3}, "n_restarts=3 has no effect: optimise='cv' compares"),
        ({"optimise": False, "n_restarts": 2}, "n_restarts=2 has no effect: optimise=False keeps"),
        ({"kernel": KERNEL, "priors": "weak"}, "they are about a guess, and a kernel is given"),
        (
            {"optimise": None, "kernel": KERNEL, "priors": "weak"},
            "priors='weak' has no effect: optimise=None keeps",
        ),
    ],
    ids=str,
)
def test_what_has_no_effect_warns(setting, message, toy):
    with pytest.warns(UserWarning, match=message) as found:
        GPClassifier(**setting).fit(*toy)
    assert len(found) == 1 and found[0].filename == __file__


def test_a_text_among_numbers_is_named_by_its_place(toy):
    X, y = toy
    frame = pd.DataFrame({"a": X[:, 0], "b": ["1"] * (len(X) - 1) + ["x"]})
    with pytest.raises(ValueError, match=f"X, column 'b', has text, 'x' at row {len(X) - 1}"):
        GPClassifier().fit(frame, y)
    with pytest.raises(ValueError, match="y has text, 'high' at row 0"):
        GPRegressor().fit(X, np.array(["high"] * len(X)))


def test_parameters_of_a_kernel_have_names():
    kernel = SquaredExponential(2.0, 1.3) * Matern() + Constant(0.5)
    model = GPClassifier(kernel=kernel)
    assert model.get_params()["kernel__first__second__smoothness"] == 1.5
    assert "kernel__first" not in model.get_params(deep=False)
    copy = clone(model).set_params(kernel__first__first__lengthscale=3.0, kernel__second=White(2.0), cv=4)
    assert copy.kernel == SquaredExponential(2.0, 3.0) * Matern() + White(2.0) and copy.cv == 4
    assert model.kernel is kernel
    both = {"kernel__second__variance": 7.0, "kernel__second": White(2.0)}
    assert model.set_params(**both).kernel.second == White(7.0)
    assert model.set_params(kernel__variance=9.0, kernel=KERNEL).kernel == SquaredExponential(9.0, 1.3)
    between = GPClassifier(kernel=Restricted(KERNEL, {"lengthscale": (0.1, 2.0)}))
    moved = {
        "kernel__kernel__lengthscale": 5.0,
        "kernel__bounds": {"lengthscale": (3.0, 9.0)},
    }  # sound together
    assert between.set_params(**moved).kernel.kernel.lengthscale == 5.0
    with pytest.raises(ValueError, match="no parameter 'nope'"):
        model.set_params(cv=7, kernel__lengthscale=9.0, kernel__nope=1.0)
    assert model.kernel == SquaredExponential(9.0, 1.3) and model.cv == 3  # all or nothing


@pytest.mark.parametrize(
    "kernel, wrong, message",
    [
        (KERNEL, {"kernel__length": 1.0}, "no parameter 'length' of kernel .*: it has variance, lengthscale"),
        (None, {"kernel__variance": 1.0}, "no parameter 'variance' of kernel None: give one first"),
        (KERNEL, {"kernel__variance": -1.0}, "finite and positive, got -1"),
        (KERNEL + KERNEL, {"kernel__first": 1.0}, "made of two kernels"),
    ],
    ids=str,
)
def test_names_and_values_of_a_kernel_are_checked(kernel, wrong, message):
    with pytest.raises(ValueError, match=message):
        GPClassifier(kernel=kernel).set_params(**wrong)


def test_grids_go_over_the_parameters_of_a_kernel(toy):
    X, y = toy
    pipeline = make_pipeline(StandardScaler(), GPClassifier(kernel=KERNEL, optimise=None))
    search = GridSearchCV(
        pipeline, {"gpclassifier__kernel__lengthscale": [0.01, 2.0]}, scoring="neg_log_loss"
    )
    assert search.fit(X, y).best_estimator_[-1].kernel_ == SquaredExponential(2.0, 2.0)
    sums = GridSearchCV(
        SparseGPRegressor(kernel=KERNEL + KERNEL, n_pseudo=6, optimise=False),
        {"kernel__first__lengthscale": [0.01, 2.0]},
        cv=3,
    )
    assert sums.fit(X, X[:, 0] ** 2).best_estimator_.kernel_.first.lengthscale == 2.0


@pytest.mark.parametrize(
    ("likelihood", "mean"), [("probit", 0.0), pytest.param("logit", "constant", marks=pytest.mark.slow)]
)
def test_a_flat_ridge_of_a_sparse_classifier_is_said(likelihood, mean, toy):
    X = np.concatenate([np.linspace(-3, -1, 10), np.linspace(1, 3, 10)])[:, None]
    shared = {"likelihood": likelihood, "mean": mean, "move_pseudo_inputs": False, "priors": None}
    ridge = SparseGPClassifier(n_pseudo=5, **shared).fit(X, np.sign(X[:, 0]))
    assert "flat ridge" in ridge.status_.message
    assert "flat ridge" not in SparseGPClassifier(n_pseudo=6, **shared).fit(*toy).status_.message


@pytest.mark.parametrize("rows", [None, 60])
@pytest.mark.parametrize("kind", [SparseGPRegressor, SparseGPClassifier, SparseGPPoissonRegressor])
def test_jitter_that_drowns_the_noise_is_said(kind, rows):
    """Years: a linear kernel's variance, and with it the jitter relative to it, is large far from 0."""
    rng = np.random.default_rng(3)
    X = rng.uniform(1990.0, 2020.0, (100, 1))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(100)
    y = y if kind is SparseGPRegressor else (y > 0).astype(int)
    kernel = SquaredExponential(1.0, [2.0]) + Linear(1.0)
    model = kind(kernel=kernel, optimise=None, n_pseudo=20, batch_size=rows, random_state=0)
    with pytest.warns(UserWarning, match="the jitter on Kuu, 4.0e\\+00, may add as much"):
        model.fit(X, y)
    assert "the jitter on Kuu" in model.status_.message
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # centred
        model.fit(X - X.mean(axis=0), y)


BLIND = [
    GPClassifier(kernel=Matern() + White(0.1), optimise=None),
    SparseGPRegressor(kernel=SquaredExponential(), n_pseudo=6, optimise=None),
    GPPoissonRegressor(kernel=SquaredExponential(), optimise=None),
]


@pytest.mark.parametrize("model", BLIND, ids=str)
@pytest.mark.parametrize("scale, note", [(1e5, "do not see each other"), (1e-7, "are all alike")])
def test_inputs_that_are_not_scaled_are_said(model, scale, note, toy):
    X, y = toy
    y = y if hasattr(model, "predict_proba") else y + 1.0
    fixed = clone(model).set_params(optimise=None)  # a search may leave the place where inputs are alike
    with pytest.warns(UserWarning, match=note) as found:
        fixed.fit(scale * X, y)
    assert note in fixed.status_.message and [one.filename for one in found] == [__file__]
    assert "inputs" not in fixed.fit(X, y).status_.message


def test_pseudo_inputs_that_see_nothing_at_all_are_said(toy):
    model = SparseGPClassifier(kernel=SquaredExponential(), n_pseudo=4, optimise=None)
    with pytest.warns(UserWarning, match="do not see each other at this lengthscale"):
        model.fit(1e5 * toy[0], toy[1])


def test_reach():
    X = np.repeat(np.eye(6), 2, axis=0)
    assert reach(SquaredExponential(2.0, 1e-3), X) == ""  # duplicates see each other
    assert "see" in reach(SquaredExponential(2.0, 1e-3), X[::2]) and "see" in reach(White(), X)
    assert "alike" in reach(Constant(3.0) + White(), X) and "alike" in reach(Constant(), X, X[:1])
    few = np.arange(2500.0)[:, None]
    assert reach(SquaredExponential(1.0, 0.5), few) == "" and reach(KERNEL, few, few[:1]) != ""
    assert "do not see" in reach(SquaredExponential(1.0, 0.2), few, few[::2])
    assert "take more or move them" in reach(SquaredExponential(1.0, 1.0), few, few[::80])
    assert reach(SquaredExponential(1.0, 0.5), few, few[::2]) == ""
