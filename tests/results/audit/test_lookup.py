"""QP8 and QP9 from studies whose answer is known."""

import math

import pytest

from tilted.results.audit import lookup
from tilted.results.audit.verdicts import (
    FAILS,
    HOLDS,
    IN_PART,
    MISSING,
    NO,
    SHOWN,
    UNDECIDED,
    UNTESTABLE,
    YES,
)
from tilted.results.published import ROWS
from tilted.results.studies import EFFECT, TIMING, read

OTHERS = [name for name in ROWS if name not in (*lookup.HIGH_DIMENSIONAL, "coal")]


@pytest.mark.parametrize(
    "ratio, jitter, expected",
    [(1.0, 0.02, HOLDS), (1.2, 0.01, HOLDS), (1 / 1.2, 0.01, HOLDS), (1.3, 0.01, FAILS), (20.0, 0.01, FAILS),
     (1 / 1.3, 0.01, FAILS), (1.0, 0.5, FAILS)],
)  # fmt: skip
def test_same_time(studies, ratio, jitter, expected):
    table, quadrature = lookup.same_time(studies["timing"](ratio, jitter), "as-released")
    assert table.verdict == quadrature.verdict == expected
    assert table.decisive.effect == pytest.approx(ratio)


def test_the_lookup_table_decides(studies):
    timing = studies["timing"]()
    timing.loc[timing["method"] == "qp", "seconds"] *= 30
    table, quadrature = lookup.same_time(timing, "as-released")
    assert (table.verdict, quadrature.verdict) == (HOLDS, FAILS)
    slow = (timing["method"] == "qp-lookup") & timing["dataset"].isin(["pima", "sonar"])
    timing.loc[slow, "seconds"] *= 2
    timing.loc[slow, "sweeps"] *= 3
    table = lookup.same_time(timing, "as-released")[0]
    assert table.verdict == IN_PART
    assert {line.row for line in table.lines if line.sample.status == "no"} == {"Pima", "Sonar"}
    assert table.lines[2].note == "sweeps in the ratio 3.00"


def test_times_are_missing(studies):
    for timing in (None, studies["timing"](protocol="corrected"), studies["timing"](methods=("ep", "qp"))):
        block = lookup.same_time(timing, "as-released")[0]
        assert block.verdict == UNTESTABLE and "timing.csv" in block.remark
    timing = studies["timing"]()
    timing.loc[
        (timing["dataset"] == "glass") & (timing["method"] == "ep") & (timing["seed"] > 0), "seconds"
    ] = None
    line = next(x for x in lookup.same_time(timing, "as-released")[0].lines if x.row == "Glass")
    assert (line.sample.status, line.note) == ("no data", "1 fold timed")


@pytest.mark.parametrize(
    "lost, moved, bad, expected",
    [
        (["ionosphere", "sonar"], [], 3, YES),
        (["ionosphere"], ["sonar"], 3, YES),
        (["ionosphere"], [], 1, UNDECIDED),  # 1 of 200 is not more than 0 of 700
        (["sonar", "pima", "crabs"], [], 3, UNDECIDED),  # 3 of 200 and 6 of 700
        (["ionosphere", "sonar", *OTHERS], [], 9, NO),  # as often everywhere
        (["sonar", *OTHERS], [], 9, NO),
        (["pima", "crabs"], [], 3, NO),
        ([], ["ionosphere", "sonar"], 9, NO),  # another NTLL is not instability
        ([], [], 1, NO),
    ],
)
def test_unstable(studies, lost, moved, bad, expected):
    effect = studies["effect"](lost, moved, cells=100, bad=bad)
    described, certified = lookup.unstable(effect, "as-described")
    pooled, few, *apart = described.lines
    high = len({"ionosphere", "sonar"} & set(lost))
    assert (pooled.row, pooled.n, pooled.sample.status) == ("IonoS and Sonar", 200, expected)
    assert (described.verdict, certified.verdict) == (HOLDS if expected == YES else FAILS, FAILS)
    assert pooled.effect == pytest.approx(high * bad / 200)
    assert (few.row, few.n) == ("at most 13 features", 700)
    assert few.effect == pytest.approx((len(lost) - high) * bad / 700)
    assert [line.row for line in apart] == [ROWS[x] for x in (*lookup.HIGH_DIMENSIONAL, *OTHERS)]
    assert {line.sample.status for line in (few, *apart)} == {SHOWN}
    assert sum(line.effect > 0 for line in apart) == len(lost)


def test_the_share_is_compared_with_that_of_the_other_rows(studies):
    effect = studies["effect"](["ionosphere", "sonar"], cells=100, bad=3)
    p = lookup.unstable(effect, "as-described")[0].lines[0].sample.p
    assert p == pytest.approx(math.comb(200, 6) / math.comb(900, 6))  # all six among the 200
    alone = effect[effect["dataset"].isin(lookup.HIGH_DIMENSIONAL)]
    block = lookup.unstable(alone, "as-described")[0]
    assert block.verdict == UNTESTABLE and block.lines[0].note.startswith("no fits with few features; ")


@pytest.mark.parametrize(
    "cells, expected",
    [(10, UNTESTABLE), (35, UNTESTABLE), (36, FAILS), (100, FAILS)],  # 5.1 % of 70, 4.99 % of 72
)
def test_none_lost_of_too_few_is_no_data(studies, cells, expected):
    """0 of 20 may be 17 %, 0 of 200 at most 1.8 %."""
    block = lookup.unstable(studies["effect"](cells=cells), "as-described")[0]
    pooled, _, *apart = block.lines
    assert (pooled.n, pooled.effect, block.verdict) == (2 * cells, 0.0, expected)
    assert pooled.sample.status == (MISSING if expected == UNTESTABLE else NO)
    assert pooled.sample.high == pytest.approx(1 - 0.025 ** (1 / pooled.n))
    assert len(apart) == 9  # shown, however few


def test_a_lost_fit_is_one_that_quadrature_solves(studies):
    effect = studies["effect"](lost=["ionosphere", "sonar"])
    assert lookup.unstable(effect, "as-described")[0].lines[0].effect == pytest.approx(2 / 40)
    effect.loc[(effect["projection"] == "quadrature") & (effect["seed"] == 3), "converged"] = False
    line = lookup.unstable(effect, "as-described")[0].lines[0]
    assert (line.effect, line.n) == (0.0, 38)
    assert line.note == (
        "38 fits, too few to tell; 19 seeds; 0 not converged; 0 moved; 5 % of all sites outside"
    )


def test_moved_fits_are_told_with_their_sites_outside_the_box(studies):
    effect = studies["effect"](moved=["sonar"], cells=100, bad=2)
    table = (effect["projection"] == "as-described") & (effect["dataset"] == "ionosphere")
    effect.loc[table, "ntll"] -= 0.9e-3  # less than matters
    note = lookup.unstable(effect, "as-described")[0].lines[0].note
    assert "0 not converged; 2 moved, 90 % of their sites outside the box; 6 % of all sites outside" in note
    effect.loc[table, "ntll"] -= 0.2e-3
    assert "102 moved, 7 % of their sites" in lookup.unstable(effect, "as-described")[0].lines[0].note


def test_the_effect_is_missing(studies):
    for effect in (None, studies["effect"]()):
        block = lookup.unstable(effect, "corrected")[0]
        assert block.verdict == UNTESTABLE and "lookup_effect.csv" in block.remark
        assert ("has no fits" in block.remark) == (effect is not None)


def test_studies_are_read_and_checked(studies, tmp_path):
    assert read(None, TIMING) is None
    assert read(tmp_path, TIMING) is None
    timing, effect = studies["timing"](), studies["effect"](lost=["sonar"])
    timing.to_csv(tmp_path / TIMING, index=False)
    effect.to_csv(tmp_path / EFFECT, index=False)
    assert len(read(tmp_path, TIMING)) == len(timing)
    assert not read(tmp_path, EFFECT)["converged"].all()
    timing.drop(columns="sweeps").to_csv(tmp_path / TIMING, index=False)
    with pytest.raises(ValueError, match="no column sweeps"):
        read(tmp_path, TIMING)
    timing.iloc[[0, 0]].to_csv(tmp_path / TIMING, index=False)
    with pytest.raises(ValueError, match="two lines"):
        read(tmp_path, TIMING)
    effect.assign(converged="maybe").to_csv(tmp_path / EFFECT, index=False)
    with pytest.raises(ValueError, match="converged"):
        read(tmp_path, EFFECT)
