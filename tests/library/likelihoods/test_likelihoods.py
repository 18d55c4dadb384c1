"""Likelihoods against 40-digit arithmetic, mpmath and quadrature."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace, logistic, nbinom, norm, poisson
from scipy.stats import t as student_t

from tests.helpers import columns
from tilted import likelihoods
from tilted.likelihoods.contract import Likelihood
from tilted.likelihoods.exponential_link import NegativeBinomial, PoissonExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.laplace import LaplaceNoise
from tilted.likelihoods.logit import Logit
from tilted.likelihoods.ordinal import Ordinal
from tilted.likelihoods.poisson import PoissonSquare, gamma_parameters
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.step import NoisyStep
from tilted.likelihoods.student_t import StudentT
from tilted.numerics.quadrature import integrate

# A likelihood without an entry here fails test_every_likelihood_is_tested.
EXAMPLES = {
    "logit": (Logit(), np.array([1.0, -1.0, 1.0, -1.0])),
    "probit": (Probit(), np.array([1.0, -1.0, 1.0, -1.0])),
    "poisson-square": (PoissonSquare(), np.array([0.0, 1.0, 3.0, 12.0])),
    "noisy-step": (NoisyStep(0.2), np.array([1.0, -1.0, 1.0, -1.0])),
    "gaussian": (GaussianNoise(0.3), np.array([0.2, -1.0, 2.0, 0.0])),
    "laplace": (LaplaceNoise(0.4), np.array([0.2, -1.0, 2.0, 0.0])),
    "negative-binomial": (NegativeBinomial(0.7), np.array([0.0, 1.0, 3.0, 12.0])),
    "ordinal": (Ordinal((-0.8, 0.3, 1.1)), np.array([0.0, 1.0, 3.0, 2.0])),
    "poisson-exp": (PoissonExponential(), np.array([0.0, 1.0, 3.0, 12.0])),
    "student-t": (StudentT(0.4, 3.0), np.array([0.2, -1.0, 2.0, 0.0])),
}
M, V = np.array([0.3, -1.2, 2.0, -2.5]), np.array([0.5, 2.0, 0.1, 4.0])


def test_every_likelihood_is_tested():
    assert sorted(EXAMPLES) == likelihoods.names()


@pytest.mark.parametrize("name", ["qp_probit", "qp_poisson"])
def test_tilted_moments_equal_reference(values, name):
    likelihood = Probit() if name == "qp_probit" else PoissonSquare()
    y, mu, sigma, log_z, mean, sd = columns(values[name], "y", "mu", "sigma", "logZ", "mean", "sd_EP")
    tilted = likelihood.tilted(y, mu, sigma**2)
    np.testing.assert_allclose(tilted.log_z, log_z, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(tilted.mean, mean, rtol=1e-14, atol=1e-12)
    np.testing.assert_allclose(np.sqrt(tilted.variance), sd, rtol=4e-15)


@pytest.mark.parametrize("z", [-40.0, -25.0, -7.0, -5.9, -1.0, 0.0, 3.0, 9.0])
@pytest.mark.parametrize("sigma", [0.2, 1.0, 30.0])
def test_probit_moments_in_the_tails(z, sigma):
    mu = z * np.sqrt(1.0 + sigma**2)
    with mpmath.workdps(60):
        s2, m = mpmath.mpf(sigma) ** 2, mpmath.mpf(mu)
        zz = m / mpmath.sqrt(1 + s2)
        r = mpmath.npdf(zz) / mpmath.ncdf(zz)
        log_z = mpmath.log(mpmath.ncdf(zz))
        mean = m + s2 * r / mpmath.sqrt(1 + s2)
        variance = s2 - s2**2 * r * (zz + r) / (1 + s2)
    for label in (1.0, -1.0):
        t = Probit().tilted(np.array([label]), np.array([label * mu]), np.array([sigma**2]))
        assert t.log_z[0] == pytest.approx(float(log_z), rel=1e-13, abs=0.0)
        assert t.variance[0] == pytest.approx(float(variance), rel=2e-13)
        assert label * t.mean[0] == pytest.approx(float(mean), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("y", [0, 1, 5, 60])
@pytest.mark.parametrize("mu", [0.0, 1e-4, 0.7, -3.0, 12.0])
@pytest.mark.parametrize("sigma", [0.05, 1.0, 5.0])
def test_poisson_moments_equal_mpmath(y, mu, sigma):
    with mpmath.workdps(50):
        b, a = mpmath.mpf(mu) / (1 + 2 * mpmath.mpf(sigma) ** 2), 0
        a = 2 * mpmath.mpf(sigma) ** 2 / (1 + 2 * mpmath.mpf(sigma) ** 2)

        def moment(k):  # integral of (b + sqrt(a) t)^k exp(-t^2), by the binomial theorem
            return sum(
                mpmath.binomial(k, j)
                * b ** (k - j)
                * mpmath.sqrt(a) ** (j + 1)
                * mpmath.gamma(mpmath.mpf(j + 1) / 2)
                for j in range(0, k + 1, 2)
            )

        I0, I1, I2 = moment(2 * y), moment(2 * y + 1), moment(2 * y + 2)
        mean, variance = I1 / I0, I2 / I0 - (I1 / I0) ** 2
        log_z = (
            mpmath.log(I0)
            - mpmath.log(mpmath.sqrt(2 * mpmath.pi) * sigma)
            - mpmath.log(mpmath.factorial(y))
            - mpmath.mpf(mu) ** 2 / (1 + 2 * mpmath.mpf(sigma) ** 2)
        )
    t = PoissonSquare().tilted(np.array([float(y)]), np.array([mu]), np.array([sigma**2]))
    assert t.log_z[0] == pytest.approx(float(log_z), rel=1e-12, abs=1e-12)
    assert t.mean[0] == pytest.approx(float(mean), rel=1e-12, abs=1e-300)
    assert t.variance[0] == pytest.approx(float(variance), rel=1e-11)
    assert t.d2[0] == pytest.approx(float((variance - sigma**2) / sigma**4), rel=1e-9)


@pytest.mark.parametrize("name", EXAMPLES)
def test_tilted_derivatives_and_density_agree(name):
    likelihood, y = EXAMPLES[name]
    t, h = likelihood.tilted(y, M, V), 1e-4
    up, down = likelihood.tilted(y, M + h, V), likelihood.tilted(y, M - h, V)
    np.testing.assert_allclose((up.log_z - down.log_z) / (2 * h), t.d1, atol=1e-6)
    np.testing.assert_allclose((up.d1 - down.d1) / (2 * h), t.d2, atol=1e-5)
    np.testing.assert_allclose(M + V * t.d1, t.mean, atol=1e-12)
    np.testing.assert_allclose(V + V**2 * t.d2, t.variance, rtol=1e-10)
    density = likelihood.tilted_density(y, M, V)
    panels = integrate(density)
    f = panels.offsets + density.origin[:, None, None]
    np.testing.assert_allclose(panels.log_z, t.log_z, atol=1e-12)
    np.testing.assert_allclose(panels.expectation(f), t.mean, atol=1e-12)
    spread = panels.expectation((f - t.mean[:, None, None]) ** 2)
    np.testing.assert_allclose(spread, t.variance, rtol=1e-11)


def log_likelihood(name, y, f):
    if name == "probit":
        return norm.logcdf(y * f)
    if name == "logit":
        return logistic.logcdf(y * f)
    if name == "noisy-step":
        return np.log(0.8 if y * f > 0 else 0.2)
    if name == "gaussian":
        return norm.logpdf(y, f, np.sqrt(0.3))
    if name == "laplace":
        return laplace.logpdf(y, f, 0.4)
    if name == "negative-binomial":
        return nbinom.logpmf(y, 1.0 / 0.7, 1.0 / (1.0 + 0.7 * np.exp(f)))
    if name == "poisson-exp":
        return poisson.logpmf(y, np.exp(f))
    if name == "ordinal":
        low, high = np.array([-np.inf, -0.8, 0.3, 1.1, np.inf])[[int(y), int(y) + 1]] - f
        low, high = (low, high) if low + high < 0 else (-high, -low)  # the tail on the left
        return norm.logcdf(high) + np.log1p(-np.exp(norm.logcdf(low) - norm.logcdf(high)))
    if name == "student-t":
        return student_t.logpdf(y, 3.0, f, 0.4)
    log_factorial = float(mpmath.log(mpmath.factorial(int(y))))
    return (y * np.log(f**2) if y else 0.0) - f**2 - log_factorial


@pytest.mark.parametrize("name", EXAMPLES)
def test_log_likelihood_broadcasts_and_integrates_to_the_predictive(name):
    likelihood, y = EXAMPLES[name]
    f = np.array([-2.1, 0.4, 1.7])
    direct = [[log_likelihood(name, label, value) for value in f] for label in y]
    np.testing.assert_allclose(likelihood.log_likelihood(y[:, None], f), direct, rtol=1e-13)
    for i in range(len(y)):
        sd = np.sqrt(V[i])
        integral, _ = quad(
            lambda f, i=i, sd=sd: np.exp(likelihood.log_likelihood(y[i], f)) * norm.pdf(f, M[i], sd),
            M[i] - 12 * sd,
            M[i] + 12 * sd,
            points=[0.0, *y],
            epsabs=1e-13,
            limit=500,
        )
        predictive = likelihood.log_predictive(y[[i]], M[[i]], V[[i]])[0]
        assert predictive == pytest.approx(np.log(integral), abs=1e-9)


def test_log_likelihood_at_the_ends():
    assert Probit().log_likelihood(1.0, -1e3) == pytest.approx(-500007.826694812, rel=1e-12)
    assert Probit().log_likelihood(-1.0, -40.0) == pytest.approx(0.0, abs=1e-300)
    at_zero = PoissonSquare().log_likelihood(np.array([0.0, 2.0]), np.zeros(2))
    np.testing.assert_array_equal(at_zero, [0.0, -np.inf])


@pytest.mark.parametrize("name", EXAMPLES)
def test_expected_log_equals_quadrature(name):
    likelihood, y = EXAMPLES[name]
    value, d_mean, d_variance = likelihood.expected_log(y, M, V)
    for i in range(len(y)):
        sd = np.sqrt(V[i])
        points = [0.0] if abs(M[i]) < 12 * sd else None
        direct, _ = quad(
            lambda f, i=i, sd=sd: log_likelihood(name, y[i], f) * norm.pdf(f, M[i], sd),
            M[i] - 12 * sd,
            M[i] + 12 * sd,
            points=points,
            epsabs=1e-13,
            limit=500,
        )
        assert value[i] == pytest.approx(direct, abs=1e-9)
    h = 1e-5
    by_mean = [likelihood.expected_log(y, M + s * h, V)[0] for s in (1, -1)]
    by_variance = [likelihood.expected_log(y, M, V + s * h)[0] for s in (1, -1)]
    np.testing.assert_allclose((by_mean[0] - by_mean[1]) / (2 * h), d_mean, atol=1e-7)
    np.testing.assert_allclose((by_variance[0] - by_variance[1]) / (2 * h), d_variance, atol=1e-6)


FAR_OUT = [(0.0, 1e4), (-8.0, 1e-4), (-8.0, 0.65)]
FURTHER = [(-300.0, 1e4), (-100.0, 0.6), (0.0, 0.65), (8.0, 0.65), (-99.0, 100.0), (99.0, 100.0)]


@pytest.mark.parametrize("m, v", [*FAR_OUT, *(pytest.param(*one, marks=pytest.mark.slow) for one in FURTHER)])
def test_probit_expected_log_far_out(m, v):
    def hazard(f):
        return mpmath.npdf(f) / (mpmath.erfc(-f / mpmath.sqrt(2)) / 2)

    functions = (
        lambda f: mpmath.log(mpmath.erfc(-f / mpmath.sqrt(2)) / 2),
        hazard,
        lambda f: -hazard(f) * (f + hazard(f)) / 2,
    )
    with mpmath.workdps(30):
        sd = mpmath.sqrt(v)
        ends = {mpmath.mpf(m) + k * sd for k in (-14, -6, -2, 0, 2, 6, 14)} | {
            *map(mpmath.mpf, (-8, -2, 0, 2, 8))
        }
        ends = sorted(e for e in ends if abs(e - m) <= 14.1 * sd)
        exact = [
            float(mpmath.quad(lambda f, g=g: g(f) * mpmath.npdf(f, m, sd), ends, maxdegree=10))
            for g in functions
        ]
    value = Probit().expected_log(np.ones(3), np.array([m, 0.5, 7.0]), np.array([v, 30.0, 1e-3]))
    np.testing.assert_allclose([part[0] for part in value], exact, rtol=1e-11)


@pytest.mark.parametrize("m, v", [(0.0, 1.0), (1e3, 1.0), (30.0, 0.5), (9.9, 1.0), (-4.0, 1e-2)])
def test_poisson_expected_log_for_small_and_large_means(m, v):
    value = PoissonSquare().expected_log(np.array([2.0]), np.array([m]), np.array([v]))[0]
    with mpmath.workdps(30):  # E[log f^2] = log(2v) + sum of Poisson weights times digamma(1/2 + j)
        half = mpmath.mpf(m) ** 2 / (2 * v)
        if half < 2000:
            mean_log = (
                mpmath.nsum(
                    lambda j: (
                        mpmath.exp(-half + j * mpmath.log(half) - mpmath.loggamma(j + 1))
                        * mpmath.digamma(j + 0.5)
                        if half
                        else 0
                    ),
                    [0, 4000 if half > 50 else 400],
                )
                if half
                else mpmath.digamma(0.5)
            )
            mean_log += mpmath.log(2 * mpmath.mpf(v))
        else:
            s2 = mpmath.mpf(v) / mpmath.mpf(m) ** 2
            mean_log = 2 * mpmath.log(abs(m)) - s2 - mpmath.mpf(3) / 2 * s2**2
        exact = 2 * mean_log - (mpmath.mpf(m) ** 2 + v) - mpmath.log(2)
    assert value[0] == pytest.approx(float(exact), rel=1e-11)


def test_poisson_predictives(values):
    rows = values["qp_poisson_predictive"]
    m, s, y, p_nb, p_exact = columns(rows, "mu", "sigma", "y", "p_gamma_nb", "p_exact")
    exact = PoissonSquare().log_predictive(y, m, s**2)
    nb = PoissonSquare("negative-binomial").log_predictive(y, m, s**2)
    np.testing.assert_allclose(np.exp(exact), p_exact, rtol=1e-12)
    np.testing.assert_allclose(np.exp(nb), p_nb, rtol=1e-12)
    shape, scale = gamma_parameters(m, s**2)
    np.testing.assert_allclose([shape, scale], columns(rows, "k", "c"), rtol=1e-13)
    y = np.arange(400.0)
    for predictive in ("exact", "negative-binomial"):
        p = PoissonSquare(predictive).log_predictive(y, np.full(400, 2.0), np.full(400, 1.0))
        assert np.exp(p).sum() == pytest.approx(1.0, abs=1e-12)


def test_predicted_count_is_the_mode():
    m, v = np.array([0.1, 2.0, 3.0, 2.2, 1.5]), np.array([0.5, 0.3, 0.2, 0.05, 0.4])
    y, (shape, scale) = np.arange(60.0), gamma_parameters(m, v)
    assert np.any(scale * (shape - 1) % 1 > 0.6)  # where rounding would say one more
    for mode, mi, vi in zip(PoissonSquare().predicted_count(m, v), m, v, strict=True):
        p = PoissonSquare("negative-binomial").log_predictive(y, np.full(60, mi), np.full(60, vi))
        assert mode == np.argmax(p)


@pytest.mark.parametrize("name", ["probit", "logit", "noisy-step"])
def test_a_label_is_wrong_where_the_other_is_likelier_and_a_tie_is_none(name):
    """As [Zhang 2020] counts: p(y) < 1/2."""
    m, v = np.array([-0.7, 0.0, 0.7, -1e-300]), np.full(4, 2.0)
    likelihood = likelihoods.get(name)
    assert likelihood.errors(np.ones(4), m, v).tolist() == [1, 0, 0, 1]
    assert likelihood.errors(-np.ones(4), m, v).tolist() == [0, 0, 1, 0]


@given(mu=st.floats(-1e3, 1e3), log_sigma=st.floats(-3, 3), label=st.sampled_from([-1.0, 1.0]))
def test_probit_invariants(mu, log_sigma, label):
    v = np.array([10.0 ** (2 * log_sigma)])
    t = Probit().tilted(np.array([label]), np.array([mu]), v)
    mirrored = Probit().tilted(np.array([-label]), np.array([-mu]), v)
    assert 0 < t.variance[0] <= v[0] * (1 + 1e-14)
    assert t.log_z[0] <= 0
    assert t.log_z[0] == mirrored.log_z[0]
    assert t.variance[0] == mirrored.variance[0]
    assert t.mean[0] == -mirrored.mean[0]


@pytest.mark.parametrize(
    "likelihood, y, message",
    [
        (Probit(), [1, 0, -1], "-1 or \\+1, got 0 at row 1"),
        (Probit(), [1, 1, 1], "both classes"),
        (Probit(), [1, np.nan, -1], "row 1"),
        (Probit(), [[1, -1]], "one-dimensional"),
        (PoissonSquare(), [1, -2, 0], "-2 at row 1"),
        (PoissonSquare(), [1, 2.5, 0], "2.5 at row 1"),
        (GaussianNoise(), [1, np.inf], "row 1"),
        (Logit(), [1, 0, -1], "logit labels must be -1 or \\+1, got 0 at row 1"),
        (NoisyStep(), [1, 0.5], "noisy-step labels must be -1 or \\+1, got 0.5 at row 1"),
    ],
)
def test_labels_outside_the_domain_are_refused(likelihood, y, message):
    with pytest.raises(ValueError, match=message):
        likelihood.check(y)


@pytest.mark.parametrize("z", [-30.0, -3.0, 0.0, 0.5, 4.0, 30.0])
@pytest.mark.parametrize("flips", [1e-12, 0.01, 0.3])
@pytest.mark.parametrize("power", [1.0, 0.5, 0.05])
def test_noisy_step_moments_equal_mpmath(z, flips, power):
    v = 2.0
    with mpmath.workdps(40):
        zz, sd, p = mpmath.mpf(z), mpmath.sqrt(v), mpmath.mpf(power)
        a, b = (1 - mpmath.mpf(flips)) ** p, mpmath.mpf(flips) ** p
        total = a * mpmath.ncdf(zz) + b * mpmath.ncdf(-zz)
        w = (a - b) * mpmath.npdf(zz) / total
        log_z, mean, variance = mpmath.log(total), sd * (zz + w), v * (1 - w * (zz + w))
    for label in (1.0, -1.0):
        t = NoisyStep(flips).tilted(
            np.array([label]), np.array([label * z * np.sqrt(v)]), np.array([v]), power
        )
        assert t.log_z[0] == pytest.approx(float(log_z), rel=1e-13)
        assert label * t.mean[0] == pytest.approx(float(mean), rel=1e-12, abs=1e-12)
        assert t.variance[0] == pytest.approx(float(variance), rel=1e-11)


@pytest.mark.parametrize("flips", [0.0, 0.5, -0.1, np.nan])
def test_flips_are_neither_impossible_nor_even(flips):
    with pytest.raises(ValueError, match="between 0 and 1/2"):
        NoisyStep(flips)


@pytest.mark.parametrize("noise", [0.0, -1.0, np.nan, np.inf])
def test_noise_must_be_positive(noise):
    with pytest.raises(ValueError, match="noise variance must be finite and positive"):
        GaussianNoise(noise)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_likelihood_offers_the_whole_contract(name):
    likelihood, y = EXAMPLES[name]
    asked = {n for n in vars(Likelihood) if not n.startswith("_")} | set(Likelihood.__annotations__)
    assert {"name", "log_concave", "domain", "errors"} <= asked
    asked.remove("tilted_shape")  # by panels where a likelihood has none
    assert [n for n in asked if not hasattr(likelihood, n)] == []
    assert likelihood.name == name
    assert np.all(likelihood.errors(y, M, V) >= 0)


def test_unknown_likelihood_lists_the_known():
    with pytest.raises(
        ValueError,
        match="gaussian, laplace, logit, .*, poisson-square, probit, student-t",
    ):
        likelihoods.get("cauchy")
    with pytest.raises(ValueError, match="predictive"):
        PoissonSquare("gamma")
