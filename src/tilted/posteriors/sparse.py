"""The sparse posterior: f = mean + h + e, h = Kfu Kuu^-1 u, with M pseudo-points u [Bui et al. 2017].

Sites act on h = Lambda z with Lambda = Kfu Luu^-T and z ~ N(0, I_M); e is independent with the conditional
variances D = diag(K - Q) (`Marginals.extra`). Conditioning costs O(N M^2) and works for negative site
precisions as long as the posterior is proper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Marginals, Sites, anchors, log_sites
from tilted.numerics import linalg
from tilted.posteriors.pseudo import PseudoPoints

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel


@dataclass(frozen=True)
class SparseState:
    """A posterior conditioned on sites.

    Attributes
    ----------
    sites : Sites
    marginals : Marginals
        Of h; the extra variance is that of f given h.
    log_normaliser : float
        log of the integral of p(h) prod_i exp(-tau_i h_i^2/2 + nu_i h_i).
    anchored : float
        The same with the exponents about `gaussian.anchors`, for the evidence.
    factor : array [M, M]
        LB^-1, with LB LB^T = I + Lambda^T T Lambda.
    projected : array [M]
        LB^-1 Lambda^T (nu - tau mean).
    negative_sites : int
    """

    sites: Sites
    marginals: Marginals
    log_normaliser: float
    anchored: float
    factor: np.ndarray = field(repr=False)
    projected: np.ndarray = field(repr=False)
    negative_sites: int = 0


@dataclass(frozen=True)
class RootCorrelations:
    """Products with the posterior correlation matrix P = U^T U of h at all points, from ``U`` [M, N]."""

    U: np.ndarray = field(repr=False)

    def product(self, x: np.ndarray) -> np.ndarray:
        """(P - I) x, [N], in O(N M)."""
        return (self.U @ x) @ self.U - x

    def square_product(self, x: np.ndarray) -> np.ndarray:
        """(P o P - I) x, [N], with the squares of the correlations, in O(N M^2)."""
        return np.einsum("mn,mn->n", self.U, ((self.U * x) @ self.U.T) @ self.U) - x


@dataclass(frozen=True)
class Sparse:
    """A Gaussian prior through M pseudo-points, ready to be conditioned on sites.

    Parameters
    ----------
    pseudo : PseudoPoints
    X : array [N, D]
    V : array [M, N]
        Lambda^T = Luu^-1 Kuf.
    mean, extra : arrays [N]
    floored : int
        How many conditional variances rounding had put below zero.
    """

    pseudo: PseudoPoints
    X: np.ndarray = field(repr=False)
    V: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    extra: np.ndarray = field(repr=False)
    floored: int = 0

    @classmethod
    def build(
        cls,
        kernel: Kernel,
        X: np.ndarray,
        Z: np.ndarray,
        mean: float | np.ndarray = 0.0,
        jitter: float = 0.0,
    ) -> Sparse:
        """The prior at ``X`` [N, D] through pseudo-inputs ``Z`` [M, D].

        ``jitter`` is added to the diagonal of Kuu, in units of its mean; it is part of the model. Conditional
        variances below zero by rounding, relatively at most `pseudo.ROUNDING`, are set to zero and
        counted (``floored``).

        Raises
        ------
        NotPositiveDefinite
            If Kuu is singular (pseudo-inputs coincide), or so near to it that K - Q has lost its sign.
        ValueError
            As `PseudoPoints.build`.
        """
        pseudo = PseudoPoints.build(kernel, Z, jitter)
        V = pseudo.root @ pseudo.cross(X)
        extra, floored = pseudo.left_over(X, V)
        return cls(pseudo, X, V, np.broadcast_to(mean, len(X)).astype(float), extra, floored)

    @property
    def jitter(self) -> float:
        """The jitter on the diagonal of Kuu."""
        return self.pseudo.jitter

    def __len__(self) -> int:
        return self.V.shape[1]

    def condition(self, sites: Sites) -> SparseState:
        """The posterior given ``sites``.

        Raises
        ------
        NotPositiveDefinite
            If the product of prior and sites is not a proper Gaussian.
        """
        B = (self.V * sites.tau) @ self.V.T
        B.flat[:: len(B) + 1] += 1.0
        L = linalg.cholesky(B, "I + Lambda^T T Lambda")
        log_det = linalg.log_determinant(L)
        factor = linalg.inverse_lower(L, overwrite=True)
        W = factor @ self.V
        shift = sites.nu - sites.tau * self.mean
        projected = W @ shift
        mean = self.mean + projected @ W
        log_normaliser = 0.5 * float(
            projected @ projected - log_det + self.mean @ (2.0 * sites.nu - sites.tau * self.mean)
        )
        marginals = Marginals(mean, np.einsum("mn,mn->n", W, W), self.extra)
        negative, anchored, c = int(np.sum(sites.tau < 0)), log_normaliser, anchors(mean, sites.tau)
        if np.any(c):  # by the integrand at its maximum
            z = factor.T @ projected
            anchored = -0.5 * float(log_det + z @ z) + float(np.sum(log_sites(mean, sites, c)))
        return SparseState(sites, marginals, log_normaliser, anchored, factor, projected, negative)

    def correlations(self, state: SparseState, costly: bool = False) -> RootCorrelations | None:
        """None unless they may be ``costly``: products with their squares cost as much as conditioning."""
        if not costly:
            return None
        W = state.factor @ self.V
        return RootCorrelations(W / np.sqrt(state.marginals.variance))

    def covariance(self, state: SparseState) -> np.ndarray:
        """Covariance [M, M] of z, from which sequential sweeps take what they need."""
        return state.factor.T @ state.factor

    def marginal(self, mean: np.ndarray, covariance: np.ndarray, i: int) -> Marginals:
        """Marginal of one point of a running sequential sweep, as arrays of length 1."""
        row = slice(i, i + 1)
        v = self.V[:, i]
        return Marginals(mean[row], np.atleast_1d(v @ covariance @ v), self.extra[row])

    def update_one(
        self, mean: np.ndarray, covariance: np.ndarray, i: int, d_tau: float, d_nu: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N] of h and covariance [M, M] of z after site ``i`` changed, in O(N M + M^2)."""
        column = covariance @ self.V[:, i]
        scale = 1.0 / (1.0 + d_tau * (self.V[:, i] @ column))
        moved = mean + (column @ self.V) * (scale * (d_nu - d_tau * mean[i]))
        return moved, covariance - np.multiply.outer(column * (d_tau * scale), column)

    def predict(
        self, state: SparseState, Xs: np.ndarray, prior_mean: float | np.ndarray = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of f at ``Xs`` [N*, D], O(M^2) a point; ArithmeticError if one is lost."""
        mean, variance = self.pseudo.predict(state.factor, state.projected, Xs)
        return prior_mean + mean, variance

    def evidence_gradient(self, state: SparseState, by_extra: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of the log evidence with the sites held fixed: right at fixed points of EP, Power EP, VB.

        Parameters
        ----------
        state : SparseState
        by_extra : array [N]
            Derivatives of the local terms in the extra variances (`Update.by_extra`).

        Returns
        -------
        by_parameters, by_Z : arrays [P], [M, D]
        """
        tau = state.sites.tau
        shift = state.sites.nu - tau * state.marginals.mean  # (Q + T^-1)^-1 (nu / tau - mean)
        S = state.factor.T @ state.factor
        at = self.X, self.pseudo.cross(self.X), self.V, self.V @ shift, S
        return self.pseudo.evidence_gradient(*at, shift, tau, by_extra)
