"""Paired comparisons: two estimands, equivalence, multiplicity.

*On this sample*: the data set is given, chance is in the splits. Seeds are independent, so the paired
differences of seed means get a t interval (`paired_t`), a sign test and a signed-rank test.

*Generalising*: chance is in the data set too. Folds of one data set share training rows, so the variance
over folds says too little. In the corrected resampled t-test [Nadeau and Bengio 2003] the mean of J
differences with sample variance S^2 has variance (1/J + n_test / n_train) S^2, and J - 1 degrees of
freedom (`corrected_resampled_t`); for r repeats of k folds J = r k [Bouckaert and Frank 2004].

*Equivalence* is shown, not assumed, by two one-sided tests [Schuirmann 1987] against the smallest effect
that matters (`Estimate.p_equivalent`). *Holm*'s step-down adjustment [Holm 1979] keeps the chance of any
false rejection within a family of tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LEVEL = 0.95
ALPHA = 1.0 - LEVEL
ENUMERATED = 13
"""Numbers up to which a signed-rank test goes through all patterns of signs, as scipy does."""


@dataclass(frozen=True)
class Estimate:
    """A mean difference whose error, divided by ``standard_error``, is t-distributed.

    Differences that are all equal have no spread to estimate an error from: their p-values are those of the
    exact sign test of n units. Their interval is of the median, and exists from six units on (`is_sound`).

    Attributes
    ----------
    mean, sd : float
        Of the ``n`` differences (sd with n - 1), in their unit.
    standard_error : float
        0 if the differences are all equal.
    df : int
        Degrees of freedom.
    """

    mean: float
    sd: float
    standard_error: float
    df: int
    n: int

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the two-sided confidence interval of the mean difference."""
        from scipy import stats

        half = float(stats.t.ppf(0.5 + 0.5 * level, self.df)) * self.standard_error
        return self.mean - half, self.mean + half

    def p_different(self) -> float:
        """Return the two-sided p-value of no difference."""
        from scipy import stats

        if self.standard_error == 0:
            return min(1.0, 2.0 * self.p_above(0.0), 2.0 * self._p_below(0.0))
        return float(2.0 * stats.t.sf(abs(self._t(0.0)), self.df))

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value of "the difference is at most ``bound``"."""
        from scipy import stats

        if self.standard_error == 0:
            return 0.5**self.n if self.mean > bound else 1.0
        return float(stats.t.sf(self._t(bound), self.df))

    def p_equivalent(self, margin: float) -> float:
        """Return the p-value of "the difference is at least ``margin`` in size": two one-sided tests.

        Raises
        ------
        ValueError
            The margin is not positive.
        """
        if not margin > 0:
            raise ValueError(f"an equivalence margin is positive, got {margin}")
        return max(self.p_above(-margin), self._p_below(margin))

    @property
    def is_sound(self) -> bool:
        """Return True if an interval is informative: three units, or enough for a sign test if equal."""
        return self.n >= 3 and (self.standard_error > 0 or 2.0 * 0.5**self.n <= ALPHA)

    def _p_below(self, bound: float) -> float:
        from scipy import stats

        if self.standard_error == 0:
            return 0.5**self.n if self.mean < bound else 1.0
        return float(stats.t.cdf(self._t(bound), self.df))

    def _t(self, bound: float) -> float:
        return (self.mean - bound) / self.standard_error


def paired_t(differences: ArrayLike) -> Estimate:
    """Return the t estimate of independent paired differences [n], n >= 2.

    Raises
    ------
    ValueError
        Fewer than two differences, or one that is not finite.
    """
    return _estimate(differences, 0.0)


def corrected_resampled_t(differences: ArrayLike, n_train: float, n_test: float) -> Estimate:
    """Return the corrected resampled t estimate [Nadeau and Bengio 2003].

    Parameters
    ----------
    differences : array [J]
        One a (seed, fold), J >= 2.
    n_train, n_test : float
        Training and test points of a fold; means where folds differ in size.

    Raises
    ------
    ValueError
        As `paired_t`, or sizes that are not positive.
    """
    if not (n_train > 0 and n_test > 0):
        raise ValueError(f"need training and test points, got {n_train} and {n_test}")
    return _estimate(differences, n_test / n_train)


def _estimate(differences: ArrayLike, shared: float) -> Estimate:
    """Return the estimate with variance (1/n + shared) S^2."""
    values = np.asarray(differences, dtype=float)
    if values.ndim != 1 or len(values) < 2:
        raise ValueError(f"need at least two differences, got shape {values.shape}")
    if not np.all(np.isfinite(values)):
        raise ValueError("a difference is not finite")
    n = len(values)
    sd = float(np.std(values, ddof=1)) if np.ptp(values) > 0 else 0.0
    return Estimate(float(np.mean(values)), sd, sd * math.sqrt(1.0 / n + shared), n - 1, n)


def p_sign(differences: ArrayLike) -> float:
    """Return the two-sided exact sign test of a median of zero; zeros are left out, 1 if all are."""
    from scipy import stats

    values = np.asarray(differences, dtype=float)
    above, below = int(np.sum(values > 0)), int(np.sum(values < 0))
    return float(stats.binomtest(above, above + below).pvalue) if above + below else 1.0


def p_signed_rank(differences: ArrayLike) -> float:
    """Return the two-sided Wilcoxon signed-rank test of symmetry about 0; zeros are left out, 1 if all are.

    As `scipy.stats.wilcoxon`, which for few numbers goes through all patterns of signs in Python: 0.1 s
    a call.
    """
    from scipy import stats

    values = np.asarray(differences, dtype=float)
    values = values[values != 0]
    if not len(values):
        return 1.0
    if len(values) > ENUMERATED:
        return float(stats.wilcoxon(values).pvalue)
    ranks = stats.rankdata(np.abs(values))
    patterns = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
    sums = patterns @ ranks
    observed = ranks[values > 0].sum()
    return min(1.0, 2.0 * float(min(np.mean(sums <= observed), np.mean(sums >= observed))))


def holm(p_values: ArrayLike) -> np.ndarray:
    """Return Holm's adjusted p-values [m] of a family of m tests, in the order given.

    Raises
    ------
    ValueError
        A value outside [0, 1] or not a number.
    """
    p = np.asarray(p_values, dtype=float)
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError("p-values lie in [0, 1]")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def share_interval(successes: int, n: int) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of a probability from ``successes`` in ``n`` trials."""
    from scipy import stats

    bounds = stats.binomtest(int(successes), int(n)).proportion_ci(LEVEL, method="exact")
    return float(bounds.low), float(bounds.high)
