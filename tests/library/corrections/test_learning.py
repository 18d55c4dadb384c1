"""Hyperparameters learned by the corrected evidence, against those of the exact one.

Labels at three distinct inputs have a likelihood of three latents, which tensor quadrature integrates.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_ndtr, logsumexp

import tilted
from tilted import GPClassifier, GPPoissonRegressor
from tilted.corrections import CorrectionWarning, learning
from tilted.kernels import SquaredExponential

PLACES = np.array([[0.0], [0.8], [2.5]])
LABELS = [[1, 1, 1, 1, 1, -1], [1, -1], [-1, -1, -1, -1, -1, -1, -1]]
START = SquaredExponential(2.0, 1.0)


@pytest.fixture(scope="module")
def few():
    """X [N, 1] and y [N]."""
    return np.repeat(PLACES, [len(y) for y in LABELS], axis=0), np.concatenate(LABELS).astype(float)


def exact_evidence(theta):
    """log Z of the probit at the logarithms of variance and lengthscale."""
    z, w = np.polynomial.hermite_e.hermegauss(40)
    nodes = np.stack(np.meshgrid(z, z, z, indexing="ij")).reshape(3, -1)
    log_w = np.log(w / w.sum())
    log_w = np.sum(np.stack(np.meshgrid(log_w, log_w, log_w, indexing="ij")).reshape(3, -1), axis=0)
    f = np.linalg.cholesky(SquaredExponential(*np.exp(theta)).matrix(PLACES)) @ nodes
    return logsumexp(log_w + sum(log_ndtr(y * f[i]) for i in range(3) for y in LABELS[i]))


def theta_of(fit):
    return np.log(fit.kernel.parameters())


def test_nearer_to_the_optimum_of_the_exact_evidence(few):
    ep, corrected = (
        tilted.fit(*few, kernel=START, optimise=how) for how in ("ep-evidence", "corrected-evidence")
    )
    assert corrected.status.converged and "the corrected evidence rose by" in corrected.status.message
    best = minimize(lambda x: -exact_evidence(x), theta_of(corrected), tol=1e-6)
    far, near = (np.linalg.norm(theta_of(fit) - best.x) for fit in (ep, corrected))
    assert near < 0.3 * far
    assert exact_evidence(theta_of(ep)) < exact_evidence(theta_of(corrected)) <= -best.fun + 1e-9
    _, _, slope = learning.evidence_and_gradient(corrected.problem, corrected.kernel)
    assert np.max(np.abs(slope * corrected.kernel.parameters())) < 1e-4


def test_the_hybrid_has_the_kernel_of_ep_and_the_posterior_of_vb(few):
    ep, hybrid = (tilted.fit(*few, inference=i, kernel=START, optimise="ep-evidence") for i in ("ep", "vb"))
    assert hybrid.kernel == ep.kernel == tilted.fit(*few, kernel=START).kernel
    vb = tilted.fit(*few, inference="vb", kernel=hybrid.kernel, optimise=False)
    assert hybrid.log_evidence == pytest.approx(vb.log_evidence, abs=1e-8)
    assert hybrid.log_evidence < ep.log_evidence - 1e-4
    np.testing.assert_allclose(hybrid.predict_latent(few[0]), vb.predict_latent(few[0]), rtol=1e-6)


def test_where_nothing_is_trusted_the_hyperparameters_are_those_of_ep():
    X, y = 0.4 * np.arange(6.0)[:, None], np.array([0.0, 1.0, 0.0, 2.0, 0.0, 1.0])
    ep = GPPoissonRegressor(mean=0.1, kernel=START).fit(X, y)
    assert not ep.models_[0].fit.corrected_evidence().trusted
    with pytest.warns(CorrectionWarning, match="not to be trusted at EP's hyperparameters, which are kept"):
        kept = GPPoissonRegressor(mean=0.1, kernel=START, optimise="corrected-evidence").fit(X, y)
    assert kept.kernel_ == ep.kernel_ and learning.UNTRUSTED in kept.status_.message


def test_steps_that_are_not_trusted_are_infeasible_and_counted(few, monkeypatch):
    ep = tilted.fit(*few, kernel=START)
    free = tilted.fit(*few, kernel=START, optimise="corrected-evidence")
    assert free.kernel.variance > ep.kernel.variance and "infeasible" not in free.status.message
    wall, true = 0.5 * (ep.kernel.variance + free.kernel.variance), learning.correct_evidence

    def limited(base):
        beyond = base.prior.K[0, 0] > wall
        return replace(true(base), trusted=False, message="too far") if beyond else true(base)

    monkeypatch.setattr(learning, "correct_evidence", limited)
    held = tilted.fit(*few, kernel=START, optimise="corrected-evidence")
    assert ep.kernel.variance <= held.kernel.variance <= wall
    assert "evaluations not to be trusted and 0 without a value" in held.status.message
    assert "too far" in held.status.message


def test_a_learned_mean_stays_where_the_evidence_of_ep_has_it(toy):
    model = GPClassifier(mean="constant", optimise="corrected-evidence", inference="vb").fit(*toy)
    ep = GPClassifier(mean="constant").fit(*toy)
    assert model.mean_ == ep.mean_ != 0.0
    assert model.log_evidence_ < model.models_[0].fit.corrected_evidence().ep


@pytest.mark.parametrize("how", ["ep-evidence", "corrected-evidence"])
def test_refusals(toy, how):
    with pytest.raises(ValueError, match="relaxed EP"):
        GPClassifier("rep", optimise=how).fit(*toy)
    if how == "corrected-evidence":
        with pytest.raises(ValueError, match="without weights"):
            GPClassifier(optimise=how).fit(*toy, sample_weight=np.linspace(1.0, 2.0, 30))
    with pytest.raises(ValueError, match="unknown optimise"):
        tilted.SparseGPClassifier(optimise=how).fit(*toy)
