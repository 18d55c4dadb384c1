"""Verdicts on records made to hold, to fail and to be silent."""

import math

import numpy as np
import pytest

from papers.evidence import comparisons
from papers.evidence.comparisons import Draft, Group, higher, not_lower
from papers.pep import contests, synthetic
from papers.pep.published import Printed

PRINTED = [
    Printed("PEP4", "SMSE", "0.5", "0", 67.0),
    Printed("PEP4", "SMSE", "0.5", "1", 78.0),
    Printed("PEP5", "SMLL", "1", "0", 93.0),
]
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
        (block,) = synthetic.approaches_full(frame)
        assert block.verdict == "holds" and len(block.rows()) == 8
        line = next(x for x in block.lines if x.row == "SMSE, α = 0" and "largest" in x.quantity)
        assert line.effect == pytest.approx(2 / 5 - 2 / 100, abs=0.006) and line.n == 8

    def test_from_below_too_and_a_score_that_leaves_again_fails(self, fits):
        frame = sets(fits, lambda a, m: (-2.0 / m, 2.0 / m if m < 100 else 0.2, 0.0))
        rows = synthetic.approaches_full(frame)[0].rows()
        assert {rows[f"SMSE, α = {a}"] for a in ("0", "0.5", "0.8", "1")} == {"yes"}
        assert {rows[f"SMLL, α = {a}"] for a in ("0", "0.5", "0.8", "1")} == {"no"}

    def test_the_step_that_is_worst_is_shown(self, fits):
        frame = sets(fits, lambda a, m: (0.0, 2.0 / m if m < 100 else 0.2, 0.0))
        line = next(
            x for x in synthetic.approaches_full(frame)[0].lines if "step" in x.quantity and "SMLL" in x.row
        )
        assert line.note == "M = 20 to 100; worst of 2" and line.effect == pytest.approx(0.1 - 0.2, abs=0.006)

    def test_nothing_without_a_full_gp(self, fits):
        (block,) = synthetic.approaches_full(sets(fits, lambda a, m: (1.0 / m, 1.0 / m, 0.0), full=None))
        assert block.verdict == "not testable" and block.lines[0].note == "no full GP"


def excess(peak, at_all):
    """Gap of NLML for powers near one: above the full GP's evidence by ``peak`` at M = 20."""

    def gap(alpha, m):
        near = alpha in ("0.8", "1")
        return 0.0, 0.0, {5: 0.5, 20: -peak, 200: -at_all}[m] if near else 0.5

    return gap


class TestOverestimates:
    @pytest.mark.parametrize(
        ("peak", "at_all", "expected"),
        [(0.3, 0.05, "holds"), (0.3, 0.25, "does not hold"), (-0.3, -0.3, "does not hold")],
    )
    def test_verdicts(self, fits, peak, at_all, expected):
        frame = sets(fits, excess(peak, at_all), sizes=(5, 20, 200))
        (block,) = synthetic.overestimates(frame)
        assert block.verdict == expected
        first = next(x for x in block.lines if x.row == "α = 0.8")
        assert first.effect == pytest.approx(peak, abs=0.005) and first.note.startswith("M = 20")

    def test_without_all_data_as_pseudo_points(self, fits):
        (block,) = synthetic.overestimates(sets(fits, excess(0.3, 0.05), sizes=(5, 20)))
        assert block.verdict == "not testable"
        assert [x.sample.status for x in block.lines] == ["yes", "no data"] * 2
        (block,) = synthetic.overestimates(sets(fits, lambda a, m: (0, 0, -1 / m), sizes=(5, 20, 50)))
        assert block.lines[1].note == "M = N = 200 not run" and block.lines[0].sample.status == "yes"


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

    def test_powers_in_the_range_are_needed(self, fits):
        frame = sets(fits, self.gap(0.5), alphas=("0", "0.2", "1"))
        assert verdict(synthetic.intermediate_best(frame)) == "not testable"


def contest(wins):
    """``wins(m, split)``: whether 0.5 beats the others, on both scores; VFE always beats EP."""

    def score(dataset, split, alpha, m):
        value = {"0": 0.3, "0.5": 0.2 if wins(m, split) else 0.5, "1": 0.4}[alpha]
        return value, value, 1.0

    return score


class TestShares:
    def test_direction_and_printed_share(self, fits):
        frame = fits(contest(lambda m, split: m > 5), alphas=("0", "0.5", "1"), splits=5)
        direction, printed = contests.won(frame, PRINTED, "PEP4")
        line = direction.lines[0]
        assert direction.verdict == "holds" and line.effect == pytest.approx(2 / 3)
        assert (line.n, line.n_folds) == (5, 30) and line.note.startswith(
            "printed 67 %; 20 won, 10 lost, 0 tied"
        )
        assert printed.rows() == {"α = 0.5 over α = 0": "yes", "α = 0.5 over α = 1": "no"}

    def test_the_other_direction_and_none(self, fits):
        frame = fits(contest(lambda m, split: split % 2), alphas=("0", "0.5", "1"))
        assert set(contests.won(frame, PRINTED, "PEP4")[0].rows().values()) == {"undecided"}
        assert set(contests.won(frame, PRINTED, "PEP5")[0].rows().values()) == {"no"}
        assert verdict(contests.won(fits(alphas=("0.2", "0.4")), PRINTED, "PEP4")) == "not testable"

    def test_synthetic_sets_do_not_count(self, fits):
        frame = fits(contest(lambda m, split: True), alphas=("0", "0.5", "1"), datasets=("synthetic",))
        assert verdict(contests.won(frame, PRINTED, "PEP4")) == "not testable"

    def test_one_split_says_nothing_and_intervals_of_shares_are_shares(self, fits):
        frame = fits(contest(lambda m, split: m > 5), alphas=("0", "0.5", "1"), splits=1)
        line = contests.won(frame, PRINTED, "PEP4")[0].lines[0]
        assert line.sample.status == "no data" and line.note.startswith("printed")
        frame = fits(contest(lambda m, split: split > 0), alphas=("0", "0.5", "1"), splits=3)
        assert contests.won(frame, PRINTED, "PEP4")[0].lines[0].sample.high == 1.0


class TestRanked:
    def score(self, smse, smll):
        """Scores by the order given, the best first."""
        return lambda d, s, a, m: (0.1 * (1 + smse.index(a)), 0.1 * (1 + smll.index(a)), 1.0)

    def test_as_the_paper_says(self, fits):
        (block,) = contests.ranked(fits(self.score(["0.5", "0.8", "0", "1"], ["0.8", "1", "0.5", "0"])))
        assert block.verdict == "holds" and len(block.lines) == 4
        assert "SMLL: lowest average rank at α = 0.8" in block.remark

    def test_each_statement_can_fail(self, fits):
        (block,) = contests.ranked(fits(self.score(["0.8", "0", "0.5", "1"], ["1", "0", "0.5", "0.8"])))
        assert set(block.rows().values()) == {"no"}

    def test_a_power_that_was_not_run(self, fits):
        (block,) = contests.ranked(fits(alphas=("0", "1")))
        assert block.rows()["SMSE: α = 0.5 best"] == "no data"


class TestInference:
    def draft(self, judge, mean, row="row"):
        units = mean + 0.01 * np.array([-1.0, 0.0, 1.0, 0.0])
        return Draft(row, "x", "nats", units, units, 1e-3, judge, 4)

    def test_holms_family_is_what_a_p_value_decides(self):
        alone = comparisons.tested([self.draft(higher, 0.05)])[0]
        among = comparisons.tested([self.draft(higher, 0.05), self.draft(not_lower, 0.05)])
        assert among[0].sample.p_holm == alone.sample.p_holm == pytest.approx(alone.sample.p)
        assert math.isnan(among[1].sample.p_holm) and among[1].sample.status == "yes"
        twice = comparisons.tested([self.draft(higher, 0.05), self.draft(higher, 0.05)])
        assert twice[0].sample.p_holm == pytest.approx(2 * alone.sample.p)

    def test_a_group_shows_its_worst_line_or_its_largest(self):
        lines = comparisons.tested([self.draft(higher, m) for m in (0.5, -0.2, 0.3)])
        worst = Group(lines).line()
        assert worst.effect == pytest.approx(-0.2) and worst.note == "worst of 3"
        largest = Group(lines, every=False).line()
        assert largest.effect == pytest.approx(0.5) and largest.sample.status == "yes"
