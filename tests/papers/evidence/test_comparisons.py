"""Statuses of lines of the audit from estimates of their effects."""

import numpy as np
import pytest

from papers.evidence import comparisons
from papers.evidence.statistics import Estimate
from papers.evidence.verdicts import NO, UNDECIDED, YES

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
    assert status(comparisons.similar, mean, se) == expected


@pytest.mark.parametrize(
    "mean, se, expected",
    [(0.5, 0.1, YES), (3.0, 1.0, YES), (0.0, 0.1, YES), (-0.1, 0.1, YES), (1.0, 1.5, UNDECIDED),
     (-0.02, 0.001, YES), (-0.5, 0.1, YES), (-0.79, 0.1, YES),  # significantly below 0 by less than 1
     (-0.81, 0.1, UNDECIDED), (-1.1, 0.1, UNDECIDED), (-1.19, 0.1, UNDECIDED), (0.0, 1.0, UNDECIDED),
     (-1.21, 0.1, NO), (-3.0, 1.0, NO), (-1.01, 0.001, NO), (-3.0, 1.1, UNDECIDED)],
)  # fmt: skip
def test_not_lower(mean, se, expected):
    assert status(comparisons.not_lower, mean, se) == expected


@pytest.mark.parametrize(
    "mean, se, expected",
    [(0.5, 0.1, YES), (3.0, 1.0, YES), (0.02, 0.001, YES), (-0.5, 0.1, NO), (0.0, 0.1, NO),
     (0.0, 1.0, UNDECIDED)],
)  # fmt: skip
def test_higher(mean, se, expected):
    assert status(comparisons.higher, mean, se) == expected


@pytest.mark.parametrize(
    "mean, se, expected",
    [(3.0, 1.0, YES), (0.95, 0.1, YES), (0.5, 0.1, NO), (0.02, 0.001, NO), (-0.5, 0.1, NO), (-3.0, 1.0, NO),
     (0.0, 0.1, NO), (0.0, 1.0, UNDECIDED)],
)  # fmt: skip
def test_a_difference_shown_not_to_matter_is_not_noticeable(mean, se, expected):
    assert status(comparisons.noticeably_higher, mean, se) == expected


def test_directions_rest_on_the_adjusted_p_and_non_inferiority_on_the_interval():
    assert status(comparisons.higher, 0.21, 0.1) == YES  # p 0.036
    assert status(comparisons.higher, 0.21, 0.1, p=0.06) == NO
    for p in (0.0, 0.06, 1.0):
        assert status(comparisons.not_lower, -0.5, 0.1, p) == YES
        assert status(comparisons.not_lower, -1.0, 0.1, p) == UNDECIDED
        assert status(comparisons.not_lower, -1.5, 0.1, p) == NO


@pytest.mark.parametrize(
    "values, note",
    [([0.1, 0.2], "no interval from 2 splits"), ([0.1] * 3, "no interval from 3 splits of one value")],
)
def test_degenerate_intervals_are_refused(values, note):
    """Three splits with one winner said "[100, 100], p < 0.0001"."""
    others = np.linspace(0.1, 0.2, 9)
    drafts = [
        comparisons.Draft("A", "q", "nats", np.array(values), np.array(values), 1e-3, comparisons.higher),
        comparisons.Draft("B", "q", "nats", others, others, 1e-3, comparisons.higher),
    ]
    refused, other = comparisons.tested(drafts)
    assert refused.sample.status == refused.general.status == UNDECIDED and refused.n == len(values)
    assert np.isnan(refused.sample.low) and refused.note == note and refused.effect == np.mean(values)
    assert other.sample.status == YES and other.sample.p_holm == other.sample.p  # a family of one
