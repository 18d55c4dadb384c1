"""Paired comparisons against scipy's own tests, hand-worked examples and simulated resampling."""

import math

import numpy as np
import pytest
from scipy import stats

from papers.core import statistics

D = np.array([0.3, -0.1, 0.4, 0.2, 0.05, 0.6, -0.2])


def test_paired_t_is_scipys_one_sample_test():
    estimate, reference = statistics.paired_t(D), stats.ttest_1samp(D, 0.0)
    assert estimate.p_different() == pytest.approx(reference.pvalue, rel=1e-12)
    assert estimate.interval() == pytest.approx(reference.confidence_interval(0.95), rel=1e-12)
    assert estimate.interval(0.9) == pytest.approx(reference.confidence_interval(0.9), rel=1e-12)
    assert (estimate.mean, estimate.sd) == pytest.approx((D.mean(), D.std(ddof=1)))
    assert (estimate.n, estimate.df) == (7, 6)


def test_equivalence_is_the_larger_of_two_one_sided_tests():
    for margin in (0.05, 0.3, 0.5):
        above = stats.ttest_1samp(D, -margin, alternative="greater").pvalue
        below = stats.ttest_1samp(D, margin, alternative="less").pvalue
        assert statistics.paired_t(D).p_equivalent(margin) == pytest.approx(max(above, below), rel=1e-12)
    # shown at 5 % exactly when the 90 % interval lies inside the margin
    low, high = statistics.paired_t(D).interval(0.9)
    reach = max(abs(low), abs(high))
    assert statistics.paired_t(D).p_equivalent(reach * 1.001) < 0.05
    assert statistics.paired_t(D).p_equivalent(reach * 0.999) > 0.05


def test_corrected_resampled_t_by_hand():
    """J = 4 differences 1, 2, 3, 4: S^2 = 5/3; n_test / n_train = 1/9; factor 1/4 + 1/9 = 13/36."""
    estimate = statistics.corrected_resampled_t([1.0, 2.0, 3.0, 4.0], n_train=90, n_test=10)
    assert estimate.standard_error == pytest.approx(math.sqrt(13 / 36 * 5 / 3))
    t = 2.5 / math.sqrt(13 / 36 * 5 / 3)
    assert estimate.p_different() == pytest.approx(2 * stats.t.sf(t, 3))
    assert estimate.interval()[0] == pytest.approx(2.5 - stats.t.ppf(0.975, 3) * 2.5 / t)


def test_equal_differences_have_the_p_values_of_a_sign_test():
    zero, same = statistics.paired_t(np.zeros(5)), statistics.paired_t(np.full(3, 0.1))
    assert zero.interval() == (0.0, 0.0) and zero.p_different() == 1.0
    assert zero.p_equivalent(1e-3) == 0.5**5
    assert same.standard_error == 0.0  # not the rounding of its mean
    assert same.p_different() == statistics.p_sign(np.full(3, 0.1)) == 2 * same.p_above(0.0) == 0.25
    assert same.p_equivalent(0.05) == 1.0 and same.p_equivalent(0.2) == 0.5**3


@pytest.mark.parametrize(
    "values, sound",
    [([1.0, 2.0], False), ([1.0, 2.0, 4.0], True), ([1.0] * 3, False), ([1.0] * 5, False), ([1.0] * 6, True)],
)
def test_intervals_need_three_units_or_six_that_are_equal(values, sound):
    assert statistics.paired_t(values).is_sound is sound


@pytest.mark.parametrize("n", [5, 9, 13, 14])
def test_the_signed_rank_test_is_scipys_with_ties_and_zeros_too(n):
    rng = np.random.default_rng(n)
    for differences in (rng.normal(size=n), np.round(rng.normal(size=n), 0), rng.integers(-2, 5, size=n)):
        ours = statistics.p_signed_rank(differences)
        assert ours == pytest.approx(stats.wilcoxon(differences[differences != 0]).pvalue, rel=1e-12)


def test_sign_and_signed_rank_tests():
    assert statistics.p_sign([1.0, 2.0, 3.0, 0.0, 4.0, 5.0]) == pytest.approx(2 / 2**5)  # zero left out
    assert statistics.p_sign(np.zeros(4)) == 1.0
    assert statistics.p_signed_rank(np.zeros(4)) == 1.0
    assert statistics.p_signed_rank([1.0, 2.0, 3.0, 4.0, 5.0, 0.0]) == pytest.approx(2 / 2**5)
    assert statistics.p_signed_rank(D) == pytest.approx(stats.wilcoxon(D).pvalue)


def test_holm_by_hand():
    """Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04 -> running maximum."""
    np.testing.assert_allclose(statistics.holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(statistics.holm([0.5, 0.9, 0.6]), [1.0, 1.0, 1.0])
    np.testing.assert_allclose(statistics.holm([0.03]), [0.03])
    assert statistics.holm([]).shape == (0,)


def test_share_interval_is_clopper_and_pearsons():
    low, high = statistics.share_interval(9, 10)
    assert low == pytest.approx(stats.beta.ppf(0.025, 9, 2)) and high == pytest.approx(
        stats.beta.ppf(0.975, 10, 1)
    )
    assert statistics.share_interval(10, 10) == pytest.approx((0.025**0.1, 1.0))


@pytest.mark.parametrize(
    "call",
    [
        lambda: statistics.paired_t([1.0]),
        lambda: statistics.paired_t([1.0, math.nan]),
        lambda: statistics.paired_t(np.ones((2, 2))),
        lambda: statistics.corrected_resampled_t([1.0, 2.0], 0, 10),
        lambda: statistics.corrected_resampled_t([1.0, 2.0], 90, math.nan),
        lambda: statistics.paired_t([1.0, 2.0]).p_equivalent(0.0),
        lambda: statistics.holm([0.1, math.nan]),
        lambda: statistics.holm([1.1]),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ValueError):
        call()


def cross_validated(rng, n=100, repeats=5, folds=10):
    """Fold differences [repeats * folds] of two learners of equal expected loss on one drawn data set.

    Learner A predicts y by the training mean of one noisy copy of y, B by that of another: which is
    better depends on the data set, and neither is better on average.
    """
    y = rng.normal(size=n)
    copies = y[:, None] + rng.normal(size=(n, 2))
    differences = []
    for _ in range(repeats):
        for test in np.split(rng.permutation(n), folds):
            train = np.setdiff1d(np.arange(n), test)
            loss = (y[test, None] - copies[train].mean(axis=0) - 0.3 * copies[test]) ** 2
            differences.append(np.mean(loss[:, 0] - loss[:, 1]))
    return np.array(differences)


def test_size_of_the_corrected_test_under_resampling():
    """Nominal 5 %: the naive test over folds rejects far too often, the corrected one does not."""
    rng = np.random.default_rng(20260101)
    runs = [cross_validated(rng) for _ in range(400)]
    naive = np.mean([statistics.paired_t(d).p_different() < 0.05 for d in runs])
    corrected = np.mean([statistics.corrected_resampled_t(d, 90, 10).p_different() < 0.05 for d in runs])
    assert naive > 0.25
    assert 0.005 < corrected < 0.075  # three binomial standard errors above 0.05 is 0.083


def test_the_corrected_test_keeps_power():
    rng = np.random.default_rng(7)
    found = [
        statistics.corrected_resampled_t(cross_validated(rng) + 1.0, 90, 10).p_different() for _ in range(20)
    ]
    assert max(found) < 0.05


def test_size_of_the_paired_test_over_seeds():
    rng = np.random.default_rng(11)
    p = [statistics.paired_t(rng.normal(size=20)).p_different() for _ in range(1000)]
    assert 0.03 < np.mean(np.array(p) < 0.05) < 0.07
