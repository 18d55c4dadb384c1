"""Verdicts on records made to hold, to fail and to be silent."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from papers.core import comparisons
from papers.core.comparisons import Draft, Group, higher, not_lower
from papers.core.verdicts import finding
from papers.pep import artifacts
from papers.pep.claims import contests, synthetic
from papers.pep.published import Counted, Printed, Published
from papers.pep.records import REGRESSION

PRINTED = [
    Printed("PEP4", "SMSE", "0.5", "0", 67.0),
    Printed("PEP4", "SMSE", "0.5", "1", 78.0),
    Printed("PEP5", "SMLL", "1", "0", 93.0),
]
COUNTS = [Counted("PEP4", "SMSE", "0.5", "0", 2, 3), Counted("PEP4", "SMSE", "0.5", "1", 1, 3)]
PUBLISHED = Published(PRINTED, COUNTS)
FULL = (0.1, -1.5, 20.0)


def noise(*key):
    """Between -1 and 1, different for each key and the same in every run."""
    text = ",".join(map(str, key)).encode()
    return float(np.random.default_rng(list(text)).uniform(-1, 1))


def sets(fits, gap, **options):
    """Synthetic sets whose scores lie ``gap(alpha, m)`` (log SMSE, SMLL, NLML a point) from the full GP's."""

    def score(dataset, split, alpha, m):
        by = np.asarray(gap(alpha, m)) + 0.003 * np.array([noise(split, alpha, m, k) for k in range(3)])
        return FULL[0] * np.exp(by[0]), FULL[1] + by[1], FULL[2] + 200 * by[2]

    options = {"datasets": ("synthetic",), "splits": 8, "full": lambda d, s: FULL} | options
    return fits(score, **options)


def verdict(blocks):
    return blocks[0].verdict


class TestApproach:
    def test_holds_when_every_power_comes_nearer(self, fits):
        frame = sets(fits, lambda a, m: (2.0 / m, 2.0 / m, 0.0))
        block, steps = synthetic.approaches_full(frame)
        assert block.verdict == steps.verdict == "holds" and len(block.rows()) == len(steps.rows()) == 8
        line = next(x for x in block.lines if x.row == "SMSE, α = 0")
        assert line.effect == pytest.approx(2 / 5 - 2 / 100, abs=0.006) and line.n == 8

    @pytest.mark.parametrize(("last", "whole"), [(0.2, "yes"), (0.6, "no")])
    def test_from_below_too_and_a_score_that_leaves_again(self, fits, last, whole):
        """The ends decide; a step away from the full GP is seen beside them."""
        frame = sets(fits, lambda a, m: (-2.0 / m, 2.0 / m if m < 100 else last, 0.0))
        rows, steps = (block.rows() for block in synthetic.approaches_full(frame))
        for a in ("0", "0.5", "0.8", "1"):
            assert (rows[f"SMSE, α = {a}"], steps[f"SMSE, α = {a}"]) == ("yes", "yes")
            assert (rows[f"SMLL, α = {a}"], steps[f"SMLL, α = {a}"]) == (whole, "no")

    def test_the_step_that_is_worst_is_shown(self, fits):
        frame = sets(fits, lambda a, m: (0.0, 2.0 / m if m < 100 else 0.2, 0.0))
        line = next(x for x in synthetic.approaches_full(frame)[1].lines if "SMLL" in x.row)
        assert line.note == "M = 20 to 100; worst of 2" and line.effect == pytest.approx(0.1 - 0.2, abs=0.006)

    def test_nothing_without_a_full_gp(self, fits):
        frame = sets(fits, lambda a, m: (1.0 / m, 1.0 / m, 0.0), full=None)
        for block in synthetic.approaches_full(frame):
            assert block.verdict == "too few runs" and block.lines[0].note == "no full GP"


def excess(peak, at_all):
    """Gap of NLML for powers near one: above the full GP's evidence by ``peak`` at M = 20."""

    def gap(alpha, m):
        near = alpha in ("0.8", "1")
        return 0.0, 0.0, {5: 0.5, 20: -peak, 200: -at_all}[m] if near else 0.5

    return gap


class TestOverestimates:
    @pytest.mark.parametrize(
        ("peak", "at_all", "expected", "markedly"),
        [
            (0.3, 0.05, "holds", "holds"),
            (0.3, 0.25, "holds", "does not hold"),
            (0.3, 0.35, "does not hold", "does not hold"),
            (-0.3, -0.3, "does not hold", "does not hold"),
        ],
    )
    def test_verdicts(self, fits, peak, at_all, expected, markedly):
        frame = sets(fits, excess(peak, at_all), sizes=(5, 20, 200))
        block, beside = synthetic.overestimates(frame)
        assert block.verdict == expected and beside.verdict == markedly
        first = next(x for x in block.lines if x.row == "α = 0.8")
        assert first.effect == pytest.approx(peak, abs=0.005) and first.note.startswith("M = 20")

    def test_without_all_data_as_pseudo_points(self, fits):
        block, _ = synthetic.overestimates(sets(fits, excess(0.3, 0.05), sizes=(5, 20)))
        assert block.verdict == "too few runs"
        assert [x.sample.status for x in block.lines] == ["shown only", "no data"] * 2
        block, _ = synthetic.overestimates(sets(fits, lambda a, m: (0, 0, -1 / m), sizes=(5, 20, 50)))
        assert block.lines[1].note == "M = N = 200 not run" and block.lines[0].sample.status == "shown only"

    def test_that_there_is_no_excess_where_the_runs_end_early_is_no_row_against_it(self, fits):
        for block in synthetic.overestimates(sets(fits, excess(-0.3, -0.3), sizes=(5, 20))):
            assert block.rows() == {"α = 0.8": "no data", "α = 1": "no data"}
            assert block.lines[0].effect == pytest.approx(-0.3, abs=0.005)

    def test_nothing_is_shown_without_a_full_gp(self, fits):
        frame = sets(fits, excess(0.3, 0.05), sizes=(5, 20), full=None)
        assert synthetic.overestimates(frame)[0].lines[0].note == "no full GP"


class TestIntermediate:
    def gap(self, best):
        return lambda a, m: (abs(float(a) - best), abs(float(a) - best), 0.0)

    @pytest.mark.parametrize(
        ("best", "expected"), [(0.5, "holds"), (0.8, "holds"), (0.0, "does not hold"), (0.2, "does not hold")]
    )
    def test_verdicts(self, fits, best, expected):
        frame = sets(fits, self.gap(best), alphas=("0", "0.2", "0.5", "0.8", "1"))
        (block,) = synthetic.intermediate_best(frame)
        assert block.verdict == expected
        assert f"SMSE: lowest mean of all at α = {best:g}" in block.remark

    def test_sets_of_different_m_stand_beside_alike_ones(self, fits):
        """The best power depends on M: where some sets lack the large ones, their mean is another's."""

        def score(alpha, m):
            gap = abs(float(alpha) - (0.5 if m == 200 else 0.2)) * (3 if m == 200 else 1)
            return gap, gap, 0.0

        frame = sets(fits, score, sizes=(5, 200), splits=20, alphas=("0", "0.2", "0.5", "0.8", "1"))
        mixed = frame[(frame["m"] != 200) | (frame["split"] < 10)]
        main, whole, each = synthetic.intermediate_best(mixed)
        assert [block.name for block in (whole, each)] == [
            "on sets with every M",
            "against EP at each M on these",
        ]
        assert whole.verdict == "holds" and {line.n for line in main.lines} == {20}
        assert {line.n for line in (*whole.lines, *each.lines)} == {10}
        assert [line.row for line in each.lines][2:] == [
            f"SMLL, M = {m}: α = 0.5 over α = 1" for m in (5, 200)
        ]
        assert len(synthetic.intermediate_best(frame)) == 1, "alike sets have nothing beside them"

    def test_a_set_with_one_power_at_a_large_m_is_not_among_those_with_every_m(self, fits):
        """Nor one of which a fit failed, or that has as many others."""
        powers = ("0", "0.2", "0.5", "0.8", "1")
        frame = sets(fits, self.gap(0.5), sizes=(5, 50, 100, 200), splits=20, alphas=powers)
        size, split = frame["m"], frame["split"]
        alone = (size < 100) | (split < 10) | ((split == 11) & (frame["alpha"] == "1"))
        mixed = frame[
            (alone & ~split.isin([12, 13])) | ((split == 12) & (size != 200)) | ((split == 13) & (size != 50))
        ]
        mixed = mixed.assign(smll=mixed["smll"].mask((mixed["split"] == 3) & (mixed["m"] == 200)))
        mixed = mixed.assign(outcome=mixed["outcome"].mask(mixed["smll"].isna(), "failed"))
        _, whole, _ = synthetic.intermediate_best(mixed)
        assert {line.n for line in whole.lines} == {9}

    def test_that_the_best_of_several_powers_was_chosen_is_paid_for(self, fits):
        """With 0.5 and 0.6 in the family there are twelve tests, not four; they show nothing themselves."""

        def score(d, s, a, m):
            value = 0.5 - 0.05 * (a == "0.8") + 0.05 * noise(s, a, m)
            return value, value, 1.0

        def ends(powers):
            frame = fits(score, datasets=("synthetic",), splits=10, sizes=(5,), alphas=powers)
            (block,) = synthetic.intermediate_best(frame)
            lines = [line for line in block.lines if line.quantity == "against α = 0 and α = 1"]
            assert len(lines) == 2 and all(line.note.startswith("α = 0.8 against") for line in lines)
            return lines

        alone, among = ends(("0", "0.2", "0.8", "1")), ends(("0", "0.2", "0.5", "0.6", "0.8", "1"))
        for one, other in zip(alone, among, strict=True):
            assert other.sample.p_holm >= 9 * other.sample.p and one.sample.p_holm <= 4 * one.sample.p

    def test_powers_in_the_range_are_needed(self, fits):
        frame = sets(fits, self.gap(0.5), alphas=("0", "0.2", "1"))
        assert verdict(synthetic.intermediate_best(frame)) == "too few runs"


def contest(wins):
    """``wins(m, split)``: whether 0.5 beats the others, on both scores; VFE always beats EP."""

    def score(dataset, split, alpha, m):
        value = {"0": 0.3, "0.5": 0.2 if wins(m, split) else 0.5, "1": 0.4}[alpha]
        return value, value, 1.0

    return score


class TestShares:
    def test_direction_and_printed_share(self, fits):
        frame = fits(contest(lambda m, split: m > 5), alphas=("0", "0.5", "1"), splits=10)
        direction, _, printed, *_ = contests.won(frame, PUBLISHED, "PEP4")
        line = direction.lines[0]
        assert direction.verdict == "holds" and line.effect == pytest.approx(2 / 3)
        assert (line.n, line.n_folds) == (10, 60) and line.note.startswith(
            "printed 67 %; 40 won, 20 lost, 0 tied"
        )
        assert printed.rows() == {"α = 0.5 over α = 0": "yes", "α = 0.5 over α = 1": "no"}

    def test_the_other_direction_and_none(self, fits):
        frame = fits(contest(lambda m, split: split % 2), alphas=("0", "0.5", "1"), splits=10)
        assert set(contests.won(frame, PUBLISHED, "PEP4")[0].rows().values()) == {"undecided"}
        assert set(contests.won(frame, PUBLISHED, "PEP5")[0].rows().values()) == {"no"}
        assert verdict(contests.won(fits(alphas=("0.2", "0.4")), PUBLISHED, "PEP4")) == "too few runs"

    def test_synthetic_sets_do_not_count(self, fits):
        frame = fits(contest(lambda m, split: True), alphas=("0", "0.5", "1"), datasets=("synthetic",))
        assert verdict(contests.won(frame, PUBLISHED, "PEP4")) == "too few runs"

    def test_one_split_says_nothing_and_intervals_of_shares_are_shares(self, fits):
        frame = fits(contest(lambda m, split: m > 5), alphas=("0", "0.5", "1"), splits=1)
        line = contests.won(frame, PUBLISHED, "PEP4")[0].lines[0]
        assert line.sample.status == "no data" and line.note.startswith("printed")
        frame = fits(contest(lambda m, split: split > 0), alphas=("0", "0.5", "1"), splits=3)
        assert contests.won(frame, PUBLISHED, "PEP4")[0].lines[0].sample.high == 1.0


class TestRanked:
    def score(self, smse, smll):
        """Scores by the order given, the best first."""
        return lambda d, s, a, m: (0.1 * (1 + smse.index(a)), 0.1 * (1 + smll.index(a)), 1.0)

    def test_as_the_paper_says(self, fits):
        frame = fits(self.score(["0.5", "0.8", "0", "1"], ["0.8", "1", "0.5", "0"]), splits=10)
        block, *_ = contests.ranked(frame)
        assert block.verdict == "holds" and len(block.lines) == 4
        assert "SMLL: lowest average rank at α = 0.8" in block.remark

    def test_each_statement_can_fail(self, fits):
        frame = fits(self.score(["0.8", "0", "0.5", "1"], ["1", "0", "0.5", "0.8"]), splits=10)
        block, *_ = contests.ranked(frame)
        assert set(block.rows().values()) == {"no"}

    def test_a_power_that_was_not_run(self, fits):
        block, *_ = contests.ranked(fits(alphas=("0", "1")))
        assert block.rows()["SMSE: α = 0.5 best"] == "no data"


FIVE = ("boston", "concrete", "energy", "wine_red", "yacht")


def judged(claim, blocks):
    """Verdict of a claim by its rule in ``claims.yaml``, and what was lacking."""
    ruled = finding(claim, "as-described", blocks)
    return ruled.verdict, set(ruled.blocks[0].lacking)


class TestCoverage:
    """The least that may decide."""

    def won(self, fits, **options):
        """PEP5 where EP always wins, on four numbers of pseudo-points."""
        options = {"datasets": FIVE, "splits": 10, "sizes": (5, 10, 20, 50)} | options
        frame = fits(lambda d, s, a, m: (0.5, -float(a) - 0.001 * s, 1.0), **options)
        published = Published([x for x in PRINTED if x.claim == "PEP5"], [])
        return frame, published

    def test_two_splits_of_one_set_say_nothing(self, fits):
        frame, published = self.won(fits, datasets=("boston",), splits=2)
        blocks = contests.won(frame, published, "PEP5")
        assert judged("PEP5", blocks) == ("too few runs", {"rows", "units", "sets at every M"})
        assert blocks[0].lines[0].sample.status == "undecided"
        assert "no interval from 2 splits" in blocks[0].lines[0].note

    @pytest.mark.parametrize(
        ("options", "lacking"),
        [
            ({}, set()),
            ({"splits": 9}, {"units", "sets at every M"}),
            ({"datasets": FIVE[:4]}, {"sets at every M"}),
            ({"sizes": (5, 10, 20)}, {"sets at every M"}),
            ({"sizes": (5, 10, 20, 100)}, {"sets at every M"}),
        ],
    )
    def test_each_can_be_too_little(self, fits, options, lacking):
        frame, _ = self.won(fits, **options)
        printed = [Printed("PEP5", "SMLL", a, b, 93.0) for a, b in (("1", "0"), ("0.5", "0"), ("1", "0.5"))]
        blocks = contests.won(frame, Published(printed, []), "PEP5")
        assert judged("PEP5", blocks) == ("too few runs" if lacking else "holds", lacking)

    def test_a_set_with_fewer_splits_is_not_counted(self, fits):
        frame, published = self.won(fits)
        fewer = frame[(frame["dataset"] != "yacht") | (frame["split"] < 9)]
        assert "sets at every M" in judged("PEP5", contests.won(fewer, published, "PEP5"))[1]
        assert "sets at every M" not in judged("PEP5", contests.won(frame, published, "PEP5"))[1]

    @pytest.mark.parametrize("splits", [9, 10])
    def test_an_m_of_a_set_counts_from_its_tenth_split_on(self, fits, splits):
        """A grid that comes in by parts is not looked at before: where VFE wins, at M = 100 of one set."""
        sizes = (5, 10, 20, 50, 100)
        powers = ("0", "0.5", "0.8", "1")
        frame = fits(
            lambda d, s, a, m: (0.5, float(a) if m == 100 else -float(a), 1.0),
            **{"datasets": FIVE, "splits": 12, "sizes": sizes, "alphas": powers},
        )
        late = (frame["dataset"] == "yacht") & (frame["split"] < splits)
        frame = frame[(frame["m"] < 100) | late]
        pairs = Published([Printed("PEP5", "SMLL", "1", "0", 93.0)], [])
        counted = splits * (splits == 10)
        assert contests.won(frame, pairs, "PEP5")[0].lines[0].n_folds == 240 + counted
        assert contests.ranked(frame)[0].lines[0].n_folds == 240 + counted
        lacking = frame[(frame["m"] < 100) | (frame["alpha"] != "0.5")]  # a power that is still to come
        assert contests.won(lacking, pairs, "PEP5")[0].lines[0].n_folds == 240
        ninth = frame[(frame["dataset"] == "yacht") & (frame["alpha"] == "1")].assign(alpha="0.3")
        more = pd.concat([frame, ninth])  # of one set: all others count as before
        assert contests.won(more, pairs, "PEP5")[0].lines[0].n_folds == 240 + counted

    @pytest.mark.parametrize("kept", [("boston", 0), ("yacht", 9)])
    def test_every_m_on_one_split_is_not_every_m_on_all(self, fits, kept):
        frame, published = self.won(fits)
        alone = (frame["dataset"] == kept[0]) & (frame["split"] == kept[1])
        blocks = contests.won(frame[(frame["m"] == 50) | alone], published, "PEP5")
        assert judged("PEP5", blocks) == ("too few runs", {"rows", "sets at every M"})
        assert blocks[0].coverage == {"rows": 1, "units": 10, "sets at every M": 0}
        ranks = contests.ranked(frame[(frame["m"] == 50) | alone])[0]
        assert ranks.coverage["sets at every M"] == 0

    def test_the_pair_with_the_fewest_sets_counts(self, fits):
        failed = {("yacht", s, "1", m): "failed" for s in range(10) for m in (5, 10, 20, 50)}
        frame, _ = self.won(fits, outcome=failed)
        pairs = [Printed("PEP5", "SMLL", a, "0", 93.0) for a in ("1", "0.5")]
        blocks = contests.won(frame, Published(pairs, []), "PEP5")
        assert blocks[0].coverage["sets at every M"] == 4
        without = contests.won(frame, Published(pairs[1:], []), "PEP5")
        assert without[0].coverage["sets at every M"] == 5

    def test_ranks_need_every_power(self, fits):
        powers = ("0", "0.05", "0.2", "0.4", "0.5", "0.6", "0.8", "1")
        order = {a: abs(float(a) - 0.5) for a in powers}

        def score(d, s, a, m):
            return 0.1 + order[a], 0.1 + abs(float(a) - 0.8) + 0.001 * s, 1.0

        for alphas, lacking in ((powers, set()), (powers[::2], {"powers"})):
            frame = fits(score, datasets=FIVE, splits=10, sizes=(5, 10, 20, 50), alphas=alphas)
            assert judged("PEP6", contests.ranked(frame))[1] - {"rows"} == lacking

    @pytest.mark.parametrize(("splits", "lacking"), [(10, set()), (9, {"units"})])
    def test_synthetic_sets(self, fits, splits, lacking):
        powers = ("0", "0.2", "0.5", "0.8", "1")
        verdict = "too few runs" if lacking else "holds"
        over = sets(fits, excess(0.3, 0.05), sizes=(5, 20, 200), splits=splits)
        assert judged("PEP2", synthetic.overestimates(over)) == (verdict, lacking)
        best = sets(fits, TestIntermediate().gap(0.5), splits=splits, alphas=powers)
        assert judged("PEP3", synthetic.intermediate_best(best)) == (verdict, lacking)
        few = sets(fits, TestIntermediate().gap(0.5), splits=10, alphas=("0", "0.5", "0.8", "1"))
        assert judged("PEP3", synthetic.intermediate_best(few))[1] == {"powers"}

    def approaching(self, fits, **options):
        """PEP1 where every power comes nearer, up to M = N."""
        options = {"splits": 10, "alphas": ("0", "0.2", "0.5", "0.8", "1"), "sizes": (5, 20, 200)} | options
        return sets(fits, lambda a, m: (2.0 / m, 2.0 / m, 0.0), **options)

    @pytest.mark.parametrize(
        ("options", "lacking"),
        [
            ({}, set()),
            ({"splits": 9}, {"units", "sets at every M"}),
            ({"alphas": ("0", "0.5", "0.8", "1")}, {"rows"}),
            ({"sizes": (20, 200)}, {"sets at every M"}),
            ({"sizes": (5, 20)}, {"sets at every M"}),
            ({"outcome": {("synthetic", 3, "0.2", 20): "failed"}}, {"sets at every M"}),
        ],
    )
    def test_the_approach_takes_ten_sets_at_every_m(self, fits, options, lacking):
        blocks = synthetic.approaches_full(self.approaching(fits, **options))
        assert judged("PEP1", blocks) == ("too few runs" if lacking else "holds", lacking)

    @pytest.mark.parametrize("kept", [lambda x: x["split"] < 3, lambda x: x["alpha"] != "0", lambda x: False])
    def test_fewer_lines_at_m_equal_to_n_are_never_enough(self, fits, kept):
        frame = self.approaching(fits)
        fewer = frame[(frame["m"] < 200) | frame.apply(kept, axis=1)]
        assert len(fewer) < len(frame)
        verdict, lacking = judged("PEP1", synthetic.approaches_full(fewer))
        assert verdict == "too few runs" and "sets at every M" in lacking


class TestBeside:
    def test_where_both_searches_converged(self, fits):
        """EP wins on every split where no search stopped, and nowhere else."""
        stopped = {(d, s, "1", 5): "stopped" for d in ("boston", "yacht") for s in range(4)}

        def score(d, s, a, m):
            value = {"0": 0.3, "0.5": 0.2, "1": 0.4 if m == 5 else 0.1}[a]
            return value, value, 1.0

        frame = fits(score, alphas=("0", "0.5", "1"), sizes=(5, 20), outcome=stopped)
        over_all, where_converged, *_ = contests.won(frame, PUBLISHED, "PEP4")
        row = "α = 0.5 over α = 1"
        line, kept = (next(x for x in b.lines if x.row == row) for b in (over_all, where_converged))
        assert line.effect == 0.5 and "8 won, 8 lost" in line.note
        assert kept.effect == 0.0 and "0 won, 8 lost, 0 tied" in kept.note and "8 left out" in kept.note
        assert where_converged.remark == "40 of 48 searches converged"
        _, ranks, _ = contests.ranked(frame)
        assert ranks.remark.endswith("40 of 48 searches converged") and ranks.lines[0].n_folds == 8

    @pytest.mark.parametrize(
        ("smse", "smll", "yes"),
        [
            (["0.6", "0.5", "0.8", "0", "1"], ["1", "0.8", "0.6", "0.5", "0"], range(5)),
            (["0.5", "0.6", "0.8", "1", "0"], ["1", "0.8", "0.5", "0.6", "0"], (0, 2, 3)),
            (["0.8", "0.5", "0.6", "0", "1"], ["0.8", "1", "0.6", "0.5", "0"], (1, 2)),
        ],
    )
    def test_what_is_read_off_figure_5_by_the_pair_that_is_worst_off(self, fits, smse, smll, yes):
        order = TestRanked().score(smse, smll)
        *_, block = contests.ranked(fits(order, alphas=("0", "0.5", "0.6", "0.8", "1"), splits=10))
        statuses = list(block.rows().values())
        assert statuses == ["yes" if row in yes else "no" for row in range(5)]
        row = block.lines[0]
        pair = "α = 0.5 over α = 0.8" if 0 not in yes else "α = 0.5 over α = "
        assert row.note.startswith(pair) and row.note.endswith("worst of 3")

    def test_the_made_up_sets_have_an_order_at_each_m(self, fits):
        """EP is ahead of VFE with few pseudo-points and behind with many, where real sets have only few."""

        def score(d, s, a, m):
            ahead = {"0": 0.0, "0.5": 0.01, "1": 0.1 if m == 5 else -0.1}[a]
            return 0.5, -ahead + 1e-3 * noise(s, a, m), 1.0

        frame = fits(score, alphas=("0", "0.5", "1"), datasets=("boston", "synthetic"), splits=10)
        *_, block = contests.won(frame[(frame["dataset"] != "boston") | (frame["m"] == 5)], PUBLISHED, "PEP5")
        by_m = {f"SMLL, M = {m}: α = 1 over α = 0": "yes" if m == 5 else "no" for m in (5, 20, 100)}
        assert block.name == "on the made-up sets at each M" and block.rows() == by_m
        assert block.lines[0].effect == pytest.approx(0.1, abs=2e-3) and block.lines[0].n == 10

    def test_real_sets_have_an_order_at_each_m_where_they_have_every_m(self, fits):
        """EP is ahead with few pseudo-points and behind with many; Energy, without the many, is not asked."""

        def score(d, s, a, m):
            ahead = {"0": 0.0, "0.5": 0.0, "1": 0.1 if m == 5 else -0.1}[a]
            return 0.5, -ahead if d != "energy" else 1.0 * (a == "1"), 1.0

        frame = fits(score, alphas=("0", "0.5", "1"), datasets=("boston", "energy", "yacht"), splits=10)
        frame = frame[(frame["dataset"] != "energy") | (frame["m"] < 100)]
        block = next(b for b in contests.won(frame, PUBLISHED, "PEP5") if b.name == contests.EACH_M)
        rows = {f"M = {m}: α = 1 over α = 0": "yes" if m == 5 else "no" for m in (5, 20, 100)}
        assert block.rows() == rows and "printed" not in block.lines[0].note
        assert [line.n_folds for line in block.lines] == [20, 20, 20] and block.lines[0].effect == 1.0
        few = contests.won(frame[(frame["m"] < 100) | (frame["split"] < 9)], PUBLISHED, "PEP5")
        (at_few,) = (b for b in few if b.name == contests.EACH_M)
        assert list(at_few.rows()) == list(rows)[:2] and at_few.lines[0].n_folds == 30, "too few with 100"
        assert next(
            b for b in contests.won(fits(), PUBLISHED, "PEP5") if b.name == contests.EACH_M
        ).rows() == {"α = 1 over α = 0": "no data"}

    def test_splits_that_every_set_has_stand_beside_unlike_ones(self, fits):
        """Ten splits of Yacht, where 0.5 loses, beside thirty of the others, where it wins."""

        def score(d, s, a, m):
            value = {"0": 0.3, "0.5": 0.5 if d == "yacht" else 0.2, "1": 0.4}[a]
            return value, value, 1.0

        frame = fits(score, datasets=FIVE, splits=30, sizes=(5, 10, 20, 50, 100), alphas=("0", "0.5", "1"))
        unlike = frame[(frame["dataset"] != "yacht") | (frame["split"] < 10)]
        few = unlike[(unlike["dataset"] != "boston") | (unlike["split"] < 9)]
        main, alike = (contests.won(unlike, PUBLISHED, "PEP4")[k].lines[0] for k in (0, 4))
        assert main.effect == pytest.approx((10 * 0.8 + 20) / 30) and main.n_folds == 650
        assert alike.effect == pytest.approx(0.8) and (alike.n, alike.n_folds) == (10, 200)
        assert contests.won(few, PUBLISHED, "PEP4")[4].lines[0].n_folds == 160, "a set with nine is not asked"
        plain = frame[frame["m"] < 100]
        assert contests.ALIKE not in {b.name for b in contests.won(plain, PUBLISHED, "PEP4")}
        names = [[b.name for b in contests.ranked(some)] for some in (unlike, plain)]
        assert [contests.ALIKE in of_frame for of_frame in names] == [True, False]

    @pytest.mark.parametrize(("moved", "status"), [((), "yes"), (("yacht",), "no")])
    def test_whether_shares_are_those_of_other_searches_on_the_same_experiments(self, fits, moved, status):
        """Experiments of one protocol alone do not count: there 0.5 would win everything."""

        def score(ends):
            def of(d, s, a, m):
                value = {"0": 0.3, "0.5": 0.2 if (s + m) % 2 else 0.5, "1": 0.4}[a]
                return (0.1 if a == "0.5" and d in (*ends, "energy") else value), value, 1.0

            return of

        common = {"alphas": ("0", "0.5", "1"), "sizes": (5, 20), "splits": 10}
        frame = fits(score(moved), protocol="converged", **common)
        cut = {("boston", 1, "0.5", 5): "stopped", ("boston", 2, "1", 5): "stopped"}
        others = fits(score(()), datasets=("boston", "energy", "yacht"), outcome=cut, **common)
        block = contests.by_either_search(frame, others, PUBLISHED, "PEP4")
        assert block.rows() == {"α = 0.5 over α = 0": status, "α = 0.5 over α = 1": status}
        line = block.lines[0]
        assert line.n_folds == 40 and line.effect == pytest.approx(0.25 * bool(moved))
        changed = f"{75 if moved else 50} and 50 %; another winner in {10 if moved else 0} of 40"
        assert [x.note for x in block.lines] == [f"{changed}, {n} with a search cut off" for n in (1, 2)]

    def test_a_smaller_share_has_an_interval_about_it(self, fits):
        def score(won):
            return lambda d, s, a, m: ((0.2 if won(s, m) else 0.4) if a == "0.5" else 0.3, 0.3, 1.0)

        common = {"alphas": ("0", "0.5", "1"), "sizes": (5, 20), "splits": 10}
        frame = fits(score(lambda s, m: m == 5 and s % 5), protocol="converged", **common)
        others = fits(score(lambda s, m: m == 5 or s % 2), **common)
        line = contests.by_either_search(frame, others, PUBLISHED, "PEP4").lines[0]
        assert line.sample.low < line.effect < line.sample.high < 0
        assert line.effect - line.sample.low == pytest.approx(line.sample.high - line.effect)

    def test_searches_are_compared_where_both_protocols_were_run(self, fits):
        def blocks(*protocols):
            frames = {name: fits(alphas=("0", "0.5", "1"), protocol=name) for name in protocols}
            evidence = artifacts.Evidence({}, {REGRESSION: frames}, PUBLISHED)
            return {
                x.protocol: [block.name for block in x.blocks] for x in artifacts.judge(evidence, ["PEP4"])
            }

        both = blocks("as-described", "converged")
        assert "by either search" in both["converged"]
        assert "by either search" not in both["as-described"]
        assert "by either search" not in blocks("converged")["converged"]

    def test_what_was_not_run_is_said_of_pairs_too(self, fits):
        *_, pairs = contests.ranked(fits(alphas=("1",)))
        assert len(pairs.lines) == 5 and set(pairs.rows().values()) == {"no data"}
        alone = {"alphas": ("0", "0.5", "1"), "splits": 2}
        frames = [fits(datasets=(name,), **alone) for name in ("boston", "yacht")]
        changes = contests.by_either_search(*frames, PUBLISHED, "PEP4")
        assert set(changes.rows().values()) == {"no data"}
        assert {line.note for line in changes.lines} == {"no experiment of both"}

    @pytest.mark.parametrize(
        ("better", "worse", "status", "ends"),
        [
            (("boston", "yacht"), (), "yes", (2, 3)),
            (("boston",), (), "undecided", (1, 3)),
            (("boston",), ("yacht",), "undecided", (1, 2)),
            (("boston",), ("yacht", "energy"), "no", (1, 1)),
        ],
    )
    def test_sets_that_were_not_run_could_be_either(self, fits, better, worse, status, ends):
        def score(d, s, a, m):
            gain = 0.1 if d in better else -0.1 if d in worse else 0.1 * (-1) ** s
            return 0.5 - gain * (a == "0.5") + 0.001 * s, 0.5, 1.0

        frame = fits(score, datasets=("boston", "yacht", "energy")[: max(2, len(better + worse))], splits=8)
        block = contests.set_by_set(frame, COUNTS, "PEP4")
        line = block.lines[0]
        assert (line.sample.status, line.effect) == (status, len(better))
        assert (line.sample.low, line.sample.high) == ends and "printed 2 of 3" in line.note
        assert f"better on {', '.join(x.title() for x in better)}" in line.note
        assert f"ahead on {len(better)};" in line.note

    def test_a_set_of_ties_was_run_and_has_no_share(self, fits):
        def score(d, s, a, m):
            return 0.5 - 0.1 * (a == "0.5" and d != "energy"), 0.5, 1.0

        line = contests.set_by_set(
            fits(score, datasets=("boston", "energy"), splits=8), COUNTS, "PEP4"
        ).lines[0]
        assert "; a share on 1, none on Energy; ahead on 1;" in line.note

    def test_sets_without_the_powers_are_no_data(self, fits):
        block = contests.set_by_set(fits(alphas=("0.2", "0.4")), COUNTS, "PEP4")
        assert set(block.rows().values()) == {"no data"}
        assert all(line.note.endswith("no share on any") for line in block.lines)
        assert not contests.set_by_set(fits(), COUNTS, "PEP5").lines


class TestInference:
    def draft(self, judge, mean, row="row"):
        units = mean + 0.01 * np.array([-1.0, 0.0, 1.0, 0.0])
        return Draft(row, "x", "nats", units, units, 1e-3, judge, 4)

    def test_a_group_shows_its_worst_line_or_its_largest(self):
        lines = comparisons.tested([self.draft(higher, m) for m in (0.5, -0.2, 0.3)])
        worst = Group(lines).line()
        assert worst.effect == pytest.approx(-0.2) and worst.note == "worst of 3"
        intervals = Group(comparisons.tested([self.draft(not_lower, m) for m in (0.3, 0.1, 0.2)])).line()
        assert intervals.effect == pytest.approx(0.1) and intervals.sample.status == "yes"
        noisy = replace(self.draft(higher, 0.6), sample=0.6 + 0.3 * np.array([-1.0, 0.0, 1.0, 0.0]))
        weakest = Group(comparisons.tested([self.draft(higher, 0.5), noisy])).line()
        assert weakest.effect == pytest.approx(0.6) and 0.01 < weakest.sample.p_holm < 0.05
        one, other = replace(noisy, general=noisy.general + 0.1), replace(noisy, sample=noisy.general)
        other = replace(other, general=noisy.sample - 0.6)
        mixed = Group(comparisons.tested([one, other])).line()
        assert mixed.effect == pytest.approx(0.6) and mixed.general.p_holm < 0.05
        assert mixed.general.status == "undecided" and mixed.note.endswith("another of them is: undecided")
        largest = Group(lines, every=False).line()
        assert largest.effect == pytest.approx(0.5) and largest.sample.status == "yes"
