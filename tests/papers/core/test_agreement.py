"""Repeated rows beside their records: what counts as the same, another optimum, different, or chaotic."""

import inspect
import math

import numpy as np
import pandas as pd
import pytest

from papers.core.agreement import (
    BETTER,
    CHAOTIC,
    DIFFERENT,
    SAME,
    WORSE,
    compare,
    compare_frames,
    compare_means,
)
from papers.core.study import Flag, Float, Integer, Study, Text, one_test_point, seconds
from papers.pep import records as pep
from papers.pep.records import MAP, REGRESSION
from papers.pesc import records as pesc
from papers.qp import records as qp
from papers.qp.records import FITS
from papers.rep import records as rep
from papers.rep.records import POINTS

STUDIES = [s for paper in (qp, pep, rep, pesc) for s in paper.STUDIES]


def kind(row):
    return {"joint": "chaotic", "joint too": "chaotic", "closed form": "exact"}.get(row["method"], "optimum")


STUDY = Study(
    "toy/fits.csv",
    {
        "method": Text(),
        "seed": Integer(),
        "n_test": Integer(),
        "converged": Flag(),
        "evaluations": Integer(compared=False),
        "evidence": Float(8, tolerance=0.01),
        "error": Float(6, tolerance=one_test_point),
        "loss": Float(3, tolerance=1e-3),
        "other": Float(),
        "seconds": seconds(),
    },
    key=("method", "seed"),
    group=("method",),
    kind=kind,
    objective="evidence",
)
ROW = {
    "method": "ep",
    "seed": 0,
    "n_test": 20,
    "converged": True,
    "evaluations": 7,
    "evidence": -31.0,
    "error": 0.1,
    "loss": 0.25,
    "other": 2000.0,
    "seconds": 1.0,
    "run": "r",
}


@pytest.mark.parametrize(
    ("change", "status", "column"),
    [
        ({}, SAME, ""),
        ({"evaluations": 70, "seconds": 9.0, "seed": 3}, SAME, ""),
        ({"evidence": -31.009, "error": 0.15, "loss": 0.2512, "other": 2000.0019}, SAME, ""),
        ({"loss": 0.2521}, DIFFERENT, "loss"),
        ({"error": 0.2}, DIFFERENT, "error"),
        ({"other": 2000.0021}, DIFFERENT, "other"),
        ({"converged": False}, DIFFERENT, "converged"),
        ({"evidence": -30.0, "loss": 0.1}, BETTER, "evidence"),
        ({"evidence": -32.0, "loss": 0.1}, WORSE, "evidence"),
        ({"evidence": math.nan}, DIFFERENT, "evidence"),
        ({"method": "closed form", "evidence": -30.0}, DIFFERENT, "evidence"),
        ({"method": "joint", "evidence": -20.0, "loss": 9.0}, CHAOTIC, "evidence"),
        ({"method": "joint"}, SAME, ""),
    ],
)
def test_a_row_is_compared_by_its_kind_and_the_columns_tolerances(change, status, column):
    record = ROW | {name: change[name] for name in ("method",) if name in change}
    result = compare(STUDY, record, ROW | change)
    assert (result.status, result.column) == (status, column)


def test_what_the_digits_of_a_file_round_away_is_no_difference():
    """A loss of 0.2525 is recorded as 0.253, of which three digits say nothing below 0.0005."""
    assert compare(STUDY, ROW | {"loss": 0.253}, ROW | {"loss": 0.2516}).status == SAME
    assert compare(STUDY, ROW | {"loss": 0.253}, ROW | {"loss": 0.2514}).status == DIFFERENT


def test_a_missing_number_agrees_with_a_missing_one_alone():
    assert compare(STUDY, ROW | {"loss": None}, ROW | {"loss": math.nan}).status == SAME
    assert compare(STUDY, ROW | {"loss": None}, ROW).column == "loss"


def test_of_an_objective_that_is_minimised_less_is_better():
    record = {
        "dataset": "boston",
        "outcome": "ok",
        "n_test": 50,
        **dict.fromkeys(("nlml", "smse", "smll"), 1.0),
    }
    assert compare(REGRESSION, record, record | {"nlml": 0.5}).status == BETTER
    assert compare(REGRESSION, record, record | {"nlml": 1.5}).status == WORSE
    assert compare(REGRESSION, record | {"outcome": "stopped"}, record | {"nlml": 1.5}).status == CHAOTIC


def test_which_fits_of_the_papers_are_chaotic():
    kinds = {method: FITS["as-released"].kind_of({"method": method}) for method in ("ep", "vb", "vb-joint")}
    assert kinds == {"ep": "optimum", "vb": "optimum", "vb-joint": "chaotic"}
    assert [POINTS.kind_of({"outcome": x}) for x in ("converged", "unsettled")] == ["exact", "chaotic"]


@pytest.fixture
def frames():
    """Records and repetitions of 40 chaotic rows, whose losses differ by noise without a mean."""
    noise = np.random.default_rng(0).normal(size=40)
    noise -= noise.mean()
    rows = [ROW | {"method": "joint", "seed": seed} for seed in range(40)]
    records = STUDY.frame(rows)
    return records, records.assign(loss=records["loss"] + 0.01 * noise)


def test_means_of_chaotic_rows_agree_within_tolerance_and_four_standard_errors(frames):
    records, repeated = frames
    means = {mean.column: mean for mean in compare_means(STUDY, records, repeated)}
    assert set(means) == {"evidence", "error", "loss"}, "columns without a tolerance have no mean to compare"
    error = float(np.std(repeated["loss"] - records["loss"], ddof=1) / np.sqrt(40))
    assert means["loss"].error == pytest.approx(error) and means["loss"].agree
    least = 1e-3 + 5e-4  # the tolerance, and half the last of three digits
    for shift, agree in ((least + 3.99 * error, True), (least + 4.01 * error, False)):
        shifted = repeated.assign(loss=repeated["loss"] + shift)
        result = {mean.column: mean.agree for mean in compare_means(STUDY, records, shifted)}
        assert result == {"evidence": True, "error": True, "loss": agree}


def test_a_tolerance_of_single_rows_is_none_of_means(frames):
    """One test point more in every row is no rounding."""
    records, _ = frames
    means = {
        m.column: m for m in compare_means(STUDY, records, records.assign(error=records["error"] + 0.05))
    }
    assert not means["error"].agree and means["loss"].agree


def test_digits_that_a_file_leaves_out_are_no_difference_of_means(frames):
    records = frames[0].assign(error=0.123457)
    for difference, agree in ((4e-7, True), (6e-7, False)):
        means = compare_means(STUDY, records, records.assign(error=records["error"] + difference))
        assert {mean.column: mean.agree for mean in means}["error"] == agree


def test_differences_name_rows_and_means(frames):
    records, repeated = frames
    agreement = compare_frames(STUDY, records, repeated)
    assert [row.status for row in agreement.rows].count(CHAOTIC) > 30 and agreement.differences == []
    worse = compare_frames(STUDY, records, repeated.assign(loss=repeated["loss"] + 0.1))
    assert worse.differences == ["joint: mean loss by 0.1"]
    exact = records.assign(method="closed form")
    (text,) = compare_frames(STUDY, exact[:1], exact[:1].assign(loss=0.5)).differences
    assert text == "method closed form, seed 0: loss by 0.25"


def test_opposite_shifts_of_two_groups_do_not_cancel(frames):
    records, repeated = frames
    both = pd.concat([records, records.assign(method="joint too")], ignore_index=True)
    up, down = (repeated.assign(loss=repeated["loss"] + shift) for shift in (0.1, -0.1))
    shifted = pd.concat([up, down.assign(method="joint too")], ignore_index=True)
    assert compare_frames(STUDY, both, shifted).differences == [
        "joint: mean loss by 0.1",
        "joint too: mean loss by -0.1",
    ]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.file)
def test_every_study_can_disagree(study):
    """One whose rows may be chaotic has a column whose mean is compared, one with optima an objective."""
    may_be = inspect.getsource(study.kind) if callable(study.kind) else study.kind
    compared = [c for name, c in study.floats.items() if c.compared and name not in study.key]
    assert "chaotic" not in may_be or study is MAP or any(c.tolerance is not None for c in compared)
    assert "optimum" not in may_be or study.objective
