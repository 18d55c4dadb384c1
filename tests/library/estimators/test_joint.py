"""GPClassifier(multi_class="joint"): what a scikit-learn user expects, and a search of its evidence."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import tilted
from tests.helpers import differences
from tilted import GPClassifier
from tilted.inference.engine import infer
from tilted.inference.ep import EP
from tilted.kernels import Matern, Restricted
from tilted.likelihoods.probit import Probit
from tilted.posteriors.joint import Joint

X, Y = load_wine(return_X_y=True)
X, NAMES = StandardScaler().fit_transform(X[::3, :4]), np.array(["barolo", "grignolino", "barbera"])[Y[::3]]
NEW = X[:7] + 0.3
POWERS = [{"inference": "power-ep", "power": 1.0}, {"inference": "power-ep"}, {"inference": "ep"}]
KERNEL = tilted.SquaredExponential(3.0, 1.5)


def joint(**how):
    return GPClassifier(multi_class="joint", **how)


@pytest.fixture(scope="module")
def fitted():
    return joint(kernel=KERNEL).fit(X, NAMES)


def test_it_is_one_model_of_all_classes(fitted):
    assert fitted.status_.converged and fitted.status_.evaluations > 3
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert fitted.score(X, NAMES) > 0.9
    assert fitted.classes_.tolist() == sorted(set(NAMES))
    assert fitted.theta_.shape == (2,) and isinstance(fitted.log_evidence_, float)
    mean, std = fitted.predict_latent(NEW, return_std=True)
    assert mean.shape == std.shape == (7, 3)


def test_the_search_ends_where_the_gradient_vanishes(fitted):
    value, gradient = fitted.log_marginal_likelihood(fitted.theta_, eval_gradient=True)
    assert value == pytest.approx(fitted.log_evidence_, abs=1e-6)
    assert np.max(np.abs(gradient)) < 0.05
    at = np.log(KERNEL.parameters())
    _, gradient = fitted.log_marginal_likelihood(at, eval_gradient=True)
    assert gradient == pytest.approx(differences(fitted.log_marginal_likelihood, at, 1e-4), rel=1e-5)


@pytest.mark.parametrize("inference", ["power-ep", "vb"])
def test_other_inferences_and_kernels(inference):
    kept = {"kernel": 2.0 * Matern(1.0, 2.0), "optimise": None}
    one, other = joint(inference=inference, **kept).fit(X, NAMES), joint(**kept).fit(X, NAMES)
    assert one.status_.converged
    np.testing.assert_allclose(one.predict_proba(NEW), other.predict_proba(NEW), atol=0.05)
    assert one.log_evidence_ < other.log_evidence_ - 0.01


def test_power_1_is_ep():
    one, half, other = (joint(**how, kernel=KERNEL, optimise=None).fit(X, NAMES) for how in POWERS)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-7)
    assert abs(half.log_evidence_ - other.log_evidence_) > 0.01


def test_every_class_learns_a_kernel_of_its_own(fitted):
    """From the one of all: the evidence is never lower, and its gradient vanishes in all parameters."""
    own = GPClassifier(multi_class="joint-kernels", kernel=KERNEL).fit(X, NAMES)
    assert own.status_.converged and "from the kernel of all classes" in own.status_.message
    assert len(set(own.kernel_.each)) == 3 and own.theta_.shape == (6,)
    assert own.log_evidence_ > fitted.log_evidence_ + 0.1
    value, gradient = own.log_marginal_likelihood(own.theta_, eval_gradient=True)
    assert value == pytest.approx(own.log_evidence_, abs=1e-6)
    assert np.max(np.abs(gradient)) < 0.05
    at = own.theta_ + np.array([0.3, -0.2, 0.1, 0.2, -0.1, 0.4])
    _, gradient = own.log_marginal_likelihood(at, eval_gradient=True)
    numeric = differences(own.log_marginal_likelihood, at, 1e-4)
    assert gradient == pytest.approx(numeric, rel=1e-4, abs=1e-7)
    mean, std = own.predict_latent(NEW, return_std=True)
    np.testing.assert_allclose(own.predict_latent(NEW), mean, atol=1e-12)
    full = own.predict_latent(NEW, return_cov=True)[1]
    np.testing.assert_allclose(np.einsum("nnc->nc", full), std**2, rtol=1e-9)
    draws = own.sample_latent(NEW, 20_000, random_state=1)
    most = np.argmax(draws + np.random.default_rng(0).normal(size=draws.shape), axis=1)
    shares = np.stack([np.mean(most == c, axis=1) for c in range(3)], axis=1)
    np.testing.assert_allclose(own.predict_proba(NEW), shares, atol=0.015)


def test_a_class_whose_kernel_is_at_a_bound_is_said():
    kernel = Restricted(tilted.SquaredExponential(1.0, 1.0), {"lengthscale": (0.9, 1.1)})
    with pytest.warns(UserWarning, match="lengthscale of the kernel ended at its upper bound, 1.1"):
        GPClassifier(multi_class="joint-kernels", kernel=kernel).fit(X, NAMES)


def test_two_classes_are_one_function():
    two = NAMES != "barolo"
    one, other = joint(kernel=KERNEL).fit(X, two), GPClassifier(kernel=KERNEL).fit(X, two)
    np.testing.assert_array_equal(one.predict_proba(NEW), other.predict_proba(NEW))


def test_whole_weights_are_repeated_rows():
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    how = {"kernel": KERNEL, "optimise": None}
    one, other = joint(**how).fit(X, NAMES, weights), joint(**how).fit(X[rows], NAMES[rows])
    assert one.log_evidence_ == other.log_evidence_
    prior = Joint(KERNEL.matrix(X[rows]), np.unique(NAMES, return_inverse=True)[1][rows], 3)
    exact = infer(prior, Probit(), np.ones(2 * len(rows)), EP)
    assert one.log_evidence_ == pytest.approx(exact.log_evidence, abs=1e-7)
    np.testing.assert_array_equal(one.predict_proba(NEW), other.predict_proba(NEW))


def test_weights_that_stand_for_more_rows_than_fit_are_refused():
    """They are rows here: memory for a matrix of them had been asked for."""
    with pytest.raises(ValueError, match="stand for more than 10,000 rows"):
        joint(optimise=None).fit(X, NAMES, np.full(len(X), 1e15))


def test_samples_are_of_all_functions_together(fitted):
    draws = fitted.sample_latent(NEW, 20_000, random_state=1)
    assert draws.shape == (7, 3, 20_000)
    model = fitted.models_[0]
    mean, covariance = model.together(NEW)
    found = np.cov(draws.swapaxes(0, 1).reshape(21, -1))
    np.testing.assert_allclose(draws.mean(axis=2).T, mean, atol=0.05 * np.sqrt(np.max(covariance)))
    np.testing.assert_allclose(found, covariance, atol=0.05 * np.max(covariance))
    most = np.argmax(draws + np.random.default_rng(0).normal(size=draws.shape), axis=1)
    shares = np.stack([np.mean(most == c, axis=1) for c in range(3)], axis=1)
    np.testing.assert_allclose(fitted.predict_proba(NEW), shares, atol=0.015)


def test_fits_are_bounded_in_time():
    with pytest.warns(ConvergenceWarning, match="unconverged sites"):
        model = joint(max_time=1e-6).fit(X, NAMES)
    assert not model.status_.converged
    assert np.all(np.isfinite(model.predict_proba(NEW)))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"inference": "qp"}, "inference of ep, power-ep, vb"),
        ({"likelihood": "logit"}, "likelihood='probit'"),
        ({"optimise": "cv"}, "optimise='evidence' or None"),
        ({"mean": "constant"}, "mean=0"),
        ({"correction": "cheap"}, "correction=None"),
        ({"class_weight": {"barolo": 0.5}}, "whole weights"),
    ],
)
def test_what_it_has_no_use_for_is_refused(how, message):
    with pytest.raises(ValueError, match=f"multi_class='joint' needs {message}"):
        joint(**how).fit(X, NAMES)
    with pytest.raises(ValueError, match="unknown multi_class 'all'"):
        GPClassifier(multi_class="all").fit(X, NAMES)
