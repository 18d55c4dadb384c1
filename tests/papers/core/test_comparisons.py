"""Statuses of lines of the audit from estimates of their effects."""

from dataclasses import replace

import numpy as np
import pytest

from papers.core import comparisons
from papers.core.statistics import Estimate
from papers.core.verdicts import NO, UNDECIDED, YES, Inference, Line

M = 1.0


def status(judge, mean, standard_error=0.1, p=None):
    """Status with 1000 degrees of freedom, so that an interval is mean ± 1.96 standard errors."""
    estimate = Estimate(mean, 1.0, standard_error, 1000, 1001)
    return judge(estimate, estimate.p_different() if p is None else p, estimate.p_equivalent(M), M)


@pytest.mark.parametrize(
    "mean, se, expected",
    [
        (0.0, 0.1, YES),
        (0.5, 0.1, YES),
        (-0.5, 0.1, YES),
        (0.9, 0.1, UNDECIDED),
        (0.0, 1.0, UNDECIDED),
        (1.5, 0.1, NO),
        (-1.5, 0.1, NO),
        (1.1, 0.1, UNDECIDED),
    ],
)
def test_similar(mean, se, expected):
    assert status(comparisons.similar, mean, se) == expected


@pytest.mark.parametrize(
    "mean, se, expected",
    [
        (0.5, 0.1, YES),
        (3.0, 1.0, YES),
        (0.0, 0.1, YES),
        (-0.1, 0.1, YES),
        (1.0, 1.5, UNDECIDED),
        (-0.02, 0.001, YES),
        (-0.5, 0.1, YES),
        (-0.79, 0.1, YES),  # significantly below 0 by less than 1
        (-0.81, 0.1, UNDECIDED),
        (-1.1, 0.1, UNDECIDED),
        (-1.19, 0.1, UNDECIDED),
        (0.0, 1.0, UNDECIDED),
        (-1.21, 0.1, NO),
        (-3.0, 1.0, NO),
        (-1.01, 0.001, NO),
        (-3.0, 1.1, UNDECIDED),
    ],
)
def test_not_lower(mean, se, expected):
    assert status(comparisons.not_lower, mean, se) == expected


@pytest.mark.parametrize(
    "mean, se, expected",
    [
        (0.5, 0.1, YES),
        (3.0, 1.0, YES),
        (0.02, 0.001, YES),
        (-0.5, 0.1, NO),
        (0.0, 0.1, NO),
        (0.0, 1.0, UNDECIDED),
    ],
)
def test_higher(mean, se, expected):
    assert status(comparisons.higher, mean, se) == expected


@pytest.mark.parametrize(
    "mean, se, expected",
    [
        (3.0, 1.0, YES),
        (0.95, 0.1, YES),
        (0.5, 0.1, NO),
        (0.02, 0.001, NO),
        (-0.5, 0.1, NO),
        (-3.0, 1.0, NO),
        (0.0, 0.1, NO),
        (0.0, 1.0, UNDECIDED),
    ],
)
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


def test_lines_that_an_interval_decides_are_not_of_the_family():
    """Holm's factors are those of the others alone; ``adjust_intervals`` makes one family of all."""
    rng = np.random.default_rng(5)

    def draft(judge, shift):
        units = shift + 0.3 * rng.standard_normal(12)
        return comparisons.Draft("row", "effect", "nats", units, units, 0.1, judge)

    beside = draft(comparisons.not_lower, 0.05)
    first, last = draft(comparisons.higher, 0.6), draft(comparisons.similar, 0.02)
    mixed, alone = comparisons.tested([first, beside, last]), comparisons.tested([first, last])
    assert [mixed[0], mixed[2]] == alone
    assert np.isnan(mixed[1].sample.p_holm) and 0 < mixed[1].sample.p < 1
    every = comparisons.tested([first, beside, last], adjust_intervals=True)
    assert every[0].sample.p_holm == pytest.approx(1.5 * alone[0].sample.p_holm)  # three lines, not two


def test_a_share_and_its_interval_lie_between_0_and_1():
    units = np.array([0.5, 0.5, 0.4, 0.5, 0.2])
    for sign in (1, -1):
        draft = comparisons.Draft(
            "row", "better", "share", sign * units, sign * units, 0.1, comparisons.higher
        )
        (line,) = comparisons.tested([replace(draft, offset=0.5)])
        (plain,) = comparisons.tested([replace(draft, offset=0.5, unit="nats")])
        ends = plain.sample.low, plain.sample.high
        assert min(ends) < 0 or max(ends) > 1
        assert (line.sample.low, line.sample.high) == (max(ends[0], 0.0), min(ends[1], 1.0))


def test_the_worst_of_equal_statuses_is_the_smallest_effect():
    lines = [Line("row", "x", "nats", effect, sample=Inference(YES)) for effect in (0.2, 0.1, 0.3)]
    assert comparisons.Group(lines).line().effect == 0.1
    assert comparisons.Group(lines, every=False).line().effect == 0.3
    assert comparisons.Group([*lines, replace(lines[0], sample=Inference(NO))]).line().sample.status == NO
