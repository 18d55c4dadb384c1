"""Records of ground truth: as rows and back, and their approximations repeated."""

import gzip
import json
import runpy
from pathlib import Path

import pytest

from papers.core import records, store, verify
from papers.data import DataError
from papers.qp import repeat
from papers.qp.records import TRUTH, TRUTH_LATENTS
from papers.qp.truth import records as truth_records

RESULTS = Path(__file__).resolve().parents[3] / "results"
ALL = verify.Selection({})


@pytest.fixture(scope="module")
def every():
    return truth_records.read(RESULTS)


def rows_of(*made):
    rows: dict = {TRUTH: [], TRUTH_LATENTS: []}
    for record in made:
        for study, row in truth_records.rows_of(record):
            rows[study].append(row)
    return rows


@pytest.fixture
def results(every, tmp_path):
    """The records of two splits, of labels and of counts, in a folder."""
    wine = next(record for record in every if (record["dataset"], record["fold"]) == ("wine13", 3))
    records.put(tmp_path, rows_of(wine, every[-1]))
    return tmp_path


def test_committed_records_come_in_the_order_of_the_table(every):
    assert [every[0]["dataset"], every[-1]["dataset"]] == ["ionosphere", "coal"] and len(every) == 100
    assert [truth_records.split_of(record) for record in every] == 10 * list(range(10))


def test_a_record_is_read_as_it_was_made(every, results):
    """Every number of the sampler and of each method, to the last digit."""
    wine, coal = truth_records.read(results)
    assert (wine["dataset"], wine["fold"], coal["dataset"], coal["seed"]) == ("wine13", 3, "coal", 9)
    assert [wine, coal] == [record for record in every if record in (wine, coal)]
    wine["truth"]["test"]["se_mean"][-1] /= 3
    wine["methods"]["vb"]["log_density"][0] = -1 / 3
    wine["hyperparameters"]["lengthscale"] = 1e22 / 7
    records.put(results, rows_of(wine))
    assert truth_records.read(results) == [wine, coal]


def test_a_later_record_replaces_all_latents_of_its_split(results):
    wine, coal = truth_records.read(results)
    for part in (wine["truth"], *wine["methods"].values()):
        for numbers in part["test"].values():
            if isinstance(numbers, list):
                numbers.pop()
        for name in ("log_density", "se_log_density"):
            if name in part:
                part[name].pop()
    wine["n_test"] -= 1
    records.put(results, rows_of(wine))
    assert truth_records.read(results) == [wine, coal]


def test_every_method_is_repeated(results):
    found = verify.verify([TRUTH], results, ALL)
    assert not found.missing and not found.differences
    assert [(row.study, row.group, row.rows, row.same) for row in found.groups][:2] == [
        (TRUTH.file, "wine13", 1, 1),
        (TRUTH.file, "coal", 1, 1),
    ]
    latents = sum(row.rows for row in found.groups if row.study == TRUTH_LATENTS.file)
    assert latents == len(records.load(TRUTH_LATENTS, results))


@pytest.mark.parametrize(
    "change, column",
    [
        (lambda qp: qp.update(log_evidence=qp["log_evidence"] + 0.02), "log_evidence_qp"),
        (lambda qp: qp["log_density"].__setitem__(3, qp["log_density"][3] + 2e-3), "log_density_qp"),
        (lambda qp: qp["train"]["variance"].__setitem__(0, 9.0), "variance_qp"),
        (lambda qp: qp["test"]["mean"].__setitem__(0, 9.0), "mean_qp"),
    ],
)
def test_every_altered_number_is_found(results, change, column):
    wine, _ = truth_records.read(results)
    change(wine["methods"]["qp"])
    records.put(results, rows_of(wine))
    (difference,) = verify.verify([TRUTH], results, verify.Selection({"dataset": ["wine13"]})).differences
    assert f": {column} by " in difference


def test_missing_data_are_said(results, monkeypatch):
    def unavailable(*_, **__):
        raise DataError("no such file")

    repeat.loaded.cache_clear()
    monkeypatch.setattr(repeat.data, "load", unavailable)
    found = verify.verify([TRUTH], results, verify.Selection({"dataset": ["coal"]}))
    assert found.missing == ["qp/truth.csv: no such file"] and not found.groups and not found.differences


def test_the_files_of_earlier_records_become_the_tables(every, tmp_path):
    """Rows keep the names of their runs; the order of files does not matter."""
    for number, record in enumerate((every[-1], every[0])):
        path = tmp_path / f"qp/truth/{number}.json.gz"
        store.write_bytes(path, gzip.compress(json.dumps({**record, "run": f"run-{number}"}).encode()))
    tables = runpy.run_path(str(RESULTS.parent / "tools/convert_truth.py"))["tables"](tmp_path)
    frames = [study.parse(tables[study.file], "") for study in (TRUTH, TRUTH_LATENTS)]
    assert frames[0]["run"].tolist() == ["run-1", "run-0"]
    assert set(frames[1].loc[frames[1]["dataset"] == "coal", "run"]) == {"run-0"}
    assert frames[0]["log_evidence"].tolist() == [r["truth"]["log_evidence"] for r in (every[0], every[-1])]
