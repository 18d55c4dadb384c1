"""Features of pseudo-points: function values, or averages under a Gaussian window (inter-domain).

A feature is u_m = integral of N(x; z_m, diag(width^2)) f(x) dx [Lazaro-Gredilla & Figueiras-Vidal 2009;
Bui et al. 2017, section 3.7]. For the squared exponential its covariances are squared exponentials again:

    lengthscale_d -> sqrt(lengthscale_d^2 + c width_d^2),    variance -> variance prod_d lengthscale_d / that,

c = 1 between a feature and f, c = 2 between two features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tilted.kernels.squared_exponential import SquaredExponential

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel


@dataclass(frozen=True)
class Points:
    """Values of f at the pseudo-inputs."""

    def among(self, kernel: Kernel, dimension: int) -> Kernel:
        """Kernel of Kuu."""
        return kernel

    def between(self, kernel: Kernel, dimension: int) -> Kernel:
        """Kernel of Kuf."""
        return kernel

    def pull_back(
        self, kernel: Kernel, dimension: int, among: np.ndarray, between: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients in the parameters of the two kernels, as gradients in those of f's kernel and of this."""
        return among + between, np.zeros(0)


@dataclass(frozen=True)
class Windows:
    """Averages of f under a Gaussian window around each pseudo-input.

    Parameters
    ----------
    width : float >= 0, or tuple [D] of such
        Standard deviations of the window, in the units of the inputs; 0 gives `Points`.

    Raises
    ------
    ValueError
        If a width is negative or not finite; later, for any kernel but the squared exponential.
    """

    width: float | tuple[float, ...]

    def __post_init__(self) -> None:
        width = np.asarray(self.width, dtype=float)
        if width.ndim > 1 or not np.all(np.isfinite(width) & (width >= 0)):
            raise ValueError(f"widths must be finite and not negative, got {self.width}")

    def among(self, kernel: Kernel, dimension: int) -> SquaredExponential:
        """Kernel of Kuu."""
        return self._wider(_averaged(kernel), 2.0, dimension)

    def between(self, kernel: Kernel, dimension: int) -> SquaredExponential:
        """Kernel of Kuf."""
        return self._wider(_averaged(kernel), 1.0, dimension)

    def pull_back(
        self, kernel: Kernel, dimension: int, among: np.ndarray, between: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients in the parameters of the two kernels, as gradients in those of f's kernel and of this."""
        terms = [self._pull(_averaged(kernel), c, dimension, g) for c, g in ((2.0, among), (1.0, between))]
        return terms[0][0] + terms[1][0], terms[0][1] + terms[1][1]

    def _scales(self, kernel: SquaredExponential, c: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Lengthscales, widths and widened lengthscales, scalars or [D]."""
        scale, width = np.asarray(kernel.lengthscale, dtype=float), np.asarray(self.width, dtype=float)
        return scale, width, np.sqrt(scale**2 + c * width**2)

    def _wider(self, kernel: SquaredExponential, c: float, dimension: int) -> SquaredExponential:
        if np.size(self.width) not in (1, dimension):
            raise ValueError(f"{np.size(self.width)} widths for inputs of dimension {dimension}")
        scale, _, wider = self._scales(kernel, c)
        shrink = np.prod(np.broadcast_to(scale / wider, dimension))
        return SquaredExponential(kernel.variance * shrink, float(wider) if wider.ndim == 0 else tuple(wider))

    def _pull(
        self, kernel: SquaredExponential, c: float, dimension: int, gradient: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradients in (variance, lengthscale) and in the width of a function of the wider kernel."""
        scale, width, wider = self._scales(kernel, c)
        variance = self._wider(kernel, c, dimension).variance
        times = dimension if wider.ndim == 0 else 1  # equal factors of the variance that an entry stands for
        by_variance, by_wider = gradient[0], gradient[1:].reshape(wider.shape)
        by_scale = by_wider * scale / wider + by_variance * variance * times * (
            1.0 / scale - scale / wider**2
        )
        by_width = c * width * (by_wider / wider - by_variance * variance * times / wider**2)
        reduced = [
            np.atleast_1d(g if np.ndim(like) else np.sum(g))
            for g, like in ((by_scale, kernel.lengthscale), (by_width, self.width))
        ]
        return np.append(by_variance * variance / kernel.variance, reduced[0]), reduced[1]


def _averaged(kernel: Kernel) -> SquaredExponential:
    """The kernel, if averages of its functions have covariances of the same form; else ValueError."""
    if not isinstance(kernel, SquaredExponential):
        raise ValueError(f"windows are for the squared exponential, got a {type(kernel).__name__}")
    return kernel
