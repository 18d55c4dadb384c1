"""The squared-exponential covariance function.

``SquaredExponential``: k(x, x') = variance * exp(-sum_d (x_d - x'_d)^2 / (2 lengthscale_d^2))
[Zhang 2020, section 3.1], with one lengthscale for all dimensions (isotropic) or one for each (ARD).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

ROUNDING = 1e-10  # of a squared lengthscale: error of squared distances that is let pass


@dataclass(frozen=True)
class SquaredExponential:
    """Squared-exponential covariance.

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

    def __post_init__(self):
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
        """Whether there is one lengthscale a dimension."""
        return isinstance(self.lengthscale, tuple)

    def parameters(self) -> np.ndarray:
        """[variance, lengthscale(s)] as a vector."""
        return np.append(self.variance, np.atleast_1d(self.lengthscale))

    def with_parameters(self, values: np.ndarray) -> SquaredExponential:
        """The same kernel with other parameter values, ordered as in :meth:`parameters`."""
        scales = tuple(values[1:]) if self.ard else float(values[1])
        return replace(self, variance=float(values[0]), lengthscale=scales)

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        if self.ard and len(self.lengthscale) != X.shape[1]:
            raise ValueError(f"{len(self.lengthscale)} lengthscales for inputs of dimension {X.shape[1]}")
        return X / np.asarray(self.lengthscale)

    def distances(self, X: np.ndarray) -> np.ndarray | None:
        """What matrices at the same ``X`` share: squared distances [N, N] if isotropic, None for ARD."""
        return None if self.ard else squared_distances(X, X, self.lengthscale)

    def matrix(
        self, X: np.ndarray, X2: np.ndarray | None = None, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D].

        ``distances`` may be :meth:`distances` of ``X``, to save their computation.

        Raises
        ------
        ValueError
            If distances are given with ``X2`` or to an ARD kernel.
        """
        if distances is not None:
            if X2 is not None or self.ard:
                raise ValueError("distances are those among X, of an isotropic kernel")
            K = distances * (-0.5 / self.lengthscale**2)
        else:
            A = self._scaled(X)
            K = squared_distances(A, A if X2 is None else self._scaled(X2), 1.0)
            K *= -0.5
        np.exp(K, out=K)
        K *= self.variance
        return K

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return np.full(len(X), self.variance)

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: np.ndarray | None = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta for each parameter, ordered as in :meth:`parameters`.

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
        if distances is not None:
            weights = G * K
            by_scale = np.vdot(weights, distances) / self.lengthscale**3
            return np.array([weights.sum() / self.variance, by_scale])
        return self.contract_cross(X, X, K, G)[0]

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
        weights = G * K
        centre = X.mean(axis=0)  # a common offset would cancel, with the digits after it
        A, B, scales = self._scaled(Z - centre), self._scaled(X - centre), np.asarray(self.lengthscale)
        rows, columns, product = weights.sum(axis=1), weights.sum(axis=0), weights @ B
        spread = rows @ A**2 + columns @ B**2 - 2.0 * np.einsum("nd,nd->d", A, product)
        by_scale = spread / scales if self.ard else np.atleast_1d(spread.sum() / scales)
        return np.append(weights.sum() / self.variance, by_scale), (product - rows[:, None] * A) / scales

    def contract_diagonal(self, g: np.ndarray) -> np.ndarray:
        """sum_i g_i dk(x_i, x_i)/dtheta for each parameter."""
        return np.append(np.sum(g), np.zeros(np.size(self.lengthscale)))


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
