"""The dense posterior: q(h) = N(h; mean, K) prod_i t_i(h_i), conditioned exactly in O(N^3).

While every site precision is non-negative it factors B = I + S^1/2 K S^1/2 [Rasmussen & Williams 2006,
section 3.6.1], whose eigenvalues are at least one. With a negative precision (legitimate for Poisson,
noisy-step and variational sites) it factors I + Lambda^T T Lambda with K = Lambda Lambda^T, whose
Cholesky exists exactly when the posterior is proper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg.blas import dger, ssymv

from tilted.gaussian import Marginals, Sites, anchors, log_sites
from tilted.numerics import linalg

COLUMNS = 128  # handled at once where a part of K is copied


class Apart(NamedTuple):
    """Positive site precisions, and negative ones after them.

    Attributes
    ----------
    positive, negative : arrays of int [P], [M]
        Where they are; precisions of 0 are neither.
    scale : array [N]
        |T|^1/2.
    factor : array [P, P]
        L of B of the positive ones.
    half : array [P, M]
        L^-1 S^1/2 K of these rows and columns.
    inner : array [M, M]
        Cholesky factor of I - |T|^1/2 Sigma |T|^1/2, Sigma being what the positive ones leave.
    """

    positive: np.ndarray
    negative: np.ndarray
    scale: np.ndarray
    factor: np.ndarray
    half: np.ndarray
    inner: np.ndarray

    @classmethod
    def of(cls, K: np.ndarray, tau: np.ndarray) -> Apart:
        """For a prior covariance [N, N] and the site precisions of a proper posterior."""
        scale, positive, negative = np.sqrt(np.abs(tau)), np.flatnonzero(tau > 0), np.flatnonzero(tau < 0)
        up, down = scale[positive], scale[negative]
        B = up[:, None] * K[np.ix_(positive, positive)] * up
        B.flat[:: len(B) + 1] += 1.0
        factor = linalg.cholesky(B, "I + S^1/2 K S^1/2")
        half = linalg.solve_lower(factor, up[:, None] * K[np.ix_(positive, negative)])
        inner = -down[:, None] * (K[np.ix_(negative, negative)] - half.T @ half) * down
        inner.flat[:: len(inner) + 1] += 1.0
        inner = linalg.cholesky(inner, "I - |T|^1/2 Sigma |T|^1/2")
        return cls(positive, negative, scale, factor, half, inner)

    def roots(self, cross: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Roots [N*, P] of what positive sites explain, and [N*, M] of what negative ones add."""
        scaled = cross * self.scale
        explained = linalg.solve_lower(self.factor, scaled[:, self.positive].T)
        residual = scaled[:, self.negative].T - self.scale[self.negative, None] * (self.half.T @ explained)
        return explained.T, linalg.solve_lower(self.inner, residual).T


@dataclass(frozen=True)
class DenseState:
    """A posterior conditioned on sites.

    Attributes
    ----------
    sites : Sites
    marginals : Marginals
        Mean and variance [N] of h, and the extra variance of f given h.
    weights : array [N]
        a with mean = prior mean + K a.
    log_normaliser : float
        log of the integral of N(h; mean, K) prod_i exp(-tau_i h_i^2/2 + nu_i h_i).
    anchored : float
        The same with the exponents about `gaussian.anchors`, for the evidence.
    factor : array
        What the conditioning left behind: L^-1 of B, or L of the other form.
    root : array or None
        Lambda of the other form.
    negative_sites : int
        Number of sites with negative precision.
    """

    sites: Sites
    marginals: Marginals
    weights: np.ndarray
    log_normaliser: float
    anchored: float
    factor: np.ndarray = field(repr=False)
    root: np.ndarray | None = field(repr=False)
    negative_sites: int = 0

    def inner_precision(self) -> np.ndarray:
        """W = (K + T^-1)^-1 = T - T Sigma T, [N, N], finite for zero and negative site precisions."""
        tau = self.sites.tau
        if self.root is not None:
            half = linalg.solve_lower(self.factor, self.root.T)
            return np.diag(tau) - tau[:, None] * (half.T @ half) * tau
        root = np.sqrt(tau)
        W = linalg.mirror_lower(linalg.gram_lower(self.factor))
        W *= root
        W *= root[:, None]
        return W

    def predict(
        self, cross: np.ndarray, prior_variance: float | np.ndarray, prior_mean: float | np.ndarray = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Latent mean and variance [N*] at new points, from the cross covariance [N*, N].

        Variances are NaN where rounding has lost all of them, as of a huge prior beside negative sites.
        """
        mean = prior_mean + cross @ self.weights
        try:
            half, more = self._roots(cross)
        except linalg.NotPositiveDefinite:
            return mean, np.full(len(cross), np.nan)
        variance = prior_variance - np.einsum("ij,ij->i", half, half)
        return mean, variance if more is None else variance + np.einsum("ij,ij->i", more, more)

    def covariance(self, cross: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Latent covariance [N*, N*] at new points of prior covariance [N*, N*].

        NotPositiveDefinite where `predict` gives NaN.
        """
        half, more = self._roots(cross)
        covariance = prior - half @ half.T
        return covariance if more is None else covariance + more @ more.T

    @cached_property
    def _apart(self) -> Apart:
        assert self.root is not None, "asked for where sites are negative"
        return Apart.of(self.root @ self.root.T, self.sites.tau)

    def __getstate__(self) -> dict[str, object]:
        """Without what is made when it is first asked for."""
        return {name: value for name, value in self.__dict__.items() if name != "_apart"}

    def _roots(self, cross: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Roots of what positive sites explain at points of covariance [N*, N], and of what others add.

        W itself cancels where sites are strong (noise next to nothing).
        """
        if self.negative_sites:
            return self._apart.roots(cross)
        return (cross * np.sqrt(self.sites.tau)) @ self.factor.T, None


@dataclass(frozen=True)
class Correlations:
    """Products with the posterior correlation matrix P of all points, as Newton's method needs them.

    Kept in single precision: the products only steer towards a fixed point that is tested in double.
    P_ij = -scale_i others_ij scale_j for i != j.

    Attributes
    ----------
    scale : array [N]
    correlations, squares : arrays [N, N]
        Lower triangles, zeros on the diagonal; ``squares`` are those of ``correlations``.
    """

    scale: np.ndarray
    correlations: np.ndarray = field(repr=False)
    squares: np.ndarray = field(repr=False)

    def product(self, x: np.ndarray) -> np.ndarray:
        """(P - I) x, [N]."""
        return self.scale * ssymv(-1.0, self.correlations, self.scale * x, lower=1)

    def square_product(self, x: np.ndarray) -> np.ndarray:
        """(P o P - I) x, [N], with the squares of the correlations."""
        square = self.scale * self.scale
        return square * ssymv(1.0, self.squares, square * x, lower=1)


@dataclass(frozen=True)
class Dense:
    """A Gaussian prior on N points, ready to be conditioned on sites.

    Parameters
    ----------
    K : array [N, N]
        Prior covariance of h.
    mean : float or array [N]
        Prior mean.
    extra : array [N] or None
        Independent variance of f given h; zero by default.
    """

    K: np.ndarray
    mean: np.ndarray
    extra: np.ndarray

    jitter: ClassVar[float] = 0.0

    @classmethod
    def build(cls, K: np.ndarray, mean: float | np.ndarray = 0.0, extra: float | np.ndarray = 0.0) -> Dense:
        """Broadcast ``mean`` and ``extra`` to vectors [N]."""
        n = len(K)
        return cls(K, np.broadcast_to(mean, n).astype(float), np.broadcast_to(extra, n).astype(float))

    def __len__(self) -> int:
        return len(self.K)

    def condition(self, sites: Sites) -> DenseState:
        """The posterior given ``sites``.

        Raises
        ------
        NotPositiveDefinite
            If the product of prior and sites is not a proper Gaussian; says which matrix failed.
        """
        negative = int(np.count_nonzero(sites.tau < 0))
        condition = self._with_root if negative else self._with_sites
        variance, log_det, factor, root = condition(sites.tau)
        shift = sites.nu - sites.tau * self.mean
        if root is not None:
            inner = linalg.solve_lower(factor, linalg.solve_lower(factor, root.T @ shift), transpose=True)
            weights = shift - sites.tau * (root @ inner)
        else:
            weights = self._weights(np.sqrt(sites.tau), shift, factor)
        mean = self.mean + self.K @ weights
        log_normaliser = -0.5 * log_det + 0.5 * float(
            shift @ (mean - self.mean) + self.mean @ (2.0 * sites.nu - sites.tau * self.mean)
        )
        marginals, anchored = Marginals(mean, variance, self.extra), log_normaliser
        c = anchors(mean, sites.tau)
        if c.any():  # by the integrand at its maximum
            anchored = -0.5 * (log_det + float(weights @ (mean - self.mean))) + float(
                np.sum(log_sites(mean, sites, c))
            )
        return DenseState(sites, marginals, weights, log_normaliser, anchored, factor, root, negative)

    def _with_sites(self, tau: np.ndarray) -> tuple[np.ndarray, float, np.ndarray, None]:
        """Variances, log det, L^-1 (and None) for B = I + S^1/2 K S^1/2 = L L^T."""
        if not tau.any():
            return np.diagonal(self.K).copy(), 0.0, np.eye(len(tau), order="F"), None
        root = np.sqrt(tau)
        with np.errstate(over="ignore"):  # what is not finite is refused by its factor
            B = self.K * root
            B *= root[:, None]
        B.flat[:: len(B) + 1] += 1.0
        L = linalg.cholesky(B.T, "I + S^1/2 K S^1/2", overwrite=True)
        log_det = linalg.log_determinant(L)
        inverse = linalg.inverse_lower(L, overwrite=True)
        # Sigma_ii = (1 - (B^-1)_ii) / tau_i; for weak sites, where this cancels, from K directly.
        explained = 1.0 - np.einsum("ij,ij->j", inverse, inverse)
        weak = explained < 1e-3
        if not weak.any():
            return explained / tau, log_det, inverse, None
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = explained / tau
        for columns in _blocks(np.flatnonzero(weak)):
            half = inverse @ (root[:, None] * self.K[:, columns])
            variance[columns] = np.diagonal(self.K)[columns] - np.einsum("ij,ij->j", half, half)
        return variance, log_det, inverse, None

    def _weights(self, scale: np.ndarray, shift: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """K^-1 (mean of h - prior mean) = S^1/2 B^-1 S^-1/2 shift.

        The textbook form [Rasmussen & Williams 2006, algorithm 3.6] also holds where a precision is zero, but
        it cancels for strong sites under a large prior variance.
        """
        if (scale > 0).all():
            return scale * (factor.T @ (factor @ (shift / scale)))
        return shift - scale * (factor.T @ (factor @ (scale * (self.K @ shift))))

    def _with_root(self, tau: np.ndarray) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
        """Variances, log det, factor and Lambda for I + Lambda^T T Lambda."""
        root = linalg.semidefinite_root(self.K, "prior covariance K")
        inner = root.T @ (tau[:, None] * root)
        inner.flat[:: len(inner) + 1] += 1.0
        L = linalg.cholesky(inner, "I + Lambda^T T Lambda")
        half = linalg.solve_lower(L, root.T)
        return np.einsum("ij,ij->j", half, half), linalg.log_determinant(L), L, root

    def correlations(self, state: DenseState, costly: bool = False) -> Correlations | None:
        """Posterior correlations between the points; None where a site precision or variance is not positive.

        By Sigma = S^-1/2 (I - B^-1) S^-1/2 they are entries of B^-1.
        """
        if not ((state.sites.tau > 0) & (state.marginals.variance > 0)).all():
            return None
        inverse = linalg.gram_lower(state.factor.astype(np.float32), overwrite=True)
        inverse.flat[:: len(inverse) + 1] = 0.0
        scale = 1.0 / np.sqrt(state.sites.tau * state.marginals.variance)
        return Correlations(scale, inverse, inverse * inverse)

    def covariance(self, state: DenseState) -> np.ndarray:
        """Posterior covariance of h, [N, N]."""
        if state.root is not None:
            half = linalg.solve_lower(state.factor, state.root.T)
            return half.T @ half
        half = state.factor @ (np.sqrt(state.sites.tau)[:, None] * self.K)
        return self.K - half.T @ half

    def marginal(self, mean: np.ndarray, covariance: np.ndarray, i: int) -> Marginals:
        """Marginal of one point of a running sequential sweep, as arrays of length 1."""
        row = slice(i, i + 1)
        return Marginals(mean[row], np.diagonal(covariance)[row], self.extra[row])

    def update_one(
        self, mean: np.ndarray, covariance: np.ndarray, i: int, d_tau: float, d_nu: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N] and covariance [N, N] after site ``i`` changed [Rasmussen & Williams 2006, 3.53].

        The covariance is overwritten.
        """
        column = covariance[:, i].copy()
        scale = 1.0 / (1.0 + d_tau * column[i])
        moved = mean + column * (scale * (d_nu - d_tau * mean[i]))
        return moved, dger(-d_tau * scale, column, column, a=covariance.T, overwrite_a=1).T

    def evidence_derivative(self, state: DenseState) -> np.ndarray:
        """d log_normaliser / dK with the sites held fixed, [N, N]: (a a^T - W) / 2."""
        W = state.inner_precision()
        W *= -0.5
        W += np.multiply.outer(0.5 * state.weights, state.weights)
        return W


def _blocks(index: np.ndarray) -> list[np.ndarray]:
    """Parts of an array of indices, small enough that N x len(part) is little memory."""
    return np.array_split(index, range(COLUMNS, len(index), COLUMNS)) if len(index) else []
