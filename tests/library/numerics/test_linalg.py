"""Factorisations and triangular inverses agree with NumPy, and errors name the matrix."""

import numpy as np
import pytest

from tilted.numerics import linalg
from tilted.numerics.linalg import NotPositiveDefinite


def positive(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return np.asfortranarray(A @ A.T + n * np.eye(n))


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 316, 1501])
def test_factor_and_inverse_agree_to_rounding(n):
    A = positive(n)
    L = linalg.cholesky(A, "A")
    np.testing.assert_allclose(L, np.linalg.cholesky(A), rtol=0, atol=1e-13 * np.max(L))
    np.testing.assert_array_equal(L, np.tril(L))
    inverse = linalg.inverse_lower(L)
    np.testing.assert_allclose(inverse @ L, np.eye(n), rtol=0, atol=1e-13 * n)


def test_a_matrix_that_is_not_positive_definite_is_named():
    with pytest.raises(NotPositiveDefinite, match="K is not positive definite \\(pivot 2 of 2\\)"):
        linalg.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]), "K")


def test_the_matrix_is_replaced_only_on_request():
    A = positive(70)
    before = A.copy()
    linalg.inverse_lower(linalg.cholesky(A, "A"))
    np.testing.assert_array_equal(A, before)
    L = linalg.cholesky(A, "A", overwrite=True)
    assert np.shares_memory(L, A)
