"""Tilted moments by quadrature in panels, for likelihoods that know log p and its derivatives in f.

The panels cover where N(f; m, v) p(y|f)^power is above exp(-`DROP`) of its highest value, evenly, and crowd
in powers of two about the places where log p bends. With l = log p, l' and l'' its derivatives and E under
the tilted distribution, d1 = power E[l'] and d2 = E[power l''] + Var[power l'], which are taken from mean
and variance where this differs from v by more than a tenth [Rasmussen & Williams 2006, section 3.6].
"""

from __future__ import annotations

import abc

import numpy as np

from tilted.likelihoods.contract import Tilted, require_powers
from tilted.likelihoods.normal import LOG_SQRT_2PI
from tilted.likelihoods.shape import FromTilted
from tilted.numerics.quadrature import Panels, TiltedDensity, bisect, fallen_off, integrate, panel_edges

BLOCK = 256  # sites integrated at once
DROP = 50.0
MODE_HALVINGS = 100
FARTHEST = 1e300  # from m, where the mode is looked for
EVEN = 8  # panels over the support
LOSS = 0.1  # of variance, relatively, above which d2 is taken from the variance
WIDE = 100.0  # lengths of a bend, in whose marginals second derivatives cancel
FARTHEST_CROWD = 2.0**50  # lengths of a bend; beyond it digits of f are lost beside those of the bend's place


class ByPanels(FromTilted, abc.ABC):
    """Methods that a likelihood inherits if it has ``log_likelihood``, `slopes` and `bend`.

    Those take y and f of any shapes that broadcast. One that is not log-concave needs a `support` of its own.
    """

    @abc.abstractmethod
    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log p(y|f), broadcast."""

    @abc.abstractmethod
    def slopes(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First and second derivative of log p in f, broadcast."""

    @abc.abstractmethod
    def bend(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the places and lengths of the bends of log p, arrays [N], or [N, B] for B bends a site."""

    def support(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mode of the tilted density, and the ends of what counts as offsets from it, arrays [N].

        Of a log-concave likelihood: the mode lies between m and m + v power l'(m), and beyond it the density
        falls at least as fast as the cavity's.
        """
        step = np.clip(v * power * self.slopes(y, m)[0], -FARTHEST, FARTHEST)
        low, high = m + np.minimum(step, 0.0), m + np.maximum(step, 0.0)
        halvings = MODE_HALVINGS + max(0, *np.frexp(step)[1].tolist())  # to the same digits from far off
        mode = bisect(lambda f: power * self.slopes(y, f)[0] - (f - m) / v, low, high, halvings)

        def fallen(t: np.ndarray) -> np.ndarray:
            gain = power * (self.log_likelihood(y, mode + t) - self.log_likelihood(y, mode))
            return DROP + gain - t * (2.0 * (mode - m) + t) / (2.0 * v)

        reach = np.sqrt(2.0 * DROP * v)
        return mode, -fallen_off(lambda t: fallen(-t), reach), fallen_off(fallen, reach)

    def tilted_density(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0
    ) -> TiltedDensity:
        """The densities [N] of N(f; m, v) p(y|f)^power, from where they are highest."""
        power = require_powers(power, m)
        origin, low, high = self.support(y, m, v, power)

        def log_density(t: np.ndarray) -> np.ndarray:
            column = (slice(None),) + (None,) * (t.ndim - 1)
            gaussian = (
                -((t + (origin - m)[column]) ** 2) / (2.0 * v[column])
                - 0.5 * np.log(v[column])
                - LOG_SQRT_2PI
            )
            return gaussian + power[column] * self.log_likelihood(y[column], origin[column] + t)

        return TiltedDensity(log_density, origin, self._edges(y, origin, low, high))

    def tilted(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0) -> Tilted:
        """Moments of N(f; m, v) p(y|f)^power, arrays [N]; the power is a float or an array [N], in (0, 1]."""
        powers = require_powers(power, m)
        out = np.empty((5, len(m)))
        for rows in _blocks(len(m)):
            out[:, rows] = self._moments(y[rows], m[rows], v[rows], powers[rows])
        return Tilted(*out)

    def _moments(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: np.ndarray) -> list[np.ndarray]:
        """log Z, d1, d2, mean and variance."""
        density = self.tilted_density(y, m, v, power)
        panels = integrate(density)
        first, second = self.slopes(y[:, None, None], density.origin[:, None, None] + panels.offsets)
        offset, slope = panels.expectation(panels.offsets), panels.expectation(first)
        variance = panels.expectation((panels.offsets - offset[:, None, None]) ** 2)
        spread = panels.expectation((first - slope[:, None, None]) ** 2)
        d2 = power * panels.expectation(second) + power**2 * spread
        changed, mean = np.abs(variance - v) > LOSS * v, density.origin + offset
        d1 = np.where(changed, (mean - m) / v, power * slope)
        d2 = np.where(changed, (variance - v) / v**2, d2)
        return [panels.log_z, d1, d2, mean, variance]

    def expected_log(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[log p(y|f)] under N(m, v) and its derivatives in m and v, arrays [N]."""
        out = np.empty((3, len(m)))
        for rows in _blocks(len(m)):
            panels, f = self.marginal_panels(y[rows], m[rows], v[rows])
            label = y[rows, None, None]
            first, second = self.slopes(label, f)
            value = self.log_likelihood(label, f)
            out[:, rows] = [panels.expectation(values) for values in (value, first, 0.5 * second)]
            wide = np.sqrt(v[rows]) > WIDE * np.min(self.bend(y[rows])[1].reshape(len(f), -1), axis=1)
            if np.any(wide):  # E[l''] = E[l (t^2 / v - 1)] / v for t ~ N(0, v), by parts
                square = panels.offsets**2 / v[rows, None, None]
                by_value = panels.expectation(value * (square - 1.0)) / (2.0 * v[rows])
                out[2, rows] = np.where(wide, by_value, out[2, rows])
        return out[0], out[1], out[2]

    def marginal_panels(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> tuple[Panels, np.ndarray]:
        """Panels of N(m, v) [N] itself, and f at their nodes."""
        reach = np.sqrt(2.0 * DROP * v)

        def log_density(t: np.ndarray) -> np.ndarray:
            return -(t**2) / (2.0 * v[:, None])

        panels = integrate(TiltedDensity(log_density, m, self._edges(y, m, -reach, reach)))
        return panels, m[:, None, None] + panels.offsets

    def _edges(self, y: np.ndarray, origin: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        n = len(y)
        place, length = (values.reshape(n, -1, 1) for values in self.bend(y))
        place = place - origin[:, None, None]
        farthest = np.maximum(high, -low)[:, None, None] + np.abs(place)
        breaks = (place + length * crowd(farthest / length)).reshape(n, -1)
        edges = panel_edges(low, high, EVEN, breaks)
        used = np.any(np.diff(edges, axis=1) > 0, axis=0)  # the others lie beyond every support
        return edges[:, np.append(True, used)]


def crowd(reach: np.ndarray) -> np.ndarray:
    """Offsets 0, and plus and minus a half, 1, 2, 4, ... up to the largest reach or `FARTHEST_CROWD`."""
    farthest = np.fmin(np.fmax.reduce(reach, axis=None, initial=1.0), FARTHEST_CROWD)
    powers = 2.0 ** np.arange(-1.0, np.log2(farthest))
    return np.concatenate([[0.0], powers, -powers])


def _blocks(n: int) -> list[slice]:
    return [slice(first, first + BLOCK) for first in range(0, n, BLOCK)]
