"""Priors on parameters, of which a search may see others than stand in the kernel."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from tests.helpers import differences
from tilted import GPClassifier, GPRegressor, SparseGPClassifier, SparseGPRegressor
from tilted.estimators.joint import PerClass
from tilted.kernels import Active, Constant, Matern, Restricted, SquaredExponential
from tilted.learning.priors import LogNormal


def test_a_prior_is_on_what_stands_in_the_kernel():
    """Not on what a search sees of it, where it has bounds; what is fixed has none."""
    inner = Restricted(SquaredExponential(2.0, 0.5), {"variance": "fixed", "lengthscale": (0.01, 30.0)})
    kernel = inner + Active(Restricted(Matern(3.0, 0.2), {"variance": (1.0, 9.0)}), 0) * Constant(1.5)
    medians = (0.5, 3.0, 0.2, 1.5)
    prior = LogNormal(medians, (1.0, 2.0, 3.0, 0.5))
    assert prior.of(kernel)[0] == pytest.approx(0.0, abs=1e-12)
    at = kernel.parameters() * [1.3, 0.4, 2.0, 0.7]
    value, slope = prior.of(kernel.with_parameters(at))
    assert value < -0.1
    numeric = differences(lambda x: prior.of(kernel.with_parameters(x))[0], at, 1e-6)
    np.testing.assert_allclose(slope, numeric, rtol=1e-6)
    each = PerClass.repeated(inner, 2)
    both = LogNormal((0.1, 0.9), (1.0, 2.0))
    numeric = differences(lambda x: both.of(each.with_parameters(x))[0], each.parameters(), 1e-6)
    np.testing.assert_allclose(both.of(each)[1], numeric, rtol=1e-6)


@pytest.mark.parametrize("model", [GPClassifier, SparseGPClassifier, GPRegressor, SparseGPRegressor])
@pytest.mark.parametrize("bounds", [(1e-3, 1e3), (0.5, 30.0)])
def test_a_prior_holds_between_bounds_too(model, bounds):
    """A lengthscale that is all but given stays there: with bounds it was 100."""
    X = np.linspace(-2, 2, 30)[:, None]
    y = np.sign(np.sin(3.0 * X[:, 0]) + 1e-9)
    plain = LogNormal((1.0, 5.0), (3.0, 1e-4))
    ours = Restricted(SquaredExponential(1.0, 2.0), {"lengthscale": bounds})
    theirs = ConstantKernel(1.0) * RBF(2.0, bounds)
    for kernel in (ours, theirs):
        found = model(kernel=kernel, priors=plain).fit(X, y).kernel_
        assert found.kernel.lengthscale == pytest.approx(5.0, rel=1e-3)
