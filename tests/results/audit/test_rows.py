"""Statuses of rows of scores, and families of tests."""

import pytest

from tilted.results.audit import rows
from tilted.results.audit.verdicts import MISSING, NO, SHOWN, UNDECIDED, YES
from tilted.results.statistics import Estimate

M = 1.0


def status(judge, mean, standard_error=0.1, p=None):
    """Status with 1000 degrees of freedom, so that an interval is mean ± 1.96 standard errors."""
    estimate = Estimate(mean, 1.0, standard_error, 1000, 1001)
    return judge(estimate, estimate.p_different() if p is None else p, estimate.p_equivalent(M), M)


@pytest.mark.parametrize(
    "mean, se, expected",
    [(0.0, 0.1, YES), (0.5, 0.1, YES), (-0.5, 0.1, YES), (0.9, 0.1, UNDECIDED), (0.0, 1.0, UNDECIDED),
     (1.5, 0.1, NO), (-1.5, 0.1, NO), (1.1, 0.1, UNDECIDED)],
)  # fmt: skip
def test_similar(mean, se, expected):
    assert status(rows.similar, mean, se) == expected


@pytest.mark.parametrize(
    "mean, se, expected",
    [(0.5, 0.1, YES), (3.0, 1.0, YES), (0.0, 0.1, YES), (-0.1, 0.1, YES), (1.0, 1.5, UNDECIDED),
     (-0.02, 0.001, YES), (-0.5, 0.1, YES), (-0.79, 0.1, YES),  # significantly below 0 by less than 1
     (-0.81, 0.1, UNDECIDED), (-1.1, 0.1, UNDECIDED), (-1.19, 0.1, UNDECIDED), (0.0, 1.0, UNDECIDED),
     (-1.21, 0.1, NO), (-3.0, 1.0, NO), (-1.01, 0.001, NO), (-3.0, 1.1, UNDECIDED)],
)  # fmt: skip
def test_not_lower(mean, se, expected):
    assert status(rows.not_lower, mean, se) == expected


@pytest.mark.parametrize(
    "mean, se, expected",
    [(0.5, 0.1, YES), (3.0, 1.0, YES), (0.02, 0.001, YES), (-0.5, 0.1, NO), (0.0, 0.1, NO),
     (0.0, 1.0, UNDECIDED)],
)  # fmt: skip
def test_higher(mean, se, expected):
    assert status(rows.higher, mean, se) == expected


@pytest.mark.parametrize(
    "mean, se, expected",
    [(3.0, 1.0, YES), (0.95, 0.1, YES), (0.5, 0.1, NO), (0.02, 0.001, NO), (-0.5, 0.1, NO), (-3.0, 1.0, NO),
     (0.0, 0.1, NO), (0.0, 1.0, UNDECIDED)],
)  # fmt: skip
def test_a_difference_shown_not_to_matter_is_not_noticeable(mean, se, expected):
    assert status(rows.noticeably_higher, mean, se) == expected


def test_directions_rest_on_the_adjusted_p_and_non_inferiority_on_the_interval():
    assert status(rows.higher, 0.21, 0.1) == YES  # p 0.036
    assert status(rows.higher, 0.21, 0.1, p=0.06) == NO
    for p in (0.0, 0.06, 1.0):
        assert status(rows.not_lower, -0.5, 0.1, p) == YES
        assert status(rows.not_lower, -1.0, 0.1, p) == UNDECIDED
        assert status(rows.not_lower, -1.5, 0.1, p) == NO


def test_a_family_is_adjusted_together(fits):
    # p of 8 seeds with mean = k standard errors; sd 1e-4 gives standard error 1e-4 / sqrt(8)
    frame = fits(ntll={"ep": (3e-4 / 8**0.5, 1e-4)})
    alone = rows.tested(
        rows.drafts(frame, ["crabs"], "EP - QP", "ep", "qp", rows.NTLL), rows.NTLL, rows.higher
    )
    assert alone[0].sample.p == pytest.approx(alone[0].sample.p_holm) == pytest.approx(0.0199, abs=1e-4)
    assert alone[0].sample.status == YES
    names = ["crabs", "sonar", "glass"]
    family = rows.tested(rows.drafts(frame, names, "EP - QP", "ep", "qp", rows.NTLL), rows.NTLL, rows.higher)
    assert [x.sample.p_holm for x in family] == pytest.approx([3 * alone[0].sample.p] * 3)
    assert [x.sample.status for x in family] == [NO] * 3  # no difference after Holm, equivalence shown


def test_a_line_has_both_estimands(fits):
    frame = fits(ntll={"ep": (5e-4, 1e-4)})
    (line,) = rows.tested(
        rows.drafts(frame, ["crabs"], "EP - QP", "ep", "qp", rows.NTLL), rows.NTLL, rows.not_lower
    )
    assert line.effect == pytest.approx(5e-4) and line.sd == pytest.approx(1e-4)
    assert (line.n, line.n_folds, line.row, line.quantity) == (8, 80, "Crabs", "EP - QP, NTLL")
    half = 2.364624 * 1e-4 / 8**0.5
    assert (line.sample.low, line.sample.high) == pytest.approx((5e-4 - half, 5e-4 + half))
    # 80 equal-in-seed differences: S^2 = 1e-8 * 70 / 79; factor 1/80 + 1/9
    general = 1.990450 * 1e-4 * (70 / 79 * (1 / 80 + 1 / 9)) ** 0.5
    assert (line.general.low, line.general.high) == pytest.approx((5e-4 - general, 5e-4 + general), rel=1e-5)
    assert line.p_sign == pytest.approx(2 / 2**8) == pytest.approx(line.p_signed_rank)


def test_one_seed_is_no_data_and_troubles_are_noted(fits):
    frame = fits(seeds=3, rows=("crabs", "sonar"))
    frame.loc[(frame["dataset"] == "crabs") & (frame["seed"] > 0) & (frame["fold"] == 4), "outcome"] = (
        "failed"
    )
    frame.loc[(frame["dataset"] == "sonar") & (frame["fold"] == 4), "outcome"] = "not converged"
    names = ["crabs", "sonar", "glass"]
    lines = rows.tested(
        rows.drafts(frame, names, "EP - QP", "ep", "qp", rows.NTLL), rows.NTLL, rows.not_lower
    )
    assert [line.sample.status for line in lines] == [MISSING, YES, MISSING]
    assert [line.note for line in lines] == [
        "1 complete seed; 2 seeds left out", "3 folds not converged", "0 complete seeds",
    ]  # fmt: skip
    assert [x.row for x in rows.shown(lines)] == ["Sonar"]
    assert rows.shown(lines)[0].sample.status == SHOWN
