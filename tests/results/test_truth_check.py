"""Approximations of ground-truth records, computed again by today's code."""

from pathlib import Path

import pytest

from tilted import data
from tilted.__main__ import main
from tilted.experiments import truth as experiment
from tilted.results import store, truth_check, verify

RECORDS = Path(__file__).resolve().parents[2] / "results" / "qp" / "truth"


@pytest.fixture
def record():
    """The committed record of a small data set."""
    return store.read_records(RECORDS / "wine13.json.gz")[0]


@pytest.fixture(scope="module")
def wine():
    return data.load("wine13", "as-released")


def test_committed_records_pass(record, wine):
    found = truth_check.check(record, wine)
    assert [check.method for check in found] == list(experiment.METHODS)
    assert all(check.passed and check.largest_difference <= 1e-6 for check in found)
    (made,) = truth_check.made([record], found)
    assert made.verified and made.what == "Wine2" and made.source == record["source"]


@pytest.mark.parametrize("part", ["log_evidence", "log_density", "train", "test", "one", "both"])
def test_every_altered_number_is_found(record, wine, part):
    recorded = record["methods"]["qp"]
    if part == "log_evidence":
        recorded[part] += 2e-6
    elif part == "log_density":
        recorded[part][3] += 3e-6
    elif part in ("one", "both"):
        recorded["test"]["mean"].pop()
        if part == "both":
            recorded["test"]["variance"].pop()
    else:
        name, scale = ("variance", 1.0) if part == "train" else ("mean", 10.0)
        recorded[part][name][0] *= 1 + 3e-6 * scale
    found = {check.method: check.passed for check in truth_check.check(record, wine)}
    assert found == {"ep": True, "qp": False, "vb": True}
    assert not truth_check.made([record], truth_check.check(record, wine))[0].verified


def test_a_check_counts_for_its_record_and_source_only(record, wine, monkeypatch):
    found = truth_check.check(record, wine)
    assert not truth_check.made([record], found[:2])[0].verified  # each method is needed
    changed = {**record, "methods": record["methods"] | {"vb": record["methods"]["ep"]}}
    assert not truth_check.made([changed], found)[0].verified
    monkeypatch.setattr(truth_check, "todays", lambda dataset: "another")
    assert not truth_check.made([record], found)[0].verified


def test_checks_survive_their_file(record, wine, tmp_path):
    path = tmp_path / truth_check.FILE
    assert truth_check.read(path) == []
    other = truth_check.Check("coal", "ep", 1.5e-3, False, "aa", "bb")
    truth_check.write([other], path)
    done = truth_check.verify([record], path)
    assert [c._replace(largest_difference=0.0) for c in truth_check.read(path)] == [
        *(c._replace(largest_difference=0.0) for c in done), other._replace(largest_difference=0.0)
    ]  # fmt: skip
    assert truth_check.read(path)[-1] == other
    assert truth_check.verify([record], path, datasets=["coal"]) == []
    path.write_text(path.read_text().replace("passed", "failed"))
    with pytest.raises(store.RecordError, match="verified_truth"):
        truth_check.read(path)


@pytest.mark.parametrize(("error", "code", "said"), [(0.0, 0, "no method"), (1.0, 1, "ep by 1.0e+00")])
def test_verify_checks_the_ground_truth_too(record, tmp_path, monkeypatch, capsys, error, code, said):
    monkeypatch.setattr(verify, "verify", lambda *arguments, **options: verify.Verification())
    record["methods"]["ep"]["log_evidence"] += error
    store.write_records(tmp_path / "truth" / "wine13.json.gz", [record])
    arguments = ["verify", "--records", str(tmp_path)]
    assert main([*arguments, "--protocols", "corrected"]) == 0  # the records are of another protocol
    assert not (tmp_path / truth_check.FILE).exists()
    assert main(arguments) == code
    assert f"ground truth wine13: {said} differs" in capsys.readouterr().err
    assert len(truth_check.read(tmp_path / truth_check.FILE)) == 3
