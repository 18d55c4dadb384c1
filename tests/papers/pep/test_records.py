"""Records of regressions and classifications: lines of fits, what a file may hold, folding in, fits again."""

import numpy as np
import pytest

from papers.evidence import jobs as folding
from papers.evidence import records, runs, store
from papers.evidence.store import RecordError
from papers.evidence.verification import verified
from papers.evidence.verification.again import by_tolerance
from papers.evidence.verification.outcome import DIFFERS, PASSED, REPORTED, Context
from papers.pep import jobs, regression
from papers.pep.records import CLASSIFICATION, OUTCOMES, REGRESSION, line_of
from tilted.learning.search import Search


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
        ({"protocol": "as-released"}, "unknown protocol"),
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
    assert_refused(REGRESSION, regression_fit, change, message)


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
    assert_refused(CLASSIFICATION, classification_fit, change, message)


def assert_refused(study, make, change, message):
    """A line of two that is changed is refused by name."""
    lines = [line_of(fit) | {"run": "r"} for fit in (make(split=3), make())]
    wrong = study.frame(lines).sort_values("split", ignore_index=True)
    for name, value in change.items():
        wrong.loc[0, name] = value
    with pytest.raises(RecordError, match=f"split 0.*: {message}"):
        study.encode(wrong, "here")


def test_both_kinds_are_folded_into_one_folder(classification_fit, regression_fit, tmp_path):
    for kind, make in (("pep", regression_fit), ("pep-classification", classification_fit)):
        fits = [make(run=runs.stamp()), make("failed", run=runs.stamp(), split=1)]
        store.write_records(tmp_path / "fits" / kind / "g" / "x.jsonl.gz", fits)
    changes = {}
    for record in jobs.records({}):
        paths = sorted(
            path for folder in record.folders for path in (tmp_path / "fits" / folder).rglob("*.gz")
        )
        if paths:
            changes |= folding.fold(paths, tmp_path / "results", **record.parameters)
    assert {file: str(change) for file, change in changes.items()} == {
        study.file: "2 added, 0 replaced, 0 kept" for study in (REGRESSION, CLASSIFICATION)
    }
    for study in (REGRESSION, CLASSIFICATION):
        frame = records.load(study, tmp_path / "results")
        assert frame["outcome"].tolist() == ["ok", "failed"] and frame["seconds"].tolist() == [1.5, 1.5]


def test_names_of_lines_leave_the_usual_protocol_out(regression_fit):
    """Names in verified.csv leave the usual protocol out."""
    old, new = (line_of(regression_fit(protocol=name)) for name in ("as-described", "converged"))
    assert verified.group_of(REGRESSION, old) == "boston 0.5"
    assert verified.fit_of(REGRESSION, old) == "m=5 start=data split=0"
    assert verified.group_of(REGRESSION, new) == "converged boston 0.5"
    assert verified.fit_of(REGRESSION, new) == "m=5 start=data split=0"


def test_regressions_are_made_again_by_the_search_of_their_protocol(monkeypatch):
    short = {name: Search(max_iterations=n) for n, name in enumerate(regression.SEARCHES, start=2)}
    monkeypatch.setattr(regression, "SEARCHES", short)
    parts = regression.parts_of("synthetic", 0, None)
    made = [line_of(regression.run_cell(parts, "synthetic", 0, 0.5, 4, protocol=name)) for name in short]
    assert made[0]["nlml"] != made[1]["nlml"]
    frame = REGRESSION.frame({**line, "run": "r"} for line in made)
    checks = list(REGRESSION.again(frame, Context(None, frame, REGRESSION, "")))
    assert [outcome.passed for _, (outcome,) in checks] == [PASSED, PASSED]


@pytest.mark.parametrize(
    ("record", "repeated", "passed"),
    [
        ({}, {}, PASSED),
        ({}, {"nlml": 123.4567891 + 0.009, "smll": -1.2509, "evaluations": 9}, PASSED),
        ({}, {"smll": -1.26}, DIFFERS),  # the same optimum, other scores
        ({}, {"nlml": 123.0, "smll": -1.6}, REPORTED),  # a better optimum
        ({}, {"nlml": 124.0, "smll": -1.6}, DIFFERS),  # a worse one
        ({"outcome": "stopped"}, {"outcome": "stopped", "nlml": 125.0, "smll": -9.0}, REPORTED),  # cut off
        ({"outcome": "stopped"}, {"outcome": "failed"}, DIFFERS),
        ({"outcome": "failed"}, {"outcome": "stopped"}, DIFFERS),
        ({"outcome": "failed"}, {"outcome": "failed"}, PASSED),
    ],
)
def test_a_repeated_search_is_judged_by_its_optimum(record, repeated, passed, regression_fit):
    line = REGRESSION.frame([line_of(regression_fit(**record)) | {"run": "r"}]).to_dict("records")[0]
    outcome = by_tolerance(REGRESSION, line, line_of(regression_fit(**repeated)))
    assert outcome.passed == passed and (passed == PASSED) == (outcome.note == "")
    if passed == REPORTED and "outcome" not in record:
        assert outcome.gain == pytest.approx(0.4567891) and outcome.note.startswith("better optimum: nlml")


@pytest.mark.parametrize(("error", "passed"), [(0.05, PASSED), (0.1, PASSED), (0.15, DIFFERS)])
def test_the_test_error_may_move_by_a_test_point(error, passed, classification_fit):
    line = CLASSIFICATION.frame([line_of(classification_fit()) | {"run": "r"}]).to_dict("records")[0]
    repeated = line_of(classification_fit(error=error))
    assert by_tolerance(CLASSIFICATION, line, repeated).passed == passed
