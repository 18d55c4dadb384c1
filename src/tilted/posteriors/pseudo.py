"""Pseudo-points: their part of a sparse prior, prediction through them, and the way back from gradients.

Q = Kfu Kuu^-1 Kuf is what M pseudo-points explain of K [Bui et al. 2017, section 2]; D = diag(K - Q) is left.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import require_positive
from tilted.numerics import linalg

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

ROUNDING = 1e-9  # what of a conditional variance may be lost below zero, relatively


@dataclass(frozen=True)
class PseudoPoints:
    """M pseudo-points of a prior.

    Parameters
    ----------
    kernel : SquaredExponential or another kernel
    Z : array [M, D]
        Pseudo-inputs.
    relative_jitter : float
        Added to the diagonal of Kuu, in units of its mean; part of the model.
    root : array [M, M]
        Luu^-1, with Luu Luu^T = Kuu.
    jitter : float
        What was added to the diagonal of Kuu.
    """

    kernel: Kernel
    Z: np.ndarray
    relative_jitter: float
    root: np.ndarray = field(repr=False)
    jitter: float

    @classmethod
    def build(cls, kernel: Kernel, Z: np.ndarray, relative_jitter: float = 0.0) -> PseudoPoints:
        """Factorise Kuu.

        Raises
        ------
        NotPositiveDefinite
            If Kuu is singular: pseudo-inputs coincide.
        ValueError
            Without pseudo-inputs or for such that are not finite, and for negative jitter.
        """
        if len(Z) == 0:
            raise ValueError("no pseudo-inputs")
        if np.ndim(Z) != 2 or not np.all(np.isfinite(Z)):
            raise ValueError(f"pseudo-inputs are finite numbers [M, D], got shape {np.shape(Z)}")
        check_jitter(relative_jitter)
        Kuu = kernel.matrix(Z)
        jitter = relative_jitter * float(np.mean(kernel.diagonal(Z)))
        Kuu.flat[:: len(Kuu) + 1] += jitter
        root = linalg.inverse_lower(linalg.cholesky(Kuu, "Kuu of the pseudo-inputs"), overwrite=True)
        return cls(kernel, Z, relative_jitter, root, jitter)

    def cross(self, X: np.ndarray) -> np.ndarray:
        """Kuf [M, N] with the inputs ``X`` [N, D]."""
        return self.kernel.matrix(self.Z, X)

    def left_over(self, X: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, int]:
        """Conditional variances [N] of f given the pseudo-points (V = root Kuf), and how many are floored.

        Those below zero by rounding, relatively at most `ROUNDING`, are set to zero and counted.

        Raises
        ------
        NotPositiveDefinite
            If Kuu is so near to singular that K - Q has lost its sign.
        """
        prior = self.kernel.diagonal(X)
        extra = prior - np.einsum("mn,mn->n", V, V)
        if not np.all(extra >= -ROUNDING * prior):
            raise linalg.NotPositiveDefinite("K - Q (allow jitter)", int(np.argmin(extra)) + 1, len(X))
        return np.maximum(extra, 0.0), int(np.sum(extra < 0))

    def predict(
        self, factor: np.ndarray, projected: np.ndarray, Xs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean, without the prior's, and variance [N*] of f at ``Xs`` [N*, D], O(M^2) a point.

        Parameters
        ----------
        factor : array [M, M]
            A root of the posterior covariance of z = Luu^-1 u: covariance = factor^T factor.
        projected : array [M]
            With factor^T projected the posterior mean of z.
        Xs : array

        Raises
        ------
        ArithmeticError
            If a variance is lost to rounding.
        """
        V = self.root @ self.cross(Xs)
        W = factor @ V
        explained = np.einsum("mn,mn->n", W, W) - np.einsum("mn,mn->n", V, V)
        return projected @ W, require_positive(self.kernel.diagonal(Xs) + explained)

    def evidence_gradient(
        self,
        X: np.ndarray,
        Kuf: np.ndarray,
        V: np.ndarray,
        mu: np.ndarray,
        S: np.ndarray,
        shift: np.ndarray,
        tau: np.ndarray,
        by_extra: np.ndarray,
        scale: float = 1.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of the log evidence with the sites held fixed (at their fixed point).

        Parameters
        ----------
        X : array [N, D]
        Kuf, V : arrays [M, N]
            V = root Kuf.
        mu, S : arrays [M], [M, M]
            Posterior mean and covariance of z = Luu^-1 u.
        shift : array [N]
            nu - tau m, with the marginals' means m.
        tau, by_extra : arrays [N]
            Precisions of the sites; derivatives of the local terms in the extra variances.
        scale : float
            Weight of each datum, where they are a batch of more.

        Returns
        -------
        by_parameters, by_Z : arrays [P], [M, D]
        """
        inner = 2.0 * V * by_extra
        by_V = np.multiply.outer(mu, shift) - (S @ V) * tau - inner
        middle = np.eye(len(mu)) - S + scale * (inner @ V.T) - np.multiply.outer(mu, mu)
        by_Kuf, by_Kuu = scale * (self.root.T @ by_V), 0.5 * (self.root.T @ middle @ self.root)
        parameters, by_Z = self.pull_back(X, Kuf, by_Kuf, by_Kuu)
        return parameters + self.kernel.contract_diagonal(X, scale * by_extra)[0], by_Z

    def pull_back(
        self, X: np.ndarray, Kuf: np.ndarray, by_Kuf: np.ndarray, by_Kuu: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients in Kuf and Kuu as gradients in what they are made of.

        Parameters
        ----------
        X : array [N, D]
        Kuf, by_Kuf : arrays [M, N]
        by_Kuu : array [M, M]
            Symmetric.

        Returns
        -------
        by_parameters, by_Z : arrays [P], [M, D]
        """
        kernel, Z, M = self.kernel, self.Z, len(self.Z)
        across, by_Z = kernel.contract_cross(Z, X, Kuf, by_Kuf)
        within, by_Z_within = kernel.contract_cross(Z, Z, kernel.matrix(Z), by_Kuu)
        added = np.full(M, self.relative_jitter * np.trace(by_Kuu) / M)
        jitter, by_Z_jitter = kernel.contract_diagonal(Z, added)
        return within + jitter + across, by_Z + 2.0 * by_Z_within + by_Z_jitter


def check_jitter(jitter: float) -> None:
    """ValueError for a jitter that is negative or not finite."""
    if not 0 <= jitter < np.inf:
        raise ValueError(f"jitter must be finite and not negative, got {jitter:g}")
