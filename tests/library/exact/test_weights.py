"""Exact posteriors of linear classifiers: sectors beside reference values, a grid and importance sampling."""

import numpy as np
import pytest

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


def test_sectors_are_of_the_plane():
    with pytest.raises(ValueError, match="not of 3 dimensions"):
        weights.sectors(np.ones((2, 3)), np.ones(2), STEP)
    with pytest.raises(ValueError, match="'probit' is not one of the sign of f alone"):
        weights.sectors(np.ones((2, 2)), np.ones(2), Probit())
