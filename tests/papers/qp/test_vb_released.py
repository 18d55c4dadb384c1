"""VB as the released code predicts and scores it: against GPy, the stable form, and where K is singular."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from papers import data
from papers.qp import fits as qp
from papers.qp import protocols, vb_released
from papers.qp.pairs import variational
from papers.qp.vb_released import NO_DENSITY, SMALLEST, Prediction
from tilted.inference.result import Status
from tilted.inference.vb_joint import JointFit
from tilted.kernels import SquaredExponential
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.numerics.linalg import NotPositiveDefinite

REFERENCE = Path(__file__).parents[2] / "reference" / "vb_posterior.json"


@pytest.fixture(scope="module")
def gpy():
    """What GPy 1.13.2 gives at fixed variational parameters."""
    given = json.loads(REFERENCE.read_text(encoding="utf-8"))
    return {name: np.array(value) if isinstance(value, list) else value for name, value in given.items()}


@pytest.fixture(scope="module")
def fitted(gpy):
    kernel = SquaredExponential(gpy["variance"], gpy["lengthscale"])
    return JointFit(kernel, gpy["alpha"], gpy["beta"], gpy["X"], gpy["log_evidence"], Status(True, 0))


def test_gpys_numbers(gpy, fitted):
    predicted = vb_released.predict(fitted, gpy["X_test"])
    np.testing.assert_allclose(predicted.mean, gpy["mean"], rtol=1e-12)
    np.testing.assert_allclose(predicted.variance, gpy["latent_variance"], rtol=1e-12)
    logs, errors = vb_released.scores(Probit(), gpy["y_test"], predicted)
    np.testing.assert_allclose(logs, gpy["lpd"], rtol=1e-12)
    assert errors.tolist() == (gpy["lpd"] < np.log(0.5)).tolist() and 0 < errors.sum() < len(errors)
    assert predicted[2:] == (0, 0, 0.0)


def test_the_inverse_gives_the_stable_form_where_k_is_well_conditioned(gpy, fitted):
    predicted = vb_released.predict(fitted, gpy["X_test"])
    mean, variance = fitted.predict_latent(gpy["X_test"])
    np.testing.assert_allclose(predicted.mean, mean, rtol=1e-8)
    np.testing.assert_allclose(predicted.variance, variance, rtol=1e-8)
    logs, errors = vb_released.scores(Probit(), gpy["y_test"], predicted)
    np.testing.assert_allclose(logs, Probit().log_predictive(gpy["y_test"], mean, variance), atol=1e-8)
    assert errors.tolist() == Probit().errors(gpy["y_test"], mean, variance).tolist()


def test_only_isotropic_kernels(fitted):
    ard = replace(fitted, kernel=SquaredExponential(1.0, (1.0, 2.0, 3.0)))
    with pytest.raises(ValueError, match="too many values"):
        vb_released.predict(ard, fitted.X)


@pytest.fixture
def singular(monkeypatch):
    """A fit with K = diag(1, 1e-17), whose factor exists, and a test point with k* = (0.7, 1e-8).

    The true W is 1 / (1 + K_22) = 1 in its second place; rounding makes Sigma_22 = 0 and W_22 = 1e17, so that
    the variance 1 - 0.7^2 / 2 becomes about -9.
    """
    K, cross = np.diag([1.0, 1e-17]), np.array([[0.7], [1e-8]])
    monkeypatch.setattr(vb_released, "_matrix", lambda kernel, X, X2=None: K if X2 is None else cross)
    return JointFit(SquaredExponential(), np.array([1.0, 0.0]), np.ones(2), np.eye(2), 0.0, Status(True, 0))


def test_a_singular_k_that_is_factorised_gives_clipped_variances_and_no_density(singular):
    predicted = vb_released.predict(singular, np.zeros((1, 2)))
    assert predicted.tries == 0 and predicted.clipped == 1
    assert predicted.variance.tolist() == [SMALLEST]
    assert predicted.mean == pytest.approx([0.7])
    logs, errors = vb_released.scores(Probit(), np.array([1.0]), predicted)
    assert logs.tolist() == [NO_DENSITY] == [-1.0]  # log Phi(0.7) is -0.28
    assert errors.tolist() == [1.0]  # and the label was right


def test_jitter_only_where_the_factorisation_fails():
    sound = np.array([[2.0, 1.0], [1.0, 2.0]])
    C, tries, jitter = vb_released.factor_with_jitter(sound)
    np.testing.assert_allclose(np.tril(C) @ np.tril(C).T, sound, rtol=1e-15)
    assert (tries, jitter) == (0, 0.0)
    _, tries, jitter = vb_released.factor_with_jitter(np.full((2, 2), 4.0))  # a row twice
    assert (tries, jitter) == (1, pytest.approx(4e-6))
    _, tries, jitter = vb_released.factor_with_jitter(np.diag([1.0, -5e-6]))  # 5e-7 is not enough
    assert (tries, jitter) == (3, pytest.approx(0.5e-4, rel=1e-4))
    with pytest.raises(NotPositiveDefinite, match="K with jitter"):
        vb_released.factor_with_jitter(np.diag([1.0, -1.0]))


@pytest.mark.parametrize(
    ("likelihood", "y"), [(Probit(), [1.0, -1.0, 1.0]), (PoissonSquare(), [0.0, 2.0, 5.0])]
)
def test_densities_are_the_integrals(likelihood, y):
    y, mean, variance = np.array(y), np.array([0.4, 1.3, -2.0]), np.array([0.3, 1.7, 4.0])
    found = vb_released.densities(likelihood, y, mean, variance)
    np.testing.assert_allclose(np.log(found), likelihood.log_predictive(y, mean, variance), atol=1e-7)


def test_counts_as_the_released_code_scores_them(cells):
    """Mining, whose K is well conditioned: its cells to 1e-9, and the errors of the predicted counts."""
    for cell in cells["poisson"]:
        if cell["method"] == "vb":
            stable, released = qp.run_fold(data.load("coal"), "as-released", "vb-joint", cell["seed"], 0)
            np.testing.assert_allclose(released["test_log_density"], cell["lpd"], atol=1e-9)
            assert released["test_error"] == stable["test_error"]


def test_one_search_makes_both_records():
    """Same fit, own predictions; the second's seconds are its own."""
    stable, released = qp.run_fold(data.load("wine12"), "as-released", "vb-joint", 0, 1)
    assert (stable["method"], released["method"]) == ("vb-joint", "vb-joint-released")
    for name in ("hyperparameters", "log_evidence", "seed", "fold", "n_train"):
        assert stable[name] == released[name]
    assert released["status"] == stable["status"] and stable["status"]["evaluations"] > 20
    assert released["seconds"] < 0.5 * stable["seconds"]
    assert released["ntll"] == pytest.approx(stable["ntll"], abs=1e-8) and released["ntll"] != stable["ntll"]


def test_what_was_done_to_k_is_in_the_record(monkeypatch):
    def predicted(fit, X):
        return Prediction(np.zeros(len(X)), np.full(len(X), SMALLEST), 3, 2, 1e-5)

    monkeypatch.setattr(vb_released, "predict", predicted)
    stable, released = qp.run_fold(data.load("wine12"), "as-released", "vb-joint", 0, 0)
    status = released["status"]
    assert (status["clipped"], status["retries"], status["jitter"]) == (3, 2, 1e-5)
    assert stable["status"]["clipped"] == stable["status"]["retries"] == 0


def test_a_k_without_a_factor_fails_its_record_alone(monkeypatch):
    def broken(K):
        raise NotPositiveDefinite("K with jitter", 3, 9)

    monkeypatch.setattr(vb_released, "factor_with_jitter", broken)
    stable, released = qp.run_fold(data.load("wine12"), "as-released", "vb-joint", 0, 0)
    assert stable["ntll"] is not None
    assert released["ntll"] is None and "K with jitter" in released["status"]["message"]


@pytest.mark.parametrize("task", protocols.TASKS)
def test_only_replays_of_the_released_code_are_scored_as_it_scores(task):
    released = protocols.block("as-released", task)["methods"]
    assert protocols.job_of(released, "vb-joint-released") == "vb-joint"
    assert protocols.method("as-released", task, "vb-joint-released") is released["vb-joint"]
    described = protocols.block("as-described", task)["methods"]
    assert protocols.job_of(described, "vb-joint-released") is None
    assert protocols.job_of(released, "ep-tune") == "ep" and protocols.job_of(released, "vb-tune") is None


def test_the_claims_vb_is_scored_as_released_where_it_was(frame, line):
    """The stable scoring and the maximised bound stand beside it; corrected has neither joint search."""
    stable = frame([line(method="vb-joint")])
    both = frame([line(method="vb-joint"), line(method="vb-joint-released")])
    assert variational(stable, "as-released") == ["vb-joint", "vb"]
    assert variational(both, "as-released") == ["vb-joint-released", "vb-joint", "vb"]
    assert variational(stable, "corrected") == ["vb"]
