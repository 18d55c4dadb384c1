"""Corrections against the exact posterior of real data, as it was sampled and committed."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import tilted
from papers import data
from papers.qp import fits, protocols
from tilted.kernels import SquaredExponential

TRUTH = Path(__file__).resolve().parents[3] / "results" / "qp" / "truth"


def rms(values):
    return np.sqrt(np.mean(np.square(values)))


@pytest.fixture(scope="module", params=["wine13", "coal"])
def row(request, mirror):
    """The record of a row, EP on its fold, and the first five test inputs with the truth about them."""
    record = json.loads(gzip.decompress((TRUTH / f"{request.param}.json.gz").read_bytes()))
    block = protocols.block(record["protocol"], fits.task_of(record["dataset"]))
    try:
        dataset = data.load(record["dataset"], block["variant"], mirror=mirror)
    except data.DownloadError as error:
        pytest.skip(str(error))
    part = data.split(
        dataset, block["split"], record["seed"], record["fold"], standardise=block["standardise"]
    )
    kernel = SquaredExponential(**record["hyperparameters"])
    arguments = part.X_train, part.y_train, block["likelihood"]
    fit = tilted.fit(*arguments, kernel=kernel, mean=block["mean"], optimise=False)
    return record, fit, part.X_test[:5], part.y_test[:5]


def test_evidence(row):
    record, fit, _, _ = row
    exact, noise = record["truth"]["log_evidence"], record["truth"]["se_log_evidence"]
    found = fit.corrected_evidence()
    assert found.ep == pytest.approx(record["methods"]["ep"]["log_evidence"], abs=1e-6)
    assert found.trusted
    assert abs(found.value - exact) < max(0.25 * abs(found.ep - exact), 2 * noise)


@pytest.mark.parametrize(("grade", "left"), [("cheap", 0.75), ("nearly-exact", 0.1)])
def test_latents_and_predictions(row, grade, left):
    record, fit, X, y = row
    truth, n = record["truth"], len(X)
    exact = {name: np.array(values[:n]) for name, values in truth["test"].items() if isinstance(values, list)}
    mean, variance = fit.predict_latent(X)
    found = fit.corrected(X, grade)
    assert np.all(found.trusted), found.message
    noise = rms(exact["se_variance"] / exact["variance"])
    before, after = (rms(np.log(v / exact["variance"])) for v in (variance, found.variance))
    assert after < max(left * before, 2 * noise)
    log_density = np.array(truth["log_density"][:n])
    before, after = (
        rms(log_p - log_density) for log_p in (fit.log_predictive(X, y), found.log_predictive(y))
    )
    assert after < max((1.0 if grade == "cheap" else 0.25) * before, 2 * rms(truth["se_log_density"][:n]))
    if grade == "nearly-exact":
        sd = np.sqrt(exact["variance"])
        assert rms((found.mean - exact["mean"]) / sd) < max(0.3 * rms((mean - exact["mean"]) / sd), 0.01)
