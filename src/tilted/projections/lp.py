"""The general L_p Wasserstein projection [Zhang 2020, appendix B].

With z = Phi^-1(F(f)), the optimal coupling of a tilted distribution to N(mu, sigma^2) moves f to
mu + sigma z, so that W_p^p = E|e|^p with e = f - mu - sigma z. It is convex in (mu, sigma), and

    d/dmu = -p E[|e|^(p-1) sgn(e)],    d/dsigma = -p E[|e|^(p-1) sgn(e) z];

the paper's d/dsigma, written with erfinv(2F - 1) = z / sqrt(2), lacks the factor sqrt(2). At p = 2 this is
``projections.wasserstein``; at any other p the mean moves too.

Unless p is even, |e|^p is not analytic where e changes sign: there panels are refined until the minimiser
stays. p = 1 and its neighbourhood are left out: the second derivative ceases to exist, and at p = 1 the
minimiser need not be unique (Theorem 1, strict convexity for p >= 1, is false there: W_1 between translates
of a Gaussian is linear in the shift). At p = 10 the panels no longer resolve the tails that decide.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.numerics.quadrature import TiltedDensity, integrate
from tilted.projections.moments import Projection, normal_scores, wasserstein

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood

    Coupling = tuple[np.ndarray, np.ndarray, np.ndarray]

P_MIN, P_MAX = 1.2, 6.0
ROUNDS, STEPS, HALVINGS = 6, 60, 30
TOLERANCE = 1e-11  # of a step, in units of the sd
SETTLED = 1e-9  # of a refinement's effect, in units of the sd
GAUSSIAN = 1e-12  # root mean square of e, in units of the sd, below which there is nothing to minimise
ROUNDING, TAIL = 1e-13, 7.0  # sign changes of e that small, or at |z| above this, are rounding
ROOTS = 8  # sign changes that are refined
GRADING = np.concatenate([[0.0], 0.15 ** np.arange(1.0, 11.0)])


@dataclass(frozen=True)
class Minimum:
    """Minimisers of the L_p distance for N densities; arrays [N].

    Attributes
    ----------
    mean : relative to the density's origin
    sd : standard deviation
    converged : whether Newton's method and the refinement ended within their bounds
    """

    mean: np.ndarray
    sd: np.ndarray
    converged: np.ndarray


@dataclass(frozen=True)
class LpProjection:
    """Minimiser of the L_p Wasserstein distance, for ``tilted.fit(..., inference="qp", projection=...)``.

    It has no exact evidence gradient: fix the hyperparameters, or search with ``gradient="sites-fixed"``.

    Parameters
    ----------
    p : float
        From 1.2 to 6.

    Raises
    ------
    ValueError
        For another p.
    """

    p: float

    sensitivity = None

    def __post_init__(self) -> None:
        if not P_MIN <= self.p <= P_MAX:
            raise ValueError(f"p must be between {P_MIN:g} and {P_MAX:g}, got {self.p:g}")

    def project(self, likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Projection:
        """The projection of N(f; m, v) p(y|f); y, m, v are arrays [N].

        Where the minimisation fails mean and variance are NaN: the rule then leaves the site as it was
        and counts it in ``status.skipped``.
        """
        start, density = wasserstein(likelihood, y, m, v), likelihood.tilted_density(y, m, v)
        offset = start.mean - density.origin
        moments = minimise(density, self.p, offset, np.sqrt(start.variance))
        shift = np.where(moments.converged, moments.mean - offset, np.nan)
        variance = np.where(moments.converged, moments.sd**2, np.nan)
        return Projection(
            start.log_z, start.mean + shift, variance, start.d1 + shift / v, (variance - v) / v**2
        )


def distance(density: TiltedDensity, p: float, mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """W_p [N] between each density and N(mean, sd^2); means are relative to the density's origin."""
    e, _, w = _residuals(_coupling(density), np.stack([mean, sd]))
    return np.sum(w * np.abs(e) ** p, axis=1) ** (1.0 / p)


def minimise(density: TiltedDensity, p: float, mean: np.ndarray, sd: np.ndarray) -> Minimum:
    """Newton's method from (mean, sd), arrays [N]; panels are refined where e changes sign.

    Bounded by ``ROUNDS`` refinements of ``STEPS`` steps, each halved at most ``HALVINGS`` times.
    """
    coupling = _coupling(density)
    theta, converged = _newton(coupling, p, np.stack([mean, sd]))
    settled = converged if p == 2.0 else np.zeros_like(converged)
    for _ in range(ROUNDS):
        if np.all(settled):
            break
        coupling = _coupling(replace(density, edges=_refined(density.edges, coupling, theta)))
        theta_opt, converged = _newton(coupling, p, theta)
        moved = np.max(np.abs(theta_opt - theta), axis=0)
        theta = np.where(settled, theta, theta_opt)
        settled |= converged & (moved <= SETTLED * theta[1])
    return Minimum(theta[0], theta[1], settled)


def _coupling(density: TiltedDensity) -> Coupling:
    """Nodes f, their normal scores z and their probabilities w; arrays [N, K]."""
    panels = integrate(density)
    z, _ = normal_scores(panels)
    z = np.where(np.isfinite(z), z, 0.0)  # where F underflows, w does too
    f, z, w = (a.reshape(len(a), -1) for a in (panels.offsets, z, panels.weights * panels.density))
    return f, z, w


def _residuals(coupling: Coupling, theta: np.ndarray) -> Coupling:
    """e = f - mu - sigma z, with z and w; theta [2, N] holds (mu, sigma)."""
    f, z, w = coupling
    return f - theta[0][:, None] - theta[1][:, None] * z, z, w


def _newton(coupling: Coupling, p: float, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimum on fixed nodes: theta [2, N] and whether it was reached [N].

    W_p^p is convex, so a step is short enough if the slope along it has not turned by more than half.
    """
    e, _, w = _residuals(coupling, theta)
    unit = np.sqrt(np.sum(w * e**2, axis=1))
    done = unit <= GAUSSIAN * theta[1]
    unit = np.where(done, theta[1], unit)
    for _ in range(STEPS):
        if np.all(done):
            break
        gradient, H = _derivatives(coupling, p, theta, unit)
        step = np.where(done, 0.0, _solve(H, -gradient))
        small = np.max(np.abs(step), axis=0) <= TOLERANCE * theta[1]
        turned = -0.5 * np.sum(gradient * step, axis=0)
        fraction = np.ones_like(unit)
        for _ in range(HALVINGS):
            slope = np.sum(_derivatives(coupling, p, theta + fraction * step, unit)[0] * step, axis=0)
            long = (slope > turned) & ~(small | done)
            if not np.any(long):
                break
            fraction = np.where(long, 0.5 * fraction, fraction)
        theta = theta + fraction * step
        done |= small
    return theta, done


def _derivatives(
    coupling: Coupling, p: float, theta: np.ndarray, unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradient [2, N] and Hessian [3, N] (mu mu, mu sigma, sigma sigma) of W_p^p / (p unit^(p - 1))."""
    e, z, w = _residuals(coupling, theta)
    size = np.abs(e) / unit[:, None]
    pull = w * np.sign(e) * size ** (p - 1.0)
    weight = (p - 1.0) * w * np.maximum(size, ROUNDING) ** (p - 2.0)
    gradient = -np.stack([np.sum(pull * z**k, axis=1) for k in range(2)])
    return gradient, np.stack([np.sum(weight * z**k, axis=1) for k in range(3)]) / unit


def _solve(H: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solutions [2, N] of N symmetric systems of two equations; NaN where H is not positive definite."""
    determinant = H[0] * H[2] - H[1] ** 2
    determinant = np.where(determinant > 0, determinant, np.nan)
    return np.stack([H[2] * b[0] - H[1] * b[1], H[0] * b[1] - H[1] * b[0]]) / determinant


def _refined(edges: np.ndarray, coupling: Coupling, theta: np.ndarray) -> np.ndarray:
    """Panel edges with geometrically graded ones on both sides of the sign changes of e."""
    e, z, _ = _residuals(coupling, theta)
    f = coupling[0]
    real = (np.abs(z) < TAIL) & (np.abs(e) > ROUNDING * theta[1][:, None])
    last = np.maximum.accumulate(np.where(real, np.arange(f.shape[1]), 0), axis=1)  # real node so far
    before, rows = last[:, :-1], np.arange(len(f))[:, None]
    change = real[:, 1:] & real[rows, before] & (e[:, 1:] * e[rows, before] < 0)
    first = np.argsort(~change, axis=1, kind="stable")[:, :ROOTS]
    there, left, right = change[rows, first], before[rows, first], first + 1
    f_left, e_left = f[rows, left], e[rows, left]
    gap = np.where(there, e_left - e[rows, right], 1.0)
    roots = np.where(there, f_left + (f[rows, right] - f_left) * e_left / gap, edges[:, :1])
    width = np.where(there, theta[1][:, None], 0.0)
    steps = np.concatenate([-GRADING, GRADING])
    breaks = (roots[:, :, None] + width[:, :, None] * steps).reshape(len(f), -1)
    return np.sort(np.concatenate([edges, np.clip(breaks, edges[:, :1], edges[:, -1:])], axis=1), axis=1)
