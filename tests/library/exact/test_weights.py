"""Exact posteriors of linear classifiers: sectors beside reference values, a grid and importance sampling."""

import numpy as np
import pytest
from scipy.special import logsumexp

from tilted.exact import weights
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.step import NoisyStep

STEP = NoisyStep(0.2)


def five_points(seed):
    """Inputs [5, 2] about two places, as in [Qi & Guo 2012, section 6.1], and labels, the last one wrong."""
    X = (
        np.random.default_rng(seed).uniform(-1.0, 1.0, (5, 2))
        + np.array([-1.5, -1.5, 1.5, 1.5, 4.0])[:, None]
    )
    return X, np.array([1.0, 1.0, -1.0, -1.0, 1.0])


def on_a_grid(X, y, eps, n_radii=60, n_angles=60_000):
    """Evidence, mean and covariance by sums in polar coordinates."""
    x, w = np.polynomial.legendre.leggauss(n_radii)
    r, w = 6.0 * (1 + x), 6.0 * w  # up to 12 standard deviations
    angle = (np.arange(n_angles) + 0.5) * 2 * np.pi / n_angles
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    p = np.prod(np.where(y * (unit @ X.T) > 0, 1 - eps, eps), axis=1) / n_angles
    radial = [np.sum(w * np.exp(-0.5 * r**2) * r ** (1 + k)) for k in (0, 1, 2)]
    evidence = radial[0] * p.sum()
    mean = radial[1] * (p @ unit) / evidence
    return evidence, mean, radial[2] * (p[:, None] * unit).T @ unit / evidence - np.outer(mean, mean)


def test_sectors_equal_the_reference_values(values):
    case = values["rep_exact_2d"]
    X, y = np.array(case["X"]), np.array(case["y"])
    found = weights.sectors(X, y, NoisyStep(case["eps"]))
    assert found.log_evidence == pytest.approx(np.log(float(case["Z"])), rel=1e-13)
    np.testing.assert_allclose(found.mean, np.array(case["mean"], dtype=float), rtol=1e-12)
    np.testing.assert_allclose(found.covariance, np.array(case["cov"], dtype=float), rtol=1e-12)


@pytest.mark.parametrize("seed, eps", [(0, 0.2), (1, 0.05), (2, 0.45)])
def test_sectors_equal_sums_on_a_grid(seed, eps):
    X, y = five_points(seed)
    X = np.vstack([X, X[0], -X[1], [0.0, 0.0]])  # a copy, an opposite and the origin, which is never right
    y = np.append(y, [1.0, -1.0, 1.0])
    found = weights.sectors(X, y, NoisyStep(eps))
    evidence, mean, covariance = on_a_grid(X, y, eps)
    assert found.log_evidence == pytest.approx(np.log(evidence), abs=1e-3)
    np.testing.assert_allclose(found.mean, mean, atol=2e-3)
    np.testing.assert_allclose(found.covariance, covariance, atol=2e-3)


def test_one_point_cuts_the_plane_in_half():
    found = weights.sectors(np.array([[0.0, 2.0]]), np.ones(1), STEP)
    assert found.log_evidence == pytest.approx(np.log(0.5))
    half = 0.6 * np.sqrt(2 / np.pi)  # (1 - 2 eps) E|w_2|
    np.testing.assert_allclose(found.mean, [0.0, half], atol=1e-14)
    np.testing.assert_allclose(found.covariance, np.diag([1.0, 1.0 - half**2]), atol=1e-13)


def test_sectors_are_of_the_plane():
    with pytest.raises(ValueError, match="not of 3 dimensions"):
        weights.sectors(np.ones((2, 3)), np.ones(2), STEP)
    with pytest.raises(ValueError, match="'probit' is not one of the sign of f alone"):
        weights.sectors(np.ones((2, 2)), np.ones(2), Probit())


def sampled(X, y, eps, samples, rng):
    """Log evidence, mean, covariance and effective size by importance sampling from the prior."""
    w = rng.standard_normal((samples, 2))
    p = np.prod(np.where(y * (w @ X.T) > 0, 1 - eps, eps), axis=1)
    size = p.sum() ** 2 / np.sum(p**2)
    return np.log(p.mean()), p @ w / p.sum(), np.cov(w.T, aweights=p, ddof=0), size


def test_importance_sampling_agrees_within_its_error():
    X, y = five_points(4)
    exact, samples = weights.sectors(X, y, STEP), 200_000
    log_evidence, mean, covariance, size = sampled(X, y, STEP.flips, samples, np.random.default_rng(11))
    assert 0.05 * samples < size < samples
    assert np.all(np.abs(mean - exact.mean) < 5 * np.sqrt(np.diag(exact.covariance) / size))
    np.testing.assert_allclose(covariance, exact.covariance, atol=5 * 2 / np.sqrt(size))
    assert 0 < abs(log_evidence - exact.log_evidence) < 5 * np.sqrt((samples / size - 1) / samples)


def test_likelihoods_that_underflow_keep_their_posterior():
    """Contradicting points: every likelihood is below the smallest number, moments are the prior's."""
    y = np.where(np.arange(3000) % 2, 1.0, -1.0)
    plane = weights.sectors(np.tile([[1.0, 0.0]], (3000, 1)), y, STEP)
    assert plane.log_evidence == pytest.approx(1500 * (np.log(STEP.flips) + np.log1p(-STEP.flips)))
    np.testing.assert_allclose(plane.mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(plane.covariance, np.eye(2), atol=1e-12)


def test_an_evidence_far_below_the_smallest_number_is_that_of_a_grid():
    X, y = five_points(0)
    found = weights.sectors(np.tile(X, (600, 1)), np.tile(y, 600), STEP)
    angle = (np.arange(60_000) + 0.5) * 2 * np.pi / 60_000
    right = y * (np.stack([np.cos(angle), np.sin(angle)], axis=1) @ X.T) > 0
    log_p = 600 * np.sum(np.log(np.where(right, 1 - STEP.flips, STEP.flips)), axis=1)
    assert found.log_evidence < -800.0
    assert found.log_evidence == pytest.approx(logsumexp(log_p) - np.log(60_000), abs=1e-3)
