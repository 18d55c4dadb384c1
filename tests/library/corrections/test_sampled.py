"""correction="sampled": the exact posterior of probit classification, as a user meets it."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_ndtr
from scipy.stats import norm

import tilted
from tilted import GPClassifier, GPPoissonRegressor, SparseGPClassifier
from tilted.corrections import CorrectionWarning, Sampled, sampled
from tilted.exact.chains import Length
from tilted.exact.chains import sample as chains
from tilted.exact.target import Reference, Target
from tilted.likelihoods.probit import Probit
from tilted.posteriors.dense import Dense

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = np.where(np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * RNG.normal(size=60) > 0, 1.0, -1.0)
NEW = RNG.normal(size=(15, 2))
LABELS = np.resize([1.0, -1.0], 15)
KERNEL = tilted.SquaredExponential(30.0, 1.0)


@pytest.fixture(scope="module")
def fitted():
    return tilted.fit(X, Y, kernel=KERNEL, optimise=False)


@pytest.mark.slow
def test_marginals_are_those_of_markov_chains(fitted):
    """Of means, variances and predictions of test inputs; where EP's variances are a tenth too small."""
    target = Target.build(KERNEL, X, Y, Probit())
    reference = Reference.build(target, fitted.inference.sites, 0.7)
    truth = chains(reference, np.random.default_rng(1), Length(64, 300, 2000), inputs=NEW, labels=LABELS)
    found = fitted.corrected(NEW, "sampled")
    assert np.all(found.trusted) and np.all(found.trust < 0.02)
    sd = np.sqrt(truth.others.variance)
    np.testing.assert_allclose(found.mean / sd, truth.others.mean / sd, atol=0.05)
    np.testing.assert_allclose(found.variance, truth.others.variance, rtol=0.06)
    np.testing.assert_allclose(found.log_predictive(LABELS), truth.log_density, atol=0.05)
    ep = fitted.predict_latent(NEW)[1]
    assert np.mean(np.log(found.variance / ep)) > 0.07


def test_densities_are_of_their_moments(fitted):
    found = fitted.corrected(NEW[:1], "sampled")
    for q, (mean, variance) in enumerate(zip(found.mean, found.variance, strict=True)):
        sd = np.sqrt(variance)
        f = mean + sd * np.linspace(-9.0, 9.0, 601)
        part = found.densities
        one = sampled.Mixtures(
            part.sampled, part.half[:, [q]], part.level[[q]], part.variance[[q]], part.likelihood
        )
        p = np.exp(one.log_density(f[None]))[0]
        step = f[1] - f[0]
        assert np.sum(p) * step == pytest.approx(1.0, abs=1e-6)
        assert np.sum(p * f) * step == pytest.approx(mean, abs=1e-6 * sd)
        assert np.sum(p * (f - mean) ** 2) * step == pytest.approx(variance, rel=1e-5)
        skewness = np.sum(p * ((f - mean) / sd) ** 3) * step
        assert skewness == pytest.approx(found.skewness[q], abs=1e-4)
        log_p = np.log(np.sum(p * norm.cdf(LABELS[q] * f)) * step)
        assert one.log_predictive(LABELS[[q]])[0] == pytest.approx(log_p, abs=1e-6)


@pytest.mark.parametrize("mean", [0.0, -3.0])
def test_one_datum_is_in_closed_form(mean):
    """A latent that is the datum's own, one that is correlated with it, and one that is not."""
    prior, y = Dense.build(np.array([[2.0]]), mean), np.ones(1)
    cross, variance = np.array([[2.0], [1.2], [0.0]]), np.full(3, 2.0)
    found = sampled.Mixtures.of(Sampled.of(prior, y), cross, np.full(3, mean), variance, Probit())
    moments = Probit().tilted(y, np.array([mean]), np.array([2.0]))
    share = cross[:, 0] / 2.0
    np.testing.assert_allclose(found.moments()[0], mean + share * (moments.mean - mean), atol=0.03)
    expected = variance - share**2 * (2.0 - moments.variance)
    np.testing.assert_allclose(found.moments()[1], expected, rtol=0.03)


@pytest.mark.slow
def test_errors_are_as_large_as_is_said(monkeypatch):
    """Of variances (`trust`) and of the evidence: their spread over other draws."""
    monkeypatch.setattr(sampled, "GOAL", 1)
    variances, evidences, said = [], [], []
    for seed in range(30):
        monkeypatch.setattr(sampled, "SEED", seed)
        found = tilted.fit(X, Y, kernel=KERNEL, optimise=False)
        answer, evidence = found.corrected(NEW, "sampled"), found.corrected_evidence("sampled")
        variances.append(np.log(answer.variance))
        evidences.append(evidence.value)
        said.append((answer.trust[0], evidence.standard_error))
    trust, error = np.mean(said, axis=0)
    assert trust == pytest.approx(np.sqrt(np.mean(np.var(variances, axis=0, ddof=1))), rel=0.3)
    assert error == pytest.approx(np.std(evidences, ddof=1), rel=0.3)


def test_the_evidence_s_derivative_is_that_of_two_data():
    """In every entry of K, by quadrature; with a mean."""
    K, y, mean = np.array([[2.0, 0.8], [0.8, 1.5]]), np.array([1.0, -1.0]), 0.4

    def log_evidence(K):
        L = np.linalg.cholesky(K)

        def inner(a):
            f = mean + L[0, 0] * a
            m, v = mean + L[1, 0] * a, L[1, 1] ** 2
            return norm.pdf(a) * norm.cdf(y[0] * f) * norm.cdf(y[1] * m / np.sqrt(1.0 + v))

        return np.log(quad(inner, -9.0, 9.0, epsabs=1e-13)[0])

    found = Sampled.of(Dense.build(K, mean), y)
    assert found.value == pytest.approx(log_evidence(K), abs=0.01)
    G = found.derivative()
    for i, j in ((0, 0), (0, 1), (1, 1)):
        E = np.zeros((2, 2))
        E[i, j] = E[j, i] = 1e-4
        slope = (log_evidence(K + E) - log_evidence(K - E)) / 2e-4
        assert np.sum(G * E) / 1e-4 == pytest.approx(slope, abs=3e-3)


def test_estimators_predict_by_it(fitted):
    model = GPClassifier(kernel=KERNEL, optimise=None, correction="sampled").fit(X, Y)
    found = fitted.corrected(NEW, "sampled")
    np.testing.assert_allclose(model.predict_latent(NEW, True)[1] ** 2, found.variance, rtol=1e-12)
    np.testing.assert_allclose(
        np.log(model.predict_proba(NEW)[:, 1]), found.log_predictive(np.ones(15)), rtol=1e-6
    )
    value, slope = model.log_marginal_likelihood(model.theta_, eval_gradient=True)
    assert value == model.log_marginal_likelihood()
    assert value == pytest.approx(fitted.corrected_evidence("sampled").value, abs=1e-9)
    kernel = KERNEL.with_parameters(np.exp(model.theta_))
    G = Sampled.of(Dense.build(kernel.matrix(X)), Y).derivative()
    step = 1e-6
    for p in range(2):
        other = kernel.with_parameters(np.exp(model.theta_ + step * np.eye(2)[p]))
        expected = np.sum(G * (other.matrix(X) - kernel.matrix(X))) / step
        assert slope[p] == pytest.approx(expected, rel=1e-4)


def test_too_few_effective_draws_are_ep_s_answer_and_said(monkeypatch):
    monkeypatch.setattr(sampled, "LEAST", 1e6)
    fit = tilted.fit(X, Y, kernel=KERNEL, optimise=False)
    with pytest.warns(CorrectionWarning, match="15 of 15 latents are EP's, not corrected .* effective"):
        mean, variance = fit.predict_latent(NEW, correction="sampled")
    np.testing.assert_allclose((mean, variance), fit.predict_latent(NEW), rtol=1e-6)
    with pytest.warns(CorrectionWarning):
        log_p = fit.log_predictive(NEW, LABELS, correction="sampled")
    np.testing.assert_allclose(log_p, log_ndtr(LABELS * mean / np.sqrt(1.0 + variance)), atol=1e-6)
    model = GPClassifier(kernel=KERNEL, optimise=None, correction="sampled").fit(X, Y)
    with pytest.warns(UserWarning, match="effective"):
        model.log_marginal_likelihood()


def test_other_likelihoods_and_sparse_models_are_refused():
    with pytest.raises(ValueError, match="probit likelihood"):
        GPClassifier(likelihood="logit", correction="sampled").fit(X, Y)
    with pytest.raises(ValueError, match="probit likelihood"):
        GPPoissonRegressor(correction="sampled").fit(X, np.arange(60.0))
    with pytest.raises(ValueError, match="probit likelihood"):
        tilted.fit(X, np.arange(60.0), "poisson-exp", optimise=False).corrected(NEW, "sampled")
    with pytest.raises(ValueError, match="correction"):
        SparseGPClassifier(correction="sampled").fit(X, Y)


def exact_odds(variance):
    """P(-1 at x = 1 | -1 at x = -1, +1 at x = 1) by the arcsine formulas of orthants."""
    places, signs = np.array([-1.0, 1.0, 1.0]), np.array([-1.0, 1.0, -1.0])
    K = variance * np.exp(-0.5 * (places[:, None] - places) ** 2 / 1.5**2) + np.eye(3)
    r = np.arcsin(np.outer(signs, signs) * K / K[0, 0])
    return (0.125 + (r[0, 1] + r[0, 2] + r[1, 2]) / (4.0 * np.pi)) / (0.25 + r[0, 1] / (2.0 * np.pi))


@pytest.mark.parametrize("variance, known", [(1.0, True), (1e2, True), (1e4, True), (1e9, False)])
def test_probabilities_are_as_well_known_as_the_draws_they_rest_on(variance, known):
    """Drawn from few they were off by a third at variance 1e9, and trusted."""
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    fitted = tilted.fit(X, y, kernel=tilted.SquaredExponential(variance, 1.5), optimise=False)
    found, truth = fitted.corrected(X[1:], "sampled"), np.log(exact_odds(variance))
    (log_p,), (rests_on,) = found.densities.predictive(-np.ones(1))
    assert (rests_on >= sampled.FEW) == known
    effective = found.densities.sampled.effective
    assert rests_on <= 1.01 * effective
    if known:
        assert abs(log_p - truth) < 4.0 / np.sqrt(rests_on)
        assert found.resolved(-np.ones(1)) == found.log_predictive(-np.ones(1)) == [log_p]
    else:
        assert abs(log_p - truth) > 0.1  # what it would have said
        with pytest.warns(CorrectionWarning, match="1 of 1 probabilities rest on fewer than 10 draws"):
            assert found.resolved(-np.ones(1)) == pytest.approx(-np.log(effective))


def test_no_probability_is_below_what_the_draws_resolve():
    """Of separable labels, whose search ends at a huge variance: log probabilities were down to -48,000."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = GPClassifier(correction="sampled").fit(X, X[:, 0] > 0.0)
    with pytest.warns(CorrectionWarning, match="draws: none is given below 0.0001"):
        log_p = model.predict_log_proba(X)
    assert log_p.min() > np.log(0.9e-4)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0)
    with pytest.warns(CorrectionWarning, match="none is given below"):
        assert model.models_[0].fit.log_predictive(X, -np.sign(X[:, 0]), correction="sampled").min() > -9.3
