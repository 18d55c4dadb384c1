"""The rule from rows to a verdict."""

import math
from dataclasses import replace

import pytest

from papers.evidence import claims
from papers.evidence.verdicts import (
    FAILS,
    HOLDS,
    IN_PART,
    MISSING,
    NO,
    NOT_RUN,
    SHOWN,
    UNDECIDED,
    UNTESTABLE,
    YES,
    Block,
    Inference,
    Line,
    finding,
    verdict,
)


@pytest.mark.parametrize(
    "yes, no, undecided, missing, expected, universal",
    [
        (9, 0, 0, 0, HOLDS, HOLDS),
        (8, 1, 0, 0, IN_PART, FAILS),
        (8, 0, 0, 1, IN_PART, IN_PART),  # not every row is known to be yes
        (8, 0, 1, 0, IN_PART, IN_PART),
        (5, 4, 0, 0, IN_PART, FAILS),
        (5, 5, 0, 0, FAILS, FAILS),
        (4, 5, 0, 0, FAILS, FAILS),
        (0, 9, 0, 0, FAILS, FAILS),
        (1, 0, 0, 0, HOLDS, HOLDS),
        (0, 1, 0, 0, FAILS, FAILS),
        (4, 4, 1, 0, UNDECIDED, FAILS),  # no on less than half
        (4, 4, 0, 1, UNDECIDED, FAILS),
        (5, 4, 1, 0, UNDECIDED, FAILS),  # half is not more than half
        (4, 5, 1, 0, FAILS, FAILS),
        (4, 0, 5, 0, UNDECIDED, UNDECIDED),
        (0, 0, 6, 0, UNDECIDED, UNDECIDED),  # nothing contradicts
        (0, 0, 5, 1, UNDECIDED, UNDECIDED),
        (0, 0, 0, 9, NOT_RUN, NOT_RUN),
        (0, 0, 0, 0, NOT_RUN, NOT_RUN),
    ],
)
def test_rule(yes, no, undecided, missing, expected, universal):
    rows = [YES] * yes + [NO] * no + [UNDECIDED] * undecided + [MISSING] * missing
    assert (verdict(rows), verdict(rows, universal=True)) == (expected, universal)


def line(row, status, effect=0.0, general=MISSING, low=math.nan, n=0):
    return Line(row, "q", "nats", effect, sample=Inference(status), general=Inference(general, low), n=n)


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
    assert one.has_general and (one.verdict, one.general_verdict) == (HOLDS, UNDECIDED)
    assert block(line("A", YES, low=-1.0)).general_verdict == NOT_RUN
    assert not block(line("A", YES)).has_general


@pytest.fixture
def claim(monkeypatch):
    """A claim whose rule is that of the first, with changes."""

    first = claims.load()["QP1"]

    def rule(**changes):
        changed = {"Q": first._replace(**changes)}
        monkeypatch.setattr(claims, "load", lambda: changed)

    return rule


def test_below_the_least_that_may_decide_there_is_no_verdict(claim):
    claim(coverage={"rows": 2, "units": 20, "sets": 3}, coverage_of={"few": {"units": 5}})
    rows = line("A", YES, n=30), line("B", YES, n=7), line("C", MISSING), line("D", SHOWN, n=1)
    few = Block("b", "t", rows, float, covered={"sets": 3})
    assert few.coverage == {"rows": 2, "units": 7, "sets": 3}
    ours = finding("Q", "p", [few, few])
    assert (ours.verdict, ours.blocks[0].lacking) == (NOT_RUN, {"units": (7, 20)})
    assert ours.blocks[1].verdict == IN_PART  # what stands beside decides nothing
    assert finding("Q", "few", [few]).verdict == IN_PART
    assert finding("Q", "few", [replace(few, covered={})]).blocks[0].lacking == {"sets": (0, 3)}
    assert finding("Q", "few", [replace(few, lines=rows[1:])]).blocks[0].lacking == {"rows": (1, 2)}


def test_one_row_decides_a_universal_claim(claim):
    rows = Block("b", "t", (line("A", YES), line("B", YES), line("C", NO)), float)
    claim(coverage={}, universal=False)
    assert finding("Q", "p", [rows]).verdict == IN_PART
    claim(coverage={}, universal=True)
    assert [block.verdict for block in finding("Q", "p", [rows, rows]).blocks] == [FAILS, FAILS]


def test_what_no_data_could_decide_comes_first(claim):
    claim(coverage={"rows": 9})
    block = Block("b", "t", (line("A", NO),), float, untestable="the times are of other code")
    assert finding("Q", "p", [block]).verdict == UNTESTABLE
