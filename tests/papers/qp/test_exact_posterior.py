"""The experiment that sets EP, QP and VB beside the exact posterior."""

import json

import numpy as np
import pytest

from papers import data
from papers.qp import fits as qp
from papers.qp.accuracy import exact_posterior as truth
from papers.qp.accuracy import weighted_draws
from papers.qp.accuracy.approximations import approximated
from papers.qp.accuracy.records import TRUTH, TRUTH_LATENTS, rows_of_truth
from tilted.kernels import SquaredExponential

SMALL = truth.Effort(chains=32, iterations=400, runs=128, share=0.97)
KERNELS = {"wine13": SquaredExponential(30.0, 5.0), "coal": SquaredExponential(0.26, 18.0)}


@pytest.fixture(scope="module", params=KERNELS)
def case(request):
    dataset = data.load(request.param, "as-released")
    return dataset, truth.run(dataset, SMALL, KERNELS[request.param])


def without_times(record):
    return {**record, "seconds": 0, "details": {**record["details"], "seconds": None}}


def test_a_record_is_complete_and_has_no_nan(case):
    dataset, record = case
    json.dumps(record, allow_nan=False)
    assert record["variance"] == KERNELS[dataset.name].variance
    rows = list(rows_of_truth({**record, "run": "r"}))
    assert [study for study, _ in rows] == [TRUTH] + [TRUTH_LATENTS] * (
        record["n_latents"] + record["n_test"]
    )
    assert set(rows[0][1]) == {*TRUTH.types} and set(rows[-1][1]) == {*TRUTH_LATENTS.types}
    details = record["details"]
    assert all(details[part]["r_hat_max"] < 1.1 for part in truth.SUBSETS)
    assert details["sampler"]["stuck"] == details["annealing"]["stuck"] == 0
    assert ("mirror" in details) == (dataset.name == "coal")


def test_methods_are_those_of_the_table(case):
    """Against the records of the paper's experiment at the same hyperparameters."""
    dataset, record = case
    for method in ("ep", "qp", "vb"):
        start = {"hyperparameters": {"variance": 1.0, "lengthscale": 1.0}} if method == "qp" else None
        cell = qp.run_fold(dataset, "as-released", method, 0, 0, start, KERNELS[dataset.name])[-1]
        test = record["latents"]["test"]
        assert record[f"log_evidence_{method}"] == pytest.approx(cell["log_evidence"], abs=1e-9)
        np.testing.assert_allclose(test[f"mean_{method}"], cell["latent_mean"], rtol=1e-6)
        np.testing.assert_allclose(test[f"variance_{method}"], cell["latent_variance"], rtol=1e-6)
        np.testing.assert_allclose(test[f"log_density_{method}"], cell["test_log_density"], rtol=1e-6)


def test_truth_and_ep_agree_roughly(case):
    """EP is good on both; the sampler that disagreed by more would be wrong."""
    _, record = case
    for columns in record["latents"].values():
        sd = np.sqrt(columns["variance"])
        np.testing.assert_array_less(np.abs(np.subtract(columns["mean"], columns["mean_ep"])), 0.3 * sd)
        np.testing.assert_allclose(columns["variance"], columns["variance_ep"], rtol=0.5)
    near = 0.3 + 4 * record["se_log_evidence"]
    assert record["log_evidence"] == pytest.approx(record["log_evidence_ep"], abs=near)
    np.testing.assert_allclose(columns["log_density"], columns["log_density_ep"], atol=0.1)


@pytest.mark.parametrize("case", ["coal"], indirect=True)
def test_the_mirrored_mode_of_counts_is_reported(case):
    mirror = case[1]["details"]["mirror"]
    assert mirror["log_odds"] < -20
    assert mirror["r_hat_both_signs"] > 1.5 and mirror["ended_at_other_sign"] == 16


def test_the_seed_decides_everything_by_streams_that_share_nothing(case, monkeypatch):
    """Sampler, annealing and the mirrored mode: each has numbers of its own."""
    dataset, record = case
    streams = []

    def watched(function):
        def call(reference, rng, *rest, **more):
            seeds = rng.bit_generator.seed_seq
            streams.append((seeds.entropy, seeds.spawn_key, function.__name__))
            return function(reference, rng, *rest, **more)

        return call

    for name in ("sample", "schedule", "anneal"):
        monkeypatch.setattr(truth, name, watched(getattr(truth, name)))
    again = truth.run(dataset, SMALL, KERNELS[dataset.name])
    assert without_times(again) == without_times(record)
    expected = [(0, (0,), "sample"), (0, (1,), "schedule"), (0, (1,), "anneal")]
    if "mirror" in record["details"]:
        expected += [(0, (2,), "schedule"), (0, (2,), "anneal"), (0, (2,), "sample")]
    assert streams == expected


def test_by_default_the_hyperparameters_are_those_of_eps_first_tuning():
    dataset = data.load("wine13", "as-released")
    first = qp.run_fold(dataset, "as-released", "ep", 0, 3)[0]
    assert first["method"] == "ep-tune"
    kernel = truth.tuned_kernel(dataset, 0, 3)
    assert kernel == SquaredExponential(**first["hyperparameters"])


def test_a_failed_inference_ends_the_job_with_its_reason(monkeypatch):
    dataset = data.load("wine13", "as-released")
    failed = {"hyperparameters": None, "status": {"message": "failed: no reason"}}
    monkeypatch.setattr(qp, "run_fold", lambda *_: [failed])
    with pytest.raises(ArithmeticError, match="failed: no reason"):
        truth.run(dataset, SMALL)


@pytest.mark.parametrize(
    ("iterations", "draws"), [(500, 20_000), pytest.param(4000, 100_000, marks=pytest.mark.slow)]
)
def test_draws_agree_with_chains(iterations, draws):
    """Two samplers that share nothing but the model: on every latent, on densities and on the evidence."""
    dataset, kernel = data.load("wine13", "as-released"), KERNELS["wine13"]
    chains = truth.run(dataset, truth.Effort(chains=64, iterations=iterations, runs=2048), kernel, fold=3)
    drawn = truth.run(dataset, draws, kernel, fold=3)
    json.dumps(drawn, allow_nan=False)
    assert set(drawn) == set(chains) and drawn["details"]["annealing"] is None
    z = [(chains["log_evidence"] - drawn["log_evidence"]) / drawn["se_log_evidence"]]
    for part in truth.SUBSETS:
        one, other = (record["latents"][part] for record in (chains, drawn))
        assert list(one) == list(other) and one["mean_qp"] == other["mean_qp"]
        for name in ("mean", "variance", "log_density"):
            if name in one:
                gap = np.subtract(one[name], other[name])
                z.extend(gap / np.hypot(one[f"se_{name}"], other[f"se_{name}"]))
    assert np.max(np.abs(z)) < 4.5 and 0.3 < np.sqrt(np.mean(np.square(z))) < 1.6
    assert drawn["details"]["sampler"]["effective"] > draws / 10
    assert drawn["se_log_evidence"] < 0.02 * np.sqrt(100_000 / draws)
    assert drawn["details"]["train"]["r_hat_max"] is None


def test_errors_of_draws_are_those_of_other_draws():
    """Standard errors by the jackknife are the spread over seeds."""
    dataset = data.load("wine13", "as-released")
    points = approximated(dataset, KERNELS["wine13"], 0, 0).points
    inputs, effort = points.X_train[:5], 5000
    made = [
        weighted_draws.draw(KERNELS["wine13"], points, 0.0, inputs, effort, np.random.default_rng(seed))
        for seed in range(40)
    ]
    for name in ("log_evidence", "mean", "variance", "log_density"):
        found = [getattr(each, name) for each in made]
        spread = np.std([each.value for each in found], axis=0, ddof=1)
        said = np.sqrt(np.mean([each.error**2 for each in found], axis=0))
        assert np.mean(said / spread) == pytest.approx(1.0, abs=0.2), name


def test_draws_are_of_labels():
    with pytest.raises(ValueError, match="probit"):
        truth.run(data.load("coal", "as-released"), 1000, KERNELS["coal"])
