"""PESC3 by computation: the last Gaussian has the moments of (35) [PESC supplement, section 5].

The moments of f(x), f(x*) and K constraints before the last factor are random. Given x, (35) is

    N(f(x), f(x*), c(x)) [1 - 1(f(x) < f(x*)) prod_k 1(c_k(x) > 0)] / Z,

whose marginals are a Gaussian times the bracket integrated over the other variables, in closed form. Their
means and variances by quadrature are compared with (37) as corrected in `docs/paper-entropy-search.md`, which
`tilted.bayesopt.nfcpd.finish` computes.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from papers.core.claims import load
from papers.core.verdicts import NO, YES, Block, Inference, Line
from tilted.bayesopt import nfcpd
from tilted.numerics.quadrature import TiltedDensity, integrate, panel_edges

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 2015
N = 300
"""Random problems of each number of constraints."""

CONSTRAINTS = (1, 2, 3)
MOST, LOG10_SD, CORRELATED = 2.0, 0.5, 0.9
"""Largest size of a mean, of log10 of a standard deviation, and of a correlation."""

PANELS, REACH = 256, 12.0
"""Panels of the quadrature between -+ ``REACH`` standard deviations; another one ends at 0."""

TOLERANCE = load()["PESC3"].margin["difference"]
ROUNDING = 1e-12
"""A smaller difference is given as 0."""

QUANTITY = "largest difference of a mean or sd from (35)'s, in sd"
TEST = "every mean and sd, of f(x) and the constraints, of random problems, by quadrature"


class Problems(NamedTuple):
    """Moments before the last factor: of f(x), f(x*) and K constraints [2 + K, N]; Cov(f(x), f(x*)) [N]."""

    mean: np.ndarray
    variance: np.ndarray
    covariance: np.ndarray

    @property
    def difference(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance [N] of f(x) - f(x*)."""
        return self.mean[0] - self.mean[1], self.variance[:2].sum(axis=0) - 2.0 * self.covariance

    @property
    def at_x(self) -> tuple[np.ndarray, np.ndarray]:
        """Return means and variances [1 + K, N] of f(x) and the constraints."""
        return np.delete(self.mean, 1, axis=0), np.delete(self.variance, 1, axis=0)


def draw(n_constraints: int) -> Problems:
    """Draw `N` random problems."""
    rng = np.random.default_rng([SEED, n_constraints])
    shape = 2 + n_constraints, N
    mean, sd = rng.uniform(-MOST, MOST, shape), 10.0 ** rng.uniform(-LOG10_SD, LOG10_SD, shape)
    return Problems(mean, sd**2, rng.uniform(-CORRELATED, CORRELATED, N) * sd[0] * sd[1])


def by_formula(problems: Problems) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances [1 + K, N] of the last Gaussian, of f(x) and the constraints."""
    (mean, variance), (gap, gap_variance) = problems.at_x, problems.difference
    to_f = problems.variance[0] - problems.covariance
    before = nfcpd.Predicted(mean[:, None], variance[:, None])
    gaussian = nfcpd.finish(before, gap[None], gap_variance[None], to_f[None])
    return gaussian.mean[:, 0], gaussian.variance[:, 0]


def by_quadrature(problems: Problems) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances [1 + K, N] of (35) by quadrature."""
    mean, variance = problems.at_x
    feasible = log_ndtr(mean[1:] / np.sqrt(variance[1:]))
    gap, gap_variance = problems.difference
    better = log_ndtr(-gap / np.sqrt(gap_variance))
    slope = problems.covariance / variance[0]
    deviation = np.sqrt(problems.variance[1] - slope * problems.covariance)

    def of_f(f: np.ndarray) -> np.ndarray:
        expected = problems.mean[1] + slope * (f - mean[0])
        return feasible.sum(axis=0) + log_ndtr((expected - f) / deviation)

    def of_constraint(k: int) -> Callable[[np.ndarray], np.ndarray]:
        others = np.delete(feasible, k, axis=0).sum(axis=0) + better
        return lambda c: np.where(c > 0, others, -np.inf)

    log_probabilities = [of_f, *map(of_constraint, range(len(feasible)))]
    moments = [_moments(*problem) for problem in zip(mean, variance, log_probabilities, strict=True)]
    return np.array([mean for mean, _ in moments]), np.array([variance for _, variance in moments])


def _moments(
    mean: np.ndarray, variance: np.ndarray, log_probability: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance [N] of N(z; mean, variance) (1 - p(z)), for log p of points z [K, N]."""
    sd = np.sqrt(variance)
    ends = np.full(len(mean), REACH)
    edges = panel_edges(-ends, ends, PANELS, (-mean / sd)[:, None])

    def log_density(t: np.ndarray) -> np.ndarray:
        return -0.5 * t**2 + np.log(-np.expm1(log_probability(mean + sd * t.T))).T

    panels = integrate(TiltedDensity(log_density, mean, edges))
    shift = panels.expectation(panels.offsets)
    return mean + sd * shift, variance * panels.expectation((panels.offsets - shift[:, None, None]) ** 2)


@cache
def judge_formulas() -> Block:
    """Judge the claim, with a row for each number of constraints."""
    lines = []
    for n_constraints in CONSTRAINTS:
        problems = draw(n_constraints)
        (mean, variance), (expected, exact) = by_formula(problems), by_quadrature(problems)
        error = np.maximum(np.abs(mean - expected) / np.sqrt(exact), np.abs(np.sqrt(variance / exact) - 1.0))
        worst = float(error.max()) if error.max() > ROUNDING else 0.0
        status = YES if worst <= TOLERANCE else NO
        further = int(np.sum(error.max(axis=0) > TOLERANCE))
        note = f"{further} of {N} problems further by more than {TOLERANCE:g}"
        row = f"K = {n_constraints}"
        lines.append(Line(row, QUANTITY, "excess", worst, sample=Inference(status), n=N, note=note))
    return Block("(37), corrected, against (35)", TEST, tuple(lines), best=0.0)
