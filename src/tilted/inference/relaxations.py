"""The relaxation of each site that relaxed EP (``inference.rep``) takes: searched on a grid, then refined."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.numerics.quadrature import integrate
from tilted.projections.moments import Projection, kl

if TYPE_CHECKING:
    from tilted.gaussian import Marginals, Sites
    from tilted.likelihoods.contract import Likelihood

NORMALISED, UNNORMALISED, PRINTED = READINGS = ("normalised", "unnormalised", "printed")
"""KL of the normalised distributions; that times the mass of the unnormalised ones; eq. 36 as printed."""

DECADES, PER_DECADE = 4, 3  # the grid of b, about the precision of the cavity
ZOOMS, POINTS = 3, 9
BLOCK = 1000  # tilted distributions integrated by panels at once
TOGETHER = 20  # sites whose relaxations are searched before the clock is looked at


@dataclass(frozen=True)
class Relaxation:
    """Settings of the relaxation of moment matching.

    Parameters
    ----------
    penalty : float >= 0
        c, in units of the variance of h (b is a precision).
    reading : str
        One of `READINGS`.
    printed_step : bool
        Whether to follow the printed step (e) [eq. 16], which multiplies the new site by the factor once
        more; for comparison only.

    Raises
    ------
    ValueError
        For a negative or infinite penalty, or an unknown reading.
    """

    penalty: float
    reading: str = NORMALISED
    printed_step: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.penalty < np.inf:
            raise ValueError(f"the penalty must be finite and not negative, got {self.penalty}")
        if self.reading not in READINGS:
            raise ValueError(f"reading must be one of {READINGS}, got '{self.reading}'")


def divergence(
    likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray, projection: Projection
) -> np.ndarray:
    """KL of the tilted distributions N(f; m, v) p(y|f) / Z from their moment-matched Gaussians, arrays [N].

    E[log p] - log Z + log(s^2 / v) / 2 + (1 - (s^2 + (mean - m)^2) / v) / 2, with mean and variance s^2 of
    the tilted distribution; for the noisy step the corrected form of [Qi & Guo 2012, eq. 36].
    """
    gain = _tilted_expected_log(likelihood, y, m, v) - projection.log_z
    ratio, shift = projection.variance / v, projection.d1**2 * v
    return gain + 0.5 * np.log(ratio) + 0.5 * (1.0 - ratio - shift)


def _tilted_expected_log(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """E[log p(y|f)] under the tilted distribution [N]: the likelihood's own, or by panels, in blocks."""
    if hasattr(likelihood, "tilted_expected_log"):
        return likelihood.tilted_expected_log(y, m, v)
    expected = np.empty(len(y))
    for rows in np.array_split(np.arange(len(y)), -(-len(y) // BLOCK)):
        density = likelihood.tilted_density(y[rows], m[rows], v[rows])
        panels = integrate(density)
        nodes = density.origin[:, None, None] + panels.offsets
        values = likelihood.log_likelihood(y[rows, None, None], nodes)
        expected[rows] = panels.expectation(np.where(panels.density > 0, values, 0.0))  # 0 log 0 is 0
    return expected


@dataclass(frozen=True)
class _Cavities:
    """N cavities of h, improper ones too: label, precision p, shift s, extra variance, old site mean."""

    likelihood: Likelihood
    y: np.ndarray
    p: np.ndarray
    s: np.ndarray
    extra: np.ndarray
    centre: np.ndarray
    relaxation: Relaxation

    def cost(self, b: np.ndarray) -> np.ndarray:
        """Return the cost KL + c b [N, B] at relaxations ``b`` [N, B]; infinite where it is undefined."""
        p, s, centre = self.p[:, None], self.s[:, None], self.centre[:, None]
        narrower = p + b
        proper = narrower > 0
        narrower = np.where(proper, narrower, 1.0)
        mean = (s + b * centre) / narrower
        flat = mean.ravel(), (1.0 / narrower + self.extra[:, None]).ravel()
        y = np.repeat(self.y, b.shape[1])
        projection = kl(self.likelihood, y, *flat)
        cost = divergence(self.likelihood, y, *flat, projection).reshape(b.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = 0.5 * b * (p * centre - s) ** 2 / (p * narrower)  # (m - h)^2 / (2 (lambda + 1 / b))
            if self.relaxation.reading == UNNORMALISED:
                log_mass = projection.log_z.reshape(b.shape) - 0.5 * np.log(narrower / p)
                cost = cost * np.exp(log_mass - apart)
        if self.relaxation.reading == PRINTED:
            new, variance = projection.mean.reshape(b.shape), projection.variance.reshape(b.shape)
            alpha = projection.d1.reshape(b.shape)
            cost = cost - 0.5 * alpha * mean - 0.5 * b * (variance + (new - centre) ** 2) + apart
        cost = cost + self.relaxation.penalty * b
        return np.where(proper & np.isfinite(cost), cost, np.inf)

    def best(self) -> np.ndarray:
        """The minimising relaxations [N], among 0 and eight decades about the precision of the cavity.

        There may be two minima, so a grid comes first. About its best point where that is better than 0, else
        about its best valley (which 0 may hide, if it is narrow), three finer grids and the vertex of a
        parabola follow. An improper cavity needs b > -p; where nothing has a finite cost (the unnormalised
        reading: an improper cavity has no mass) b is 0.
        """
        exponents = np.linspace(-DECADES, DECADES, 2 * DECADES * PER_DECADE + 1)
        costs = self.cost(np.hstack([np.zeros((len(self.y), 1)), self._steps(exponents)]))
        unrelaxed, grid = costs[:, 0], costs[:, 1:]
        inner = grid[:, 1:-1]
        valleys = np.where((inner < grid[:, :-2]) & (inner <= grid[:, 2:]), inner, np.inf)
        at = np.argmin(grid, axis=1)
        better = grid[np.arange(len(at)), at] < unrelaxed
        at = np.where(better, at, 1 + np.argmin(valleys, axis=1))
        b, some = np.zeros(len(at)), better | np.isfinite(valleys.min(axis=1))
        if np.any(some):
            b[some] = self.at(some)._refined(exponents[at[some]], unrelaxed[some])
        return b

    def _steps(self, exponents: np.ndarray) -> np.ndarray:
        """b at powers of ten in units of the precision [N, B], from 0 or from where a cavity turns proper."""
        least = np.maximum(-self.p, 0.0)[:, None]
        return least + 10.0**exponents * np.abs(self.p)[:, None]

    def at(self, chosen: np.ndarray) -> _Cavities:
        """Some of the cavities."""
        p, s, extra = self.p[chosen], self.s[chosen], self.extra[chosen]
        return replace(self, y=self.y[chosen], p=p, s=s, extra=extra, centre=self.centre[chosen])

    def _refined(self, centre: np.ndarray, unrelaxed: np.ndarray) -> np.ndarray:
        """The best b [N] near exponents ``centre``; 0 where that costs no less than ``unrelaxed``."""
        rows, width, steps = np.arange(len(centre)), 1.0 / PER_DECADE, np.linspace(-1.0, 1.0, POINTS)
        for _ in range(ZOOMS):
            trial = centre[:, None] + width * steps
            costs = self.cost(self._steps(trial))
            at = np.clip(np.argmin(costs, axis=1), 1, POINTS - 2)
            centre, width = trial[rows, at], 2.0 * width / (POINTS - 1)
        before, middle, after = costs[rows, at - 1], costs[rows, at], costs[rows, at + 1]
        with np.errstate(invalid="ignore"):  # infinite costs beside each other have no curve
            bend = before - 2.0 * middle + after
            curved = np.isfinite(bend) & (bend > 0)
            slope = np.where(curved, before - after, 0.0)
        vertex = np.clip(0.5 * slope / np.where(curved, bend, 1.0), -1.0, 1.0)
        lowest = middle - 0.25 * slope * vertex
        b = self._steps((centre + width * vertex)[:, None])[:, 0]
        return np.where(lowest < unrelaxed, b, 0.0)


def relaxations(
    marginals: Marginals,
    sites: Sites,
    likelihood: Likelihood,
    y: np.ndarray,
    relaxation: Relaxation,
    deadline: float = np.inf,
) -> np.ndarray:
    """The relaxation b [N] of every site at given marginals; it may make an improper cavity proper.

    NaN where it was not searched before the ``deadline`` of ``time.monotonic()``.
    """
    p = (1.0 - sites.tau * marginals.variance) / marginals.variance
    s = marginals.mean / marginals.variance - sites.nu
    extra = np.broadcast_to(marginals.extra, p.shape)
    cavities = _Cavities(likelihood, y, p, s, extra, means(sites), relaxation)
    b = np.full(len(p), np.nan)
    for rows in np.array_split(np.arange(len(p)), -(-len(p) // TOGETHER)):
        if time.monotonic() >= deadline:
            break
        b[rows] = cavities.at(rows).best()
    return b


def at_limit(b: np.ndarray, marginals: Marginals, sites: Sites) -> np.ndarray:
    """Return which relaxations ``b`` [N] are the largest searched; a larger one may cost less."""
    p = (1.0 - sites.tau * marginals.variance) / marginals.variance
    return b >= 0.5 * 10.0**DECADES * np.abs(p)


def means(sites: Sites) -> np.ndarray:
    """Means [N] of the sites; 0 for flat ones, as the paper starts."""
    flat = sites.tau == 0
    return np.where(flat, 0.0, sites.nu / np.where(flat, 1.0, sites.tau))
