"""EP's search as the released code makes it: against cells computed by that code, and against the engine."""

from dataclasses import replace

import numpy as np
import pytest

import tilted
from papers import data
from papers.qp import ep_released, fits
from tilted.gaussian import Sites
from tilted.inference import textbook
from tilted.inference.ep import EP
from tilted.kernels import SquaredExponential
from tilted.learning.search import Search
from tilted.likelihoods import get
from tilted.posteriors.dense import Dense

PROTOCOL = "as-released+search-of-code"
N = 70  # more than two blocks of rank-one steps


def tuned(dataset, fold):
    """Records of both tunings, by name."""
    records = fits.run_fold(data.load(dataset), PROTOCOL, "ep", 0, fold)
    return {record["method"].replace("-", "_"): record for record in records}


def reference(cells, dataset, method):
    (cell,) = [c for c in cells["classification"] if (c["dataset"], c["method"]) == (dataset, method)]
    return cell


@pytest.fixture
def points():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=N) > 0, 1.0, -1.0)


@pytest.fixture
def model(points):
    """Function: an `ep_released._Model` at some sites."""
    return lambda sites=None: ep_released._Model(*points, get("probit"), 1e-16, sites or Sites.zeros(N))


def test_the_search_takes_the_path_of_the_code(cells, mirror, monkeypatch):
    """IonoS: as many inferences and sweeps, an end of the same six digits, where a tight stop gives four."""
    monkeypatch.setenv("TILTED_DATA_MIRROR", str(mirror))
    found, cell = tuned("ionosphere", 0)["ep_tune"], reference(cells, "ionosphere", "ep_tune")
    status = found["status"]
    assert (status["evaluations"], status["sweeps"]) == (cell["n_inference"], cell["n_sweeps"])
    assert found["hyperparameters"]["variance"] == pytest.approx(cell["variance"], rel=1e-6)
    assert found["hyperparameters"]["lengthscale"] == pytest.approx(cell["lengthscale"], rel=1e-6)
    (other, _) = fits.run_fold(data.load("ionosphere"), "as-released", "ep", 0, 0)
    assert other["hyperparameters"]["variance"] != pytest.approx(cell["variance"], rel=1e-5)


def test_on_a_flat_ridge_it_stops_where_the_code_did_and_a_second_goes_on(cells):
    """Wine2: where each ends is decided by rounding, but far below the top of the ridge, as in the code.

    The first ended at the code's 780.39 to 1e-5 and the second beyond it on the machine of the records, both
    at 1300.9 on another, so that neither number can be asked for.
    """
    found = tuned("wine13", 1)
    first, second = (found[name]["hyperparameters"]["variance"] for name in ("ep_tune", "ep"))
    code = [reference(cells, "wine13", name)["variance"] for name in ("ep_tune", "ep")]
    top, *_ = fits.run_fold(data.load("wine13"), "as-released", "ep", 0, 1)
    assert top["hyperparameters"]["variance"] > 50 * code[1]
    assert 0.5 * code[0] < first < 2.0 * code[0] and first < (1.0 + 1e-6) * second < 5 * code[1]
    assert found["ep_tune"]["log_evidence"] < top["log_evidence"] - 0.01
    for name in ("ep_tune", "ep"):
        evidence = reference(cells, "wine13", name)["log_marginal_likelihood"]
        assert found[name]["log_evidence"] == pytest.approx(evidence, abs=0.03)


def test_a_sweep_is_that_of_the_textbook(points):
    X, y = points
    posterior, rng = Dense.build(SquaredExponential(2.0, 0.8).matrix(X)), np.random.default_rng(0)
    start = Sites(rng.uniform(0.1, 0.5, N), rng.normal(size=N))
    ours, _ = ep_released._sweep(posterior, start, get("probit"), y, 0.0)
    theirs = textbook.sweep_on(posterior, get("probit"), y, EP, max_sweeps=1, start=start).sites
    np.testing.assert_allclose(ours.tau, theirs.tau, rtol=1e-9)
    np.testing.assert_allclose(ours.nu, theirs.nu, rtol=1e-9, atol=1e-12)


def test_at_the_fixed_point_evidence_and_slope_are_the_engines(points, model):
    kernel = SquaredExponential(2.0, 0.8)
    fit = tilted.fit(*points, "probit", kernel=kernel, optimise=False)
    evidence, slope = model(fit.inference.sites).evaluate(kernel)
    assert evidence == pytest.approx(fit.log_evidence, abs=1e-8)
    by_difference = [
        (
            tilted.fit(*points, "probit", kernel=up, optimise=False).log_evidence
            - tilted.fit(*points, "probit", kernel=down, optimise=False).log_evidence
        )
        / 2e-4
        for name, value in (("variance", 2.0), ("lengthscale", 0.8))
        for up, down in [(replace(kernel, **{name: value + 1e-4}), replace(kernel, **{name: value - 1e-4}))]
    ]
    np.testing.assert_allclose(slope, by_difference, rtol=1e-5)


def test_sweeps_go_on_until_the_last_one_changed_little(model):
    """At least two, and to the stop of the code: flat sites need more, its own end no more than two."""
    kernel = SquaredExponential(2.0, 0.8)
    one = model()
    one.evaluate(kernel)
    first = one.sweeps
    assert first > 2
    again = ep_released._sweep(Dense.build(kernel.matrix(one.X)), one.sites, one.likelihood, one.y, 0.0)[0]
    assert np.mean((again.tau - one.sites.tau) ** 2) < 1e-6
    one.evaluate(kernel)
    assert one.sweeps == first + 2


def test_what_does_not_settle_or_has_no_cavity_says_so(model, monkeypatch):
    kernel = SquaredExponential(2.0, 0.8)
    with pytest.raises(ArithmeticError, match="the cavity of point 1 is improper"):
        holds_the_others = Sites(np.append(100.0, np.full(N - 1, -0.45)), np.zeros(N))
        model(holds_the_others).evaluate(SquaredExponential(2.0, 1e3))
    monkeypatch.setattr(ep_released, "MOST", 2)
    with pytest.raises(ArithmeticError, match="sites still change after 2 sweeps"):
        model().evaluate(kernel)


def test_a_search_at_its_limit_has_not_converged(points):
    end = ep_released.search(
        *points, get("probit"), SquaredExponential(1.0, 1.0), None, Search(max_iterations=2), 1e-16
    )
    fit = tilted.fit(*points, "probit", kernel=end.kernel, optimise=False)
    status = end.status(fit.status)
    assert fit.status.converged and not status.converged and "limit" in status.message
    assert (status.evaluations, status.sweeps) == (end.evaluations, end.sweeps)
