"""Projections of a tilted distribution onto a Gaussian.

``kl`` matches moments [Zhang 2020, eq. 3]; ``wasserstein`` keeps the mean and takes the standard
deviation that minimises the L2 Wasserstein distance [Zhang 2020, eq. 5],

    sigma = integral of phi(Phi^-1(F(f))) df,

computed by panel quadrature with the distribution function accumulated from both ends, so that it holds
in far tails and across the gap of a bimodal density. ``TableGrid`` is the paper's linear lookup table,
evaluated without building it: only the four grid corners around each point are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri_exp

from tilted.numerics.quadrature import TiltedDensity, integrate

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.numerics.quadrature import Panels

SQRT_2PI = np.sqrt(2.0 * np.pi)
TINY = 1e-300


@dataclass(frozen=True)
class Projection:
    """Gaussians N(mean, variance) for N tilted distributions with cavities N(m, v); arrays [N].

    ``d1`` and ``d2`` carry the result to the sites: mean = m + v d1, variance = v + v^2 d2. For the KL
    projection they are the derivatives of log Z.
    """

    log_z: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    d1: np.ndarray
    d2: np.ndarray


def kl(
    likelihood: Likelihood,
    y: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    power: float | np.ndarray | None = None,
) -> Projection:
    """Moment matching [Zhang 2020, eq. 3], of the likelihood to a power if one is given; arrays [N]."""
    t = likelihood.tilted(y, m, v) if power is None else likelihood.tilted(y, m, v, power)
    return Projection(t.log_z, t.mean, t.variance, t.d1, t.d2)


def wasserstein(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Projection:
    """The L2 Wasserstein projection [Zhang 2020, eq. 5]; y, m, v are arrays [N]."""
    t = likelihood.tilted(y, m, v)
    sd = wasserstein_sd(likelihood.tilted_density(y, m, v))
    # never above moment matching's [Zhang 2020, theorem 2]: the rounding of a nearly Gaussian density is not
    return Projection(
        t.log_z, t.mean, np.minimum(sd**2, t.variance), t.d1, np.minimum((sd**2 - v) / v**2, t.d2)
    )


def wasserstein_sd(density: TiltedDensity) -> np.ndarray:
    """Standard deviation [N] of the L2 Wasserstein projection of each density."""
    panels = integrate(density)
    z, _ = normal_scores(panels)
    return panels.integral(np.exp(-0.5 * z**2) / SQRT_2PI)


def normal_scores(panels: Panels) -> tuple[np.ndarray, np.ndarray]:
    """Phi^-1(F) at the nodes [N, P, K] (infinite where F underflows), and where F < 1/2."""
    mass = panels.cumulative(panels.density)
    right = panels.cumulative(panels.density, from_right=True)
    lower = mass < right
    p = np.minimum(mass, right)
    z = np.full_like(p, np.inf)
    inside = p > TINY
    z[inside] = -ndtri_exp(np.log(p[inside]))
    return np.where(lower, -z, z), lower


@dataclass(frozen=True)
class Sensitivity:
    """Derivatives of a projected Gaussian in its cavity N(m, v); arrays [N].

    ``mean_m`` is d mean / dm, ``variance_v`` is d variance / dv, and so on.
    """

    mean_m: np.ndarray
    mean_v: np.ndarray
    variance_m: np.ndarray
    variance_v: np.ndarray


def kl_sensitivity(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Sensitivity:
    """Derivatives [N] of the moment-matched mean and variance: covariances with the cavity's scores."""
    panels, offset, scores = _scored_panels(likelihood, y, m, v)
    square = (offset - panels.expectation(offset)[:, None, None]) ** 2
    means = [panels.expectation(s * offset) for s in scores]
    variances = [panels.expectation(s * square) for s in scores]
    return Sensitivity(*means, *variances)


def wasserstein_sensitivity(
    likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray
) -> Sensitivity:
    """Derivatives [N] of :func:`wasserstein` in the cavity's mean and variance.

    d phi(Phi^-1(p)) / dp = -Phi^-1(p), and dF/dtheta at x is the integral up to x of the centred score,
    so d sigma / dtheta = - integral of Phi^-1(F) dF/dtheta.
    """
    panels, offset, scores = _scored_panels(likelihood, y, m, v)
    z, lower = normal_scores(panels)
    sd = panels.integral(np.exp(-0.5 * z**2) / SQRT_2PI)
    z = np.where(np.isfinite(z), z, 0.0)
    means, variances = [], []
    for score in scores:
        flow = score * panels.density
        below, above = panels.cumulative(flow), panels.cumulative(flow, from_right=True)
        means.append(panels.expectation(score * offset))
        variances.append(-2.0 * sd * panels.integral(z * np.where(lower, below, -above)))
    return Sensitivity(*means, *variances)


def _scored_panels(
    likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray
) -> tuple[Panels, np.ndarray, list[np.ndarray]]:
    """Panels of the tilted densities, f - m at the nodes, and the centred scores in m and v."""
    density = likelihood.tilted_density(y, m, v)
    panels = integrate(density)
    offset = panels.offsets + (density.origin - m)[:, None, None]
    raw = offset / v[:, None, None], 0.5 * (offset / v[:, None, None]) ** 2
    return panels, offset, [s - panels.expectation(s)[:, None, None] for s in raw]


@dataclass(frozen=True)
class TableGrid:
    """Grid of the paper's lookup table [Zhang 2020, appendix J]: mu linear, sigma in log10.

    A projection for ``tilted.fit(..., inference="qp", projection=TableGrid())``, without exact gradient.
    """

    mu_limit: float = 10.0
    log10_sigma_limit: float = 1.0
    step: float = 1e-3

    sensitivity = None

    def project(self, likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Projection:
        """sigma^2 bilinear in (mu, log10 sigma), that of moment matching outside the box; arrays [N].

        Returns the same numbers as interpolating the 20001 x 2001 table, whose entries are computed here
        only where they are needed. Outside |mu| <= 10, 0.1 <= sigma <= 10 the variance is EP's, as in the
        paper (up to 10 % too large there).
        """
        t = likelihood.tilted(y, m, v)
        log_sigma = 0.5 * np.log10(v)
        inside = (np.abs(m) <= self.mu_limit) & (np.abs(log_sigma) <= self.log10_sigma_limit)
        variance = t.variance.copy()
        if np.any(inside):
            variance[inside] = _bilinear(likelihood, y[inside], m[inside], log_sigma[inside], self)
        return Projection(t.log_z, t.mean, variance, t.d1, (variance - v) / v**2)


def _bilinear(
    likelihood: Likelihood, y: np.ndarray, m: np.ndarray, log_sigma: np.ndarray, grid: TableGrid
) -> np.ndarray:
    """Bilinear interpolation of sigma_QP^2 between the four grid corners around each point."""
    row = np.minimum(np.floor(m / grid.step), round(grid.mu_limit / grid.step) - 1)
    column = np.minimum(np.floor(log_sigma / grid.step), round(grid.log10_sigma_limit / grid.step) - 1)
    a, b = m / grid.step - row, log_sigma / grid.step - column
    total = np.zeros_like(m)
    for i, wi in ((0, 1 - a), (1, a)):
        for j, wj in ((0, 1 - b), (1, b)):
            sigma = 10.0 ** ((column + j) * grid.step)
            density = likelihood.tilted_density(y, (row + i) * grid.step, sigma**2)
            total += wi * wj * wasserstein_sd(density) ** 2
    return total
