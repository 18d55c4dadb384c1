"""Records of regressions and classifications: lines of fits, what a file may hold, folding in, fits again."""

import numpy as np
import pytest

from papers.evidence import records, runs, store
from papers.evidence.store import RecordError
from papers.evidence.verified import DIFFERS, PASSED, REPORTED
from papers.pep.records import CLASSIFICATION, OUTCOMES, REGRESSION, beside, fold_in, line_of


def test_a_line_for_each_outcome(regression_fit):
    ok, stopped, failed = (line_of(regression_fit(outcome)) for outcome in OUTCOMES)
    assert set(REGRESSION.columns) <= set(ok)
    assert [line["outcome"] for line in (ok, stopped, failed)] == ["ok", "stopped", "failed"]
    assert [line["message"] for line in (ok, stopped, failed)] == ["", "STOP: too many", "no Kuu"]
    assert failed["nlml"] is None and ok["evaluations"] == 77
    powers = [line_of(regression_fit(alpha=alpha))["alpha"] for alpha in (0, 0.0, 0.05, 1, 1.0, "full")]
    assert powers == ["0", "0", "0.05", "1", "1", "full"]


def test_written_records_are_read_back_in_order(regression_fit, put, tmp_path):
    fit = regression_fit
    fits = [
        fit(dataset="yacht", n_train=277, split=1),
        fit(alpha=1, split=2),
        fit(alpha="full", m=0),
        fit(start="k-means"),
        fit("failed", alpha=0.05, m=50),
        fit("stopped", alpha=0, m=50),
        fit(dataset="synthetic", m=500, n_train=500),
        fit(split=10),
        fit(split=9),
    ]
    again = put(tmp_path, REGRESSION, map(line_of, fits))
    names = list(
        zip(again["dataset"], again["start"], again["m"], again["alpha"], again["split"], strict=True)
    )
    assert names == [
        ("synthetic", "data", 500, "0.5", 0),
        ("boston", "data", 0, "full", 0),
        ("boston", "data", 5, "0.5", 9),
        ("boston", "data", 5, "0.5", 10),
        ("boston", "data", 5, "1", 2),
        ("boston", "data", 50, "0", 0),
        ("boston", "data", 50, "0.05", 0),
        ("boston", "k-means", 5, "0.5", 0),
        ("yacht", "data", 5, "0.5", 1),
    ]
    assert np.isnan(again["nlml"][6]) and again["m"].dtype == np.int64
    assert again["nlml"][0] == pytest.approx(123.456789012, rel=1e-12)
    before = (tmp_path / REGRESSION.file).read_bytes()
    assert REGRESSION.encode(again.sample(frac=1, random_state=1), "here") == before


def test_classifications_are_read_back_in_order(classification_fit, put, tmp_path):
    fit = classification_fit
    fits = [
        fit(dataset="sonar", error=1 / 21),
        fit(protocol="corrected"),
        fit("failed", alpha=1),
        fit(alpha=0, split=11),
        fit(alpha=0, split=2),
        fit("stopped", dataset="banana"),
    ]
    again = put(tmp_path, CLASSIFICATION, map(line_of, fits))
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
        ({"dataset": "iris"}, "unknown data set"),
        ({"start": "there"}, "unknown start"),
        ({"alpha": "0.50"}, "alpha is no power"),
        ({"alpha": "1.5"}, "alpha is no power"),
        ({"alpha": "half"}, "alpha is no power"),
        ({"alpha": "full"}, "m does not agree with alpha"),
        ({"m": 0}, "m does not agree with alpha"),
        ({"m": 456}, "m is no number of pseudo-points"),
        ({"m": -1}, "m is no number of pseudo-points"),
        ({"outcome": "fine"}, "unknown outcome"),
        ({"outcome": "failed"}, "scores do not agree with the outcome"),
        ({"smse": np.nan}, "scores do not agree with the outcome"),
        ({"smse": np.inf}, "scores do not agree with the outcome"),
        ({"outcome": "failed", "nlml": np.nan, "message": "x"}, "a failed fit with scores"),
        ({"outcome": "stopped"}, "message does not agree with the outcome"),
        ({"message": "odd"}, "message does not agree with the outcome"),
        ({"seconds": np.nan}, "no processor time"),
    ],
)
def test_regressions_that_contradict_themselves_are_refused(change, message, regression_fit):
    fits = [regression_fit(split=3), regression_fit()]
    wrong = REGRESSION.frame(line_of(fit) | {"run": "r"} for fit in fits).sort_values(
        "split", ignore_index=True
    )
    for name, value in change.items():
        wrong.loc[0, name] = value
    with pytest.raises(RecordError, match=f"split 0.*: {message}"):
        REGRESSION.encode(wrong, "here")


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
def test_classifications_that_contradict_themselves_are_refused(change, message, classification_fit):
    fits = [classification_fit(split=3), classification_fit()]
    wrong = CLASSIFICATION.frame(line_of(fit) | {"run": "r"} for fit in fits).sort_values(
        "split", ignore_index=True
    )
    for name, value in change.items():
        wrong.loc[0, name] = value
    with pytest.raises(RecordError, match=f"split 0.*: {message}"):
        CLASSIFICATION.encode(wrong, "here")


def test_both_kinds_are_folded_into_one_folder(classification_fit, regression_fit, tmp_path):
    for kind, make in (("pep", regression_fit), ("pep-classification", classification_fit)):
        fits = [make(run=runs.stamp()), make("failed", run=runs.stamp(), split=1)]
        store.write_records(tmp_path / "fits" / kind / "g" / "x.jsonl.gz", fits)
    changes = fold_in(tmp_path / "fits", tmp_path / "results")
    assert {file: str(change) for file, change in changes.items()} == {
        study.file: "2 added, 0 replaced, 0 kept" for study in (REGRESSION, CLASSIFICATION)
    }
    for study in (REGRESSION, CLASSIFICATION):
        frame = records.read(study, tmp_path / "results")
        assert frame["outcome"].tolist() == ["ok", "failed"] and frame["seconds"].tolist() == [1.5, 1.5]


def test_a_fit_beside_its_record(regression_fit):
    """The difference of NLML is in nats; a fit that failed fails again, or differs."""
    line = REGRESSION.frame([line_of(regression_fit()) | {"run": "r"}]).to_dict("records")[0]
    assert beside(REGRESSION, line, line_of(regression_fit())).passed == PASSED
    worse = beside(REGRESSION, line, line_of(regression_fit(nlml=line["nlml"] + 0.2)))
    assert worse.passed == DIFFERS and abs(worse.difference - 0.2) < 1e-6 and "nlml" in worse.note
    near = beside(REGRESSION, line, line_of(regression_fit(nlml=line["nlml"] + 1e-3)))
    assert near.passed == REPORTED
    failed = REGRESSION.frame([line_of(regression_fit("failed")) | {"run": "r"}]).to_dict("records")[0]
    assert beside(REGRESSION, failed, line_of(regression_fit("failed"))).passed == PASSED
    again = beside(REGRESSION, failed, line_of(regression_fit()))
    assert again.passed == DIFFERS and again.difference == float("inf")
