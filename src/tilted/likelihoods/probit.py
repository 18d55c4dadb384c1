"""Probit likelihood p(y | f) = Phi(y f), y in {-1, +1} [Zhang 2020, appendix C.1].

Everything is computed from u = y f, which turns label -1 into +1 (the symmetry is exact). The printed
variance s^2 - s^4 r (z + r) / (1 + s^2) cancels for z << 0; here it is s^2 (1 + s^2 H) / (1 + s^2) with
H = 1 - r (z + r) from a continued fraction below z = -4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr

from tilted.likelihoods.contract import Labels, Shape, Tilted, require_powers
from tilted.likelihoods.normal import (
    KNEE,
    LOG_SQRT_2PI,
    STEP,
    WIDE,
    hazard,
    loss_of_variance,
    probit_moments,
    probit_shape,
    remaining_curvature,
)
from tilted.likelihoods.probit_power import powered_moments
from tilted.numerics.quadrature import TiltedDensity, bisect, gaussian_trapezoid, panel_edges

STRIP = 2.7  # the zeros of Phi nearest to the real line have imaginary part 2.81
DROP = 50.0  # panels reach down to exp(-DROP) of the mode
# panel ends around the step of Phi at zero, where the distribution function has a logarithmic kink
BREAKS = np.concatenate([[0.0, 1.0, 2.0, 4.0], 8.0 * 4.0 ** np.arange(12), [-1.0, -2.0, -4.0, -8.0]])
# wide marginals: largest |mean| in sd, nodes KNEE sinh(k STEP) for |k| <= HALF
SPAN, HALF = 10.0, 900
SERIES_FROM = 100.0  # beyond, r (u + r) is its series in 1 / u^2
REACH, HALVINGS = 60.0, 12  # the support is searched within REACH sd of the mode


@dataclass(frozen=True)
class Probit(Labels):
    """Binary labels y in {-1, +1} with p(y | f) = Phi(y f).

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.likelihoods import Probit
    >>> likelihood = Probit()
    >>> likelihood.log_predictive(np.array([1.0]), np.array([0.5]), np.array([1.0])).round(3)
    array([-0.449])
    """

    name: ClassVar[str] = "probit"
    log_concave: ClassVar[bool] = True

    def tilted(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0) -> Tilted:
        """Moments of N(f; m, v) Phi(y f)^power, arrays [N]; in closed form at power 1 [Zhang 2020, C.1].

        ``power`` is a float or an array [N], in (0, 1].
        """
        if np.ndim(power) or power != 1.0:
            return _powered(y, m, v, require_powers(power, m))
        moments = probit_moments(y * m, v)
        d1 = y * moments.d1
        return Tilted(moments.log_z, d1, moments.d2, m + v * d1, moments.variance)

    def tilted_shape(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Shape:
        """Skewness and excess kurtosis of N(f; m, v) Phi(y f) / Z, arrays [N]."""
        skewness, kurtosis = probit_shape(y * m, v)
        return Shape(y * skewness, kurtosis)

    def tilted_density(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> TiltedDensity:
        """Densities [N] of f under N(f; m, v) Phi(y f), log-concave.

        For y m <= 0 offsets of u = y f are measured from a = y m / (1 + v), where Phi's Gaussian factor
        is absorbed exactly; otherwise from y m.
        """
        mu = y * m
        shrunk = v / (1.0 + v)
        origin = np.where(mu > 0, mu, mu / (1.0 + v))

        def log_u(t: np.ndarray) -> np.ndarray:
            column = (slice(None),) + (None,) * (t.ndim - 1)
            return _log_density_u(t, mu[column], v[column], shrunk[column], origin[column])

        moments = self.tilted(np.ones_like(mu), mu, v)
        low, high = _support(log_u, moments.mean - origin, np.sqrt(moments.variance))
        edges = panel_edges(low, high, 20)
        kinked = (high - low > 10.0) & (origin + low < 0) & (origin + high > 0)
        if np.any(kinked):
            breaks = np.where(kinked[:, None], BREAKS - origin[:, None], low[:, None])
            edges = panel_edges(low, high, 20, breaks)
        sign = y[:, None]
        edges = np.where(sign > 0, edges, -edges[:, ::-1])
        return TiltedDensity(lambda t: log_u(sign * t), y * origin, edges)

    def expected_log(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[log Phi(y f)] under N(m, v) and its derivatives in m and v, arrays [N].

        Trapezoidal rule: log Phi is analytic in a strip of half width 2.8. Wide marginals use nodes that
        crowd around the step.
        """
        mu, sd = y * m, np.sqrt(v)
        wide = (sd > WIDE) & (np.abs(mu) <= SPAN * sd)
        out = np.empty((3, len(m)))
        if np.any(wide):
            out[:, wide] = _expected_log_wide(mu[wide], sd[wide])
        far = (sd > WIDE) & ~wide  # the zeros of Phi are SPAN sd away, or nothing is left but exp(-SPAN^2/2)
        if np.any(far):
            out[:, far] = _expected_log(mu[far], sd[far], np.inf)
        for group in _groups_by_size(sd, np.flatnonzero(sd <= WIDE)):
            out[:, group] = _expected_log(mu[group], sd[group], STRIP)
        return out[0], y * out[1], out[2]

    def log_predictive(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """log Phi(y m / sqrt(1 + v)), arrays [N]."""
        return log_ndtr(y * m / np.sqrt(1.0 + v))

    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log Phi(y f), broadcast."""
        return log_ndtr(y * f)


def _powered(y: np.ndarray, m: np.ndarray, v: np.ndarray, powers: np.ndarray) -> Tilted:
    """Moments with a power for each site, group by group."""
    out = np.empty((5, len(m)))
    for power in np.unique(powers):
        rows = powers == power
        arguments = y[rows], m[rows], v[rows]
        tilted = Probit().tilted(*arguments) if power == 1.0 else powered_moments(*arguments, float(power))
        out[:, rows] = tilted.log_z, tilted.d1, tilted.d2, tilted.mean, tilted.variance
    return Tilted(*out)


def _log_density_u(
    t: np.ndarray, mu: np.ndarray, v: np.ndarray, shrunk: np.ndarray, origin: np.ndarray
) -> np.ndarray:
    """log [N(u; mu, v) Phi(u)] at u = origin + t (formula sheet 1.3)."""
    u = origin + t
    scale = 0.5 * np.log(v) + LOG_SQRT_2PI
    direct = -((t + (origin - mu)) ** 2) / (2.0 * v) + log_ndtr(u) - scale
    absorbed = (u < 0) & (mu <= 0)
    if not np.any(absorbed):
        return direct
    with np.errstate(over="ignore", divide="ignore"):
        tail = np.log(0.5 * erfcx(-np.minimum(u, 0.0) / np.sqrt(2.0)))
    stable = -(t**2) / (2.0 * shrunk) + tail - mu**2 / (2.0 * (1.0 + v)) - scale
    return np.where(absorbed, stable, direct)


def _support(
    log_u: Callable[[np.ndarray], np.ndarray], mean: np.ndarray, sd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Offsets [N] on both sides where a log-concave density has dropped by DROP from its mode.

    The ends are moved outwards by what the bisection leaves open: for a wide cavity that is many times
    the width of the step at zero, and an end inside it would cut mass off.
    """
    slope_step = 1e-3 * sd
    mode = bisect(lambda t: log_u(t + slope_step) - log_u(t - slope_step), mean - 2 * sd, mean + 2 * sd, 12)
    floor = log_u(mode) - DROP
    reach, left_open = REACH * sd, REACH * sd * 0.5 ** (HALVINGS + 1)
    high = bisect(lambda t: log_u(t) - floor, mode, mode + reach, HALVINGS)
    low = -bisect(lambda t: log_u(-t) - floor, -mode, -mode + reach, HALVINGS)
    return low - left_open, high + left_open


def _groups_by_size(sd: np.ndarray, index: np.ndarray) -> list[np.ndarray]:
    """Parts of an array of indices whose standard deviations are of like size (they share nodes)."""
    size = np.where(sd[index] <= 0.6, 0, np.ceil(np.log2(sd[index] / 0.6))).astype(int)
    return [index[size == s] for s in np.unique(size)]


def _expected_log(mu: np.ndarray, sd: np.ndarray, strip: float) -> np.ndarray:
    """E[log Phi(u)], and derivatives in mean and variance, for u ~ N(mu, sd^2): array [3, N]."""
    x, w = gaussian_trapezoid(sd, strip)
    u = mu[:, None] + sd[:, None] * x
    r = hazard(u)
    product = r * (u + r)  # cancels far on the left, where Mills' ratio has its asymptotic series
    if np.any(u < -SERIES_FROM):
        square = np.maximum(u**2, SERIES_FROM**2)
        series = 1.0 - (1.0 - (6.0 - 50.0 / square) / square) / square
        product = np.where(u < -SERIES_FROM, series, product)
    return np.stack([log_ndtr(u) @ w, r @ w, -0.5 * (product @ w)])


def _nodes_around_step() -> tuple[np.ndarray, np.ndarray]:
    """Nodes u = KNEE sinh(w) [K], and log Phi, r and -r (u + r) / 2 there, times du [3, K]."""
    w = STEP * np.arange(-HALF, HALF + 1)
    u = KNEE * np.sinh(w)
    r = hazard(u)
    loss = loss_of_variance(u, r, remaining_curvature(u, r))
    functions = np.stack([log_ndtr(u), r, -0.5 * loss])
    return u, functions * (STEP * KNEE * np.cosh(w) / np.sqrt(2.0 * np.pi))


NODES, FUNCTIONS = _nodes_around_step()


def _expected_log_wide(mu: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """Integrate by the trapezoidal rule in w, u = KNEE sinh(w): all sites share the nodes u.

    Nodes are KNEE * STEP = 0.4 apart at the step and in proportion to |u| far from it, so that their number
    grows with log sd only. At |u| = SPAN sd they are two thirds of an sd apart.
    """
    reach = np.max(np.abs(mu) + 8.5 * sd)
    near = slice(*np.searchsorted(NODES, [-reach, reach]))
    weights = np.exp(-0.5 * ((NODES[near, None] - mu) / sd) ** 2) / sd
    return FUNCTIONS[:, near] @ weights
