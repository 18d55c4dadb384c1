"""Means, spreads and counts, against numbers worked out by hand."""

import math
import random

import pytest

from tilted.results import aggregate, published


def only(summary, metric, **where):
    for name, value in {"metric": metric, **where}.items():
        summary = summary[summary[name] == value]
    assert len(summary) == 1
    return summary.iloc[0]


def test_mean_over_folds_then_population_sd_over_seeds(seed_of, frame):
    lines = [
        *seed_of([0.1, 0.3], [1.0, 2.0], seed=0),  # seed means 0.2 and 1.5
        *seed_of([0.2, 0.6], [2.0, 3.0], seed=1),  # 0.4 and 2.5
        *seed_of([0.6, 0.6], [3.0, 4.0], seed=2),  # 0.6 and 3.5
    ]
    summary = aggregate.summarise(frame(lines), folds=2)
    error, density = only(summary, "TE"), only(summary, "NTLL")
    assert error["mean"] == pytest.approx(40.0)  # 0.4, times 100
    assert error["sd"] == pytest.approx(100 * math.sqrt(0.08 / 3))
    assert density["mean"] == pytest.approx(2500.0)  # 2.5, times 1000
    assert density["sd"] == pytest.approx(1000 * math.sqrt(2 / 3))
    assert (error["n_seeds"], error["n_converged"], error["n_attempted"]) == (3, 6, 6)
    assert (error["row"], error["method"], error["protocol"]) == ("Wine1", "ep", "as-released")


def test_a_seed_with_a_failed_fold_is_left_out_whole_and_counted(seed_of, failed, frame):
    lines = frame([*seed_of([0.1, 0.3]), *seed_of([0.9], seed=1), failed(seed=1, fold=1)])
    line = only(aggregate.summarise(lines, folds=2), "TE")
    assert line["mean"] == pytest.approx(20.0)  # the 0.9 of seed 1 does not enter
    assert (line["n_seeds"], line["n_converged"], line["n_attempted"]) == (1, 3, 4)
    (missing,) = aggregate.left_out(lines, folds=2).itertuples()
    assert (missing.dataset, missing.method, missing.seed) == ("wine12", "ep", 1)
    assert missing.reason == "1 of 2 folds failed (1)"
    means = aggregate.seed_means(lines, folds=2)
    assert means["complete"].tolist() == [True, False] and means["TE"].isna().tolist() == [False, True]


def test_a_seed_with_an_absent_fold_is_left_out(seed_of, failed, frame):
    lines = [*seed_of([0.1] * 10), *seed_of([0.5] * 9, seed=1)]
    line = only(aggregate.summarise(frame(lines)), "TE")
    assert line["mean"] == pytest.approx(10.0)
    assert (line["n_seeds"], line["n_attempted"]) == (1, 19)
    lines[10] = failed(seed=1)
    (missing,) = aggregate.left_out(frame(lines)).itertuples()
    assert missing.reason == "1 of 10 folds failed (0); 1 of 10 folds absent (9)"


def test_an_unconverged_fit_with_numbers_enters_the_mean_but_not_the_count(line, unconverged, frame):
    lines = frame([line(test_error=0.1), unconverged(fold=1)])
    found = only(aggregate.summarise(lines, folds=2), "NTLL")
    assert found["mean"] == pytest.approx(200.0)
    assert (found["n_seeds"], found["n_converged"], found["n_attempted"]) == (1, 1, 2)
    assert aggregate.left_out(lines, folds=2).empty


def test_no_complete_seed_means_no_mean(failed, frame):
    line = only(aggregate.summarise(frame([failed(dataset="coal")])), "TE")
    assert math.isnan(line["mean"]) and math.isnan(line["sd"])
    assert (line["n_seeds"], line["n_converged"], line["n_attempted"]) == (0, 0, 1)


def test_coal_has_one_fold(line, frame):
    found = only(aggregate.summarise(frame([line(dataset="coal", test_error=1.5)])), "TE")
    assert (found["row"], found["mean"], found["sd"]) == ("Mining", pytest.approx(150.0), 0.0)


def test_troubled_lists_failed_and_unconverged_fits_with_their_reasons(run):
    found = aggregate.troubled(run)[["dataset", "method", "seed", "fold", "outcome", "reason"]]
    assert found.values.tolist() == [
        ["wine12", "qp", 1, 1, "failed", "cavity variance is negative"],
        ["wine12", "vb-joint", 0, 0, "not converged", "1000 evaluations & more; a note"],
    ]


def test_order_of_the_lines_does_not_matter(run):
    shuffled = run.iloc[random.Random(0).sample(range(len(run)), len(run))]
    first, second = (aggregate.summarise(lines, folds=2) for lines in (run, shuffled))
    assert first.equals(second)


def test_rows_and_methods_come_in_the_papers_order(run):
    summary = aggregate.summarise(run, folds=2)
    assert tuple(summary.columns) == published.SUMMARY_COLUMNS
    assert list(dict.fromkeys(summary["metric"])) == ["TE", "NTLL"]
    assert list(dict.fromkeys(summary["row"])) == ["Wine1", "Wine2", "Mining"]
    assert list(summary["method"][:4]) == ["ep", "qp", "vb-joint", "vb"]


def test_protocols_are_never_mixed(line, frame):
    lines = frame([line(dataset="coal", protocol="corrected", ntll=0.4), line(dataset="coal")])
    summary = aggregate.summarise(lines)
    assert only(summary, "NTLL", protocol="corrected")["mean"] == pytest.approx(400.0)
    assert only(summary, "NTLL", protocol="as-released")["mean"] == pytest.approx(200.0)
    assert list(dict.fromkeys(summary["protocol"])) == ["as-released", "corrected"]


def test_runtimes(line, frame):
    lines = [line(fold=k, seconds=value) for k, value in enumerate([1.0, 2.0, 9.0])]
    (entry,) = aggregate.runtimes(frame(lines)).itertuples()
    assert (entry.protocol, entry.method, entry.n_fits) == ("as-released", "ep", 3)
    assert (entry.median, entry.longest, entry.total) == (2.0, 9.0, 12.0)
