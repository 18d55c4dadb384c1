"""The search over hyperparameters where sites or evidence misbehave."""

from dataclasses import replace

import numpy as np
import pytest

from papers import data
from tilted.gaussian import Sites
from tilted.inference import RULES
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.kernels import SquaredExponential
from tilted.learning import dense as hyperparameters
from tilted.learning import search as searching
from tilted.learning.dense import Problem, evidence_and_gradient, evidence_and_slopes, infer_at, maximise
from tilted.learning.search import Search
from tilted.likelihoods.laplace import LaplaceNoise
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.numerics.optimise import Outcome

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


@pytest.mark.parametrize("steps, rounds, climbs", [(1000, 8, 2), (2, 3, 3), (2, 1, 1)])
def test_a_search_is_repeated_while_that_gains(toy, monkeypatch, steps, rounds, climbs):
    """A whole climb once more, in vain; climbs cut short until the rounds are used up."""
    problem, starts, values, lbfgs = Problem(*toy, Probit(), EP), [], [], searching.lbfgs

    def counted(objective, x0, *rest):
        def noted(x):
            value, slope = objective(x)
            values.append(-value)
            return value, slope

        starts.append(len(values))
        return lbfgs(noted, x0, *rest)

    monkeypatch.setattr(searching, "lbfgs", counted)
    search = replace(LOG, max_iterations=steps, rounds=rounds)
    found = maximise(problem, SquaredExponential(1e-3, 20.0), search)
    assert len(starts) == climbs and found.inference.log_evidence == max(values)
    ends = [max(values[:place]) for place in starts[1:]]
    assert [values[place] for place in starts[1:]] == pytest.approx(ends)  # each from the best so far


def test_a_further_climb_in_vain_leaves_the_verdict_of_the_best(toy, monkeypatch):
    """The line search of a second climb may find nothing where the first has met its tolerance."""
    problem, lbfgs = Problem(*toy, Probit(), EP), searching.lbfgs
    free, climbs = maximise(problem, SquaredExponential()), []

    def once(objective, x0, *rest):
        climbs.append(x0)
        if len(climbs) == 1:
            return lbfgs(objective, x0, *rest)
        return Outcome(x0, *objective(x0), 1, False, "line search found no better point")

    monkeypatch.setattr(searching, "lbfgs", once)
    found = maximise(problem, SquaredExponential(), Search(rounds=3, warm=False))
    assert len(climbs) == 2
    assert found.status.converged and found.status.message == free.status.message


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


def test_no_posterior_at_a_trial_point_is_a_wall_and_at_the_first_an_error(toy, monkeypatch):
    problem = Problem(*toy, Probit(), EP)
    limit = 0.5 * maximise(problem, SquaredExponential()).kernel.variance

    def improper(problem, kernel, start=None, gradient="exact"):
        if kernel.variance > limit:
            raise NotPositiveDefinite("posterior", 1, 30)
        return evidence_and_gradient(problem, kernel, start, gradient)

    monkeypatch.setattr(hyperparameters, "evidence_and_gradient", improper)
    found = maximise(problem, SquaredExponential(0.1 * limit))
    assert "without a posterior" in found.status.message and found.kernel.variance <= limit
    with pytest.raises(NotPositiveDefinite):
        maximise(problem, SquaredExponential(2.0 * limit))


def test_a_start_without_evidence_is_no_convergence():
    """Mining as described, from a lengthscale of one year: an improper cavity at the first evaluation."""
    part = data.split(data.load("coal", "as-described"), "thinned-events", 8, standardise=False)
    problem = Problem(
        part.X_train, part.y_train, PoissonSquare(), EP, 0.0, Options(stop="site-rms", tolerance=1e-6)
    )
    start = Sites(np.ones(len(problem.y)), np.sqrt(problem.y + 0.5))
    found = maximise(problem, SquaredExponential(), Search(rounds=3), start)
    assert not found.status.converged and "no finite evidence at the starting point" in found.status.message
    assert "improper cavity" in found.status.message
    longer = maximise(problem, SquaredExponential(1.0, 10.0), Search(warm=False), start)
    assert longer.status.converged


def test_without_an_evidence_there_is_no_gradient():
    part = data.split(data.load("coal", "as-described"), "thinned-events", 8, standardise=False)
    problem = Problem(part.X_train, part.y_train, PoissonSquare(), EP, 0.0, Options(max_sweeps=20))
    start = Sites(np.ones(len(problem.y)), np.sqrt(problem.y + 0.5))
    found, gradient = evidence_and_gradient(problem, SquaredExponential(), start)
    assert found.log_evidence == -np.inf
    assert gradient.shape == (2,) and np.all(np.isnan(gradient))
    _, slopes = evidence_and_slopes(problem, SquaredExponential(), start)
    assert np.isnan(slopes.by_mean)


@pytest.mark.parametrize("transform", ["softplus", "log"])
def test_a_search_that_stays_at_the_lower_bound_says_so(transform, toy):
    """Labels that the inputs do not explain, from the smallest variance: nothing to climb."""
    problem = Problem(toy[0], np.where(np.arange(30) % 2, 1.0, -1.0), Probit(), EP)
    bound, inside = (maximise(problem, SquaredExponential(v), Search(transform)) for v in (1e-15, 1e-10))
    assert "a parameter is at its lower bound of 1e-15" in bound.status.message
    assert "lower bound" not in inside.status.message
    for found in (bound, inside):
        assert found.inference.log_evidence == pytest.approx(-30 * np.log(2.0), abs=1e-8)


@pytest.mark.parametrize("transform", ["log", "softplus"])
@pytest.mark.parametrize("scale", [1e-6, 1e-9])
def test_a_search_does_not_depend_on_the_unit(scale, transform, toy):
    """A bound of 1e-15 moved the start of small targets by a thousand times: nine nats were lost."""
    X = toy[0]
    y = np.sin(2.0 * X[:, 0]) + 0.1 * np.random.default_rng(1).laplace(size=len(X))
    ends = {}
    for s in (1.0, scale):
        problem = Problem(X, s * y, LaplaceNoise(0.1 * s), EP)
        ends[s] = maximise(problem, SquaredExponential(s**2), Search(transform))
    one, other = ends[1.0], ends[scale]
    assert other.kernel.variance / scale**2 == pytest.approx(one.kernel.variance, rel=0.01)
    unit = len(y) * np.log(scale)
    assert other.inference.log_evidence + unit == pytest.approx(one.inference.log_evidence, abs=1e-3)


def test_an_evidence_of_minus_infinity_is_a_wall(toy, monkeypatch):
    """The search comes back from beyond it and ends before it, near the best value there."""
    problem, met = Problem(*toy, Probit(), EP), []
    free = maximise(problem, SquaredExponential())
    limit = 0.5 * free.kernel.variance

    def walled(problem, kernel, start=None, gradient="exact"):
        found, slope = evidence_and_gradient(problem, kernel, start, gradient)
        if kernel.variance > limit:
            met.append(kernel)
            return replace(found, log_evidence=-np.inf), slope
        return found, slope

    monkeypatch.setattr(hyperparameters, "evidence_and_gradient", walled)
    found = maximise(problem, SquaredExponential(0.1 * limit, free.kernel.lengthscale))
    assert met and 0.5 * limit < found.kernel.variance <= limit
    assert np.isfinite(found.inference.log_evidence)


def test_a_gradient_that_is_no_number_is_a_wall(toy, monkeypatch):
    """The optimum lies before it and is found; L-BFGS-B would call the first such point converged."""
    problem, met = Problem(*toy, Probit(), EP), []
    free = maximise(problem, SquaredExponential())

    def undefined(problem, kernel, start=None, gradient="exact"):
        found, slope = evidence_and_gradient(problem, kernel, start, gradient)
        if kernel.variance > 1.2 * free.kernel.variance:
            met.append(kernel)
            return found, np.full_like(slope, np.nan)
        return found, slope

    monkeypatch.setattr(hyperparameters, "evidence_and_gradient", undefined)
    found = maximise(problem, SquaredExponential(0.05 * free.kernel.variance))
    assert met and found.status.converged
    assert found.kernel.parameters() == pytest.approx(free.kernel.parameters(), rel=1e-3)


def test_parameters_that_overflow_are_a_wall(toy, monkeypatch):
    problem = Problem(*toy, Probit(), EP)
    limit = 0.5 * maximise(problem, SquaredExponential()).kernel.variance

    def overflowing(problem, kernel, start=None, gradient="exact"):
        if kernel.variance > limit:
            return kernel.with_parameters(np.array([np.inf, 1.0]))
        return evidence_and_gradient(problem, kernel, start, gradient)

    monkeypatch.setattr(hyperparameters, "evidence_and_gradient", overflowing)
    found = maximise(problem, SquaredExponential(0.1 * limit))
    assert "must be finite and positive, got inf" in found.status.message
    assert found.status.evaluations > 3 and np.isfinite(found.inference.log_evidence)


def test_a_best_point_where_no_search_ended_is_no_convergence(toy, monkeypatch):
    """The sites do not converge near the optimum; the best point whose sites do is not one."""
    problem = Problem(*toy, Probit(), EP)
    limit = 0.5 * maximise(problem, SquaredExponential()).kernel.variance

    def unsettled(problem, kernel, start=None, gradient="exact"):
        found, slope = evidence_and_gradient(problem, kernel, start, gradient)
        settled = found.status.converged and kernel.variance < limit
        return replace(found, status=replace(found.status, converged=settled)), slope

    monkeypatch.setattr(hyperparameters, "evidence_and_gradient", unsettled)
    found = maximise(problem, SquaredExponential(0.1 * limit))
    assert found.kernel.variance < limit and found.inference.status.converged
    assert not found.status.converged


@pytest.mark.parametrize("trouble", ["nan", "unconverged", "improper"])
def test_a_ridge_is_told_from_an_inference_that_failed(trouble, toy, monkeypatch):
    X, _ = toy
    problem, kernel = Problem(X, np.sign(X[:, 0]), Probit(), EP), SquaredExponential(1e6, 3.0)
    found = infer_at(problem, kernel)
    assert "flat ridge" in hyperparameters.flat_ridge(problem, kernel, found)

    def failing(problem, kernel, start=None):
        if trouble == "improper":
            raise NotPositiveDefinite("posterior", 1, 30)
        if trouble == "nan":
            return replace(found, log_evidence=np.nan)
        return replace(found, status=replace(found.status, converged=False))

    monkeypatch.setattr(hyperparameters, "infer_at", failing)
    assert hyperparameters.flat_ridge(problem, kernel, found) == ""


@pytest.mark.parametrize("variance", [100.0, 1000.0])
def test_a_slope_is_no_ridge(variance, toy):
    """Labels that overlap: the evidence falls as the variance doubles, by 1.1 and 0.2."""
    problem, kernel = Problem(*toy, Probit(), EP), SquaredExponential(variance, 1.0)
    found, steeper = infer_at(problem, kernel), infer_at(problem, SquaredExponential(2.0 * variance, 1.0))
    assert found.log_evidence - steeper.log_evidence > 0.2
    assert hyperparameters.flat_ridge(problem, kernel, found) == ""
