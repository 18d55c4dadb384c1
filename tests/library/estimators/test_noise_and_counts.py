"""Robust regression and counts that vary more than Poisson's; kernels of scikit-learn in estimators."""

import warnings

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from tilted import GPPoissonRegressor, GPRegressor, SparseGPPoissonRegressor
from tilted.inference.options import Options
from tilted.kernels import Constant, Linear, SquaredExponential
from tilted.likelihoods.exponential_link import NegativeBinomial
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.student_t import StudentT

RNG = np.random.default_rng(2)
X = np.sort(RNG.uniform(0.0, 10.0, (50, 1)), axis=0)
F = np.sin(X[:, 0])
CLEAN = F + 0.1 * RNG.normal(size=50)
SPOILT = CLEAN.copy()
SPOILT[[5, 17, 30, 44]] += (12.0, -9.0, 15.0, 8.0)
COUNTS = RNG.negative_binomial(2, 2.0 / (2.0 + np.exp(1.0 + F)))
VARIED = RNG.negative_binomial(0.3, 0.3 / (0.3 + np.exp(1.0 + F)))


def error(model):
    return np.sqrt(np.mean((model.predict(X) - F) ** 2))


@pytest.mark.parametrize(
    "likelihood, inference", [("student-t", "ep"), ("student-t", "vb"), ("laplace", "ep")]
)
def test_outliers_do_not_spoil_a_robust_regression(likelihood, inference):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GPRegressor(inference, likelihood=likelihood).fit(X, SPOILT)
    spoilt, clean = GPRegressor().fit(X, SPOILT), GPRegressor().fit(X, CLEAN)
    assert error(clean) < 0.1 < 0.3 < error(spoilt)
    assert error(model) < 0.12
    assert model.status_.converged
    mean, std = model.predict(X, return_std=True)
    _, of_f = model.predict_latent(X, return_std=True)
    np.testing.assert_allclose(std**2, model.likelihood_.target_moments(mean, of_f**2)[1])
    between = 0.5 * (X[1:] + X[:-1])  # at the training points a spoilt model may interpolate
    densities = [np.mean(one.log_predictive(between, np.sin(between[:, 0]))) for one in (model, spoilt)]
    assert densities[0] > densities[1] + 0.5


@pytest.mark.parametrize(
    "model, y, remedy",
    [
        (GPRegressor(), SPOILT, "there are outliers .*student-t"),
        (GPPoissonRegressor(likelihood="poisson-exp"), VARIED, "counts vary more .*negative-binomial"),
    ],
)
def test_a_search_that_followed_outliers_says_what_to_take(model, y, remedy):
    with pytest.warns(UserWarning, match=f"do not see each other .* unless {remedy}"):
        model.fit(X, y)


def test_gaussian_noise_is_scikit_learns_regression():
    mean = float(np.mean(CLEAN))
    ours = GPRegressor().fit(X, CLEAN)
    theirs = GaussianProcessRegressor(1.0 * sk.RBF(1.0) + sk.WhiteKernel(0.1)).fit(X, CLEAN - mean)
    assert ours.status_.converged
    assert ours.log_evidence_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-4)
    m, s = theirs.predict(X[:5] + 0.1, return_std=True)
    found = ours.predict(X[:5] + 0.1, return_std=True)
    np.testing.assert_allclose(found[0], m + mean, atol=2e-3)
    np.testing.assert_allclose(found[1], s, atol=2e-3)


@pytest.mark.parametrize("scale, df, max_sweeps", [(0.01, 1.0, 20), (0.4, 4.0, 1)])
def test_a_student_t_fit_that_does_not_converge_says_so(scale, df, max_sweeps):
    y = np.random.default_rng(0).standard_t(1, 50) * 3.0
    model = GPRegressor(
        likelihood=StudentT(scale, df),
        kernel=SquaredExponential(100.0, 1.0),
        optimise=None,
        mean=0.0,
        options=Options(max_sweeps=max_sweeps),
    )
    with pytest.warns(ConvergenceWarning, match="not converged.*this noise is not log-concave"):
        model.fit(X, y)
    assert not model.status_.converged
    if max_sweeps > 1:  # damping was tried, and is counted
        assert model.status_.damping < 1.0 and model.status_.retries > 0


def test_dispersion_is_learned():
    model = GPPoissonRegressor(likelihood="negative-binomial").fit(X, COUNTS)
    poisson = GPPoissonRegressor(likelihood="poisson-exp").fit(X, COUNTS)
    assert model.status_.converged and poisson.status_.converged
    assert 0.2 < model.likelihood_.dispersion < 1.5  # 1/2 made them
    assert model.log_evidence_ > poisson.log_evidence_ + 5.0
    mean, std = model.predict(X, return_std=True)
    assert np.all(std**2 > mean) and np.mean(np.abs(mean - np.exp(1.0 + F))) < 1.5
    kept = GPPoissonRegressor(likelihood=NegativeBinomial(0.4), optimise=None).fit(X, COUNTS)
    assert kept.likelihood_ == NegativeBinomial(0.4)
    same = GPPoissonRegressor("vb", likelihood="negative-binomial", mean="constant").fit(X, COUNTS)
    assert same.status_.converged and same.mean_ != model.mean_


@pytest.mark.parametrize(
    "model, message",
    [
        (GPRegressor(likelihood="cauchy"), "unknown likelihood 'cauchy'; known: 'gaussian', 'laplace'"),
        (GPPoissonRegressor(likelihood="probit"), "unknown likelihood 'probit'; known: 'poisson-square'"),
        (GPPoissonRegressor(likelihood=Probit()), "likelihood must be one of counts"),
        (GPRegressor(kernel=sk.Matern(nu=0.7)), "smoothness 1.5, 2.5 or inf"),
    ],
)
def test_unknown_settings_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, COUNTS)


def test_a_line_is_learned_by_a_linear_kernel():
    y = 3.0 + 2.0 * X[:, 0] + 0.1 * RNG.normal(size=50)
    model = GPRegressor(kernel=Linear() + Constant(10.0), likelihood=GaussianNoise(0.1)).fit(X, y)
    assert model.predict([[30.0]])[0] == pytest.approx(63.0, abs=0.5)
    assert model.likelihood_.noise == pytest.approx(0.01, rel=0.6)


def test_counts_that_are_no_whole_numbers_are_judged_with_a_warning():
    """The fit said that this is no distribution of theirs, and the score of held-out rows nothing."""
    X = np.linspace(-2.0, 2.0, 12)[:, None]
    model = GPPoissonRegressor(optimise=None).fit(X, np.arange(12) // 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.log_predictive(X[:2], [1, 2])
    with pytest.warns(UserWarning, match="no whole numbers"):
        model.log_predictive(X[:2], [1.5, 2])


@pytest.mark.parametrize("kind", [GPPoissonRegressor, SparseGPPoissonRegressor])
@pytest.mark.parametrize("likelihood", ["poisson-exp", "poisson-square"])
def test_counts_by_exposure_weighted_by_it_have_the_posterior_of_their_rate(kind, likelihood):
    """Exact: sums of N(0, K) times every count's Poisson density at exposure times rate, by sampling."""
    rng = np.random.default_rng(3)
    X = np.linspace(-2.0, 2.0, 8)[:, None]
    exposure = rng.choice([0.5, 3.0, 20.0], 8)
    kernel, mean = SquaredExponential(0.5, 1.0), 2.0
    rate = np.exp if likelihood == "poisson-exp" else np.square
    counts = rng.poisson(exposure * rate(mean + 0.5 * np.sin(X[:, 0]))).astype(float)
    more = {"pseudo_inputs": X, "inference": "ep"} if kind is SparseGPPoissonRegressor else {}
    model = kind(likelihood=likelihood, kernel=kernel, mean=mean, optimise=None, **more)
    with pytest.warns(UserWarning, match="no whole numbers"):
        model.fit(X, counts / exposure, sample_weight=exposure)
    draws = mean + np.linalg.cholesky(kernel.matrix(X) + 1e-9 * np.eye(8)) @ rng.normal(size=(8, 400_000))
    expected = exposure[:, None] * rate(draws)
    weights = softmax(np.sum(counts[:, None] * np.log(expected) - expected, axis=0))
    exact = draws @ weights
    sd = np.sqrt((draws**2) @ weights - exact**2)
    found, spread = model.predict_latent(X, return_std=True)
    assert np.abs(found - exact).max() < 0.1 * sd.min() + 0.05 * sd.max(), "EP's error, and the draws'"
    np.testing.assert_allclose(spread, sd, rtol=0.1)
