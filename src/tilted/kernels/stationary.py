"""The base of kernels of scaled distances: variance, lengthscales, distances, gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.spatial.distance import cdist

from tilted.kernels.compound import Operators

OFFSET = 1e3  # times their spread, by which inputs are far from zero
ROUNDING = 1e-10  # of a squared lengthscale: error of squared distances that is let pass
FARTHEST = 1e300  # squared distance in lengthscales


@dataclass(frozen=True)
class Stationary(Operators):
    """Variance and lengthscale, one for all dimensions (isotropic) or one for each (ARD).

    Parameters
    ----------
    variance : float > 0
        In units of f squared.
    lengthscale : float > 0, or array [D] of such for ARD
        In the units of the inputs.

    Raises
    ------
    ValueError
        If a parameter is not finite and positive.
    """

    variance: float = 1.0
    lengthscale: float | tuple[float, ...] = 1.0

    def __post_init__(self) -> None:
        scales = np.asarray(self.lengthscale, dtype=float)
        if scales.ndim > 1 or scales.size == 0:
            raise ValueError("lengthscale must be one number or a list with one per dimension")
        values = np.append(scales, float(self.variance))
        if not (np.all(np.isfinite(values)) and np.all(values > 0)):
            wrong = ", ".join(f"{value:g}" for value in values if not 0 < value < np.inf)
            raise ValueError(f"variance and lengthscale must be finite and positive, got {wrong}")
        object.__setattr__(self, "variance", float(self.variance))
        lengthscale = float(scales) if scales.ndim == 0 else tuple(float(s) for s in scales)
        object.__setattr__(self, "lengthscale", lengthscale)

    @property
    def ard(self) -> bool:
        """Return whether there is one lengthscale a dimension."""
        return isinstance(self.lengthscale, tuple)

    def parameters(self) -> np.ndarray:
        """[variance, lengthscale(s)] as a vector."""
        return np.append(self.variance, np.atleast_1d(self.lengthscale))

    def with_parameters(self, values: np.ndarray) -> Self:
        """Return the kernel with other parameter values, ordered as in :meth:`parameters`."""
        scales = tuple(values[1:]) if self.ard else float(values[1])
        return replace(self, variance=float(values[0]), lengthscale=scales)

    def distances(self, X: np.ndarray) -> np.ndarray | None:
        """Return the squared distances [N, N] of an isotropic kernel at ``X``; None for ARD."""
        return None if self.ard else squared_distances(X, X, self._scale)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return np.full(len(X), self.variance)

    def contract_diagonal(self, X: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i dk(x_i, x_i)/dtheta [P], and the derivatives in the rows of ``X`` [N, D]."""
        return np.append(np.sum(g), np.zeros(len(self.parameters()) - 1)), np.zeros(np.shape(X))

    @property
    def _scale(self) -> float:
        """The one lengthscale of an isotropic kernel."""
        if isinstance(self.lengthscale, tuple):
            raise ValueError("distances are those of an isotropic kernel")
        return self.lengthscale

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """Inputs in units of the lengthscales."""
        scales = np.asarray(self.lengthscale)
        if scales.ndim and len(scales) != X.shape[1]:
            raise ValueError(f"{len(scales)} lengthscales for inputs of dimension {X.shape[1]}")
        return X / scales

    def _by_distance(
        self, Z: np.ndarray, X: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives in the logarithms of the lengthscales, and in Z [M, D] in units of them.

        ``weights`` [M, N] are -2 G dk / dr^2.
        """
        centre = X.mean(axis=0)  # a common offset would cancel, with the digits after it
        A, B = self._scaled(Z - centre), self._scaled(X - centre)
        if max(np.max(np.abs(A)), np.max(np.abs(B))) > np.sqrt(ROUNDING / np.finfo(float).eps):
            spread, by_Z = self._by_differences(Z, X, weights)
        else:
            rows, columns, product = weights.sum(axis=1), weights.sum(axis=0), weights @ B
            spread = rows @ A**2 + columns @ B**2 - 2.0 * np.einsum("nd,nd->d", A, product)
            by_Z = product - rows[:, None] * A
        return spread if self.ard else np.atleast_1d(spread.sum()), by_Z

    def _by_differences(
        self, Z: np.ndarray, X: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sum over dimensions by differences, where expanded squares would lose digits or overflow."""
        spread, by_Z = np.empty(X.shape[1]), np.empty(Z.shape)
        for d, scale in enumerate(np.broadcast_to(self.lengthscale, X.shape[1])):
            apart = (X[:, d] - Z[:, [d]]) / scale
            moved = weights * apart  # 0, however far, where there is no correlation
            spread[d], by_Z[:, d] = np.vdot(moved, apart), moved.sum(axis=1)
        return spread, by_Z

    def _scaled_squares(self, X: np.ndarray, X2: np.ndarray | None) -> np.ndarray:
        """Squared distances [N, N2] in units of the lengthscales; those among ``X`` without ``X2``."""
        among = X if X2 is None else X2
        centre = offset(among)
        if np.any(centre):
            X, among = X - centre, among - centre
        A = self._scaled(X)
        return squared_distances(A, A if X2 is None else self._scaled(among), 1.0)

    def _require_shareable(self, X2: np.ndarray | None) -> None:
        """ValueError where distances are given that cannot be those among one set of points."""
        if X2 is not None or self.ard:
            raise ValueError("distances are those among X, of an isotropic kernel")


@dataclass(frozen=True)
class Radial(Stationary, ABC):
    """A stationary kernel by what it is of the squared distance in lengthscales, which its subclass says.

    How it is there (``_profile``), how it falls (``_falls``), and the derivatives in further parameters
    (``_by_others``); parameters and errors as of `Stationary`.
    """

    def matrix(
        self, X: np.ndarray, X2: np.ndarray | None = None, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D].

        ``distances`` may be :meth:`distances` of ``X``, to save their computation.

        Raises
        ------
        ValueError
            If distances are given with ``X2`` or to an ARD kernel, or the dimensions differ.
        """
        return self.variance * self._profile(self._squares(X, X2, distances))

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P], ordered as in :meth:`parameters`.

        Parameters
        ----------
        X : array [N, D]
        K : array [N, N]
            This kernel's matrix at ``X``.
        G : array [N, N]
            Weights, such as the derivative of the evidence with respect to K; need not be symmetric.
        distances : array [N, N], optional
            :meth:`distances` of ``X``.
        """
        if distances is None:
            return self.contract_cross(X, X, K, G)[0]
        squares = self._squares(X, None, distances)
        by_scale = np.vdot(G * self._falls(squares, K), squares) / self._scale
        return np.array([np.vdot(G, K) / self.variance, by_scale, *self._by_others(squares, K, G)])

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta for a matrix [M, N] between two sets of points.

        Parameters
        ----------
        Z, X : arrays [M, D], [N, D]
        K : array [M, N]
            This kernel's matrix between them.
        G : array [M, N]

        Returns
        -------
        by_parameters : array [P]
        by_Z : array [M, D]
            Derivatives in the points Z, those X held fixed.
        """
        squares, scales = self._squares(Z, X, None), np.asarray(self.lengthscale)
        weights = G * self._falls(squares, K)
        spread, by_Z = self._by_distance(Z, X, weights)
        if not self.ard:
            spread = np.atleast_1d(np.vdot(weights, squares))
        by_others = self._by_others(squares, K, G)
        return np.concatenate([[np.vdot(G, K) / self.variance], spread / scales, by_others]), by_Z / scales

    @abstractmethod
    def _profile(self, squares: np.ndarray) -> np.ndarray:
        """k / variance as a function of the squared distance in lengthscales, any shape."""

    @abstractmethod
    def _falls(self, squares: np.ndarray, K: np.ndarray) -> np.ndarray:
        """-2 dk / dr^2, given k."""

    def _by_others(self, squares: np.ndarray, K: np.ndarray, G: np.ndarray) -> Sequence[float]:
        """sum_ij G_ij dK_ij/dtheta of the parameters after the lengthscales."""
        return ()

    def _squares(self, X: np.ndarray, X2: np.ndarray | None, distances: np.ndarray | None) -> np.ndarray:
        """Squared distances r^2 [N, N2] in lengthscales, finite, so that 0 times them is 0."""
        if distances is None:
            return np.minimum(self._scaled_squares(X, X2), FARTHEST)
        self._require_shareable(X2)
        return np.minimum(distances / self._scale**2, FARTHEST)


def offset(X: np.ndarray) -> np.ndarray:
    """A common offset [D] of the rows of ``X`` [N, D] that would cost digits if scaled; mostly 0."""
    if not len(X):
        return np.zeros(X.shape[1])
    first = X[0]
    return np.where(np.abs(first) > OFFSET * np.max(np.abs(X - first), axis=0), first, 0.0)


def squared_distances(A: np.ndarray, B: np.ndarray, unit: float) -> np.ndarray:
    """Squared Euclidean distances [N, M] between rows.

    Up to 8 dimensions the differences are summed directly; above, the expanded square by one matrix
    product on centred data, whose rounding (about 1e-15 of the largest norm) may not go below zero. Where
    that rounding would exceed 1e-10 of the square of a ``unit`` of length, differences are summed instead.
    """
    if A.shape[1] <= 8:
        return cdist(A, B, "sqeuclidean")
    centre = A.mean(axis=0)
    same = A is B
    direct = A, B
    A = A - centre
    B = A if same else B - centre
    squares = [np.einsum("nd,nd->n", C, C) for C in (A, B)]
    if np.finfo(float).eps * max(map(np.max, squares)) > ROUNDING * unit**2:
        return cdist(*direct, "sqeuclidean")
    out = A @ B.T
    out *= -2.0
    out += squares[0][:, None]
    out += squares[1]
    np.maximum(out, 0.0, out=out)
    if same:
        np.fill_diagonal(out, 0.0)
    return out
