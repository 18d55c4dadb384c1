"""The QP paper's own lookup table, built: sigma_QP^2 on a grid [Zhang 2020, appendix J].

A table has 20001 x 2001 numbers for a label (0.32 GB). It interpolates linearly in mu and log10 sigma, and
uses EP's variance outside the box. Some rows are built to time them, and a coarse table to time an evaluation
(`papers.qp.lookup.errors`). ``tilted.projections.moments.TableGrid`` returns the same numbers without the
table. Both serve only to measure their effect: use ``tilted.projections.table`` instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tilted import likelihoods
from tilted.projections.moments import Projection, TableGrid, wasserstein_sd

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood

CHUNK = 256  # points integrated at once


def half_sizes(grid: TableGrid) -> tuple[int, int]:
    """Return I and J: grid intervals on each side of zero, in mu and in log10 sigma."""
    return round(grid.mu_limit / grid.step), round(grid.log10_sigma_limit / grid.step)


def build(likelihood: str, y: float, grid: TableGrid, first: int, last: int) -> np.ndarray:
    """Build rows ``first`` to ``last`` of the table of one label or count, by panel quadrature.

    Returns
    -------
    numpy.ndarray
        sigma_QP^2 [rows, columns]; row i is mu = (i - I) step, column j is log10 sigma = (j - J) step, with
        I, J of `half_sizes`.

    Raises
    ------
    ValueError
        If the grid has no such rows, or y is not in the likelihood's domain.
    """
    I, J = half_sizes(grid)  # noqa: E741
    if not 0 <= first <= last <= 2 * I:
        raise ValueError(f"the grid has rows 0 to {2 * I}, not {first} to {last}")
    model = likelihoods.get(likelihood)
    model.domain([y])
    rows, columns = np.arange(first, last + 1) - I, np.arange(-J, J + 1)
    mu, sigma = (
        a.ravel() for a in np.meshgrid(rows * grid.step, 10.0 ** (columns * grid.step), indexing="ij")
    )
    values = np.empty(len(mu))
    for start in range(0, len(mu), CHUNK):
        chunk = slice(start, start + CHUNK)
        density = model.tilted_density(np.full(len(mu[chunk]), float(y)), mu[chunk], sigma[chunk] ** 2)
        values[chunk] = wasserstein_sd(density) ** 2
    return values.reshape(len(rows), len(columns))


@dataclass(frozen=True)
class PaperTable:
    """The table of a likelihood; ``values`` holds sigma_QP^2 [rows, columns] of each label or count."""

    likelihood: str
    grid: TableGrid
    values: dict[float, np.ndarray]

    sensitivity = None

    def project(self, likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Projection:
        """Interpolate sigma^2 in (mu, log10 sigma), moment matching outside the box; y, m, v are arrays [N].

        Raises
        ------
        ValueError
            For another likelihood, or a label or count whose table is not there.
        """
        missing = set(np.unique(y).tolist()) - set(self.values)
        if likelihood.name != self.likelihood or missing:
            raise ValueError(f"no table of '{likelihood.name}' for {sorted(missing) or 'any label'}")
        t, log_sigma = likelihood.tilted(y, m, v), 0.5 * np.log10(v)
        inside = (np.abs(m) <= self.grid.mu_limit) & (np.abs(log_sigma) <= self.grid.log10_sigma_limit)
        variance = t.variance.copy()
        for label, values in self.values.items():
            these = inside & (y == label)
            variance[these] = self._bilinear(values, m[these], log_sigma[these])
        return Projection(t.log_z, t.mean, variance, t.d1, (variance - v) / v**2)

    def _bilinear(self, values: np.ndarray, m: np.ndarray, log_sigma: np.ndarray) -> np.ndarray:
        step, (I, J) = self.grid.step, half_sizes(self.grid)  # noqa: E741
        row = np.minimum(np.floor(m / step), I - 1).astype(int)
        column = np.minimum(np.floor(log_sigma / step), J - 1).astype(int)
        a, b = m / step - row, log_sigma / step - column
        at = values[row + I, column + J], values[row + I, column + J + 1]
        above = values[row + I + 1, column + J], values[row + I + 1, column + J + 1]
        return (1 - a) * ((1 - b) * at[0] + b * at[1]) + a * ((1 - b) * above[0] + b * above[1])
