"""Passes over batches where sites are strong, left out, or of rows whose f is known."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tilted import SparseGPPoissonRegressor
from tilted.inference.options import Options
from tilted.inference.vb import VB
from tilted.kernels import Linear, SquaredExponential
from tilted.learning import minibatch, passes
from tilted.learning.batch import Model
from tilted.learning.site_starts import first_sites
from tilted.learning.sparse import Problem
from tilted.likelihoods import get
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.logit import Logit
from tilted.posteriors.pseudo import PseudoPoints

KERNEL = SquaredExponential(0.1, 1.0)
X = np.linspace(0.0, 4.0, 40)[:, None]
Z, MORE = np.linspace(0.0, 4.0, 10)[:, None], np.linspace(0.0, 4.0, 12)[:, None]


def strong(kind):
    """Targets whose sites are stronger than `gaussian.FAR`, their likelihood and prior mean."""
    rng = np.random.default_rng(5)
    if kind == "reals":
        return 2.0 + 0.3 * np.sin(X[:, 0]) + 1e-3 * rng.normal(size=40), GaussianNoise(1e-6), 1.5
    return (
        rng.poisson(kind * np.exp(0.3 * np.sin(X[:, 0]))).astype(float),
        get("poisson-exp"),
        float(np.log(kind)),
    )


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("kind", [20_000, "reals"])
def test_the_evidence_of_strong_sites(kind, alpha):
    """That of sweeps over all rows: it was off by 2 to 70 million nats, and called converged."""
    y, likelihood, mean = strong(kind)
    problem = Problem(X, y, likelihood, alpha, mean, 1e-8, options=Options(tolerance=1e-11))
    posterior, swept = problem.infer(KERNEL, Z)
    assert swept.status.converged and np.max(swept.sites.tau) * mean**2 > 1e5
    found = passes.passes(Model(posterior.pseudo, likelihood, problem.rule, mean), X, y, 9, tolerance=1e-10)
    assert found.status.converged
    assert found.log_evidence == pytest.approx(swept.log_evidence, abs=1e-5)
    start = minibatch.begin(problem, KERNEL, Z)
    all_rows = minibatch.Training(steps=200, batch=1000, rate=0.7, learning_rate=0.0)
    energy = minibatch.train(problem, start, all_rows).energy
    assert energy == pytest.approx(swept.log_evidence, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", ["poisson-exp", "logit"])
def test_rows_whose_f_is_known(name, alpha):
    """At 0 a linear kernel has no variance: such rows are their likelihood at the mean, whatever the rule."""
    rng = np.random.default_rng(2)
    rows, mean = rng.normal(size=(30, 1)), 0.7
    likelihood = get("poisson-exp") if name == "poisson-exp" else Logit()
    y = rng.poisson(2.0, 30).astype(float) if name == "poisson-exp" else np.sign(rows[:, 0] + 0.1)
    problem = Problem(rows, y, likelihood, alpha, mean, 1e-8)
    pseudo = PseudoPoints.build(Linear(1.0), np.ones((1, 1)), 0.0)
    model = Model(pseudo, likelihood, problem.rule, mean)

    def found(at_zero):
        inputs, targets = np.vstack([rows, np.zeros((at_zero, 1))]), np.append(y, y[:at_zero])
        return passes.passes(model, inputs, targets, 11, tolerance=1e-9)

    rest, some, (alone,) = found(0), found(3), passes.passes(model, np.zeros((3, 1)), y[:3], 2)[1:2]
    known = float(np.sum(likelihood.log_likelihood(y[:3], np.full(3, mean))))
    assert rest.status.converged and some.status.converged and not some.status.skipped
    assert some.log_evidence == pytest.approx(rest.log_evidence + known, abs=1e-6)
    assert alone == pytest.approx(known, abs=1e-9)
    np.testing.assert_allclose(some.posterior.projected, rest.posterior.projected, atol=1e-6)


@pytest.fixture
def flat(monkeypatch):
    """Sites are flat at first, of counts too."""
    monkeypatch.setattr(passes, "first_sites", lambda *_: None)


def counts_with_an_outlier():
    """Counts about e, one of 3,000 among them, and a model of the exponential rate by VB."""
    y = np.random.default_rng(3).poisson(np.exp(1.0 + 0.3 * np.sin(X[:, 0]))).astype(float)
    y[31] = 3000.0
    problem = Problem(X, y, get("poisson-exp"), 0.0, 1.0, 1e-8, options=Options(tolerance=1e-11))
    return y, problem


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("batch", [3, 20])
@pytest.mark.parametrize("weight", [1.0, 1000.0])
def test_whole_steps_that_lead_too_far(weight, batch, flat):
    """VB's from the prior to a large count, or with large weights, end where sweeps end; once in NaN."""
    y, problem = counts_with_an_outlier()
    weights = np.full(len(y), weight)
    posterior, swept = replace(problem, weights=weights).infer(SquaredExponential(1.0, 0.8), Z)
    assert swept.status.converged
    model = Model(posterior.pseudo, problem.likelihood, problem.rule, problem.mean)
    found = passes.passes(model, X, y, batch, weights=weights, tolerance=1e-7)
    assert found.status.converged and found.status.retries and found.status.damping < 1.0
    assert found.log_evidence == pytest.approx(swept.log_evidence, rel=1e-9, abs=1e-5)
    predicted = posterior.pseudo.predict(found.posterior.factor, found.posterior.projected, MORE)
    np.testing.assert_allclose(predicted, posterior.predict(swept.state, MORE), atol=1e-6)


def far_count(count, weight):
    """Counts about 1, one of them large, and a wide prior at 8 points: rows, counts, weights, model."""
    rng = np.random.default_rng(603)
    rows = rng.uniform(0.0, 5.0, (90, 1))
    y = rng.poisson(np.exp(1.5 * np.sin(2.0 * rows[:, 0]))).astype(float)
    y[11] = count
    pseudo = PseudoPoints.build(SquaredExponential(4.0, 1.5), np.linspace(0.0, 5.0, 8)[:, None], 1e-6)
    return rows, y, np.full(90, weight), Model(pseudo, get("poisson-exp"), VB, 0.0)


def test_a_pass_does_not_lower_the_bound_of_all_rows(flat):
    """A group saw its own rows: the bound fell to a third of what it had been, and elsewhere to -1e94."""
    rows, y, weights, model = far_count(1e5, 10.0)
    bounds = [
        passes.passes(model, rows, y, 7, weights=weights, most=n).log_evidence for n in (1, 2, 3, 8, 14)
    ]
    assert np.all(np.diff(bounds) > -1e-3) and bounds[-1] > bounds[0] + 1e6
    whole = passes.passes(model, rows, y, 90, weights=weights)
    assert whole.status.converged
    assert passes.passes(model, rows, y, 7, weights=weights).log_evidence == pytest.approx(
        whole.log_evidence, rel=1e-6
    )


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("count, weight", [(1e5, 30.0), (1e9, 1.0)])
def test_large_counts_by_sweeps(count, weight, alpha):
    """VB did not leave the prior from flat sites where a count was 1e5; a start that is near hurts nobody."""
    rows, y, weights, model = far_count(count, weight)
    problem = Problem(rows, y, model.likelihood, alpha, 0.0, 1e-6, weights=weights)
    kernel, Z = SquaredExponential(4.0, 1.5), model.pseudo.Z
    _, near = problem.infer(kernel, Z, first_sites(model.likelihood, y, 0.0, weights))
    _, flat = problem.infer(kernel, Z)
    assert near.status.converged and near.log_evidence > flat.log_evidence - 1e-6 * abs(flat.log_evidence)
    if flat.status.converged:
        assert near.log_evidence == pytest.approx(flat.log_evidence, rel=1e-7)
    assert flat.status.converged or (alpha == 0.0 and count > 1e4)


def test_sites_to_start_from_that_would_be_too_strong():
    """Counts by weights of 1e16 left no digits of the variances, and an error."""
    rows, y, _, model = far_count(30.0, 1.0)
    assert first_sites(model.likelihood, 1e10 * y, 0.0, np.full(90, 1e6)) is None
    assert first_sites(model.likelihood, y, 800.0) is None
    none = first_sites(model.likelihood, np.zeros(3), 1.0, np.full(3, 2.0))
    np.testing.assert_allclose(none.tau, 2.0 * np.e)
    np.testing.assert_allclose(none.nu, 0.0, atol=1e-14)  # tau f + the slope, -2 e, at f = 1
    settings = {"kernel": SquaredExponential(25.0, 2.0), "optimise": None, "n_pseudo": 15, "batch_size": 20}
    strong = SparseGPPoissonRegressor("vb", likelihood="poisson-exp", max_time=2.0, **settings)
    with pytest.warns(ConvergenceWarning):
        strong.fit(rows[:30], np.round(1e10 * (1.0 + y[:30])), sample_weight=np.full(30, 1e6))
    assert np.isfinite(strong.log_evidence_)


@pytest.mark.parametrize("batch", [7, 20])
@pytest.mark.parametrize("inference, alpha", [("vb", 0.0), ("ep", 1.0)])
def test_the_lobe_of_a_squared_rate(inference, alpha, batch):
    """Is the prior mean's whatever the batches, as of sweeps; it was another, by thousands of nats."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.uniform(0.0, 6.0, 200))[:, None]
    rng.shuffle(rows)
    y = rng.poisson(np.exp(1.0 + 0.3 * np.sin(2.0 * rows[:, 0]))).astype(float)
    weights, kernel = np.full(200, 100.0), SquaredExponential(1.0, 0.8)
    settings = {"n_pseudo": 12, "kernel": kernel, "optimise": None, "batch_size": batch}
    found = SparseGPPoissonRegressor(inference, **settings).fit(rows, y, sample_weight=weights)
    problem = Problem(rows, y, found.likelihood_, alpha, found.mean_, 1e-6, weights=weights)
    start = first_sites(problem.likelihood, y, problem.mean, weights)
    _, swept = problem.infer(kernel, found.pseudo_inputs_, start)
    assert swept.status.converged and found.status_.converged
    assert found.log_evidence_ == pytest.approx(swept.log_evidence, abs=1e-2)
