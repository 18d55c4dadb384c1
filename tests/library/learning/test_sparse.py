"""Sparse fits under any likelihood: gradients against differences, the search, its limits and failures."""

import numpy as np
import pytest
from scipy.optimize import minimize

from tilted.inference.options import Options
from tilted.kernels import SquaredExponential
from tilted.learning.search import Search
from tilted.learning.sparse import Problem, maximise
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.step import NoisyStep
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.collapsed import Regression, energy_and_gradient

KERNEL = SquaredExponential(2.0, (0.9, 0.7))
TIGHT = Options(tolerance=1e-11)


@pytest.fixture(scope="module")
def labels():
    """X [60, 2], y in {-1, 1}, Z [5, 2]."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 2))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.standard_normal(60) > 0, 1.0, -1.0)
    return X, y, X[:5] + 0.1


@pytest.mark.parametrize("alpha", [0.0, 0.5, "each"])
@pytest.mark.parametrize(
    "likelihood", [Probit(), PoissonSquare(), GaussianNoise(0.3), NoisyStep(0.1)], ids=lambda x: x.name
)
def test_gradients_are_those_of_the_energy(likelihood, alpha, labels):
    X, y, Z = labels
    powers = np.repeat([0.1, 0.7, 1.0], 20) if alpha == "each" else alpha
    counts = likelihood.name == "poisson-square"
    targets = np.round(2.0 + np.abs(2 * X[:, 0])) if counts else y
    problem = Problem(X, targets, likelihood, powers, mean=1.5 if counts else 0.2, jitter=1e-8, options=TIGHT)
    kernel = SquaredExponential(0.5, (1.5, 1.2)) if counts else KERNEL
    posterior, found = problem.infer(kernel, Z)
    assert found.status.converged
    by_parameters, by_Z = posterior.evidence_gradient(found.state, found.by_extra)

    def energy(parameters, points):
        return problem.infer(kernel.with_parameters(parameters), points, found.sites)[1].log_evidence

    h, p = 1e-5, kernel.parameters()
    for i in range(3):
        step = h * np.eye(3)[i]
        slope = (energy(p + step, Z) - energy(p - step, Z)) / (2 * h)
        assert by_parameters[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)
    for m, d in ((0, 0), (3, 1)):
        step = np.zeros_like(Z)
        step[m, d] = h
        slope = (energy(p, Z + step) - energy(p, Z - step)) / (2 * h)
        assert by_Z[m, d] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_gaussian_noise_has_the_closed_form_s_gradient(alpha, labels):
    X, y, Z = labels
    posterior, found = Problem(X, y, GaussianNoise(0.3), alpha, options=TIGHT).infer(KERNEL, Z)
    state, gradient = energy_and_gradient(Regression(X, y, alpha), KERNEL, Z, 0.3)
    by_parameters, by_Z = posterior.evidence_gradient(found.state, found.by_extra)
    assert found.log_evidence == pytest.approx(state.log_evidence, abs=1e-7)
    np.testing.assert_allclose(by_parameters, gradient.kernel, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(by_Z, gradient.Z, rtol=1e-6, atol=1e-6)


def test_power_zero_is_the_bound_of_an_explicit_q(labels):
    """The bound of Hensman et al. (2015) over mean and Cholesky factor of q(u), maximised by itself."""
    X, y, Z = labels
    found = Problem(X, y, Probit(), 0.0, options=TIGHT).infer(KERNEL, Z)[1]
    Kuu, Kuf = KERNEL.matrix(Z), KERNEL.matrix(Z, X)
    A = np.linalg.solve(Kuu, Kuf)
    rest = KERNEL.variance - np.einsum("mn,mn->n", Kuf, A)
    lower = np.tril_indices(len(Z))

    def bound(x):
        m, L = x[:5], np.zeros((5, 5))
        L[lower] = x[5:]
        S = L @ L.T
        value = Probit().expected_log(y, A.T @ m, rest + np.einsum("mn,mk,kn->n", A, S, A))[0].sum()
        kl = np.trace(np.linalg.solve(Kuu, S)) + m @ np.linalg.solve(Kuu, m) - 5
        kl += np.linalg.slogdet(Kuu)[1] - 2 * np.sum(np.log(np.abs(np.diagonal(L))))
        return 0.5 * kl - value

    x0 = np.concatenate([np.zeros(5), np.linalg.cholesky(Kuu)[lower]])
    best = minimize(bound, x0, method="BFGS", options={"gtol": 1e-6})
    assert found.log_evidence == pytest.approx(-best.fun, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_search_climbs_to_where_the_gradient_vanishes(alpha, labels):
    X, y, Z = labels
    problem = Problem(X, y, Probit(), alpha, jitter=1e-6)
    before = problem.infer(KERNEL, Z)[1].log_evidence
    fitted = maximise(problem, KERNEL, Z, Search(max_iterations=500, gradient_tolerance=1e-4))
    assert fitted.status.converged and "jitter" in fitted.status.message
    assert fitted.inference.log_evidence > before + 0.5
    by_parameters, by_Z = fitted.posterior.evidence_gradient(
        fitted.inference.state, fitted.inference.by_extra
    )
    assert (
        max(np.max(np.abs(by_Z)), np.max(np.abs(by_parameters * fitted.posterior.pseudo.kernel.parameters())))
        < 0.02
    )
    assert fitted.status.sweeps > fitted.status.evaluations
    mean, variance = fitted.predict(X)
    assert np.mean(np.sign(mean) != y) <= 0.2 and np.all(variance > 0)


def test_the_first_evaluation_has_to_succeed(labels):
    X, y, Z = labels
    with pytest.raises(NotPositiveDefinite, match="pseudo-inputs"):
        maximise(Problem(X, y, Probit(), 1.0), KERNEL, np.vstack([Z, Z]))
    with pytest.raises(ArithmeticError, match="did not converge"):
        maximise(Problem(X, y, Probit(), 0.5, options=Options(max_sweeps=1)), KERNEL, Z)


def test_a_warm_start_that_leads_nowhere_is_a_flat_one(labels, monkeypatch):
    X, y, Z = labels
    problem, still = Problem(X, y, Probit(), 0.5), Search(move_pseudo_inputs=False)
    warm = maximise(problem, KERNEL, Z, still)
    real = Problem.infer

    def improper(self, kernel, points, start=None):
        if start is not None:
            raise NotPositiveDefinite("Sigma", 1, 60)
        return real(self, kernel, points)

    monkeypatch.setattr(Problem, "infer", improper)
    again = maximise(problem, KERNEL, Z, still)
    assert "evaluations started again from flat sites" in again.status.message
    assert again.inference.log_evidence == pytest.approx(warm.inference.log_evidence, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.arange(60) % 2.0}, "must be -1 or \\+1, got 0"),
        ({"y": np.ones(20)}, "do not fit"),
        ({"y": np.full(60, np.nan)}, "finite"),
        ({"alpha": np.zeros(3)}, "one for each of 60"),
        ({"alpha": 2.0}, "powers"),
        ({"alpha": np.append(0.0, np.ones(59))}, "powers"),
        ({"mean": np.nan}, "one finite number"),
        ({"jitter": -1.0}, "jitter"),
    ],
)
def test_a_problem_is_checked(change, message, labels):
    X, y, _ = labels
    with pytest.raises(ValueError, match=message):
        Problem(**{"X": X, "y": y, "likelihood": Probit(), **change})


@pytest.mark.parametrize("Z", [np.zeros(5), np.full((5, 2), np.nan), np.zeros((0, 2))])
def test_pseudo_inputs_are_checked(Z, labels):
    X, y, _ = labels
    with pytest.raises(ValueError, match="pseudo-inputs"):
        maximise(Problem(X, y, Probit()), KERNEL, Z)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_first_search_of_some_rows_begins_that_of_all_nearer(alpha):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((300, 2))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] + 0.4 * rng.standard_normal(300) > 0, 1.0, -1.0)
    problem = Problem(X, y, Probit(), alpha, jitter=1e-6)
    plain = Search(max_iterations=1)
    far, near = (
        maximise(problem, KERNEL, X[:6], how, move_mean=True)
        for how in (plain, Search(max_iterations=30, first_rows=60))
    )
    assert "evaluations of 60 rows before" in near.status.message
    assert near.inference.log_evidence > far.inference.log_evidence + 5
    assert near.mean != 0.0 and len(near.problem.y) == 300
    some = Problem(X, y, Probit(), np.linspace(0.1, 1.0, 300), weights=np.arange(1.0, 301.0)).of_rows(
        np.arange(4)
    )
    np.testing.assert_array_equal(some.weights, [1.0, 2.0, 3.0, 4.0])
    assert np.shape(some.alpha) == (4,)
