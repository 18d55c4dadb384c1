"""Fits, choices and five-point studies of relaxed EP: records, failures, what is chosen, known errors."""

import json

import numpy as np
import pytest
from scipy.stats import norm

from papers.rep import blobs, cross_validation, methods
from papers.rep import boundary as rep_boundary
from papers.rep import exact as rep_exact
from papers.rep import fits as rep
from papers.rep import points as rep_points
from papers.rep.methods import METHODS, Method, Problem
from papers.rep.records import BOUNDARY, POINTS
from tilted.exact import weights as exact
from tilted.exact.chains import Moments
from tilted.gaussian import Marginals
from tilted.inference.ep import EP
from tilted.inference.pep import power_rule
from tilted.inference.relaxations import NORMALISED, Relaxation
from tilted.inference.rep import SEARCHED
from tilted.inference.textbook import OUTCOMES, UNSETTLED, sweep_on
from tilted.kernels.linear import Linear
from tilted.likelihoods.step import NoisyStep
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense
from tilted.posteriors.linear import weights


@pytest.fixture(scope="module")
def parts():
    """60 training and 80 test points of the made-up set."""
    X, y, Xs, ys = blobs.draw(1, n_train_per_class=30, flips=0.1, n_test=80)
    return X, Xs, y, ys


# Fits


@pytest.mark.parametrize("method", METHODS)
def test_every_method_makes_a_record(method, parts):
    record = rep.run_cell(parts, method, METHODS[method].values[-1], 0.5, 0.1, 30)
    assert json.loads(json.dumps(record)) == record
    assert record["outcome"] in OUTCOMES and (record["reason"] == "") == (record["outcome"] == "converged")
    assert 0 <= record["error"] < 0.4 and 0 < record["nll"] < 1
    assert (record["n_train"], record["n_test"]) == (60, 80) and record["sweeps"] > 0
    swept = 0 if method.endswith("engine") else record["sweeps"]
    assert len(record["changes"]) == swept


def test_scores_are_those_of_dense_formulas(parts):
    X, Xs, y, ys = parts
    likelihood, prior = NoisyStep(0.1), rep.prior_of(X, 0.5)
    found = METHODS["ep"].run(Problem(prior, likelihood, y), 1.0)
    K = prior.K
    cross = np.exp(-0.5 * np.sum((Xs[:, None] - X) ** 2, axis=2) / 0.25)
    tau, nu = found.state.sites.tau, found.state.sites.nu
    mean = cross @ np.linalg.solve(np.eye(60) + tau[:, None] * K, nu)
    W = np.linalg.solve(np.eye(60) + tau[:, None] * K, np.diag(tau))
    variance = 1.0 - np.einsum("an,nm,am->a", cross, W, cross)
    p = 0.1 + 0.8 * norm.cdf(ys * mean / np.sqrt(variance))
    scores = rep.score(found, X, Xs, ys, 0.5, likelihood)
    assert scores["error"] == np.mean(ys * mean < 0)
    assert scores["nll"] == pytest.approx(-np.mean(np.log(p)), rel=1e-9)


@pytest.mark.parametrize("error", [NotPositiveDefinite("B", 3, 60), ArithmeticError("variance lost")])
def test_a_failed_fit_is_a_record_with_its_reason(error, parts, monkeypatch):
    def fail(*_):
        raise error

    monkeypatch.setitem(METHODS, "ep", Method("fails", fail))
    record = rep.run_cell(parts, "ep", 1.0, 0.5, 0.1)
    assert (record["outcome"], record["error"], record["nll"]) == (rep.FAILED, None, None)
    assert record["reason"] == str(error) and record["changes"] == [] and record["sweeps"] == 0


def test_a_diverged_fit_is_scored_at_its_last_proper_posterior():
    X, y, Xs, ys = blobs.draw(0, n_train_per_class=50, flips=0.2, n_test=40)
    record = rep.run_cell((X, Xs, y, ys), "ep", 1.0, 2.0, 0.1)
    assert record["outcome"] == "diverged" and "improper" in record["reason"]
    found = methods.swept(Problem(rep.prior_of(X, 2.0), NoisyStep(0.1), y, record["sweeps"]), EP)
    assert found.outcome == UNSETTLED
    assert rep.score(found, X, Xs, ys, 2.0, NoisyStep(0.1))["nll"] == record["nll"]


def test_the_reason_of_a_divergence_names_its_sweep():
    X, y, _, _ = blobs.draw(0, n_train_per_class=50, flips=0.2, n_test=4)
    problem = Problem(rep.prior_of(X, 2.0), NoisyStep(0.1), y, 40)
    found = methods.relaxed(problem, Relaxation(100.0, NORMALISED), searched=2)  # EP, diverges in sweep 4
    assert found.outcome == "diverged" and found.sweeps == len(found.changes) == 3
    assert found.reason.startswith("sweep 4: the ")


@pytest.mark.parametrize("name, searched", [("rep-as-described", 37), (f"rep-{NORMALISED}", SEARCHED)])
def test_as_described_relaxations_are_searched_to_the_end(name, searched, monkeypatch):
    def sweeps(*arguments):
        raise ValueError(arguments[4], arguments[6])

    monkeypatch.setattr(methods.rep, "sweeps", sweeps)
    problem = Problem(rep.prior_of(np.eye(2), 2.0), NoisyStep(0.1), np.array([1.0, -1.0]), 37)
    with pytest.raises(ValueError) as seen:
        METHODS[name].run(problem, 1.0)
    assert seen.value.args == (37, searched)


# Choices


def line(method="ep", value=1.0, lengthscale=1.0, error=0.1, nll=0.3):
    return {"method": method, "value": value, "lengthscale": lengthscale, "error": error, "nll": nll}


def test_the_smallest_error_is_chosen_then_the_smallest_nll():
    tried = [
        line(lengthscale=1.0, error=0.2, nll=0.1),
        line(lengthscale=2.0, error=0.1, nll=0.5),
        line(lengthscale=3.0, error=0.1, nll=0.4),
        line(lengthscale=4.0, error=0.1, nll=0.4),
        line("pep", 0.5, 1.0, None, None),
        line("pep", 0.8, 2.0, 0.4, 9.0),
    ]
    assert cross_validation.chosen(tried) == {"ep": (1.0, 3.0), "pep": (0.8, 2.0)}
    with pytest.raises(ValueError, match="no cross-validated score of pep"):
        cross_validation.chosen(tried[:-1])


def test_a_failing_fold_leaves_a_candidate_out(parts, monkeypatch):
    X, Xs, y, ys = parts
    calls = []

    def run(problem, value):
        calls.append((len(problem.y), value, problem.max_sweeps))
        if value == 2.0 and len(calls) == 2:  # one fold of one candidate
            raise ArithmeticError("lost")
        return whole(problem, value)

    whole = METHODS["ep"].run
    monkeypatch.setitem(METHODS, "ep", Method("fails once", run, "c", (1.0, 2.0)))
    monkeypatch.setattr(rep, "parts_of", lambda *_: (X, Xs, y, ys))
    monkeypatch.setattr(cross_validation, "FACTORS", (0.25,))
    tried = list(cross_validation.lines(rep.BLOBS, 0.1, 0, methods=["ep"]))
    assert [(one["value"], one["n_failed"]) for one in tried] == [(1.0, 0), (2.0, 1)]
    assert tried[1]["error"] is None and tried[1]["nll"] is None and 0 <= tried[0]["error"] <= 1
    assert sum(tried[0][f"n_{outcome}"] for outcome in OUTCOMES) == 3
    assert cross_validation.chosen(tried) == {"ep": (1.0, pytest.approx(0.25 * np.sqrt(2)))}
    assert len(calls) == 6 and {n for n, *_ in calls} == {40} and calls[0][2] == cross_validation.SWEEPS


# Five points


def errors_of(rule):
    X, y = rep_points.points()
    found = sweep_on(Dense.build(Linear().matrix(X)), NoisyStep(0.2), y, rule, 300, 1e-9)
    truth = exact.sectors(X, y, NoisyStep(0.2))
    mean, covariance = weights(X, found.sites)
    assert found.outcome == "converged"
    return np.mean((mean - truth.mean) ** 2), np.mean((covariance - truth.covariance) ** 2)


def test_power_ep_with_whole_sites_in_the_cavity_has_its_known_errors():
    """Numbers of the derivation that preceded this package, to the digits it gives."""
    assert errors_of(rep_points.printed_power_rule(0.8))[1] == pytest.approx(6.0e-3, abs=5e-5)
    assert errors_of(rep_points.printed_power_rule(0.5))[1] == pytest.approx(1.4e-2, abs=5e-4)
    assert errors_of(power_rule(0.8)) == pytest.approx((4.0e-4, 1.9e-3), abs=5e-5)
    assert errors_of(EP) == pytest.approx((1.4e-3, 2.9e-3), abs=5e-5)
    whole, ep = errors_of(rep_points.printed_power_rule(1.0)), errors_of(EP)
    assert whole == pytest.approx(ep, rel=1e-9)


def test_a_study_has_a_line_for_every_candidate(monkeypatch):
    monkeypatch.setattr(rep_points, "POWERS", (0.8,))
    monkeypatch.setattr(rep_points, "PENALTIES", (0.03, 100.0))
    lines = list(rep_points.study([-1, 3]))
    assert all(tuple(one) == tuple(POINTS.columns) for one in lines) and len(lines) == 2 * (1 + 3 + 8)
    base = {(one["method"], one["value"]): one for one in lines if one["set"] == -1}
    assert base["exact", 1.0]["mean_error"] == 0 == base["exact", 1.0]["covariance_error"]
    relaxed = base["rep-unnormalised", 0.03]
    assert relaxed["mean_error"] == pytest.approx(3.4e-4, abs=5e-6)
    assert relaxed["covariance_error"] == pytest.approx(1.4e-3, abs=5e-5)
    assert base["rep-normalised", 100.0]["mean_error"] == pytest.approx(
        base["ep", 1.0]["mean_error"], rel=1e-9
    )


def test_another_error_rate_is_of_the_likelihood_and_of_the_truth(monkeypatch):
    monkeypatch.setattr(rep_points, "POWERS", (1.0,))
    monkeypatch.setattr(rep_points, "PENALTIES", (100.0,))
    lines = {one["method"]: one for one in rep_points.at_epsilon(0.1)}
    X, y = rep_points.points()
    truth = exact.sectors(X, y, NoisyStep(0.1))
    assert lines["exact"]["mean_0"] == truth.mean[0] and lines["exact"]["mean_error"] == 0
    assert {one["epsilon"] for one in lines.values()} == {0.1} and lines["ep"]["set"] == -1
    assert lines["ep"]["mean_error"] == pytest.approx(lines["pep"]["mean_error"], rel=1e-6)
    assert lines["ep"]["mean_error"] != rep_points.line_of(-1, "ep", 1.0)["mean_error"]


# Boundaries


def test_boundaries_are_probabilities_and_bayes_is_the_best(monkeypatch):
    monkeypatch.setattr(rep_boundary, "_fitted", rep_boundary._fitted.__wrapped__)  # nothing remembered
    X, y, Xs, ys = blobs.draw(2, n_train_per_class=25, flips=0.1, n_test=4)
    monkeypatch.setattr(rep, "parts_of", lambda *_: (X, Xs, y, ys))
    lines = list(rep_boundary.study(0.1, 2, {"ep": (1.0, 1.0)}, {"steps": 7}))
    assert len(lines) == 2 * 49 and all(
        tuple(sorted(one)) == tuple(sorted(BOUNDARY.columns)) for one in lines
    )
    p = np.array([one["probability"] for one in lines])
    assert np.all((p >= 0) & (p <= 1))
    bayes = {(one["x"], one["y"]): one["probability"] for one in lines if one["method"] == "bayes"}
    positive, negative = blobs.log_densities(np.array([2.0, 0.0]))
    assert bayes[2.0, 0.0] == pytest.approx(1 / (1 + np.exp(negative - positive)), abs=5e-5)
    ours = {(one["x"], one["y"]): one["probability"] for one in lines if one["method"] == "ep"}
    assert ours[0.0, 0.0] > 0.5


def test_as_many_wrong_labels_in_unequal_folds_are_equal_and_nll_decides():
    """95 of 400 wrong, in folds of 134, 133 and 133: unweighted means of the folds would differ."""
    tried = []
    for value, wrong, nll in ((1.0, (31, 32, 32), 0.5), (2.0, (33, 31, 31), 0.4)):
        folds = [
            {"error": w / n, "nll": nll, "n_test": n, "outcome": "converged", "seconds": 0.0}
            for w, n in zip(wrong, (134, 133, 133), strict=True)
        ]
        tried.append({**line(value=value), **cross_validation._mean(folds)})
    assert tried[0]["error"] == pytest.approx(tried[1]["error"], rel=1e-14) == pytest.approx(95 / 400)
    assert cross_validation.chosen(tried)["ep"][0] == 2.0
    assert cross_validation.chosen(tried[::-1])["ep"][0] == 2.0


def test_errors_beside_the_exact_posterior_by_hand():
    """And the worst latent says how good the sample is."""
    parts = (np.array(x) for x in ([0.0, 1.0], [1.0, 4.0], [0.1, 0.4], [0.1, 0.1], [1.3, 1.0], [9.0, 5.0]))
    truth = Moments(*parts)
    found = rep_exact._errors(Marginals(np.array([3.0, -7.0]), np.array([np.e, 4.0]), np.zeros(2)), truth)
    assert found["mean_error"] == pytest.approx(np.sqrt((3**2 + 4**2) / 2))
    assert found["variance_error"] == pytest.approx(np.sqrt(1 / 2)) and found["wrong_sign"] == 1.0
    quality = rep_exact._quality(truth)
    assert (quality["r_hat_max"], quality["bulk_size_min"]) == (1.3, 5.0)
    assert quality["monte_carlo_error"] == pytest.approx(np.sqrt((0.1**2 + 0.2**2) / 2))
