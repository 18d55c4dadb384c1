"""Powers of the probit: moments of N(f; m, v) Phi(y f)^alpha, 0 < alpha < 1 [Bui et al. 2017, section 4.3].

There is no closed form. With u = y f ~ N(mu, v) trapezoidal rules share the work, on functions that are
analytic in a strip (the zeros of Phi are 2.8 from the real line):

- narrow cavities, and those far on the wrong side: nodes of their own around each site, 0.6 s apart. For
  mu <= 0 the factor exp(-alpha u^2 / 2) of Phi^alpha is absorbed in the Gaussian, which becomes N(c, s^2)
  with s^2 = v / (1 + alpha v) and c = mu s^2 / v; what is left varies slowly.
- of the narrow, those neither very narrow nor far from the step: the same, but sites whose s lie within a
  factor of two have their nodes on one grid, where log Phi and its derivatives were computed before.
- the others: Phi^alpha = Phi + (Phi^alpha - Phi). The first has its closed form, the second is positive and
  confined to u < 8.5, so that all sites share nodes there, which lie the wider apart the farther out.

Of wide cavities, sums have positive terms only, and d2 is taken from the variance where that is small. On the
right side a mean of second derivatives leaves d2, about 1 / v, an error of 1e-16 / sd; wide cavities take it
from Phi's closed form and derivatives of the cavity instead. On a grid nothing cancels by more than two or
three digits. Measured against quadrature: log Z and variance to 1e-9, mostly to 1e-13. Beyond nine sd on the
right side, where d1 and d2 are below 1e-10, they lose digits: a site on a grid has five at 15 sd, or more
where others widen it; others may have none.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import erfcx, log_ndtr, logsumexp

from tilted.likelihoods.contract import Tilted
from tilted.likelihoods.normal import (
    KNEE,
    LOG_SQRT_2PI,
    STEP,
    WIDE,
    hazard,
    probit_moments,
    remaining_curvature,
)

FAR = 10.0  # unless c is this many s below zero
SPACING = 0.6  # of nodes around c, in units of s
OWN = np.arange(-9.0, 12.01, SPACING)  # own nodes, in units of s
NARROW, NEAR = 1.0 / 8.0, 12.0  # s from which, and |c| up to which, sites share a grid
BROAD = 1e12  # variance from which d2 is taken from Phi's closed form
RIGHT, REACH = 8.5, 9.0  # shared nodes end at RIGHT, and REACH s below the lowest c


def powered_moments(y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float) -> Tilted:
    """Moments of N(f; m, v) Phi(y f)^power, arrays [N]; one power for all, 0 < power < 1."""
    mu = y * m
    c, s2 = _absorbed(mu, v, power)
    s = np.sqrt(s2)
    near = (v <= WIDE**2) & (s >= NARROW) & (np.abs(c) <= NEAR)
    own = ((v <= WIDE**2) | (c < -FAR * s)) & ~near
    out = np.empty((5, len(mu)))
    for rows, rule in ((own, _by_own_nodes), (~(own | near), _by_shared_nodes)):
        if np.any(rows):
            out[:, rows] = rule(mu[rows], v[rows], power)
    octave = np.where(near, np.floor(np.log2(s)), np.nan)
    for size in np.unique(octave[near]):
        rows = octave == size
        out[:, rows] = _on_a_grid(mu[rows], v[rows], power, 2.0 ** float(size))
    log_z, d1, d2, offset, variance = out
    return Tilted(log_z, y * d1, d2, m + y * offset, variance)


def _log_phi_without_gaussian(u: np.ndarray) -> np.ndarray:
    """log Phi(u) + u^2 / 2."""
    log_tail = np.log(0.5 * erfcx(-np.minimum(u, 0.0) / np.sqrt(2.0)))
    return np.where(u > 0, log_ndtr(u) + 0.5 * u**2, log_tail)


def _slope_and_bend(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivative of log Phi."""
    r = hazard(u)
    return r, np.where(u < -4.0, remaining_curvature(u, r) - 1.0, -r * (u + r))


def _absorbed(mu: np.ndarray, v: np.ndarray, power: float) -> tuple[np.ndarray, np.ndarray]:
    """c and s^2 of the Gaussian with the factor of Phi^power; as it was on the right side."""
    ratio = np.where(mu <= 0, 1.0 / (1.0 + power * v), 1.0)
    return mu * ratio, v * ratio


@cache
def _grid(spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes [K] of all sites that may share them; and log Phi, its slope and its bend there [3, K]."""
    last = np.ceil((NEAR + OWN[-1] * WIDE) / spacing)
    u = spacing * np.arange(-last, last + 1.0)
    return u, np.stack([log_ndtr(u), *_slope_and_bend(u)])


def _on_a_grid(mu: np.ndarray, v: np.ndarray, power: float, least: float) -> np.ndarray:
    """log Z, d1, d2, mean - mu and variance, [5, N], for s from `least` to twice that."""
    c, s2 = _absorbed(mu, v, power)
    s, spacing = np.sqrt(s2), SPACING * least
    u, functions = _grid(spacing)
    ends = np.searchsorted(u, [np.min(c + OWN[0] * s), np.max(c + OWN[-1] * s)])
    u, (log_phi, slope, bend) = u[slice(*ends)], functions[:, slice(*ends)]
    w = u - mu[:, None]
    w *= w
    w *= (-0.5 / v)[:, None]
    w += power * log_phi
    np.exp(w, out=w)
    total, first, second = (w @ np.stack([np.ones_like(u), slope, bend + power * slope**2], axis=1)).T
    d1 = power * first / total
    d2 = power * second / total - d1**2
    log_z = np.log(total) + np.log(spacing) - 0.5 * np.log(v) - LOG_SQRT_2PI
    return np.stack([log_z, d1, d2, d1 * v, v * (1.0 + v * d2)])


def _by_own_nodes(mu: np.ndarray, v: np.ndarray, power: float) -> np.ndarray:
    """log Z, d1, d2, mean - mu and variance, [5, N]."""
    absorbed = mu <= 0
    c, s2 = _absorbed(mu, v, power)
    s = np.sqrt(s2)
    t = s[:, None] * OWN
    u = c[:, None] + t
    factor = np.where(absorbed[:, None], _log_phi_without_gaussian(u), log_ndtr(u))
    log_w = power * factor - 0.5 * OWN**2
    total = logsumexp(log_w, axis=1)
    w = np.exp(log_w - total[:, None])
    lost = np.where(absorbed, -0.5 * power * mu * c, 0.0)
    log_z = total + lost + np.log(SPACING) + 0.5 * np.log(s2 / v) - LOG_SQRT_2PI
    shift = np.einsum("nk,nk->n", w, t)
    variance = np.einsum("nk,nk->n", w, (t - shift[:, None]) ** 2)
    slope, bend = _slope_and_bend(u)
    d1 = np.einsum("nk,nk->n", w, slope)
    d2 = np.einsum("nk,nk->n", w, bend + power * (slope - d1[:, None]) ** 2)
    return np.stack([log_z, power * d1, power * d2, power * d1 * v, variance])


def _by_shared_nodes(mu: np.ndarray, v: np.ndarray, power: float) -> np.ndarray:
    """log Z, d1, d2, mean - mu and variance, [5, N].

    On the wrong side everything is in units of exp(-mu^2 / (2 v)), so that nothing underflows.
    """
    wrong = mu < 0
    complement, rest_1, rest_2, first, second = _of_the_rest(mu, v, power, wrong)
    phi = probit_moments(mu, v)
    with np.errstate(over="ignore"):  # variances beyond 1e154 become infinite, as of `probit_moments`
        less = mu**2 / (v * (1.0 + v))
        on_the_wrong_side = _log_phi_without_gaussian(mu / np.sqrt(1.0 + v)) + 0.5 * less
        closed = np.exp(np.where(wrong, on_the_wrong_side, phi.log_z))
        total = closed + complement
        mean = (closed * phi.mean + rest_1) / total
        spread = rest_2 - 2.0 * mean * rest_1 + mean**2 * complement
        variance = (closed * (phi.variance + (phi.mean - mean) ** 2) + spread) / total
    d1, broad = first / total, v >= BROAD
    by_cavity = (rest_2 - 2.0 * mu * rest_1 + mu**2 * complement) / v - complement
    second = np.where(broad, closed * (phi.d2 + phi.d1**2) + by_cavity / v, second)
    from_variance = np.where(broad, (variance / v - 1.0) / v, (variance - v) / np.minimum(v, BROAD) ** 2)
    d2 = np.where(variance < 0.5 * v, from_variance, second / total - d1**2)
    log_z = np.log(total) + np.where(wrong, -0.5 * mu**2 / v, 0.0)
    return np.stack([log_z, d1, d2, v * d1, variance])


def _of_the_rest(mu: np.ndarray, v: np.ndarray, power: float, wrong: np.ndarray) -> np.ndarray:
    """Integrals [5, N] over the nodes that all sites share, under their Gaussians.

    Of Phi^power - Phi, by itself, times u and times u^2; of the first derivative of Phi^power, and of the
    second.
    """
    s = np.sqrt(v / (1.0 + power * v))
    lowest = float(np.min(mu * s**2 / v - REACH * s))
    k = np.arange(np.floor(np.arcsinh(lowest / KNEE) / STEP), np.ceil(np.arcsinh(RIGHT / KNEE) / STEP) + 1)
    u = KNEE * np.sinh(k * STEP)
    width = KNEE * STEP * np.cosh(k * STEP) / np.sqrt(2.0 * np.pi)
    log_phi, (slope, bend) = log_ndtr(u), _slope_and_bend(u)
    powered = np.exp(power * log_phi) * width
    complement = -powered * np.expm1((1.0 - power) * log_phi)
    functions = np.stack(
        [
            complement,
            complement * u,
            complement * u**2,
            powered * slope * power,
            powered * power * (power * slope**2 + bend),
        ]
    )
    centre, tilt = np.where(wrong, 0.0, mu), np.where(wrong, mu / v, 0.0)
    gaussian = np.exp(-0.5 * (u[:, None] - centre) ** 2 / v + u[:, None] * tilt)
    return functions @ gaussian / np.sqrt(v)
