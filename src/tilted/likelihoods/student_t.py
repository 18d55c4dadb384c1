"""Student's t noise: regression that outliers do not pull [Vanhatalo, Jylanki & Vehtari 2009].

p(y|f) = t((y - f) / scale; df) / scale. It is not log-concave: a tilted distribution may have two modes, one
at the target and one at the cavity, sites may have negative precisions (a target is ignored), and EP need not
converge; its status says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tilted.likelihoods.contract import OneParameter, Reals
from tilted.likelihoods.normal import LOG_SQRT_2PI
from tilted.likelihoods.panels import DROP, ByPanels, crowd
from tilted.numerics.gamma import log_rising
from tilted.numerics.quadrature import panel_edges

GRID, TIGHTER = 32, 3  # points of the grids that find the support, and how many of these


@dataclass(frozen=True)
class StudentT(Reals, OneParameter, ByPanels):
    """Real targets with independent noise of heavy tails.

    Parameters
    ----------
    scale : float > 0
        In units of y. Learned where a fit learns the likelihood.
    df : float > 0
        Degrees of freedom, which stay as they are: the fewer, the heavier the tails.

    Raises
    ------
    ValueError
        If one is not finite and positive.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.likelihoods import StudentT
    >>> likelihood = StudentT(scale=1.0, df=4.0)
    >>> likelihood.log_predictive(np.array([1.0]), np.array([0.5]), np.array([1.0])).round(3)
    array([-1.405])
    """

    scale: float = 1.0
    df: float = 4.0
    name: ClassVar[str] = "student-t"
    log_concave: ClassVar[bool] = False
    searched: ClassVar[str] = "scale"

    def __post_init__(self) -> None:
        for name in ("scale", "df"):
            if not 0 < getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be finite and positive, got {getattr(self, name)}")

    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        constant = log_rising(0.5 * self.df, 0.5) - LOG_SQRT_2PI - np.log(self.scale)
        return constant - 0.5 * (self.df + 1.0) * np.log1p(((y - f) / self.scale) ** 2 / self.df)

    def slopes(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r, width = y - f, self.df * self.scale**2
        total = width + r**2
        return (self.df + 1.0) * r / total, (self.df + 1.0) * (r**2 - width) / total**2

    def bend(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """At the targets [N], over half the distance of the poles of the derivatives, at most the scale."""
        return y, np.full_like(y, 0.5 * min(np.sqrt(self.df), 2.0) * self.scale)

    def support(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The cavity's mean, and between which offsets from it the density counts, arrays [N].

        At m it is N(m; m, v) p(y|m), elsewhere at most N(f; m, v) p(y|y). Within these limits, grids that are
        dense about the target drop what is below exp(-`DROP`) of their highest value, of the density and of
        it times the squared distance from the target, which a heavy tail gives its variance.
        """
        gain = power * (self.log_likelihood(y, y) - self.log_likelihood(y, m))
        high = np.sqrt(2.0 * v * (DROP + gain))
        low, rows = -high, np.arange(len(m))
        ends = (y - m)[:, None] + self.scale * crowd((high + np.abs(y - m)) / self.scale)
        for _ in range(TIGHTER):
            t = panel_edges(low, high, GRID, ends)
            log = power[:, None] * self.log_likelihood(y[:, None], m[:, None] + t) - t**2 / (2.0 * v[:, None])
            second = log + np.log1p(((y - m)[:, None] - t) ** 2 / self.scale**2)
            relevant = (log > np.max(log, axis=1)[:, None] - DROP) | (
                second > np.max(second, axis=1)[:, None] - DROP
            )
            first, last = np.argmax(relevant, axis=1), t.shape[1] - 1 - np.argmax(relevant[:, ::-1], axis=1)
            low, high = t[rows, np.maximum(first - 1, 0)], t[rows, np.minimum(last + 1, t.shape[1] - 1)]
        return m, low, high

    def draw(self, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """New targets given ``f``, of its shape."""
        return f + self.scale * rng.standard_t(self.df, np.shape(f))

    def target_moments(self, m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N] of new targets where f ~ N(m, v); infinite for two degrees or fewer."""
        noise = self.scale**2 * self.df / (self.df - 2.0) if self.df > 2 else np.inf
        return m, v + noise
