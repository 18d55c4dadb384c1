"""The rule from rows to a verdict."""

import math

import pytest

from papers.evidence.verdicts import (
    FAILS,
    HOLDS,
    IN_PART,
    MISSING,
    NO,
    SHOWN,
    UNDECIDED,
    UNTESTABLE,
    YES,
    Block,
    Inference,
    Line,
    verdict,
)


@pytest.mark.parametrize(
    "yes, no, undecided, missing, expected",
    [
        (9, 0, 0, 0, HOLDS),
        (8, 1, 0, 0, IN_PART),
        (8, 0, 0, 1, IN_PART),  # not every row is known to be yes
        (8, 0, 1, 0, IN_PART),
        (5, 4, 0, 0, IN_PART),
        (5, 5, 0, 0, FAILS),  # half is no majority
        (4, 5, 0, 0, FAILS),
        (0, 9, 0, 0, FAILS),
        (4, 4, 1, 0, FAILS),  # an undecided row does not count for the claim
        (4, 0, 5, 0, FAILS),
        (0, 0, 9, 0, FAILS),
        (4, 0, 4, 1, UNTESTABLE),  # the row without data could give a majority
        (4, 0, 5, 1, FAILS),
        (4, 4, 0, 1, UNTESTABLE),
        (4, 5, 1, 0, FAILS),  # 5 of 10 would be no majority
        (0, 0, 0, 9, UNTESTABLE),
        (0, 0, 0, 0, UNTESTABLE),
    ],
)
def test_rule(yes, no, undecided, missing, expected):
    rows = [YES] * yes + [NO] * no + [UNDECIDED] * undecided + [MISSING] * missing
    assert verdict(rows) == expected


def line(row, status, effect=0.0, general=MISSING, low=math.nan):
    return Line(row, "q", "nats", effect, sample=Inference(status), general=Inference(general, low))


def block(*lines):
    return Block("b", "t", lines, float)


@pytest.mark.parametrize(
    "statuses, expected",
    [
        ((YES, YES), YES),
        ((YES, NO), NO),
        ((UNDECIDED, NO), NO),
        ((MISSING, NO), NO),
        ((UNDECIDED, YES), UNDECIDED),
        ((MISSING, YES), MISSING),
    ],
)
def test_a_row_is_yes_if_all_its_lines_are(statuses, expected):
    assert block(*(line("A", s) for s in statuses)).rows() == {"A": expected}


def test_rows_shown_beside_the_claim_do_not_count():
    one = block(line("A", YES), line("B", SHOWN))
    assert one.rows() == {"A": YES} and one.verdict == HOLDS
    assert one.decisive.row == "A"


def test_the_decisive_line_is_the_worst_off():
    lines = [line("A", YES, -5.0), line("B", NO, 2.0), line("C", NO, 3.0), line("D", MISSING)]
    assert block(*lines).decisive.row == "B"
    assert block(line("A", YES, 1.0), line("B", YES, -1.0)).decisive.row == "B"
    assert block(line("D", MISSING)).decisive is None


def test_both_estimands_have_their_verdict():
    one = block(line("A", YES, general=UNDECIDED, low=-1.0))
    assert one.has_general and (one.verdict, one.general_verdict) == (HOLDS, FAILS)
    assert block(line("A", YES, low=-1.0)).general_verdict == UNTESTABLE
    assert not block(line("A", YES)).has_general
