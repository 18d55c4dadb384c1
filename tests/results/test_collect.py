"""Fit files to compact records: values, pairs, and which of two runs of a seed is taken."""

import os

import pytest

from tilted.results import collect
from tilted.results.store import RecordError

FIRST = {"variance": 1.0, "lengthscale": 2.0}
SECOND = {"variance": 2.0, "lengthscale": 2.0}
STAMP = {"source": "ab", "choices": "cd", "environment": {"cpu": "fast"}, "date": "2026-01-02"}


def trio(record, fold, qp, tune=None, ep=None, ep_at=FIRST, qp_at=FIRST, **where):
    """Records of one fold: first tuning, as reported, QP."""
    fits = [record(method="qp", fold=fold, latent_variance=qp, hyperparameters=qp_at, **where)]
    if tune is not None:
        fits.append(record(method="ep-tune", fold=fold, latent_variance=tune, **where))
    if ep is not None:
        fits.append(record(method="ep", fold=fold, latent_variance=ep, hyperparameters=ep_at, **where))
    return fits


def points(found, reference):
    shown = found.variances[found.variances["reference"] == reference]
    return list(zip(shown["v_ep"], shown["v_qp"], strict=True))


def pair_of(found):
    (line,) = found.frame[found.frame["method"] == "qp"].itertuples(index=False)
    return line


def test_every_column_comes_from_the_record(record, fits):
    status = {
        "converged": True,
        "sweeps": 3,
        "evaluations": 5,
        "clipped": 7,
        "retries": 11,
        "negative_sites": 13,
    }
    status |= {"message": "converged in 3 sweeps", "residual": 0.0}
    found = collect.collect([fits("ep-000-000", [record(seed=4, fold=2, status=status, test_error=1 / 3)])])
    assert found.frame.iloc[0].dropna().to_dict() == {
        "protocol": "as-released", "dataset": "wine12", "method": "ep", "seed": 4, "fold": 2,
        "n_train": 117, "n_test": 2, "outcome": "ok", "reason": "", "sweeps": 3, "evaluations": 5,
        "clipped": 7, "retries": 11, "negative_sites": 13, "variance": 1.0, "lengthscale": "2",
        "log_evidence": -15.9, "test_error": 1 / 3, "ntll": 0.2, "seconds": 0.3, "pair": "",
    }  # fmt: skip


def test_failed_and_unconverged_fits_keep_their_reason(record, failed_record, fits):
    stopped = {**record()["status"], "converged": False, "message": "1000\n evaluations"}
    records = [failed_record(), record(fold=1, status=stopped), failed_record(None, fold=2)]
    records += [record(fold=3, ntll=None), record(fold=4, test_error=None)]
    frame = collect.collect([fits("ep-000-000", records)]).frame
    assert list(frame["outcome"]) == ["failed", "not converged", *["failed"] * 3]
    assert list(frame["reason"])[:3] == ["cavity variance is negative", "1000 evaluations", "no reason given"]
    assert frame["variance"].isna().tolist()[:3] == [True, False, True]
    assert frame["lengthscale"].tolist()[:3] == ["", "2", ""]


def test_one_lengthscale_a_dimension_is_joined(record, fits):
    at = {"variance": 1.0, "lengthscale": [1 / 3, 20.0]}
    frame = collect.collect([fits("ep-000-000", [record(hyperparameters=at)])]).frame
    assert frame["lengthscale"][0] == "0.333333333333:20"


def test_main_pair_is_the_first_tuning(record, fits):
    records = trio(record, 0, qp=[0.9, 5.0], tune=[1.0, 4.0], ep=[1.5, 5.0])
    found = collect.collect([fits("all-000-000", records)])
    line = pair_of(found)
    assert (line.pair, line.n_above) == ("ep-tune", 1)
    assert (line.ratio_min, line.ratio_median, line.ratio_max) == pytest.approx((0.9, 1.075, 1.25))
    assert points(found, "main") == [(1.0, 0.9), (4.0, 5.0)] and points(found, "moved") == []
    others = found.frame[found.frame["method"] != "qp"]
    assert (others["pair"] == "").all() and others["n_above"].isna().all()


def test_a_moved_fold_has_both_pairs(record, fits):
    found = collect.collect([fits("x", trio(record, 0, qp=[0.9], tune=[1.0], ep=[0.5], ep_at=SECOND))])
    assert pair_of(found).pair == "ep-tune"
    assert (points(found, "main"), points(found, "moved")) == ([(1.0, 0.9)], [(0.5, 0.9)])


def test_ep_as_reported_serves_when_it_has_not_moved(record, fits):
    almost = {"variance": 1.0 + 1e-8, "lengthscale": 2.0}
    found = collect.collect([fits("x", trio(record, 0, qp=[0.9], ep=[1.0], ep_at=almost))])
    assert pair_of(found).pair == "ep" and points(found, "moved") == []
    elsewhere = trio(record, 0, qp=[0.9], tune=[7.0], ep=[1.0], ep_at=SECOND, qp_at=SECOND)
    assert points(collect.collect([fits("y", elsewhere, "other")]), "main") == [(1.0, 0.9)]


def test_a_moved_fold_without_its_first_tuning_has_no_main_pair(record, fits):
    found = collect.collect([fits("x", trio(record, 0, qp=[0.9], ep=[1.0], ep_at=SECOND))])
    assert pair_of(found).pair == "" and points(found, "moved") == [(1.0, 0.9)]


def test_coal_is_compared_as_reported(record, fits):
    records = trio(record, 0, qp=[0.9], tune=[1.0], ep=[0.5], ep_at=SECOND, dataset="coal")
    found = collect.collect([fits("x", records)])
    assert pair_of(found).pair == "ep"
    assert (points(found, "main"), points(found, "moved")) == ([(0.5, 0.9)], [])


def test_a_failed_fit_has_no_pair(record, failed_record, fits):
    found = collect.collect([fits("x", [record(method="ep"), failed_record(method="qp")])])
    assert pair_of(found).pair == "" and found.variances.empty


def test_points_of_five_seeds_are_kept_and_of_every_coal_seed(record, fits):
    paths = []
    for dataset in ("wine12", "coal"):
        records = [r for s in (0, 4, 5) for r in trio(record, 0, qp=[0.9], ep=[1.0], seed=s, dataset=dataset)]
        paths.append(fits("x", records))
    found = collect.collect(paths)
    assert (found.frame.loc[found.frame["method"] == "qp", "pair"] == "ep").all()
    kept = found.variances.groupby("dataset")["seed"].apply(list).to_dict()
    assert kept == {"wine12": [0, 4], "coal": [0, 4, 5]}


def test_methods_in_files_of_their_own_are_matched_whatever_the_order(record, fits):
    records = trio(record, 1, qp=[20.0], tune=[21.0]) + trio(record, 0, qp=[10.0], tune=[11.0])
    paths = [fits(m, [r for r in records if r["method"] == m]) for m in ("qp", "ep-tune")]
    for order in (paths, paths[::-1]):
        assert sorted(points(collect.collect(order), "main")) == [(11.0, 10.0), (21.0, 20.0)]


@pytest.mark.parametrize(
    ("variances", "message"), [([1.0], "different test points"), ([1.0, 0.0], "a variance is not positive")]
)
def test_variances_that_cannot_be_matched_are_refused(record, fits, variances, message):
    path = fits("x", [record(method="qp"), record(method="ep", latent_variance=variances)])
    with pytest.raises(ValueError, match=f"as-released wine12 0 0: .*{message}"):
        collect.collect([path])


def test_two_records_of_one_fit_in_a_file_are_refused(record, fits):
    with pytest.raises(
        RecordError, match=r"ep-0\.jsonl\.gz: as-released wine12 ep 0 1: two records of one fit"
    ):
        collect.collect([fits("ep-0", [record(fold=1), record(fold=1)])])


def test_of_two_files_with_a_seed_the_later_gives_it_whole(record, fits):
    """By the day of the run, else by the age of the file; folds of the two are never mixed."""
    small = fits("ep-000-000", [record(ntll=0.1), record(fold=1, ntll=0.1)])
    large = fits("ep-000-001", [record(ntll=0.2), record(seed=1, ntll=0.2)])
    os.utime(small, (2e9, 2e9))
    assert list(collect.collect([small, large]).frame["ntll"]) == [0.1, 0.1, 0.2]
    os.utime(large, (3e9, 3e9))
    assert list(collect.collect([small, large]).frame["ntll"]) == [0.2, 0.2]
    fits("ep-000-000", [record(ntll=0.3, run=STAMP)])
    os.utime(small, (1e9, 1e9))
    assert list(collect.collect([small, large]).frame["ntll"]) == [0.3, 0.2]


def test_stamps_are_kept_seed_by_seed(record, fits):
    later = {**STAMP, "date": "2026-01-03"}
    found = collect.collect([fits("x", [record(run=STAMP), record(seed=1, run=later), record(seed=2)])])
    dates = {key[-1]: stamp["date"] for key, stamp in found.runs.seeds.items()}
    assert dates == {0: "2026-01-02", 1: "2026-01-03", 2: ""}
    assert list(found.runs.environments.values()) == [{"cpu": "fast"}]
    with pytest.raises(RecordError, match="folds of different runs in one seed"):
        collect.collect([fits("x", [record(run=STAMP), record(fold=1, run=later)])])


def test_a_damaged_fit_file_is_named(record, fits):
    path = fits("ep-000-004", [record()])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RecordError, match=r"ep-000-004\.jsonl\.gz"):
        collect.collect([path])
