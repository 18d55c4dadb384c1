"""Logit likelihood p(y | f) = 1 / (1 + exp(-y f)), y in {-1, +1} [Rasmussen & Williams 2006, eq. 3.4].

Everything is computed from u = y f, which turns label -1 into +1 (the symmetry is exact). No integral has a
closed form; all are trapezoidal sums, which converge geometrically because log sigma(u) is analytic for
|Im u| < pi. With g = power * log sigma(u) the tilted density N(u; mu, v) exp(g) is log-concave; its mode
c = mu + delta solves delta = v g'(c), and in offsets t = u - c

    log [N(u; mu, v) e^g] = g(c) - delta^2 / (2v) - log(2 pi v) / 2
                            - t^2 / (2v) + [g(c + t) - g(c) - t delta / v]

with a bracket that is never positive: nothing overflows, and nothing cancels for narrow or far cavities.
Narrow ones, and wide ones far from the step at zero, take nodes evenly about the mode; wide ones share nodes
that crowd around the step. The derivatives of log Z in mu are d1 = E[g'] and d2 = E[g''] + Var[g'].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit, wrightomega

from tilted.likelihoods.contract import Labels, Shape, Tilted, require_powers
from tilted.numerics.chunks import in_chunks
from tilted.numerics.quadrature import TiltedDensity, bisect, gaussian_trapezoid, panel_edges

STRIP = 2.7  # log sigma has its nearest singularities at imaginary part pi
WIDE = 1.2  # sd above which sites share nodes around the step
SPAN = 10.0  # a wide cavity whose centre is so many sd from the step does not see it
# shared nodes: KNEE sinh(k STEP), about 0.34 apart at the step
KNEE, STEP, HALF = 6.5, 0.052, 900
REACH = 8.5  # sd at which Gaussian weights are cut off
NEWTON = 4  # steps for the mode, from within log 2 of it
DROP, HALVINGS = 50.0, 14  # panels reach down to exp(-DROP) of the mode
ENDS = np.concatenate([[0.0], *(s * 2.0 ** np.arange(20.0) for s in (1.0, -1.0))])  # of panels near the step
LOSS = 0.1  # of variance, relatively, above which d2 is taken from the variance

Nodes = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Logit(Labels):
    """Binary labels y in {-1, +1} with p(y | f) = 1 / (1 + exp(-y f)).

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.likelihoods import Logit
    >>> likelihood = Logit()
    >>> likelihood.log_predictive(np.array([1.0]), np.array([0.5]), np.array([1.0])).round(3)
    array([-0.507])
    """

    name: ClassVar[str] = "logit"
    log_concave: ClassVar[bool] = True

    def tilted(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0) -> Tilted:
        """Moments of N(f; m, v) sigma(y f)^power, arrays [N]; the power is a float or an array, in (0, 1]."""
        log_z, d1, d2, offset, variance, _ = _moments(y * m, v, require_powers(power, m))
        return Tilted(log_z, y * d1, d2, m + y * offset, variance)

    def tilted_expected_log(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """E[log p(y|f)] under the tilted distribution N(f; m, v) p(y|f) / Z, arrays [N]."""
        return _moments(y * m, v, np.ones_like(v))[5]

    def tilted_shape(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Shape:
        """Skewness and excess kurtosis of N(f; m, v) sigma(y f) / Z, arrays [N]."""
        skewness, kurtosis = _shape(y * m, v)
        return Shape(y * skewness, kurtosis)

    def tilted_density(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> TiltedDensity:
        """Densities [N] of f under N(f; m, v) sigma(y f), log-concave; panels crowd around the step."""
        mu = y * m
        delta = _shift(mu, v)
        c = mu + delta
        at_mode = log_expit(c) - delta**2 / (2.0 * v) - 0.5 * np.log(2.0 * np.pi * v)

        def log_u(t: np.ndarray) -> np.ndarray:
            column = (slice(None),) + (None,) * (t.ndim - 1)
            gain = log_expit(c[column] + t) - log_expit(c)[column] - t * (delta / v)[column]
            return at_mode[column] - t**2 / (2.0 * v[column]) + gain

        far = np.sqrt(2.0 * DROP * v)  # the Gaussian factor alone has dropped there
        left_open = far * 0.5 ** (HALVINGS + 1)
        floor, zero = at_mode - DROP, np.zeros_like(far)
        high = bisect(lambda t: log_u(t) - floor, zero, far, HALVINGS) + left_open
        low = -bisect(lambda t: log_u(-t) - floor, zero, far, HALVINGS) - left_open
        edges = panel_edges(low, high, 20, ENDS - c[:, None])
        sign = y[:, None]
        edges = np.where(sign > 0, edges, -edges[:, ::-1])
        return TiltedDensity(lambda t: log_u(sign * t), y * c, edges)

    def expected_log(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[log sigma(y f)] under N(m, v) and its derivatives in m and v, arrays [N]."""
        mu, sd = y * m, np.sqrt(v)
        out = np.empty((3, len(mu)))
        for rows, nodes in _groups(mu, sd):
            u, _, w = nodes(mu[rows], sd[rows])
            complement, sigma = expit(-u), expit(u)
            values = log_expit(u), complement, -0.5 * complement * sigma
            out[:, rows] = [_mean(w, value) for value in values]
        return out[0], y * out[1], out[2]

    def log_predictive(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """log of the integral of N(f; m, v) sigma(y f) over f, arrays [N]."""
        chunks = zip(*map(in_chunks, (y, m, v)), strict=True)  # a thousand nodes a row
        return np.concatenate([self.tilted(*chunk).log_z for chunk in chunks])

    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log sigma(y f), broadcast."""
        return log_expit(y * f)


def _moments(mu: np.ndarray, v: np.ndarray, power: np.ndarray) -> np.ndarray:
    """log Z, d1, d2, mean - mu, variance and E[log sigma] [N] of N(u; mu, v) sigma(u)^power."""
    delta = _shift(mu, power * v)
    c, sd = mu + delta, np.sqrt(v)
    out = np.empty((6, len(mu)))
    for rows, nodes in _groups(c, sd):
        at, p, var = c[rows, None], power[rows, None], v[rows]
        u, t, w = nodes(c[rows], sd[rows])
        log_sigma, complement, sigma = log_expit(u), expit(-u), expit(u)
        q, z = _weights(w, t, p * (log_sigma - log_expit(at)), delta[rows] / var)
        steps = np.where(at < 0, sigma, complement)  # the smaller: g' = p (1 - sigma)
        spread = steps - _mean(q, steps)[:, None]
        d2 = _mean(q, (p * spread) ** 2 - p * complement * sigma)
        offset = _mean(q, t)
        variance = _mean(q, (t - offset[:, None]) ** 2)
        narrowed = variance < (1.0 - LOSS) * var
        d2[narrowed] = (variance[narrowed] - var[narrowed]) / var[narrowed] ** 2
        at_mode = power[rows] * log_expit(c[rows]) - delta[rows] ** 2 / (2.0 * var)
        out[:, rows] = (
            at_mode + np.log(z),
            _mean(q, p * complement),
            d2,
            delta[rows] + offset,
            variance,
            _mean(q, log_sigma),
        )
    return out


def _weights(
    w: np.ndarray, t: np.ndarray, gain: np.ndarray, slope: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weights [n, K] of a tilted distribution at nodes, normalised, and their sum [n] before."""
    q = w * np.exp(gain - t * slope[:, None])
    z = q.sum(axis=1)
    return q / z[:, None], z


def _shape(mu: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Skewness and excess kurtosis [2, N] of N(u; mu, v) sigma(u) / Z.

    Third and fourth moments, but where sigma takes little of the variance, and cumulants would be small
    differences of moments, cumulants of the derivatives g_l of log sigma by the law of total cumulance:
    d3 = E[g3] + 3 cov(g1, g2) + c3(g1), d4 = E[g4] + 4 cov(g1, g3) + 3 var(g2) + 6 c(g1, g1, g2) + c4(g1).
    """
    delta, sd = _shift(mu, v), np.sqrt(v)
    c = mu + delta
    out = np.empty((2, len(mu)))
    for rows, nodes in _groups(c, sd):
        at, var = c[rows, None], v[rows]
        u, t, w = nodes(c[rows], sd[rows])
        complement, sigma = expit(-u), expit(u)
        q, _ = _weights(w, t, log_expit(u) - log_expit(at), delta[rows] / var)
        centred = t - _mean(q, t)[:, None]
        variance = _mean(q, centred**2)
        third, fourth = _mean(q, centred**3), _mean(q, centred**4) - 3.0 * variance**2
        g1 = np.where(at < 0, sigma, complement)  # up to sign and a constant the slope, the smaller one
        a = np.where(at < 0, -1.0, 1.0) * (g1 - _mean(q, g1)[:, None])
        g2, skew = -complement * sigma, sigma - complement
        g3 = -g2 * skew
        b, g4 = g2 - _mean(q, g2)[:, None], g2 * (1.0 + 6.0 * g2)
        squared = _mean(q, a * a)
        d3 = _mean(q, g3 + 3.0 * a * b + a**3)
        d4 = _mean(q, g4 + 4.0 * a * g3 + 3.0 * b * b + 6.0 * a * a * b + a**4) - 3.0 * squared**2
        small = variance > (1.0 - LOSS) * var
        out[0, rows] = np.where(small, var**3 * d3, third) / variance**1.5
        out[1, rows] = np.where(small, var**4 * d4, fourth) / variance**2
    return out


def _mean(q: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.sum(q * values, axis=1)


def _shift(mu: np.ndarray, a: np.ndarray) -> np.ndarray:
    """delta [N] with delta = a sigma(-(mu + delta)): what a step of height ``a`` adds to the mode.

    With u = mu + delta > 0 the tail of sigma gives delta = omega(log a - mu) at most (Wright's function) and
    omega(log(a / 2) - mu) at least, from where Newton's method climbs to the root without passing it. With
    u < 0 the same holds for what is missing to ``a``, by sigma(-u) = 1 - sigma(u).
    """
    beyond = mu + 0.5 * a < 0  # u < 0
    start = np.where(beyond, -(mu + a), mu)
    s = wrightomega(np.log(0.5 * a) - start)
    for _ in range(NEWTON):
        sigma, complement = expit(start + s), expit(-start - s)
        s = s - (s - a * complement) / (1.0 + a * complement * sigma)
    return np.where(beyond, a - s, s)


def _groups(centre: np.ndarray, sd: np.ndarray) -> list[tuple[np.ndarray, Nodes]]:
    """Indices of sites that share a rule, each with (centres, sds) -> nodes, offsets, weights."""
    wide = (sd > WIDE) & (np.abs(centre) <= SPAN * sd)
    far = (sd > WIDE) & ~wide
    size = np.where(sd <= 0.6, 0, np.ceil(np.log2(np.maximum(sd, 0.6) / 0.6))).astype(int)
    groups = [(wide, _around_step), (far, _far_from_step)]
    groups += [((sd <= WIDE) & (size == s), _around_centre) for s in np.unique(size[sd <= WIDE])]
    return [(np.flatnonzero(rows), nodes) for rows, nodes in groups if np.any(rows)]


def _around_centre(
    centre: np.ndarray, sd: np.ndarray, strip: float = STRIP
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes u [n, K] evenly about each centre, their offsets t, and weights of a Gaussian there."""
    x, w = gaussian_trapezoid(sd, strip)
    t = sd[:, None] * x
    return centre[:, None] + t, t, w


def _far_from_step(centre: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integrate where only the Gaussian's width matters."""
    return _around_centre(centre, sd, np.inf)


def _around_step(centre: np.ndarray, sd: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shared nodes u [1, K], u = KNEE sinh(k STEP), for centres within SPAN sd of the step; else as above.

    They are in proportion to |u| far from it, so that their number grows with log sd only; at |u| = SPAN sd
    they are about half an sd apart.
    """
    reach = np.max(np.abs(centre) + REACH * sd)
    w = STEP * np.arange(-HALF, HALF + 1)
    u = KNEE * np.sinh(w)
    near = np.abs(u) <= reach
    t = u[near] - centre[:, None]
    weights = (STEP * KNEE / np.sqrt(2.0 * np.pi)) * np.cosh(w[near])
    return u[None, near], t, weights * np.exp(-0.5 * (t / sd[:, None]) ** 2) / sd[:, None]
