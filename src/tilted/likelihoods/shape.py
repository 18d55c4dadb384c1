"""Third and fourth cumulants of tilted distributions, standardised: skewness and excess kurtosis.

They are c_3 / sd^3 and c_4 / sd^4 of N(f; m, v) p(y|f) / Z, what a Gaussian with the same mean and variance
leaves out, and equal v^l (d^l log Z / dm^l) / sd^l for l = 3, 4. Without dimension they neither overflow nor
depend on the units of f; corrections to EP are sums of their products [Opper, Paquet & Winther 2013].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilted.likelihoods.contract import Shape
from tilted.numerics.quadrature import TiltedDensity, integrate

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood

BLOCK = 256  # tilted distributions integrated by panels at once


class FromTilted:
    """Methods that a likelihood inherits if it has ``tilted`` and ``tilted_density``."""

    def tilted_shape(self: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Shape:
        """Skewness and excess kurtosis [N] of N(f; m, v) p(y|f) / Z."""
        return shape_by_panels(self, y, m, v)

    def log_predictive(self: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """log of the integral of N(f; m, v) p(y|f) over f, arrays [N]."""
        return self.tilted(y, m, v).log_z


def shape_of(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Shape:
    """Skewness and excess kurtosis [N] of N(f; m, v) p(y|f) / Z.

    The likelihood's own ``tilted_shape``, or by the panels of its ``tilted_density`` where it has none.
    """
    if hasattr(likelihood, "tilted_shape"):
        return likelihood.tilted_shape(y, m, v)
    return shape_by_panels(likelihood, y, m, v)


def shape_by_panels(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Shape:
    """Return shapes [N] by quadrature of the tilted density, in blocks; the absolute error is about 1e-14."""
    shapes = []
    for first in range(0, max(len(m), 1), BLOCK):
        rows = slice(first, first + BLOCK)
        shapes.append(_by_panels(likelihood.tilted_density(y[rows], m[rows], v[rows])))
    return Shape(*(np.concatenate(values) for values in zip(*shapes, strict=True)))


def _by_panels(density: TiltedDensity) -> Shape:
    panels = integrate(density)
    centred = panels.offsets - panels.expectation(panels.offsets)[:, None, None]
    variance = panels.expectation(centred**2)
    third, fourth = (panels.expectation(centred**power) for power in (3, 4))
    return Shape(third / variance**1.5, fourth / variance**2 - 3.0)


def shape_of_hazard(z: np.ndarray, r: np.ndarray, H: np.ndarray, power: np.ndarray | float = 1.0) -> Shape:
    """Skewness and excess kurtosis [N] where log Z = g(z), g' = r and r' = -r (z + r), as of (noisy) steps.

    Parameters
    ----------
    z, r, H : arrays [N]
        z = m / sqrt(v + noise), g'(z) and 1 + g''(z) = 1 - r (z + r).
    power : array [N] or float
        v / (v + noise H), by which the cumulants of z's own variable become those of f: 1 without noise.
    """
    h = (z + r) * (z + 2.0 * r) - 1.0
    third = r * h
    fourth = -r * (z + r) * h + r * (H * (z + 2.0 * r) + (z + r) * (2.0 * H - 1.0))
    return standardised(third, fourth, H, power)


def standardised(
    third: np.ndarray, fourth: np.ndarray, H: np.ndarray, power: np.ndarray | float = 1.0
) -> Shape:
    """Third and fourth derivative [N] of g in units of the variance H, times power^(l/2) H^(l/2)."""
    return Shape(third / H**1.5 * power**1.5, fourth / H**2 * power**2)
