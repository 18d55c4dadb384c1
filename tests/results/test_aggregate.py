"""Means, spreads and counts, against numbers worked out by hand."""

import math
import random

import pytest

from tilted.results import aggregate


def only(summary, metric, **where):
    for name, value in {"metric": metric, **where}.items():
        summary = summary[summary[name] == value]
    assert len(summary) == 1
    return summary.iloc[0]


def test_mean_over_folds_then_population_sd_over_seeds(seed_of):
    records = [
        *seed_of([0.1, 0.3], [1.0, 2.0], seed=0),  # seed means 0.2 and 1.5
        *seed_of([0.2, 0.6], [2.0, 3.0], seed=1),  # 0.4 and 2.5
        *seed_of([0.6, 0.6], [3.0, 4.0], seed=2),  # 0.6 and 3.5
    ]
    summary = aggregate.summarise(records, folds=2)
    error, density = only(summary, "TE"), only(summary, "NTLL")
    assert error["mean"] == pytest.approx(40.0)  # 0.4, times 100
    assert error["sd"] == pytest.approx(100 * math.sqrt(0.08 / 3))
    assert density["mean"] == pytest.approx(2500.0)  # 2.5, times 1000
    assert density["sd"] == pytest.approx(1000 * math.sqrt(2 / 3))
    assert (error["n_seeds"], error["n_converged"], error["n_attempted"]) == (3, 6, 6)
    assert (error["row"], error["method"], error["protocol"]) == ("Wine1", "ep", "as-released")


def test_a_seed_with_a_failed_fold_is_left_out_whole_and_counted(seed_of, failed):
    records = [*seed_of([0.1, 0.3]), *seed_of([0.9], seed=1), failed(seed=1, fold=1)]
    line = only(aggregate.summarise(records, folds=2), "TE")
    assert line["mean"] == pytest.approx(20.0)  # the 0.9 of seed 1 does not enter
    assert (line["n_seeds"], line["n_converged"], line["n_attempted"]) == (1, 3, 4)
    (te, ntll) = aggregate.left_out(records, folds=2)
    assert (te.metric, ntll.metric, te.seed) == ("TE", "NTLL", 1)
    assert te.reason == "1 of 2 folds failed (1)"


def test_a_seed_with_an_absent_fold_is_left_out(seed_of):
    records = [*seed_of([0.1] * 10), *seed_of([0.5] * 9, seed=1)]
    line = only(aggregate.summarise(records), "TE")
    assert line["mean"] == pytest.approx(10.0)
    assert (line["n_seeds"], line["n_attempted"]) == (1, 19)
    assert aggregate.left_out(records)[0].reason == "1 of 10 folds absent (9)"


def test_an_unconverged_fit_with_numbers_enters_the_mean_but_not_the_count(record, unconverged):
    records = [record(test_error=0.1), unconverged(fold=1)]
    line = only(aggregate.summarise(records, folds=2), "NTLL")
    assert line["mean"] == pytest.approx(200.0)
    assert (line["n_seeds"], line["n_converged"], line["n_attempted"]) == (1, 1, 2)
    assert aggregate.left_out(records, folds=2) == []


def test_no_complete_seed_means_no_mean(failed):
    line = only(aggregate.summarise([failed(dataset="coal")]), "TE")
    assert math.isnan(line["mean"]) and math.isnan(line["sd"])
    assert (line["n_seeds"], line["n_converged"], line["n_attempted"]) == (0, 0, 1)


@pytest.mark.parametrize("bad", [math.nan, math.inf, None])
def test_a_number_that_is_none_spoils_its_own_metric_only(record, bad):
    records = [record(dataset="coal", ntll=bad), record(dataset="coal", seed=1)]
    summary = aggregate.summarise(records)
    assert only(summary, "TE")["n_seeds"] == 2
    line = only(summary, "NTLL")
    assert line["mean"] == pytest.approx(200.0) and line["n_seeds"] == 1


def test_coal_has_one_fold(record):
    line = only(aggregate.summarise([record(dataset="coal", test_error=1.5)]), "TE")
    assert (line["row"], line["mean"], line["sd"]) == ("Mining", pytest.approx(150.0), 0.0)


def test_troubled_lists_failed_and_unconverged_fits_with_their_reasons(run):
    found = [(t.row, t.method, t.seed, t.fold, t.outcome, t.reason) for t in aggregate.troubled(run, folds=2)]
    assert found == [
        ("Wine1", "qp", 1, 1, "failed", "cavity variance is negative"),
        ("Wine1", "vb-joint", 0, 0, "not converged", "1000 evaluations & more"),
    ]


def test_a_failed_fit_without_a_reason_is_still_listed(failed):
    (fit,) = aggregate.troubled([failed(reason=None)])
    assert fit.reason == "no reason given"


def test_order_of_the_records_does_not_matter(run):
    shuffled = random.Random(0).sample(run, len(run))
    first, second = (aggregate.summarise(r, folds=2) for r in (run, shuffled))
    assert first.equals(second)


def test_rows_and_methods_come_in_the_papers_order(run):
    summary = aggregate.summarise(run, folds=2)
    assert list(dict.fromkeys(summary["metric"])) == ["TE", "NTLL"]
    assert list(dict.fromkeys(summary["row"])) == ["Wine1", "Wine2", "Mining"]
    assert list(summary["method"][:4]) == ["ep", "qp", "vb-joint", "vb"]


def test_protocols_are_never_mixed(record):
    records = [record(dataset="coal"), record(dataset="coal", protocol="corrected", ntll=0.4)]
    summary = aggregate.summarise(records)
    assert only(summary, "NTLL", protocol="corrected")["mean"] == pytest.approx(400.0)
    assert only(summary, "NTLL", protocol="as-released")["mean"] == pytest.approx(200.0)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({}, "two records of one fit"),
        ({"fold": 10}, "unexpected fold 10"),
        ({"dataset": "iris"}, "'iris' has no row"),
    ],
)
def test_records_that_do_not_fit_together_are_refused(record, second, message):
    with pytest.raises(ValueError, match=message):
        aggregate.summarise([record(), record(**second)])


def test_runtimes_count_what_was_timed(record):
    seconds = [1.0, 2.0, 9.0, None]
    records = [record(fold=k, seconds=value) for k, value in enumerate(seconds)]
    (entry,) = aggregate.runtimes(records)
    assert (entry.n_fits, entry.n_timed) == (4, 3)
    assert (entry.median, entry.longest, entry.total) == (2.0, 9.0, 12.0)
    (empty,) = aggregate.runtimes([record(seconds=None)])
    assert (empty.n_timed, empty.median, empty.longest, empty.total) == (0, None, None, 0.0)
