"""QP's NTLL against EP's: shares of folds and of seeds, reported and at equal hyperparameters."""

import pytest

from tilted.results import gaps


def ep_and_qp(seed_of, ep, qp, pair="ep", **where):
    """Folds of one seed with these NTLLs."""
    paired = {"pair": pair, "n_above": 0, "ratio_min": 1.0, "ratio_median": 1.0, "ratio_max": 1.0}
    return seed_of(ep, method="ep", **where) + seed_of(qp, method="qp", **where, **paired)


def only(found, against, row="Wine1"):
    (line,) = found[(found["against"] == against) & (found["row"] == row)].itertuples(index=False)
    return line


def test_folds_and_seeds_are_counted_apart(seed_of, frame):
    lines = ep_and_qp(seed_of, [0.3, 0.3], [0.2, 0.31])  # below in one fold, and in the mean
    lines += ep_and_qp(seed_of, [0.3, 0.3], [0.1, 0.6], seed=1)  # one fold, not the mean
    line = only(gaps.ntll_gaps(frame(lines), folds=2), "reported")
    assert (line.n_folds, line.n_below, line.n_seeds, line.n_seeds_below) == (4, 2, 2, 1)
    assert line.gap == pytest.approx(1000 * (0.045 - 0.05) / 2)


def test_below_is_strict(seed_of, frame):
    line = only(gaps.ntll_gaps(frame(ep_and_qp(seed_of, [0.3, 0.3], [0.3, 0.3])), folds=2), "reported")
    assert (line.n_below, line.n_seeds_below, line.gap) == (0, 0, 0.0)


def test_equal_hyperparameters_use_the_record_that_the_pair_names(seed_of, frame):
    lines = ep_and_qp(seed_of, [0.3, 0.3], [0.2, 0.2], pair="ep-tune")
    lines += seed_of([0.1, 0.1], method="ep-tune")
    found = gaps.ntll_gaps(frame(lines), folds=2)
    assert only(found, "reported").n_below == 2 and only(found, "equal").n_below == 0
    assert only(found, "equal").gap == pytest.approx(-100.0)


def test_a_fold_without_a_pair_counts_only_as_reported(seed_of, frame):
    lines = seed_of([0.3, 0.3], method="ep") + seed_of([0.2, 0.2], method="qp")
    found = gaps.ntll_gaps(frame(lines), folds=2)
    assert list(found["against"]) == ["reported"]


@pytest.mark.parametrize("moved", [{"variance": 1.001}, {"lengthscale": "2.002"}])
def test_equal_hyperparameters_drop_a_coal_seed_whose_hyperparameters_moved(seed_of, frame, moved):
    lines = ep_and_qp(seed_of, [1.6], [1.5], dataset="coal")
    lines += ep_and_qp(seed_of, [1.6], [1.2], dataset="coal", seed=1)
    lines[-1] |= moved
    found = gaps.ntll_gaps(frame(lines))
    reported, equal = only(found, "reported", "Mining"), only(found, "equal", "Mining")
    assert (reported.n_folds, reported.n_seeds, reported.gap) == (2, 2, pytest.approx(250.0))
    assert (equal.n_folds, equal.n_seeds, equal.gap) == (1, 1, pytest.approx(100.0))


def test_failed_folds_leave_their_seed_out_of_gap_and_shares(seed_of, failed, frame):
    lines = ep_and_qp(seed_of, [0.3, 0.3], [0.2, 0.2]) + ep_and_qp(seed_of, [0.3], [0.1], seed=1)
    lines += [failed(method="ep", seed=1, fold=1)]
    line = only(gaps.ntll_gaps(frame(lines), folds=2), "reported")
    assert (line.n_folds, line.n_below, line.n_seeds, line.n_seeds_below) == (2, 2, 1, 1)
    assert line.gap == pytest.approx(100.0)
    none = only(gaps.ntll_gaps(frame(lines), folds=3), "reported")
    assert (none.n_folds, none.n_below, none.n_seeds, none.n_seeds_below) == (0, 0, 0, 0)
    assert none.gap != none.gap


def test_rows_come_in_the_tables_order_and_protocols_apart(seed_of, frame):
    lines = ep_and_qp(seed_of, [1.6], [1.5], dataset="coal")
    lines += ep_and_qp(seed_of, [1.6], [1.7], dataset="coal", protocol="corrected")
    lines += ep_and_qp(seed_of, [0.3, 0.3], [0.2, 0.2])
    found = gaps.ntll_gaps(frame(lines), folds=2)
    assert list(zip(found["protocol"], found["row"], found["n_below"], strict=True))[::2] == [
        ("as-released", "Wine1", 2), ("as-released", "Mining", 1), ("corrected", "Mining", 0),
    ]  # fmt: skip
    assert tuple(found.columns) == gaps.COLUMNS


def test_methods_that_were_not_run_give_no_lines(seed_of, frame):
    assert gaps.ntll_gaps(frame(seed_of([0.1], method="vb"))).empty


@pytest.mark.parametrize(
    ("below", "n", "star"), [(91, 100, True), (90, 100, False), (0, 0, False), (10, 10, True)]
)
def test_an_asterisk_needs_more_than_90_per_cent(below, n, star):
    assert gaps.has_asterisk(below, n) is star
