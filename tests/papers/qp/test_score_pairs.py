"""Scores matched fold by fold, and their comparisons, tested as one family."""

import numpy as np
import pandas as pd
import pytest

from papers.core.comparisons import higher, not_lower, shown
from papers.core.verdicts import MISSING, NO, SHOWN, YES
from papers.qp.score_pairs import EQUAL, NTLL, drafts, paired
from papers.qp.score_pairs import tested as lines_of


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
