"""Quadrature shared by the likelihoods and the projections.

Three rules, each for one job: Gauss-Legendre in panels with cumulative integrals (tilted densities and
their distribution functions), the trapezoidal rule (Gaussian expectations of functions that are analytic
in a strip, where it converges geometrically), and Gauss-Hermite (protocols that ask for it by name).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import hermite, legendre

NODES = 16
# of `fallen_off`: halvings at once, those that may be used up, and how often it goes on
REACH_HALVINGS, REACH_BITS, REACH_ROUNDS = 14, 10, 8


@dataclass(frozen=True)
class TiltedDensity:
    """Normalisable densities of N sites, ready for panel quadrature.

    Parameters
    ----------
    log_density : callable
        Offsets [N, K] from ``origin`` to log density [N, K] (not normalised: it integrates to Z).
    origin : array [N]
        Point from which offsets are measured, so that narrow densities far from zero keep their digits.
    edges : array [N, P + 1]
        Panel ends, increasing offsets; panels of width zero are allowed.
    """

    log_density: Callable[[np.ndarray], np.ndarray]
    origin: np.ndarray
    edges: np.ndarray


@lru_cache(maxsize=4)
def gauss_legendre(n: int = NODES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes [n], weights [n] on [-1, 1] and S [n, n]: S_ij = integral of cardinal j from -1 to node i."""
    x, w = legendre.leggauss(n)
    vandermonde = legendre.legvander(x, n - 1)
    antiderivatives = np.stack(
        [legendre.legval(x, legendre.legint(row, lbnd=-1)) for row in np.eye(n)], axis=1
    )
    return x, w, antiderivatives @ np.linalg.inv(vandermonde)


@lru_cache(maxsize=4)
def gauss_hermite(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes [n] and weights [n] for expectations under a standard normal."""
    x, w = hermite.hermgauss(n)
    return np.sqrt(2.0) * x, w / np.sqrt(np.pi)


@dataclass(frozen=True)
class Panels:
    """A density integrated panel by panel; arrays are [N, P, NODES] unless said otherwise.

    Attributes
    ----------
    offsets : node positions relative to the origin
    weights : quadrature weights (half widths times Gauss-Legendre weights)
    density : normalised density at the nodes
    half : half widths [N, P]
    log_z : log normaliser [N]
    """

    offsets: np.ndarray
    weights: np.ndarray
    density: np.ndarray
    half: np.ndarray
    log_z: np.ndarray

    def expectation(self, values: np.ndarray) -> np.ndarray:
        """E[values] [N] under the density."""
        return np.einsum("npq,npq->n", self.weights * self.density, values)

    def integral(self, values: np.ndarray) -> np.ndarray:
        """Integral of values over all panels [N]."""
        return np.einsum("npq,npq->n", self.weights, values)

    def cumulative(self, values: np.ndarray, from_right: bool = False) -> np.ndarray:
        """Integral of ``values`` from one end up to each node [N, P, NODES].

        Accumulated from the nearer end by choice of the caller: a small upper tail keeps its relative
        accuracy only when it is summed from the right.
        """
        _, w, S = gauss_legendre()
        integrals = (values @ w) * self.half
        if from_right:
            before = np.cumsum(integrals[:, ::-1], axis=1)[:, ::-1] - integrals
            inside = values @ (w[None, :] - S).T
        else:
            before = np.cumsum(integrals, axis=1) - integrals
            inside = values @ S.T
        return before[..., None] + self.half[..., None] * inside


def integrate(density: TiltedDensity) -> Panels:
    """Evaluate a density on its panels and normalise it."""
    x, w, _ = gauss_legendre()
    low, high = density.edges[:, :-1], density.edges[:, 1:]
    half, centre = 0.5 * (high - low), 0.5 * (high + low)
    offsets = centre[..., None] + half[..., None] * x
    n = len(offsets)
    log_q = density.log_density(offsets.reshape(n, -1)).reshape(offsets.shape)
    peak = log_q.max(axis=(1, 2))
    q = np.exp(log_q - peak[:, None, None])
    weights = half[..., None] * w
    z = np.einsum("npq,npq->n", weights, q)
    return Panels(offsets, weights, q / z[:, None, None], half, peak + np.log(z))


def panel_edges(
    low: np.ndarray, high: np.ndarray, panels: int, breaks: np.ndarray | None = None
) -> np.ndarray:
    """Equal panels from ``low`` to ``high`` [N] with extra ``breaks`` [N, B], sorted and clipped."""
    grid = np.linspace(0.0, 1.0, panels + 1)
    edges = low[:, None] + (high - low)[:, None] * grid
    edges[:, -1] = high
    if breaks is None:
        return edges
    breaks = np.clip(breaks, low[:, None], high[:, None])
    return np.sort(np.concatenate([edges, breaks], axis=1), axis=1)


def bisect(
    function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray, steps: int
) -> np.ndarray:
    """Root [N] of elementwise decreasing functions on [low, high]; a fixed number of halvings."""
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    for _ in range(steps):
        middle = 0.5 * (low + high)
        positive = function(middle) > 0
        low, high = np.where(positive, middle, low), np.where(positive, high, middle)
    return 0.5 * (low + high)


def fallen_off(function: Callable[[np.ndarray], np.ndarray], far: np.ndarray) -> np.ndarray:
    """Return where [N] elementwise decreasing functions of a distance are 0, rounded up; at most ``far`` [N].

    To 2^-`REACH_HALVINGS` of ``far``, and where that leaves little of the distance, as of a likelihood much
    narrower than its cavity, on from there: in the end to 2^-4 of the distance itself. Never 0, where
    rounding has a function fall at once: at most `REACH_ROUNDS` times.
    """
    end = far
    for _ in range(REACH_ROUNDS):
        end = bisect(function, np.zeros_like(far), far, REACH_HALVINGS) + far * 0.5 ** (REACH_HALVINGS + 1)
        open_still = end < far * 0.5**REACH_BITS
        if not np.any(open_still):
            break
        far = np.where(open_still, end, far)
    return end


def gaussian_trapezoid(sd: np.ndarray, strip: float) -> tuple[np.ndarray, np.ndarray]:
    """Trapezoidal nodes for expectations under N(m, sd^2) of functions analytic in a strip.

    The error is about exp(-2 pi strip / h) + exp(-2 (pi sd / h)^2) for step h, and exp(-36) from cutting
    at 8.5 sd; h is chosen so that both are below 1e-15.

    Parameters
    ----------
    sd : array [N]
        Standard deviations.
    strip : float
        Half width of the strip of analyticity, in the units of ``sd``.

    Returns
    -------
    x : array [K]
        Nodes in units of sd, the same for all N (set by the largest sd).
    w : array [K]
        Weights, summing to one.
    """
    widest = float(np.max(sd))
    step = min(0.73, strip * 0.17 / widest)
    half = int(np.ceil(8.5 / step))
    x = np.linspace(-8.5, 8.5, 2 * half + 1)
    w = np.exp(-0.5 * x**2)
    return x, w / w.sum()
