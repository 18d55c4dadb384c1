"""Made-up regression problems."""

import numpy as np

from tilted.experiments.synthetic import NOISE, draw


def test_a_seed_is_a_data_set():
    a, b, c = draw(3, 50), draw(3, 50), draw(4, 50)
    np.testing.assert_array_equal(a.y, b.y)
    assert a.kernel == b.kernel != c.kernel
    assert a.X.shape == (50, 5)
    assert not np.allclose(a.y, c.y)


def test_draws_have_the_kernels_covariance_and_the_noise():
    drawn = draw(0, 400, 2)
    assert np.all(np.abs(drawn.X) <= 2)
    assert all(1 <= s <= 4 for s in drawn.kernel.lengthscale)
    whitened = np.linalg.solve(np.linalg.cholesky(drawn.kernel.matrix(drawn.X) + 1e-6 * np.eye(400)), drawn.f)
    assert np.mean(whitened**2) < 1.3  # smooth draws leave most directions without variance
    residual = drawn.y - drawn.f
    np.testing.assert_allclose(np.var(residual), NOISE, rtol=0.3)
    assert abs(np.corrcoef(residual, drawn.f)[0, 1]) < 0.2
