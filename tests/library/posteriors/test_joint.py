"""The posterior of several classes against that of all pairs, orthant probabilities and the binary probit."""

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp
from scipy.stats import multivariate_normal, norm

from tilted.gaussian import Sites
from tilted.inference import RULES
from tilted.inference.engine import infer
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.kernels import SquaredExponential
from tilted.likelihoods.probit import Probit
from tilted.numerics.largest import log_largest
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense
from tilted.posteriors.joint import FEW, Joint

RNG = np.random.default_rng(0)
TIGHT = Options(tolerance=1e-10)


def prior(n, C, variance=3.0, lengthscale=1.0):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 2))
    labels = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n), np.linspace(-1, 1, C + 1)[1:-1])
    return X, Joint(SquaredExponential(variance, lengthscale).matrix(X), labels, C)


def orthant(joint):
    """P(every label has the highest utility): log of the probability that all h + noise are positive."""
    covariance = joint.pairs.K + np.eye(len(joint.pairs))
    zero = np.zeros(len(covariance))
    return multivariate_normal.logcdf(zero, zero, covariance, maxpts=400_000, abseps=1e-9, releps=1e-5, rng=0)


@pytest.mark.parametrize(("n", "C", "variance"), [(8, 2, 1.0), (12, 3, 2.0), (9, 5, 100.0), (20, 3, 1e6)])
def test_conditioning_is_that_of_all_pairs(n, C, variance):
    _, joint = prior(n, C, variance)
    size = n * (C - 1)
    tau = RNG.uniform(0.0, 1.0, size) * 10.0 ** RNG.uniform(-9, 0, size)
    tau[:2] = 0.0
    sites = Sites(tau, np.sqrt(tau) * RNG.normal(size=size))
    one, other = joint.condition(sites), joint.pairs.condition(sites)
    rtol = 1e-15 * variance + 1e-11
    np.testing.assert_allclose(one.marginals.variance, other.marginals.variance, rtol=rtol)
    np.testing.assert_allclose(one.marginals.mean, other.marginals.mean, atol=rtol * np.sqrt(variance))
    assert one.log_normaliser == pytest.approx(other.log_normaliser, abs=10 * rtol * size)
    assert one.anchored == pytest.approx(other.anchored, abs=10 * rtol * size)


@pytest.mark.parametrize("C", [3, FEW + 1])  # with Newton's method, and without
@pytest.mark.parametrize("rule", [RULES["ep"], RULES["vb"], power_rule(0.5)], ids=["ep", "vb", "power"])
def test_every_rule_ends_where_it_does_on_all_pairs(rule, C):
    _, joint = prior(10, C)
    ones = np.ones(10 * (C - 1))
    one, other = (infer(p, Probit(), ones, rule, TIGHT) for p in (joint, joint.pairs))
    assert one.status.converged and other.status.converged
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-8)
    np.testing.assert_allclose(one.state.marginals.mean, other.state.marginals.mean, atol=1e-7)


def test_evidence_and_predictions_are_near_the_exact_ones():
    """The evidence is an orthant probability, and predictions are ratios of two."""
    variance = 4.0
    X, joint = prior(4, 3, variance)
    found = infer(joint, Probit(), np.ones(8), EP, TIGHT)
    exact = orthant(joint)
    assert found.log_evidence == pytest.approx(exact, abs=0.03)
    kernel, new = SquaredExponential(variance, 1.0), np.array([[0.3, -0.4]])
    p = np.exp(log_largest(*with_noise(found.state.predict(kernel.matrix(new, X), kernel.diagonal(new)))))[0]
    K = kernel.matrix(np.concatenate([X, new]))
    for c in range(3):
        more = orthant(Joint(K, np.append(joint.labels, c), 3))
        assert p[c] == pytest.approx(np.exp(more - exact), abs=0.01)


def with_noise(moments):
    mean, covariance = moments
    return mean, covariance + np.eye(mean.shape[1])


def test_two_classes_are_the_binary_probit():
    """(f_1 - f_0) / sqrt(2) has the kernel's own covariance."""
    X, joint = prior(15, 2)
    y = 2.0 * joint.labels - 1.0
    one = infer(joint, Probit(), np.ones(15), EP, TIGHT)
    other = infer(Dense.build(joint.K), Probit(), y, EP, TIGHT)
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-10)
    kernel, new = SquaredExponential(3.0, 1.0), RNG.normal(size=(5, 2))
    cross, variance = kernel.matrix(new, X), kernel.diagonal(new)
    mean, covariance = one.state.predict(cross, variance)
    m, v = other.state.predict(cross, variance)
    np.testing.assert_allclose((mean[:, 1] - mean[:, 0]) / np.sqrt(2.0), m, atol=1e-9)
    apart = covariance[:, 0, 0] + covariance[:, 1, 1] - 2.0 * covariance[:, 0, 1]
    np.testing.assert_allclose(apart / 2.0, v, rtol=1e-9)
    labels = np.ones(5)
    log_p = log_largest(*with_noise((mean, covariance)))
    np.testing.assert_allclose(log_p[:, 1], Probit().log_predictive(labels, m, v), atol=1e-10)


def each_its_own(X, labels):
    """Three covariances that have nothing in common, the last nearly nothing."""
    kernels = (SquaredExponential(v, s) for v, s in ((4.0, 0.5), (0.7, 2.0), (1e-4, 1.0)))
    return Joint(np.stack([kernel.matrix(X) for kernel in kernels]), labels, 3)


def test_every_class_may_have_a_covariance_of_its_own():
    X, shared = prior(9, 3)
    joint = each_its_own(X, shared.labels)
    K, (i, j), (k, m) = joint.K, (0, 1), (4, 0)  # of two pairs: point, place of the other class
    own, other = shared.labels, shared.rivals
    signs = [[(own[p], 1.0), (other[p, q], -1.0)] for p, q in ((i, j), (k, m))]
    h = sum(s * t * K[c, i, k] for c, s in signs[0] for d, t in signs[1] if c == d)
    assert joint.pairs.K[2 * i + j, 2 * k + m] == pytest.approx(h, rel=1e-12)
    one, two = (infer(p, Probit(), np.ones(18), EP, TIGHT) for p in (joint, joint.pairs))
    assert one.status.converged
    assert one.log_evidence == pytest.approx(two.log_evidence, abs=1e-8)
    np.testing.assert_allclose(one.state.marginals.mean, two.state.marginals.mean, atol=1e-7)
    np.testing.assert_allclose(one.state.marginals.variance, two.state.marginals.variance, rtol=1e-7)
    assert abs(infer(shared, Probit(), np.ones(18), EP, TIGHT).log_evidence - one.log_evidence) > 0.1


def test_predictions_by_covariances_of_each_class():
    """At the data they are h's without noise, far away the prior's; single points agree with all at once."""
    X, shared = prior(9, 3)
    joint = each_its_own(X, shared.labels)
    state = infer(joint, Probit(), np.ones(18), EP, TIGHT).state
    variances = np.diagonal(joint.K, axis1=1, axis2=2)
    mean, covariance = state.predict(joint.K, variances)
    full = state.covariance(joint.K, joint.K)
    np.testing.assert_allclose(np.einsum("cndn->ncd", full), covariance, atol=1e-12)
    np.testing.assert_allclose(mean, state.mean.T, atol=1e-12)
    exact, variance = joint.pairs.condition(state.sites).marginals.mean, state.weights
    own = np.take_along_axis(mean, joint.labels[:, None], axis=1) - np.take_along_axis(
        mean, joint.rivals, axis=1
    )
    u = np.take_along_axis(variance.T, joint.labels[:, None], axis=1)  # the mean of a label's own noise
    np.testing.assert_allclose((own + u).ravel(), exact, atol=1e-9)
    far = state.predict(np.zeros((3, 1, 9)), np.array([[4.0], [0.7], [1e-4]]))[1]
    np.testing.assert_allclose(far[0], np.diag([4.0, 0.7, 1e-4]), atol=1e-12)


@pytest.mark.parametrize(("C", "atol"), [(2, 1e-9), (3, 1e-5), (6, 1e-3)])
def test_the_largest_of_several_variables(C, atol):
    A = RNG.normal(size=(3, C, C))
    mean, covariance = RNG.normal(size=(3, C)), A @ np.swapaxes(A, 1, 2) / C + np.eye(C)
    p = np.exp(log_largest(mean, covariance))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    for i in range(3):
        for c in range(C):
            D = -np.delete(np.eye(C), c, axis=0)
            D[:, c] = 1.0
            exact = multivariate_normal.cdf(D @ mean[i], np.zeros(C - 1), D @ covariance[i] @ D.T, rng=0)
            assert p[i, c] == pytest.approx(float(exact), abs=atol)


def log_largest_of_independent(mean, sd):
    """By a fine grid in each variable, the others being below it."""
    z = np.linspace(-12.0, 12.0, 10001)
    for c in range(len(mean)):
        others = np.delete(np.arange(len(mean)), c)
        below = sum(log_ndtr((mean[c] + sd[c] * z - mean[j]) / sd[j]) for j in others)
        yield logsumexp(norm.logpdf(z) + below) + np.log(z[1] - z[0])


@pytest.mark.parametrize(
    ("C", "low", "high", "atol"),
    [(3, 0, 2, 1e-3), (6, 0, 4, 0.01), (10, 0, 8, 0.02), (10, -3, 0, 0.01), (40, -3, 0, 0.03)],
)
def test_classes_of_unlike_variance_have_their_rare_wins(C, low, high, atol):
    """Classes that win in the tails of wide others had next to none of their probability."""
    mean, sd = -np.linspace(0.0, 6.0, C), np.sqrt(1.0 + np.logspace(low, high, C))
    log_p = log_largest(mean[None], np.diag(sd**2)[None])[0]
    np.testing.assert_allclose(log_p, list(log_largest_of_independent(mean, sd)), atol=atol)


def test_a_class_far_behind_one_that_is_little_known():
    mean, sd = np.array([0.0, -40.0, -40.0]), np.array([101.0, 1.0, 1.0]) ** 0.5
    exact = list(log_largest_of_independent(mean, sd))
    np.testing.assert_allclose(log_largest(mean[None], np.diag(sd**2)[None])[0], exact, atol=1e-4)
    far = log_largest(np.array([[0.0, 0.0, -1e9]]), np.eye(3)[None])[0]
    np.testing.assert_allclose(far[:2], np.log(0.5), atol=1e-6)
    assert -np.inf < far[2] < -1e16


def test_differences_without_a_variance_are_refused():
    with pytest.raises(ArithmeticError, match="lost to rounding"):
        log_largest(np.zeros((1, 3)), np.diag([1.0, 1.0, -2.0])[None])


@pytest.mark.parametrize(("tau", "nu"), [(-0.1, 0.0), (0.0, 1.0), (np.nan, 0.0)])
def test_sites_that_are_none_of_a_probit_are_refused(tau, nu):
    _, joint = prior(4, 3)
    sites = Sites(np.full(8, 0.5), np.zeros(8)).replace(3, tau, nu)
    with pytest.raises(NotPositiveDefinite):
        joint.condition(sites)
