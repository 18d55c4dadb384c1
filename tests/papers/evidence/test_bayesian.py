"""The Bayesian reading of comparisons across rows."""

from dataclasses import replace

import numpy as np
import pytest

from papers.evidence import bayesian, comparisons
from papers.evidence.comparisons import Draft
from papers.evidence.verdicts import NO, UNDECIDED, YES, Block, Finding

M = 1e-3


def block(effects, judge=comparisons.higher, spread=1e-5):
    """A row an effect, of nine units around it."""
    units = spread * np.linspace(-1.0, 1.0, 9)
    drafts = [
        Draft(f"row {k}", "EP - QP", "nats", effect + units, effect + units, M, judge)
        for k, effect in enumerate(effects)
    ]
    return Block("as reported", "t", tuple(comparisons.tested(drafts)))


def read(*blocks):
    return bayesian.readings([Finding("QP2", "as-released", blocks)])


def test_probabilities_by_hand():
    """One row above the region beside the prior's half a row at zero, inside: Dirichlet weights w, 1 - w.

    Sums of two draws are above twice the margin where both are the row, or one of them and the effect is
    above twice the margin; w has the distribution Beta(1, 1/2).
    """
    below, within, above = bayesian.probabilities([1.5 * M], M)
    assert below == 0.0  # above needs w^2 > 1 / 2: P = (1 - 2^-0.5)^0.5
    assert above == pytest.approx((1 - 0.5**0.5) ** 0.5, abs=0.015) and within == pytest.approx(1 - above)
    assert bayesian.probabilities([5 * M], M)[2] == pytest.approx((0.5**0.5) ** 0.5, abs=0.015)
    assert bayesian.probabilities([-5 * M], M)[0] == bayesian.probabilities([5 * M], M)[2]


@pytest.mark.parametrize(
    "judge, effect, expected",
    [
        ("higher", 5 * M, YES),
        ("higher", -5 * M, NO),
        ("higher", 0.1 * M, NO),
        ("noticeably_higher", 5 * M, YES),
        ("similar", 0.1 * M, YES),
        ("similar", 5 * M, NO),
        ("not_lower", 0.1 * M, YES),
        ("not_lower", 5 * M, YES),
        ("not_lower", -5 * M, NO),
    ],
)
def test_what_speaks_for_a_claim(judge, effect, expected):
    (reading,) = read(block([effect] * 10, getattr(comparisons, judge)))
    assert (reading.bayesian, reading.rows, reading.margin) == (expected, 10, M)


def test_rows_that_disagree_are_undecided():
    (reading,) = read(block([5 * M, -5 * M] * 4))
    assert reading.bayesian == UNDECIDED and abs(reading.above - reading.below) < 0.05


def test_too_few_rows_are_left_out_and_differences_come_first():
    assert read(block([5 * M] * 4)) == []
    every = read(block([5 * M] * 6), block([1.2 * M] * 4 + [-9 * M] * 3))
    page = bayesian.markdown(every)
    assert [reading.bayesian for reading in every] == [YES, UNDECIDED]
    assert [reading.audit for reading in every] == ["holds", "holds in part"]
    assert "differ: 1 of 2 comparisons" in page and page.count("| QP2") == 3


def test_a_share_is_compared_by_its_excess_over_one_half():
    units = np.linspace(-1e-5, 1e-5, 9)
    drafts = [
        Draft(f"row {k}", "won", "share", 0.3 + units, 0.3 + units, M, comparisons.higher, offset=0.5)
        for k in range(6)
    ]
    lines = tuple(comparisons.tested(drafts))
    assert lines[0].effect == pytest.approx(0.8)
    (reading,) = read(Block("won", "t", lines))
    assert reading.above > 0.95
    small = [replace(draft, sample=draft.sample - 0.3, general=draft.sample - 0.3) for draft in drafts]
    (reading,) = read(Block("won", "t", tuple(comparisons.tested(small))))
    assert reading.within > 0.95


def test_the_audit_beside_is_of_the_same_lines():
    against = block([5 * M] * 6)
    units = -5 * M + 1e-5 * np.arange(9)
    other = [Draft("row 0", "VB - EP", "nats", units, units, M, comparisons.higher)]
    mixed = replace(against, lines=(*against.lines, *comparisons.tested(other)), universal=True)
    assert mixed.verdict == "does not hold"
    (reading,) = read(mixed)
    assert reading.audit == "holds"


def test_ratios_are_compared_by_their_logarithms():
    logs = np.linspace(-0.01, 0.01, 9)
    drafts = [
        Draft(f"row {k}", "sweeps", "factor", logs, logs, np.log(1.25), comparisons.similar) for k in range(6)
    ]
    lines = [replace(line, effect=np.exp(line.effect)) for line in comparisons.tested(drafts)]
    (reading,) = read(Block("sweeps", "t", tuple(lines)))
    assert reading.within > 0.95 and reading.bayesian == YES


def test_only_rows_that_are_data_sets_and_enough_of_them_are_read():
    lines = block([5 * M] * 6)
    assert bayesian.readings([Finding("PEP1", "as-described", (lines,))]) == []
    (reading,) = read(replace(lines, needs={"units": 20}))
    assert (reading.audit, reading.bayesian) == ("not enough run", YES)
    assert "differ: 0 of 1" in bayesian.markdown([reading])
