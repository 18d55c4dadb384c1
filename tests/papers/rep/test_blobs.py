"""The made-up sets of the relaxed-EP paper: two classes of blobs, and five points."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from papers.rep import blobs, points


def test_a_set_has_the_sizes_of_the_paper_and_half_of_each_class():
    X, y, Xs, ys = blobs.draw(4, flips=0.0)
    assert X.shape == (400, 2) and Xs.shape == (39600, 2)
    assert ((y == 1).sum(), (y == -1).sum()) == (200, 200)
    assert ((ys == 1).sum(), (ys == -1).sum()) == (19800, 19800)
    assert 20 < (y[:100] == 1).sum() < 80, "in random order"


@pytest.mark.parametrize("flips, wrong", [(0.1, 40), (0.15, 60), (0.2, 80)])
def test_exactly_a_share_of_the_training_labels_is_flipped_and_nothing_else_changes(flips, wrong):
    clean, noisy = blobs.draw(4, flips=0.0), blobs.draw(4, flips=flips)
    assert (clean[1] != noisy[1]).sum() == wrong and set(noisy[1]) == {-1.0, 1.0}
    for k in (0, 2, 3):
        np.testing.assert_array_equal(clean[k], noisy[k])


def test_flips_have_numbers_of_their_own_that_stay_what_they_are():
    """Not those that drew the points; the flips that committed records were made with."""
    clean, noisy = blobs.draw(4, flips=0.0, n_test=10), blobs.draw(4, flips=0.02, n_test=10)
    flipped = np.flatnonzero(clean[1] != noisy[1]).tolist()
    assert flipped == [10, 62, 117, 172, 190, 254, 259, 339]


def test_seeds_draw_different_sets_and_test_points_are_no_training_points():
    one, again, other = (blobs.draw(seed, n_test=400) for seed in (1, 1, 2))
    for a, b, c in zip(one, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)
    assert not {*map(tuple, one[0])} & {*map(tuple, one[2])}
    np.testing.assert_array_equal(blobs.draw(1, n_test=10)[0], one[0])


def test_the_classes_have_their_means_and_covariances():
    _, _, X, y = blobs.draw(0, n_test=40000)
    upper, lower = X[y > 0], X[y < 0]
    np.testing.assert_allclose(upper.mean(axis=0), 0.0, atol=0.03)
    np.testing.assert_allclose(np.cov(upper.T), np.eye(2), atol=0.04)
    np.testing.assert_allclose(lower.mean(axis=0), [0.0, -1.0], atol=0.09)
    np.testing.assert_allclose(np.cov(lower.T), np.diag([9.5, 2.0]), atol=0.09)
    right = lower[lower[:, 0] > 0]
    np.testing.assert_allclose(right.mean(axis=0), [3.0, -1.0], atol=0.05)
    np.testing.assert_allclose(np.cov(right.T), np.diag([0.5, 2.0]), atol=0.06)
    assert abs(len(right) / len(lower) - 0.5) < 0.015


def bayes_error_by_rows() -> float:
    """One coordinate in closed form: at each height class +1 is better between two values of the first."""

    def error(height):
        log_odds = norm.logpdf(height) - norm.logpdf(height, -1.0, np.sqrt(2.0))
        first = np.linspace(0.0, 8.0, 4001)
        lower = np.logaddexp(*(norm.logpdf(first, c, np.sqrt(0.5)) for c in (-3.0, 3.0))) - np.log(2.0)
        better = norm.logpdf(first) + log_odds > lower
        edge = first[np.argmin(better)] if better.any() else 0.0
        outside = 2.0 * norm.sf(edge)
        inside = norm.cdf(edge, 3.0, np.sqrt(0.5)) - norm.cdf(-edge, 3.0, np.sqrt(0.5))
        return norm.pdf(height) * outside + norm.pdf(height, -1.0, np.sqrt(2.0)) * inside

    return 0.5 * quad(error, -10.0, 10.0, limit=200, epsabs=1e-6)[0]


def errors_of_the_best(X, y):
    """How often the more probable label is not ``y``."""
    positive, negative = blobs.log_densities(X)
    return np.mean(np.where(positive > negative, 1.0, -1.0) != y)


def test_the_best_classifier_errs_on_five_percent():
    error = blobs.bayes_error()
    assert error == pytest.approx(bayes_error_by_rows(), abs=1e-5) and 0.045 < error < 0.055
    assert error == pytest.approx(blobs.bayes_error(0.05), abs=1e-5)
    _, _, X, y = blobs.draw(2, n_test=200000)
    wrong = errors_of_the_best(X, y)
    assert abs(wrong - error) < 4 * np.sqrt(error * (1 - error) / len(y))
    shifted = errors_of_the_best(X + [0.5, 0.0], y)
    assert shifted > wrong + 0.005, "another boundary is worse"


def test_the_densities_integrate_to_one():
    axis = np.arange(-12.0, 12.0, 0.1)
    both = blobs.log_densities(np.stack(np.meshgrid(axis, axis), axis=-1))
    for density in both:
        assert np.exp(density).sum() * 0.01 == pytest.approx(1.0, abs=1e-10)


def test_four_points_are_right_and_the_far_one_is_wrong():
    found = [points.points(seed) for seed in range(200)]
    for X, y in found:
        np.testing.assert_array_equal(y, points.LABELS)
        np.testing.assert_array_equal(np.sign(-X[:, 0]) == y, [True, True, True, True, False])
        assert X[4, 0] > np.abs(X[:4, 0]).max()
    centres = np.mean([X for X, _ in found], axis=0)
    expected = [[-1.5, 0], [-1.5, 0], [1.5, 0], [1.5, 0], [4.5, 0]]
    np.testing.assert_allclose(centres, expected, atol=0.35)
    spread = np.std([X for X, _ in found], axis=0)
    np.testing.assert_allclose(spread, (points.HIGH - points.LOW) / np.sqrt(12), rtol=0.15)


def test_sets_of_other_seeds_are_other_sets_and_of_the_same_seed_the_same():
    found = [points.points(seed)[0] for seed in range(120)]
    assert len({X.tobytes() for X in found}) == 120
    np.testing.assert_array_equal(found[23], points.points(23)[0])
    assert np.mean(np.sign(-points.BASE[:, 0]) != points.LABELS) == points.EPS
