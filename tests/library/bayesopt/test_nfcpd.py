"""EP and its predictions: reference values, matrix formulas, rejection sampling, K = 0, failures."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from tilted.bayesopt import nfcpd, rejection, surrogate
from tilted.bayesopt.factors import no_better, positive
from tilted.kernels import SquaredExponential


def test_last_factor_is_the_reference(values):
    for case in values["pesc_nfcpd"]:
        m, V = np.array(case["mf"], dtype=float), np.array(case["Vf"], dtype=float)
        mk, vk = np.array(case["mk"], dtype=float), np.array(case["vk"], dtype=float)
        under_q = nfcpd.Predicted(np.append(m[0], mk)[:, None, None], np.append(V[0, 0], vk)[:, None, None])
        u = np.array([[m[0] - m[1]]]), np.array([[V[0, 0] + V[1, 1] - 2 * V[0, 1]]])
        found = nfcpd.finish(under_q, *u, np.array([[V[0, 0] - V[0, 1]]]))
        assert found.mean[0, 0, 0] == pytest.approx(float(case["mu_f"]), rel=1e-12)
        assert found.variance[0, 0, 0] == pytest.approx(float(case["v_f"]), rel=1e-12)
        np.testing.assert_allclose(found.mean[1:, 0, 0], np.array(case["mu_k"], dtype=float), rtol=1e-12)
        np.testing.assert_allclose(found.variance[1:, 0, 0], np.array(case["v_k"], dtype=float), rtol=1e-12)


@pytest.mark.parametrize("at", [(0.3, 0.5), (-0.8, 0.2)])
def test_the_last_gaussian_has_the_moments_of_35_by_quadrature(at):
    """Of f(x) and two constraints, the other variables of (35) integrated out in closed form."""
    m, V = np.array(at), np.array([[0.9, 0.5], [0.5, 0.6]])  # of f(x), f(x*)
    mk, vk = np.array([0.4, -0.2]), np.array([0.7, 0.3])
    holds = norm.cdf(mk / np.sqrt(vk))
    s = V[0, 0] + V[1, 1] - 2 * V[0, 1]
    worse = norm.cdf((m[1] - m[0]) / np.sqrt(s))

    def of_f(f):
        mean, variance = m[1] + V[0, 1] / V[0, 0] * (f - m[0]), V[1, 1] - V[0, 1] ** 2 / V[0, 0]
        better = norm.cdf((f - mean) / np.sqrt(variance))
        return norm.pdf(f, m[0], np.sqrt(V[0, 0])) * (1 - holds.prod() * (1 - better))

    def of_c(k):
        return lambda c: norm.pdf(c, mk[k], np.sqrt(vk[k])) * (1 - (c > 0) * holds[1 - k] * worse)

    under_q = nfcpd.Predicted(np.append(m[0], mk)[:, None, None], np.append(V[0, 0], vk)[:, None, None])
    u = np.array([[m[0] - m[1]]]), np.array([[s]]), np.array([[V[0, 0] - V[0, 1]]])
    found = nfcpd.finish(under_q, *u)
    for j, density in enumerate([of_f, of_c(0), of_c(1)]):
        z, first, second = (
            sum(quad(lambda t, k=k: t**k * density(t), *ends)[0] for ends in ((-12, 0), (0, 12)))  # noqa: B023
            for k in range(3)
        )
        assert found.mean[j].item() == pytest.approx(first / z, rel=1e-8)
        assert found.variance[j].item() == pytest.approx(second / z - (first / z) ** 2, rel=1e-8)


def as_printed(found, functions, X, x_star, s):
    """m and V of every function from the sites of ``found`` by eqs (9) to (11), with matrices."""
    places = np.vstack([x_star, X])
    out = []
    for j, function in enumerate(functions):
        prior = function.kernel.matrix(places)
        noise = np.full(len(places), np.inf)
        noise[1:] = function.noise
        y = observations(function)
        gain = prior[:, 1:] @ np.linalg.inv(prior[1:, 1:] + function.noise * np.eye(len(X)))
        mean, V = function.mean + gain @ (y - function.mean), prior - gain @ prior[1:, :]
        tau, nu = found.tau[j][s], found.nu[j][s]
        if j == 0:
            A, b = np.diag(np.append(tau.sum(), tau)), np.append(-nu.sum(), nu)
            A[0, 1:] = A[1:, 0] = -tau
        else:
            A, b = np.diag(np.append(tau[-1], tau[:-1])), np.append(nu[-1], nu[:-1])
        precision = np.linalg.inv(V)
        Vq = np.linalg.inv(precision + A)
        out.append((Vq @ (precision @ mean + b), Vq, prior))
    return places, out


def observations(function):
    """Recover y from the surrogate: solve (mean at points) for it."""
    K = function.kernel.matrix(function.points)
    mean = function.rows(function.points).mean - function.mean
    return function.mean + (K + function.noise * np.eye(len(K))) @ np.linalg.solve(K, mean)


@pytest.mark.parametrize("K", [0, 1, 2])
def test_q_and_predictions_are_the_matrix_formulas(make, K):
    functions, X = make(3, n=6, dimension=2, constraints=K, noise=0.05)
    rng = np.random.default_rng(5)
    optima, Xs = rng.random((3, 2)), rng.random((7, 2))
    found = nfcpd.infer(functions[0], functions[1:], optima)
    assert np.all(found.status.converged)
    under_q, u_mean, u_variance, with_u = nfcpd.before_last_factor(found, Xs)
    for s in range(3):
        places, parts = as_printed(found, functions, X, optima[s], s)
        for j, (m, V, prior) in enumerate(parts):
            k = functions[j].kernel.matrix(places, Xs)
            w = np.linalg.solve(prior, k)
            mean = functions[j].mean + w.T @ (m - functions[j].mean)
            variance = functions[j].kernel.variance - np.sum(k * w, axis=0) + np.sum(w * (V @ w), axis=0)
            np.testing.assert_allclose(under_q.mean[j, s], mean, atol=1e-6)
            np.testing.assert_allclose(under_q.variance[j, s], variance, atol=1e-7)
            if j == 0:
                cross = (V @ w)[0]
                np.testing.assert_allclose(u_mean[s], mean - m[0], atol=1e-6)
                np.testing.assert_allclose(u_variance[s], variance + V[0, 0] - 2 * cross, atol=1e-7)
                np.testing.assert_allclose(with_u[s], variance - cross, atol=1e-7)


def test_the_fixed_point_matches_moments(make, likely):
    """At convergence the tilted moments of every factor are those of q."""
    functions, _ = make(11, n=6, constraints=2, noise=0.1, shift=0.3)
    found = nfcpd.infer(functions[0], functions[1:], likely(functions), nfcpd.Options(tolerance=1e-9))
    assert np.all(found.status.converged)
    cavities = [
        nfcpd.cavity(p.mean, p.variance, tau, nu)
        for p, tau, nu in zip(found.posteriors, found.tau, found.nu, strict=True)
    ]
    m, s = cavities[0]
    alphas = np.array([mean[:, :-1] / np.sqrt(v[:, :-1]) for mean, v in cavities[1:]])
    _, of_u, of_c = no_better(m / np.sqrt(s), alphas)
    np.testing.assert_allclose(of_u.moments(m, s)[0], found.posteriors[0].mean, atol=1e-7)
    np.testing.assert_allclose(of_u.moments(m, s)[1], found.posteriors[0].variance, atol=1e-7)
    for k, (mean, v) in enumerate(cavities[1:]):
        q = found.posteriors[k + 1]
        tilted = mean[:, :-1] + np.sqrt(v[:, :-1]) * of_c.shift[k], v[:, :-1] * of_c.left[k]
        last = positive(mean[:, -1] / np.sqrt(v[:, -1]))[1].moments(mean[:, -1], v[:, -1])
        for ours, inner, own in zip((q.mean, q.variance), tilted, last, strict=True):
            np.testing.assert_allclose(np.column_stack([inner, own]), ours, atol=1e-7)


def test_every_optimum_is_independent_of_the_others(make):
    functions, _ = make(6, n=9, dimension=2, constraints=1)
    rng = np.random.default_rng(2)
    optima, Xs = rng.random((6, 2)), rng.random((4, 2))
    together = nfcpd.predict(nfcpd.infer(functions[0], functions[1:], optima), Xs)
    for s in range(6):
        alone = nfcpd.predict(nfcpd.infer(functions[0], functions[1:], optima[s : s + 1]), Xs)
        np.testing.assert_allclose(alone.mean[:, 0], together.mean[:, s], rtol=1e-12)
        np.testing.assert_allclose(alone.variance[:, 0], together.variance[:, s], rtol=1e-12)


@pytest.mark.parametrize("seed, K", [(9, 0), (1, 1), (11, 2)])
def test_moments_are_those_of_rejection_sampling(make, likely, seed, K):
    functions, X = make(seed, n=6, constraints=K, noise=0.1, shift=0.3)
    Xs = np.linspace(0.02, 0.98, 9)[:, None]
    optimum = likely(functions)
    rng = np.random.default_rng(seed)
    truth = rejection.sample(functions[0], functions[1:], optimum, Xs, rng, wanted=20_000, most=200_000)
    assert truth.kept >= 20_000
    found = nfcpd.infer(functions[0], functions[1:], optimum)
    assert np.all(found.status.converged)
    ours = nfcpd.predict(found, Xs)
    sd = np.sqrt(truth.variance)
    error = np.abs(ours.mean[:, 0] - truth.mean) / sd
    assert np.max(error) < 0.1 + 3.0 / np.sqrt(truth.kept_at.min())
    ratio = np.sqrt(ours.variance[:, 0]) / sd
    assert np.max(np.abs(ratio - 1)) < 0.15


def test_rejection_keeps_what_the_factors_allow(make):
    functions, X = make(0, n=5, constraints=1, noise=0.3)
    kept = rejection.sample(functions[0], functions[1:], np.array([0.5]), X, np.random.default_rng(0), 500)
    f, c = kept.values
    assert kept.kept == len(f) >= 500
    assert kept.draws % rejection.BATCH == 0
    assert np.all(c[:, -1] > 0)
    assert np.all((f[:, :-1] > f[:, -1:]) | (c[:, :-1] <= 0))
    # at the points the last factor changes nothing
    np.testing.assert_allclose(kept.mean[0], f[:, :-1].mean(axis=0), rtol=1e-9)
    np.testing.assert_array_equal(kept.kept_at, kept.kept)
    u = f[:, :-1] - f[:, -1:]
    np.testing.assert_allclose(kept.before.mean, kept.mean, rtol=1e-9)
    np.testing.assert_allclose(kept.before.variance, kept.variance, rtol=1e-7)
    np.testing.assert_allclose(kept.before.u_mean, u.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(kept.before.u_variance, u.var(axis=0, ddof=1), rtol=1e-7)
    expected = [np.cov(f[:, i], u[:, i])[0, 1] for i in range(5)]
    np.testing.assert_allclose(kept.before.with_u, expected, rtol=1e-7)


def test_x_star_at_a_point_drops_its_factor(make):
    functions, X = make(6, n=6, constraints=1, noise=0.1, shift=0.3)
    best = np.argmin(functions[0].rows(X).mean)
    found = nfcpd.infer(functions[0], functions[1:], np.vstack([X[best], X[best] + 1e-4]))
    assert found.status.dropped.tolist() == [1, 0]
    assert np.all(found.status.converged)
    for tau, nu in zip(found.tau, found.nu, strict=True):
        assert tau[0, best] == nu[0, best] == 0.0 != tau[1, best]
    under_q = nfcpd.before_last_factor(found, X[best : best + 1])[0]
    there = nfcpd.predict(found, X[best : best + 1])
    np.testing.assert_array_equal(there.mean[:, 0], under_q.mean[:, 0])
    np.testing.assert_array_equal(there.variance[:, 0], under_q.variance[:, 0])
    predicted = nfcpd.predict(found, np.vstack([X, [[0.5]]]))
    assert np.all(np.isfinite(predicted.mean))
    assert np.all(predicted.variance > 0)
    # next to it h says what sign the slope has: little
    np.testing.assert_allclose(predicted.mean[0, 0], predicted.mean[0, 1], atol=0.05)


def test_improper_steps_are_halved_and_counted(make):
    """Data that all but exclude x*: full steps leave covariances that are not positive definite."""
    (f, *c), _ = make(0, n=30, dimension=2, constraints=2, shift=0)
    rng = np.random.default_rng(0)
    found = nfcpd.infer(f, c, rng.random((10, 2)), nfcpd.Options(max_iterations=60))
    status = found.status
    assert status.halvings.sum() > 0
    assert 0 < status.converged.sum() < 10
    assert np.all(status.iterations + status.halvings <= 60)
    assert np.all(status.change[status.converged] < 1e-4)
    assert np.all(np.isfinite(status.change))
    expected = 0.99 ** (status.iterations - status.converged) * 0.5**status.halvings
    np.testing.assert_allclose(status.step, expected)
    predicted = nfcpd.predict(found, rng.random((50, 2)))
    assert np.all(predicted.variance > 0)


def test_small_steps_are_no_convergence(make):
    """Where EP says it converged, a full step would change little, however short the last one was."""
    (f, *c), _ = make(0, n=30, dimension=2, constraints=2, shift=0)
    found = nfcpd.infer(f, c, np.random.default_rng(0).random((40, 2)))
    assert np.any(found.status.step[found.status.converged] < 0.5) and not np.all(found.status.converged)
    run = nfcpd._Run(found.functions, found.optima)
    run.tau, run.nu, run.posteriors = list(found.tau), list(found.nu), list(found.posteriors)
    which = np.flatnonzero(found.status.converged)
    for projections, old, tau, nu in zip(
        found.projections, found.posteriors, *run.targets(which), strict=True
    ):
        new, proper = nfcpd.refresh(projections, which, tau, nu)
        moved = np.abs(new.mean - old.mean[which]), np.abs(new.variance - old.variance[which])
        assert max(np.max(part[proper]) for part in moved) < 1e-3


def test_decoupled_data(make):
    """A function observed at only some of the points, against the same problem with useless observations."""
    rng = np.random.default_rng(8)
    X = rng.random((8, 1))
    kernel = SquaredExponential(1.0, (0.4,))
    f = surrogate.condition(kernel, 0.1, X[:5], rng.standard_normal(5), X)
    y = rng.standard_normal(4)
    some = surrogate.condition(kernel, 0.1, X[4:], y, X)
    Xs, optima = rng.random((3, 1)), np.array([[0.2], [0.6]])
    found = nfcpd.infer(f, [some], optima)
    assert np.all(found.status.converged)
    truth = rejection.sample(f, [some], optima[0], Xs, rng, wanted=10_000, most=400_000)
    ours = nfcpd.predict(found, Xs)
    assert np.max(np.abs(ours.mean[:, 0] - truth.mean) / np.sqrt(truth.variance)) < 0.13


def test_bad_arguments_are_refused(make):
    functions, _ = make(1, n=4)
    other, _ = make(2, n=4)
    with pytest.raises(ValueError, match="same points"):
        nfcpd.infer(functions[0], other[1:], np.array([[0.5]]))
    with pytest.raises(ValueError, match="optima must be finite"):
        nfcpd.infer(functions[0], [], np.array([[np.nan]]))
