"""New counts at rates beyond those that NumPy draws, and where rates overflow."""

import warnings

import numpy as np
import pytest

import tilted
from tilted.estimators import GPPoissonRegressor
from tilted.likelihoods.exponential_link import NegativeBinomial, PoissonExponential, PoissonRates
from tilted.likelihoods.new_counts import NORMAL
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.real_counts import RealCounts

LOG, ROOT = (PoissonExponential(), PoissonRates()), (PoissonSquare(), RealCounts())


@pytest.mark.parametrize("rate", [1e12, 1e14, 1e19, 1e40, 1e300])
@pytest.mark.parametrize("likelihood", [*LOG, *ROOT], ids=lambda one: type(one).__name__)
def test_counts_of_large_rates_have_their_mean_and_variance(likelihood, rate):
    f = np.log(rate) if likelihood in LOG else np.sqrt(rate)
    rate = np.exp(f) if likelihood in LOG else f**2
    drawn = likelihood.draw(np.full((100, 200), f), np.random.default_rng(1))
    assert drawn.shape == (100, 200)
    assert drawn.dtype == float
    assert np.all(drawn == np.rint(drawn))
    z = (drawn - rate) / np.sqrt(rate)
    if rate < 1e30:  # above, the rounding of floats is more than the deviation
        assert abs(np.mean(z)) < 4 / np.sqrt(z.size)
        assert np.var(z) == pytest.approx(1.0, abs=4 * np.sqrt(2 / z.size))
    np.testing.assert_allclose(drawn, rate, rtol=1e-5)


@pytest.mark.parametrize("f", [30.0, 50.0, 500.0])
def test_negative_binomial_counts_of_large_rates_have_the_spread_of_their_gamma(f):
    drawn = NegativeBinomial(0.25).draw(np.full(20_000, f), np.random.default_rng(2)) / np.exp(f)
    assert np.mean(drawn) == pytest.approx(1.0, abs=4 * 0.5 / np.sqrt(20_000))
    assert np.var(drawn) == pytest.approx(0.25, rel=0.1)


def test_counts_of_other_rates_are_numpys():
    """Of the same generator, so that draws of before are drawn again."""
    f = np.linspace(-3.0, 20.0, 50)
    expected = np.random.default_rng(3).poisson(np.exp(f)).astype(float)
    np.testing.assert_array_equal(PoissonExponential().draw(f, np.random.default_rng(3)), expected)
    far = np.append(f, 0.5 + np.log(NORMAL))
    drawn = PoissonExponential().draw(far, np.random.default_rng(3))
    np.testing.assert_array_equal(drawn[:-1], expected, "a large rate changes nothing for those before")


@pytest.mark.parametrize(
    ("likelihood", "f"),
    [(PoissonExponential(), 710.0), (NegativeBinomial(1.0), 720.0), (PoissonSquare(), -1e155)],
    ids=lambda one: getattr(one, "name", ""),
)
def test_rates_that_overflow_are_refused_by_name(likelihood, f):
    with warnings.catch_warnings(), pytest.raises(ValueError, match="rate is no finite .* 1 of 2 .*latent"):
        warnings.simplefilter("error")
        likelihood.draw(np.array([1.0, f]), np.random.default_rng(0))


@pytest.mark.parametrize("variance", [900.0, 1e6])
def test_new_targets_of_a_wide_posterior_are_drawn_or_refused_by_name(variance):
    X, away = np.arange(4.0)[:, None], np.array([[40.0]])
    kernel = tilted.SquaredExponential(variance, 1.0)
    model = GPPoissonRegressor(likelihood="poisson-exp", kernel=kernel, optimise=None).fit(X, np.ones(4))
    assert np.all(np.isfinite(model.sample_latent(away, 50)))
    if variance < 1e4:
        assert 1e19 < np.max(model.sample_y(away, 50)) < np.inf
    else:
        with pytest.raises(ValueError, match="sample_latent"):
            model.sample_y(away, 50)
