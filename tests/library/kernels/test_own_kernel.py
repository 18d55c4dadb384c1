"""A kernel of somebody's own that breaks the contract."""

from dataclasses import dataclass

import numpy as np
import pytest

import tilted
from tilted.estimators import GPClassifier, GPRegressor, SparseGPRegressor
from tilted.kernels import SquaredExponential

RETURNS = {
    "is not finite": [lambda K: K * np.nan, lambda K: K + np.inf],
    "must be an array": [
        lambda K: K[:-1],
        lambda K: K.tolist(),
        lambda K: None,
        lambda K: K * 1j,
        lambda K: 1.0,
    ],
    "is not symmetric": [np.triu],
}


@dataclass(frozen=True)
class Own(SquaredExponential):
    """As the one it inherits from, but for what its matrix is made of."""

    made: object = np.array

    def matrix(self, X, X2=None, distances=None):
        return self.made(super().matrix(X, X2, distances))


@pytest.mark.parametrize("kind", [GPRegressor, GPClassifier, SparseGPRegressor])
@pytest.mark.parametrize("message, made", [(said, each) for said, many in RETURNS.items() for each in many])
def test_what_such_a_kernel_returns_is_named(kind, message, made):
    """Regressions had predicted NaN, complex numbers, or by half a matrix; others raised NumPy's words."""
    X, y = np.linspace(0.0, 3.0, 8)[:, None], np.array([0.0, 1.0] * 4)
    assert np.all(np.isfinite(kind(kernel=Own(), optimise=None).fit(X, y).predict(X)))
    with pytest.raises(ValueError, match=f"of the kernel, Own, {message}"):
        kind(kernel=Own(made=made), optimise=None).fit(X, y)


def test_a_likelihoods_class_is_no_likelihood():
    with pytest.raises(ValueError, match="likelihood must be a name or a likelihood, got <class"):
        tilted.fit([[0.0], [1.0]], [-1, 1], type(tilted.likelihoods.get("probit")))
