"""The dense posterior beside plain algebra in 50 digits."""

import mpmath
import numpy as np
import pytest

from tilted.gaussian import Sites
from tilted.kernels import SquaredExponential
from tilted.posteriors.dense import Dense


def by_algebra(K, tau, nu):
    """Mean and variance of prior times sites: (K^-1 + T)^-1 in 50 digits."""
    with mpmath.workdps(50):
        covariance = mpmath.inverse(mpmath.inverse(mpmath.matrix(K.tolist())) + mpmath.diag(tau.tolist()))
        mean = covariance * mpmath.matrix(nu.tolist())
        return [
            np.array([float(x) for x in part]) for part in (mean, [covariance[i, i] for i in range(len(K))])
        ]


@pytest.mark.parametrize("weak", [1e-4, 1e-7, 1e-10, 0.0])
def test_variances_of_weak_sites_are_not_lost(weak):
    """1 - (B^-1)_ii is the site's share of the precision: at 1e-7 it has nine digits left, not sixteen."""
    K = SquaredExponential(1.0, 0.8).matrix(np.linspace(0.0, 3.0, 5)[:, None])
    tau, nu = np.array([2.0, weak, 5.0, weak / 3.0, 0.5]), np.array([1.0, 0.2 * weak, -2.0, 0.0, 0.3])
    found = Dense.build(K).condition(Sites(tau, nu)).marginals
    mean, variance = by_algebra(K, tau, nu)
    np.testing.assert_allclose(found.variance, variance, rtol=1e-12)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-11)
