"""The replay of the released code's joint variational search."""

from dataclasses import replace

import numpy as np
import pytest

from papers import data
from tests.helpers import differences
from tilted.inference import vb_joint
from tilted.kernels import SquaredExponential
from tilted.likelihoods.poisson import PoissonSquare


@pytest.fixture
def point(toy):
    X, y = toy[0][:12], toy[1][:12]
    rng = np.random.default_rng(4)
    return X, y, 0.1 * rng.normal(size=12), 1.0 + 0.1 * rng.normal(size=12)


def gradients(X, y, kernel, alpha, beta, name, released):
    terms = vb_joint.TERMS[name]
    _, *exact = vb_joint.elbo_and_gradient(X, y, kernel, alpha, beta, terms, released)

    def value(x):
        at = kernel.with_parameters(x[24:])
        return vb_joint.elbo_and_gradient(X, y, at, x[:12], x[12:24], terms, released)[0]

    x = np.concatenate([alpha, beta, kernel.parameters()])
    return np.concatenate(exact), differences(value, x)


@pytest.mark.parametrize("name", ["probit", "poisson-square"])
def test_right_gradient_is_the_finite_difference(point, name):
    X, y, alpha, beta = point
    if name == "poisson-square":  # away from the symmetric point
        y, alpha = np.arange(12.0) % 4, alpha + 0.5
    exact, numeric = gradients(X, y, SquaredExponential(1.3, 1.4), alpha, beta, name, False)
    np.testing.assert_allclose(exact, numeric, atol=1e-5, rtol=1e-5)


def test_released_gradient_is_wrong_in_the_kernel_only(point):
    """Rows scaled instead of columns: off by 5e-4 or more there, right in alpha and beta."""
    X, y, alpha, beta = point
    exact, numeric = gradients(X, y, SquaredExponential(1.3, 1.4), alpha, beta, "probit", True)
    np.testing.assert_allclose(exact[:24], numeric[:24], atol=1e-5)
    assert np.max(np.abs(exact[24:] - numeric[24:])) > 5e-4


def test_predictive_variances_lost_to_rounding_are_an_error(point):
    X, y, alpha, beta = point
    found = vb_joint.fit(X, y, "probit", SquaredExponential(), max_evaluations=3)
    with pytest.raises(ArithmeticError, match="a predictive variance is lost to rounding"):
        replace(found, beta=np.full(12, 1e9)).predict_latent(X)


def test_elbo_equals_the_sites_form(point):
    """The same posterior written with sites: ELBO and marginals agree."""
    from tilted.gaussian import Sites
    from tilted.inference import RULES
    from tilted.likelihoods.probit import Probit
    from tilted.posteriors.dense import Dense

    X, y, alpha, beta = point
    kernel = SquaredExponential(1.3, 1.4)
    value = vb_joint.elbo_and_gradient(X, y, kernel, alpha, beta, vb_joint.probit_terms, False)[0]
    K = kernel.matrix(X)
    tau = beta**2
    nu = alpha + tau * (K @ alpha)  # so that the posterior mean is K alpha
    state = Dense.build(K).condition(Sites(tau, nu))
    np.testing.assert_allclose(state.marginals.mean, K @ alpha, atol=1e-12)
    terms = RULES["vb"].update(state.marginals, state.sites, Probit(), y).log_terms
    assert value == pytest.approx(state.log_normaliser + terms.sum(), abs=1e-6)  # 20 nodes


def test_coal_cells_of_the_released_code(cells):
    """The printed Mining row of VB is the starting point: variance 1, lengthscale 1, mean 0."""
    coal = data.load("coal")
    for cell in cells["poisson"]:
        if cell["method"] != "vb":
            continue
        part = data.split(coal, "half-of-years", cell["seed"], standardise=False)
        found = vb_joint.fit(part.X_train, part.y_train, "poisson-square", SquaredExponential())
        assert found.kernel == SquaredExponential(cell["variance"], cell["lengthscale"])
        assert found.log_evidence == pytest.approx(cell["log_marginal_likelihood"], abs=1e-9)
        assert not found.status.converged  # the line search gives up
        m, v = found.predict_latent(part.X_test)
        np.testing.assert_allclose(v, cell["var"], rtol=1e-12)
        lpd = PoissonSquare().log_predictive(part.y_test, m, v)
        np.testing.assert_allclose(lpd, cell["lpd"], atol=1e-9)
