"""PESC3, tested by computation: the last Gaussian has the moments of (35) [PESC supplement, section 5].

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
from tilted.numerics.quadrature import gauss_legendre

if TYPE_CHECKING:
    from collections.abc import Callable

    Factor = Callable[[np.ndarray], np.ndarray]

SEED = 2015
N = 300
"""Random problems of each number of constraints."""

CONSTRAINTS = (1, 2, 3)
MOST, LOG10_SD, CORRELATED = 2.0, 0.5, 0.9
"""Largest size of a mean, of log10 of a standard deviation, and of a correlation."""

PANELS, NODES, REACH = 256, 16, 12.0
"""Panels between -+ ``REACH`` standard deviations, half of them below 0."""


TOLERANCE = load()["PESC3"].margin["difference"]
ROUNDING = 1e-12
"""A smaller difference is given as 0."""

QUANTITY = "largest difference of a mean or sd from (35)'s, in sd"
TEST = "every mean and sd, of f(x) and the constraints, of random problems, by quadrature"


class Problems(NamedTuple):
    """Moments before the last factor: f(x), f(x*) [2, N], their covariance [N], constraints [K, N]."""

    mean: np.ndarray
    variance: np.ndarray
    covariance: np.ndarray
    constraint_mean: np.ndarray
    constraint_variance: np.ndarray

    @property
    def difference(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance [N] of f(x) - f(x*)."""
        return self.mean[0] - self.mean[1], self.variance.sum(axis=0) - 2.0 * self.covariance


def drawn(n_constraints: int) -> Problems:
    """Draw `N` random problems."""
    rng = np.random.default_rng([SEED, n_constraints])
    mean, constraint_mean = (rng.uniform(-MOST, MOST, (k, N)) for k in (2, n_constraints))
    sd, constraint_sd = (10.0 ** rng.uniform(-LOG10_SD, LOG10_SD, (k, N)) for k in (2, n_constraints))
    covariance = rng.uniform(-CORRELATED, CORRELATED, N) * sd[0] * sd[1]
    return Problems(mean, sd**2, covariance, constraint_mean, constraint_sd**2)


def by_formula(problems: Problems) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances [1 + K, N] of the last Gaussian, of f(x) and the constraints."""
    moments = (
        np.concatenate([of_f[:1], of_c])[:, None]
        for of_f, of_c in (
            (problems.mean, problems.constraint_mean),
            (problems.variance, problems.constraint_variance),
        )
    )
    mean, variance = problems.difference
    to_f = problems.variance[0] - problems.covariance
    gaussian = nfcpd.finish(nfcpd.Predicted(*moments), mean[None], variance[None], to_f[None])
    return gaussian.mean[:, 0], gaussian.variance[:, 0]


def by_quadrature(problems: Problems) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances [1 + K, N] of (35) by quadrature."""
    holds = log_ndtr(problems.constraint_mean / np.sqrt(problems.constraint_variance))
    mean, variance = problems.difference
    better = log_ndtr(-mean / np.sqrt(variance))
    slope = problems.covariance / problems.variance[0]
    deviation = np.sqrt(problems.variance[1] - slope * problems.covariance)

    def of_f(f: np.ndarray) -> np.ndarray:
        expected = problems.mean[1] + slope * (f - problems.mean[0])
        return -np.expm1(holds.sum(axis=0) + log_ndtr((expected - f) / deviation))

    def of_c(k: int) -> Factor:
        log_factors = np.delete(holds, k, axis=0).sum(axis=0) + better
        return lambda c: np.where(c > 0, -np.expm1(log_factors), 1.0)

    factors = [of_f, *(of_c(k) for k in range(len(holds)))]
    before = (
        np.concatenate([problems.mean[:1], problems.constraint_mean]),
        np.concatenate([problems.variance[:1], problems.constraint_variance]),
    )
    results = [_moments(*moments) for moments in zip(*before, factors, strict=True)]
    return np.array([mean for mean, _ in results]), np.array([variance for _, variance in results])


def _moments(mean: np.ndarray, variance: np.ndarray, factor: Factor) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance [N] of N(mean, variance) times a factor of points [K, N]; panels end at 0."""
    x, w, _ = gauss_legendre(NODES)
    sd = np.sqrt(variance)
    zero, share = np.clip(-mean / sd, -REACH, REACH), np.linspace(0.0, 1.0, PANELS // 2 + 1)[:, None]
    edges = np.concatenate([-REACH + share * (zero + REACH), zero + share[1:] * (REACH - zero)])
    half, centre = 0.5 * np.diff(edges, axis=0)[:, None], 0.5 * (edges[1:] + edges[:-1])[:, None]
    t = (centre + half * x[:, None]).reshape(-1, len(mean))
    weight = (half * w[:, None]).reshape(t.shape) * np.exp(-0.5 * t**2) * factor(mean + sd * t)
    weight /= weight.sum(axis=0)
    shift = np.sum(weight * t, axis=0)
    return mean + sd * shift, variance * np.sum(weight * (t - shift) ** 2, axis=0)


@cache
def stated() -> Block:
    """Judge the claim, with a row for each number of constraints."""
    lines = []
    for n_constraints in CONSTRAINTS:
        problems = drawn(n_constraints)
        (mean, variance), (expected, exact) = by_formula(problems), by_quadrature(problems)
        error = np.maximum(np.abs(mean - expected) / np.sqrt(exact), np.abs(np.sqrt(variance / exact) - 1.0))
        worst = float(error.max()) if error.max() > ROUNDING else 0.0
        status = YES if worst <= TOLERANCE else NO
        note = (
            f"{int(np.sum(error.max(axis=0) > TOLERANCE))} of {N} problems further by more than {TOLERANCE:g}"
        )
        row = f"K = {n_constraints}"
        lines.append(Line(row, QUANTITY, "excess", worst, sample=Inference(status), n=N, note=note))
    return Block("(37), corrected, against (35)", TEST, tuple(lines), best=0.0)
