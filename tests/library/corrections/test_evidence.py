"""Corrected evidences against the exact ones of Markov chains, and of orthants."""

import numpy as np
import pytest
from chain import Chain
from scipy.stats import multivariate_normal

from tilted.corrections import correct_evidence, expand
from tilted.kernels import SquaredExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.logit import Logit
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.step import NoisyStep
from tilted.likelihoods.student_t import StudentT
from tilted.posteriors.dense import Dense

SIGNS = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0])
COUNTS = np.array([2.0, 6.0, 4.0, 9.0, 3.0, 5.0, 7.0, 4.0])
EXAMPLES = {
    "probit": (Probit(), SIGNS, 4.0, 0.0, 0.15),
    "logit": (Logit(), SIGNS, 9.0, 0.0, 0.15),
    "noisy-step": (NoisyStep(0.1), SIGNS, 1.0, 0.0, 0.9),
    "poisson-square": (PoissonSquare(), COUNTS, 0.3, 2.1, 0.25),
}


def chain_of(name, n):
    likelihood, y, variance, mean, left = EXAMPLES[name]
    return Chain(0.35 * np.arange(n), y[:n], likelihood, variance, 1.0, mean), left


@pytest.mark.parametrize("n", [2, 3, 8])
@pytest.mark.parametrize("name", EXAMPLES)
def test_nearer_to_the_exact_evidence(name, n):
    chain, left = chain_of(name, n)
    exact, found = chain.exact()[0], chain.evidence()
    assert found.trusted, found.message
    assert found.value == pytest.approx(found.ep + found.correction, rel=1e-15) != found.ep
    assert abs(found.value - exact) < left * abs(found.ep - exact)


@pytest.mark.parametrize("name", EXAMPLES)
def test_one_datum_needs_no_correction(name):
    chain, _ = chain_of(name, 1)
    found = chain.evidence()
    assert found.correction == 0.0
    assert found.value == pytest.approx(chain.exact()[0], abs=1e-9)


def test_orthant_probabilities():
    """Steps that are hardly noisy: the evidence is that of an orthant of a trivariate normal."""
    K = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    likelihood, y = NoisyStep(1e-13), np.ones(3)
    orthant = np.log(0.125 + np.sum(np.arcsin(K[np.triu_indices(3, 1)])) / (4.0 * np.pi))
    found = correct_evidence(expand(Dense.build(K), likelihood, y))
    assert found.trusted
    assert abs(found.value - orthant) < 0.1 * abs(found.ep - orthant)
    assert np.log(multivariate_normal([0, 0, 0], K).cdf([0, 0, 0])) == pytest.approx(orthant, abs=1e-4)


def test_vanishes_with_gaussian_noise():
    chain = Chain(0.3 * np.arange(6), np.array([0.3, 1.0, -2.0, 0.0, 0.4, 1.1]), GaussianNoise(0.4), 2.0)
    found = chain.evidence()
    assert found.trusted and found.correction == 0.0 and found.trust == 0.0
    assert found.value == pytest.approx(chain.exact()[0], abs=1e-9)


def test_a_second_lobe_at_minus_f_is_refused():
    chain = Chain(0.4 * np.arange(5), COUNTS[:5], PoissonSquare(), 1.0, 1.0, 0.05)
    found = chain.evidence()
    assert not found.trusted and "second lobe at -f" in found.message
    assert found.value == found.ep


@pytest.mark.parametrize(("reach", "variance"), [(1.0, 0.64), (0.6, 0.64)])
def test_third_order_larger_than_the_correction_of_a_step_is_refused(reach, variance):
    """It was taken up to twice the correction, which left an error larger than the correction made."""
    x, y = np.linspace(0.0, reach, 3), np.array([-1.0, 1.0, -1.0])
    K = SquaredExponential(variance, 3.0).matrix(x[:, None])
    base = expand(Dense.build(K, 1.0), NoisyStep(0.1), y)
    found = correct_evidence(base)
    exact = 0.0
    for sign in np.array(np.meshgrid(*[[1.0, -1.0]] * 3)).reshape(3, -1).T:
        mass = multivariate_normal(np.zeros(3), K * np.outer(sign, sign), allow_singular=True).cdf(sign)
        exact += mass * np.prod(np.where(sign == y, 0.9, 0.1))
    assert abs(np.log(exact) - found.ep - found.correction) > abs(found.correction)
    assert not found.trusted and "third order" in found.message and found.value == found.ep


@pytest.mark.parametrize(("gap", "seen"), [(30.0, True), (400.0, False)])
def test_data_that_agree_and_are_rejected_are_another_lobe(gap, seen):
    """Half of the rows say 0, half ``gap``: by quadrature over the only latent, of mass e^-1.1 at 30."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(0.0, 0.2, 6), rng.normal(gap, 0.2, 5)])
    likelihood, prior = StudentT(4.0, 0.5), Dense.build(np.full((11, 11), 400.0) + 1e-9 * np.eye(11))
    base = expand(prior, likelihood, y)
    f = np.linspace(-100.0, gap + 100.0, 2_000_001)
    log_p = -(f**2) / 800.0 + sum(likelihood.log_likelihood(np.full(1, one), f) for one in y)
    p = np.exp(log_p - np.max(log_p))
    odds = np.log(np.sum(p[f > gap / 2])) - np.log(np.sum(p[f < gap / 2]))
    assert (odds > -5.0) == seen
    if seen:
        assert base.rival_odds == pytest.approx(odds, abs=0.1)
        assert "another lobe" in base.concern and not correct_evidence(base).trusted
    else:
        assert base.concern == ""


def test_an_inference_that_did_not_converge_is_refused():
    from tilted.inference.options import Options

    chain, _ = chain_of("probit", 8)
    prior = Dense.build(chain.covariance(chain.x, chain.x))
    base = expand(prior, chain.likelihood, chain.y, options=Options(max_sweeps=1, newton=False))
    found = correct_evidence(base)
    assert not found.trusted and "did not converge" in found.message and found.value == found.ep
