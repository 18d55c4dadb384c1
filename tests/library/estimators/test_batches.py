"""Sparse estimators whose rows come in batches: the same posterior as of all rows at once."""

import pickle
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_estimator

import tilted
from tilted import SparseGPClassifier, SparseGPPoissonRegressor, SparseGPRegressor
from tilted.learning import moves, passes, sparse
from tilted.learning.batch import Model, Sums
from tilted.learning.search import Search
from tilted.likelihoods.logit import Logit
from tilted.likelihoods.probit import Probit
from tilted.numerics import chunks

ROOT = Path(__file__).parents[3]
RNG = np.random.default_rng(0)
N = 1200
X = RNG.normal(size=(N, 2))
F = np.sin(2.0 * X[:, 0]) + X[:, 1]
LABELS = np.where(F + 0.4 * RNG.normal(size=N) > 0, "yes", "no")
THREE = np.digitize(F + 0.2 * RNG.normal(size=N), [-0.7, 0.7])
REALS = 3.0 + F + 0.3 * RNG.normal(size=N)
WEIGHTS = RNG.integers(1, 4, N).astype(float)
NEW = RNG.normal(size=(40, 2))
Z = X[:20]
KERNEL = tilted.SquaredExponential(4.0, 1.0)
SHORT = Search(max_iterations=25, relative_tolerance=1e-4, gradient_tolerance=1e-2)
KEPT = {"kernel": KERNEL, "pseudo_inputs": Z, "optimise": None}


@pytest.mark.parametrize(("likelihood", "alpha"), [(Probit(), 0.5), (Probit(), 1.0), (Logit(), 0.0)])
def test_passes_end_where_sweeps_end(alpha, likelihood, monkeypatch):
    """In batches of several pieces, the last of them short; with a mean."""
    monkeypatch.setattr(chunks, "CHUNK", 70)
    y = np.where(LABELS == "yes", 1.0, -1.0)
    problem = sparse.Problem(X, y, likelihood, alpha, 0.3, 1e-6)
    posterior, inference = problem.infer(KERNEL, Z)
    assert inference.status.converged
    model = Model(posterior.pseudo, likelihood, problem.rule, 0.3)
    heard = []
    found = passes.passes(model, X, y, 110, tolerance=1e-9, watch=lambda *told: heard.append(told))
    assert found.status.converged and found.status.sweeps == len(heard)
    assert [told[0] for told in heard] == list(range(1, len(heard) + 1)) and heard[-1][1] <= 1e-9
    assert found.log_evidence == pytest.approx(inference.log_evidence, abs=1e-5)
    mean, variance = posterior.pseudo.predict(found.posterior.factor, found.posterior.projected, NEW)
    expected = posterior.predict(inference.state, NEW)
    np.testing.assert_allclose(mean, expected[0], atol=1e-6)
    np.testing.assert_allclose(variance, expected[1], rtol=1e-6)
    assert found.posterior.sums.rows == N
    known = moves.Posterior.from_factor(found.posterior.factor, found.posterior.projected)
    assert known.distance(found.posterior) < 1e-9


MODELS = [
    (SparseGPClassifier(**KEPT), LABELS, None),
    (SparseGPClassifier("vb", likelihood="logit", mean=0.2, **KEPT), LABELS, None),
    (SparseGPClassifier("ep", class_weight="balanced", **KEPT), THREE, None),
    (SparseGPClassifier(**KEPT), LABELS, WEIGHTS),
    (SparseGPRegressor("vb", noise=0.1, mean=3.0, **KEPT), REALS, WEIGHTS),
    (SparseGPRegressor(noise=0.1, mean=0.0, **KEPT), REALS, None),
    (SparseGPRegressor(noise=0.1, mean=2.0**20, **KEPT), REALS + 2.0**20, None),
]


@pytest.mark.parametrize("batch", [100, 5 * N])
@pytest.mark.parametrize("model, y, weights", MODELS)
def test_estimators_in_batches_are_those_of_all_rows(model, y, weights, batch):
    """Evidences were off by thousands of nats where one pass was enough, and by the square of the level."""
    whole = model.set_params(batch_size=None).fit(X, y, weights)
    evidence, expected = whole.log_evidence_, whole.predict_latent(NEW, return_std=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rows without a neighbour among 100
        batched = model.set_params(batch_size=batch).fit(X, y, weights)
    assert batched.log_evidence_ == pytest.approx(evidence, abs=0.1)
    for one, other in zip(batched.predict_latent(NEW, return_std=True), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=2e-3)
    statuses = batched.status_ if isinstance(batched.status_, list) else [batched.status_]
    assert all(f"over {N:,} rows" in status.message for status in statuses)


@pytest.mark.parametrize("model, y", [(SparseGPClassifier(), LABELS), (SparseGPRegressor(), REALS)])
def test_the_kernel_is_learned_from_a_batch(model, y):
    model.set_params(n_pseudo=10, batch_size=200, verbose=False).fit(X, y)
    again = model.__class__(n_pseudo=10, batch_size=200).fit(X, y)
    np.testing.assert_array_equal(again.predict_latent(NEW), model.predict_latent(NEW))
    assert model.score(X, y) > 0.8 and model.status_.evaluations > 3
    assert len(pickle.dumps(model)) < 60_000  # rows are not kept
    with pytest.raises(ValueError, match="its rows are not kept"):
        model.log_marginal_likelihood(model.theta_)
    assert model.log_marginal_likelihood() == model.log_evidence_


def test_jobs_make_no_difference():
    one, two = (
        SparseGPClassifier(batch_size=60, n_jobs=jobs, **KEPT).fit(X, LABELS).predict_latent(NEW, True)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_another_backend_makes_no_difference():
    """Two workers of dask, on this machine or on others."""
    distributed = pytest.importorskip("distributed")
    model = SparseGPClassifier(batch_size=60, n_jobs=-1, **KEPT)
    here = model.fit(X, LABELS).predict_latent(NEW, True)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
    ):
        there = model.fit(X, LABELS).predict_latent(NEW, True)
    np.testing.assert_allclose(there, here, rtol=1e-10)


def test_rows_on_a_disk_are_not_read_into_memory(tmp_path):
    """Nor where one of them does not count."""
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(25_000, 60)))
    rows = np.load(tmp_path / "X.npy", mmap_mode="r")
    y = np.where(rows[:, 0] > 0, 1, 0)
    kernel = tilted.SquaredExponential(4.0, 9.0)
    model = SparseGPClassifier(batch_size=200, kernel=kernel, n_pseudo=15, optimise=None)
    weights = np.append(0.0, np.ones(len(y) - 1))
    tracemalloc.start()
    model.fit(rows, y, weights)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * rows.nbytes
    assert model.score(rows[:5000], y[:5000]) > 0.58  # without learning, 0.50 to 0.01


def test_rows_on_a_disk_that_do_not_count_are_as_if_not_there(tmp_path):
    np.save(tmp_path / "X.npy", X)
    rows, counts = np.load(tmp_path / "X.npy", mmap_mode="r"), np.arange(N) % 3 > 0
    model = SparseGPClassifier(batch_size=60, n_jobs=2, **KEPT)
    there = model.fit(rows, LABELS, counts.astype(float)).predict_latent(NEW, True)
    here = model.fit(X[counts], LABELS[counts]).predict_latent(NEW, True)
    np.testing.assert_array_equal(there, here)


def test_rows_may_come_later():
    """Nearly the posterior of all of them at once: sites of the first rows stay behind."""
    model = SparseGPClassifier(batch_size=300, **KEPT)
    for first in range(0, N, 300):
        rows = slice(first, first + 300)
        model.partial_fit(X[rows], LABELS[rows], classes=["no", "yes"])
    assert model.log_evidence_ is None and "1,200 in all" in model.status_.message
    assert model.models_[0].log_evidence is None
    whole = SparseGPClassifier(**KEPT).fit(X, LABELS)
    np.testing.assert_allclose(model.predict_proba(NEW), whole.predict_proba(NEW), atol=0.02)
    first = SparseGPClassifier(**KEPT).fit(X[:300], LABELS[:300])
    apart = np.max(np.abs(first.predict_proba(NEW) - whole.predict_proba(NEW)))
    assert apart > 5 * np.max(np.abs(model.predict_proba(NEW) - whole.predict_proba(NEW)))


def test_regression_forgets_nothing():
    """Its sites do not depend on each other."""
    how = {"noise": 0.1, "mean": 3.0, **KEPT}
    model = SparseGPRegressor(batch_size=200, **how)
    for rows in (slice(0, 500), slice(500, 501), slice(501, N)):
        model.partial_fit(X[rows], REALS[rows], WEIGHTS[rows])
    whole = SparseGPRegressor(**how).fit(X, REALS, WEIGHTS)
    np.testing.assert_allclose(model.predict(NEW), whole.predict(NEW), atol=1e-8)


def test_what_cannot_be_said_of_batches_is_refused():
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'"):
        SparseGPClassifier().partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="need to have all classes"):
        SparseGPClassifier(batch_size=100).partial_fit(X, LABELS, classes=["no", "yes", "perhaps"])
    model = SparseGPClassifier(batch_size=100, **KEPT).partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="classes that the first rows did not have"):
        model.partial_fit(X[:3], ["yes", "no", "perhaps"])
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(X[:3, :1], LABELS[:3])
    with pytest.raises(ValueError, match="needs all rows"):
        SparseGPClassifier(batch_size=100, class_weight="balanced").partial_fit(X, LABELS)
    with pytest.raises(ValueError, match="batch_size must be a whole number"):
        SparseGPRegressor(batch_size=0.5).fit(X, REALS)
    with pytest.raises(ValueError, match="not with batch_size"):
        SparseGPClassifier(batch_size=100, correction="cheap").fit(X, LABELS)


def test_batches_of_any_size_end_at_the_same_posterior():
    """Steps that were shortened grow again: from twenty rows' posterior they had no end."""
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] > 0
    how = KEPT | {"kernel": tilted.SquaredExponential(1e4, 1.0)}
    small, large = (SparseGPClassifier(batch_size=size, **how).fit(X, y) for size in (20, 400))
    assert small.status_.converged and large.status_.converged
    np.testing.assert_allclose(small.predict_proba(NEW), large.predict_proba(NEW), atol=2e-3)


def test_rows_in_the_order_of_their_labels_are_seen_by_chance():
    order = np.argsort(LABELS)
    model = SparseGPClassifier(batch_size=100, n_pseudo=15).fit(X[order], LABELS[order])
    assert model.score(X, LABELS) > 0.8


def test_distances_are_in_sd_whatever_the_correlations():
    """It had been the length of L d for L^T d: 0.74 of 0.003 sd, of variances a million times apart."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 40)) * np.array([0.3, 1.0, 3.0, 10.0, 100.0, 300.0])[:, None]
    shift = rows @ rng.normal(size=40)
    one, other = (moves.Posterior.of(Sums(rows @ rows.T, shift + move)) for move in (0.0, 0.01))
    precision = np.eye(6) + rows @ rows.T
    apart = np.linalg.solve(precision, np.full(6, 0.01))
    assert one.distance(other) == pytest.approx(np.sqrt(apart @ precision @ apart / 6), rel=1e-6)


def test_later_rows_are_bounded_in_time_too():
    model = SparseGPClassifier(batch_size=300, **KEPT).partial_fit(X[:600], LABELS[:600])
    with pytest.warns(ConvergenceWarning, match="still moves after 1 passes"):
        model.set_params(max_time=1e-9).partial_fit(X[600:], LABELS[600:])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_later_rows_do_not_make_up_for_what_had_not_converged():
    searched = SparseGPRegressor(batch_size=300, pseudo_inputs=Z, search=Search(max_iterations=1))
    timed = SparseGPClassifier(batch_size=300, max_time=1e-9, **KEPT)
    for model, targets in ((searched, REALS), (timed, LABELS)):
        model.partial_fit(X[:600], targets[:600])
        before = model.status_
        assert not before.converged
        for rows in (slice(600, 900), slice(900, N)):
            model.set_params(max_time=600.0).partial_fit(X[rows], targets[rows])
            assert not model.status_.converged
            assert model.status_.message.endswith(f" in all; before: {before.message}")


def test_a_kernel_that_was_not_found_is_said():
    with pytest.warns(ConvergenceWarning, match="kernel of 100 rows"):
        model = SparseGPClassifier(n_pseudo=10, batch_size=100, search=Search(max_iterations=1)).fit(
            X, LABELS
        )
    assert not model.status_.converged and "converged in" in model.status_.message


def test_passes_that_end_early_are_said():
    with pytest.warns(ConvergenceWarning, match="still moves after 1 passes"):
        SparseGPClassifier(batch_size=100, max_time=1e-9, **KEPT).fit(X, LABELS)


def test_sums_of_batches_are_not_kept():
    """Of 250 batches with 100 x 100 sums."""
    model = SparseGPRegressor(batch_size=2, noise=0.1, kernel=KERNEL, pseudo_inputs=X[:100], optimise=None)
    tracemalloc.start()
    model.fit(X[:500], REALS[:500])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 8 * 100**2


def test_later_rows_are_refused_as_the_first_ones_are():
    model = SparseGPClassifier(batch_size=100, **KEPT).fit(X, LABELS)
    with pytest.raises(ValueError, match="X has values up to"):
        model.partial_fit(1e60 * X, LABELS)
    whole = SparseGPClassifier(**KEPT).fit(X, LABELS).set_params(batch_size=100)
    with pytest.raises(ValueError, match="fitted without batch_size"):
        whole.partial_fit(X, LABELS)


def test_passes_are_told(capsys):
    SparseGPRegressor(batch_size=600, verbose=True, noise=0.1, **KEPT).fit(X, REALS)
    assert capsys.readouterr().out.startswith("pass 1: the posterior moved by ")


CHANCE = {"check_sample_weight_equivalence_on_dense_data": "the kernel is learned from rows taken by chance"}
SEARCHING = [
    SparseGPClassifier("ep", batch_size=100, n_pseudo=20, search=SHORT),
    SparseGPPoissonRegressor(batch_size=200, n_pseudo=20, search=SHORT),
    SparseGPRegressor(batch_size=100, n_pseudo=20, search=SHORT),
]


@pytest.mark.slow
@pytest.mark.parametrize("model", SEARCHING)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_conventions_of_scikit_learn(model):
    expected = CHANCE if isinstance(model, SparseGPClassifier) else {}
    check_estimator(model, expected_failed_checks=expected, on_skip=None)


@pytest.mark.parametrize(("seed", "least"), [(42, 97.9), pytest.param(45, 73.5, marks=pytest.mark.slow)])
def test_searches_of_few_rows_without_noise_converge(seed, least):
    """BFGS took its limit of evaluations, many of them at lengthscales without end, up to 8 nats low.

    By rounding, such as that of two threads, searches of the first rows end at 98.11, 98.004 or 97.9999.
    """
    rng = np.random.RandomState(seed)
    X, y, counts = rng.rand(15, 30), rng.randint(0, 3, 15), rng.randint(0, 5, 15)
    model = SparseGPRegressor(batch_size=100, n_pseudo=20)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert weighted.status_.converged and repeated.status_.converged
    assert min(weighted.log_evidence_, repeated.log_evidence_) > least
    assert weighted.log_evidence_ == pytest.approx(repeated.log_evidence_, abs=0.2)


@pytest.mark.parametrize("kind", [SparseGPClassifier, SparseGPRegressor, SparseGPPoissonRegressor])
def test_later_rows_out_of_sight_of_the_pseudo_inputs_are_said(kind):
    """Rows sorted by time: all but the first were fitted by the prior, and the status was converged."""
    t = np.linspace(0.0, 40.0, 1200)[:, None]
    wave = np.sin(2.0 * t[:, 0])
    y = {SparseGPClassifier: wave > 0, SparseGPRegressor: wave}.get(kind, np.round(5.0 + 4.0 * wave))
    model = kind(n_pseudo=10, batch_size=150)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.partial_fit(t[:300], y[:300]).partial_fit(t[:300:2], y[:300:2])
    with pytest.warns(UserWarning, match="no correlation above 0.001 with a pseudo-input, which the first"):
        model.partial_fit(t[900:], y[900:])
    assert "shuffle rows, or fit anew" in model.status_.message


def test_a_kernel_that_is_kept_needs_no_rows_of_both_classes():
    """A rare label was refused for want of rows to learn a kernel from that was given."""
    rare = (np.max(F) == F).astype(int)
    of_all = SparseGPClassifier(**KEPT).fit(X, rare)
    batched = SparseGPClassifier(batch_size=100, random_state=0, **KEPT).fit(X, rare)
    assert batched.status_.converged
    np.testing.assert_allclose(batched.predict_proba(NEW), of_all.predict_proba(NEW), atol=1e-3)


@pytest.mark.parametrize("seed, classes", [(0, 2), (1, 3)])
def test_a_rare_class_is_learned_from_whatever_the_chance(seed, classes):
    """Ten rows of 2,000: half a row of a batch."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2000, 2))
    y = (rows[:, 0] + rng.normal(size=2000) > 0).astype(int) if classes == 3 else np.zeros(2000, int)
    y[:10], rows[:10] = 2, rng.normal(size=(10, 2)) / 10 + 2
    model = SparseGPClassifier(n_pseudo=20, batch_size=100, search=SHORT, random_state=seed).fit(rows, y)
    rare = model.predict_proba(rows)[:, -1]
    assert np.min(rare[:10]) > 10 * np.mean(rare[10:])


def test_later_rows_add_no_pseudo_inputs_which_is_said():
    model = SparseGPRegressor(n_pseudo=40, batch_size=1000).partial_fit(X[:8], REALS[:8])
    with pytest.warns(UserWarning, match="there are 8 pseudo-inputs where n_pseudo=40"):
        model.partial_fit(X[8:], REALS[8:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SparseGPRegressor(n_pseudo=40, batch_size=1000, search=SHORT).fit(X[:500], REALS[:500])
        assert model.partial_fit(X[500:], REALS[500:]).score(X, REALS) > 0.9
