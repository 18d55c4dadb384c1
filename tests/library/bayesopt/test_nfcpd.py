"""EP, its predictions, the boundary and the acquisition: references, matrix formulas, rejection sampling."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from papers.pesc import accuracy as pesc_accuracy
from tilted.bayesopt import acquisition, boundary, nfcpd, rejection
from tilted.bayesopt.factors import no_better, positive


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


def test_bad_arguments_are_refused(make):
    functions, _ = make(1, n=4)
    other, _ = make(2, n=4)
    with pytest.raises(ValueError, match="same points"):
        nfcpd.infer(functions[0], other[1:], np.array([[0.5]]))
    with pytest.raises(ValueError, match="optima must be finite"):
        nfcpd.infer(functions[0], [], np.array([[np.nan]]))


CORNERS = [(0.3, -0.5, 0.7), (-1.0, 0.2, -0.4), (0.0, 0.5, 0.99), (1.5, -2.0, 0.3)]


@pytest.mark.parametrize("a, b, r", CORNERS)
def test_probabilities_and_moments(a, b, r):
    arguments = [np.array(t) for t in (a, b, r)]
    joint = multivariate_normal([0, 0], [[1, r], [r, 1]], maxpts=10**6, abseps=1e-9, releps=1e-9)
    assert boundary.upper(*arguments) == pytest.approx(joint.cdf([-a, -b]), abs=1e-7)

    def moment(k, low, high):
        tail = np.sqrt(1 - r**2)
        return quad(lambda x: x**k * norm.pdf(x) * norm.sf((b - r * x) / tail), low, high, epsabs=1e-12)[0]

    above, below = boundary.truncated(*arguments)
    assert [float(t) for t in above] == pytest.approx([moment(k, a, 9) for k in range(3)], abs=1e-8)
    assert [float(t) for t in below] == pytest.approx([moment(k, -9, a) for k in range(3)], abs=1e-8)


def test_g_exact_mends_the_constraint_next_to_x_star():
    """A problem of the study on which the Gaussian g lets c change its sign next to x*."""
    rng = np.random.default_rng([0, 1, 1, 12])
    problem = pesc_accuracy.draw(1, 1, rng)
    line = pesc_accuracy.compare(problem, rng)
    assert line["mean_error"] > 1.0 and line["worst_function"] == "c1"
    assert line["mean_error_exact"] < 0.1 and line["sd_error_exact"] < 0.15


@pytest.mark.parametrize("shift", [-0.5, -2.0, -3.0, -3.5, -4.0, -5.0, -6.0, -20.0])
def test_what_the_data_exclude_has_moments_or_none(make, shift):
    """Of probabilities next to nothing all digits are lost: variances below zero came of them."""
    functions, _ = make(3, n=6, dimension=2, shift=shift)
    found = nfcpd.infer(functions[0], functions[1:], np.array([[0.4, 0.6]]))
    given = boundary.predict(found, np.random.default_rng(0).random((50, 2)))
    known = np.isfinite(given.variance[1])
    assert known.all() == (shift > -3.2) and (given.variance[1][known] > 0).all()


def test_it_is_the_mean_over_optima_of_gaussian_entropies(make):
    functions, _ = make(1, n=6, dimension=2, constraints=2, noise=0.1)
    rng = np.random.default_rng(0)
    places, Xs = rng.random((5, 2)), rng.random((1100, 2))
    found = nfcpd.infer(functions[0], functions[1:], places)
    ours = acquisition.entropy_reduction(found, Xs)
    after = nfcpd.predict(found, Xs[1050:1051]).variance[:, :, 0]
    for j, function in enumerate(functions):
        before = function.predict(Xs[1050:1051])[1][0] + function.noise
        entropies = [0.5 * np.log(2 * np.pi * np.e * (v + function.noise)) for v in after[j]]
        expected = 0.5 * np.log(2 * np.pi * np.e * before) - np.mean(entropies)
        np.testing.assert_allclose(ours[j, 1050], expected, rtol=1e-10)


def test_it_agrees_with_rejection_sampling(make, likely):
    functions, _ = make(11, n=6, constraints=2, noise=0.1, shift=0.3)
    Xs, place = np.linspace(0, 1, 11)[:, None], likely(functions)
    truth = rejection.sample(
        functions[0], functions[1:], place[0], Xs, np.random.default_rng(0), wanted=20_000, most=200_000
    )
    before = np.array([f.predict(Xs)[1] for f in functions])
    noise = np.array([f.noise for f in functions])
    expected = acquisition.reduction(before, np.log(truth.variance + noise[:, None]), noise)
    ours = acquisition.entropy_reduction(nfcpd.infer(functions[0], functions[1:], place), Xs)
    assert np.max(np.abs(ours - expected)) < 0.1 * np.max(expected) + 0.02
    assert np.corrcoef(ours.sum(axis=0), expected.sum(axis=0))[0, 1] > 0.98
