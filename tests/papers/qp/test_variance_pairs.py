"""Fit records to rows: their columns, and the pairs of EP's and QP's variances."""

from types import SimpleNamespace

import pytest

from papers.qp import fits
from papers.qp.lines import NO_PAIR, line_of
from papers.qp.records import DIFFERENCES, FITS, VARIANCES, rows_of_fit
from papers.qp.variance_pairs import with_pairs

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


def paired(record, qp, tune=None, ep=None, ep_at=FIRST, qp_at=FIRST, **where):
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
    (study, row), *points = rows_of_fit(paired(record, [0.9], **made))
    assert study == FITS["as-released"] and row["pair"] == pair
    assert all(of == VARIANCES and set(point) == {*VARIANCES.columns, "run"} for of, point in points)
    for reference, expected in (("main", main), ("moved", moved)):
        found = [(p["v_ep"], p["v_qp"]) for _, p in points if p["reference"] == reference]
        assert found == expected


def test_the_columns_of_a_pair(record, failed_record):
    (_, row), *_ = rows_of_fit(paired(record, [0.9, 5.0], tune=[1.0, 4.0]))
    assert row["n_above"] == 1
    assert (row["ratio_min"], row["ratio_median"], row["ratio_max"]) == pytest.approx((0.9, 1.075, 1.25))
    of_failed = with_pairs(failed_record(method="qp"), [record(method="ep")])
    assert of_failed["pair"] == of_failed["variances"] == {}


def test_points_of_five_seeds_are_kept_and_of_every_coal_seed(record):
    def kept(**where):
        found = {
            seed: list(rows_of_fit(paired(record, [0.9], ep=[1.0], seed=seed, **where))) for seed in (4, 5)
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
