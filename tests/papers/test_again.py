"""A sample of the committed records repeated, of every paper, as far as it needs no download."""

import shutil
from pathlib import Path

import pytest

from papers.core import verify
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
    found = verify.verify([study], folder, verify.Selection(wanted, fits=2, seed=1))
    assert found.found and not found.missing and not found.differences
    assert all(row.different == 0 < row.same for row in found.found)
