"""Compact records of classifications: the same file with other columns."""

import json

import pytest

from tilted import provenance
from tilted.__main__ import main
from tilted.experiments import pep_classification
from tilted.results import plan, store
from tilted.results.pep import records
from tilted.results.pep.forms import CLASSIFICATION, REGRESSION

HERE = {"source": "aa", "choices": "cc", "environment": {"numpy": "2"}, "date": "2026-01-02"}


@pytest.fixture
def fit(classification_fit):
    return classification_fit


def frame(*fits):
    return records.frame_of((records.line_of(one, CLASSIFICATION) for one in fits), CLASSIFICATION)


def test_written_records_are_read_back_in_order(fit, tmp_path):
    fits = [
        fit(dataset="sonar", error=1 / 21),
        fit(protocol="corrected"),
        fit("failed", alpha=1),
        fit(alpha=0, split=11),
        fit(alpha=0, split=2),
        fit("stopped", dataset="banana"),
    ]
    path = tmp_path / CLASSIFICATION.file
    records.write_records(path, frame(*fits), CLASSIFICATION)
    again = records.read_records(path, CLASSIFICATION)
    assert list(again.columns) == list(CLASSIFICATION.columns)
    names = [(r.dataset, r.protocol, r.alpha, r.split, r.outcome) for r in again.itertuples()]
    assert names == [
        ("banana", "as-released", "0.5", 0, "stopped"),
        ("crabs", "as-released", "0", 2, "ok"),
        ("crabs", "as-released", "0", 11, "ok"),
        ("crabs", "as-released", "1", 0, "failed"),
        ("crabs", "corrected", "0.5", 0, "ok"),
        ("sonar", "as-released", "0.5", 0, "ok"),
    ]
    assert again["error"].iloc[5] == float(f"{1 / 21:.10g}") and again["nll"].isna().tolist()[3]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"dataset": "boston"}, "unknown data set"),
        ({"protocol": "as-described"}, "unknown protocol"),
        ({"alpha": "full"}, "m does not agree with alpha"),
        ({"m": 181}, "m is no number of pseudo-points"),
        ({"nll": float("nan")}, "scores do not agree with the outcome"),
    ],
)
def test_lines_that_contradict_themselves_are_refused(change, message, fit, tmp_path):
    wrong = frame(fit(split=3), fit())
    for name, value in change.items():
        wrong.loc[0, name] = value
    with pytest.raises(store.RecordError, match=f"split 0.*: {message}"):
        records.write_records(tmp_path / "x.csv.gz", wrong, CLASSIFICATION)


def test_both_kinds_are_folded_into_one_folder(fit, regression_fit, tmp_path, capsys):
    for kind, make in (("pep", regression_fit), ("pep-classification", fit)):
        fits = [make(run=HERE), make(run=HERE, split=1)]
        store.write_records(tmp_path / "fits" / kind / "g" / "x.jsonl.gz", fits)
    arguments = ["--fits", str(tmp_path / "fits" / "qp"), "--pep", str(tmp_path / "pep")]
    assert main(["records", *arguments, "--records", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out.count("2 fits added") == 2 and not (tmp_path / "none").exists()
    assert len(records.load(tmp_path / "pep")) == len(records.load(tmp_path / "pep", CLASSIFICATION)) == 2
    for form in (REGRESSION, CLASSIFICATION):
        content = json.loads((tmp_path / "pep" / form.provenance).read_text(encoding="utf-8"))
        assert [run["splits"] for run in content["runs"]] == ["0-1"] and form.variant in content["runs"][0]


def test_records_say_whether_todays_source_made_them(fit, tmp_path):
    stamp = provenance.stamp(provenance.closure_hash(CLASSIFICATION.module), {})
    fits = [fit(run=stamp), fit(dataset="sonar", n_train=186, run={**stamp, "source": "old"})]
    store.write_records(tmp_path / "f.gz", fits)
    records.fold_in([tmp_path / "f.gz"], tmp_path, form=CLASSIFICATION)
    made = records.made(tmp_path, CLASSIFICATION)
    assert [(part.what, part.source == part.today) for part in made] == [("crabs", True), ("sonar", False)]
    names = provenance.closure(CLASSIFICATION.module)
    assert CLASSIFICATION.module == pep_classification.__name__
    for module in ("sparse_search", "posteriors.sparse", "likelihoods.probit", "data.classification"):
        assert f"tilted.{module}" in names
    assert not any(name.startswith("tilted.results") for name in names)


def test_a_plan_takes_the_seconds_of_the_same_fits(fit, tmp_path):
    lines = [fit(split=split, alpha=alpha, m=m) for split in (0, 1) for alpha in (0, 1) for m in (5, 10)]
    records.write_records(tmp_path / CLASSIFICATION.file, frame(*lines), CLASSIFICATION)
    planned, grids = [("x.gz", "small", "crabs", 20)], {"small": {"alphas": [0, 1], "m": [5, 10]}}
    (job,) = plan.pep_jobs(planned, grids, tmp_path, CLASSIFICATION)
    assert (job.part, job.fits, job.seconds) == ("PEP classes small", 80, 80 * 1.5)
    assert plan.pep_jobs(planned, grids, tmp_path / "none", CLASSIFICATION)[0].seconds is None
