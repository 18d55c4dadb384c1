"""QP8 and QP9 from studies whose answer is known."""

import pytest

from tilted.results.audit import lookup
from tilted.results.audit.verdicts import FAILS, HOLDS, IN_PART, SHOWN, UNTESTABLE


@pytest.mark.parametrize(
    "ratio, jitter, expected",
    [(1.0, 0.02, HOLDS), (1.2, 0.01, HOLDS), (1 / 1.2, 0.01, HOLDS), (1.3, 0.01, FAILS), (20.0, 0.01, FAILS),
     (1 / 1.3, 0.01, FAILS), (1.0, 0.5, UNTESTABLE)],
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
    assert (line.sample.status, line.note) == ("no data", "1 folds timed")


@pytest.mark.parametrize(
    "lost, moved, expected",
    [
        (["ionosphere"], ["sonar"], HOLDS),
        (["ionosphere", "sonar"], [], HOLDS),
        (["ionosphere"], [], FAILS),  # one of two is no majority
        ([], ["pima", "crabs"], FAILS),  # not high-dimensional
        ([], [], FAILS),
    ],
)
def test_unstable(studies, lost, moved, expected):
    described, certified = lookup.unstable(studies["effect"](lost, moved), "as-described")
    assert (described.verdict, certified.verdict) == (expected, FAILS)
    spoiled = [line.row for line in described.lines if line.effect > 0]
    assert len(spoiled) == len(lost) + len(moved)
    assert {line.row for line in described.lines if line.sample.status != SHOWN} == {"IonoS", "Sonar"}


def test_a_spoiled_fit_is_one_that_quadrature_solves(studies):
    effect = studies["effect"](lost=["ionosphere", "sonar"])
    assert lookup.unstable(effect, "as-described")[0].lines[0].effect == pytest.approx(1 / 20)
    effect.loc[(effect["projection"] == "quadrature") & (effect["seed"] == 3), "converged"] = False
    line = lookup.unstable(effect, "as-described")[0].lines[0]
    assert (line.effect, line.n) == (0.0, 19)
    assert line.note == "0 not converged, 0 moved; 5 % of sites outside the box"


def test_moves_below_the_margin_do_not_count(studies):
    effect = studies["effect"]()
    table = effect["projection"] == "as-described"
    effect.loc[table, "ntll"] += 0.9e-3
    assert lookup.unstable(effect, "as-described")[0].verdict == FAILS
    effect.loc[table, "ntll"] -= 2e-3
    assert lookup.unstable(effect, "as-described")[0].verdict == HOLDS


def test_the_effect_is_missing(studies):
    for effect in (None, studies["effect"]()):
        block = lookup.unstable(effect, "corrected")[0]
        assert block.verdict == UNTESTABLE and "lookup_effect.csv" in block.remark


def test_studies_are_read_and_checked(studies, tmp_path):
    assert lookup.read(None, lookup.TIMING) is None
    assert lookup.read(tmp_path, lookup.TIMING) is None
    timing, effect = studies["timing"](), studies["effect"](lost=["sonar"])
    timing.to_csv(tmp_path / lookup.TIMING, index=False)
    effect.to_csv(tmp_path / lookup.EFFECT, index=False)
    assert len(lookup.read(tmp_path, lookup.TIMING)) == len(timing)
    assert not lookup.read(tmp_path, lookup.EFFECT)["converged"].all()
    timing.drop(columns="sweeps").to_csv(tmp_path / lookup.TIMING, index=False)
    with pytest.raises(ValueError, match="no column sweeps"):
        lookup.read(tmp_path, lookup.TIMING)
    timing.iloc[[0, 0]].to_csv(tmp_path / lookup.TIMING, index=False)
    with pytest.raises(ValueError, match="two lines"):
        lookup.read(tmp_path, lookup.TIMING)
    effect.assign(converged="maybe").to_csv(tmp_path / lookup.EFFECT, index=False)
    with pytest.raises(ValueError, match="converged"):
        lookup.read(tmp_path, lookup.EFFECT)
