"""What lookup tables do to fits: the fits, repeated, their table, and QP9 from studies of known answer."""

import math

import numpy as np
import pytest

from papers import data
from papers.core import records, runs, store
from papers.core.verdicts import FAILS, HOLDS, MISSING, NO, SHOWN, TOO_FEW, UNDECIDED, YES, finding
from papers.core.verify import Selection, verify
from papers.qp import fits as qp
from papers.qp import protocols
from papers.qp.lookup import effect as lookup_effect
from papers.qp.published import ROWS
from papers.qp.records import LOOKUP_EFFECT
from tilted.projections import table as lookup

OTHERS = [name for name in ROWS if name not in (*lookup_effect.HIGH_DIMENSIONAL, "coal")]


@pytest.fixture(scope="module")
def effects():
    """Two folds of Wine2 and one seed of the coal series."""
    lines = []
    for name, protocol, folds in (("wine13", "as-released", (0, 1)), ("coal", "as-described", (0,))):
        block = protocols.block(protocol, qp.task_of(name))
        dataset = data.load(name, block["variant"])
        records = [r for fold in folds for r in qp.run_fold(dataset, protocol, "ep", 0, fold)]
        kernels = {
            (r["seed"], r["fold"]): qp.kernel_at(r["hyperparameters"])
            for r in records
            if r["method"] == lookup_effect.start_of(protocol, name)
        }
        lines += lookup_effect.effects(dataset, protocol, kernels, lookup.build())
    return lines


def test_effects(effects):
    by = {(line["dataset"], line["fold"], line["projection"]): line for line in effects}
    names = ("quadrature", "certified", "as-described")
    assert set(by) == {("wine13", f, n) for f in (0, 1) for n in names} | {
        ("coal", 0, n) for n in names if n != "certified"
    }
    assert all(line["converged"] and 0 <= line["outside_box"] <= 1 for line in by.values())
    for fold in (0, 1):
        exact, certified, paper = (by["wine13", fold, name]["ntll"] for name in names)
        assert abs(certified - exact) < 1e-9 < abs(paper - exact) < 1e-3


def test_the_box_has_four_sides():
    """|mu| <= 10 and 0.1 <= sigma <= 10; each cavity but the first two violates one of them."""
    m = np.array([0.0, -9.9, 10.1, -10.1, 0.0, 0.0])
    v = np.array([1.0, 99.0, 1.0, 1.0, 101.0, 0.0099])
    assert lookup_effect.outside_box(m, v).tolist() == [False, False, True, True, True, True]


def test_effects_are_those_of_the_protocols_qp(effects):
    dataset = data.load("wine13", "as-released")
    ep = qp.run_fold(dataset, "as-released", "ep", 0, 1)[0]
    released = qp.run_fold(dataset, "as-released", "qp", 0, 1, ep)[0]
    assert effects[3]["ntll"] == pytest.approx(released["ntll"], abs=1e-9)


def test_the_table_compares_folds_on_which_both_converged(effects):
    lost = {**effects[-1], "seed": 5, "converged": False, "ntll": 99.0, "outside_box": None}
    none = {**lost, "seed": 6, "ntll": None}
    exact = [{**effects[-2], "seed": seed} for seed in (5, 6)]
    lines = [{**line, "run": "r"} for line in [*effects, *exact, lost, none]]
    effect = LOOKUP_EFFECT.sorted(LOOKUP_EFFECT.frame(lines))
    text = lookup_effect.section(effect)
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text.splitlines()]
    (mining,) = (row for row in cells if row[:3] == ["as-described", "Mining", "as-described"])
    assert mining[3:5] == ["1 of 3", "1 of 3"] and float(mining[5]) < 1e-3  # the unconverged 99 is left out
    (wine,) = (row for row in cells if row[:3] == ["as-released", "Wine2", "certified"])
    assert wine[3:5] == ["2 of 2", "2 of 2"] and (wine[5] == "< 1e-11" or float(wine[5]) < 1e-9)
    assert lookup_effect.unstable(effect, "as-released")[0].lines[0].note == "no fold that can tell"


@pytest.fixture
def results(effects, tmp_path):
    """The study, beside the fits that it starts from."""
    block = protocols.block("as-released", "classification")
    dataset = data.load("wine13", block["variant"])
    made = [
        {**record, "run": runs.stamp()}
        for fold in (0, 1)
        for record in qp.run_fold(dataset, "as-released", "ep", 0, fold)
    ]
    path = store.write_records(tmp_path / "data/fits/qp/as-released/wine13/ep.jsonl.gz", made)
    records.collect([path], tmp_path / "results")
    wine = [line for line in effects if line["dataset"] == "wine13"]
    records.put(tmp_path / "results", {LOOKUP_EFFECT: wine})
    return tmp_path / "results"


def test_rows_are_repeated_at_the_recorded_hyperparameters(results):
    found = verify([LOOKUP_EFFECT], results, Selection({}))
    assert [(row.rows, row.same) for row in found.groups] == [(6, 6)] and not found.missing
    frame = records.load(LOOKUP_EFFECT, results).drop(columns="run")
    frame.loc[0, "ntll"] += 1e-5
    frame.loc[1, "converged"] = False
    frame.loc[2, "outside_box"] += 0.01
    records.put(results, {LOOKUP_EFFECT: frame.to_dict("records")})
    differences = verify([LOOKUP_EFFECT], results, Selection({})).differences
    differing = [line.rpartition(": ")[2].split()[0] for line in differences]
    assert differing == ["ntll", "converged", "outside_box"]


def test_a_row_without_the_fit_it_starts_from_differs(results, effects):
    records.put(results, {LOOKUP_EFFECT: [{**effects[0], "fold": 9}]})
    found = verify([LOOKUP_EFFECT], results, Selection({"fold": ["9"]}))
    assert found.differences == ["qp/lookup_effect.csv: 1 rows were not made again"] and not found.groups


# QP9


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
    described, certified = lookup_effect.unstable(effect, "as-described")
    pooled, few, *apart = described.lines
    high = len({"ionosphere", "sonar"} & set(lost))
    assert (pooled.row, pooled.n, pooled.sample.status) == ("IonoS and Sonar", 200, expected)
    assert described.verdict == {YES: HOLDS, NO: FAILS, UNDECIDED: UNDECIDED}[expected]
    assert certified.verdict == FAILS and described.coverage == {"rows": 1, "units": 200, "sets": 2}
    assert pooled.effect == pytest.approx(high * bad / 200)
    assert (few.row, few.n) == ("at most 13 features", 700)
    assert few.effect == pytest.approx((len(lost) - high) * bad / 700)
    assert [line.row for line in apart] == [ROWS[x] for x in (*lookup_effect.HIGH_DIMENSIONAL, *OTHERS)]
    assert {line.sample.status for line in (few, *apart)} == {SHOWN}
    assert sum(line.effect > 0 for line in apart) == len(lost)


def outside(effect, dataset, seeds, share):
    """The share of sites that quadrature has outside the box, on the folds of some seeds."""
    here = (effect["dataset"] == dataset) & (effect["projection"] == "quadrature")
    effect.loc[here & effect["seed"].isin(seeds), "outside_box"] = share


def test_only_folds_with_few_sites_outside_the_box_can_tell(studies):
    """A tenth is few; what the table's own fit has outside does not matter."""
    effect = studies["effect"](["ionosphere", "sonar"], cells=40, bad=3)
    effect.loc[effect["projection"] == "as-described", "outside_box"] = 0.9
    outside(effect, "ionosphere", range(10), 0.11)  # the three lost ones among them
    outside(effect, "sonar", range(10), 0.1)
    described, certified = lookup_effect.unstable(effect, "as-described")
    assert (described.lines[0].n, described.lines[0].effect) == (70, pytest.approx(3 / 70))
    assert described.remark == "on IonoS 30 of 40 folds can tell; on Sonar 40 of 40 folds can tell"
    assert certified.lines[0].n == 80
    outside(effect, "pima", range(40), 0.5)
    low = lookup_effect.unstable(effect, "as-described")[0].lines[1]
    assert low.n == 6 * 40


def test_a_row_of_which_no_fold_can_tell_leaves_the_claim_not_run(studies):
    effect = studies["effect"](cells=40)
    outside(effect, "sonar", range(40), 1.0)
    blocks = lookup_effect.unstable(effect, "as-described")
    judged = finding("QP9", "as-described", blocks)
    assert (judged.verdict, judged.blocks[0].lacking) == (TOO_FEW, {"sets": (1, 2)})
    outside(effect, "sonar", [0], 0.0)
    judged = finding("QP9", "as-described", lookup_effect.unstable(effect, "as-described"))
    assert not judged.blocks[0].lacking


def test_the_share_is_compared_with_that_of_the_other_rows(studies):
    effect = studies["effect"](["ionosphere", "sonar"], cells=100, bad=3)
    p = lookup_effect.unstable(effect, "as-described")[0].lines[0].sample.p
    assert p == pytest.approx(math.comb(200, 6) / math.comb(900, 6))  # all six among the 200
    alone = effect[effect["dataset"].isin(lookup_effect.HIGH_DIMENSIONAL)]
    block = lookup_effect.unstable(alone, "as-described")[0]
    assert (block.verdict, block.lines[0].sample.status) == (TOO_FEW, MISSING)


@pytest.mark.parametrize(
    "cells, expected",
    [(10, UNDECIDED), (35, UNDECIDED), (36, FAILS), (100, FAILS)],  # 5.1 % of 70, 4.99 % of 72
)
def test_none_lost_of_too_few_is_undecided(studies, cells, expected):
    """0 of 20 may be 17 %, 0 of 200 at most 1.8 %."""
    block = lookup_effect.unstable(studies["effect"](cells=cells), "as-described")[0]
    pooled, _, *apart = block.lines
    assert (pooled.n, pooled.effect, block.verdict) == (2 * cells, 0.0, expected)
    assert pooled.sample.high == pytest.approx(1 - 0.025 ** (1 / pooled.n))
    assert len(apart) == 9  # shown, however few


def test_a_lost_fit_is_one_that_quadrature_solves(studies):
    effect = studies["effect"](lost=["ionosphere", "sonar"])
    assert lookup_effect.unstable(effect, "as-described")[0].lines[0].effect == pytest.approx(2 / 40)
    effect.loc[(effect["projection"] == "quadrature") & (effect["seed"] == 3), "converged"] = False
    line = lookup_effect.unstable(effect, "as-described")[0].lines[0]
    assert (line.effect, line.n) == (0.0, 38)
    assert line.note == "19 seeds; 0 not converged; 0 moved; 5 % of all sites outside"


def test_moved_fits_are_told(studies):
    effect = studies["effect"](moved=["sonar"], cells=100, bad=2)
    table = (effect["projection"] == "as-described") & (effect["dataset"] == "ionosphere")
    effect.loc[table, "ntll"] -= 0.9e-3  # less than matters
    note = lookup_effect.unstable(effect, "as-described")[0].lines[0].note
    assert "0 not converged; 2 moved; 5 % of all sites outside" in note
    effect.loc[table, "ntll"] -= 0.2e-3
    assert "102 moved" in lookup_effect.unstable(effect, "as-described")[0].lines[0].note


def test_the_effect_is_missing(studies):
    for effect in (studies["effect"]()[:0], studies["effect"]()):
        block = lookup_effect.unstable(effect, "corrected")[0]
        assert block.verdict == TOO_FEW
        assert block.remark == "lookup_effect.csv has no fits with the as-described table under corrected"
