"""The exact posterior of probit classification by independent draws of bounded weight [Botev 2017].

Phi(y f) is the probability of y (f + e) > 0, e ~ N(0, 1). So the evidence is the probability that all of

    g = y (f + e) ~ N(y mean, A),    A_ij = y_i y_j (K + I)_ij,

are positive, and the posterior of f is that of g | g > 0 [Cao, Durante & Genton 2022]. With A = L L^T and
g = y mean + L z every z_j is bounded below, z_j > bound_j, once those before it are drawn. Drawn from
N(tilt_j, 1) beyond its bound, z has the weight

    log w = sum_j log P(N(tilt_j, 1) > bound_j) + tilt_j^2 / 2 - tilt_j z_j,

whose mean is the evidence, whatever the tilt; without one it is that of Genz [1992]. The tilt for which the
largest log w is smallest is half of a saddle point: of the sum above, concave in z with z_j at the mean
of its distribution, convex in the tilt. The weights are bounded by it, so their variance is finite.
Of variables the least likely come first, given the means of those before [Gibson, Glasbey & Elston 1994].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtri_exp

from tilted.likelihoods.normal import hazard, loss_of_variance, remaining_curvature
from tilted.numerics import linalg

BLOCK = 4096  # draws to begin with
MEMORY = 512e6  # bytes of draws
STEPS = 100  # of Newton's method
HALVINGS = 30
TINY = np.finfo(float).tiny  # least probability of the other side, whose quantile is finite
SETTLED = 1e-8  # largest residual of the saddle point


@dataclass(frozen=True)
class Draws:
    """Weighted draws of z.

    Attributes
    ----------
    z : array [N, n]
    log_weights : array [n]
        Their mean weight is the evidence.
    """

    z: np.ndarray = field(repr=False)
    log_weights: np.ndarray = field(repr=False)

    def and_more(self, further: Draws) -> Draws:
        """These and others of the same tilt."""
        return Draws(
            np.concatenate([self.z, further.z], axis=1),
            np.concatenate([self.log_weights, further.log_weights]),
        )

    @property
    def log_shares(self) -> np.ndarray:
        """Logarithms [n] of the weights that sum to 1."""
        return self.log_weights - logsumexp(self.log_weights)

    @property
    def weights(self) -> np.ndarray:
        """Weights [n] that sum to 1."""
        return np.exp(self.log_shares)

    @property
    def effective(self) -> float:
        """Effective number of draws, 1 / sum of squared weights."""
        return float(1.0 / np.sum(self.weights**2))

    @property
    def log_evidence(self) -> float:
        """Log of the mean weight."""
        return float(logsumexp(self.log_weights) - np.log(len(self.log_weights)))

    @property
    def standard_error(self) -> float:
        """Standard error of the log evidence, by the delta method."""
        return float(np.sqrt(max(1.0 / self.effective - 1.0 / len(self.log_weights), 0.0)))


class Posterior(NamedTuple):
    """The exact posterior, as weighted draws."""

    orthant: Orthant
    draws: Draws


@dataclass(frozen=True)
class Orthant:
    """Source of draws.

    Attributes
    ----------
    order : array [N] of int
        Row of the data of each variable.
    y : array [N]
        Labels in that order.
    factor : array [N, N]
        L, in that order.
    shift : array [N]
        y mean, in that order.
    tilt : array [N]
    log_bound : float
        No log weight is above it; infinite where the saddle point was not found, and the tilt is a poor one.
    """

    order: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    factor: np.ndarray = field(repr=False)
    shift: np.ndarray = field(repr=False)
    tilt: np.ndarray = field(repr=False)
    log_bound: float

    @classmethod
    def build(cls, K: np.ndarray, y: np.ndarray, mean: float | np.ndarray = 0.0) -> Orthant:
        """For prior covariances ``K`` [N, N], labels ``y`` [N] of -1 and 1 and a prior mean; O(N^3).

        Raises
        ------
        NotPositiveDefinite
            If K + I is not.
        """
        signed = np.outer(y, y) * K
        signed[np.diag_indices_from(signed)] += 1.0
        order = _least_likely_first(signed, y * mean)
        factor = linalg.cholesky(signed[np.ix_(order, order)], "signed covariance")
        shift = (y * mean)[order]
        tilt, log_bound = _saddle(factor, shift)
        return cls(order, y[order], factor, shift, tilt, log_bound)

    def half(self, cross: np.ndarray) -> np.ndarray:
        """H [N, N*] for prior covariances ``cross`` [N*, N] of latents with those of the data.

        Given z these are independent of the data: N(prior mean + H^T z, prior variance - sum of H^2).
        """
        return linalg.solve_lower(self.factor, (cross[:, self.order] * self.y).T)

    def draw(self, rng: np.random.Generator, n: int) -> Draws:
        """Independent ``n`` draws, in N^2 n operations."""
        z, log_w = np.empty((len(self.y), n)), np.zeros(n)
        for j, (row, tilt) in enumerate(zip(self.factor, self.tilt, strict=True)):
            above = (self.shift[j] + row[:j] @ z[:j]) / row[j] + tilt  # of the bound, its tilted mean
            log_p = log_ndtr(above)
            z[j] = tilt - ndtri_exp(np.minimum(np.log1p(-rng.random(n)) + log_p, -TINY))
            log_w += log_p + tilt * (0.5 * tilt - z[j])
        return Draws(z, log_w)


def sample(
    K: np.ndarray,
    y: np.ndarray,
    mean: float | np.ndarray,
    rng: np.random.Generator,
    goal: float,
    most: int,
    memory: float = MEMORY,
) -> Posterior:
    """Draws until ``goal`` are effective, at most ``most`` and as many as ``memory`` bytes hold.

    Parameters
    ----------
    K, y, mean
        As of `Orthant.build`, which says what is raised.
    rng : numpy.random.Generator
    goal : float
    most : int
    memory : float
    """
    orthant = Orthant.build(K, y, mean)
    most = max(BLOCK, min(most, int(memory / (8.0 * len(y)))))
    draws = orthant.draw(rng, BLOCK)
    while draws.effective < goal and len(draws.log_weights) < most:
        n = len(draws.log_weights)
        wanted = int(1.1 * n * (goal / draws.effective - 1.0))
        draws = draws.and_more(orthant.draw(rng, min(max(BLOCK, wanted), n, most - n)))
    return Posterior(orthant, draws)


def _least_likely_first(A: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Order [N] of the variables: next is the least likely to be positive given the means of those before."""
    A, n = A.copy(), len(A)
    L, means, order = np.zeros_like(A), np.zeros(n), np.arange(n)
    shift = shift.copy()
    for j in range(n):
        centre = shift[j:] + L[j:, :j] @ means[:j]
        spread = np.sqrt(np.maximum(A.diagonal()[j:] - np.sum(L[j:, :j] ** 2, axis=1), TINY))
        here = j + int(np.argmin(centre / spread))
        for array in (order, shift, A, A.T, L[:, :j]):
            array[[j, here]] = array[[here, j]]
        L[j, j] = spread[here - j]
        L[j + 1 :, j] = (A[j + 1 :, j] - L[j + 1 :, :j] @ L[j, :j]) / L[j, j]
        means[j] = hazard(centre[here - j] / spread[here - j])
    return order


def _saddle(L: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, float]:
    """The tilt [N] and the largest log weight, by Newton's method.

    With a_j = (shift_j + sum_k<j L_jk z_k) / L_jj + tilt_j and its hazard h_j = phi / Phi, at the saddle
    z = tilt + h and tilt = U^T h, U = L / diag(L) off its diagonal.
    """
    scale = L.diagonal()
    U, b = L / scale[:, None], shift / scale
    U[np.diag_indices_from(U)] = 0.0
    z, tilt = np.zeros(len(L)), np.zeros(len(L))

    def residuals(z: np.ndarray, tilt: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        above = b + U @ z + tilt
        h = hazard(above)
        return U.T @ h - tilt, tilt - z + h, above, h

    first, second, above, h = residuals(z, tilt)
    size = np.hypot(np.linalg.norm(first), np.linalg.norm(second))
    for _ in range(STEPS):
        if size < SETTLED:
            break
        # d h = -fall d above, kept = 1 - fall
        curvature = remaining_curvature(above, h)
        fall = loss_of_variance(above, h, curvature)
        slope = np.eye(len(L)) + fall[:, None] * U
        M = (U.T * fall) @ U + (slope.T / curvature) @ slope
        dz = np.linalg.solve(M, first + slope.T @ (second / curvature))
        dtilt = (slope @ dz - second) / curvature
        step = 1.0
        for _ in range(HALVINGS):
            new_residuals = residuals(z + step * dz, tilt + step * dtilt)
            reached = np.hypot(np.linalg.norm(new_residuals[0]), np.linalg.norm(new_residuals[1]))
            if reached < (1.0 - 1e-4 * step) * size:
                break
            step *= 0.5
        else:
            break
        z, tilt = z + step * dz, tilt + step * dtilt
        (first, second, above, h), size = new_residuals, reached
    if not size < SETTLED:
        return tilt, np.inf
    return tilt, float(np.sum(log_ndtr(above) + tilt * (0.5 * tilt - z)))
