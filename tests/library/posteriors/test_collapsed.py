"""Sparse regression in closed form: reference values, limits, gradients, bad input."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tests.helpers import differences
from tilted.kernels import SquaredExponential
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.collapsed import Regression, condition, energy_and_gradient
from tilted.posteriors.full import FullRegression

NOISE = 0.2
ARD = SquaredExponential(1.3, (0.8, 1.2, 2.0))


@pytest.fixture(scope="module")
def data():
    """X [40, 3], y [40], Z [6, 3]."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((40, 3)), rng.standard_normal(40), rng.standard_normal((6, 3))


POWERS = {"FITC": 1.0, "VFE": 0.0, "0.3": 0.3, "per datum": np.linspace(0.0, 1.0, 40)}


def parts_of(X, Z, kernel):
    """Q and D = K - Q, dense."""
    Kuf, Kuu = kernel.matrix(Z, X), kernel.matrix(Z)
    Q = Kuf.T @ np.linalg.solve(Kuu, Kuf)
    return Q, kernel.matrix(X) - Q


def log_density(y, covariance):
    return multivariate_normal(np.zeros(len(y)), covariance).logpdf(y)


class TestReferenceValues:
    X = 0.5 * np.arange(7)[:, None]
    y = np.sin(X[:, 0] * 2)
    Z = np.array([[0.25], [1.5], [2.75]])

    def energy(self, alpha):
        problem = Regression(self.X, self.y, alpha)
        return condition(problem, SquaredExponential(1.0, 1.0), self.Z, 0.05)

    def test_regression(self, values):
        for case in values["pep_regression"]["cases"]:
            state = self.energy(case["alpha"])
            assert state.log_evidence == pytest.approx(float(case["F"]), abs=1e-12)
            mean = state.predict(self.Z)[0]
            np.testing.assert_allclose(mean, [float(m) for m in case["m_u"]], atol=1e-12)
        vfe = float(values["pep_regression"]["VFE"])
        assert self.energy(0.0).log_evidence == pytest.approx(vfe, abs=1e-12)


class TestLimits:
    def test_fitc(self, data):
        X, y, Z = data
        Q, D = parts_of(X, Z, ARD)
        expected = log_density(y, Q + np.diag(np.diagonal(D)) + NOISE * np.eye(40))
        assert condition(Regression(X, y, 1.0), ARD, Z, NOISE).log_evidence == pytest.approx(
            expected, abs=1e-9
        )

    def test_variational(self, data):
        X, y, Z = data
        Q, D = parts_of(X, Z, ARD)
        expected = log_density(y, Q + NOISE * np.eye(40)) - np.trace(D) / (2 * NOISE)
        exact = condition(Regression(X, y, 0.0), ARD, Z, NOISE).log_evidence
        assert exact == pytest.approx(expected, abs=1e-9)
        errors = [
            abs(condition(Regression(X, y, a), ARD, Z, NOISE).log_evidence - exact) for a in (1e-5, 1e-8)
        ]
        assert errors[1] < 2e-3 * errors[0]
        assert errors[1] < 1e-6 * abs(exact)

    @pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
    def test_all_data_as_pseudo_points_are_exact(self, alpha, data):
        X, y, Z = data
        kernel = SquaredExponential(1.0, 0.7)
        K = kernel.matrix(X)
        exact = log_density(y, K + NOISE * np.eye(40))
        full = condition(Regression(X, y, alpha), kernel, X, NOISE)
        assert full.log_evidence == pytest.approx(exact, abs=1e-8)
        Xs = Z + 0.1
        Ks, inverse = kernel.matrix(Xs, X), np.linalg.inv(K + NOISE * np.eye(40))
        mean, variance = full.predict(Xs)
        np.testing.assert_allclose(mean, Ks @ inverse @ y, atol=1e-9)
        np.testing.assert_allclose(variance, 1.0 - np.einsum("ij,jk,ik->i", Ks, inverse, Ks), atol=1e-9)


@pytest.mark.parametrize("kernel", [ARD, SquaredExponential(0.7, 1.5)], ids=["ARD", "isotropic"])
@pytest.mark.parametrize("power", POWERS)
def test_gradients(power, kernel, data):
    X, y, Z = data
    problem = Regression(X, y, POWERS[power], jitter=1e-3)  # large enough to be seen
    gradient = energy_and_gradient(problem, kernel, Z, NOISE)[1]
    n_parameters = len(kernel.parameters())
    x = np.concatenate([kernel.parameters(), [NOISE], Z.ravel()])

    def energy(x):
        at = kernel.with_parameters(x[:n_parameters])
        return condition(problem, at, x[n_parameters + 1 :].reshape(Z.shape), x[n_parameters]).log_evidence

    found = np.concatenate([gradient.kernel, [gradient.noise], gradient.Z.ravel()])
    np.testing.assert_allclose(found, differences(energy, x), rtol=1e-7, atol=1e-7)


class TestBadInput:
    def test_coinciding_pseudo_inputs(self, data):
        X, y, Z = data
        double = np.vstack([Z, Z[:1]])
        with pytest.raises(NotPositiveDefinite, match="pseudo-inputs"):
            condition(Regression(X, y), ARD, double, NOISE)
        state = condition(Regression(X, y, jitter=1e-8), ARD, double, NOISE)
        assert state.jitter == pytest.approx(1.3e-8)
        assert state.log_evidence == pytest.approx(
            condition(Regression(X, y), ARD, Z, NOISE).log_evidence, abs=1e-5
        )

    def test_a_bound_is_never_above_the_exact_evidence(self):
        """Nearly singular Kuu: rather no energy than one that rounding has lifted."""
        X = np.random.default_rng(0).uniform(0, 3, (60, 1))
        y, kernel = np.sin(2 * X[:, 0]), SquaredExponential(1.0, 4.02777)
        problem, refused = Regression(X, y, 0.0), 0
        exact = FullRegression(X, y).evaluate(kernel, np.zeros((0, 1)), 1e-6)[0].log_evidence
        for seed in range(60):
            Z = X[np.random.default_rng(seed).choice(60, 7, False)]
            try:
                assert condition(problem, kernel, Z, 1e-6).log_evidence <= exact + 1e-4
            except NotPositiveDefinite:
                refused += 1
        assert 0 < refused < 60
        jittered = condition(Regression(X, y, 0.0, jitter=1e-6), kernel, Z, 1e-6)
        assert jittered.log_evidence < exact

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"alpha": 1.1}, "powers"),
            ({"alpha": np.nan}, "powers"),
            ({"alpha": np.ones(3)}, "one for each of 40"),
            ({"jitter": -1.0}, "jitter"),
        ],
    )
    def test_options(self, arguments, message, data):
        X, y, _ = data
        with pytest.raises(ValueError, match=message):
            Regression(X, y, **arguments)
