"""Pairs of fits: fit records to rows, EP's and QP's variances, scores matched fold by fold and compared."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from papers.core.comparisons import higher, not_lower, shown
from papers.core.verdicts import MISSING, NO, SHOWN, YES
from papers.qp import fits
from papers.qp.fit_rows import NO_PAIR, line_of
from papers.qp.pairs import EQUAL, NTLL, drafts, paired, with_pairs
from papers.qp.pairs import tested as lines_of
from papers.qp.records import DIFFERENCES, FITS, VARIANCES, rows_of_fit

FIRST = {"variance": 1.0, "lengthscale": 2.0}
ALMOST = {"variance": 1.0 + 1e-8, "lengthscale": 2.0}
SECOND = {"variance": 2.0, "lengthscale": 2.0}


def test_every_column_comes_from_the_record(record):
    status = {"converged": True, "sweeps": 3, "evaluations": 5, "clipped": 7, "retries": 11}
    status |= {"negative_sites": 13, "message": "converged in 3 sweeps", "residual": 0.0}
    (study, row), *more = rows_of_fit(record(seed=4, fold=2, status=status, test_error=1 / 3))
    assert study == FITS["as-released"] and more == [] and row.pop("run") == record()["run"]
    assert row == {
        **{"protocol": "as-released", "dataset": "wine12", "method": "ep", "seed": 4, "fold": 2},
        **{"n_train": 117, "n_test": 2, "outcome": "ok", "reason": "", "sweeps": 3, "evaluations": 5},
        **{"clipped": 7, "retries": 11, "negative_sites": 13, "variance": 1.0, "lengthscale": "2"},
        **{"log_evidence": -15.9, "test_error": 1 / 3, "ntll": 0.2, "seconds": 0.3},
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
    joined = line_of(record(hyperparameters={"variance": 1.0, "lengthscale": [1 / 3, 20.0]}))
    assert joined["lengthscale"] == "0.333333333333:20"


def beside_ep(record, qp, tune=None, ep=None, ep_at=FIRST, qp_at=FIRST, **where):
    """QP's record beside EP's first tuning and EP as reported: variances of each, or none."""
    ep_fits = []
    if tune is not None:
        ep_fits.append(record(method="ep-tune", latent_variance=tune, **where))
    if ep is not None:
        ep_fits.append(record(method="ep", latent_variance=ep, hyperparameters=ep_at, **where))
    of_qp = record(method="qp", latent_variance=qp, hyperparameters=qp_at, **where)
    return with_pairs(of_qp, ep_fits)


@pytest.mark.parametrize(
    "made, pair, main, moved",
    [
        ({"tune": [1.0], "ep": [1.5]}, "ep-tune", [(1.0, 0.9)], []),
        ({"tune": [1.0], "ep": [0.5], "ep_at": SECOND}, "ep-tune", [(1.0, 0.9)], [(0.5, 0.9)]),
        ({"ep": [1.0], "ep_at": ALMOST}, "ep", [(1.0, 0.9)], []),
        ({"tune": [7.0], "ep": [1.0], "ep_at": SECOND, "qp_at": SECOND}, "ep", [(1.0, 0.9)], []),
        ({"ep": [1.0], "ep_at": SECOND}, "", [], [(1.0, 0.9)]),
        ({"tune": [1.0], "ep": [0.5], "ep_at": SECOND, "dataset": "coal"}, "ep", [(0.5, 0.9)], []),
        ({}, "", [], []),
    ],
)
def test_which_ep_is_compared_with_qp(record, made, pair, main, moved):
    (study, row), *points = rows_of_fit(beside_ep(record, [0.9], **made))
    assert study == FITS["as-released"] and row["pair"] == pair
    assert all(of == VARIANCES and set(point) == {*VARIANCES.columns, "run"} for of, point in points)
    for reference, expected in (("main", main), ("moved", moved)):
        found = [(p["v_ep"], p["v_qp"]) for _, p in points if p["reference"] == reference]
        assert found == expected


def test_the_columns_of_a_pair(record, failed_record):
    (_, row), *_ = rows_of_fit(beside_ep(record, [0.9, 5.0], tune=[1.0, 4.0]))
    assert row["n_above"] == 1
    assert (row["ratio_min"], row["ratio_median"], row["ratio_max"]) == pytest.approx((0.9, 1.075, 1.25))
    of_failed = with_pairs(failed_record(method="qp"), [record(method="ep")])
    assert of_failed["pair"] == of_failed["variances"] == {}


def test_points_of_five_seeds_are_kept_and_of_every_coal_seed(record):
    def kept(**where):
        found = {
            seed: list(rows_of_fit(beside_ep(record, [0.9], ep=[1.0], seed=seed, **where))) for seed in (4, 5)
        }
        assert all(rows[0][1]["pair"] == "ep" for rows in found.values())
        return found[4][0][0], [seed for seed, rows in found.items() if len(rows) == 2]

    assert kept() == (FITS["as-released"], [4])
    assert kept(dataset="coal") == (FITS["as-released"], [4, 5])
    assert kept(protocol="as-released+loose-stop") == (DIFFERENCES, [])


def test_qp_is_compared_with_its_own_ep_fold_by_fold(record, monkeypatch):
    seeds = (2, 3)
    ep = [
        record(method=method, seed=seed, fold=fold, latent_variance=[1.0 + seed + fold / 4])
        for seed in seeds
        for fold in range(10)
        for method in ("ep-tune", "ep")
    ]

    def run_fold(dataset, protocol, method, seed, fold, start, table):
        assert (start["method"], start["seed"], start["fold"]) == ("ep-tune", seed, fold)
        return [record(method="qp", seed=seed, fold=fold, latent_variance=[1.0])]

    monkeypatch.setattr(fits, "run_fold", run_fold)
    found = list(fits.run_job(SimpleNamespace(name="wine12"), "as-released", "qp", seeds, ep))
    assert [each["variances"]["main"] for each in found] == [
        [[1.0 + seed + fold / 4], [1.0]] for seed in seeds for fold in range(10)
    ]


def fit(
    dataset="wine12",
    method="qp",
    seed=0,
    fold=0,
    ntll=0.5,
    outcome="ok",
    pair="",
    protocol="as-released",
    variance=1.5,
    lengthscale="2.5",
):
    return {
        "protocol": protocol,
        "dataset": dataset,
        "method": method,
        "seed": seed,
        "fold": fold,
        "n_train": 100 + fold,
        "n_test": 10 + fold,
        "outcome": outcome,
        "ntll": ntll,
        "pair": pair,
        "variance": variance,
        "lengthscale": lengthscale,
    }


def frame(*lines):
    return pd.DataFrame(lines).sample(frac=1.0, random_state=np.random.RandomState(0))


TWO = [
    fit(method=method, seed=seed, fold=fold, ntll=ntll + 0.1 * seed + 0.01 * fold)
    for method, ntll in (("ep", 0.7), ("qp", 0.5))
    for seed in (0, 1)
    for fold in (0, 1)
]


def test_differences_in_order_of_seeds_and_folds(of_folds):
    of_folds(2)
    lines = [dict(x) for x in TWO]
    lines[3]["ntll"] += 0.4  # ep, seed 1, fold 1
    found = paired(frame(*lines), "ep", "qp", "ntll")["wine12"]
    np.testing.assert_allclose(found.differences, [[0.2, 0.2], [0.2, 0.6]])
    np.testing.assert_allclose(found.seed_differences, [0.2, 0.4])
    np.testing.assert_allclose(found.second, [[0.5, 0.51], [0.6, 0.61]])
    assert found.seeds.tolist() == [0, 1]
    assert (found.n_train, found.n_test) == (100.5, 10.5)
    assert (found.n_incomplete, found.n_unconverged) == (0, 0)


def test_a_seed_with_a_failed_or_absent_fold_is_left_out_whole(of_folds):
    of_folds(2)
    lines = [dict(x) for x in TWO] + [fit(method=m, seed=2) for m in ("ep", "qp")]  # seed 2: fold 1 absent
    lines[1] |= {"outcome": "failed", "ntll": np.nan}  # ep, seed 0, fold 1
    found = paired(frame(*lines), "ep", "qp", "ntll")["wine12"]
    assert found.seeds.tolist() == [1] and found.n_incomplete == 2
    np.testing.assert_allclose(found.differences, [[0.2, 0.2]])


def test_unconverged_fits_count_and_are_counted(of_folds):
    of_folds(2)
    lines = [dict(x) for x in TWO]
    lines[0]["outcome"] = "not converged"
    lines[7]["outcome"] = "not converged"
    found = paired(frame(*lines), "ep", "qp", "ntll")["wine12"]
    assert found.n_seeds == 2 and found.n_unconverged == 2


def test_seeds_run_with_one_method_only_are_not_missed(of_folds):
    of_folds(2)
    lines = [*TWO, fit(method="qp", seed=5), fit(method="qp", seed=5, fold=1)]
    assert paired(frame(*lines), "ep", "qp", "ntll")["wine12"].n_incomplete == 0


def test_the_coal_series_has_one_fold():
    lines = [
        fit("coal", method, seed, 0, ntll) for method, ntll in (("ep", 1.6), ("qp", 1.5)) for seed in (0, 1)
    ]
    assert paired(frame(*lines), "ep", "qp", "ntll")["coal"].differences.shape == (2, 1)


def test_equal_hyperparameters_follow_the_pair(of_folds):
    of_folds(2)
    lines = [fit(method="ep-tune", fold=k, ntll=0.9 + k) for k in (0, 1)]
    lines += [fit(method="ep", fold=k, ntll=0.7 + k) for k in (0, 1)]
    lines += [fit(fold=0, ntll=0.5, pair="ep-tune"), fit(fold=1, ntll=1.5, pair="ep")]
    found = paired(frame(*lines), EQUAL, "qp", "ntll")["wine12"]
    np.testing.assert_allclose(found.differences, [[0.4, 0.2]])
    lines[-1]["pair"] = ""
    found = paired(frame(*lines), EQUAL, "qp", "ntll")["wine12"]
    assert found.n_seeds == 0 and found.n_incomplete == 1
    lines[-2]["pair"] = ""
    assert paired(frame(*lines), EQUAL, "qp", "ntll")["wine12"].n_incomplete == 1


@pytest.mark.parametrize(
    "moved, n_seeds",
    [
        ({"variance": 1.5 * 1.001}, 1),
        ({"lengthscale": "2.5025"}, 1),
        ({"lengthscale": "2.5:2.5"}, 1),
        ({"variance": 1.5 * (1 + 1e-7), "lengthscale": "2.50000025"}, 2),  # rounding
    ],
)
def test_equal_hyperparameters_drop_a_seed_whose_hyperparameters_moved(moved, n_seeds):
    """On the coal series QP's own search may move them after the pair was made."""
    lines = [fit("coal", "ep", seed, ntll=1.6) for seed in (0, 1)]
    lines += [fit("coal", "qp", 0, ntll=1.5, pair="ep"), fit("coal", "qp", 1, ntll=1.2, pair="ep", **moved)]
    found = paired(frame(*lines), EQUAL, "qp", "ntll")["coal"]
    assert (found.n_seeds, found.n_incomplete) == (n_seeds, 2 - n_seeds)
    np.testing.assert_allclose(found.differences, [[0.1], [0.4]][:n_seeds])
    assert paired(frame(*lines), "ep", "qp", "ntll")["coal"].n_seeds == 2


def test_fits_of_two_protocols_are_no_pairs():
    with pytest.raises(ValueError, match="of one protocol, not of as-released, corrected"):
        paired(frame(*TWO, fit(protocol="corrected")), "ep", "qp", "ntll")


def test_a_family_is_adjusted_together(fits):
    # p of 8 seeds with mean = k standard errors; sd 1e-4 gives standard error 1e-4 / sqrt(8)
    frame = fits(ntll={"ep": (3e-4 / 8**0.5, 1e-4)})
    alone = lines_of(drafts(frame, ["crabs"], "EP - QP", "ep", "qp", NTLL, higher))
    assert alone[0].sample.p == pytest.approx(alone[0].sample.p_holm) == pytest.approx(0.0199, abs=1e-4)
    assert alone[0].sample.status == YES
    names = ["crabs", "sonar", "glass"]
    family = lines_of(drafts(frame, names, "EP - QP", "ep", "qp", NTLL, higher))
    assert [x.sample.p_holm for x in family] == pytest.approx([3 * alone[0].sample.p] * 3)
    assert [x.sample.status for x in family] == [NO] * 3  # no difference after Holm, equivalence shown


def test_a_line_has_both_estimands(fits):
    frame = fits(ntll={"ep": (5e-4, 1e-4)})
    (line,) = lines_of(drafts(frame, ["crabs"], "EP - QP", "ep", "qp", NTLL, not_lower))
    assert line.effect == pytest.approx(5e-4) and line.sd == pytest.approx(1e-4)
    assert (line.n, line.n_folds, line.row, line.quantity) == (8, 80, "Crabs", "EP - QP, NTLL")
    half = 2.364624 * 1e-4 / 8**0.5
    assert (line.sample.low, line.sample.high) == pytest.approx((5e-4 - half, 5e-4 + half))
    # 80 equal-in-seed differences: S^2 = 1e-8 * 70 / 79; factor 1/80 + 1/9
    general = 1.990450 * 1e-4 * (70 / 79 * (1 / 80 + 1 / 9)) ** 0.5
    assert (line.general.low, line.general.high) == pytest.approx((5e-4 - general, 5e-4 + general), rel=1e-5)
    assert line.p_sign == pytest.approx(2 / 2**8) == pytest.approx(line.p_signed_rank)


def test_one_seed_is_no_data_and_troubles_are_noted(fits):
    frame = fits(seeds=3, rows=("crabs", "sonar"), ntll={"ep": (1e-4, 1e-5)})
    frame.loc[(frame["dataset"] == "crabs") & (frame["seed"] > 0) & (frame["fold"] == 4), "outcome"] = (
        "failed"
    )
    frame.loc[(frame["dataset"] == "sonar") & (frame["fold"] == 4), "outcome"] = "not converged"
    names = ["crabs", "sonar", "glass"]
    lines = lines_of(drafts(frame, names, "EP - QP", "ep", "qp", NTLL, not_lower))
    assert [line.sample.status for line in lines] == [MISSING, YES, MISSING]
    assert [line.note for line in lines] == [
        "1 complete seed; 2 seeds left out",
        "3 folds not converged",
        "0 complete seeds",
    ]
    assert [x.row for x in shown(lines)] == ["Sonar"]
    assert shown(lines)[0].sample.status == SHOWN
