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


def on_a_grid(X, y, eps, variance, n_radii=60, n_angles=60_000):
    """Evidence, mean and covariance by sums in polar coordinates."""
    x, w = np.polynomial.legendre.leggauss(n_radii)
    r, w = 6.0 * (1 + x), 6.0 * w  # up to 12 standard deviations
    angle = (np.arange(n_angles) + 0.5) * 2 * np.pi / n_angles
    unit = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    p = np.prod(np.where(y * (unit @ X.T) > 0, 1 - eps, eps), axis=1) / n_angles
    radial = [np.sum(w * np.exp(-0.5 * r**2) * r ** (1 + k)) * variance ** (k / 2) for k in (0, 1, 2)]
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
    assert found.effective_size == np.inf


@pytest.mark.parametrize("seed, variance, eps", [(0, 1.0, 0.2), (1, 3.0, 0.05), (2, 0.2, 0.45)])
def test_sectors_equal_sums_on_a_grid(seed, variance, eps):
    X, y = five_points(seed)
    X = np.vstack([X, X[0], -X[1], [0.0, 0.0]])  # a copy, an opposite and the origin, which is never right
    y = np.append(y, [1.0, -1.0, 1.0])
    found = weights.sectors(X, y, NoisyStep(eps), variance)
    evidence, mean, covariance = on_a_grid(X, y, eps, variance)
    assert found.log_evidence == pytest.approx(np.log(evidence), abs=1e-3)
    np.testing.assert_allclose(found.mean, mean, atol=2e-3 * np.sqrt(variance))
    np.testing.assert_allclose(found.covariance, covariance, atol=2e-3 * variance)


def test_one_point_cuts_the_plane_in_half():
    found = weights.sectors(np.array([[0.0, 2.0]]), np.ones(1), STEP, 4.0)
    assert found.log_evidence == pytest.approx(np.log(0.5))
    half = 0.6 * 2.0 * np.sqrt(2 / np.pi)  # (1 - 2 eps) E|w_2|
    np.testing.assert_allclose(found.mean, [0.0, half], atol=1e-14)
    np.testing.assert_allclose(found.covariance, np.diag([4.0, 4.0 - half**2]), atol=1e-13)


def test_sectors_are_of_the_plane():
    with pytest.raises(ValueError, match="not of 3 dimensions"):
        weights.sectors(np.ones((2, 3)), np.ones(2), STEP)
    with pytest.raises(ValueError, match="'probit' is not one of the sign of f alone"):
        weights.sectors(np.ones((2, 2)), np.ones(2), Probit())


def test_importance_sampling_agrees_within_its_error():
    X, y = five_points(4)
    exact, samples, variance = weights.sectors(X, y, STEP, 2.0), 200_000, 2.0
    found = weights.importance(X, y, STEP, samples, np.random.default_rng(11), variance)
    assert 0.05 * samples < found.effective_size < samples
    sd = np.sqrt(np.diag(exact.covariance) / found.effective_size)
    assert np.all(np.abs(found.mean - exact.mean) < 5 * sd)
    np.testing.assert_allclose(
        found.covariance, exact.covariance, atol=5 * 2 * variance / np.sqrt(found.effective_size)
    )
    error = np.sqrt((samples / found.effective_size - 1) / samples)
    assert 0 < abs(found.log_evidence - exact.log_evidence) < 5 * error


def test_chunks_do_not_change_the_answer_and_are_told(monkeypatch):
    X, y = five_points(5)
    X = np.column_stack([X, X[:, 0] ** 2])
    w = np.sqrt(1.5) * np.random.default_rng(8).standard_normal((10_000, 3))
    p = np.prod(np.where(y * (w @ X.T) > 0, 0.8, 0.2), axis=1)
    for chunk, expected in (
        (1_000_000, [10_000]),
        (3000, [3000, 6000, 9000, 10_000]),
        (5000, [5000, 10_000]),
    ):
        monkeypatch.setattr(weights, "CHUNK", chunk)
        told = []
        found = weights.importance(X, y, STEP, 10_000, np.random.default_rng(8), 1.5, told.append)
        assert told == expected
        np.testing.assert_allclose(found.mean, p @ w / p.sum(), rtol=1e-10)
        np.testing.assert_allclose(found.covariance, np.cov(w.T, aweights=p, ddof=0), rtol=1e-9, atol=1e-12)
        assert found.effective_size == pytest.approx(p.sum() ** 2 / np.sum(p**2), rel=1e-12)
        assert found.log_evidence == pytest.approx(np.log(p.mean()), rel=1e-12)


@pytest.mark.parametrize("chunk", [1, 3])
def test_a_likelier_sample_in_a_later_chunk_rescales_what_was_summed(monkeypatch, chunk):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((12, 2))
    y = np.sign(X @ [1.0, 2.0])
    w = np.random.default_rng(2).standard_normal((60, 2))
    p = np.prod(np.where(y * (w @ X.T) > 0, 0.8, 0.2), axis=1)
    assert np.argmax(p) >= chunk and p.max() > 10 * p[:chunk].max()
    monkeypatch.setattr(weights, "CHUNK", chunk)
    found = weights.importance(X, y, STEP, 60, np.random.default_rng(2))
    np.testing.assert_allclose(found.mean, p @ w / p.sum(), rtol=1e-10)
    np.testing.assert_allclose(found.covariance, np.cov(w.T, aweights=p, ddof=0), rtol=1e-9)
    assert found.effective_size == pytest.approx(p.sum() ** 2 / np.sum(p**2), rel=1e-12)
    assert found.log_evidence == pytest.approx(np.log(p.mean()), rel=1e-12)


def test_likelihoods_that_underflow_keep_their_posterior():
    """Contradicting points: every likelihood is below the smallest number, moments are the prior's."""
    X, y = np.ones((3000, 1)), np.where(np.arange(3000) % 2, 1.0, -1.0)
    found = weights.importance(X, y, STEP, 20_000, np.random.default_rng(0))
    assert found.log_evidence == pytest.approx(1500 * (np.log(STEP.flips) + np.log1p(-STEP.flips)))
    assert found.mean == pytest.approx(0.0, abs=0.05) and found.covariance == pytest.approx(1.0, abs=0.05)
    plane = weights.sectors(np.tile([[1.0, 0.0]], (3000, 1)), y, STEP)
    assert plane.log_evidence == pytest.approx(found.log_evidence)


@pytest.mark.slow
def test_as_many_samples_as_the_paper_takes_in_bounded_memory():
    X, y = five_points(0)
    exact = weights.sectors(X, y, STEP)
    found = weights.importance(X, y, STEP, 10**8, np.random.default_rng(1))
    assert found.effective_size > 4e7
    error = np.sqrt(np.diagonal(exact.covariance) / found.effective_size)
    assert np.all(np.abs(found.mean - exact.mean) < 5 * error)
    assert found.covariance == pytest.approx(exact.covariance, abs=1e-3)
    assert found.log_evidence == pytest.approx(exact.log_evidence, abs=1e-3)
