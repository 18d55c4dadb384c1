"""Fit files into the records: lines, pairs, which of two runs of a seed is taken, and never a mixture."""

import os
import shutil
from typing import NamedTuple

import pandas as pd
import pytest

from papers.evidence import records
from papers.evidence.store import RecordError
from papers.qp import collect
from papers.qp.lines import NO_PAIR, line_of
from papers.qp.records import DIFFERENCES, FITS, VARIANCES

FIRST = {"variance": 1.0, "lengthscale": 2.0}
SECOND = {"variance": 2.0, "lengthscale": 2.0}
RELEASED = FITS["as-released"]


class Found(NamedTuple):
    """What fit files became."""

    frame: pd.DataFrame
    variances: pd.DataFrame


@pytest.fixture
def collected(tmp_path):
    """Function of paths: the records that they become by themselves."""

    def fold(paths):
        shutil.rmtree(tmp_path / "alone", ignore_errors=True)
        collect.fold_in(paths, tmp_path / "alone")
        return Found(*(records.load(study, tmp_path / "alone") for study in (RELEASED, VARIANCES)))

    return fold


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


def test_every_column_comes_from_the_record(record):
    status = {"converged": True, "sweeps": 3, "evaluations": 5, "clipped": 7, "retries": 11}
    status |= {"negative_sites": 13, "message": "converged in 3 sweeps", "residual": 0.0}
    assert line_of(record(seed=4, fold=2, status=status, test_error=1 / 3)) == {
        "protocol": "as-released",
        "dataset": "wine12",
        "method": "ep",
        "seed": 4,
        "fold": 2,
        "n_train": 117,
        "n_test": 2,
        "outcome": "ok",
        "reason": "",
        "sweeps": 3,
        "evaluations": 5,
        "clipped": 7,
        "retries": 11,
        "negative_sites": 13,
        "variance": 1.0,
        "lengthscale": "2",
        "log_evidence": -15.9,
        "test_error": 1 / 3,
        "ntll": 0.2,
        "seconds": 0.3,
        **NO_PAIR,
    }


def test_failed_and_unconverged_fits_keep_their_reason(record, failed_record):
    stopped = {**record()["status"], "converged": False, "message": "1000\n evaluations"}
    records = [failed_record(), record(status=stopped), failed_record(None)]
    lines = [line_of(each) for each in [*records, record(ntll=None), record(test_error=None)]]
    assert [line["outcome"] for line in lines] == ["failed", "not converged", *["failed"] * 3]
    reasons = ["cavity variance is negative", "1000 evaluations", "no reason given"]
    assert [line["reason"] for line in lines][:3] == reasons
    assert [line["variance"] for line in lines][:3] == [None, 1.0, None]
    assert [line["lengthscale"] for line in lines][:3] == ["", "2", ""]


def test_one_lengthscale_a_dimension_is_joined(record, fit_file, collected):
    at = {"variance": 1.0, "lengthscale": [1 / 3, 20.0]}
    frame = collected([fit_file("ep-000-000", [record(hyperparameters=at)])]).frame
    assert frame["lengthscale"][0] == "0.333333333333:20"


def test_main_pair_is_the_first_tuning(record, fit_file, collected):
    records = trio(record, 0, qp=[0.9, 5.0], tune=[1.0, 4.0], ep=[1.5, 5.0])
    found = collected([fit_file("all-000-000", records)])
    line = pair_of(found)
    assert (line.pair, line.n_above) == ("ep-tune", 1)
    assert (line.ratio_min, line.ratio_median, line.ratio_max) == pytest.approx((0.9, 1.075, 1.25))
    assert points(found, "main") == [(1.0, 0.9), (4.0, 5.0)] and points(found, "moved") == []
    others = found.frame[found.frame["method"] != "qp"]
    assert (others["pair"] == "").all() and others["n_above"].isna().all()


def test_a_moved_fold_has_both_pairs(record, fit_file, collected):
    found = collected([fit_file("x", trio(record, 0, qp=[0.9], tune=[1.0], ep=[0.5], ep_at=SECOND))])
    assert pair_of(found).pair == "ep-tune"
    assert (points(found, "main"), points(found, "moved")) == ([(1.0, 0.9)], [(0.5, 0.9)])


def test_ep_as_reported_serves_when_it_has_not_moved(record, fit_file, collected):
    almost = {"variance": 1.0 + 1e-8, "lengthscale": 2.0}
    found = collected([fit_file("x", trio(record, 0, qp=[0.9], ep=[1.0], ep_at=almost))])
    assert pair_of(found).pair == "ep" and points(found, "moved") == []
    elsewhere = trio(record, 0, qp=[0.9], tune=[7.0], ep=[1.0], ep_at=SECOND, qp_at=SECOND)
    assert points(collected([fit_file("y", elsewhere, "other")]), "main") == [(1.0, 0.9)]


def test_a_moved_fold_without_its_first_tuning_has_no_main_pair(record, fit_file, collected):
    found = collected([fit_file("x", trio(record, 0, qp=[0.9], ep=[1.0], ep_at=SECOND))])
    assert pair_of(found).pair == "" and points(found, "moved") == [(1.0, 0.9)]


def test_coal_is_compared_as_reported(record, fit_file, collected):
    records = trio(record, 0, qp=[0.9], tune=[1.0], ep=[0.5], ep_at=SECOND, dataset="coal")
    found = collected([fit_file("x", records)])
    assert pair_of(found).pair == "ep"
    assert (points(found, "main"), points(found, "moved")) == ([(0.5, 0.9)], [])


def test_a_failed_fit_has_no_pair(record, failed_record, fit_file, collected):
    found = collected([fit_file("x", [record(method="ep"), failed_record(method="qp")])])
    assert pair_of(found).pair == "" and found.variances.empty


def test_points_of_five_seeds_are_kept_and_of_every_coal_seed(record, fit_file, collected):
    paths = []
    for dataset in ("wine12", "coal"):
        records = [r for s in (0, 4, 5) for r in trio(record, 0, qp=[0.9], ep=[1.0], seed=s, dataset=dataset)]
        paths.append(fit_file("x", records))
    found = collected(paths)
    assert (found.frame.loc[found.frame["method"] == "qp", "pair"] == "ep").all()
    kept = found.variances.groupby("dataset")["seed"].apply(list).to_dict()
    assert kept == {"wine12": [0, 4], "coal": [0, 4, 5]}


def test_methods_in_files_of_their_own_are_matched_whatever_the_order(record, fit_file, collected):
    records = trio(record, 1, qp=[20.0], tune=[21.0]) + trio(record, 0, qp=[10.0], tune=[11.0])
    paths = [fit_file(m, [r for r in records if r["method"] == m]) for m in ("qp", "ep-tune")]
    for order in (paths, paths[::-1]):
        assert sorted(points(collected(order), "main")) == [(11.0, 10.0), (21.0, 20.0)]


@pytest.mark.parametrize(
    ("variances", "message"), [([1.0], "different test points"), ([1.0, 0.0], "a variance is not positive")]
)
def test_variances_that_cannot_be_matched_are_refused(record, fit_file, collected, variances, message):
    path = fit_file("x", [record(method="qp"), record(method="ep", latent_variance=variances)])
    with pytest.raises(ValueError, match=f"as-released wine12 0 0: .*{message}"):
        collected([path])


def test_two_records_of_one_fit_in_a_file_are_refused(record, fit_file, collected):
    with pytest.raises(
        RecordError, match=r"ep-0\.jsonl\.gz: .*wine12, method ep, seed 0, fold 1: two records of one line"
    ):
        collected([fit_file("ep-0", [record(fold=1), record(fold=1)])])


def test_of_two_files_with_a_seed_the_later_gives_it_whole(record, fit_file, collected, stamp):
    """By the day of the run, else by the age of the file; folds of the two are never mixed."""
    small = fit_file("ep-000-000", [record(ntll=0.1), record(fold=1, ntll=0.1)])
    large = fit_file("ep-000-001", [record(ntll=0.2), record(seed=1, ntll=0.2)])
    os.utime(small, (2e9, 2e9))
    assert list(collected([small, large]).frame["ntll"]) == [0.1, 0.1, 0.2]
    os.utime(large, (3e9, 3e9))
    assert list(collected([small, large]).frame["ntll"]) == [0.2, 0.2]
    fit_file("ep-000-000", [record(ntll=0.3, run={**stamp, "date": "2026-01-03"})])
    os.utime(small, (1e9, 1e9))
    assert list(collected([small, large]).frame["ntll"]) == [0.3, 0.2]


def test_folds_of_a_seed_are_of_one_run(record, fit_file, collected, stamp):
    later = {**stamp, "date": "2026-01-03"}
    found = collected([fit_file("x", [record(), record(seed=1, run=later)])])
    assert found.frame["run"].nunique() == 2
    with pytest.raises(RecordError, match="seed 0, fold 1: lines of several runs mixed"):
        collected([fit_file("x", [record(), record(fold=1, run=later)])])


def test_a_record_without_a_stamp_is_refused(record, fit_file, collected):
    for stamp in (None, {"source": "ab", "date": "2026-01-02"}):
        with pytest.raises(RecordError, match=r"x\.jsonl\.gz: a record does not say what made it"):
            collected([fit_file("x", [record(run=stamp)])])


@pytest.mark.parametrize("where", [{"protocol": "corrected"}, {"dataset": "wine13"}])
def test_a_record_in_anothers_folder_is_refused(record, fit_file, collected, where):
    first = fit_file("x", [record()])
    other = fit_file("x", [record(**where)])
    other.replace(first)
    with pytest.raises(RecordError, match="wine12: a record of .* does not belong here"):
        collected([first])


def test_a_damaged_fit_file_is_named(record, fit_file, collected):
    path = fit_file("ep-000-004", [record()])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RecordError, match=r"ep-000-004\.jsonl\.gz"):
        collected([path])


# Into records that are there


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def fold(record, fit_file, results, stamp):
    """Fold fits of wine12 into the results; what changed.

    ``ntll`` and the variances tell the runs apart.
    """

    def fold_in(methods, seeds, ntll, date="2026-01-02", **where):
        records = [
            record(
                method=m,
                seed=s,
                fold=k,
                ntll=ntll,
                latent_variance=[ntll + (m == "ep")],
                run={**stamp, "date": date},
                **where,
            )
            for m in methods
            for s in seeds
            for k in range(2)
        ]
        return list(collect.fold_in([fit_file("all", records, f"{ntll}")], results).values())[0]

    return fold_in


def ntlls(results, protocol="as-released"):
    """(method, seed) -> NTLLs of its folds."""
    frame = records.load(FITS[protocol], results)
    return frame.groupby(["method", "seed"])["ntll"].apply(list).to_dict()


def content(results):
    return {path.name: path.read_bytes() for path in sorted(results.rglob("*")) if path.is_file()}


def test_what_was_run_again_is_replaced_and_the_rest_kept(fold, results):
    fold(["ep"], [0, 1], 0.1)
    change = fold(["ep"], [1, 2], 0.2)
    assert ntlls(results) == {("ep", 0): [0.1] * 2, ("ep", 1): [0.2] * 2, ("ep", 2): [0.2] * 2}
    assert (change.added, change.replaced, change.kept, change.outdated) == (1, 1, 1, 0)
    known = list(records.read_runs(results).values())
    assert [(run.lines, run.replaced) for run in known] == [(4, 0), (4, 2)]


def test_a_seed_is_never_a_mixture_of_two_runs(fold, results, record, fit_file):
    """The new run has one fold only: the old one's other fold goes."""
    fold(["ep"], [0], 0.1)
    collect.fold_in([fit_file("all", [record(ntll=0.2)], "one")], results)
    assert ntlls(results) == {("ep", 0): [0.2]}


def test_methods_datasets_and_protocols_are_replaced_apart(fold, results):
    fold(["ep", "vb"], [0], 0.1)
    fold(["vb"], [0], 0.2)
    fold(["ep"], [0], 0.3, dataset="wine13")
    fold(["ep"], [0], 0.4, protocol="corrected")
    assert ntlls(results)["vb", 0] == [0.2] * 2
    assert ntlls(results)["ep", 0] == [0.1, 0.1, 0.3, 0.3]
    assert ntlls(results, "corrected") == {("ep", 0): [0.4] * 2}


def test_a_run_of_an_earlier_day_is_passed_over(fold, results):
    fold(["ep"], [0], 0.1, date="2026-01-05")
    change = fold(["ep"], [0, 1], 0.2, date="2026-01-04")
    assert ntlls(results) == {("ep", 0): [0.1] * 2, ("ep", 1): [0.2] * 2}
    assert (change.added, change.replaced, change.kept, change.outdated) == (1, 0, 1, 1)
    assert "1 passed over" in str(change)
    fold(["ep"], [0], 0.3, date="2026-01-05")  # the same day: the fit at hand
    assert ntlls(results)["ep", 0] == [0.3] * 2


def test_folding_again_changes_no_byte(fold, results):
    fold(["ep", "qp"], [0, 1], 0.1)
    before = content(results)
    fold(["ep", "qp"], [0, 1], 0.1)
    assert content(results) == before
    assert set(before) == {"as-released.csv.gz", "variances.csv.gz", "runs.csv", "SHA256SUMS", ".lock"}


def test_the_order_of_machines_does_not_matter(fold, results):
    fold(["ep", "qp"], [0], 0.1)
    fold(["vb"], [0, 1], 0.2)
    fold(["ep", "qp"], [1], 0.3)
    one = {study: records.load(study, results) for study in (RELEASED, VARIANCES)}
    shutil.rmtree(results)
    fold(["ep", "qp"], [1], 0.3)
    fold(["ep", "qp"], [0], 0.1)
    fold(["vb"], [0, 1], 0.2)
    for study, frame in one.items():
        pd.testing.assert_frame_equal(records.load(study, results), frame)


def test_of_records_that_begin_anew_only_the_fits_at_hand_remain(fold, results):
    fold(["ep"], [0, 1], 0.1)
    records.begin(results, [RELEASED.file, VARIANCES.file])
    change = fold(["ep"], [2], 0.2)
    assert ntlls(results) == {("ep", 2): [0.2] * 2}
    assert (change.added, change.kept) == (1, 0)


def test_a_pair_stands_only_beside_its_own_ep_record(fold, results):
    """EP is run again, QP is not: QP's comparison was with another record and goes, as do its points."""
    fold(["ep", "qp"], [0, 1], 0.1)
    assert len(records.load(VARIANCES, results)) == 4
    change = fold(["ep"], [0], 0.2)
    frame = records.load(RELEASED, results)
    qp = frame[frame["method"] == "qp"].set_index("seed")
    assert qp.loc[0, "pair"].tolist() == ["", ""] and qp.loc[0, "ratio_max"].isna().all()
    assert qp.loc[1, "pair"].tolist() == ["ep", "ep"] and qp.loc[1, "ratio_max"].notna().all()
    variances = records.load(VARIANCES, results)
    assert set(variances["seed"]) == {1} and "2 QP fits lost" in str(change)
    assert "2 QP fits lost the EP record" in str(change)
    fold(["ep", "qp"], [0], 0.3)  # both again: the pair is back, with the new values
    variances = records.load(VARIANCES, results)
    assert variances.loc[variances["seed"] == 0, "v_qp"].tolist() == [0.3, 0.3]


def test_qp_run_again_alone_has_no_pair(fold, results):
    fold(["ep", "qp"], [0], 0.1)
    fold(["qp"], [0], 0.2)
    frame = records.load(RELEASED, results)
    assert (frame["pair"] == "").all()
    assert records.load(VARIANCES, results).empty


def test_moved_points_follow_their_fits(record, fit_file, results):
    """A moved pair (no main one) is kept while both of its fits are, and goes with either."""
    moved = {"variance": 3.0, "lengthscale": 2.0}
    both = [record(method="qp"), record(method="ep", hyperparameters=moved)]
    collect.fold_in([fit_file("all", both)], results)
    collect.fold_in([fit_file("all", [record(method="vb")], "vb")], results)
    assert set(records.load(VARIANCES, results)["reference"]) == {"moved"}
    collect.fold_in([fit_file("all", [record(method="ep", hyperparameters=moved, ntll=0.3)], "ep")], results)
    assert records.load(VARIANCES, results).empty


def test_a_pair_stays_beside_an_ep_record_that_is_folded_in_again(fold, results, fit_file, record):
    """EP's file at hand is the one that QP was compared with."""
    fold(["ep", "qp"], [0], 0.1)
    ep = [record(method="ep", fold=k, ntll=0.1, latent_variance=[1.1]) for k in range(2)]
    collect.fold_in([fit_file("ep", ep, "alone")], results)
    frame = records.load(RELEASED, results)
    assert (frame.loc[frame["method"] == "qp", "pair"] == "ep").all()


def test_a_pair_with_an_outdated_ep_record_is_none(fold, results):
    fold(["ep"], [0], 0.1, date="2026-01-05")
    fold(["ep", "qp"], [0], 0.2, date="2026-01-04")
    frame = records.load(RELEASED, results)
    assert (frame["pair"] == "").all() and not len(records.load(VARIANCES, results))


def test_derived_protocols_have_a_record_of_their_own_and_no_points(fold, results):
    fold(["ep", "qp"], [0], 0.1)
    before = content(results)
    fold(["ep", "qp"], [0], 0.2, protocol="as-released+loose-stop")
    frame = records.load(DIFFERENCES, results)
    assert set(frame["protocol"]) == {"as-released+loose-stop"} and (frame["pair"] != "").sum() == 2
    after = content(results)
    assert all(after[name] == before[name] for name in ("as-released.csv.gz", "variances.csv.gz"))


@pytest.mark.parametrize("name", ["as-released.csv.gz", "variances.csv.gz", "runs.csv"])
def test_damaged_records_are_named_and_nothing_is_written(fold, results, name):
    fold(["ep", "qp"], [0], 0.1)
    (path,) = results.rglob(name)
    path.write_bytes(path.read_bytes()[:-9])
    before = content(results)
    with pytest.raises(RecordError, match=name):
        fold(["ep"], [1], 0.2)
    assert content(results) == before


@pytest.mark.parametrize("spoil", ["protocol", "variance"])
def test_everything_is_checked_before_the_first_write(fold, results, spoil, monkeypatch, record, fit_file):
    """The first record that would be written is sound, another is not."""
    fold(["ep", "qp"], [0], 0.1)
    before = content(results)
    fits = [record(method=m, fold=k, ntll=0.7) for m in ("ep", "qp") for k in range(2)]
    paths = [fit_file("all", fits, "new")]
    if spoil == "protocol":
        paths.append(fit_file("all", [record(protocol="corrected", dataset="wine12", fold=99)], "new"))
    else:
        monkeypatch.setattr(collect.pairs, "matched", lambda ep, qp, where: (ep.variances, -qp.variances))
    with pytest.raises(RecordError, match="unexpected fold" if spoil == "protocol" else "not positive"):
        collect.fold_in(paths, results)
    assert content(results) == before
