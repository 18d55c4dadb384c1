"""Records of the QP paper's experiments: protocols, starts, failures."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from papers import data
from papers.data import standard
from papers.qp import fits as qp
from papers.qp import protocols
from tilted.inference import RULES
from tilted.kernels import SquaredExponential
from tilted.numerics.linalg import NotPositiveDefinite

KEYS = {
    "dataset",
    "protocol",
    "seed",
    "fold",
    "method",
    "n_train",
    "n_test",
    "hyperparameters",
    "log_evidence",
    "status",
    "test_error",
    "ntll",
    "test_log_density",
    "latent_mean",
    "latent_variance",
    "seconds",
}


LONG = {"exact", "corrected-evidence-exact"}
"""Methods that take a quarter of a minute of counts: nearly exact moments of 55 latents."""


def run(dataset, protocol, method, seed=0, fold=0, **options):
    block = protocols.block(protocol, qp.task_of(dataset))
    return qp.run_fold(data.load(dataset, block["variant"]), protocol, method, seed, fold, **options)


@pytest.mark.parametrize("protocol", protocols.names())
@pytest.mark.parametrize(
    ("dataset", "long"),
    [("wine13", True), ("coal", False), pytest.param("coal", True, marks=pytest.mark.slow)],
)
def test_every_method_of_every_protocol_gives_records(protocol, dataset, long):
    """One fold of each, in the order of their starts; ARD is cut short by its tolerance, not skipped."""
    methods = protocols.block(protocol, qp.task_of(dataset))["methods"]
    if not long:
        methods = {name: spec for name, spec in methods.items() if name not in LONG}
    found = {}
    for method, spec in methods.items():
        for record in run(dataset, protocol, method, start=found.get(spec.get("start"))):
            assert set(record) == KEYS
            json.dumps(record, allow_nan=False)
            assert record["log_evidence"] is not None, record["status"]["message"]
            assert len(record["latent_mean"]) == len(record["test_log_density"]) == record["n_test"]
            assert record["ntll"] == pytest.approx(-np.mean(record["test_log_density"]))
            found[record["method"]] = record
    assert set(methods) <= set(found)
    scales = found["ep"]["hyperparameters"]["lengthscale"]
    assert isinstance(scales, list) == (protocol == "as-described" and dataset == "wine13")


def test_as_released_qp_uses_the_first_tuning():
    tune, ep = run("wine12", "as-released", "ep")
    (record,) = run("wine12", "as-released", "qp", start=tune)
    assert (tune["method"], ep["method"]) == ("ep-tune", "ep")
    assert record["hyperparameters"] == tune["hyperparameters"]
    assert record["status"]["evaluations"] == 1
    with pytest.raises(ValueError, match="'ep-tune'"):
        run("wine12", "as-released", "qp")


def test_records_do_not_depend_on_order_or_history():
    once = run("wine13", "as-released", "ep", seed=1, fold=2)
    run("wine13", "as-released", "ep", seed=0, fold=0)
    again = run("wine13", "as-released", "ep", seed=1, fold=2)
    for a, b in zip(once, again, strict=True):
        assert {**a, "seconds": 0} == {**b, "seconds": 0}


def test_a_failed_fit_is_a_record_and_so_are_those_that_start_from_it(monkeypatch):
    def broken(*_, **__):
        raise NotPositiveDefinite("B", 3, 9)

    monkeypatch.setattr(qp, "_fit", broken)
    records = run("wine12", "as-released", "ep")
    assert [r["method"] for r in records] == ["ep-tune", "ep"]
    assert records[0]["status"]["message"] == "failed: B is not positive definite (pivot 3 of 9)"
    assert "no start, 'ep-tune' failed" in records[1]["status"]["message"]
    (record,) = run("wine12", "as-released", "qp", start=records[0])
    assert record["log_evidence"] is None and not record["status"]["converged"]
    assert "no start" in record["status"]["message"]


def test_an_infinite_density_is_a_failure_not_a_number(monkeypatch):
    from tilted.likelihoods.probit import Probit

    monkeypatch.setattr(Probit, "log_predictive", lambda *_: np.array([-np.inf]))
    records = run("wine12", "as-released", "ep")
    assert (
        "no finite evidence or test density" in records[0]["status"]["message"] and records[0]["ntll"] is None
    )


def test_fixed_hyperparameters_only_infer():
    (record,) = run("wine12", "as-released", "ep", fixed=SquaredExponential(5.0, 4.0))
    assert record["hyperparameters"] == {"variance": 5.0, "lengthscale": 4.0}
    assert record["status"]["evaluations"] == 1
    with pytest.raises(ValueError, match="cannot be fixed"):
        run("wine12", "as-released", "vb-joint", fixed=SquaredExponential())


def test_a_block_of_seeds_and_its_log(tmp_path):
    coal = data.load("coal")
    log = tmp_path / "log.txt"
    standard.write_standard(coal, tmp_path / "coal.h5")
    records = list(qp.fit_block("as-released", "coal", "vb-joint", 2, 3, str(tmp_path / "coal.h5"), str(log)))
    assert [(r["method"], r["seed"]) for r in records] == [
        (name, seed) for seed in (2, 3) for name in ("vb-joint", "vb-joint-released")
    ]
    assert "coal as-released vb-joint-released seed 3 fold 0: " in log.read_text(encoding="utf-8")


def test_protocols_are_complete_and_refuse_unknown_names():
    for protocol in protocols.names():
        for task in protocols.TASKS:
            block = protocols.block(protocol, task)
            for name, spec in block["methods"].items():
                assert spec["rule"] in RULES or spec["rule"] == "vb-joint"
                assert "start" not in spec or protocols.job_of(block["methods"], spec["start"])
                assert protocols.method(protocol, task, name) is spec
    for arguments, message in [
        (("as-dreamt", "counts"), "unknown protocol"),
        (("corrected", "ranking"), "unknown task"),
    ]:
        with pytest.raises(ValueError, match=message):
            protocols.block(*arguments)
    with pytest.raises(ValueError, match="no method 'rep' for counts; known: ep, qp"):
        protocols.method("corrected", "counts", "rep")
    with pytest.raises(ValueError, match="ep-tune"):
        protocols.method("corrected", "counts", "ep-tune")  # tuned once there


def exact_of(name, seed, fold):
    """The record of the method ``exact`` on a split, and EP's that it starts from."""
    dataset = data.load(name, "as-released")
    ep = qp.run_fold(dataset, "as-released", "ep", seed, fold)[-1]
    return qp.run_fold(dataset, "as-released", "exact", seed, fold, start=ep)[0], ep, dataset


def test_the_exact_column_is_the_exact_posterior_at_eps_hyperparameters():
    record, ep, dataset = exact_of("wine13", 0, 5)
    assert record["hyperparameters"] == ep["hyperparameters"] and record["status"]["converged"]
    cell = qp.cell_of(dataset, "as-released", "exact", 0, 5)
    fit = qp.approximate(cell, qp.kernel_at(ep["hyperparameters"]))
    found = fit.corrected(cell.points.X_test, "sampled")
    density = found.log_predictive(cell.points.y_test)
    assert record["ntll"] == pytest.approx(-density.mean()) and record["ntll"] != pytest.approx(ep["ntll"])
    assert record["log_evidence"] == pytest.approx(fit.corrected_evidence("sampled").value)
    assert record["log_evidence"] != pytest.approx(ep["log_evidence"], abs=0.01)
    np.testing.assert_allclose(record["latent_variance"], found.variance)


def at(kernel):
    """What a search takes from a record whose hyperparameters are these."""
    return {"hyperparameters": {"variance": kernel.variance, "lengthscale": kernel.lengthscale}}


def test_hyperparameters_by_the_corrected_evidence_are_where_it_is_highest(mirror):
    dataset, method = data.load("ionosphere", "as-released", mirror=str(mirror)), "corrected-evidence"
    ep = qp.run_fold(dataset, "as-released", "ep", 0, 5)[-1]
    (record,) = qp.run_fold(dataset, "as-released", method, 0, 5, start=ep)
    assert record["method"] == method and record["status"]["converged"]
    cell, learned = qp.cell_of(dataset, "as-released", method, 0, 5), qp.kernel_at(record["hyperparameters"])
    fits = {"learned": qp.approximate(cell, learned)}
    fits["EP's"] = qp.approximate(cell, qp.kernel_at(ep["hyperparameters"]))
    for sign in (-1, 1):
        for name, factor in (("variance", 1.05), ("lengthscale", 1.02)):
            beside = replace(learned, **{name: getattr(learned, name) * factor**sign})
            fits[name, sign] = qp.approximate(cell, beside)
    evidence = {key: fit.corrected_evidence().value for key, fit in fits.items()}
    assert max(evidence, key=evidence.get) == "learned" and len(set(evidence.values())) == len(evidence)
    assert max(fits, key=lambda key: fits[key].log_evidence) == "EP's"
    assert record["log_evidence"] == pytest.approx(evidence["learned"], abs=1e-8)
    density = fits["learned"].log_predictive(cell.points.X_test, cell.points.y_test)
    assert record["ntll"] == pytest.approx(-density.mean(), abs=1e-8)
    (again,) = qp.run_fold(dataset, "as-released", method, 0, 5, fixed=learned)
    for field in ("hyperparameters", "log_evidence", "ntll"):
        assert again[field] == pytest.approx(record[field], abs=1e-7)
    assert again["status"]["evaluations"] == 1 < record["status"]["evaluations"]


def test_where_the_evidence_is_not_to_be_trusted_nothing_is_learned_and_the_record_says_so(mirror):
    pima = data.load("pima", "as-released", mirror=str(mirror))
    ep = at(SquaredExponential(412401.7, 0.849))
    (record,) = qp.run_fold(pima, "as-released", "corrected-evidence", 0, 0, start=ep)
    assert record["hyperparameters"] == ep["hyperparameters"] and not record["status"]["converged"]
    assert record["status"]["message"].startswith("evidence not corrected: terms of higher cumulants are 0.3")
    fit = qp.approximate(
        qp.cell_of(pima, "as-released", "corrected-evidence", 0, 0), SquaredExponential(412401.7, 0.849)
    )
    assert record["log_evidence"] == pytest.approx(fit.log_evidence)


def test_the_exact_answer_beside_it_is_at_the_learned_hyperparameters():
    for task in protocols.TASKS:
        methods = protocols.block("as-released", task)["methods"]
        exact, there = methods["exact"], methods["corrected-evidence-exact"]
        assert there == {**exact, "start": "corrected-evidence"}
        assert methods["corrected-evidence"]["start"] == exact["start"] == "ep"
    dataset, start = data.load("wine13", "as-released"), at(SquaredExponential(26901.5, 8.43))
    (record,) = qp.run_fold(dataset, "as-released", "corrected-evidence-exact", 0, 0, start=start)
    (exact,) = qp.run_fold(dataset, "as-released", "exact", 0, 0, start=start)
    assert record["hyperparameters"] == start["hyperparameters"]
    assert record["test_log_density"] == exact["test_log_density"]


def test_labels_with_less_than_half_of_the_probability_are_errors():
    dataset = data.load("wine13", "as-released")
    cell = qp.cell_of(dataset, "as-released", "exact", 0, 5)
    flipped = replace(cell.points, y_test=-cell.points.y_test)
    fit = qp.approximate(cell, SquaredExponential(30.0, 5.0))
    right, wrong = (qp.corrected(cell.likelihood, p, fit, "cheap") for p in (cell.points, flipped))
    assert right["test_error"] + wrong["test_error"] == 1.0 and right["test_error"] < 0.5
    assert right["status"]["converged"]


def test_what_is_not_trusted_is_said(monkeypatch):
    """Of counts, whose corrected moments are predicted from."""
    cell = qp.cell_of(data.load("coal", "as-released"), "as-released", "exact", 0, 0)
    fit = qp.approximate(cell, SquaredExponential(0.259, 18.24))
    found = fit.corrected(cell.points.X_test, "cheap")
    record = qp.corrected(cell.likelihood, cell.points, fit, "cheap")
    assert record["status"]["converged"] and np.all(found.trusted)
    doubted = replace(found, trusted=np.arange(len(found.mean)) > 0, message="1 of 55 latents are EP's")
    monkeypatch.setattr(type(fit), "corrected", lambda *_: doubted)
    record = qp.corrected(cell.likelihood, cell.points, fit, "cheap")
    assert not record["status"]["converged"] and np.isfinite(record["ntll"])
    assert record["status"]["message"] == "not corrected: 1 of 55 latents are EP's"
    errors = cell.likelihood.errors(cell.points.y_test, found.mean, found.variance)
    assert record["test_error"] == pytest.approx(np.mean(errors))


@pytest.mark.slow
def test_latents_of_counts_that_are_not_smooth_enough_are_not_trusted():
    cell = qp.cell_of(data.load("coal", "as-released"), "as-released", "exact", 0, 0)
    fit = qp.approximate(cell, SquaredExponential(0.259, 18.24))
    record = qp.corrected(cell.likelihood, cell.points, fit, "nearly-exact")
    assert not record["status"]["converged"]
    assert re.match(r"not corrected: \d of 55 latents are EP's", record["status"]["message"])
    assert np.isfinite(record["ntll"])
