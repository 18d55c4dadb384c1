"""A Gaussian process of one function, given its own observations, at points that all functions share.

Let w(x) be the whitened covariances of f(x) with its values at the points: f(x) = mean + w(x)^T z + rest,
z ~ N(0, I), where the rest all but vanishes at the points. The observations make z ~ N(P^-1 b, P^-1) with
P = I + W W^T / noise; so, with P = C C^T and zeta = C^T z,

    f(x) = mean + a(x)^T zeta + rest,    a(x) = C^-1 w(x),    zeta ~ N(centre, I) given the data.

This is m_pred and V_pred [PESC supplement, section 2] as a root, without subtracting matrices: values known
almost exactly, and smooth kernels, whose matrices are singular to rounding, need no jitter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilted.numerics import linalg

if TYPE_CHECKING:
    from tilted.kernels.squared_exponential import SquaredExponential

NOTHING = 1e-10
"""Of the prior variance: what is left of a value below this counts as determined by the basis."""


@dataclass(frozen=True)
class Rows:
    """f at some inputs, given the data: f = mean + root zeta + rest, zeta centred.

    Attributes
    ----------
    mean : array [n]
    root : array [n, R]
    rest : array [n]
        Variance of what the points do not determine, independent of zeta.
    prior : array [n, R]
        w(x).
    """

    mean: np.ndarray
    root: np.ndarray
    rest: np.ndarray
    prior: np.ndarray


@dataclass(frozen=True)
class Surrogate:
    """See the module; made by :func:`condition`.

    Attributes
    ----------
    kernel : SquaredExponential
    noise, mean : float
        Variance of the noise; prior mean.
    points : array [N, D]
    basis : array [R, D]
        Points whose values determine those at all others (`NOTHING`).
    factor : array [R, R]
        Lower Cholesky factor of the kernel's matrix there.
    whiten : array [R, R]
        C^-1.
    centre : array [R]
        Mean of zeta.
    observed : array [n]
        Row of ``points`` of every observation.
    """

    kernel: SquaredExponential
    noise: float
    mean: float
    points: np.ndarray = field(repr=False)
    basis: np.ndarray = field(repr=False)
    factor: np.ndarray = field(repr=False)
    whiten: np.ndarray = field(repr=False)
    centre: np.ndarray = field(repr=False)
    observed: np.ndarray = field(repr=False)

    def rows(self, Xs: np.ndarray) -> Rows:
        """f at ``Xs`` [n, D], in the coordinates of zeta.

        Raises
        ------
        ArithmeticError
            If a variance is negative by more than rounding.
        """
        prior = linalg.solve_lower(self.factor, self.kernel.matrix(self.basis, Xs)).T
        root = prior @ self.whiten.T
        residual = positive_part(self.kernel.diagonal(Xs) - np.einsum("nr,nr->n", prior, prior), self.scale)
        return Rows(self.mean + root @ self.centre, root, residual, prior)

    @property
    def scale(self) -> float:
        """Prior variance."""
        return float(self.kernel.diagonal(self.points[:1])[0])

    def predict(self, Xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [n] of f at ``Xs`` [n, D] given the data, without noise."""
        rows = self.rows(Xs)
        return rows.mean, np.einsum("nr,nr->n", rows.root, rows.root) + rows.rest


def positive_part(variance: np.ndarray, scale: float) -> np.ndarray:
    """``variance`` with rounding below zero taken for zero.

    Raises
    ------
    ArithmeticError
        If a variance is below zero by more than 1e-9 of ``scale``.
    """
    if not np.all(variance >= -1e-9 * scale):
        raise ArithmeticError(f"a variance of {np.min(variance):.1e} where the prior one is {scale:.1e}")
    return np.maximum(variance, 0.0)


def condition(
    kernel: SquaredExponential,
    noise: float,
    X: np.ndarray,
    y: np.ndarray,
    points: np.ndarray | None = None,
    mean: float = 0.0,
) -> Surrogate:
    """Condition on the observations of one function.

    Parameters
    ----------
    kernel : SquaredExponential
    noise : float > 0
        Variance.
    X : array [n, D]
        Where this function was observed; the same place may come more than once; n may be 0.
    y : array [n]
    points : array [N, D], optional
        Where the functions of a problem were observed, without repetition; default: those of ``X``.
    mean : float
        Prior mean.

    Raises
    ------
    ValueError
        For a noise that is not positive, shapes that do not fit, numbers that are not finite, or an
        observation that is not at one of the points.
    """
    if not 0 < noise < np.inf:
        raise ValueError(f"the variance of the noise must be positive, got {noise}")
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if X.ndim != 2 or y.shape != (len(X),):
        raise ValueError(f"X is [n, D] and y [n], got {X.shape} and {y.shape}")
    if not (np.all(np.isfinite(X)) and np.all(np.isfinite(y))):
        raise ValueError("inputs and observations must be finite")
    points = np.unique(X, axis=0) if points is None else np.asarray(points, dtype=float)
    observed = _places(X, points)
    root, pivots = linalg.pivoted_cholesky(kernel.matrix(points))
    rank = int(np.sum(root[pivots, np.arange(len(pivots))] ** 2 > NOTHING * np.max(kernel.diagonal(points))))
    root, pivots = np.asfortranarray(root[:, :rank]), pivots[:rank]
    observed_root = root[observed]
    C = linalg.cholesky(
        np.eye(root.shape[1]) + observed_root.T @ observed_root / noise, "precision of the points' values"
    )
    whiten = linalg.inverse_lower(C)
    centre = whiten @ (observed_root.T @ ((y - mean) / noise))
    factor = np.asfortranarray(root[pivots])
    return Surrogate(kernel, noise, mean, points, points[pivots], factor, whiten, centre, observed)


def union(inputs: list[np.ndarray]) -> np.ndarray:
    """All places where some function was observed, without repetition [N, D]."""
    return np.unique(np.concatenate(inputs), axis=0)


def _places(X: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Index of every row of ``X`` among those of ``points``."""
    index = {tuple(point): i for i, point in enumerate(points)}
    if len(index) != len(points):
        raise ValueError("points come more than once")
    try:
        return np.array([index[tuple(x)] for x in X], dtype=int)
    except KeyError as error:
        raise ValueError(f"observation at {error.args[0]}, which is not one of the points") from None
