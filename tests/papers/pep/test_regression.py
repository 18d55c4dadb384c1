"""The regression experiments of the Power-EP paper: grids, starts, records."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from papers.data import regression
from papers.data.registry import data_home
from papers.pep import jobs
from papers.pep import regression as pep
from tilted.inference.result import Status
from tilted.kernels import SquaredExponential
from tilted.learning.search import Search
from tilted.posteriors.full import FullRegression


@pytest.fixture(scope="module")
def parts():
    """A small problem: X_train [40, 2], X_test [30, 2], y_train, y_test, with a constant column added."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(-2, 2, (70, 2)), np.full(70, 0.1)])
    y = 5.0 + 3.0 * np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(70)
    return X[:40], X[40:], y[:40], y[40:]


def test_a_grid_is_every_start_with_every_m_and_alpha_and_exact_regression_once():
    grid = {"alphas": [0, 0.5, "full"], "m": [5, 10]}
    assert pep.cells(grid) == [
        (0, 5, "data"),
        (0.5, 5, "data"),
        ("full", 0, "data"),
        (0, 10, "data"),
        (0.5, 10, "data"),
    ]
    both = pep.cells({**grid, "starts": ["data", "long"]})
    assert len(both) == 10 and {start for *_, start in both} == {"data", "long"}


def test_sizes_are_those_of_the_parts():
    X, Xs, y, ys = pep.parts_of("synthetic", 29, None)
    assert pep.sizes("synthetic") == (len(y), 30) and len(ys) == 500
    assert pep.sizes("naval") == (10741, 20)
    assert pep.datasets() == ["synthetic", *regression.names()]


def test_training_parts_are_standardised_and_constant_columns_vanish(parts):
    X, Xs, y, ys = pep.standardise(*parts)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(X.std(axis=0), [1, 1, 0], rtol=1e-13)
    assert np.all(X[:, 2] == 0) and np.all(Xs[:, 2] == 0)
    np.testing.assert_allclose([y.mean(), y.std()], [0, 1], atol=1e-13)
    np.testing.assert_allclose(ys * parts[2].std() + parts[2].mean(), parts[3])


def test_pseudo_inputs_start_as_the_start_says(parts):
    X = pep.standardise(*parts)[0]
    first = {name: pep.pseudo_inputs(X, 6, 4, start) for name, start in pep.STARTS.items()}
    assert all(Z.shape == (6, 3) for Z in first.values())
    for name in ("data", "data-2", "data-3"):
        assert all(any(np.array_equal(z, x) for x in X) for z in first[name])
    for name in ("short", "long", "quiet"):
        np.testing.assert_array_equal(first[name], first["data"])
    distinct = ["data", "data-2", "data-3", "k-means", "k-means-2"]
    for k, a in enumerate(distinct):
        assert not any(np.array_equal(first[a], first[b]) for b in distinct[:k])
    np.testing.assert_array_equal(first["data"], X[np.random.default_rng([4, 6]).permutation(40)[:6]])
    np.testing.assert_array_equal(first["k-means"], pep.pseudo_inputs(X, 6, 4, pep.STARTS["k-means"]))

    def spread(Z):
        return np.sum(np.min(np.sum((X[:, None] - Z) ** 2, axis=2), axis=1))

    assert spread(first["k-means"]) < 0.7 * min(spread(first[name]) for name in distinct[:3])
    assert len(pep.pseudo_inputs(X, 40, 0, pep.STARTS["k-means"])) == 40


def test_starts_differ_in_lengthscales_and_noise(parts, monkeypatch):
    seen = {}

    def maximise(problem, kernel, Z, noise, search):
        seen[name] = kernel, noise
        raise ValueError("seen")

    monkeypatch.setattr(pep, "maximise", maximise)
    for name in pep.STARTS:
        assert pep.run_cell(parts, "synthetic", 0, 0.5, 5, start=name)["start"] == name
    root = np.sqrt(3.0)
    assert seen.pop("short") == (SquaredExponential(1.0, (1 / 3 * root,) * 3), 0.1)
    assert seen.pop("long") == (SquaredExponential(1.0, (3.0 * root,) * 3), 0.1)
    assert seen.pop("quiet") == (SquaredExponential(1.0, (root,) * 3), 0.001)
    assert set(seen.values()) == {(SquaredExponential(1.0, (root,) * 3), 0.1)}


def test_a_record_says_what_was_fitted_and_is_json(parts):
    record = pep.run_cell(parts, "synthetic", 7, 0.5, 8)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert (record["dataset"], record["split"], record["alpha"], record["m"]) == ("synthetic", 7, "0.5", 8)
    assert (record["n_train"], record["n_test"], record["start"]) == (40, 30, "data")
    assert record["outcome"] == "ok" and record["smse"] < 0.2 and record["smll"] < -0.5


def test_exact_regression_has_the_evidence_at_its_hyperparameters(parts):
    record = pep.run_cell(parts, "synthetic", 0, "full", 0)
    X, Xs, y, ys = pep.standardise(*parts)
    at = record["hyperparameters"]
    kernel = SquaredExponential(at["variance"], tuple(at["lengthscale"]))
    state, _ = FullRegression(X, y).evaluate(kernel, np.zeros((0, 3)), at["noise"])
    np.testing.assert_allclose(record["nlml"], -state.log_evidence, rtol=1e-10)
    assert record["m"] == 0
    mean, variance = state.predict(Xs)  # of the function; what is observed has noise too
    loss = -norm.logpdf(ys, mean, np.sqrt(variance + at["noise"])).mean()
    trivial = -norm.logpdf(ys, y.mean(), y.std()).mean()
    np.testing.assert_allclose(record["smll"], loss - trivial, rtol=1e-9)


def test_a_failed_fit_is_a_record_with_its_reason(parts, monkeypatch):
    monkeypatch.setattr(pep, "JITTER", 0.0)
    X, Xs, y, ys = parts
    twice = np.vstack([X[:1]] * 20), Xs, np.linspace(0, 1, 20), ys  # one input twenty times: Kuu is singular
    record = pep.run_cell(twice, "synthetic", 0, 1.0, 6)
    assert record["nlml"] is None and record["hyperparameters"] is None
    assert record["outcome"] == "failed" and record["message"] and record["evaluations"] == 1
    json.dumps(record, allow_nan=False)


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        (Status(True, 0, evaluations=77, message="CONVERGENCE: done"), (77, "ok", "")),
        (Status(False, 0, evaluations=77, message="STOP:  too many\n"), (77, "stopped", "STOP: too many")),
    ],
)
def test_how_a_fit_ended(status, ended):
    row = pep.attempted(lambda: SimpleNamespace(status=status), lambda fit: {"nlml": 1.0}, ("nlml",))
    assert tuple(row[name] for name in ("evaluations", "outcome", "message")) == ended and row["nlml"] == 1.0


def test_predictions_that_cannot_be_are_failures(parts, monkeypatch):
    from tilted.posteriors.collapsed import Collapsed

    right = Collapsed.predict

    def predict(self, Xs):
        mean, variance = right(self, Xs)
        mean[3] = np.inf
        return mean, variance

    monkeypatch.setattr(Collapsed, "predict", predict)
    record = pep.run_cell(parts, "synthetic", 0, 0.5, 6)
    assert record["nlml"] is None and record["evaluations"] > 1
    assert "a predictive mean" in record["message"]


def test_wrong_arguments_are_errors_not_records(parts):
    with pytest.raises(ValueError, match="41 pseudo-points for 40 training points"):
        pep.run_cell(parts, "synthetic", 0, 0.5, 41)
    with pytest.raises(ValueError, match="powers lie between"):
        pep.run_cell(parts, "synthetic", 0, 1.5, 4)


def test_a_block_runs_every_cell_of_every_split_and_tells(monkeypatch, tmp_path):
    monkeypatch.setitem(pep.SEARCHES, "converged", Search(max_iterations=3))
    grid = {"protocol": "converged", "alphas": [0, 1], "m": [4], "starts": ["data", "long"]}
    records = list(jobs.block(pep.__name__, "synthetic", 2, 3, grid, tmp_path / "log"))
    assert [(r["split"], r["alpha"], r["m"], r["start"]) for r in records] == [
        (split, alpha, 4, start) for split in (2, 3) for start in ("data", "long") for alpha in ("0", "1")
    ]
    log = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert len(log) == 8 and log[1].startswith("dataset synthetic, split 2, alpha 1, m 4, start data, ")
    alone = pep.run_cell(pep.parts_of("synthetic", 3, None), "synthetic", 3, 1, 4, "long", "converged")
    assert alone["nlml"] == records[-1]["nlml"]


def test_a_block_takes_what_was_made_before_of_its_own_protocol(monkeypatch):
    for name in pep.SEARCHES:
        monkeypatch.setitem(pep.SEARCHES, name, Search(max_iterations=2))
    grid = {"protocol": "converged", "alphas": [0.5, "full"], "m": [4]}
    first = list(jobs.run_block(pep, "synthetic", [2], grid))
    made = [{**record, "run": "before"} for record in first]
    more = list(jobs.run_block(pep, "synthetic", [2, 3], {**grid, "alphas": [0, 0.5, "full"]}, earlier=made))
    assert [(r["split"], r["alpha"]) for r in more if "run" not in r] == [
        (2, "0"),
        *((3, alpha) for alpha in ("0", "0.5", "full")),
    ]
    assert [r for r in more if "run" in r] == made
    other = jobs.run_block(pep, "synthetic", [2], {**grid, "protocol": "as-described"}, earlier=made)
    assert all("run" not in record and record["protocol"] == "as-described" for record in other)
    (long,) = jobs.run_block(
        pep, "synthetic", [2], {**grid, "alphas": [0.5], "starts": ["long"]}, earlier=made
    )
    assert "run" not in long and long["start"] == "long"


def test_the_search_of_a_protocol(parts):
    described, converged = (
        pep.run_cell(parts, "synthetic", 0, 0.5, 4, protocol=name) for name in ("as-described", "converged")
    )
    assert described["protocol"] == "as-described" and converged["protocol"] == "converged"
    assert described["outcome"] == converged["outcome"] == "ok"
    assert described["evaluations"] != converged["evaluations"]
    assert pep.run_cell(parts, "synthetic", 0, 0.5, 4)["nlml"] == described["nlml"]


def test_a_block_of_a_regression_set_takes_its_splits(mirror, tmp_path, monkeypatch):
    (tmp_path / "sources.yaml").write_bytes((data_home() / "sources.yaml").read_bytes())
    dataset = regression.load("yacht", tmp_path, str(mirror))
    (record,) = jobs.run_block(
        pep, "yacht", [4], {"protocol": "as-described", "alphas": ["full"], "m": [1]}, dataset
    )
    again = pep.run_cell(regression.parts(dataset, 4), "yacht", 4, "full", 0)
    assert record["nlml"] == again["nlml"]
    assert (record["n_train"], record["n_test"]) == (277, 31)
    assert record["smse"] < 0.01


def test_a_seed_is_a_data_set():
    a, b, c = pep.draw(3, 50), pep.draw(3, 50), pep.draw(4, 50)
    np.testing.assert_array_equal(a.y, b.y)
    assert a.kernel == b.kernel != c.kernel
    assert a.X.shape == (50, 5)
    assert not np.allclose(a.y, c.y)


def test_draws_have_the_kernels_covariance_and_the_noise():
    drawn = pep.draw(0, 400, 2)
    assert np.all(np.abs(drawn.X) <= 2)
    assert all(1 <= s <= 4 for s in drawn.kernel.lengthscale)
    whitened = np.linalg.solve(np.linalg.cholesky(drawn.kernel.matrix(drawn.X) + 1e-6 * np.eye(400)), drawn.f)
    assert np.mean(whitened**2) < 1.3  # smooth draws leave most directions without variance
    residual = drawn.y - drawn.f
    np.testing.assert_allclose(np.var(residual), pep.DRAWN_NOISE, rtol=0.3)
    assert abs(np.corrcoef(residual, drawn.f)[0, 1]) < 0.2
