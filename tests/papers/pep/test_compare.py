"""Paired differences, wins, ranks and means on records whose answers are known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

from papers.pep import compare, scores, tables
from papers.pep.scores import NLML, SMLL, SMSE

ORDER = {"0.5": 0.1, "0": 0.2, "0.8": 0.2, "1": 0.4}


def by_power(dataset, split, alpha, m):
    """0.5 the best, 0 and 0.8 tied, 1 the worst; but EP wins at M = 5."""
    value = 0.01 if alpha == "1" and m == 5 else ORDER[alpha]
    return value, np.log(value), 100 * value


class TestDuels:
    def test_wins_losses_and_ties_are_counted_apart(self, fits):
        frame = fits(by_power)
        found = compare.duel(frame, "0.5", "1", SMLL)
        assert (found.n, found.wins, found.losses, found.ties, found.n_left_out) == (24, 16, 8, 0, 0)
        assert found.share == pytest.approx(2 / 3)
        assert compare.duel(frame, "1", "0.5", SMLL).wins == 8
        tied = compare.duel(frame, "0", "0.8", SMSE)
        assert (tied.wins, tied.losses, tied.ties) == (0, 0, 24) and np.isnan(tied.share)
        assert len(tied.shares("split")) == 0

    def test_a_failed_fit_leaves_its_experiment_out_of_its_own_comparisons_only(self, fits):
        frame = fits(by_power, outcome={("boston", 1, "1", 5): "failed", ("yacht", 2, "0", 20): "stopped"})
        found = compare.duel(frame, "0.5", "1", SMLL)
        assert (found.n, found.wins, found.losses, found.n_left_out) == (23, 16, 7, 1)
        assert compare.duel(frame, "0.5", "0", SMLL).n == 24

    def test_the_same_experiment_is_compared(self, fits):
        """Large differences between splits do not matter; the rows' order neither."""
        frame = fits(lambda d, split, a, m: (0.5, 10.0 * split + m + (0.1 if a == "1" else 0.0), 1.0))
        found = compare.duel(frame.sample(frac=1.0, random_state=1), "0.5", "1", SMLL)
        np.testing.assert_allclose(found.differences, 0.1)

    def test_differences_of_smse_are_relative_and_of_nlml_a_point(self, fits):
        frame = fits(by_power, sizes=(20,))
        np.testing.assert_allclose(compare.duel(frame, "0.5", "1", SMSE).differences, np.log(4.0))
        np.testing.assert_allclose(compare.duel(frame, "0.5", "1", NLML).differences, 30.0 / 200)

    def test_wins_that_matter(self, fits):
        frame = fits(lambda d, s, a, m: (0.5, {"0": 0.0, "1": 5e-4}.get(a, 1.0) if m > 5 else float(a), 1.0))
        found = compare.duel(frame, "0", "1", SMLL)
        assert found.wins == 24 and found.beyond(SMLL.margin) == (8, 0)

    def test_shares_of_units(self, fits):
        frame = fits(lambda d, split, a, m: (0.5, (split - 1.5) * float(a) * (1 if m > 5 else -1), 1.0))
        found = compare.duel(frame, "0", "1", SMLL)
        np.testing.assert_allclose(found.shares("split"), [1 / 3, 1 / 3, 2 / 3, 2 / 3])
        np.testing.assert_allclose(found.shares("dataset"), [0.5, 0.5])

    def test_powers_never_run_together(self, fits):
        assert compare.duel(fits(alphas=("0", "1")), "0", "0.5", SMSE) is None


class TestRanks:
    def test_ranks_are_those_of_each_experiment_with_ties_shared(self, fits):
        ranks = compare.ranks(fits(by_power), SMSE)
        for (_, _, m), row in ranks.iterrows():
            expected = rankdata([by_power("", 0, alpha, m)[0] for alpha in ("0", "0.5", "0.8", "1")])
            np.testing.assert_allclose(row, expected)
        table = compare.mean_ranks(fits(by_power), SMSE).set_index("alpha")
        assert table["rank"].to_dict() == pytest.approx({"0": 17 / 6, "0.5": 4 / 3, "0.8": 17 / 6, "1": 3.0})
        np.testing.assert_allclose(table["se_splits"], 0.0, atol=1e-12)

    def test_experiments_without_every_power_are_left_out_and_counted(self, fits):
        frame = fits(by_power, outcome={("boston", 0, "0.8", 5): "failed"})
        table = compare.mean_ranks(frame, SMSE)
        assert set(table["n"]) == {23} and set(table["n_left_out"]) == {1}

    def test_errors_are_over_independent_units(self, fits):
        """Two kinds of splits, ten equal numbers of M in each: the error knows of the splits only."""
        frame = fits(
            lambda d, split, a, m: (0.5, float(a) * (1 if split % 2 else -1), 1.0), alphas=("0", "1")
        )
        line = compare.mean_ranks(frame, SMLL).set_index("alpha").loc["1"]
        assert line["se_splits"] == pytest.approx(np.std([1, 2, 1, 2], ddof=1) / 2)
        assert line["se_datasets"] == pytest.approx(0.0)


def test_means_are_over_what_has_numbers(fits):
    frame = fits(
        lambda d, split, a, m: (0.1 + split, float(split), 10.0),
        datasets=("yacht",),
        full=lambda d, split: (0.05, -2.0, -20.0),
        outcome={("yacht", 3, "1", 5): "failed", ("yacht", 2, "1", 5): "stopped"},
    )
    table = compare.means(frame)
    assert table["alpha"].tolist() == [*["0", "0.5", "0.8", "1"] * 3, *["full"] * 3]
    line = table[(table["alpha"] == "1") & (table["m"] == 5)].iloc[0]
    assert (line["n"], line["n_stopped"], line["n_failed"]) == (3, 1, 1)
    assert line["smll"] == pytest.approx(1.0) and line["smll_se"] == pytest.approx(1 / np.sqrt(3))
    assert table.iloc[-1]["nlml"] == -20.0


def test_the_full_gp_beside_an_m_is_that_of_its_splits(fits):
    frame = fits(datasets=("yacht",), full=lambda d, split: (0.05, float(split), -20.0))
    fewer = frame[(frame["m"] < 100) | (frame["split"] < 2)]
    table = compare.means(fewer)
    full = table[table["alpha"] == "full"].set_index("m")
    assert full["smll"].to_dict() == {5: 1.5, 20: 1.5, 100: 0.5} and full["n"].tolist() == [4, 4, 2]
    _, _, rows = tables.mean_table(table, SMLL)
    assert [row[:2] for row in rows] == [("5", "4"), ("20", "4"), ("100", "2")]
    lacking = fewer[(fewer["m"] < 100) | (fewer["alpha"] != "0") | (fewer["split"] < 1)]
    assert tables.mean_table(compare.means(lacking), SMLL)[2][2][1] == "1–2"


def test_a_full_gp_above_the_bound_is_said(fits):
    """On two of yacht's splits, by 3 and 1.5 nats; nowhere on boston, by half a nat."""
    bound = {("yacht", 0, 20): -23.0, ("yacht", 3, 100): -21.5, ("boston", 1, 5): -20.5}
    frame = fits(
        lambda d, split, a, m: (0.1, 0.0, -90.0 if a != "0" else bound.get((d, split, m), -10.0)),
        full=lambda d, split: (0.05, 0.0, -20.0),
        outcome={("yacht", 2, "0", m): "failed" for m in (5, 20, 100)},
    )
    assert compare.short_of_bound(frame) == {"yacht": (2, 3, 3.0)}
    said = "Yacht on 2 of 3 splits (by up to 3 nats)."

    def page(of):
        numbers = compare.wins(of), compare.ranks_of_powers(of), compare.means(of)
        return " ".join(tables.markdown(of, *numbers, [], tables.REGRESSION).split())

    assert said in page(frame) and "ended in a worse" not in page(frame[frame["dataset"] == "boston"])


def test_one_estimate_of_splits_that_are_not_alike(fits):
    """Of split 0 one experiment is there, which EP wins, of split 1 three, which it loses."""

    def score(d, split, a, m):
        value = float(a) * (1 if split else -1)
        return 0.5, value, 1.0

    frame = fits(score, alphas=("0", "1"), datasets=("yacht",), splits=2)
    frame = frame[(frame["split"] == 1) | (frame["m"] == 5)]
    assert compare.duel(frame, "1", "0", SMLL).share == 0.5
    assert compare.mean_ranks(frame, SMLL)["rank"].tolist() == [1.5, 1.5]


class TestFrames:
    def test_other_initial_values_are_another_study(self, fits):
        frame = fits()
        other = frame.assign(start="kmeans")
        assert len(scores.compared(pd.concat([frame, other]))) == len(frame)

    def test_protocols_are_compared_apart(self, fits):
        both = pd.concat([fits(), fits(protocol="converged")])
        for name, part in (
            ("as-described", scores.compared(both)),
            ("converged", scores.compared(both, "converged")),
        ):
            assert len(part) == len(fits()) and set(part["protocol"]) == {name}

    def test_coverage_is_of_the_records(self, fits):
        frame = fits(outcome={("yacht", 0, "1", 5): "failed", ("yacht", 0, "0", 5): "stopped"})
        text = scores.coverage(frame)
        assert text == (
            "2 sets, splits 0-3; α 0, 0.5, 0.8, 1; M 5, 20, 100; 96 fits, 1 not converged, 1 failed"
        )
        assert "95 fits" in scores.coverage(frame.iloc[:-1])
        assert scores.coverage(frame.iloc[:-1]).endswith("1 not run")
        fewer = frame[(frame["dataset"] == "boston") | (frame["m"] < 100)]
        assert "M 5, 20, 100 (Boston), 5, 20 (Yacht)" in scores.coverage(fewer)
        assert scores.coverage(fits(datasets=("synthetic",))).startswith("4 synthetic sets; ")
