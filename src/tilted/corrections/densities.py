"""Densities of single latents that are not Gaussian: a Gaussian times the exponential of a cubic spline.

p(f) = N(f; mean, sd^2) exp(s(x)) prod_j e_j(f) / mass, x = (f - mean) / sd, for Q latents at once, each with
knots of its own; beyond its knots s goes on linearly. The e_j are the ratios p(y_j | f_j) / site_j of data
whose latents are linear functions of f (a training latent's own datum): they are kept apart, evaluated
exactly, because they may have a kink or a step at zero where f is many units wide.

Moments and predictions are integrals by Gauss-Legendre panels between the knots. Panels also end at f = 0,
+-1, +-2, +-4, ..., because likelihoods change over one unit of f there, however wide f is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from scipy.special import logsumexp

from tilted.likelihoods.contract import Labels
from tilted.numerics.quadrature import gauss_legendre

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood

NODES = 10  # of a panel
BREAKS = np.concatenate([[0.0], *(sign * 2.0 ** np.arange(-1.0, 7.0) for sign in (1.0, -1.0))])
LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
REACH, MOST = 10.0, 200  # sd of a Gaussian that count, and panels beyond the highest knot at most
BLOCK, ENDS = 64, 20.0  # latents predicted at once, and see `Densities.log_predictive`
APART = 1e-3  # of the range: smallest distance of two knots


class Own(NamedTuple):
    """Data whose latents are offset + slope f for one latent f each; arrays [Q, J], ``there`` 0 for padding.

    ``tau`` and ``nu`` are EP's sites of the data, which N(f; mean, sd^2) contains.
    """

    there: np.ndarray
    y: np.ndarray
    offset: np.ndarray
    slope: np.ndarray
    tau: np.ndarray
    nu: np.ndarray

    def log_ratio(self, likelihood: Likelihood, f: np.ndarray) -> np.ndarray:
        """sum_j log p(y_j | f_j) - log site_j(f_j) at f [Q, K]."""
        total = np.zeros_like(f)
        for j in range(self.there.shape[1]):
            rows = np.flatnonzero(self.there[:, j])
            y, offset, slope, tau, nu = (field[rows, j, None] for field in self[1:])
            at = offset + slope * f[rows]
            total[rows] += likelihood.log_likelihood(y, at) + 0.5 * tau * at**2 - nu * at
        return total

    def breaks(self, likelihood: Likelihood) -> np.ndarray:
        """f [Q, J] at which the data's likelihoods have a step or a kink; [Q, 0] if they have none."""
        if not hasattr(likelihood, "kinks"):
            return np.zeros((len(self.there), 0))
        slope = np.where(self.there.astype(bool) & (self.slope != 0.0), self.slope, np.inf)
        return np.asarray((likelihood.kinks(self.y) - self.offset) / slope)


@dataclass(frozen=True)
class Spline:
    """Cubic splines [Q] with knots of their own, straight beyond them.

    Attributes
    ----------
    knots, values, slopes : arrays [Q, G]
        ``knots`` increasing.
    """

    knots: np.ndarray
    values: np.ndarray
    slopes: np.ndarray

    @classmethod
    def through(cls, knots: np.ndarray, values: np.ndarray) -> Spline:
        """The twice differentiable splines through values [Q, G], parabolic in the outermost intervals."""
        h = np.diff(knots, axis=1)
        secant = np.diff(values, axis=1) / h
        Q, G = knots.shape
        A, b = np.zeros((Q, G, G)), np.zeros((Q, G))
        inner = np.arange(1, G - 1)
        A[:, inner, inner - 1], A[:, inner, inner + 1] = h[:, 1:], h[:, :-1]
        A[:, inner, inner] = 2.0 * (h[:, 1:] + h[:, :-1])
        b[:, 1:-1] = 3.0 * (h[:, 1:] * secant[:, :-1] + h[:, :-1] * secant[:, 1:])
        for end, neighbour, slope_index in ((0, 1, 0), (G - 1, G - 2, G - 2)):
            A[:, end, end] = A[:, end, neighbour] = 1.0
            b[:, end] = 2.0 * secant[:, slope_index]
        return cls(knots, values, np.linalg.solve(A, b[..., None])[..., 0])

    def at(self, x: np.ndarray) -> np.ndarray:
        """Values [Q, K] at x [Q, K]."""
        G = self.knots.shape[1]
        interval = np.clip(
            np.stack([np.searchsorted(k, p, "right") for k, p in zip(self.knots, x, strict=True)]), 1, G - 1
        )
        a, b, p, q, dp, dq = (
            np.take_along_axis(values, interval - back, axis=1)
            for values in (self.knots, self.values, self.slopes)
            for back in (1, 0)
        )
        h = b - a
        t = np.clip((x - a) / h, 0.0, 1.0)
        inside = (1.0 - t) ** 2 * ((1.0 + 2.0 * t) * p + t * h * dp) + t**2 * (
            (3.0 - 2.0 * t) * q - (1.0 - t) * h * dq
        )
        return inside + np.minimum(x - a, 0.0) * dp + np.maximum(x - b, 0.0) * dq


@dataclass(frozen=True)
class Densities:
    """Densities of Q latents.

    Attributes
    ----------
    mean, sd : arrays [Q]
        Of the Gaussians.
    spline : Spline
        In x = (f - mean) / sd; densities are cut off at the outermost knots.
    own : Own
    likelihood : Likelihood
    """

    mean: np.ndarray
    sd: np.ndarray
    spline: Spline
    own: Own
    likelihood: Likelihood = field(repr=False)

    def select(self, rows: np.ndarray | slice) -> Densities:
        """Some of the latents."""
        spline, own = (
            Spline(*(x[rows] for x in vars(self.spline).values())),
            Own(*(x[rows] for x in self.own)),
        )
        return Densities(self.mean[rows], self.sd[rows], spline, own, self.likelihood)

    def times(self, log_factor: np.ndarray) -> Densities:
        """These densities times the exponential of a spline through values [Q, G] at the knots."""
        return self.with_values(self.spline.values + log_factor)

    def with_values(self, values: np.ndarray) -> Densities:
        """These with other values [Q, G] of the spline at the knots."""
        return Densities(
            self.mean, self.sd, Spline.through(self.spline.knots, values), self.own, self.likelihood
        )

    def gaussian_where(self, rows: np.ndarray) -> Densities:
        """These with the Gaussian alone, without spline and own data, in ``rows`` [Q] of bool."""
        keep = ~rows[:, None]
        spline = Spline(
            self.spline.knots, *(np.where(keep, x, 0.0) for x in (self.spline.values, self.spline.slopes))
        )
        own = self.own._replace(there=self.own.there & keep)
        return Densities(self.mean, self.sd, spline, own, self.likelihood)

    def log_smooth(self, f: np.ndarray) -> np.ndarray:
        """log of Gaussian and spline at f [Q, K]."""
        x = (f - self.mean[:, None]) / self.sd[:, None]
        return -0.5 * x**2 - np.log(self.sd)[:, None] - LOG_SQRT_2PI + self.spline.at(x)

    def log_unnormalised(self, f: np.ndarray) -> np.ndarray:
        """log of Gaussian, spline and own data at f [Q, K]; they do not integrate to 1."""
        return self.log_smooth(f) + self.own.log_ratio(self.likelihood, f)

    @cached_property
    def edges(self) -> np.ndarray:
        """Ends f [Q, P + 1] of panels, in order: knots, and `BREAKS` and steps of own data between."""
        edges = self.spline.knots * self.sd[:, None] + self.mean[:, None]
        breaks = np.broadcast_to(BREAKS, (len(edges), len(BREAKS)))
        breaks = np.concatenate([breaks, self.own.breaks(self.likelihood)], axis=1)
        breaks = np.clip(breaks, edges[:, :1], edges[:, -1:])
        return np.sort(np.concatenate([edges, breaks], axis=1), axis=1)

    @cached_property
    def panels(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes f [Q, K] and the logarithms [Q, K] of density times weight there, without the normaliser."""
        f, log_width = nodes(self.edges)
        return f, log_width + self.log_unnormalised(f)

    @cached_property
    def log_mass(self) -> np.ndarray:
        """log of the integral [Q] of Gaussian, spline and own data."""
        return logsumexp(self.panels[1], axis=1)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights [Q, K] of the nodes, which sum to 1."""
        return np.exp(self.panels[1] - self.log_mass[:, None])

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mean, variance and skewness [Q]."""
        f, w = self.panels[0], self.weights
        shift = np.sum(w * (f - self.mean[:, None]), axis=1)
        t = f - (self.mean + shift)[:, None]
        variance = np.sum(w * t**2, axis=1)
        return self.mean + shift, variance, np.sum(w * t**3, axis=1) / variance**1.5

    def log_density(self, f: np.ndarray) -> np.ndarray:
        """log density at f [Q, K]."""
        return self.log_unnormalised(f) - self.log_mass[:, None]

    def log_beyond(self, f: np.ndarray) -> np.ndarray:
        """`log_unnormalised` at f [Q, K], the spline held at its end values beyond its knots."""
        x = (f - self.mean[:, None]) / self.sd[:, None]
        spline = self.spline.at(np.clip(x, self.spline.knots[:, :1], self.spline.knots[:, -1:]))
        gaussian = -0.5 * x**2 - np.log(self.sd)[:, None] - LOG_SQRT_2PI
        return gaussian + spline + self.own.log_ratio(self.likelihood, f)

    def log_predictive(self, y: np.ndarray) -> np.ndarray:
        """log of the integral [Q] of p(y | f) times the density, y [Q].

        Panels also end where those of the likelihood's own tilted density of N(mean, sd^2) do: p(y | f) may
        be narrower than knots are apart, or rest on what lies beyond them, where the Gaussian goes on with
        the spline at its end value. The moments' panels alone, which are faster, are enough for labels, whose
        likelihood changes over one unit of f about 0 or jumps there, if at the outermost knots the integrand
        is `ENDS` nats below its integral.
        """
        log_p, unresolved = np.empty(len(y)), np.ones(len(y), dtype=bool)
        if isinstance(self.likelihood, Labels):
            f, log_w = self.panels
            log_p = logsumexp(log_w + self.likelihood.log_likelihood(y[:, None], f), axis=1)
            ends = self.spline.knots[:, [0, -1]] * self.sd[:, None] + self.mean[:, None]
            at_ends = self.log_unnormalised(ends) + self.likelihood.log_likelihood(y[:, None], ends)
            unresolved = ~(np.max(at_ends, axis=1) + np.log(self.sd) < log_p - ENDS)
        places = np.flatnonzero(unresolved)
        for first in range(0, len(places), BLOCK):
            rows = places[first : first + BLOCK]
            log_p[rows] = self.select(rows)._log_integral(y[rows])
        return log_p - self.log_mass

    def _log_integral(self, y: np.ndarray) -> np.ndarray:
        """log of the integral [Q] of p(y | f) times Gaussian, spline and own data."""
        tilted = self.likelihood.tilted_density(y, self.mean, self.sd**2)
        origin = tilted.origin[:, None]
        edges = np.sort(np.concatenate([self.edges - origin, tilted.edges], axis=1), axis=1)
        offsets, log_width = nodes(edges)
        f = origin + offsets
        values = self.log_beyond(f) + self.likelihood.log_likelihood(y[:, None], f)
        return logsumexp(log_width + values, axis=1)

    def count_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [Q] of new counts, of a likelihood that has ``log_given``.

        E[h] and E[w] + Var[h] under the densities, h(f) and w(f) the mean and variance of a count given f.
        Panels go on beyond the highest knot, as in `log_predictive`, to where e^2f times the Gaussian ends.
        """
        mean, variance = np.empty((2, len(self.mean)))
        for first in range(0, len(mean), BLOCK):
            rows = slice(first, first + BLOCK)
            mean[rows], variance[rows] = self.select(rows)._count_moments()
        return mean, variance

    def _count_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """`count_moments` at once."""
        last = self.edges[:, -1:]
        beyond = np.maximum(self.mean + self.sd * (2.0 * self.sd + REACH), last[:, 0])[:, None] - last
        panels = int(np.clip(np.ceil(np.max(beyond[:, 0] / self.sd)), 1, MOST))
        tail = last + beyond * (np.arange(1.0, panels + 1.0) / panels)
        f, log_w = nodes(np.concatenate([self.edges, tail], axis=1))
        log_w += self.log_beyond(f) - self.log_mass[:, None]
        log_h, log_v = cast(Any, self.likelihood).log_given(f)
        log_mean = logsumexp(log_w + log_h, axis=1)
        with np.errstate(divide="ignore", over="ignore"):  # h at its mean; counts beyond floats are infinite
            gap = np.abs(log_h - log_mean[:, None])
            log_gap = np.maximum(log_h, log_mean[:, None]) + np.log(-np.expm1(-gap))
            log_variance = np.logaddexp(
                logsumexp(log_w + log_v, axis=1), logsumexp(log_w + 2.0 * log_gap, axis=1)
            )
            return np.exp(log_mean), np.exp(log_variance)

    def fall(self) -> tuple[np.ndarray, np.ndarray]:
        """By how much the log density is below its top at the lowest and at the highest knot, [Q] each."""
        ends = self.spline.knots[:, [0, -1]] * self.sd[:, None] + self.mean[:, None]
        width = np.diff(ends, axis=1)
        top = np.max(self.log_unnormalised(self.panels[0]), axis=1, keepdims=True)
        low, high = (top - self.log_unnormalised(ends + 1e-9 * width * np.array([1.0, -1.0]))).T
        return low, high


def nodes(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes [Q, K] of panels with ends [Q, P + 1], and logarithms [Q, K] of their weights."""
    x, w, _ = gauss_legendre(NODES)
    half, centre = 0.5 * np.diff(edges, axis=1), 0.5 * (edges[:, 1:] + edges[:, :-1])
    f = (centre[..., None] + half[..., None] * x).reshape(len(edges), -1)
    with np.errstate(divide="ignore"):  # panels without width
        return f, np.log(half[..., None] * w).reshape(f.shape)


def spread_out(knots: np.ndarray) -> np.ndarray:
    """Knots [Q, G] in order, and apart by at least `APART` of their range (over the number of knots)."""
    knots = np.sort(knots, axis=1)
    G = knots.shape[1]
    least = APART * (knots[:, -1:] - knots[:, :1]) / G * np.arange(G)
    low, high = knots[:, :1], knots[:, -1:]
    apart = np.maximum.accumulate(knots - least, axis=1) + least  # pushed upwards
    return low + (apart - low) * ((high - low) / (apart[:, -1:] - low))


def join(densities: list[Densities]) -> Densities:
    """Densities of all parts, one after the other; their numbers of own data may differ."""
    most = max(each.own.there.shape[1] for each in densities)
    owns = [Own(*(np.pad(x, ((0, 0), (0, most - x.shape[1]))) for x in each.own)) for each in densities]
    return Densities(
        np.concatenate([each.mean for each in densities]),
        np.concatenate([each.sd for each in densities]),
        Spline(
            *(
                np.concatenate(x)
                for x in zip(*(vars(each.spline).values() for each in densities), strict=True)
            )
        ),
        Own(*(np.concatenate(x) for x in zip(*owns, strict=True))),
        densities[0].likelihood,
    )
