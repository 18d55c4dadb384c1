"""Estimators by blocks: equal to dense ones with all neighbours, "auto", statuses, and what is refused."""

import numpy as np
import pytest

from tilted.estimators import (
    GPClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
)
from tilted.estimators import blocks as module
from tilted.kernels import Constant, SquaredExponential
from tilted.learning.blocks import MOST_NEIGHBOURS
from tilted.likelihoods.gaussian import GaussianNoise

RNG = np.random.default_rng(7)
X = RNG.uniform(size=(200, 2))
F = 2.0 * np.sin(14.0 * X[:, 0]) * np.cos(12.0 * X[:, 1])
NOISE = RNG.standard_normal(200)
LABELS, REALS, COUNTS = F + NOISE > 0, F + 0.3 * NOISE, RNG.poisson(np.exp(F))
XS = RNG.uniform(size=(11, 2))
KERNEL = SquaredExponential(2.0, 0.15)
FIXED = {"kernel": KERNEL, "optimise": None}
BLOCKS = {"approximation": "blocks", "neighbours": 200}
PAIRS = {
    "probit": (SparseGPClassifier("ep", **FIXED, **BLOCKS), GPClassifier("ep", **FIXED), LABELS),
    "logit": (
        SparseGPClassifier("vb", likelihood="logit", mean=0.3, **FIXED, **BLOCKS),
        GPClassifier("vb", likelihood="logit", mean=0.3, **FIXED),
        LABELS,
    ),
    "power": (SparseGPClassifier(**FIXED, **BLOCKS), GPClassifier("power-ep", **FIXED), LABELS),
    "counts": (
        SparseGPPoissonRegressor("vb", likelihood="poisson-exp", **FIXED, **BLOCKS),
        GPPoissonRegressor("vb", likelihood="poisson-exp", **FIXED),
        COUNTS,
    ),
    "counts of rate f^2": (
        SparseGPPoissonRegressor("ep", mean=1.0, **FIXED, **BLOCKS),
        GPPoissonRegressor("ep", mean=1.0, **FIXED),
        COUNTS,
    ),
    "reals": (
        SparseGPRegressor("ep", noise=0.2, **FIXED, **BLOCKS),
        GPRegressor(likelihood=GaussianNoise(0.2), **FIXED),
        REALS,
    ),
}


@pytest.mark.parametrize("chain, dense, y", PAIRS.values(), ids=PAIRS)
def test_with_all_neighbours_it_is_the_dense_estimator(chain, dense, y):
    chain.fit(X, y)
    dense.fit(X, y)
    assert chain.log_evidence_ == pytest.approx(dense.log_evidence_, abs=1e-5)
    for ours, exact in zip(
        chain.predict_latent(XS, return_std=True), dense.predict_latent(XS, True), strict=True
    ):
        np.testing.assert_allclose(ours, exact, atol=1e-4)
    np.testing.assert_allclose(
        chain.predict_latent(XS, return_cov=True)[1], dense.predict_latent(XS, return_cov=True)[1], atol=1e-4
    )
    assert "4 blocks with 200 neighbours" in chain.status_.message
    assert chain.pseudo_inputs_ is None


@pytest.mark.parametrize("weights", [None, np.where(np.arange(200) % 3, 1.0, 2.0)], ids=["", "weights"])
def test_a_search_ends_where_the_dense_one_does(weights):
    chain = SparseGPClassifier("ep", mean="constant", **BLOCKS).fit(X, LABELS, weights)
    dense = GPClassifier("ep", mean="constant").fit(X, LABELS, weights)
    assert chain.status_.converged
    assert chain.log_evidence_ == pytest.approx(dense.log_evidence_, abs=0.05)
    np.testing.assert_allclose(chain.predict_proba(XS), dense.predict_proba(XS), atol=0.02)


def test_noise_and_two_lengthscales_are_learned():
    scaled = X * [1.0, 100.0]
    chain = SparseGPRegressor("ep", ard=True, approximation="blocks").fit(scaled, REALS)
    dense = GPRegressor(ard=True).fit(scaled, REALS)
    assert chain.log_evidence_ == pytest.approx(dense.log_evidence_, abs=1.0)
    assert chain.noise_ == pytest.approx(dense.likelihood_.noise, rel=0.1)
    np.testing.assert_allclose(chain.kernel_.lengthscale, dense.kernel_.lengthscale, rtol=0.1)
    assert chain.log_marginal_likelihood(chain.theta_) == pytest.approx(chain.log_evidence_, abs=1e-6)
    at = chain.theta_ - 0.2
    slope = chain.log_marginal_likelihood(at, eval_gradient=True)[1]
    steps = 1e-4 * np.eye(len(at))
    numeric = [
        (chain.log_marginal_likelihood(at + e) - chain.log_marginal_likelihood(at - e)) / 2e-4 for e in steps
    ]
    np.testing.assert_allclose(slope, numeric, atol=1e-4 * len(X))


def test_three_classes_have_a_chain_each():
    y = np.digitize(F, [-0.6, 0.6])
    model = SparseGPClassifier("ep", neighbours=60, approximation="blocks", **FIXED).fit(X, y)
    assert len(model.models_) == 3
    dense = GPClassifier("ep", **FIXED).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(XS), dense.predict_proba(XS), atol=0.05)


def test_neighbours_grow_and_the_status_says_so():
    smooth = SquaredExponential(2.0, 0.6)
    model = SparseGPRegressor(
        "ep", kernel=smooth, optimise=None, noise=0.05, approximation="blocks", neighbours=5
    ).fit(X, REALS)
    assert "raised from 5" in model.status_.message
    assert model.models_[0].problem.neighbours > 5


ROUGH = SquaredExponential(2.0, 0.05)
CHOICES = [
    ({"kernel": ROUGH}, 0, "blocks, not pseudo-points: the inputs have about 4"),
    ({"kernel": SquaredExponential(2.0, 0.5)}, 0, "pseudo-points: the inputs have about 9 cells"),
    ({"kernel": SquaredExponential(2.0, 0.5), "n_pseudo": 8}, 0, "blocks, not pseudo-points"),
    ({"kernel": ROUGH + Constant(1.0)}, 0, "pseudo-points: the inputs have about 0 cells"),
    ({"kernel": ROUGH}, 2, "pseudo-points: there are more than 3 columns"),
]


@pytest.mark.filterwarnings("ignore:n_pseudo=8 has no effect")
@pytest.mark.parametrize("parameters, more_columns, message", CHOICES)
def test_auto_chooses_by_lengthscales_and_columns(parameters, more_columns, message, monkeypatch):
    monkeypatch.setattr(module, "DENSE_ROWS", 150)
    inputs = np.column_stack([X, *[X[:, 0]] * more_columns])
    model = SparseGPClassifier("ep", optimise=None, approximation="auto", **parameters).fit(inputs, LABELS)
    assert message in model.status_.message
    by_name = {"blocks": 1, "pseudo": 0}[message.split(",")[0].split("-")[0].split(":")[0]]
    plain = ["pseudo-points", "blocks"][by_name]
    same = SparseGPClassifier("ep", optimise=None, approximation=plain, **parameters).fit(inputs, LABELS)
    np.testing.assert_array_equal(model.predict_proba(inputs), same.predict_proba(inputs))


def test_auto_searches_a_window_first(monkeypatch):
    monkeypatch.setattr(module, "DENSE_ROWS", 150)
    monkeypatch.setattr(module, "WINDOW", 150)
    chosen = SparseGPClassifier("ep", approximation="auto", n_pseudo=5).fit(X, LABELS)
    assert "blocks, not pseudo-points" in chosen.status_.message
    chosen = SparseGPClassifier("ep", approximation="auto", n_pseudo=200).fit(X, X[:, 0] > 0.5)
    assert "; pseudo-points: the inputs have" in chosen.status_.message


def test_auto_is_dense_for_few_rows():
    model = SparseGPClassifier("ep", approximation="auto", **FIXED).fit(X, LABELS)
    assert "dense: there are at most 2,000 rows" in model.status_.message
    assert model.log_evidence_ == pytest.approx(
        GPClassifier("ep", **FIXED).fit(X, LABELS).log_evidence_, abs=1e-5
    )


REFUSED = [
    ({"pseudo_inputs": X[:3]}, "approximation='blocks' takes no pseudo_inputs"),
    ({"batch_size": 50}, "approximation='blocks' takes no batch_size"),
    ({"correction": "cheap"}, "approximation='blocks' takes no correction"),
    ({"approximation": "block"}, "unknown approximation 'block'"),
    ({"neighbours": 0}, "neighbours must be a whole number of at least 1"),
    ({"neighbours": MOST_NEIGHBOURS + 1}, "neighbours must be a whole number of at most 960"),
]


@pytest.mark.parametrize("parameters, message", REFUSED)
def test_what_blocks_do_not_take_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        SparseGPClassifier(**{"approximation": "blocks", **FIXED, **parameters}).fit(X, LABELS)


def test_a_learned_mean_needs_a_search():
    with pytest.raises(ValueError, match="learned with its kernel"):
        SparseGPClassifier(mean="constant", approximation="blocks", **FIXED).fit(X, LABELS)


@pytest.mark.parametrize("parameters", [{"n_pseudo": 20}, {"jitter": 1e-3}])
def test_parameters_without_effect_are_named(parameters):
    name = next(iter(parameters))
    with pytest.warns(UserWarning, match=f"{name}=.* has no effect"):
        SparseGPClassifier("ep", approximation="blocks", **FIXED, **parameters).fit(X, LABELS)
    with pytest.warns(UserWarning, match="neighbours=30 has no effect"):
        SparseGPClassifier("ep", neighbours=30, n_pseudo=9, **FIXED).fit(X, LABELS)
