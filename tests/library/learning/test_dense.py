"""The search over hyperparameters where sites or evidence misbehave; extrapolated warm starts; priors."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from papers import data
from tests.helpers import differences
from tilted import GPClassifier, GPRegressor, SparseGPClassifier, SparseGPRegressor
from tilted.estimators.joint import PerClass
from tilted.gaussian import Sites
from tilted.inference import RULES
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.kernels import Active, Constant, Matern, Restricted, SquaredExponential
from tilted.learning import dense as hyperparameters
from tilted.learning.dense import Problem, evidence_and_gradient, infer_at, maximise
from tilted.learning.priors import LogNormal
from tilted.learning.search import Search
from tilted.learning.warmstarts import WarmStarts
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.numerics.chunks import among_sorted
from tilted.numerics.linalg import NotPositiveDefinite

LOG = Search("log", relative_tolerance=1e-10, gradient_tolerance=1e-6, warm=False, rounds=8)


def counts(seed):
    """Mining, thinned: events, not years, for training; years standardised."""
    part = data.split(data.load("coal", "corrected"), "thinned-events", seed, standardise=True)
    return Problem(part.X_train, part.y_train, PoissonSquare(), EP, 1.0, Options())


def slope(problem, found, start):
    """Gradient of the log evidence in the logarithms of the parameters, from the caller's sites."""
    _, gradient = evidence_and_gradient(problem, found.kernel, start)
    return gradient * found.kernel.parameters()


@pytest.mark.parametrize("seed", [1, 3, 7, 34])
def test_a_cold_search_ends_where_its_evidence_is_stationary(seed):
    """Warm ones end on one branch of fixed points with the evidence of another, some 4 nats lower."""
    problem = counts(seed)
    start = Sites(np.ones(len(problem.y)), np.sqrt(problem.y + 0.5))
    found = maximise(problem, SquaredExponential(), LOG, start)
    assert found.status.converged and np.max(np.abs(slope(problem, found, start))) < 1e-4
    assert infer_at(problem, found.kernel, start).log_evidence == pytest.approx(found.inference.log_evidence)
    qp = infer_at(replace(problem, rule=RULES["qp"]), found.kernel, start)  # in the same mode
    assert qp.log_evidence == pytest.approx(found.inference.log_evidence, abs=1e-3)


def test_a_search_that_ends_well_on_sites_that_did_not_converge_has_not(toy):
    """A tolerance that the start meets: only the number of sweeps differs."""
    search = Search(gradient_tolerance=1e9)
    for sweeps, converged, said in ((1, False, "without a sound"), (100, True, "CONVERGENCE")):
        problem = Problem(*toy, Probit(), EP, options=Options(max_sweeps=sweeps, newton=False))
        found = maximise(problem, SquaredExponential(), search)
        assert found.status.converged is found.inference.status.converged is converged
        assert said in found.status.message


def test_sites_that_lead_nowhere_are_dropped(toy, monkeypatch):
    """Inference from any sites but the caller's fails; the search ends where it would have."""
    problem = Problem(*toy, Probit(), EP)
    free, tried, swept = maximise(problem, SquaredExponential()), [], []

    def fragile(problem, kernel, start=None, gradient="exact"):
        found, slope = evidence_and_gradient(problem, kernel, None, gradient)
        tried.append(start)
        if start is not None and len(tried) % 4:
            raise NotPositiveDefinite("posterior", 1, 30)
        swept.append(found.status.sweeps)
        return (
            found if start is None else replace(found, status=replace(found.status, converged=False))
        ), slope

    monkeypatch.setattr(hyperparameters, "evidence_and_gradient", fragile)
    found = maximise(problem, SquaredExponential())
    assert found.status.converged and "started again from the first sites" in found.status.message
    assert found.kernel.parameters() == pytest.approx(free.kernel.parameters(), rel=1e-3)
    assert found.status.evaluations == sum(start is None for start in tried)
    assert found.status.sweeps == sum(swept)  # those from sites that were dropped as well


@pytest.mark.parametrize("transform", ["softplus", "log"])
def test_a_search_that_stays_at_the_lower_bound_says_so(transform, toy):
    """Labels that the inputs do not explain, from the smallest variance: nothing to climb."""
    problem = Problem(toy[0], np.where(np.arange(30) % 2, 1.0, -1.0), Probit(), EP)
    bound, inside = (maximise(problem, SquaredExponential(v), Search(transform)) for v in (1e-15, 1e-10))
    assert "a parameter is at its lower bound of 1e-15" in bound.status.message
    assert "lower bound" not in inside.status.message
    for found in (bound, inside):
        assert found.inference.log_evidence == pytest.approx(-30 * np.log(2.0), abs=1e-8)


@pytest.mark.parametrize("variance", [100.0, 1000.0])
def test_a_slope_is_no_ridge(variance, toy):
    """Labels that overlap: the evidence falls as the variance doubles, by 1.1 and 0.2."""
    problem, kernel = Problem(*toy, Probit(), EP), SquaredExponential(variance, 1.0)
    found, steeper = infer_at(problem, kernel), infer_at(problem, SquaredExponential(2.0 * variance, 1.0))
    assert found.log_evidence - steeper.log_evidence > 0.2
    assert hyperparameters.flat_ridge(problem, kernel, found) == ""


def log_linear(parameters):
    """Sites whose coordinates are linear in the log parameters."""
    u = np.log(parameters)
    tau = np.exp(np.array([0.3, -1.0]) + np.array([[0.2, -0.1], [0.4, 0.3]]) @ u)
    return Sites(tau, np.sqrt(tau) * (np.array([1.0, -2.0]) + np.array([[0.1, 0.2], [-0.3, 0.1]]) @ u))


def test_learns_a_log_linear_dependence():
    starts = WarmStarts(extrapolate=True)
    assert starts.sites(np.array([1.0, 1.0])) is None
    for point in ([1.0, 1.0], [1.5, 1.0], [1.5, 1.4]):
        starts.record(np.array(point), log_linear(point))
    expected, found = log_linear([2.0, 1.1]), starts.sites(np.array([2.0, 1.1]))
    np.testing.assert_allclose(found.tau, expected.tau, rtol=1e-12)
    np.testing.assert_allclose(found.nu, expected.nu, rtol=1e-12)


def test_starts_at_the_nearest_point_and_forgets_far_ones():
    starts = WarmStarts(extrapolate=True)
    near, far = np.array([1.0, 1.0]), np.array([1e-15, 1e-15])
    starts.record(near, log_linear(near))
    starts.record(far, Sites(np.ones(2), np.zeros(2)))
    np.testing.assert_allclose(starts.sites(1.01 * near).tau, log_linear(near).tau)
    assert not np.any(starts.slope)


def test_a_prediction_reaches_no_further_than_its_limit():
    starts = WarmStarts(extrapolate=True)
    one = np.array([1.0])
    starts.record(one, Sites(np.array([1.0]), np.array([1.0])))
    starts.record(2 * one, Sites(np.array([3.0]), np.array([1.0])))
    assert starts.sites(100 * one).tau[0] == pytest.approx(3.0 * np.e)


def test_negative_precisions_are_not_extrapolated():
    starts = WarmStarts(extrapolate=True)
    sites = Sites(np.array([-1.0]), np.array([0.5]))
    starts.record(np.array([1.0]), sites)
    assert starts.sites(np.array([2.0])) is sites


def test_without_extrapolation_the_last_sites_come_back():
    starts = WarmStarts(extrapolate=False)
    for point in ([1.0, 1.0], [2.0, 1.0]):
        starts.record(np.array(point), log_linear(point))
    np.testing.assert_array_equal(starts.sites(np.array([1.0, 1.0])).tau, log_linear([2.0, 1.0]).tau)


@pytest.mark.parametrize("method", ["ep", "vb"])
def test_a_search_ends_where_cold_inference_agrees(method, toy):
    """Its last sites are a fixed point of their own, however they were found."""
    X, y = toy
    problem = Problem(X, y, Probit(), RULES[method])
    found = maximise(problem, SquaredExponential(1.0, 1.0))
    cold = infer_at(problem, found.kernel)
    assert cold.log_evidence == pytest.approx(found.inference.log_evidence, abs=1e-9)
    plain = infer_at(Problem(X, y, Probit(), RULES[method], options=Options(newton=False)), found.kernel)
    assert plain.log_evidence == pytest.approx(found.inference.log_evidence, abs=1e-9)


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


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_starts_are_looked_for_on_rows_with_the_rarer_label(sign):
    y = np.full(600, -sign)
    y[[7, 300, 599]] = sign
    rows = among_sorted(y, 100)
    assert {7, 300, 599} <= set(rows.tolist()) and 100 <= len(rows) <= 103
    y[:200] = sign  # enough of them: evenly spaced rows as they are
    assert len(among_sorted(y, 100)) == 100
