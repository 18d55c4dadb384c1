"""A sample of the committed records repeated, of every paper, as far as it needs no download."""

import os
import shutil
from pathlib import Path

import pytest

from papers.core import records, verify
from papers.core.agreement import CHAOTIC, SAME, compare_frames
from papers.core.files import MissingData
from papers.core.repeat import APART, align, seconds_of
from papers.core.study import Source
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
    assert found.groups and not found.missing and not found.differences
    assert all(row.different == 0 < row.same for row in found.groups)


REPEATED = [study for study in records.studies() if study.repeat]
LONG = (
    pep.BANANA, pep.CLASSIFICATION, pep.DENSE, pep.DIGITS, pesc.REGRET, qp.NEARER_FITS,
    rep.EPSILONS, rep.EXACT, rep.POINTS,
)  # fmt: skip


@pytest.mark.parametrize(
    "study",
    [pytest.param(study, marks=[pytest.mark.slow] * (study in LONG), id=study.file) for study in REPEATED],
)
def test_the_cheapest_rows_of_every_study_are_repeated(study):
    rows = records.load(study, RESULTS).assign(cost=lambda rows: seconds_of(study, rows))
    block = [name for name in dict.fromkeys((*APART, *study.together)) if name in rows]
    cost = rows.groupby(block, dropna=False)["cost"].transform("sum")
    cheapest = rows.loc[cost[cost > 0].idxmin(), block]
    rows = rows[(rows[block] == cheapest).all(axis=1)].drop(columns="cost")
    try:
        repeated = [
            row
            for of, row in study.repeat(rows, Source(os.environ.get("TILTED_DATA_MIRROR"), RESULTS))
            if of == study
        ]
    except MissingData as error:
        pytest.skip(error.brief)
    *pair, lost = align(study, rows, repeated)
    statuses = [row.status for row in compare_frames(study, *pair).rows]
    assert lost == 0 and len(statuses) == len(rows)
    assert set(statuses) <= {SAME, CHAOTIC} and SAME in statuses
