"""The last factor with g exact: bivariate normals, and a case where the Gaussian one fails."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from papers.pesc import accuracy as pesc_accuracy
from tilted.bayesopt import boundary, nfcpd

CASES = [(0.3, -0.5, 0.7), (-1.0, 0.2, -0.4), (0.0, 0.5, 0.99), (1.5, -2.0, 0.3)]


@pytest.mark.parametrize("a, b, r", CASES)
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


def test_without_constraints_it_is_the_same(make):
    functions, _ = make(3, n=6, dimension=2, constraints=0, noise=0.05)
    found = nfcpd.infer(functions[0], [], np.array([[0.4, 0.6]]))
    Xs = np.vstack([np.random.default_rng(0).random((5, 2)), [[0.4, 0.6]]])
    exact, ours = boundary.predict(found, Xs), nfcpd.predict(found, Xs)
    np.testing.assert_allclose(exact.mean, ours.mean, rtol=1e-12)
    np.testing.assert_allclose(exact.variance, ours.variance, rtol=1e-10)


@pytest.mark.parametrize("shift", [-0.5, -2.0, -3.0, -3.5, -4.0, -5.0, -6.0, -20.0])
def test_what_the_data_exclude_has_moments_or_none(make, shift):
    """Of probabilities next to nothing all digits are lost: variances below zero came of them."""
    functions, _ = make(3, n=6, dimension=2, shift=shift)
    found = nfcpd.infer(functions[0], functions[1:], np.array([[0.4, 0.6]]))
    given = boundary.predict(found, np.random.default_rng(0).random((50, 2)))
    known = np.isfinite(given.variance[1])
    assert known.all() == (shift > -3.2) and (given.variance[1][known] > 0).all()
