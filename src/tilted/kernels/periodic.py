"""The periodic covariance function [Rasmussen & Williams 2006, eq. 4.31].

k = variance exp(-2 sum_d sin^2(pi (x_d - x'_d) / period) / lengthscale_d^2), which is the squared exponential
of the points (cos, sin)(2 pi x_d / period) on a circle for every input [MacKay 1998], and computed so. The
sum over inputs makes it positive definite in every dimension, as the same of Euclidean distances is not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tilted.kernels.squared_exponential import SquaredExponential
from tilted.kernels.stationary import Stationary


@dataclass(frozen=True)
class Periodic(Stationary):
    """Periodic covariance.

    Parameters
    ----------
    variance : float > 0
        In units of f squared.
    lengthscale : float > 0, or array [D] of such for ARD
        Without dimension: small ones make f vary much within a period.
    period : float > 0
        In the units of the inputs, all of which have the same.

    Raises
    ------
    ValueError
        If a parameter is not finite and positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.kernels import Periodic
    >>> kernel = Periodic(period=2.0)
    >>> kernel.matrix(np.array([[0.0], [1.0]])).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """

    period: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < float(self.period) < np.inf:
            raise ValueError(f"period must be finite and positive, got {self.period:g}")
        object.__setattr__(self, "period", float(self.period))

    def parameters(self) -> np.ndarray:
        """[variance, lengthscale(s), period] as a vector."""
        return np.append(super().parameters(), self.period)

    def with_parameters(self, values: np.ndarray) -> Self:
        return replace(super().with_parameters(values[:-1]), period=float(values[-1]))

    def distances(self, X: np.ndarray) -> None:
        """None for every ``X`` [N, D]: they depend on the period."""
        return

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: Any = None) -> np.ndarray:
        """Covariance matrix [N, N2] between the rows of ``X`` [N, D] and ``X2`` [N2, D]."""
        return self._of_circles.matrix(self._circles(X), None if X2 is None else self._circles(X2))

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: Any = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P] for the matrix at ``X`` [N, D]; G [N, N] need not be symmetric."""
        return self.contract_cross(X, X, K, G)[0]

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """sum_ij G_ij dK_ij/dtheta [P] for K [M, N] between ``Z`` [M, D] and ``X`` [N, D]; in Z [M, D]."""
        Z, X = np.asarray(Z, dtype=float), np.asarray(X, dtype=float)
        centre = X.mean(axis=0)  # a common offset would cancel, with the digits after it
        Z, X = Z - centre, X - centre
        U, V, kernel = self._circles(Z), self._circles(X), self._of_circles
        by_parameters, by_U = kernel.contract_cross(U, V, K, G)
        by_V = kernel.contract_cross(V, U, K.T, G.T)[1]
        by_angle, by_other = _turned(U, by_U), _turned(V, by_V)
        by_period = -(np.vdot(by_angle, Z) + np.vdot(by_other, X)) * 2.0 * np.pi / self.period**2
        by_scale = by_parameters[1:].reshape(-1, 2 if self.ard else 1).sum(axis=1)
        return np.concatenate([by_parameters[:1], by_scale, [by_period]]), by_angle * (
            2.0 * np.pi / self.period
        )

    @property
    def _of_circles(self) -> SquaredExponential:
        """The covariance of points on the circles."""
        scales = np.repeat(self.lengthscale, 2) if self.ard else self.lengthscale
        return SquaredExponential(self.variance, tuple(scales) if self.ard else scales)  # type: ignore[arg-type]

    def _circles(self, X: np.ndarray) -> np.ndarray:
        """cos and sin [N, 2 D] of every input, side by side."""
        self._scaled(X[:0])  # as many lengthscales as inputs
        X = np.asarray(X, dtype=float)
        angles = 2.0 * np.pi / self.period * np.fmod(X, self.period)  # exact, as far as X is from zero
        return np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(X), -1)


def _turned(U: np.ndarray, by_U: np.ndarray) -> np.ndarray:
    """Derivatives in the angles [N, D] from those in their cos and sin [N, 2 D]."""
    return by_U[:, 1::2] * U[:, ::2] - by_U[:, ::2] * U[:, 1::2]
