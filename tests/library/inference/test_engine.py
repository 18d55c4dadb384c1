"""The loop: convergence where plain iteration fails, honest status, bounded work."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_wine

from tilted.gaussian import Marginals, Sites
from tilted.inference import RULES
from tilted.inference.engine import infer
from tilted.inference.ep import tilted_rule
from tilted.inference.options import Options
from tilted.inference.rule import Rule, Update
from tilted.kernels import SquaredExponential
from tilted.likelihoods.logit import Logit
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.numerics.linalg import NotPositiveDefinite, cholesky, semidefinite_root
from tilted.posteriors.dense import Dense
from tilted.projections.moments import Projection


@pytest.fixture
def oscillating():
    """Two classes of wine at a large prior variance: undamped parallel EP does not settle."""
    wine = load_wine()
    rows = wine.target != 1
    X = wine.data[rows] / wine.data[rows].std(axis=0)
    y = np.where(wine.target[rows] == 2, 1.0, -1.0)
    return Dense.build(SquaredExponential(2400.0, 8.0).matrix(X)), y


@pytest.mark.parametrize("method", ["ep", "qp", "vb"])
def test_converges_where_plain_iteration_does_not(method, oscillating):
    posterior, y = oscillating
    plain = infer(
        posterior,
        Probit(),
        y,
        RULES["ep"],
        Options(newton=False, memory=0, min_damping=1.0, max_sweeps=100),
    )
    found = infer(posterior, Probit(), y, RULES[method])
    assert not plain.status.converged
    assert "not converged" in plain.status.message
    assert found.status.converged
    assert found.status.residual <= 1e-8
    assert found.status.sweeps <= 300


def test_running_out_of_sweeps_is_reported(toy):
    X, y = toy
    posterior = Dense.build(SquaredExponential().matrix(X))
    found = infer(posterior, Probit(), y, RULES["ep"], Options(max_sweeps=2))
    assert not found.status.converged
    assert found.status.sweeps == 2
    assert "max_sweeps" in found.status.message
    assert np.isfinite(found.log_evidence)


def test_clipping_is_counted(counts):
    """A zero count under a wide cavity wants a negative precision once the mean is small."""
    X, y = counts
    posterior = Dense.build(SquaredExponential(4.0, 0.2).matrix(X), 0.2)
    free = infer(posterior, PoissonSquare(), y, RULES["ep"])
    clipped = infer(posterior, PoissonSquare(), y, RULES["ep"], Options(min_precision=1e-12))
    assert free.status.converged and free.status.negative_sites > 0
    assert free.status.clipped == 0
    assert clipped.status.clipped > 0
    assert clipped.status.negative_sites == 0
    assert np.all(clipped.sites.tau >= 1e-12)


@pytest.mark.parametrize("stop", ["marginals", "site-rms"])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_stopping_rules(stop, scale, toy):
    """At every prior variance marginals (or sites) are those of the tilted distributions, to the tolerance.

    Posterior, cavities and distances are worked out here; that of other sites is beyond the tolerance.
    """
    X, y = toy
    K = SquaredExponential(scale, 1.0).matrix(X)

    def distance(sites):
        covariance = K - K @ np.linalg.solve(K + np.diag(1 / sites.tau), K)
        m, v = covariance @ sites.nu, np.diagonal(covariance)
        cavity = 1 / (1 / v - sites.tau)
        tilted = Probit().tilted(y, cavity * (m / v - sites.nu), cavity)
        if stop == "marginals":
            return max(
                np.max(np.abs(tilted.mean - m) / np.sqrt(v)), np.max(np.abs(np.log(tilted.variance / v)))
            )
        tau = 1 / tilted.variance - 1 / cavity
        nu = tilted.mean / tilted.variance - (m / v - sites.nu)
        return max(np.sqrt(np.mean((tau - sites.tau) ** 2)), np.sqrt(np.mean((nu - sites.nu) ** 2)))

    for tolerance in (1e-3, 1e-6):
        found = infer(Dense.build(K), Probit(), y, RULES["ep"], Options(stop=stop, tolerance=tolerance))
        assert found.status.converged and found.status.residual <= tolerance
        assert distance(found.sites) == pytest.approx(found.status.residual, rel=1e-3, abs=1e-9)
    assert distance(Sites(found.sites.tau, 0.5 * found.sites.nu)) > 1e-3


def test_improper_start_says_which_matrix(toy):
    X, y = toy
    posterior = Dense.build(SquaredExponential().matrix(X))
    with pytest.raises(NotPositiveDefinite, match="I \\+ Lambda\\^T T Lambda"):
        infer(posterior, Probit(), y, RULES["ep"], start=Sites(np.full(30, -50.0), np.zeros(30)))


@pytest.mark.parametrize("likelihood", [Probit(), Logit()])
def test_newton_and_other_steps_do_not_lead_round_in_a_circle(likelihood):
    """Pairs of rows, some of unlike labels, at a variance of 1e8: residuals came round in threes for ever."""
    y = np.array([1, -1, 1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1, -1, 1, 1, 1, 1, -1.0])
    K = 1e8 * np.kron(np.eye(10), np.ones((2, 2)))[:19, :19]
    found, one_by_one = (
        infer(Dense.build(K), likelihood, y, RULES["ep"], options)
        for options in (Options(), Options(schedule="sequential"))
    )
    assert found.status.converged and found.status.sweeps < 100, found.status
    assert found.log_evidence == pytest.approx(one_by_one.log_evidence, abs=1e-6)


@pytest.mark.parametrize(
    "bad",
    [
        {"schedule": "random"},
        {"stop": "never"},
        {"damping": 0.0},
        {"tolerance": 0.0},
        {"max_sweeps": 0},
        {"memory": -1},
        {"max_sweeps": 2.5},
        {"min_precision": np.nan},
    ],
)
def test_options_are_checked(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Options(**bad)


def test_factorisations_report_and_never_repair():
    with pytest.raises(NotPositiveDefinite, match="K is not positive definite \\(pivot 2 of 2\\)"):
        cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]), "K")
    X = np.linspace(0, 1, 40)[:, None]
    K = SquaredExponential(2.0, 3.0).matrix(X)  # numerically of rank 10 or so
    root = semidefinite_root(K, "K")
    assert root.shape[1] < 20
    np.testing.assert_allclose(root @ root.T, K, atol=1e-12)
    with pytest.raises(NotPositiveDefinite):
        semidefinite_root(np.full((2, 2), np.nan), "K")


@pytest.mark.parametrize(
    "K", [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0, 1.0], [1.0, 1.0, 3.0], [1.0, 3.0, 1.0]]], ids=["2", "3"]
)
def test_an_indefinite_matrix_has_no_root(K):
    """Pivots alone do not tell: they stop at the same place as for a singular matrix."""
    with pytest.raises(NotPositiveDefinite, match="K is not positive definite"):
        semidefinite_root(np.array(K), "K")
    large = np.eye(200)  # where one diagonal entry, by little, is all there is to see
    large[0, 1] = large[1, 0] = 1.0 + 2e-12
    with pytest.raises(NotPositiveDefinite, match="K is not positive definite"):
        semidefinite_root(large, "K")


@pytest.mark.parametrize("lengthscale", [1e-3, 0.05, 0.4, 2.0, 1e3])
@pytest.mark.parametrize("variance", [1e-8, 1.0, 1e12])
def test_every_kernel_matrix_has_a_root(variance, lengthscale):
    X = np.random.default_rng(0).uniform(0, 1, (300, 2))
    K = SquaredExponential(variance, lengthscale).matrix(np.vstack([X, X[:20]]))
    root = semidefinite_root(K, "K")
    np.testing.assert_allclose(root @ root.T, K, atol=1e-12 * variance)


def test_projections_that_fail_leave_their_sites():
    """Cavities are proper, but the projected variance is no number, zero or negative."""
    variance = np.array([0.5, 0.0, np.nan, -1.0])

    def project(likelihood, y, m, v):
        return Projection(np.zeros(4), m + 0.1, variance, np.full(4, 0.1), (variance - v) / v**2)

    marginals = Marginals(np.zeros(4), np.ones(4), np.zeros(4))
    sites = Sites(np.full(4, 0.2), np.full(4, 0.3))
    update = tilted_rule(project).update(marginals, sites, None, np.zeros(4))
    assert update.skipped == 3
    np.testing.assert_array_equal(update.sites.tau[1:], 0.2)
    np.testing.assert_array_equal(update.sites.nu[1:], 0.3)
    assert update.sites.tau[0] != 0.2


def test_sites_that_cannot_be_updated_are_no_fixed_point(toy):
    """Nothing moves, and nothing has converged."""
    X, y = toy

    def stuck(marginals, sites, likelihood, y):
        return Update(sites, np.zeros(len(y)), np.zeros(len(y)), skipped=len(y))

    found = infer(Dense.build(SquaredExponential().matrix(X)), Probit(), y, Rule(stuck))
    assert not found.status.converged and f"{len(y)} sites with an improper cavity" in found.status.message


@pytest.mark.parametrize("evidence", [np.nan, np.inf])
def test_sites_that_settle_without_an_evidence_have_not_converged(evidence, toy):
    X, y = toy

    def without(marginals, sites, likelihood, y):
        update = RULES["ep"].update(marginals, sites, likelihood, y)
        return replace(update, log_terms=np.full(len(y), evidence))

    posterior = Dense.build(SquaredExponential().matrix(X))
    found = infer(posterior, Probit(), y, Rule(without), Options(newton=False))
    assert found.status.residual <= Options().tolerance and not found.status.converged
    assert "lost to rounding or overflow" in found.status.message
