"""Relaxed EP: its divergence, the search of relaxations, EP as a limit, fixed points by quadrature."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, ndtr
from scipy.stats import norm

from tilted import likelihoods
from tilted.gaussian import Marginals, Sites
from tilted.inference import engine, relaxations, rep
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.inference.relaxations import NORMALISED, PRINTED, READINGS, UNNORMALISED, Relaxation
from tilted.inference.textbook import sweep_on
from tilted.kernels import SquaredExponential
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.step import NoisyStep
from tilted.posteriors.dense import Dense
from tilted.posteriors.sparse import Sparse
from tilted.projections.moments import kl

STEP, PROBIT = NoisyStep(0.2), Probit()
HUGE = 1e4


def integral(function, mean, sd):
    """Over 12 standard deviations either side, by Gauss-Legendre in parts that end at the step."""
    ends = np.unique(np.append(np.linspace(mean - 12 * sd, mean + 12 * sd, 49), 0.0))
    x, w = np.polynomial.legendre.leggauss(24)
    half = 0.5 * np.diff(ends)[:, None]
    return float(np.sum(half * w * function(ends[:-1, None] + half * (1 + x))))


def probability(likelihood, y, f):
    """p(y|f), written here."""
    if likelihood is PROBIT:
        return ndtr(y * f)
    return np.where(y * f > 0, 1 - likelihood.flips, likelihood.flips)


def tilted_by_quadrature(likelihood, y, mean, variance):
    """log Z, mean, variance and divergence from the moment-matched Gaussian."""
    sd = np.sqrt(variance)

    def expect(g):
        return integral(lambda f: g(f) * probability(likelihood, y, f) * norm.pdf(f, mean, sd), mean, sd)

    z = expect(lambda f: 1.0)
    first = expect(lambda f: f) / z
    second = expect(lambda f: (f - first) ** 2) / z

    def log_ratio(f):
        log_q = (
            norm.logpdf(f, mean, sd) - np.log(z) + np.log(np.maximum(probability(likelihood, y, f), 1e-300))
        )
        return log_q - norm.logpdf(f, first, np.sqrt(second))

    return np.log(z), first, second, expect(log_ratio) / z


def cost(reading, c, eps, y, h, lam, m, b):
    """The noisy step's cost, from the corrected closed form or from eqs 14-15 and 36-40; labels absorbed."""
    h, m = y * h, y * m
    lt = 1.0 / (1.0 / lam + b)
    ht = lt * (h / lam + b * m)
    z = ht / np.sqrt(lt)
    zh = eps + (1 - 2 * eps) * ndtr(z)
    rho = (1 - 2 * eps) * norm.pdf(z) / zh
    gain = ((1 - eps) * np.log(1 - eps) * ndtr(z) + eps * np.log(eps) * ndtr(-z)) / zh
    if reading != PRINTED:
        found = gain - np.log(zh) + 0.5 * np.log1p(-rho * (z + rho)) + 0.5 * z * rho
        mass = zh / np.sqrt(1 + b * lam) * np.exp(-b * (m - h) ** 2 / (2 * (1 + b * lam)))
        return c * b + found * (mass if reading == UNNORMALISED else 1.0)
    alpha = rho / np.sqrt(lt)
    new = ht + lt * alpha
    precision = alpha * new / (lt * (1 - alpha * new))  # 1 / v of eq. 15, also where alpha h = 0
    moment = lt * (1 - alpha * new) + new**2
    apart = b * (m - h) ** 2 / (1 + b * lam)
    found = gain - np.log(zh) - 0.5 * np.log(1 + (b + precision) * lam) + 0.5 * np.log(b * lam + 1)
    return c * b + found - 0.5 * b * (m**2 - 2 * m * new + moment) + 0.5 * apart


def marginals_of(h, lam, m, strength=0.5):
    """Marginals and sites with these cavities (h, lam) and site means m."""
    tau = strength / lam
    variance = 1.0 / (1.0 / lam + tau)
    return Marginals(variance * (h / lam + tau * m), variance, np.zeros(len(h))), Sites(tau, tau * m)


def cavities(n, seed, reach=3.0):
    """n random ones: label, mean, variance, mean of the old site."""
    rng = np.random.default_rng(seed)
    lam = 10.0 ** rng.uniform(-2, 2, n)
    m = reach * rng.normal(size=n) * rng.choice([0.0, 1.0], n, p=[0.2, 0.8])
    return {
        "y": rng.choice([-1.0, 1.0], n),
        "h": 2.5 * rng.normal(size=n) * np.sqrt(lam),
        "lam": lam,
        "m": m * np.sqrt(lam),
    }


def searched(reading, c, eps, cavity):
    marginals, sites = marginals_of(cavity["h"], cavity["lam"], cavity["m"])
    return relaxations.relaxations(marginals, sites, NoisyStep(eps), cavity["y"], Relaxation(c, reading))


def smallest(reading, c, eps, cavity, size=240):
    """The smallest costs that a fine grid and Brent's method from each of its minima find [N]."""
    exponents, found = np.linspace(-6, 6, size), []
    for one in zip(*(cavity[name] for name in ("y", "h", "lam", "m")), strict=True):

        def f(e, one=one):
            return cost(reading, c, eps, *one, 10.0**e / one[2])

        values = f(exponents)
        low = 1 + np.flatnonzero((values[1:-1] <= values[:-2]) & (values[1:-1] <= values[2:]))
        brent = [minimize_scalar(f, bounds=exponents[[k - 1, k + 1]], method="bounded").fun for k in low]
        found.append(min([cost(reading, c, eps, *one, 0.0), values.min(), *brent]))
    return np.array(found)


# The divergence


@pytest.mark.parametrize("likelihood", [STEP, NoisyStep(0.01), PROBIT], ids=["0.2", "0.01", "probit"])
def test_the_divergence_equals_quadrature(likelihood):
    cases = [(y, m, v) for y in (-1.0, 1.0) for m in (-3.0, -0.4, 0.0, 1.7) for v in (0.09, 1.0, 16.0)]
    y, m, v = np.array(cases).T
    projection = kl(likelihood, y, m, v)
    found = relaxations.divergence(likelihood, y, m, v, projection)
    for i, case in enumerate(cases):
        log_z, mean, variance, expected = tilted_by_quadrature(likelihood, *case)
        assert projection.log_z[i] == pytest.approx(log_z, rel=1e-10), case
        assert projection.mean[i] == pytest.approx(mean, rel=1e-9, abs=1e-12), case
        assert projection.variance[i] == pytest.approx(variance, rel=1e-9), case
        assert found[i] == pytest.approx(expected, rel=1e-7, abs=1e-11), case


def test_reference_projections(values):
    for case in values["rep_projection"]:
        case = {name: np.array([float(value)]) for name, value in case.items()}
        eps, b = float(case["eps"][0]), float(case["b"][0])
        marginals, sites = marginals_of(case["h"], case["lam"], case["m"])
        update = rep.held_rule(np.array([b])).update(marginals, sites, NoisyStep(eps), np.ones(1))
        assert update.sites.tau == pytest.approx(1 / case["v_site"], rel=1e-12)
        assert update.sites.nu == pytest.approx(case["m_site"] / case["v_site"], rel=1e-12)
        lt = 1 / (1 / case["lam"] + b)
        ht = lt * (case["h"] / case["lam"] + b * case["m"])
        projection = kl(NoisyStep(eps), np.ones(1), ht, lt)
        found = relaxations.divergence(NoisyStep(eps), np.ones(1), ht, lt, projection)
        assert projection.mean == pytest.approx(case["h_new"], rel=1e-12)
        assert found == pytest.approx(case["KL_normalised"], rel=1e-11)
        named = (1.0, case["h"], case["lam"], case["m"], b)
        assert cost(UNNORMALISED, 0, eps, *named) == pytest.approx(case["KL_unnormalised_min"], rel=1e-11)


@pytest.mark.parametrize("reading", READINGS)
def test_the_cost_is_what_the_paper_has_but_for_constants(reading):
    """Differences of the cost along b, which is all that a search can see."""
    cavity = cavities(40, 3)
    marginals, sites = marginals_of(cavity["h"], cavity["lam"], cavity["m"])
    b = 10.0 ** np.linspace(-2, 2, 15) / cavity["lam"][:, None]
    p, extra = 1.0 / cavity["lam"], np.zeros(40)
    problem = relaxations._Cavities(
        STEP, cavity["y"], p, p * cavity["h"], extra, relaxations.means(sites), Relaxation(0.3, reading)
    )
    found = problem.cost(np.hstack([np.zeros((40, 1)), b]))
    named = [cavity[name][:, None] for name in ("y", "h", "lam", "m")]
    expected = cost(reading, 0.3, 0.2, *named, np.hstack([np.zeros((40, 1)), b]))
    np.testing.assert_allclose(found - found[:, :1], expected - expected[:, :1], rtol=1e-8, atol=1e-9)


# The search


@pytest.mark.parametrize("reading, c", [(NORMALISED, 0.1), (UNNORMALISED, 0.03), (PRINTED, 3.0)])
def test_relaxations_are_as_good_as_those_of_a_fine_grid_with_restarts(reading, c):
    cavity = cavities(200, 5)
    c, eps = c / np.median(1 / cavity["lam"]), 0.2
    b = searched(reading, c, eps, cavity)
    named = [cavity[name] for name in ("y", "h", "lam", "m")]
    gap = cost(reading, c, eps, *named, b) - smallest(reading, c, eps, cavity)
    assert np.all(gap <= 1e-6)
    assert np.all(cost(reading, c, eps, *named, b) <= cost(reading, c, eps, *named, 0.0) + 1e-12)
    assert 0.1 < np.mean(b > 0) < 0.9 and np.all(np.isfinite(b))


def test_the_search_sees_the_extra_variance():
    cavity, c, extra = cavities(60, 15), 0.02, 0.7
    root = np.sqrt(cavity["lam"])
    h, m, lam = cavity["h"] / root, cavity["m"] / root, np.ones(60)
    marginals, sites = marginals_of(h, lam, m)
    marginals = Marginals(marginals.mean, marginals.variance, np.full(60, extra))
    b = relaxations.relaxations(marginals, sites, STEP, cavity["y"], Relaxation(c))

    def of(b):  # the divergence depends on z alone, here of f, not of h
        z = (h + b * m) / (1 + b) / np.sqrt(1 / (1 + b) + extra)
        return c * b + cost(NORMALISED, 0.0, 0.2, cavity["y"], z, 1.0, 0.0, 0.0)

    best = np.min([of(value) for value in [0.0, *10.0 ** np.linspace(-4, 4, 400)]], axis=0)
    assert np.mean(of(b) > best + 1e-6) < 0.04 and np.sum(b > 0) > 5


@pytest.mark.parametrize("penalty", [-1.0, np.inf, np.nan])
def test_wrong_penalties_are_refused(penalty):
    with pytest.raises(ValueError, match="penalty must be finite"):
        Relaxation(penalty)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="reading must be one of"):
        Relaxation(1.0, "eq. 36")
    for b in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="finite and not negative"):
            rep.held_rule(np.array([0.0, b]))


# EP as a limit, fixed points


@pytest.fixture(params=["dense", pytest.param("sparse", marks=pytest.mark.slow)])
def posterior(request, toy):
    X = toy[0]
    kernel = SquaredExponential(1.0, 1.0)
    if request.param == "dense":
        return Dense.build(kernel.matrix(X))
    built = Sparse.build(kernel, X, X[:5])
    assert built.extra.max() > 0.05
    return built


@pytest.mark.parametrize(
    ("schedule", "likelihood"), [("parallel", NoisyStep(0.1)), ("sequential", PROBIT)], ids=["step", "probit"]
)
def test_a_large_penalty_is_ep(likelihood, schedule, posterior, toy):
    y = toy[1]
    options = Options(schedule=schedule, tolerance=1e-10, max_sweeps=100)
    expected = engine.infer(posterior, likelihood, y, EP, options)
    found = rep.infer(posterior, likelihood, y, Relaxation(HUGE), options, searched_sweeps=100)
    assert expected.status.converged and found.status.converged and not found.frozen
    assert np.all(found.b == 0) and found.status.sweeps == expected.status.sweeps
    np.testing.assert_allclose(found.sites.tau, expected.sites.tau, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.sites.nu, expected.sites.nu, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("likelihood", [STEP, PROBIT], ids=["step", "probit"])
def test_sites_at_the_fixed_point_match_moments_by_quadrature(likelihood, toy):
    X, y = toy
    prior = Dense.build(SquaredExponential(1.0, 1.0).matrix(X))
    penalty = 0.03 if likelihood is STEP else 1e-4
    found = rep.infer(prior, likelihood, y, Relaxation(penalty), Options(tolerance=1e-11), searched_sweeps=4)
    assert found.status.converged and found.frozen and np.sum(found.b > 0.01) >= 5
    assert found.status.message.endswith("sweeps before, with relaxations searched")
    K, tau, nu = prior.K, found.sites.tau, found.sites.nu
    covariance = np.linalg.inv(np.linalg.inv(K + 1e-12 * np.eye(len(y))) + np.diag(tau))
    mean, variance = covariance @ nu, np.diag(covariance)
    relaxed = np.argsort(found.b)[-6:]
    for i in relaxed:
        centre, b = nu[i] / tau[i], found.b[i]
        p = 1 / variance[i] - tau[i]
        narrow = 1 / (p + b)
        of_cavity = narrow * (mean[i] / variance[i] - nu[i] + b * centre)
        _, first, second, _ = tilted_by_quadrature(likelihood, y[i], of_cavity, narrow)
        together = 1 / variance[i] + b  # of q r
        assert second == pytest.approx(1 / together, rel=1e-6)
        assert first == pytest.approx((mean[i] / variance[i] + b * centre) / together, rel=1e-6, abs=1e-8)


def test_relaxations_of_the_answer_are_those_of_its_marginals(toy):
    X, y = toy
    prior = Dense.build(SquaredExponential(1.0, 1.0).matrix(X))
    relaxation = Relaxation(0.1, UNNORMALISED)
    found = rep.infer(prior, STEP, y, relaxation, Options(max_sweeps=2))
    assert not found.frozen and found.status.sweeps == 2 and not found.status.converged
    expected = relaxations.relaxations(found.state.marginals, found.sites, STEP, y, relaxation)
    np.testing.assert_array_equal(found.b, expected)


# Sweeps


@pytest.fixture
def one_point():
    """A prior on one point and sites that are not its fixed point."""
    return Dense.build(np.ones((1, 1))), np.ones(1)


def test_the_printed_step_counts_the_factor_twice(one_point):
    prior, y = one_point
    state = prior.condition(Sites(np.array([0.4]), np.array([0.9])))
    plain, printed = (
        rep.relaxed_rule(Relaxation(0.01, NORMALISED, step)).update(state.marginals, state.sites, STEP, y)
        for step in (False, True)
    )
    b = relaxations.relaxations(state.marginals, state.sites, STEP, y, Relaxation(0.01))
    assert b > 0.01
    v_b, m_b = 1 / plain.sites.tau, plain.sites.nu / plain.sites.tau
    v = 1 / (1 / v_b + b)  # eq. 16
    assert 1 / printed.sites.tau == pytest.approx(v, rel=1e-12)
    m = v * (m_b / v_b + b * 0.9 / 0.4)
    assert printed.sites.nu / printed.sites.tau == pytest.approx(m, rel=1e-12)


def test_sweeps_continue_with_held_relaxations(toy):
    X, y = toy
    prior = Dense.build(SquaredExponential(1.0, 1.0).matrix(X))
    relaxation = Relaxation(0.03, UNNORMALISED)
    two = rep.sweeps(prior, STEP, y, relaxation, 2, 1e-12)
    whole = rep.sweeps(prior, STEP, y, relaxation, 6, 1e-12, searched_sweeps=2)
    assert len(whole.changes) == 6 and whole.outcome == "unsettled"
    np.testing.assert_array_equal(whole.changes[:2], two.changes)
    b = relaxations.relaxations(two.state.marginals, two.sites, STEP, y, relaxation)
    rest = sweep_on(prior, STEP, y, rep.held_rule(b), 4, 1e-12, start=two.sites)
    np.testing.assert_array_equal(whole.sites.tau, rest.sites.tau)
    np.testing.assert_array_equal(whole.changes[2:], rest.changes)
    for run in (rep.sweeps, rep.infer):
        with pytest.raises(ValueError, match="searched_sweeps must be a whole number of at least 1"):
            run(prior, STEP, y, relaxation, searched_sweeps=0)


@pytest.mark.parametrize(
    "y, mean, variance", [(1.0, 2.0, 0.5), (1.0, -1.3, 2.0), (2.0, 1.0, 1.0), (3.0, 2.0, 0.5)]
)
def test_the_divergence_of_an_even_likelihood_equals_quadrature(y, mean, variance):
    """A panel of no width has its nodes at f = 0, where the logarithm is -inf: the divergence was NaN."""
    square = likelihoods.get("poisson-square")
    at = np.array([y]), np.array([mean]), np.array([variance])
    found = relaxations.divergence(square, *at, kl(square, *at))[0]
    f = mean + np.sqrt(variance) * np.linspace(-12.0, 12.0, 400_002)  # which misses 0
    log_p = y * np.log(f**2) - f**2 - gammaln(y + 1.0)
    q = np.exp(log_p) * norm.pdf(f, mean, np.sqrt(variance))
    q /= q.sum() * (f[1] - f[0])
    first = np.sum(q * f) * (f[1] - f[0])
    second = np.sum(q * (f - first) ** 2) * (f[1] - f[0])
    ratio = np.log(np.maximum(q, 1e-300)) - norm.logpdf(f, first, np.sqrt(second))
    assert found == pytest.approx(np.sum(q * ratio) * (f[1] - f[0]), rel=1e-6, abs=1e-9)
