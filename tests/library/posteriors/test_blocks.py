"""The chain of blocks: equal to dense inference with all neighbours, near to it with some, never repaired."""

from dataclasses import replace

import numpy as np
import pytest

from tilted.gaussian import Sites
from tilted.inference import RULES
from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.kernels import Matern, SquaredExponential, White
from tilted.learning.blocks import BlockProblem, neighbouring_rows, with_enough_neighbours
from tilted.learning.dense import Problem, Tuned, evidence_and_slopes, infer_at
from tilted.likelihoods.exponential_link import PoissonRates
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.probit import Probit
from tilted.likelihoods.student_t import StudentT
from tilted.posteriors import blocks
from tilted.posteriors.blocks import Blocks, TooFewNeighbours, nearest_rows, regions_of
from tilted.posteriors.dense import Dense

N = 60
RNG = np.random.default_rng(3)
X = RNG.uniform(size=(N, 2))
F = 2.0 * np.sin(9.0 * X[:, 0]) + np.cos(11.0 * X[:, 1])
KERNEL = SquaredExponential(1.5, (0.2, 0.3))
NOISE = RNG.standard_normal(N)
CASES = {
    "probit, EP": (Probit(), np.sign(F + NOISE), "ep", 0.2),
    "probit, power EP": (Probit(), np.sign(F + NOISE), power_rule(0.5), 0.0),
    "probit, VB": (Probit(), np.sign(F + NOISE), "vb", 0.0),
    "counts, EP": (PoissonRates(), RNG.poisson(np.exp(0.5 * F)).astype(float), "ep", 0.3),
    "Gaussian noise": (GaussianNoise(0.3), F + NOISE, "ep", -0.4),
    "negative sites": (StudentT(0.15), F + np.where(np.arange(N) % 9, 0.1, 4.0) * NOISE, "vb", 0.0),
}
CLOSELY = Options(tolerance=1e-9, fallback=False)


def rule_of(method):
    return RULES[method] if isinstance(method, str) else method


@pytest.mark.parametrize("size", [12, N], ids=["five blocks", "one block"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_with_all_neighbours_it_is_the_dense_posterior(case, size):
    likelihood, y, method, mean = case
    chain = Blocks.build(KERNEL, X, mean, size=size, neighbours=2 * N)
    dense = Dense.build(KERNEL.matrix(X), mean)
    ours, exact = (infer(prior, likelihood, y, rule_of(method), CLOSELY) for prior in (chain, dense))
    assert len(chain.regions) == (1 if size == N else 8)
    assert ours.status.converged and exact.status.converged
    assert (ours.status.negative_sites > 0) == isinstance(likelihood, StudentT)
    assert ours.log_evidence == pytest.approx(exact.log_evidence, abs=1e-6)
    np.testing.assert_allclose(ours.state.marginals.mean, exact.state.marginals.mean, atol=1e-6)
    np.testing.assert_allclose(ours.state.marginals.variance, exact.state.marginals.variance, atol=1e-6)
    Xs = RNG.uniform(-0.2, 1.2, size=(9, 2))
    cross = KERNEL.matrix(Xs, X)
    expected = exact.state.predict(cross, KERNEL.diagonal(Xs), mean)
    for numbers, answer in zip(chain.predict(ours.state, Xs, mean), expected, strict=True):
        np.testing.assert_allclose(numbers, answer, atol=1e-6)
    joint_mean, joint = chain.joint(ours.state, Xs, mean)
    np.testing.assert_allclose(joint_mean, expected[0], atol=1e-6)
    np.testing.assert_allclose(joint, exact.state.covariance(cross, KERNEL.matrix(Xs)), atol=1e-6)


def test_gaussian_noise_is_exact_regression():
    y, noise = F + NOISE, 0.3
    chain = Blocks.build(KERNEL, X, 0.1, size=15, neighbours=N)
    inference = infer(chain, GaussianNoise(noise), y, RULES["ep"], CLOSELY)
    C = KERNEL.matrix(X) + noise * np.eye(N)
    solved = np.linalg.solve(C, y - 0.1)
    exact = -0.5 * ((y - 0.1) @ solved + np.linalg.slogdet(C)[1] + N * np.log(2.0 * np.pi))
    assert inference.log_evidence == pytest.approx(exact, abs=1e-6)
    np.testing.assert_allclose(inference.state.marginals.mean, 0.1 + KERNEL.matrix(X) @ solved, atol=1e-6)


def test_strong_sites_far_from_zero_keep_the_digits_of_the_evidence():
    """Regions anchor strong sites at means of their own, the evidence all of them at the marginals' means."""
    y = 1e5 + F
    chain = Blocks.build(KERNEL, X, 1e5, size=15, neighbours=40)
    near = infer(Blocks.build(KERNEL, X, 0.0, size=15, neighbours=40), GaussianNoise(0.3), F, RULES["ep"])
    assert infer(chain, GaussianNoise(0.3), y, RULES["ep"]).log_evidence == pytest.approx(
        near.log_evidence, abs=1e-6
    )


def gradients(problem, kernel):
    """The slopes of the evidence, and central differences of it, in log parameters and the mean."""
    inference, slopes = evidence_and_slopes(problem, kernel)
    assert inference.status.converged
    at, h = np.log(kernel.parameters()), 1e-4

    def value(log_parameters, mean):
        there = kernel.with_parameters(np.exp(log_parameters))
        return infer_at(replace(problem, mean=mean), there).log_evidence

    steps = h * np.eye(len(at))
    mean = problem.mean
    numeric = [(value(at + e, mean) - value(at - e, mean)) / (2 * h) for e in steps]
    by_mean = (value(at, mean + h) - value(at, mean - h)) / (2 * h)
    return np.append(slopes.by_kernel * np.exp(at), slopes.by_mean), np.append(numeric, by_mean)


@pytest.mark.parametrize("kernel", [KERNEL, Matern(1.2, 0.2) + White(0.1)], ids=["ARD", "a sum"])
@pytest.mark.parametrize("name", ["probit, EP", "probit, VB", "counts, EP", "negative sites"])
def test_the_gradient_is_that_of_the_evidence(name, kernel):
    likelihood, y, method, mean = CASES[name]
    options = Options(tolerance=1e-10, fallback=False)
    problem = BlockProblem(X, y, likelihood, rule_of(method), mean, options, size=15, neighbours=45)
    ours, numeric = gradients(problem.divided(KERNEL), kernel)
    np.testing.assert_allclose(ours, numeric, rtol=1e-6, atol=1e-6 * np.max(np.abs(numeric)))


@pytest.fixture(scope="module")
def rough():
    """Binary labels of a rough function: X [1200, 2], y [1200], kernel."""
    rng = np.random.default_rng(1)
    inputs, kernel = rng.uniform(size=(1200, 2)), SquaredExponential(2.0, 0.06)
    K = kernel.matrix(inputs)
    f = np.linalg.cholesky(K + 1e-8 * np.eye(1200)) @ rng.standard_normal(1200)
    return inputs, np.sign(f + rng.standard_normal(1200)), kernel


def test_with_few_neighbours_it_is_near_the_dense_posterior(rough):
    inputs, y, kernel = rough
    options = Options(tolerance=1e-4, fallback=False)
    priors = Blocks.build(kernel, inputs), Dense.build(kernel.matrix(inputs))
    ours, exact = (infer(prior, Probit(), y, RULES["ep"], options) for prior in priors)
    assert ours.log_evidence == pytest.approx(exact.log_evidence, abs=1.0)
    marginals = exact.state.marginals
    errors = (ours.state.marginals.mean - marginals.mean) / np.sqrt(marginals.variance)
    assert np.sqrt(np.mean(errors**2)) < 0.05


def test_repeated_and_clustered_inputs(rough):
    rng = np.random.default_rng(5)
    centres = rng.uniform(size=(6, 2))
    inputs = np.repeat(centres, 25, axis=0) + 0.02 * rng.standard_normal((150, 2))
    inputs = np.concatenate([inputs, inputs[:40]])  # rows that are repeated
    y = np.sign(np.sin(20.0 * inputs[:, 0]) + 0.5 * rng.standard_normal(190))
    kernel = SquaredExponential(1.5, 0.1)
    priors = Blocks.build(kernel, inputs, neighbours=110), Dense.build(kernel.matrix(inputs))
    ours, exact = (infer(prior, Probit(), y, RULES["ep"], CLOSELY) for prior in priors)
    assert ours.log_evidence == pytest.approx(exact.log_evidence, abs=0.1)


def test_every_row_is_in_one_block_and_neighbours_come_before():
    regions = regions_of(X, 10, 7)
    order = np.concatenate([region.block for region in regions])
    assert sorted(order) == list(range(N))
    assert max(len(region.block) for region in regions) <= 10
    place = np.empty(N, dtype=int)
    place[order] = np.arange(N)
    assert [region.shared for region in regions] == [0, *[7] * (len(regions) - 1)]
    for region in regions[1:]:
        assert np.max(place[region.rows[: region.shared]]) < np.min(place[region.block])


def test_the_nearest_rows_are_those_that_are_nearest_to_the_box():
    line = np.arange(10.0)[:, None]
    np.testing.assert_array_equal(nearest_rows(line, line[[3, 5]], 5), [2, 3, 4, 5, 6])
    np.testing.assert_array_equal(nearest_rows(line, line[[3]], 2, np.array([0, 7, 8, 9])), [0, 7])
    np.testing.assert_array_equal(nearest_rows(line, line[[3]], 99), np.arange(10))
    np.testing.assert_array_equal(neighbouring_rows(line, 3), [3, 4, 5])


def test_matrices_that_are_not_stored_give_the_same(monkeypatch):
    likelihood, y, method, mean = CASES["probit, EP"]
    sites = Sites(np.full(N, 0.5), 0.3 * y)
    stored = Blocks.build(KERNEL, X, mean, 15, 20)
    first, slope = stored.condition(sites), stored.evidence_gradient(stored.condition(sites))
    monkeypatch.setattr(blocks, "MOST_KEPT", 0)
    anew = Blocks.build(KERNEL, X, mean, 15, 20)
    assert anew.matrices is None and stored.matrices is not None
    assert anew.condition(sites).log_normaliser == first.log_normaliser
    np.testing.assert_array_equal(anew.evidence_gradient(first)[0], slope[0])


SMOOTH = SquaredExponential(2.0, 0.8)


def test_variances_that_are_not_positive_are_refused_and_neighbours_doubled():
    likelihood, y, method, _ = CASES["Gaussian noise"]
    likelihood = GaussianNoise(0.01)
    problem = BlockProblem(X, y, likelihood, RULES["ep"], 0.0, CLOSELY, size=10, neighbours=3)
    with pytest.raises(TooFewNeighbours, match="variances are not positive with 3 neighbours"):
        infer_at(problem.divided(SMOOTH), SMOOTH)
    found, tuned = with_enough_neighbours(problem, SMOOTH, None, None)
    assert found.neighbours > 3 and found.neighbours in (6, 12, 24, 48, 96)
    assert f"8 blocks with {found.neighbours} neighbours, raised from 3" in tuned.status.message
    dense = infer_at(Problem(X, y, likelihood, RULES["ep"]), SMOOTH)
    assert tuned.inference.log_evidence == pytest.approx(dense.log_evidence, abs=1.0)


def test_at_the_limit_of_neighbours_the_error_says_so(monkeypatch):
    monkeypatch.setattr("tilted.learning.blocks.MOST_NEIGHBOURS", 3)
    y = CASES["Gaussian noise"][1]
    problem = BlockProblem(X, y, GaussianNoise(0.01), RULES["ep"], 0.0, CLOSELY, size=10, neighbours=2)
    with pytest.raises(ArithmeticError, match="with 3 neighbours, the limit"):
        with_enough_neighbours(problem, SMOOTH, None, None)


def test_after_the_deadline_no_more_neighbours_are_tried():
    late = replace(CLOSELY, deadline=0.0)
    y = CASES["Gaussian noise"][1]
    problem = BlockProblem(X, y, GaussianNoise(0.01), RULES["ep"], 0.0, late, size=10, neighbours=3)
    with pytest.raises(ArithmeticError, match="the time for more is up"):
        with_enough_neighbours(problem, SMOOTH, Sites(np.full(N, 100.0), 100.0 * y), None)


def test_a_search_that_variances_ended_is_repeated_with_more_neighbours():
    likelihood, y, method, mean = CASES["probit, EP"]
    problem = BlockProblem(X, y, likelihood, RULES["ep"], mean, CLOSELY, size=10, neighbours=30)
    searches = []

    def search(divided, kernel, sites):
        searches.append(divided.neighbours)
        inference = infer_at(divided, kernel, sites)
        status = inference.status
        if len(searches) == 1:
            divided.refused.append(1)
            status = replace(status, converged=False)
        longer = kernel.with_parameters(kernel.parameters() * [1.0, 1.0, 2.0 if len(searches) == 2 else 1.0])
        return Tuned(divided, longer, inference, status)

    found, tuned = with_enough_neighbours(problem, KERNEL, None, search)
    assert searches == [30, 60, 60]  # the last in blocks by the new lengthscales
    assert "raised from 30" in tuned.status.message and found.neighbours == 60


def test_sequential_sweeps_are_refused():
    likelihood, y, method, mean = CASES["probit, EP"]
    with pytest.raises(ValueError, match="parallel sweeps only"):
        infer(Blocks.build(KERNEL, X), likelihood, y, RULES["ep"], Options(schedule="sequential"))


def test_a_joint_covariance_of_too_many_rows_is_refused(monkeypatch):
    monkeypatch.setattr(blocks, "MOST_JOINT", 20)
    chain = Blocks.build(KERNEL, X, size=10, neighbours=5)
    state = chain.condition(Sites(np.full(N, 0.5), np.zeros(N)))
    assert chain.joint(state, X[:1])[1].shape == (1, 1)
    with pytest.raises(ValueError, match="more than 20 training rows"):
        chain.joint(state, X)
