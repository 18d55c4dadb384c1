"""Records of ground truth: their approximations repeated."""

from pathlib import Path

import pytest

from papers.core import records, verify
from papers.qp.accuracy.records import TRUTH, TRUTH_LATENTS

RESULTS = Path(__file__).resolve().parents[3] / "results"


@pytest.fixture(scope="module")
def committed():
    return {study: records.load(study, RESULTS) for study in (TRUTH, TRUTH_LATENTS)}


def selected(committed):
    """Two splits, of labels and of counts."""
    return {
        study: frame[
            ((frame["dataset"] == "wine13") & (frame["fold"] == 3))
            | ((frame["dataset"] == "coal") & (frame["seed"] == 9))
        ].drop(columns="run")
        for study, frame in committed.items()
    }


@pytest.fixture
def results(committed, tmp_path):
    frames = selected(committed)
    records.put(tmp_path, {study: frame.to_dict("records") for study, frame in frames.items()})
    return tmp_path


def test_committed_records_come_in_the_order_of_the_table(committed):
    splits = committed[TRUTH]
    assert (splits["seed"] + splits["fold"]).tolist() == 10 * list(range(10))
    assert splits["dataset"].iloc[[0, -1]].tolist() == ["ionosphere", "coal"]
    assert committed[TRUTH_LATENTS]["dataset"].unique().tolist() == splits["dataset"].unique().tolist()


def test_every_method_is_repeated(results):
    found = verify.verify([TRUTH], results, verify.Selection({}))
    assert not found.missing and not found.differences
    assert [(row.study, row.group, row.rows, row.same) for row in found.groups][:2] == [
        (TRUTH.file, "wine13", 1, 1),
        (TRUTH.file, "coal", 1, 1),
    ]
    latents = sum(row.rows for row in found.groups if row.study == TRUTH_LATENTS.file)
    assert latents == len(records.load(TRUTH_LATENTS, results))
