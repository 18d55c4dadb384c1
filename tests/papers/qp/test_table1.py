"""Means, spreads, counts and gaps, against numbers worked out by hand."""

import math
import random

import pytest

from papers.qp import published
from papers.qp.table1 import rows as table1


def only(summary, metric, **where):
    for name, value in {"metric": metric, **where}.items():
        summary = summary[summary[name] == value]
    assert len(summary) == 1
    return summary.iloc[0]


def test_mean_over_folds_then_population_sd_over_seeds(seed_of, frame, of_folds):
    of_folds(2)
    lines = [
        *seed_of([0.1, 0.3], [1.0, 2.0], seed=0),  # seed means 0.2 and 1.5
        *seed_of([0.2, 0.6], [2.0, 3.0], seed=1),  # 0.4 and 2.5
        *seed_of([0.6, 0.6], [3.0, 4.0], seed=2),  # 0.6 and 3.5
    ]
    summary = table1.means(frame(lines))
    error, density = only(summary, "TE"), only(summary, "NTLL")
    assert error["mean"] == pytest.approx(40.0)  # 0.4, times 100
    assert error["sd"] == pytest.approx(100 * math.sqrt(0.08 / 3))
    assert density["mean"] == pytest.approx(2500.0)  # 2.5, times 1000
    assert density["sd"] == pytest.approx(1000 * math.sqrt(2 / 3))
    assert (error["n_seeds"], error["n_converged"], error["n_attempted"]) == (3, 6, 6)
    assert (error["row"], error["method"], error["protocol"]) == ("Wine1", "ep", "as-released")


def test_a_seed_with_a_failed_fold_is_left_out_whole_and_counted(seed_of, failed, frame, of_folds):
    of_folds(2)
    lines = frame([*seed_of([0.1, 0.3]), *seed_of([0.9], seed=1), failed(seed=1, fold=1)])
    line = only(table1.means(lines), "TE")
    assert line["mean"] == pytest.approx(20.0)  # the 0.9 of seed 1 does not enter
    assert (line["n_seeds"], line["n_converged"], line["n_attempted"]) == (1, 3, 4)
    assert table1.left_out(lines) == ["Wine1 ep (as-released), seed 1: 1 of 2 folds failed (1)"]
    means = table1.seed_means(lines)
    assert means["complete"].tolist() == [True, False] and means["TE"].isna().tolist() == [False, True]


def test_a_seed_with_an_absent_fold_is_left_out(seed_of, failed, frame):
    lines = [*seed_of([0.1] * 10), *seed_of([0.5] * 9, seed=1)]
    line = only(table1.means(frame(lines)), "TE")
    assert line["mean"] == pytest.approx(10.0)
    assert (line["n_seeds"], line["n_attempted"]) == (1, 19)
    lines[10] = failed(seed=1)
    (missing,) = table1.left_out(frame(lines))
    assert missing.endswith("seed 1: 1 of 10 folds failed (0); 1 of 10 folds absent (9)")


def test_an_unconverged_fit_with_numbers_enters_the_mean_but_not_the_count(
    line, unconverged, frame, of_folds
):
    of_folds(2)
    lines = frame([line(test_error=0.1), unconverged(fold=1)])
    found = only(table1.means(lines), "NTLL")
    assert found["mean"] == pytest.approx(200.0)
    assert (found["n_seeds"], found["n_converged"], found["n_attempted"]) == (1, 1, 2)
    assert not table1.left_out(lines)


def test_no_complete_seed_means_no_mean(failed, frame):
    line = only(table1.means(frame([failed(dataset="coal")])), "TE")
    assert math.isnan(line["mean"]) and math.isnan(line["sd"])
    assert (line["n_seeds"], line["n_converged"], line["n_attempted"]) == (0, 0, 1)


def test_coal_has_one_fold(line, frame):
    found = only(table1.means(frame([line(dataset="coal", test_error=1.5)])), "TE")
    assert (found["row"], found["mean"], found["sd"]) == ("Mining", pytest.approx(150.0), 0.0)


def test_order_of_the_lines_does_not_matter(run, of_folds):
    of_folds(2)
    shuffled = run.iloc[random.Random(0).sample(range(len(run)), len(run))]
    first, second = (table1.means(lines) for lines in (run, shuffled))
    assert first.equals(second)


def test_rows_and_methods_come_in_the_papers_order(run, of_folds):
    of_folds(2)
    summary = table1.means(run)
    assert tuple(summary.columns) == published.SUMMARY_COLUMNS
    assert list(dict.fromkeys(summary["metric"])) == ["TE", "NTLL"]
    assert list(dict.fromkeys(summary["row"])) == ["Wine1", "Wine2", "Mining"]
    assert list(summary["method"][:4]) == ["ep", "qp", "vb-joint", "vb"]


def test_protocols_are_never_mixed(line, frame):
    lines = frame([line(dataset="coal", protocol="corrected", ntll=0.4), line(dataset="coal")])
    summary = table1.means(lines)
    assert only(summary, "NTLL", protocol="corrected")["mean"] == pytest.approx(400.0)
    assert only(summary, "NTLL", protocol="as-released")["mean"] == pytest.approx(200.0)
    assert list(dict.fromkeys(summary["protocol"])) == ["as-released", "corrected"]


# QP against EP


def ep_and_qp(seed_of, ep, qp, pair="ep", **where):
    """Folds of one seed with these NTLLs."""
    paired = {"pair": pair, "n_above": 0, "ratio_min": 1.0, "ratio_median": 1.0, "ratio_max": 1.0}
    return seed_of(ep, method="ep", **where) + seed_of(qp, method="qp", **where, **paired)


def gap_of(found, against, row="Wine1"):
    (line,) = found[(found["against"] == against) & (found["row"] == row)].itertuples(index=False)
    return line


def test_folds_and_seeds_are_counted_apart(seed_of, frame, of_folds):
    of_folds(2)
    lines = ep_and_qp(seed_of, [0.3, 0.3], [0.2, 0.31])  # below in one fold, and in the mean
    lines += ep_and_qp(seed_of, [0.3, 0.3], [0.1, 0.6], seed=1)  # one fold, not the mean
    line = gap_of(table1.ntll_gaps(frame(lines)), "reported")
    assert (line.n_folds, line.n_below, line.n_seeds, line.n_seeds_below) == (4, 2, 2, 1)
    assert line.gap == pytest.approx(1000 * (0.045 - 0.05) / 2)


def test_below_is_strict(seed_of, frame, of_folds):
    of_folds(2)
    line = gap_of(table1.ntll_gaps(frame(ep_and_qp(seed_of, [0.3, 0.3], [0.3, 0.3]))), "reported")
    assert (line.n_below, line.n_seeds_below, line.gap) == (0, 0, 0.0)


def test_failed_folds_leave_their_seed_out_of_gap_and_shares(seed_of, failed, frame, of_folds):
    of_folds(2)
    lines = ep_and_qp(seed_of, [0.3, 0.3], [0.2, 0.2]) + ep_and_qp(seed_of, [0.3], [0.1], seed=1)
    lines += [failed(method="ep", seed=1, fold=1)]
    line = gap_of(table1.ntll_gaps(frame(lines)), "reported")
    assert (line.n_folds, line.n_below, line.n_seeds, line.n_seeds_below) == (2, 2, 1, 1)
    assert line.gap == pytest.approx(100.0)
    of_folds(3)
    none = gap_of(table1.ntll_gaps(frame(lines)), "reported")
    assert (none.n_folds, none.n_below, none.n_seeds, none.n_seeds_below) == (0, 0, 0, 0)
    assert none.gap != none.gap


def test_rows_come_in_the_tables_order_and_protocols_apart(seed_of, frame, of_folds):
    of_folds(2)
    lines = ep_and_qp(seed_of, [1.6], [1.5], dataset="coal")
    lines += ep_and_qp(seed_of, [1.6], [1.7], dataset="coal", protocol="corrected")
    lines += ep_and_qp(seed_of, [0.3, 0.3], [0.2, 0.2])
    found = table1.ntll_gaps(frame(lines))
    assert list(zip(found["protocol"], found["row"], found["n_below"], strict=True))[::2] == [
        ("as-released", "Wine1", 2),
        ("as-released", "Mining", 1),
        ("corrected", "Mining", 0),
    ]
    assert tuple(found.columns) == table1.GAP_COLUMNS


def test_methods_that_were_not_run_give_no_lines(seed_of, frame):
    assert table1.ntll_gaps(frame(seed_of([0.1], method="vb"))).empty


@pytest.mark.parametrize(
    ("below", "n", "star"), [(91, 100, True), (90, 100, False), (0, 0, False), (10, 10, True)]
)
def test_an_asterisk_needs_more_than_90_per_cent(below, n, star):
    assert table1.has_asterisk(below, n) is star
