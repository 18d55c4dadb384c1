"""A sample of the committed records made again, of every paper, as far as it needs no download."""

import shutil
from pathlib import Path

import pytest

from papers.evidence import records
from papers.evidence.verification import verify
from papers.evidence.verification.outcome import DIFFERS
from papers.pep import records as pep
from papers.pesc import records as pesc
from papers.qp import records as qp
from papers.rep import records as rep

RESULTS = Path(__file__).resolve().parents[2] / "results"
SAMPLES = [
    (qp.FITS["as-released"], {"dataset": ["coal", "wine12"], "method": ["ep", "ep-tune", "qp", "vb"]}),
    (qp.FITS["corrected"], {"dataset": ["wine13"], "method": ["ep", "qp", "vb"]}),
    (pep.REGRESSION, {"dataset": ["synthetic"], "alpha": ["full"]}),
    (pep.TOY, {"n_train": ["500"]}),
    (pep.LIMITS, {"problem": ["small"]}),
    (rep.POINTS, {"method": ["ep", "pep-as-described", "rep-normalised"]}),
    (pesc.ACCURACY, {"family": ["1-D, K = 1"]}),
]


@pytest.mark.parametrize("study, wanted", SAMPLES, ids=lambda value: getattr(value, "file", ""))
def test_recorded_numbers_are_today_s(study, wanted, tmp_path, monkeypatch):
    folder = tmp_path / "results"
    for name in ("SHA256SUMS", "runs.csv", "verified.csv", study.file):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(RESULTS / name, folder / name)
    monkeypatch.delenv("TILTED_DATA_MIRROR", raising=False)
    found = verify.verify([study], folder, verify.Selection(wanted, fits=2, scratches=0, seed=1))
    assert found.checks and not found.missing
    assert [check for check in found.checks if check.passed == DIFFERS] == []


def test_a_wrong_number_would_be_seen(tmp_path, monkeypatch):
    """A line of the record moved by 1e-5 differs when it is made again."""
    study = rep.POINTS
    for name in ("SHA256SUMS", "runs.csv", "verified.csv", study.file):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(RESULTS / name, tmp_path / name)
    recorded = records.load(study, tmp_path)
    moved = recorded.assign(mean_error=recorded["mean_error"] + 1e-5)
    monkeypatch.setattr(verify.records, "load", lambda study, folder: moved)
    found = verify.verify([study], tmp_path, verify.Selection({"method": ["ep"]}, fits=1, scratches=0))
    assert [check.passed for check in found.checks] == [DIFFERS]
