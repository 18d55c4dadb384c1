"""The rule from rows to a verdict."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from papers.core import claims
from papers.core.verdicts import (
    FAILS,
    HOLDS,
    IN_PART,
    MISSING,
    NO,
    SHOWN,
    TOO_FEW,
    UNDECIDED,
    UNTESTABLE,
    YES,
    Block,
    Inference,
    Line,
    finding,
    verdict,
)

ROOT = Path(__file__).resolve().parents[3]


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
        (0, 0, 0, 9, TOO_FEW, TOO_FEW),
        (0, 0, 0, 0, TOO_FEW, TOO_FEW),
    ],
)
def test_rule(yes, no, undecided, missing, expected, universal):
    rows = [YES] * yes + [NO] * no + [UNDECIDED] * undecided + [MISSING] * missing
    assert (verdict(rows), verdict(rows, universal=True)) == (expected, universal)


def line(row, status, effect=0.0, general=MISSING, low=math.nan, n=0):
    return Line(row, "q", "nats", effect, sample=Inference(status), general=Inference(general, low), n=n)


def block(*lines):
    return Block("b", "t", lines)


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
    assert block(line("A", YES, low=-1.0)).general_verdict == TOO_FEW
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
    few = Block("b", "t", rows, covered={"sets": 3})
    assert few.coverage == {"rows": 2, "units": 7, "sets": 3}
    ours = finding("Q", "p", [few, few])
    assert (ours.verdict, ours.blocks[0].lacking) == (TOO_FEW, {"units": (7, 20)})
    assert ours.blocks[1].verdict == IN_PART  # what stands beside decides nothing
    assert finding("Q", "few", [few]).verdict == IN_PART
    assert finding("Q", "few", [replace(few, covered={})]).blocks[0].lacking == {"sets": (0, 3)}
    assert finding("Q", "few", [replace(few, lines=rows[1:])]).blocks[0].lacking == {"rows": (1, 2)}


def test_one_row_decides_a_universal_claim(claim):
    rows = Block("b", "t", (line("A", YES), line("B", YES), line("C", NO)))
    claim(coverage={}, universal=False)
    assert finding("Q", "p", [rows]).verdict == IN_PART
    claim(coverage={}, universal=True)
    assert [block.verdict for block in finding("Q", "p", [rows, rows]).blocks] == [FAILS, FAILS]


def test_where_part_of_a_claim_is_universal_one_row_of_that_part_decides(claim):
    claim(coverage={}, universal="always")
    others = line("B", YES), line("C", YES)
    apart, within = (Block("b", "t", (line(row, NO), *others)) for row in ("A", "A always"))
    verdicts = [finding("Q", "p", [block]).verdict for block in (apart, within)]
    assert verdicts == [IN_PART, FAILS]
    never = Block("b", "t", (line("A always", UNDECIDED), line("B", NO), line("C", YES)))
    assert finding("Q", "p", [never]).verdict == UNDECIDED


def test_the_universal_part_of_a_claim_has_rows():
    import pandas as pd

    rows = pd.read_csv(ROOT / "tables" / "audit_rows.csv").groupby("id")["row"].unique()
    parts = {name: of.universal for name, of in claims.load().items() if isinstance(of.universal, str)}
    assert parts and all(any(part in row for row in rows[name]) for name, part in parts.items())


def test_no_key_of_a_yaml_file_is_there_twice():
    """Of two, a reader of YAML keeps the last and says nothing: a change of a rule was lost so."""

    def keys(node):
        if isinstance(node, yaml.MappingNode):
            found = [key.value for key, _ in node.value]
            assert len(found) == len(set(found)), node.start_mark
        for child in node.value if not isinstance(node, yaml.ScalarNode) else ():
            for part in child if isinstance(child, tuple) else (child,):
                keys(part)

    files = [*ROOT.glob("src/**/*.yaml"), *ROOT.glob("config/*.yaml"), *ROOT.glob("data/*.yaml")]
    assert claims.FILE in files
    for file in files:
        keys(yaml.compose(file.read_text(encoding="utf-8")))
    with pytest.raises(AssertionError):
        keys(yaml.compose("a: {b: 1, c: 2, b: 3}"))


def test_what_no_data_could_decide_comes_first(claim):
    claim(coverage={"rows": 9})
    block = Block("b", "t", (line("A", NO),), untestable="the times are of other code")
    assert finding("Q", "p", [block]).verdict == UNTESTABLE


@pytest.mark.parametrize(
    "best, unit, worst",
    [(math.inf, "nats", 0.4), (-math.inf, "nats", 2.0), (1.0, "nats", 2.0), (1.0, "factor", 0.4)],
)
def test_a_claim_is_worst_off_farthest_from_where_it_is_best_off(best, unit, worst):
    """Of ratios by their logarithms: 0.4 is farther from 1 than 2 is."""
    lines = [replace(line(f"{x}", YES, x, n=3), unit=unit) for x in (0.4, 1.1, 2.0)]
    assert Block("b", "t", tuple(lines), best=best).decisive.effect == worst
