"""Anderson acceleration of a fixed-point iteration [Walker & Ni 2011, SIAM J. Numer. Anal. 49].

From the last few points x_k and residuals f_k = g(x_k) - x_k it takes the combination whose residual
would vanish if g were affine. Parallel EP has a handful of slow or oscillating directions; removing them
takes the sweeps of the oscillating problems from hundreds to about twenty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Sites

if TYPE_CHECKING:
    from collections.abc import Callable


class Anderson:
    """A short memory of one iteration; not shared between runs.

    Parameters
    ----------
    memory : int
        Number of earlier differences used; 0 gives the plain damped iteration.
    """

    def __init__(self, memory: int):
        self.memory = memory
        self.points: list[np.ndarray] = []
        self.residuals: list[np.ndarray] = []

    def restart(self) -> None:
        """Forget everything but the newest point."""
        del self.points[:-1], self.residuals[:-1]

    def record(self, x: np.ndarray, f: np.ndarray) -> None:
        """Add the newest point and its residual."""
        self.points.append(x)
        self.residuals.append(f)
        del self.points[: -self.memory - 1], self.residuals[: -self.memory - 1]

    @property
    def active(self) -> bool:
        """Return whether there is anything to extrapolate from."""
        return len(self.points) > 1

    def step(self, damping: float, scale: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Step from the newest point.

        Parameters
        ----------
        damping : float
            Mixing of the residual.
        scale : callable
            Residuals, along the last axis, to the units in which their norms are meaningful.
        """
        X, F = np.array(self.points), np.array(self.residuals)
        dX, dF, f = X[1:] - X[:-1], F[1:] - F[:-1], F[-1]
        combination = np.linalg.lstsq(scale(dF).T, scale(f), rcond=1e-10)[0]
        return damping * f - combination @ (dX + damping * dF)


def as_sites(x: np.ndarray) -> Sites:
    """Sites from a point [2N] of the iteration, tau and nu one after the other."""
    half = len(x) // 2
    return Sites(x[:half], x[half:])


def in_units(change: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Changes of (tau, nu), along the last axis, in units of the marginals: relative variance, mean in sd."""
    d_tau, d_nu = change[..., : len(m)], change[..., len(m) :]
    return np.concatenate([d_tau * v, (d_nu - d_tau * m) * np.sqrt(v)], axis=-1)
