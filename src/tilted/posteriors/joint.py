"""C latent functions at once: the posterior of the multinomial probit [Riihimaki, Jylanki & Vehtari 2013].

Class c of row i has the utility f_ic + noise of variance 1, and the label is the class of the highest. With
u_i the noise of the label's own, p(y_i | f_i) = E_u prod_j Phi(h_ij), h_ij = f_iy - f_ij + u_i for the C - 1
other classes j. Sites are on these h, N (C - 1) of them, and every rule for one latent function applies with
the probit as it is. A fixed point of EP is one of the paper's nested EP, whose inner loops iterate the same
sites for each row by itself: both match the moments of the same tilted distributions.

Given sites (tau, nu) >= 0, with s_i = f_iy + u_i, pi_ij = tau_ij and pi_iy = 1, integrating s_i out leaves
the precision diag(pi_i) - pi_i pi_i^T / sum(pi_i) on f_i: but for the scale that of a softmax under Laplace's
approximation, so that conditioning takes C + 1 factorisations of N x N [Rasmussen & Williams 2006, 3.5.1].
With D_c = diag(pi_c), E_c = D_c^1/2 (I + D_c^1/2 K D_c^1/2)^-1 D_c^1/2 and O = sum_c E_c the covariance of f
is K - K Omega K, with blocks Omega_cd = delta_cd E_c - E_c O^-1 E_d. Every class may have a K of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from tilted.gaussian import Marginals, Sites, anchors, log_sites
from tilted.numerics import linalg
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Correlations, Dense

FEW = 4  # classes with Newton's method, which works on all pairs
WEAK = 1e-3  # share of a variance that is explained, below which 1 - (B^-1)_ii cancels


@dataclass(frozen=True)
class JointState:
    """The posterior of C functions conditioned on sites.

    Attributes
    ----------
    sites : Sites
    marginals : Marginals
        Mean and variance [N (C - 1)] of h.
    weights : array [C, N]
        a with mean of f_c = K a_c.
    mean : array [C, N]
        Of f.
    log_normaliser, anchored : float
        As of other states.
    factors : array [C, N, N]
        L^-1 D^1/2 of every class, L L^T = I + D^1/2 K D^1/2.
    common : array [N, N]
        The inverse of the Cholesky factor of O.
    """

    sites: Sites
    marginals: Marginals
    weights: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    log_normaliser: float
    anchored: float
    factors: np.ndarray = field(repr=False)
    common: np.ndarray = field(repr=False)
    negative_sites: int = 0

    def means(self, cross: np.ndarray) -> np.ndarray:
        """Means [N*, C] of f at new points, from the cross covariance [N*, N], or those [C, N*, N]."""
        if cross.ndim == 2:
            return cross @ self.weights.T
        return np.einsum("cmn,cn->mc", cross, self.weights)

    def predict(self, cross: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*, C] and covariance between the classes [N*, C, C] of f at new points.

        From the cross covariance [N*, N] and the prior variances [N*], or those of every class.
        """
        own, shared = self._explained(cross)
        covariance = np.einsum("ckn,dkn->ncd", shared, shared)
        for c, half in enumerate(own):
            before = prior if prior.ndim == 1 else prior[c]
            covariance[:, c, c] += before - np.einsum("kn,kn->n", half, half)
        return self.means(cross), covariance

    def covariance(self, cross: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Covariance [C, N*, C, N*] of f at new points of prior covariance [N*, N*] or [C, N*, N*]."""
        own, shared = self._explained(cross)
        covariance = np.einsum("ckn,dkm->cndm", shared, shared, optimize=True)
        for c, half in enumerate(own):
            covariance[c, :, c] += (prior if prior.ndim == 2 else prior[c]) - half.T @ half
        return covariance

    def _explained(self, cross: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Roots [C, N, N*] of what E_c explains, and of what O gives back."""
        own = self.factors @ np.swapaxes(cross, -1, -2)
        return own, self.common @ (np.swapaxes(self.factors, 1, 2) @ own)


@dataclass(frozen=True)
class Joint:
    """The prior of C independent functions at N labelled points.

    Parameters
    ----------
    K : array [N, N] or [C, N, N]
        The covariance of every function, or of each its own.
    labels : array [N]
        The class of every point, from 0.
    classes : int
        C, at least 2.
    """

    K: np.ndarray
    labels: np.ndarray
    classes: int

    jitter: ClassVar[float] = 0.0

    @property
    def each(self) -> np.ndarray:
        """The covariances [C, N, N]."""
        return np.broadcast_to(self.K, (self.classes, *self.K.shape[-2:]))

    @cached_property
    def rivals(self) -> np.ndarray:
        """The classes j of h_ij [N, C - 1]."""
        j = np.arange(self.classes - 1)
        return j + (j >= self.labels[:, None])

    @cached_property
    def pairs(self) -> Dense:
        """The prior of h itself, [N (C - 1)]: what all of this spares."""
        own, second = self.labels[:, None], self.rivals
        signs = np.zeros((*second.shape, self.classes))
        np.put_along_axis(signs, own[:, :, None], 1.0, axis=2)
        np.put_along_axis(signs, second[:, :, None], -1.0, axis=2)
        h = np.einsum("ijc,klc,cik->ijkl", signs, signs, self.each, optimize=True)
        h += np.eye(len(self.labels))[:, None, :, None]  # u
        return Dense.build(h.reshape(second.size, second.size))

    def condition(self, sites: Sites) -> JointState:
        """The posterior given ``sites`` [N (C - 1)].

        Raises
        ------
        NotPositiveDefinite
            For a negative precision, a shift without one, and factorisations that fail.
        """
        n, C = len(self.labels), self.classes
        tau, nu = (values.reshape(n, C - 1) for values in (sites.tau, sites.nu))
        wrong = (tau < 0) | ((tau == 0) & (nu != 0)) | ~np.isfinite(tau + nu)
        if np.any(wrong):
            raise NotPositiveDefinite("sites of several classes", int(np.argmax(wrong)) + 1, wrong.size)
        pi = np.ones((n, C))
        np.put_along_axis(pi, self.rivals, tau, axis=1)
        root, shift = np.sqrt(pi), np.zeros((n, C))
        np.put_along_axis(shift, self.rivals, -np.divide(nu, np.sqrt(tau), where=tau > 0, out=0 * nu), axis=1)
        factors, inverses, own, log_det = np.empty((C, n, n)), np.empty((C, n, n)), np.empty((C, n)), 0.0
        for c, K in enumerate(self.each):
            log_of_one, factors[c], inverses[c], own[c] = self._one(K, root[:, c])
            log_det += log_of_one
        gathered = np.einsum("ckn,ckm->nm", factors, factors, optimize=True)
        L = linalg.cholesky(gathered, "sum of the E_c")
        log_det += linalg.log_determinant(L)
        common = linalg.inverse_lower(L)
        weights = self._weights(factors, common, shift / np.where(root > 0, root, 1.0))
        mean = weights @ self.K if self.K.ndim == 2 else np.einsum("cn,cnm->cm", weights, self.K)
        total = np.sum(pi, axis=1)
        s = (np.einsum("nc,cn->n", pi, mean) + np.sum(nu, axis=1)) / total
        h = (s[:, None] - np.take_along_axis(mean.T, self.rivals, axis=1)).ravel()
        u = np.take_along_axis(weights.T, self.labels[:, None], axis=1)
        at_peak = -0.5 * (log_det + float(np.sum(weights * mean)) + float(np.sum(u**2)))
        normaliser, anchored = (
            at_peak + float(np.sum(log_sites(h, sites, c))) for c in (np.zeros_like(h), anchors(h, sites.tau))
        )
        variance = self._variance(own, inverses, common, pi)
        marginals = Marginals(h, variance, np.zeros_like(h))
        return JointState(sites, marginals, weights, mean, normaliser, anchored, factors, common)

    def _weights(self, factors: np.ndarray, common: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Omega t [C, N], t [N, C] being the means that sites would have by themselves."""
        own = np.stack([L.T @ (L @ column) for L, column in zip(factors, t.T, strict=True)])
        inner = common.T @ (common @ np.sum(own, axis=0))
        return own - np.stack([L.T @ (L @ inner) for L in factors])

    def _one(self, K: np.ndarray, root: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Return log det B, L^-1 D^1/2, (I + D K)^-1 and the diagonal of (K^-1 + D)^-1 for one class.

        ``root`` [N] is D^1/2, B = I + D^1/2 K D^1/2 = L L^T. From B^-1, or from K where D hardly matters and
        this cancels.
        """
        B = K * root
        B *= root[:, None]
        B.flat[:: len(B) + 1] += 1.0
        L = linalg.cholesky(B, "I + D^1/2 K D^1/2")
        factor = linalg.inverse_lower(L)
        inverse = factor.T @ factor
        explained, factor = 1.0 - np.diagonal(inverse), factor * root
        weak = explained < WEAK
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse_B, own = root[:, None] * inverse / root, explained / root**2
        half = factor @ K[:, weak]
        inverse_B[:, weak] = np.eye(len(B))[:, weak] - factor.T @ half
        own[weak] = np.diagonal(K)[weak] - np.einsum("ij,ij->j", half, half)
        return linalg.log_determinant(L), factor, inverse_B, own

    def _variance(
        self, own: np.ndarray, inverses: np.ndarray, common: np.ndarray, pi: np.ndarray
    ) -> np.ndarray:
        """Variances [N (C - 1)] of h_ij: 1 / sum(pi_i), and that of sum_c pi_ic f_ic / sum(pi_i) - f_ij.

        What O^-1 gives back to E_c K = I - (I + D_c K)^-1 is large, and the same for every class but for the
        second term, by which alone classes differ.
        """
        total = np.sum(pi, axis=1, keepdims=True)
        share = pi / total
        middle = np.einsum("cij,jc->ij", inverses, share)
        variance = np.empty_like(pi)
        for c, inverse in enumerate(inverses):
            apart = common @ (middle - inverse)
            g = share - (np.arange(self.classes) == c)
            variance[:, c] = np.einsum("nc,cn->n", g**2, own) + np.einsum("ij,ij->j", apart, apart)
        return (1.0 / total + np.take_along_axis(variance, self.rivals, axis=1)).ravel()

    def evidence_derivative(self, state: JointState) -> np.ndarray:
        """d log_normaliser / dK, sites held fixed: (a_c a_c^T - Omega_cc) / 2, their sum if K is shared."""
        E = np.swapaxes(state.factors, 1, 2) @ state.factors
        half, a = state.common @ E, state.weights
        if self.K.ndim == 3:
            return 0.5 * (a[:, :, None] * a[:, None, :] - E + np.swapaxes(half, 1, 2) @ half)
        omega = np.sum(E, axis=0) - np.einsum("ckn,ckm->nm", half, half, optimize=True)
        return 0.5 * (a.T @ a - omega)

    def correlations(self, state: JointState, costly: bool = False) -> Correlations | None:
        """Correlations of at most `FEW` classes; for more, Newton's steps cost more than they save."""
        if self.classes > FEW:
            return None
        return self.pairs.correlations(self.pairs.condition(state.sites), costly)

    def covariance(self, state: JointState) -> np.ndarray:
        """Covariance of h [N (C - 1), N (C - 1)], for sequential sweeps, at the price of `pairs`."""
        return self.pairs.covariance(self.pairs.condition(state.sites))

    def marginal(self, mean: np.ndarray, covariance: np.ndarray, i: int) -> Marginals:
        """See `Dense`."""
        return self.pairs.marginal(mean, covariance, i)

    def update_one(
        self, mean: np.ndarray, covariance: np.ndarray, i: int, d_tau: float, d_nu: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Dense`."""
        return self.pairs.update_one(mean, covariance, i, d_tau, d_nu)
