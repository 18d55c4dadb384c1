"""Sampled ground truth against quadrature, closed forms and an orthant probability."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import multivariate_normal, norm

from tilted.exact import diagnostics
from tilted.exact.annealing import anneal, schedule
from tilted.exact.chains import Length, sample
from tilted.exact.moves import Moves, Walkers, iterate
from tilted.exact.target import Conditional, Reference, Target
from tilted.gaussian import Sites
from tilted.inference import RULES
from tilted.inference.ep import EP
from tilted.kernels import SquaredExponential, White
from tilted.learning.dense import Problem, infer_at
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit

SHORT = Length(chains=128, warmup=50, iterations=400)
PAIR = np.array([[0.0], [1.0]])
CASES = {
    "probit": (Probit(), np.array([1.0, -1.0]), 0.0, SquaredExponential(4.0, 1.5)),
    "poisson-square": (PoissonSquare(), np.array([1.0, 4.0]), 2.0, SquaredExponential(0.5, 1.5)),
}


def target_of(name):
    likelihood, y, mean, kernel = CASES[name]
    return Target.build(kernel, PAIR, y, likelihood, mean)


def sites_of(target, method="ep"):
    """Sites of an inference on the observations of a target without equal inputs."""
    problem = Problem(target.inputs, target.y, target.likelihood, RULES[method], target.mean)
    return infer_at(problem, target.kernel).sites


def on_a_grid(target, reach=9.0, n=601):
    """Evidence, means and variances of two latents by the trapezoidal rule."""
    sd = np.sqrt(target.kernel.variance)
    f = target.mean + np.linspace(-reach * sd, reach * sd, n)
    points = np.stack(np.meshgrid(f, f, indexing="ij"), axis=-1)
    log_prior = multivariate_normal([target.mean] * 2, target.prior.K).logpdf(points)
    with np.errstate(divide="ignore"):
        density = np.exp(log_prior + sum(log_p(target, i, points[..., i]) for i in (0, 1)))
    weights = density * (f[1] - f[0]) ** 2
    Z = weights.sum()
    means = [np.sum(weights * points[..., i]) / Z for i in (0, 1)]
    variances = [np.sum(weights * (points[..., i] - means[i]) ** 2) / Z for i in (0, 1)]
    return np.log(Z), np.array(means), np.array(variances)


def log_p(target, i, f):
    """log p(y_i | f), written independently of the package."""
    y = target.y[i]
    if target.likelihood.name == "probit":
        return norm.logcdf(y * f)
    return y * np.log(f**2) - f**2 - gammaln(y + 1)


def assert_within(estimate, error, truth, sigmas=4.0):
    """Estimates lie within ``sigmas`` of their own standard errors of the truth."""
    np.testing.assert_array_less(np.abs(estimate - truth), sigmas * np.asarray(error))


@pytest.mark.parametrize(("name", "origin"), [("poisson-square", "prior"), ("probit", "half of ep")])
def test_two_latents_equal_quadrature_from_any_reference(name, origin):
    target = target_of(name)
    sites = None if origin == "prior" else sites_of(target, origin.split()[-1])
    reference = Reference.build(target, sites, 0.5 if origin.startswith("half") else 1.0)
    log_z, mean, variance = on_a_grid(target)
    for moves in (Moves(1, 0), Moves(0, 1)):
        found = sample(reference, np.random.default_rng(5), SHORT, moves)
        latents = found.latents
        assert found.stuck == 0
        assert np.all(latents.r_hat < 1.02)
        assert np.all(latents.se_mean < 0.02) and np.all(latents.se_variance / variance < 0.03)
        assert_within(latents.mean, latents.se_mean, mean)
        assert_within(latents.variance, latents.se_variance, variance)
    annealed = anneal(reference, np.random.default_rng(6), np.linspace(0, 1, 21) ** 2, runs=4000)
    assert annealed.standard_error < 0.01
    assert_within(annealed.log_evidence, annealed.standard_error, log_z)


def test_one_latent_far_from_gaussian():
    """A half-normal posterior: one label, prior sd 1000; the moments by adaptive quadrature."""
    kernel = SquaredExponential(1e6, 1.0)
    X, y = np.array([[0.0], [1e3]]), np.array([1.0, -1.0])  # two independent latents
    target = Target.build(kernel, X, y, Probit())
    reference = Reference.build(target, sites_of(target), 0.7)
    weight = [
        quad(lambda f, k=k: f**k * np.exp(norm.logcdf(f)) * norm.pdf(f, 0, 1e3), -40, 1e4, points=[0, 40])[0]
        for k in range(3)
    ]
    mean, variance = weight[1] / weight[0], weight[2] / weight[0] - (weight[1] / weight[0]) ** 2
    latents = sample(reference, np.random.default_rng(1), SHORT).latents
    assert_within(latents.mean, latents.se_mean, np.array([mean, -mean]))
    assert_within(latents.variance, latents.se_variance, variance)
    assert np.all(latents.se_variance / variance < 0.03)
    rng = np.random.default_rng(2)
    annealed = anneal(reference, rng, schedule(reference, rng), runs=2000)
    assert annealed.standard_error < 0.02
    assert_within(annealed.log_evidence, annealed.standard_error, 2 * np.log(weight[0]))


@pytest.fixture
def regression(toy):
    """A Gaussian likelihood: the posterior is exact regression."""
    X, _ = toy
    y, noise, kernel = np.sin(X[:, 0]), 0.3, SquaredExponential(1.7, 0.9)
    return X, y, noise, kernel, Target.build(kernel, X, y, GaussianNoise(noise), 0.4)


def test_gaussian_likelihood_is_exact_regression(regression):
    X, y, noise, kernel, target = regression
    Xs, ys = np.random.default_rng(0).normal(size=(5, 2)), np.linspace(-1, 1, 5)
    C, cross = kernel.matrix(X) + noise * np.eye(len(y)), kernel.matrix(Xs, X)
    m = 0.4 + cross @ np.linalg.solve(C, y - 0.4)
    v = kernel.variance - np.sum(cross * np.linalg.solve(C, cross.T).T, axis=1)
    density = norm.logpdf(ys, m, np.sqrt(v + noise))
    half = Reference.build(target, sites_of(target), 0.5)
    found = sample(half, np.random.default_rng(3), SHORT, Moves(2, 0), inputs=Xs, labels=ys)
    assert_within(found.others.mean, found.others.se_mean, m)
    assert_within(found.others.variance, found.others.se_variance, v)
    assert_within(found.log_density, found.se_log_density, density)
    assert np.all(found.se_log_density < 0.05)
    exact = multivariate_normal(np.full(len(y), 0.4), C).logpdf(y)
    prior, rng, moves = Reference.build(target), np.random.default_rng(4), Moves(3, 0)
    annealed = anneal(prior, rng, schedule(prior, rng, 0.99, moves), 1000, moves)
    assert annealed.standard_error < 0.1
    assert_within(annealed.log_evidence, annealed.standard_error, exact)


def test_a_reference_that_is_the_posterior_has_equal_weights(regression):
    _, y, noise, kernel, target = regression
    reference = Reference.build(target, sites_of(target))
    annealed = anneal(reference, np.random.default_rng(0), np.array([0.0, 1.0]), runs=64)
    C = target.prior.K + noise * np.eye(len(y))
    exact = multivariate_normal(np.full(len(y), 0.4), C).logpdf(target.y)
    assert annealed.log_evidence == pytest.approx(exact, abs=1e-6)
    assert annealed.effective == pytest.approx(64, abs=1e-3)
    found = sample(reference, np.random.default_rng(0), Length(8, 0, 40))
    assert found.evaluations == pytest.approx(1.0)  # every first proposal is accepted


@pytest.mark.slow
def test_variances_and_their_errors_are_unbiased_however_few_the_draws(regression):
    """Four chains of four draws, from the posterior itself, many times over."""
    target = regression[-1]
    reference, rng = Reference.build(target, sites_of(target)), np.random.default_rng(9)
    found = [sample(reference, rng, Length(4, 1, 4)).latents for _ in range(200)]
    variances, claimed = (np.array([getattr(f, name) for f in found]) for name in ("variance", "se_mean"))
    exact, spread = reference.variance, np.array([f.mean for f in found]).std(axis=0)
    assert np.mean(variances / exact) == pytest.approx(1.0, abs=0.04)
    assert np.sqrt(np.mean(claimed**2 / spread**2)) == pytest.approx(1.0, abs=0.07)


@pytest.mark.parametrize("moves", [Moves(1, 0), Moves(0, 1)])
def test_moves_leave_every_power_invariant(moves, regression):
    """At power p a Gaussian likelihood's posterior is that of noise / p."""
    _, _, noise, kernel, target = regression
    p, n, walks = 0.3, len(target), 4000
    covariance = np.linalg.inv(np.linalg.inv(target.prior.K) + np.eye(n) * p / noise)
    mean = 0.4 + covariance @ (p / noise * (target.y - 0.4))
    rng = np.random.default_rng(8)
    draws = multivariate_normal(mean, covariance).rvs(walks, random_state=rng).T
    reference = Reference.build(target)
    walkers = Walkers.start(reference, draws - reference.mean[:, None])
    for _ in range(3):
        iterate(rng, reference, walkers, moves, p)
    moved = reference.mean[:, None] + walkers.D
    assert np.mean(moved != draws) > 0.99
    np.testing.assert_allclose(walkers.residual, reference.residuals(walkers.D).sum(axis=0), rtol=1e-9)
    sd = np.sqrt(np.diagonal(covariance))
    assert_within(moved.mean(axis=1), sd / np.sqrt(walks), mean, 4.5)
    assert_within(moved.var(axis=1) / sd**2, np.sqrt(2 / walks), 1.0, 4.5)


@pytest.mark.slow
def test_evidence_is_an_orthant_probability():
    """Probit evidence = P(all y_i (f_i + noise_i) > 0), by Genz's integration."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(12, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=12) > 0, 1.0, -1.0)
    target = Target.build(SquaredExponential(25.0, 1.0), X, y, Probit())
    signed = target.y[:, None] * (target.prior.K + np.eye(12)) * target.y
    exact = np.log(
        multivariate_normal.cdf(np.zeros(12), np.zeros(12), signed, maxpts=200000, abseps=1e-9, rng=rng)
    )
    reference = Reference.build(target, sites_of(target), 0.7)
    annealed = anneal(reference, rng, schedule(reference, rng, 0.99), runs=4000)
    assert annealed.standard_error < 0.01
    assert_within(annealed.log_evidence, annealed.standard_error, exact)
    ep = infer_at(Problem(X, y, Probit(), EP), target.kernel).log_evidence
    assert abs(ep - annealed.log_evidence) > 4 * annealed.standard_error  # precise enough to see EP's error


def test_unmixed_chains_are_flagged():
    """f and -f are equally likely at prior mean 0; only a reference around 0 goes from one to the other."""
    X, y = np.linspace(0, 1, 6)[:, None], np.full(6, 9.0)
    target = Target.build(SquaredExponential(4.0, 2.0), X, y, PoissonSquare())
    positive = Reference.build(target, Sites(np.ones(6), np.full(6, 3.0)))
    signs = np.where(np.arange(32) % 2, 1.0, -1.0)
    length, start = Length(32, 100, 400), 3.0 * np.ones((6, 1)) * signs
    apart = sample(positive, np.random.default_rng(0), length, start=start)
    assert np.all(apart.latents.r_hat > 1.5) and np.all(apart.latents.bulk_size < 100)
    assert np.all(np.sign(apart.ends) == signs)
    one = sample(positive, np.random.default_rng(0), length, start=np.abs(start))
    assert np.all(one.latents.r_hat < 1.05) and np.all(one.ends > 0)  # R-hat cannot know of the other mode
    both = sample(Reference.build(target), np.random.default_rng(0), length, start=start)
    assert np.all(both.latents.r_hat < 1.05)
    assert_within(both.latents.mean, both.latents.se_mean, 0.0)


def test_the_seed_decides_everything():
    reference = Reference.build(target_of("probit"))
    length = Length(16, 5, 40)
    first, again, other = (sample(reference, np.random.default_rng(s), length) for s in (7, 7, 8))
    np.testing.assert_array_equal(first.latents.mean, again.latents.mean)
    np.testing.assert_array_equal(first.ends, again.ends)
    assert np.all(first.latents.mean != other.latents.mean)


def test_equal_inputs_share_one_latent():
    """Against the same model with the repeated rows moved apart by almost nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 1))
    X, y = np.concatenate([X, X[:3]]), np.array([1.0, -1, 1, 1, -1, -1, 1, 1, -1])
    kernel = SquaredExponential(9.0, 0.7)
    target = Target.build(kernel, X, y, Probit())
    assert len(target) == 6
    np.testing.assert_array_equal(target.inputs[target.latent], X)
    sites = infer_at(Problem(X, y, Probit(), EP), kernel).sites
    reference = Reference.build(target, sites)
    found = infer_at(Problem(X, y, Probit(), EP), kernel)
    np.testing.assert_allclose(reference.mean[target.latent], found.state.marginals.mean, atol=1e-7)
    np.testing.assert_allclose(reference.variance[target.latent], found.state.marginals.variance, rtol=1e-7)
    f = rng.normal(size=(6, 3))
    total = norm.logcdf(y[:, None] * f[target.latent]).sum(axis=0)
    np.testing.assert_allclose(target.log_likelihoods(f).sum(axis=0), total, rtol=1e-12)
    rows = np.array([target.log_likelihoods_of(u, f[u]) for u in range(6)])
    np.testing.assert_allclose(rows, target.log_likelihoods(f), rtol=1e-12)


def test_equal_inputs_have_noise_of_their_own():
    """Merged into one latent, the evidence was 80 standard errors off."""
    kernel, X, y = SquaredExponential(4.0, 1.0) + White(10.0), np.zeros((3, 1)), np.array([1.0, 1.0, -1.0])
    target = Target.build(kernel, X, y, Probit())
    assert len(target) == 3
    reference = Reference.build(target, infer_at(Problem(X, y, Probit(), EP), kernel).sites)
    covariance = np.outer(y, y) * (kernel.matrix(X) + np.eye(3))
    exact = np.log(multivariate_normal.cdf(np.zeros(3), np.zeros(3), covariance, rng=0))
    rng = np.random.default_rng(0)
    found = anneal(reference, rng, schedule(reference, rng), 1000)
    assert found.log_evidence == pytest.approx(exact, abs=4 * found.standard_error)
    assert found.standard_error < 0.02
    drawn = sample(reference, rng, SHORT).latents
    assert_within(drawn.mean[:2], drawn.se_mean[:2] * np.sqrt(2.0), drawn.mean[1::-1])
    assert np.all(drawn.mean * y > 0)
    again, smooth = Conditional.build(target, X[:1]), SquaredExponential(4.0, 1.0).matrix(X[:1], X)
    left = kernel.diagonal(X[:1])[0] - (smooth @ np.linalg.solve(kernel.matrix(X), smooth.T))[0, 0]
    assert again.variance[0] == pytest.approx(left) and left > 10.0, "a noise of its own there too"


def test_conditional_prediction_equals_plain_algebra():
    X, Xs = np.linspace(0, 4, 5)[:, None], np.array([[0.4], [7.0]])
    kernel = SquaredExponential(2.0, 0.8)
    target = Target.build(kernel, X, np.ones(5), PoissonSquare(), 1.0)
    found, cross = Conditional.build(target, Xs), kernel.matrix(Xs, X)
    np.testing.assert_allclose(found.weights, cross @ np.linalg.inv(target.prior.K), atol=1e-12)
    variance = 2.0 - np.sum(cross @ np.linalg.inv(target.prior.K) * cross, axis=1)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-10)
    assert found.floored == 0


def autoregressive(chains=4, length=100):
    """Chains with autocorrelation 0.8, one generator each."""
    draws = np.empty((chains, length))
    for chain in range(chains):
        rng = np.random.default_rng(chain)
        draws[chain, 0] = rng.standard_normal()
        for k in range(1, length):
            draws[chain, k] = 0.8 * draws[chain, k - 1] + 0.6 * rng.standard_normal()
    return draws


@pytest.mark.parametrize(
    "shift, scale, r_hat, size",  # by ArviZ 0.21: rhat(method="rank"), ess(method="bulk")
    [
        (0.0, 1.0, 1.0365730119595724, 84.15724259737715),
        (0.0, 3.0, 1.1720534761287198, 84.03948763445851),
        (1.5, 1.0, 1.2408461874281447, None),
    ],
)
def test_diagnostics_equal_arviz(shift, scale, r_hat, size):
    draws = autoregressive()
    draws[3] = shift + scale * draws[3]
    assert diagnostics.split_r_hat(draws[None])[0] == pytest.approx(r_hat, rel=1e-12)
    if size is not None:
        assert diagnostics.bulk_size(draws[None])[0] == pytest.approx(size, rel=1e-12)


def test_chains_that_do_not_move_have_not_converged():
    still = np.ones((1, 4, 100))
    assert diagnostics.split_r_hat(still)[0] == np.inf and diagnostics.bulk_size(still)[0] == 0.0


def test_bad_arguments_are_refused():
    reference = Reference.build(target_of("poisson-square"))
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="no density"):
        sample(reference, rng, Length(2, 0, 4), start=np.zeros((2, 2)))
    with pytest.raises(ValueError, match="together"):
        sample(reference, rng, inputs=PAIR)
    with pytest.raises(ValueError, match="rise from 0 to 1"):
        anneal(reference, rng, np.array([0.0, 0.5]))
    with pytest.raises(ValueError, match="at least 2 runs"):
        anneal(reference, rng, np.array([0.0, 1.0]), runs=1)
    with pytest.raises(ValueError, match="chains >= 2"):
        Length(chains=1)
    with pytest.raises(ValueError, match="at least 4"):
        diagnostics.split_r_hat(np.zeros((1, 2, 3)))
