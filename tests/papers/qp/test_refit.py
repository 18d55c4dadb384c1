"""Recorded fits repeated from scratch."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from papers.core import records
from papers.core.agreement import DIFFERENT, SAME, compare_frames
from papers.core.repeat import align
from papers.core.study import Source
from papers.qp import protocols, refit
from papers.qp.records import FITS, VARIANCES

RESULTS = Path(__file__).resolve().parents[3] / "results"
PAIR = ["n_above", "ratio_min", "ratio_median", "ratio_max"]


def recorded(protocol, dataset, methods, fold=0):
    frame = records.load(FITS[protocol], RESULTS)
    here = (frame["dataset"] == dataset) & (frame["seed"] == 0) & (frame["fold"] == fold)
    return frame[here & frame["method"].isin(methods)]


def repeated(protocol, rows):
    """The repeated fits beside the recorded ones, and the variances that came with them."""
    study = FITS[protocol]
    made: dict = {study: [], VARIANCES: []}
    for of, row in study.repeat(rows, Source(None, RESULTS)):
        made[of].append(row)
    *frames, lost = align(study, rows, made[study])
    assert lost == 0
    return *frames, pd.DataFrame(made[VARIANCES])


@pytest.mark.parametrize(
    "protocol, dataset, methods",
    [
        ("as-released", "wine13", ["ep-tune", "ep", "qp"]),
        ("as-described", "coal", ["ep", "qp", "vb"]),
    ],
)
def test_a_fold_repeated_from_scratch_gives_its_record(protocol, dataset, methods):
    """Hyperparameters, scores, QP's comparison with EP, and the variances that a figure draws."""
    rows = recorded(protocol, dataset, methods)
    before, after, variances = repeated(protocol, rows)
    assert sorted(after["method"]) == sorted(methods)
    assert {row.status for row in compare_frames(FITS[protocol], before, after).rows} == {SAME}
    assert after["pair"].tolist() == before["pair"].tolist() and (after["pair"] != "").sum() == 1
    of_qp = after["method"] == "qp"
    for frame in (before, after):
        frame[PAIR] = frame[PAIR].astype(float)
    np.testing.assert_allclose(after.loc[of_qp, PAIR], before.loc[of_qp, PAIR], rtol=1e-3)
    np.testing.assert_allclose(after["variance"], before["variance"], rtol=1e-2)
    kept = records.load(VARIANCES, RESULTS)
    for name in ("protocol", "dataset", "seed", "fold"):
        kept = kept[kept[name] == rows.iloc[0][name]]
    assert variances["reference"].tolist() == kept["reference"].tolist()
    np.testing.assert_allclose(variances[["v_ep", "v_qp"]], kept[["v_ep", "v_qp"]], rtol=1e-3)


def test_a_search_alone_starts_at_the_recorded_fit_and_an_altered_number_is_found():
    rows = recorded("as-released", "wine13", ["qp"])
    before, after, variances = repeated("as-released", rows)
    assert compare_frames(FITS["as-released"], before, after).rows[0].status == SAME and variances.empty
    altered = before.assign(ntll=before["ntll"] + 2e-3)
    (found,) = compare_frames(FITS["as-released"], altered, after).rows
    assert (found.status, found.column) == (DIFFERENT, "ntll")


def test_a_search_from_a_failed_fit_fails(monkeypatch):
    rows = recorded("as-released", "wine13", ["ep-tune", "qp"])
    frame = rows.assign(outcome="failed")
    of_qp = frame[frame["method"] == "qp"]
    (record,) = refit.repeat(of_qp, frame, None)
    assert record["hyperparameters"] is None and "failed" in record["status"]["message"]


def test_methods_stand_behind_those_that_they_start_from():
    """Repeated fits are made in the order of the protocol."""
    for protocol in (*protocols.names(), *protocols.derived()):
        for task in protocols.TASKS:
            with suppress(ValueError):  # a difference may change nothing for a task
                methods = protocols.block(protocol, task)["methods"]
                for name, spec in methods.items():
                    names = list(methods)
                    start = protocols.job_of(methods, spec.get("start", name))
                    assert names.index(start) <= names.index(name)


def test_the_protocol_of_today():
    line = {"protocol": "as-released", "dataset": "wine13", "method": "ep"}
    one = refit.todays(line)
    assert one and one != refit.todays({**line, "method": "qp"}) != refit.todays({**line, "dataset": "coal"})
    assert refit.todays({**line, "method": "nonesuch"}) is refit.todays({**line, "dataset": "iris"}) is None
