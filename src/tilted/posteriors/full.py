"""Exact regression, which the sparse methods approximate [Rasmussen & Williams 2006, chapter 2]."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import require_positive
from tilted.numerics import linalg
from tilted.posteriors.collapsed import Gradient, check_data, check_noise

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

LOST = 100.0  # times N eps max diag K: the smallest noise that rounding leaves two digits of


@dataclass(frozen=True)
class Full:
    """The exact posterior.

    Attributes
    ----------
    log_evidence : float
    kernel, X, noise
        What it was conditioned with.
    factor, weights : arrays [N, N], [N]
        L^-1 and (K + noise I)^-1 y, with L L^T = K + noise I.
    """

    log_evidence: float
    kernel: Kernel
    X: np.ndarray = field(repr=False)
    noise: float
    factor: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    jitter: float = 0.0

    def predict(self, Xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of f at ``Xs`` [N*, D], without noise, O(N^2) a point.

        Raises
        ------
        ArithmeticError
            If a variance is lost to rounding.
        """
        cross = self.kernel.matrix(self.X, Xs)
        W = self.factor @ cross
        variance = self.kernel.diagonal(Xs) - np.einsum("mn,mn->n", W, W)
        return self.weights @ cross, require_positive(variance)


@dataclass(frozen=True)
class FullRegression:
    """Data of an exact regression: X [N, D] and y [N] with zero prior mean."""

    X: np.ndarray
    y: np.ndarray

    def __post_init__(self) -> None:
        check_data(self.X, self.y)

    def evaluate(self, kernel: Kernel, Z: np.ndarray, noise: float) -> tuple[Full, Gradient]:
        """Posterior and gradient of the evidence; there are no pseudo-inputs, ``Z`` is [0, D].

        Raises
        ------
        NotPositiveDefinite
            If K + noise I cannot be factored, or the noise is below the rounding of K's smallest
            eigenvalues (`LOST` N eps max diag K): the evidence would be off by more than 1e-2.
        ValueError
            For a noise variance that is not positive.
        """
        check_noise(noise)
        K = kernel.matrix(self.X)
        S = K.copy()
        S.flat[:: len(S) + 1] += noise
        if noise < LOST * len(S) * np.finfo(float).eps * np.max(np.diagonal(K)):
            raise linalg.NotPositiveDefinite(
                f"K + noise I (a noise of {noise:.1e} is lost to rounding)", 0, len(S)
            )
        L = linalg.cholesky(S.T, "K + noise I", overwrite=True)
        log_det = linalg.log_determinant(L)
        factor = linalg.inverse_lower(L, overwrite=True)
        weights = factor.T @ (factor @ self.y)
        evidence = -0.5 * float(self.y @ weights + log_det + len(self.y) * np.log(2.0 * np.pi))
        G = linalg.mirror_lower(linalg.gram_lower(factor))
        G *= -0.5
        G += np.multiply.outer(0.5 * weights, weights)
        by_noise = float(np.trace(G))
        gradient = Gradient(kernel.contract_gradient(self.X, K, G), by_noise, np.zeros_like(Z))
        return Full(evidence, kernel, self.X, noise, factor, weights), gradient
