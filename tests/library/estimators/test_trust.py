"""Data as newcomers bring them: defaults find what is there, in time, or say that they did not."""

import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import kernels
from sklearn.model_selection import train_test_split

import tilted
from tests.helpers import differences
from tilted import (
    GPClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPRegressor,
    api,
    likelihoods,
)
from tilted.estimators import diagnostics
from tilted.inference.pep import power_rule
from tilted.kernels import Active, Constant, Linear, Matern, Periodic, Polynomial, SquaredExponential
from tilted.learning import sparse as through_points
from tilted.learning.dense import evidence_and_gradient, infer_at
from tilted.learning.priors import LogNormal
from tilted.learning.search import Search
from tilted.learning.starts import SEARCHES, promising, start_kernel, typical_distance
from tilted.posteriors.collapsed import Regression, condition


@pytest.fixture(scope="module")
def moons():
    """Two moons with one wild value, and others without: X [100, 2], y, Xs, ys."""
    X, y = make_moons(100, noise=0.2, random_state=0)
    X[0, 0] = 99999.0
    return X, y, *make_moons(300, noise=0.2, random_state=1)


@pytest.mark.parametrize(
    "model",
    [GPClassifier(), GPClassifier(optimise="cv"), GPClassifier(ard=True), SparseGPClassifier(n_pseudo=20)],
    ids=str,
)
def test_one_wild_value_does_not_matter(model, moons):
    X, y, Xs, ys = moons
    assert model.fit(X, y).score(Xs, ys) > 0.93


def test_one_wild_value_does_not_matter_to_a_regression(moons):
    X, _, Xs, _ = moons
    targets = [np.sin(3.0 * inputs[:, 0]) + inputs[:, 1] for inputs in (X, Xs)]
    assert SparseGPRegressor(n_pseudo=20).fit(X, targets[0]).score(Xs, targets[1]) > 0.97


def test_columns_of_different_units():
    """The search from the guess alone ended at a mean evidence of -33.1, 71 % right."""
    X, y = load_wine(return_X_y=True)
    X, Xs, y, ys = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    model = GPClassifier().fit(X, y)
    assert model.log_evidence_ > -26.0 and model.score(Xs, ys) > 0.9


def test_a_useless_model_is_said(toy):
    X, y = np.repeat(toy[0][:15], 2, axis=0), np.tile([1.0, -1.0], 15)  # both labels at every input
    with pytest.warns(UserWarning, match="nothing was learnt"):
        model = GPClassifier().fit(X, y)
    assert "nothing was learnt" in model.status_.message
    with pytest.warns(UserWarning, match="nothing was learnt"):
        tilted.fit(X, y)
    with pytest.warns(UserWarning, match="ended at the lower bound"):
        GPClassifier(kernel=SquaredExponential(1e-15, 1.0)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GPClassifier().fit(*toy)


def test_a_class_of_which_nothing_is_learnt_is_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    y = np.where(X[:, 0] > 0.5, "high", np.where(rng.uniform(size=60) < 0.5, "a", "b"))
    y[:4] = "none"
    with pytest.warns(UserWarning, match="^class none against the rest: predictions hardly depend"):
        GPClassifier().fit(X, y)


def test_starts_are_where_the_evidence_has_its_peaks(moons):
    X, y, _, _ = moons
    guess = SquaredExponential(1.0, typical_distance(X))
    assert 0.5 < guess.lengthscale < 3.0
    kernels = promising(X, 2.0 * y - 1.0, likelihoods.get("probit"), 0.0, guess)
    assert 1 <= len(kernels) <= SEARCHES and kernels[0] != guess
    assert typical_distance(np.ones((5, 2))) == 1.0


def test_columns_that_repeat_in_the_order_of_the_rows_have_a_unit():
    """Of weekdays every seventh row, all Mondays, was looked at: a unit of 1, and no search left it."""
    rng = np.random.default_rng(0)
    days = np.arange(3400) % 7 * 100.0
    X = np.c_[days, rng.normal(size=3400)]
    assert 100.0 <= typical_distance(X[:, :1]) <= 300.0


@pytest.mark.parametrize("kind", [GPClassifier, SparseGPClassifier])
def test_rows_by_turns_are_seen_by_grids_too(kind):
    """Of sorted labels every so manieth row was of A, where only B is informative: f was 0, converged."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    informative, u = np.arange(400) % 2 == 1, rng.normal(size=400)
    u[informative & ((np.sin(6.0 * u) > 0) != y)] *= -1.0
    X = np.c_[informative, u]
    order = rng.permutation(400)
    one, other = (kind("ep").fit(X[rows], y[rows]) for rows in (slice(None), order))
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=5.0)
    assert one.log_evidence_ > 400 * np.log(0.5) + 50.0


def test_a_sparse_search_has_converged_whatever_the_unit_of_the_targets():
    """By a relative stop it was said to have, 4 nats below: the unit adds to the evidence."""
    unit = 1e6
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    y = unit * (np.sin(2.0 * X[:, 0]) + 0.2 * X[:, 1] + 0.1 * rng.normal(size=200))
    found = SparseGPRegressor("ep", n_pseudo=15).fit(X, y)
    assert found.status_.converged
    begin = {"kernel": found.kernel_, "noise": found.noise_, "pseudo_inputs": found.pseudo_inputs_}
    further = Search(method="bfgs", expected_gain=1e-8)
    more = SparseGPRegressor("ep", search=further, **begin).fit(X, y)
    assert found.log_evidence_ <= more.log_evidence_ < found.log_evidence_ + 0.1


def test_priors_end_flat_ridges():
    X = np.linspace(-2, 2, 16)[:, None]
    y = np.sign(X[:, 0])
    flat, weak = tilted.fit(X, y), tilted.fit(X, y, priors="weak")
    assert "flat ridge" in flat.status.message and "flat ridge" not in weak.status.message
    assert weak.kernel.variance < 1e3 < 1e6 < flat.kernel.variance
    assert weak.log_evidence > flat.log_evidence - 2.0
    tight = LogNormal(tuple(weak.kernel.parameters()), (1e-3, 1e-3))
    kept = GPClassifier(priors=tight).fit(X, y)
    np.testing.assert_allclose(kept.kernel_.parameters(), weak.kernel.parameters(), rtol=1e-2)
    with pytest.raises(ValueError, match="unknown priors 'strong'; .*or a tilted.learning.priors.LogNormal"):
        GPClassifier(priors="strong").fit(X, y)
    with pytest.raises(ValueError, match="a prior on 2 of 3 parameters: .* every lengthscale"):
        GPClassifier(kernel=SquaredExponential(1.0, (1.0, 1.0)), priors=tight).fit(np.hstack([X, X]), y)


RULES = {"ep": "ep", "qp": "qp", "vb": "vb", "power-ep": power_rule(0.5)}


def exact_evidence(K, y):
    """log N(y; 0, K + I)."""
    L = np.linalg.cholesky(K + np.eye(len(y)))
    white = np.linalg.solve(L, y)
    return -0.5 * white @ white - np.sum(np.log(np.diagonal(L))) - 0.5 * len(y) * np.log(2.0 * np.pi)


@pytest.mark.parametrize("rule", RULES)
def test_evidences_of_targets_far_from_zero(rule):
    offset = 1e6
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = offset + X[:, 0]
    kernel = SquaredExponential(3.0, 2.0)
    problem = api.make_problem(X, y, "gaussian", RULES[rule])
    found = infer_at(problem, kernel).log_evidence
    assert found == pytest.approx(exact_evidence(kernel.matrix(X), y), rel=1e-13)
    near = api.make_problem(X, y, "gaussian", RULES[rule], mean=offset)  # of which no digit may be lost
    exact = exact_evidence(kernel.matrix(X), y - offset)
    assert infer_at(near, kernel).log_evidence == pytest.approx(exact, abs=1e-12 * offset)


@pytest.mark.parametrize("power", [0.0, 0.5])
def test_sparse_evidences_of_targets_far_from_zero(power):
    X = np.random.default_rng(0).normal(size=(30, 2))
    kernel, noise = SquaredExponential(3.0, 2.0), likelihoods.get("gaussian")
    problem = through_points.Problem(X, 1e5 + X[:, 0], noise, power, mean=1e5)
    exact = condition(Regression(X, problem.y - 1e5, power), kernel, X[:10], 1.0).log_evidence
    assert problem.infer(kernel, X[:10])[1].log_evidence == pytest.approx(exact, abs=1e-7)


def test_a_search_with_targets_far_from_zero_arrives():
    """It ended at -236.8, converged, as its gradient is small in units of a variance of 3e7."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert tilted.fit(X, 1e5 + X[:, 0], "gaussian").log_evidence > -46.0


SCALES = {  # likelihood, targets from N(0, 1) numbers and a variance, prior mean
    "gaussian": [(lambda f: f, 1e-8, 0.0), (lambda f: 1e4 * f, 1e8, 0.0), (lambda f: 1e6 + f, 1.0, 1e6)],
    "probit": [(np.sign, 1e-8, 0.0), (np.sign, 1e8, 0.0)],
    "logit": [(np.sign, 1e-8, 0.0), (np.sign, 1e6, 0.0)],
    "poisson-square": [
        (lambda f: np.floor((1.0 + np.abs(f)) ** 2), 1e-6, 1.0),
        (lambda f: np.floor((100.0 + f) ** 2), 1.0, 100.0),
    ],
}
CASES = [(SquaredExponential, name, *case) for name, cases in SCALES.items() for case in cases]
CASES += [(Matern, name, *cases[-1]) for name, cases in SCALES.items()]


@pytest.mark.parametrize(
    "rule", ["ep", "vb", *(pytest.param(rule, marks=pytest.mark.slow) for rule in ("qp", "power-ep"))]
)
@pytest.mark.parametrize("kernel, name, target, variance, mean", CASES)
def test_gradients_at_awkward_scales_are_finite_differences(kernel, name, target, variance, mean, rule):
    rng = np.random.default_rng(3)
    X, f = rng.normal(size=(8, 2)), rng.normal(size=8)
    problem = api.make_problem(X, target(f), name, RULES[rule], mean)
    at = kernel(variance, 1.7)
    _, gradient = evidence_and_gradient(problem, at)

    def evidence(log_change):
        return infer_at(problem, at.with_parameters(at.parameters() * np.exp(log_change))).log_evidence

    numeric = differences(evidence, np.zeros(2), 1e-4)
    rounding = 1e-11 * (1.0 + abs(evidence(np.zeros(2)))) / 2e-4  # of the differences
    np.testing.assert_allclose(gradient * at.parameters(), numeric, rtol=1e-5, atol=1e-7 + rounding)


@pytest.mark.slow
def test_counts_in_ten_thousands_end_in_time_and_say_what_is_missing(counts):
    X, y = counts
    began = time.process_time()
    with pytest.warns(ConvergenceWarning, match="evaluations with unconverged sites"):
        model = GPPoissonRegressor().fit(X, 10000.0 * y)
    assert time.process_time() - began < 60.0
    np.testing.assert_allclose(model.predict(X), 10000.0 * y, atol=0.05 * 10000.0 * np.max(y))
    assert not model.status_.converged


@pytest.mark.parametrize(
    "model",
    [GPClassifier("qp"), GPPoissonRegressor("qp"), SparseGPRegressor()],
    ids=str,
)
def test_a_fit_ends_when_its_time_is_up(model, toy):
    X, y = toy
    targets = y if hasattr(model, "predict_proba") else y + 1.0
    with pytest.warns(ConvergenceWarning, match="the time was up"):
        model.set_params(max_time=1e-9).fit(X, targets)
    status = model.status_
    assert not status.converged and status.evaluations == 1
    assert np.all(np.isfinite(model.predict(X)))
    for wrong in (0.0, -1.0, "long", True):
        with pytest.raises(ValueError, match="max_time must be a positive number of seconds"):
            model.set_params(max_time=wrong).fit(X, targets)


def test_a_first_evaluation_that_does_not_end_in_time_is_an_error(toy):
    for model in (SparseGPClassifier(max_time=1e-9), GPClassifier(mean="constant", max_time=1e-9)):
        with pytest.raises(ArithmeticError, match="did not converge .*when the time was up"):
            model.fit(*toy)


@pytest.mark.parametrize("kernel", [SquaredExponential(2.0, 1.5), Matern(2.0, (1.5, 0.7))], ids=str)
def test_predictions_do_not_depend_on_an_offset_of_the_inputs(kernel, toy):
    offset = 1e12
    X, y = (np.round(8.0 * toy[0]), toy[1])  # whole numbers, exact at every offset
    new = X[:7] + 3.0
    here, far = (tilted.fit(at, y, kernel=kernel, optimise=False) for at in (X, X + offset))
    np.testing.assert_allclose(far.predict_latent(new + offset), here.predict_latent(new), rtol=1e-9)


@pytest.mark.parametrize("of", [tilted.fit, lambda X, y, **how: GPClassifier(**how).fit(X, y)])
def test_what_cannot_be_is_said_clearly(of, toy):
    X, y = toy
    with pytest.raises(ValueError, match="kernel must be a kernel, such as"):
        of(X, y, kernel=SquaredExponential)
    for kernel in (SquaredExponential(1e300, 1.0), SquaredExponential(1.0, 1e300), Matern(1e-300, 1e-300)):
        with pytest.raises(ValueError, match="parameters must lie between 1e-100 and 1e.100"):
            of(X, y, kernel=kernel)
    with pytest.raises(ValueError, match="X has values up to .*e.200, beyond 1e.50: scale it"):
        of(1e200 * X, y)
    with pytest.raises(ValueError, match="X has no values beyond .*e-170, not even 1e-50: scale it"):
        of(1e-170 * X, y)
    with pytest.raises((ValueError, TypeError), match="toarray"):
        of(sparse.csr_matrix(X), y)


def test_labels_of_two_kinds(toy):
    X, _ = toy
    for labels in ([1, "a"] * 15, np.array([1, "a"] * 15, dtype=object)):
        with pytest.raises(ValueError, match="labels mix strings and other kinds"):
            GPClassifier().fit(X, labels)


@pytest.mark.parametrize("inference", ["ep", "vb"])
def test_students_noise_of_targets_that_are_mostly_alike_ends_at_a_bound(inference):
    """Of 38 zeros in 40 the evidence has no maximum: scales of 1e-11 to 1e-44 were called converged."""
    rng = np.random.default_rng(7)
    X, y = rng.uniform(-3, 3, (40, 1)), np.zeros(40)
    y[:2] = rng.uniform(1, 3, 2)
    with pytest.warns(UserWarning, match="the noise ended at its lower bound"):
        model = GPRegressor(inference=inference, likelihood="student-t").fit(X, y)
    assert "many that are alike" in model.status_.message
    assert 1e-7 < model.likelihood_.scale / y.std() < 1e-3
    _, sd = model.predict(X, return_std=True)
    assert np.all(sd > 0) and np.isfinite(model.log_predictive(X, y)).all()
    assert np.isfinite(model.sample_y(X[:3])).all()


@pytest.mark.parametrize("unit", [1e-20, 1e30])
def test_units_of_the_inputs_make_no_difference(unit, toy):
    """A bound of 1e-15 on the lengthscale of labels and counts left it there, and nothing was learnt."""
    X, y = toy
    for model, targets in ((GPClassifier(), y), (GPPoissonRegressor(), 2.0 + y)):
        usual = model.fit(X, targets).log_evidence_
        scaled = model.fit(unit * X, targets)
        assert scaled.log_evidence_ == pytest.approx(usual, abs=1e-6) and scaled.status_.converged


@pytest.mark.parametrize(
    "kernel",
    [
        Linear() + Constant(),
        Linear() + Periodic() + SquaredExponential(),
        Active(Polynomial(), 0) + Active(Matern(), 1),
        kernels.DotProduct() + kernels.RBF(),
    ],
)
def test_trends_far_from_the_origin_are_said(kernel):
    """Calendar years: the search often ends where nothing is learnt of the trend."""
    years = np.column_stack([np.arange(1960.0, 2020.0), np.arange(60) % 7, np.full(60, 9.0)])
    with pytest.warns(UserWarning, match="^centre the inputs"):
        start_kernel(kernel, years, ard=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        start_kernel(kernel, years - [1990, 0, 0], ard=False)


@pytest.mark.parametrize(
    "model", [GPRegressor(), GPClassifier(), GPPoissonRegressor(), SparseGPRegressor(n_pseudo=5)], ids=str
)
def test_a_centred_trend_goes_on(model):
    years = np.arange(-30.0, 30.0)[:, None]
    y = 0.8 * (years[:, 0] + 30.0) + np.random.default_rng(0).normal(size=60)
    y = y > 24 if isinstance(model, GPClassifier) else np.rint(np.abs(y))
    model = clone(model).set_params(kernel=0.01 * Linear() + Constant())
    with pytest.warns(UserWarning, match="^centre the inputs"):
        model.fit(years + 1990.0, y)
    if isinstance(model, GPRegressor | SparseGPRegressor):
        assert model.fit(years, y).predict([[70.0]]) == pytest.approx(80, abs=3)


def test_relaxations_that_leave_the_prior_are_said(toy):
    X, y = (part[::3] for part in toy)
    kernel = SquaredExponential(4.0, 1.0)
    with pytest.warns(UserWarning, match="relaxations are the largest that are searched: .* larger penalty"):
        none = GPClassifier("rep", kernel=kernel, optimise=None, penalty=0.0).fit(X, y)
    np.testing.assert_allclose(none.predict_proba(X), 0.5, atol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GPClassifier("rep", kernel=kernel, optimise=None, penalty=0.1).fit(X, y)


@pytest.mark.parametrize("model", [GPRegressor(), SparseGPRegressor(n_pseudo=10)], ids=str)
def test_a_wild_target_is_said(model, toy):
    """It is a narrow peak of f, or what is called noise: the R² of the others was below -50,000."""
    X, y = toy
    y = y + 0.1 * X[:, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    y[3] = 1000.0
    with pytest.warns(UserWarning, match="1 of 30 targets are over a hundred times as far .*student-t"):
        model.fit(X, y)
    assert "1 of 30 targets" in model.status_.message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GPRegressor(likelihood="student-t").fit(X, y)


def test_targets_too_far_from_zero_are_said(toy):
    X, _ = toy
    with pytest.warns(ConvergenceWarning, match="targets lie .e[+]08 of their spreads from 0, .* subtract"):
        GPRegressor().fit(X, 1e8 + 0.3 * np.sin(X[:, 0]) + 0.1 * X[:, 1] ** 2)


def test_more_rows_than_a_time_limit_can_be_kept_for_are_said(monkeypatch):
    monkeypatch.setattr(diagnostics, "MANY_ROWS", 19)
    X = np.linspace(-2, 2, 20)[:, None]
    for model in (GPRegressor, GPClassifier, GPPoissonRegressor):
        with pytest.warns(UserWarning, match="20 rows: a step of a dense model takes O.N.3."):
            model().fit(X, np.arange(20) % 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseGPRegressor(n_pseudo=5).fit(X, np.sin(X[:, 0]) + 0.1 * np.cos(40.0 * X[:, 0]))
        GPRegressor().fit(X[:19], np.sin(X[:19, 0]) + 0.1 * np.cos(40.0 * X[:19, 0]))
