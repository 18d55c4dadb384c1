"""Moments of h and g: 40-digit values, finite differences, quadrature, extremes."""

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from tilted.bayesopt.factors import no_better, positive


def test_sites_are_the_reference(values):
    for case in values["pesc_hn_site"]:
        m, s = float(case["u_mean"]), float(case["u_var"])
        means, variances = (np.array(case[name], dtype=float) for name in ("c_mean", "c_var"))
        log_z, of_u, of_c = no_better(np.array(m / np.sqrt(s)), means / np.sqrt(variances))
        assert log_z == pytest.approx(float(case["logZ"]), rel=1e-12)
        expected = float(case["u_site_precision"]), float(case["u_site_shift"])
        assert of_u.site(m, s) == pytest.approx(expected, rel=1e-10)
        precision, shift = of_c.site(means, variances)
        np.testing.assert_allclose(precision, np.array(case["c_site_precision"], dtype=float), rtol=1e-10)
        np.testing.assert_allclose(shift, np.array(case["c_site_shift"], dtype=float), rtol=1e-10)


@pytest.mark.parametrize("K", [0, 1, 2, 3])
def test_derivatives_are_finite_differences(K):
    rng = np.random.default_rng(K)
    for _ in range(20):
        alpha, alphas = 2.0 * rng.standard_normal(), 2.0 * rng.standard_normal(K)
        _, of_u, of_c = no_better(np.array(alpha), alphas)
        h = 1e-4

        def along(k, t, alpha=alpha, alphas=alphas):
            moved = alphas + t * (np.arange(K) == k)
            return float(no_better(np.array(alpha + t * (k < 0)), moved)[0])

        for k in range(-1, K):
            first = (along(k, h) - along(k, -h)) / (2 * h)
            second = (along(k, h) - 2 * along(k, 0.0) + along(k, -h)) / h**2
            shift, left = (of_u.shift, of_u.left) if k < 0 else (of_c.shift[k], of_c.left[k])
            assert shift == pytest.approx(first, abs=1e-7)
            assert left == pytest.approx(1.0 + second, abs=1e-6)


@pytest.mark.parametrize("m, v", [(0.3, 0.5), (-2.0, 1.5), (-40.0, 1.0), (30.0, 2.0)])
def test_g_is_a_truncated_normal(m, v):
    log_z, tilt = positive(np.array(m / np.sqrt(v)))
    assert log_z == pytest.approx(norm.logcdf(m / np.sqrt(v)), rel=1e-12)
    mean, variance = tilt.moments(m, v)
    with mpmath.workdps(60):
        a = mpmath.mpf(m) / mpmath.sqrt(v)
        r = mpmath.npdf(a) / mpmath.ncdf(a)
        assert mean == pytest.approx(float(m + mpmath.sqrt(v) * r), rel=1e-9)
        assert variance == pytest.approx(float(v * (1 - r * (a + r))), rel=1e-12)
    tau, nu = tilt.site(m, v)
    assert 1.0 / (1.0 / v + tau) == pytest.approx(variance, rel=1e-9)
    assert variance * (m / v + nu) == pytest.approx(mean, rel=1e-6)


def test_extremes_stay_finite_and_exact():
    alpha = np.array([-30.0, -200.0, 30.0, -8.0])
    alphas = np.array([[30.0, 300.0, -40.0, 9.0], [20.0, 60.0, 50.0, 40.0]])
    log_z, of_u, of_c = no_better(alpha, alphas)
    for part in (log_z, of_u.shift, of_u.left, of_c.shift, of_c.left):
        assert np.all(np.isfinite(part))
    assert np.all(of_u.left > 0)
    assert np.all(of_c.left > 0)
    with mpmath.workdps(80):
        P = mpmath.ncdf(9) * mpmath.ncdf(40)
        Z = P * mpmath.ncdf(-8) + 1 - P
        assert log_z[3] == pytest.approx(float(mpmath.log(Z)), rel=1e-10)
        beta = P * mpmath.npdf(-8) / Z
        assert of_u.shift[3] == pytest.approx(float(beta), rel=1e-10)
        assert of_u.left[3] == pytest.approx(float(1 - beta * (beta - 8)), rel=1e-9)
    # constraints that would have to fail by 60 standard deviations rather than u by 200
    assert log_z[1] == pytest.approx(norm.logcdf(-60.0), rel=1e-12)
    assert of_c.left[1, 1] == pytest.approx(60.0**-2, rel=1e-2)
    assert of_u.left[1] == 1.0
