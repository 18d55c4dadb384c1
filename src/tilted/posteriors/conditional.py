"""The part C = noise + alpha (K - Q) of the collapsed energy that is not low rank: diagonal, or in blocks.

Both offer the products with C = L L^T and the derivatives that ``tilted.posteriors.collapsed`` combines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilted.numerics import linalg

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

LOST = 1e-7  # of the noise: how far rounding may take K - Q below zero


class Diagonal:
    """C = noise / weights + alpha D for blocks of one datum each; arrays [N]."""

    def __init__(
        self,
        X: np.ndarray,
        alpha: np.ndarray,
        kernel: Kernel,
        V: np.ndarray,
        noise: float,
        weights: np.ndarray | None = None,
    ):
        self.X, self.alpha, self.weights = X, alpha, 1.0 if weights is None else weights
        self.noise = noise / self.weights
        self.D = kernel.diagonal(X) - np.einsum("mn,mn->n", V, V)
        _require_sign(self.D, noise)
        self.C = self.noise + self.alpha * self.D
        self.L = np.sqrt(self.C)

    @property
    def log_det(self) -> float:
        return float(np.sum(np.log(self.C)))

    @property
    def penalty(self) -> float:
        """sum_n (1 - alpha) / (2 alpha) log(1 + alpha D / noise), D / (2 noise) at alpha = 0."""
        x = self.D / self.noise
        return 0.5 * float(np.sum((1.0 - self.alpha) * _log1p_over(self.alpha, x)))

    def right_solve_transposed(self, V: np.ndarray) -> np.ndarray:
        """V L^-T."""
        return V / self.L

    right_solve = right_solve_transposed

    def left_solve(self, y: np.ndarray) -> np.ndarray:
        """L^-1 y."""
        return y / self.L

    left_solve_transposed = left_solve

    def slopes(
        self, kernel: Kernel, V: np.ndarray, weights: np.ndarray, S: np.ndarray, BS: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Derivative of the energy in the noise, 2 V dE/dD [M, N] at fixed Q, and that through K in D [P]."""
        by_C = 0.5 * (weights**2 - (1.0 - np.einsum("mn,mn->n", S, BS)) / self.C)
        by_D = self.alpha * by_C - 0.5 * (1.0 - self.alpha) / self.C
        by_each = by_C + 0.5 * (1.0 - self.alpha) * self.D / (self.noise * self.C)
        by_noise = float(np.sum(by_each / self.weights))
        return by_noise, V * (2.0 * by_D), kernel.contract_diagonal(self.X, by_D)[0]


class Blocks:
    """Conditionals of blocks of several data; lists of matrices."""

    def __init__(
        self,
        X: np.ndarray,
        alpha: np.ndarray,
        blocks: Sequence[np.ndarray],
        kernel: Kernel,
        V: np.ndarray,
        noise: float,
    ):
        self.X, self.blocks, self.alpha, self.noise = X, blocks, alpha, noise
        self.K = [kernel.matrix(X[b]) for b in self.blocks]
        self.D = [K - V[:, b].T @ V[:, b] for K, b in zip(self.K, self.blocks, strict=True)]
        self.spectra = [np.linalg.eigvalsh(D) for D in self.D]
        for spectrum in self.spectra:
            _require_sign(spectrum, noise)
        C = [a * D + noise * np.eye(len(D)) for a, D in zip(self.alpha, self.D, strict=True)]
        self.L = [linalg.cholesky(block, "a block of noise + alpha (K - Q)") for block in C]
        self.inverse_L = [linalg.inverse_lower(L) for L in self.L]
        self.inverse_C = [R.T @ R for R in self.inverse_L]

    @property
    def log_det(self) -> float:
        return sum(linalg.log_determinant(L) for L in self.L)

    @property
    def penalty(self) -> float:
        """sum_b (1 - alpha) / (2 alpha) log det(I + alpha D / noise), tr D / (2 noise) at alpha = 0."""
        return 0.5 * sum(
            (1.0 - a) * float(np.sum(_log1p_over(a, spectrum / self.noise)))
            for a, spectrum in zip(self.alpha, self.spectra, strict=True)
        )

    def _each(self, V: np.ndarray, factors: list[np.ndarray]) -> np.ndarray:
        out = np.empty_like(V)
        for b, factor in zip(self.blocks, factors, strict=True):
            out[..., b] = V[..., b] @ factor
        return out

    def right_solve_transposed(self, V: np.ndarray) -> np.ndarray:
        """V L^-T."""
        return self._each(V, [R.T for R in self.inverse_L])

    def right_solve(self, V: np.ndarray) -> np.ndarray:
        """V L^-1."""
        return self._each(V, self.inverse_L)

    left_solve, left_solve_transposed = right_solve_transposed, right_solve

    def slopes(
        self, kernel: Kernel, V: np.ndarray, weights: np.ndarray, S: np.ndarray, BS: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Derivative of the energy in the noise, 2 V dE/dD [M, N] at fixed Q, and that through K in D [P]."""
        by_C = self._by_C(weights, S, BS)
        terms = zip(self.alpha, by_C, self.inverse_C, strict=True)
        by_D = [a * g - 0.5 * (1.0 - a) * inverse for a, g, inverse in terms]
        traces = zip(self.alpha, by_C, self.D, self.inverse_C, strict=True)
        by_noise = sum(np.trace(g) + 0.5 * (1.0 - a) * np.sum(D * R) / self.noise for a, g, D, R in traces)
        matrices = zip(self.blocks, self.K, by_D, strict=True)
        by_parameters = [kernel.contract_gradient(self.X[b], K, g) for b, K, g in matrices]
        none = np.zeros_like(by_parameters[0])
        return float(by_noise), self._each(V, [2.0 * g for g in by_D]), sum(by_parameters, none)

    def _by_C(self, weights: np.ndarray, S: np.ndarray, BS: np.ndarray) -> list[np.ndarray]:
        """Derivative of the log density in the blocks of C."""
        derivatives = []
        for b, R, inverse in zip(self.blocks, self.inverse_L, self.inverse_C, strict=True):
            explained = R.T @ (S[:, b].T @ BS[:, b]) @ R
            derivatives.append(0.5 * (np.multiply.outer(weights[b], weights[b]) - inverse + explained))
        return derivatives


def _require_sign(D: np.ndarray, noise: float) -> None:
    """NotPositiveDefinite if eigenvalues of K - Q are below zero by an amount that the energy would show."""
    if not np.all(-LOST * noise <= D):
        raise linalg.NotPositiveDefinite("K - Q (allow jitter)", int(np.argmin(D)) + 1, len(D))


def _log1p_over(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    """log(1 + alpha x) / alpha, and its limit x at alpha = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(alpha > 0, np.log1p(alpha * x) / alpha, x)
