"""Records of regressions and classifications: lines of fits, what a file may hold, fits repeated."""

import numpy as np
import pytest

from papers.core import records, runs, store
from papers.core.agreement import BETTER, CHAOTIC, DIFFERENT, SAME, WORSE, compare
from papers.core.store import RecordError
from papers.core.study import Source
from papers.pep import regression
from papers.pep.records import CLASSIFICATION, REGRESSION
from tilted.learning.search import Search


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
    again = put(tmp_path, REGRESSION, fits)
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
    again = put(tmp_path, CLASSIFICATION, fits)
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
        ({"outcome": "fine"}, "unknown outcome"),
        ({"outcome": "failed"}, "scores do not agree with the outcome"),
        ({"smse": np.nan}, "scores do not agree with the outcome"),
        ({"smse": np.inf}, "scores do not agree with the outcome"),
        ({"outcome": "stopped"}, "message does not agree with the outcome"),
        ({"message": "odd"}, "message does not agree with the outcome"),
    ],
)
def test_a_regression_that_contradicts_itself_is_refused_by_name(change, message, regression_fit):
    lines = [fit | {"run": "r"} for fit in (regression_fit(), regression_fit(split=3))]
    wrong = REGRESSION.frame([lines[0] | change, lines[1]])
    with pytest.raises(RecordError, match=f"split 0.*: {message}"):
        REGRESSION.encode(wrong, "here")


def test_each_kind_of_fits_has_its_table(classification_fit, regression_fit, tmp_path):
    made, paths = {REGRESSION: regression_fit, CLASSIFICATION: classification_fit}, []
    for folder, make in zip(("pep", "pep-classification"), made.values(), strict=True):
        fits = [make(run=runs.stamp()), make("failed", run=runs.stamp(), split=1)]
        paths.append(store.write_records(tmp_path / "data/fits" / folder / "g/x.jsonl.gz", fits))
    changes = records.collect(paths, tmp_path / "results")
    assert changes == {study.file: (2, 0, 0, 0) for study in made}
    for study in made:
        frame = records.load(study, tmp_path / "results")
        assert frame["outcome"].tolist() == ["ok", "failed"] and frame["seconds"].tolist() == [1.5, 1.5]


def test_regressions_are_repeated_by_the_search_of_their_protocol(monkeypatch):
    short = {name: Search(max_iterations=n) for n, name in enumerate(regression.SEARCHES, start=2)}
    monkeypatch.setattr(regression, "SEARCHES", short)
    parts = regression.parts_of("synthetic", 0, None)
    made = [regression.run_cell(parts, "synthetic", 0, 0.5, 4, protocol=name) for name in short]
    assert made[0]["nlml"] != made[1]["nlml"]
    frame = REGRESSION.frame({**line, "run": "r"} for line in made)
    repeated = list(REGRESSION.repeat(frame, Source(None, "")))
    assert [study for study, _ in repeated] == [REGRESSION] * 2
    assert [row["nlml"] for _, row in repeated] == [line["nlml"] for line in made]


@pytest.mark.parametrize(
    ("record", "repeated", "status"),
    [
        ({}, {}, SAME),
        ({}, {"nlml": 123.4567891 + 0.009, "smll": -1.2509, "evaluations": 9}, SAME),
        ({}, {"smll": -1.26}, DIFFERENT),  # the same optimum, other scores
        ({}, {"nlml": 123.0, "smll": -1.6}, BETTER),
        ({}, {"nlml": 124.0, "smll": -1.6}, WORSE),
        ({"outcome": "stopped"}, {"outcome": "stopped", "nlml": 125.0, "smll": -9.0}, CHAOTIC),
        ({"outcome": "stopped"}, {"outcome": "failed"}, DIFFERENT),
        ({"outcome": "failed"}, {"outcome": "stopped"}, DIFFERENT),
        ({"outcome": "failed"}, {"outcome": "failed"}, SAME),
    ],
)
def test_a_repeated_search_is_judged_by_its_optimum(record, repeated, status, regression_fit):
    line = REGRESSION.frame([regression_fit(**record) | {"run": "r"}]).to_dict("records")[0]
    assert compare(REGRESSION, line, regression_fit(**repeated)).status == status


@pytest.mark.parametrize(("error", "status"), [(0.05, SAME), (0.1, SAME), (0.15, DIFFERENT)])
def test_the_test_error_may_move_by_a_test_point(error, status, classification_fit):
    line = CLASSIFICATION.frame([classification_fit() | {"run": "r"}]).to_dict("records")[0]
    assert compare(CLASSIFICATION, line, classification_fit(error=error)).status == status
