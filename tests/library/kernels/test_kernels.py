"""Covariance functions: what rounding must not take from matrices and gradients."""

from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tilted.kernels import Matern, SquaredExponential
from tilted.kernels.stationary import squared_distances

RNG = np.random.default_rng(3)
FAR = 2.0**20  # added to multiples of 2^-10 it is exact


def dyadic(n, dimension):
    return np.round(RNG.standard_normal((n, dimension)) * 2**10) / 2**10


def test_gradients_do_not_lose_their_digits_far_from_the_origin():
    kernel, X, Z = SquaredExponential(1.3, (0.8, 1.2)), dyadic(30, 2), dyadic(5, 2)
    G = RNG.standard_normal((5, 30))
    here = kernel.contract_cross(Z, X, kernel.matrix(Z, X), G)
    there = kernel.contract_cross(Z + FAR, X + FAR, kernel.matrix(Z + FAR, X + FAR), G)
    for a, b in zip(here, there, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dimension", [3, 8, 9, 20])
def test_distances_do_not_lose_their_digits_far_from_the_origin(dimension):
    A, B = dyadic(40, dimension), dyadic(7, dimension)
    np.testing.assert_allclose(
        squared_distances(A + FAR, B + FAR, np.inf), cdist(A, B, "sqeuclidean"), rtol=1e-12
    )
    np.testing.assert_allclose(
        squared_distances(A + FAR, A + FAR, np.inf), cdist(A, A, "sqeuclidean"), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("dimension", [3, 20])
def test_a_point_has_no_distance_to_itself(dimension):
    A = RNG.standard_normal((200, dimension))
    np.testing.assert_array_equal(np.diagonal(squared_distances(A, A, np.inf)), 0.0)


def test_one_large_feature_does_not_drown_the_others():
    """Two groups 1e8 apart in one of nine features: within a group the other eight decide."""
    X = np.column_stack([np.repeat([0.0, 1e8], 15), dyadic(30, 8)])
    exact = np.exp(-0.5 * cdist(X, X, "sqeuclidean"))
    kernel = SquaredExponential()
    for same in (kernel, SquaredExponential(1.0, (1.0,) * 9)):
        np.testing.assert_allclose(same.matrix(X), exact, atol=1e-12)
        np.testing.assert_allclose(same.matrix(X, X[:4]), exact[:, :4], atol=1e-12)
    np.testing.assert_allclose(kernel.matrix(X, distances=kernel.distances(X)), exact, atol=1e-12)


@pytest.mark.parametrize("far", [1e8, 1e200])
@pytest.mark.parametrize("of", [SquaredExponential, Matern, partial(Matern, smoothness=2.5)])
def test_gradients_of_groups_far_apart_are_those_within_the_groups(of, far):
    """What has no correlation has no derivative, however far; its squared distance may overflow."""
    kernel, X, Z = of(1.3, (0.8, 1.2)), dyadic(30, 2), dyadic(5, 2)
    G, away = RNG.standard_normal((5, 30)), np.zeros(30)
    away[20:] = far
    inputs = X + away[:, None]
    with np.errstate(all="raise", under="ignore"):
        found = kernel.contract_cross(Z, inputs, kernel.matrix(Z, inputs), G)
    alone = kernel.contract_cross(Z, X[:20], kernel.matrix(Z, X[:20]), G[:, :20])
    for a, b in zip(found, alone, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_ordinary_inputs_are_not_summed_directly():
    """A check of size changes no bit of them."""
    A, B = RNG.standard_normal((50, 13)), RNG.standard_normal((9, 13))
    for other in (A, B):
        np.testing.assert_array_equal(squared_distances(A, other, 1.0), squared_distances(A, other, np.inf))
    assert not np.array_equal(squared_distances(A, B, 1e-4), squared_distances(A, B, np.inf))
