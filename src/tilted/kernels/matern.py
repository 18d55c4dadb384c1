"""The Matern covariance functions of smoothness 3/2 and 5/2 [Rasmussen & Williams 2006, eq. 4.17].

With r^2 = sum_d (x_d - x'_d)^2 / lengthscale_d^2 and s = sqrt(2 smoothness) r:

    3/2: k = variance (1 + s) exp(-s),              dk / dr^2 = -3/2 variance exp(-s)
    5/2: k = variance (1 + s + s^2 / 3) exp(-s),    dk / dr^2 = -5/6 variance (1 + s) exp(-s)

The derivatives in r^2 are finite at r = 0, so that gradients are right for points that coincide. There is one
lengthscale for all dimensions (isotropic) or one for each (ARD).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilted.kernels.compound import add, add_to, multiply, multiply_by
from tilted.kernels.squared_exponential import squared_distances

SMOOTHNESSES = (1.5, 2.5)


@dataclass(frozen=True)
class Matern:
    """Matern covariance.

    Parameters
    ----------
    variance : float > 0
        In units of f squared.
    lengthscale : float > 0, or array [D] of such for ARD
        In the units of the inputs.
    smoothness : 1.5 or 2.5
        Functions have one derivative (3/2) or two (5/2); it is no parameter of a search.

    Raises
    ------
    ValueError
        If a parameter is not finite and positive, or for another smoothness.
    """

    variance: float = 1.0
    lengthscale: float | tuple[float, ...] = 1.0
    smoothness: float = 1.5

    __add__, __radd__, __mul__, __rmul__ = add, add_to, multiply, multiply_by

    def __post_init__(self):
        if self.smoothness not in SMOOTHNESSES:
            raise ValueError(f"smoothness must be 1.5 or 2.5, got {self.smoothness}")
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

    def parameters(self) -> np.ndarray:
        """[variance, lengthscale(s)] as a vector."""
        return np.append(self.variance, np.atleast_1d(self.lengthscale))

    def with_parameters(self, values: np.ndarray) -> Matern:
        """The same kernel with other parameter values, ordered as in :meth:`parameters`."""
        scales = float(values[1]) if np.ndim(self.lengthscale) == 0 else tuple(values[1:])
        return replace(self, variance=float(values[0]), lengthscale=scales)

    def distances(self, X: np.ndarray) -> np.ndarray | None:
        """What matrices at the same ``X`` share: squared distances [N, N] if isotropic, None for ARD."""
        return squared_distances(X, X, self.lengthscale) if np.ndim(self.lengthscale) == 0 else None

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
        s = self._roots(self._squares(X, X2, distances))
        polynomial = 1.0 + s if self.smoothness == 1.5 else 1.0 + s + s**2 / 3.0
        return self.variance * polynomial * np.exp(-s)

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N] at the rows of ``X`` [N, D]."""
        return np.full(len(X), self.variance)

    def contract_gradient(self, X, K, G, distances: np.ndarray | None = None) -> np.ndarray:
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
        by_scale = np.vdot(G * self._slopes(squares), squares) * (-2.0 / self.lengthscale)
        return np.array([np.vdot(G, K) / self.variance, by_scale])

    def contract_cross(self, Z, X, K, G) -> tuple[np.ndarray, np.ndarray]:
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
        weights = -2.0 * G * self._slopes(squares)
        centre = X.mean(axis=0)  # a common offset would cancel, with the digits after it
        A, B = (Z - centre) / scales, (X - centre) / scales
        rows, columns, product = weights.sum(axis=1), weights.sum(axis=0), weights @ B
        if scales.ndim:
            spread = rows @ A**2 + columns @ B**2 - 2.0 * np.einsum("nd,nd->d", A, product)
        else:
            spread = np.atleast_1d(np.vdot(weights, squares))
        by_parameters = np.append(np.vdot(G, K) / self.variance, spread / scales)
        return by_parameters, (product - rows[:, None] * A) / scales

    def contract_diagonal(self, g: np.ndarray) -> np.ndarray:
        """sum_i g_i dk(x_i, x_i)/dtheta [P]."""
        return np.append(np.sum(g), np.zeros(np.size(self.lengthscale)))

    def _squares(self, X, X2, distances):
        """Squared distances r^2 [N, N2] in lengthscales."""
        scales = np.asarray(self.lengthscale)
        if distances is not None:
            if X2 is not None or scales.ndim:
                raise ValueError("distances are those among X, of an isotropic kernel")
            return distances / scales**2
        if scales.ndim and len(scales) != X.shape[1]:
            raise ValueError(f"{len(scales)} lengthscales for inputs of dimension {X.shape[1]}")
        A = X / scales
        return squared_distances(A, A if X2 is None else X2 / scales, 1.0)

    def _roots(self, squares):
        """s = sqrt(2 smoothness) r."""
        return np.sqrt(2.0 * self.smoothness * squares)

    def _slopes(self, squares):
        """dk / dr^2."""
        s = self._roots(squares)
        if self.smoothness == 1.5:
            return -1.5 * self.variance * np.exp(-s)
        return -5.0 / 6.0 * self.variance * (1.0 + s) * np.exp(-s)
