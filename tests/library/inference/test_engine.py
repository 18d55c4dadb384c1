"""The loop: convergence where plain iteration fails, honest status, bounded work."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_wine

from tilted.gaussian import Marginals, Sites
from tilted.inference import RULES, rule_of
from tilted.inference.engine import infer
from tilted.inference.ep import tilted_rule
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.rule import Rule, Update
from tilted.kernels import SquaredExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.logit import Logit
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.student_t import StudentT
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


def test_acceleration_reaches_the_damped_fixed_point(oscillating):
    posterior, y = oscillating
    damped = infer(posterior, Probit(), y, RULES["ep"], Options(newton=False, memory=0, damping=0.5))
    fast = infer(posterior, Probit(), y, RULES["ep"])
    assert damped.status.converged
    assert fast.log_evidence == pytest.approx(damped.log_evidence, abs=1e-9)
    assert fast.status.sweeps < damped.status.sweeps


def test_running_out_of_sweeps_is_reported(toy):
    X, y = toy
    posterior = Dense.build(SquaredExponential().matrix(X))
    found = infer(posterior, Probit(), y, RULES["ep"], Options(max_sweeps=2))
    assert not found.status.converged
    assert found.status.sweeps == 2
    assert "max_sweeps" in found.status.message
    assert np.isfinite(found.log_evidence)


def test_what_rounding_leaves_of_the_residual_is_not_swept_at_for_ever():
    X = np.random.default_rng(0).normal(size=(40, 2))
    posterior, likelihood = Dense.build(SquaredExponential(1e8, 1.0).matrix(X)), StudentT(1e-3, 3.0)
    found = infer(posterior, likelihood, X[:, 0], RULES["ep"], Options(tolerance=1e-11))
    assert not found.status.converged
    assert found.status.residual < 1e-8
    assert found.status.sweeps < 500
    assert "rounding" in found.status.message
    assert "raise tolerance" in found.status.message
    assert infer(posterior, likelihood, X[:, 0], RULES["ep"], Options(tolerance=1e-6)).status.converged


def test_slow_steps_are_not_taken_for_rounding(toy):
    X, y = toy
    posterior = Dense.build(SquaredExponential(2.0, 1.0).matrix(X))
    sites = infer(posterior, Probit(), y, RULES["ep"]).sites
    near = Sites(sites.tau * (1.0 + 1e-7), sites.nu)
    slow = Options(newton=False, memory=0, damping=1e-3, max_sweeps=10_000)
    found = infer(posterior, Probit(), y, RULES["ep"], slow, near)
    assert found.status.converged
    assert found.status.sweeps > 500


def test_warm_start_is_an_argument_and_nothing_is_kept(toy):
    X, y = toy
    posterior = Dense.build(SquaredExponential(2.0, 1.0).matrix(X))
    cold = infer(posterior, Probit(), y, RULES["ep"])
    warm = infer(posterior, Probit(), y, RULES["ep"], start=cold.sites)
    again = infer(posterior, Probit(), y, RULES["ep"])
    assert warm.status.sweeps == 0
    assert again.status == cold.status
    assert again.log_evidence == cold.log_evidence


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


def test_symmetric_fixed_point_of_the_square_link(counts):
    """Zero prior mean and flat sites: f = 0 is never left; positive sites break the symmetry."""
    X, y = counts
    posterior = Dense.build(SquaredExponential(1.0, 1.0).matrix(X))
    stuck = infer(posterior, PoissonSquare(), y, RULES["ep"])
    start = Sites(np.ones(len(y)), np.sqrt(y + 0.5))
    free = infer(posterior, PoissonSquare(), y, RULES["ep"], start=start)
    assert np.all(stuck.state.marginals.mean == 0.0)
    assert free.state.marginals.mean.max() > 1.0
    assert free.log_evidence > stuck.log_evidence


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


def test_a_start_lost_to_rounding_is_no_posterior():
    """Two equal points, one with a site 2^100 times as precise as the prior: the other's variance becomes 0.

    Powers of two: no digit of it depends on the machine.
    """
    posterior, start = Dense.build(np.full((2, 2), 2.0**40)), Sites(np.array([0.0, 2.0**60]), np.zeros(2))
    with pytest.raises(NotPositiveDefinite, match="Sigma"):
        infer(posterior, Probit(), np.ones(2), RULES["ep"], start=start)


def test_an_adapted_step_settles_where_a_fixed_one_circles(counts):
    """Without Newton steps (counts have none), at the evidence of small and of sequential steps."""
    X, y = counts
    posterior = Dense.build(SquaredExponential(3.0, 1.3).matrix(X), 1.0)
    found, small, one_by_one = (
        infer(posterior, PoissonSquare(), y, RULES["ep"], options)
        for options in (Options(max_sweeps=100), Options(damping=0.1), Options(schedule="sequential"))
    )
    assert found.status.converged and found.status.damping < 1.0
    assert found.log_evidence == pytest.approx(one_by_one.log_evidence, abs=1e-9)
    assert found.log_evidence == pytest.approx(small.log_evidence, abs=1e-9)


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


@pytest.mark.parametrize("schedule", ["parallel", "sequential"])
def test_an_overflow_is_not_blamed_on_the_number_of_sweeps(schedule, toy):
    """The square of the prior mean is no double; more sweeps would not help."""
    X, y = toy
    posterior = Dense.build(SquaredExponential().matrix(X), 1e160)
    with np.errstate(over="ignore", invalid="ignore"):
        found = infer(posterior, Probit(), y, RULES["ep"], Options(schedule=schedule, max_sweeps=3))
    assert not found.status.converged and not np.isfinite(found.log_evidence)
    assert "lost to rounding or overflow" in found.status.message
    assert "max_sweeps" not in found.status.message


@pytest.mark.parametrize(
    "bad",
    [
        {"schedule": "random"},
        {"stop": "never"},
        {"damping": 0.0},
        {"damping": 1.5},
        {"tolerance": 0.0},
        {"max_sweeps": 0},
        {"memory": -1},
        {"max_sweeps": np.inf},
        {"max_sweeps": 2.5},
        {"memory": 1.5},
        {"tolerance": np.inf},
        {"tolerance": np.nan},
        {"damping": np.nan},
        {"min_damping": np.nan},
        {"min_precision": np.nan},
        {"min_precision": np.inf},
    ],
)
def test_options_are_checked(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Options(**bad)


def test_unknown_method_lists_the_known():
    with pytest.raises(ValueError, match="ep, qp"):
        rule_of("laplace")


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


@pytest.mark.parametrize("pivot", [0, 1])
def test_an_infinite_pivot_is_no_factorisation(pivot):
    A = np.eye(2)
    A[pivot, pivot] = np.inf
    with pytest.raises(NotPositiveDefinite):
        cholesky(A, "A")


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


@pytest.mark.parametrize("variance, evidence", [(1e9, -52.04425749), (1e12, -57.08339481)])
def test_vb_of_isolated_points_at_huge_variances(variance, evidence, toy):
    """Every point by itself: the bound is N times that of one point, maximised here over (m, v)."""
    X, y = toy
    posterior = Dense.build(SquaredExponential(variance, 1e-3).matrix(X))
    found = infer(posterior, Probit(), y, RULES["vb"])

    def bound(x):
        m, v = x[0] * np.sqrt(variance), np.exp(x[1]) * variance
        fit = Probit().expected_log(np.ones(1), np.array([m]), np.array([v]))[0][0]
        return -(fit - 0.5 * ((m**2 + v) / variance - 1.0 - np.log(v / variance)))

    best = minimize(bound, [1.0, -1.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13})
    assert found.status.converged
    assert found.log_evidence == pytest.approx(-30 * best.fun, abs=1e-6) == pytest.approx(evidence, abs=1e-6)


@pytest.mark.parametrize("schedule", ["parallel", "sequential"])
def test_a_bound_is_not_lowered_even_by_little(schedule, toy):
    """A rule that asks for slightly stronger sites than the best: some 1e-7 of the bound would be lost."""
    X, y = toy
    posterior, best = Dense.build(SquaredExponential().matrix(X)), RULES["vb"]
    at = infer(posterior, Probit(), y, best, Options(tolerance=1e-10))

    def overdone(marginals, sites, likelihood, y):
        update = best.update(marginals, sites, likelihood, y)
        return replace(update, sites=Sites(update.sites.tau * 1.003, update.sites.nu))

    options = Options(schedule=schedule, newton=False, max_sweeps=1, min_damping=0.9)
    after = infer(posterior, Probit(), y, replace(best, update=overdone), options, at.sites)
    lost = Sites(at.sites.tau * 1.003, at.sites.nu)
    state = posterior.condition(lost)
    terms = best.update(state.marginals, lost, Probit(), y).log_terms
    loss = (at.log_evidence - state.log_normaliser - np.sum(terms)) / (1 + abs(at.log_evidence))
    assert 1e-9 < loss < 1e-5
    assert after.log_evidence >= at.log_evidence - 1e-10 * (1 + abs(at.log_evidence))
    assert after.status.retries > 0


def test_a_step_that_rounding_forbids_is_not_blamed_on_damping():
    """Targets of 1e45 with noise 1: K + I is K, and no site of positive precision makes it improper."""
    X, y = np.arange(8.0)[:, None], 1e45 * np.cos(np.arange(8.0))
    K = SquaredExponential(1e91, 80.0).matrix(X)
    found = infer(Dense.build(K), GaussianNoise(1.0), y, power_rule(0.5), Options(fallback=False))
    assert not found.status.converged and "lost to rounding or overflow" in found.status.message


def test_a_residual_that_rounding_leaves_is_not_blamed_on_the_number_of_sweeps():
    """Targets of 1e45 with noise 1: a mean that is right to 16 digits is 1e29 standard deviations off."""
    X, y = np.arange(8.0)[:, None], 1e45 * np.cos(np.arange(8.0))
    posterior = Dense.build(SquaredExponential(1.0, 3.0).matrix(X))
    found = infer(posterior, GaussianNoise(1.0), y, power_rule(0.5))
    assert not found.status.converged and "lost to rounding or overflow" in found.status.message
    assert "max_sweeps" not in found.status.message and "standard deviations" in found.status.message


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
