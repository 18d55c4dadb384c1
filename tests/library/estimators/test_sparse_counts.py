"""Counts through pseudo-points: the dense model where every input is one, and rows in batches."""

import numpy as np
import pytest
from sklearn.base import clone

import tilted
from tilted import GPPoissonRegressor, SparseGPPoissonRegressor
from tilted.learning import moves, passes, sparse
from tilted.learning.batch import Model
from tilted.learning.site_starts import first_sites
from tilted.likelihoods.exponential_link import NegativeBinomial, PoissonExponential
from tilted.likelihoods.real_counts import RealCounts

RNG = np.random.default_rng(5)
N = 50
X = RNG.uniform(-3.0, 3.0, (N, 2))
F = 1.0 + np.sin(X[:, 0]) + 0.3 * X[:, 1]
COUNTS = RNG.poisson(np.exp(F) * RNG.gamma(2.0, 0.5, N)).astype(float)
NEW = RNG.uniform(-3.0, 3.0, (8, 2))
W = RNG.choice([0.5, 1.0, 3.0], N)
KERNEL = tilted.SquaredExponential(0.5, 1.5)
LIKELIHOODS = ["poisson-square", "poisson-exp", "negative-binomial"]


def both(inference, jitter=1e-11, **how):
    """The dense model and the sparse one with every input."""
    dense = GPPoissonRegressor(inference, **how)
    return dense, SparseGPPoissonRegressor(inference, pseudo_inputs=X, jitter=jitter, **how)


@pytest.mark.parametrize("weights", [None, W])
@pytest.mark.parametrize("inference", ["ep", "power-ep", "vb"])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_with_every_input_it_is_the_dense_model(likelihood, inference, weights):
    one, other = (
        model.fit(X, COUNTS, weights)
        for model in both(inference, likelihood=likelihood, kernel=KERNEL, optimise=None)
    )
    assert one.status_.converged and other.status_.converged
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(
        one.predict(NEW, return_std=True), other.predict(NEW, return_std=True), rtol=1e-6
    )
    k = np.arange(8.0)
    np.testing.assert_allclose(one.log_predictive(NEW, k), other.log_predictive(NEW, k), atol=1e-6)
    np.testing.assert_array_equal(one.sample_y(NEW, 5, 1), other.sample_y(NEW, 5, 1))


@pytest.mark.parametrize(
    "likelihood, inference, mean",
    [
        ("poisson-square", "ep", None),
        ("poisson-exp", "ep", "constant"),
        ("negative-binomial", "vb", "constant"),
        pytest.param("negative-binomial", "ep", None, marks=pytest.mark.slow),
    ],
)
def test_it_learns_what_the_dense_model_learns(likelihood, inference, mean):
    """Kernel, mean and dispersion, by one gradient of them all."""
    one, other = (model.fit(X, COUNTS) for model in both(inference, 1e-9, likelihood=likelihood, mean=mean))
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-4)
    np.testing.assert_allclose(one.theta_, other.theta_, atol=5e-3)
    assert one.mean_ == pytest.approx(other.mean_, abs=5e-3)
    if likelihood == "negative-binomial":
        assert one.likelihood_.dispersion == pytest.approx(other.likelihood_.dispersion, rel=0.02)
        assert other.likelihood_.dispersion != pytest.approx(0.5, rel=0.03)  # where it started


@pytest.mark.parametrize("likelihood", ["poisson-square", "poisson-exp"])
def test_corrections_are_those_of_the_dense_model(likelihood):
    how = {"likelihood": likelihood, "kernel": KERNEL, "optimise": None, "correction": "cheap"}
    one, other = (model.fit(X, COUNTS) for model in both("ep", **how))
    np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-5)
    k = np.arange(8.0)
    np.testing.assert_allclose(one.log_predictive(NEW, k), other.log_predictive(NEW, k), atol=1e-5)


def test_a_dispersion_that_is_given_is_kept_without_a_search():
    given = NegativeBinomial(0.2)
    how = {"likelihood": given, "n_pseudo": 8, "kernel": KERNEL}
    assert SparseGPPoissonRegressor(optimise=None, **how).fit(X, COUNTS).likelihood_ == given
    assert SparseGPPoissonRegressor(**how).fit(X, COUNTS).likelihood_ != given


MANY = 900
ROWS = RNG.uniform(-3.0, 3.0, (MANY, 2))
RATES = np.exp(1.0 + np.sin(ROWS[:, 0]) + 0.3 * ROWS[:, 1])
MANY_COUNTS = RNG.poisson(RATES * RNG.gamma(4.0, 0.25, MANY)).astype(float)
KEPT = {"kernel": KERNEL, "pseudo_inputs": ROWS[:20], "optimise": None}


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_counts_may_come_later(likelihood):
    model = SparseGPPoissonRegressor(likelihood=likelihood, batch_size=300, mean=1.5, **KEPT)
    for first in range(0, MANY, 300):
        rows = slice(first, first + 300)
        model.partial_fit(ROWS[rows], MANY_COUNTS[rows])
    assert model.log_evidence_ is None and "900 in all" in model.status_.message
    whole = clone(model).set_params(batch_size=None).fit(ROWS, MANY_COUNTS)
    first = clone(whole).fit(ROWS[:300], MANY_COUNTS[:300])
    apart = np.max(np.abs(np.log(first.predict(NEW) / whole.predict(NEW))))
    assert np.max(np.abs(np.log(model.predict(NEW) / whole.predict(NEW)))) < 0.2 * apart
    with pytest.raises(ValueError, match="counts must"):
        model.partial_fit(ROWS[:3], [-1.0, 2.0, 3.0])


@pytest.mark.slow
def test_the_dispersion_is_learned_from_a_batch():
    model = SparseGPPoissonRegressor(likelihood="negative-binomial", n_pseudo=15, batch_size=450)
    model.fit(ROWS, MANY_COUNTS)
    assert 0.1 < model.likelihood_.dispersion < 0.6  # 1/4 is true
    assert np.corrcoef(np.log(model.predict(ROWS)), np.log(RATES))[0, 1] > 0.95


def test_later_counts_that_are_no_whole_numbers_are_warned_of():
    model = SparseGPPoissonRegressor(batch_size=300, **KEPT).partial_fit(ROWS, MANY_COUNTS)
    with pytest.warns(UserWarning, match="no whole numbers"):
        model.partial_fit(ROWS[:3], [0.5, 2.0, 3.0])


@pytest.mark.parametrize(
    ("likelihood", "alpha"), [(RealCounts(), 0.5), (PoissonExponential(), 0.0), (NegativeBinomial(0.3), 0.5)]
)
def test_passes_end_where_sweeps_end(likelihood, alpha):
    """To the tolerance, evidence too, from the posterior of some of the rows."""
    mean = 1.5 if likelihood.log_concave else 2.0
    kernel, Z = tilted.SquaredExponential(0.5, 1.5), ROWS[:20]

    def swept(rows):
        problem = sparse.Problem(ROWS[:rows], MANY_COUNTS[:rows], likelihood, alpha, mean, 1e-6)
        found = problem.infer(kernel, Z, first_sites(likelihood, problem.y, mean))
        assert found[1].status.converged
        return problem.rule, *found

    _, _, some = swept(100)
    rule, posterior, every = swept(MANY)
    start = moves.Posterior.from_factor(some.state.factor, some.state.projected)
    model = Model(posterior.pseudo, likelihood, rule, mean)
    found = passes.passes(model, ROWS, MANY_COUNTS, 90, start, tolerance=1e-9)
    assert found.status.converged
    assert found.log_evidence == pytest.approx(every.log_evidence, abs=1e-5)
    predicted = posterior.pseudo.predict(found.posterior.factor, found.posterior.projected, NEW)
    np.testing.assert_allclose(predicted, posterior.predict(every.state, NEW), atol=1e-6)
