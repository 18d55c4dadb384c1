"""Estimators at the limits of numbers and of time: no noise, odd units, spikes, hopeless searches, refits."""

import re
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tilted import (
    GPClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
    api,
)
from tilted.gaussian import Marginals, Sites
from tilted.inference.relaxations import Relaxation, relaxations
from tilted.kernels import SquaredExponential
from tilted.likelihoods import student_t
from tilted.likelihoods.gaussian import GaussianNoise

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("kind", [GPPoissonRegressor, SparseGPPoissonRegressor])
def test_counts_of_next_to_no_weight_are_predicted_as_the_others(kind):
    """Half a count that stands for none at all was divided by their weights: 1e8 calls where 2 were seen."""
    counts = np.random.default_rng(1).poisson(2.0, 30)
    model = kind(optimise=None).fit(X, counts, sample_weight=np.full(30, 1e-3))
    assert np.all(model.predict(X) < 10.0)


@pytest.mark.parametrize(("likelihood", "unit"), [("gaussian", 1e-5), ("student-t", 1e5), ("laplace", 1e-5)])
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


HOWS: list[dict[str, str]] = [{}, {"inference": "vb", "mean": "constant"}]


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


@pytest.mark.parametrize(
    "kind", [SparseGPRegressor, pytest.param(SparseGPPoissonRegressor, marks=pytest.mark.slow)]
)
def test_units_of_inputs_make_no_other_sparse_model(kind):
    """Pseudo-inputs were searched in the units of the inputs, where small ones ended beside the start."""
    unit = 1e-9
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
def test_expectations_beyond_numbers_are_said_to_be():
    """One spike among zeros: f goes to minus hundreds with a spread of hundreds, E[e^f] has no meaning.

    At given kernels: where a search ends, VB's above all, is another on other machines.
    """
    variance = 300.0
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


@pytest.mark.parametrize("kind", [GPClassifier, SparseGPPoissonRegressor])
def test_a_correction_that_is_set_after_a_fit_waits_for_the_next(kind, counts):
    """As every other parameter does: predictions are the fit's, without it and with it."""
    X, y = counts
    y = (y > 1).astype(int) if "Classifier" in kind.__name__ else y
    for before, after in ((None, "cheap"), ("cheap", None)):
        model = kind(optimise=None, correction=before).fit(X, y)
        predicted, evidence = model.predict(X), model.log_marginal_likelihood()
        scores = getattr(model, "predict_log_proba", None) or (lambda X, of=model: of.log_predictive(X, y))
        expected = scores(X)
        model.set_params(correction=after)
        assert np.array_equal(model.predict(X), predicted) and np.array_equal(scores(X), expected)
        assert model.log_marginal_likelihood() == evidence
        if before is None:
            assert model.sample_latent(X[:2]).shape == (2, 1)
        else:
            with pytest.raises(ValueError, match="no corrected covariance"):
                model.sample_latent(X[:2])


def test_other_classes_with_later_rows_are_refused(counts):
    X, y = counts
    model = SparseGPClassifier(optimise=None, batch_size=10).partial_fit(X, y > 1, classes=[False, True])
    model.partial_fit(X, y > 1, classes=[True, False])
    with pytest.raises(ValueError, match="classes must be those of the first rows"):
        model.partial_fit(X, y > 1, classes=[0, 1, 2])
