"""Errors and costs of the projection's lookup tables, the certified one and the paper's.

The paper's table holds sigma_QP^2 on a grid of mu and log10 sigma [Zhang 2020, appendix J]: 20001 x 2001
numbers for a label (0.32 GB), interpolated linearly, with EP's variance outside the box. ``TableGrid``
returns the same numbers without the table. Some of its rows are built to time them, and a coarse table to
time an evaluation.

`compare` measures error, size and time of the projections. `papers.qp.lookup.effect` measures their effect on
fits. Times are processor seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from papers.core import render, store
from papers.core.render import Column, text
from papers.qp.refit import certified_table
from tilted import likelihoods
from tilted.projections import table as lookup
from tilted.projections.moments import TableGrid, kl, wasserstein, wasserstein_sd

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    import pandas as pd

    from papers.core.study import Row
    from tilted.likelihoods.contract import Likelihood
    from tilted.projections.moments import Projection

    Arguments = tuple[Likelihood, np.ndarray, np.ndarray, np.ndarray]
    Result = TypeVar("Result")

PAPER, COARSE = TableGrid(), TableGrid(step=0.25)
CHUNK = 256
"""Cells of a table that are integrated at once."""

REGIONS = {"box": (10.0, -1.0, 1.0), "plane": (1e3, -3.0, 3.0)}
"""Region -> largest |mu|, ends of log10 sigma."""

COLUMNS = tuple(
    "projection likelihood y region points error_max error_median above_gap bytes build_seconds "
    "microseconds".split()
)
"""Errors are relative, of sigma; ``above_gap``: share of the points where sigma^2 is off by more than EP's
sigma^2 is; ``build_seconds``: for the paper's table projected from some rows."""

ALLOWED, SMALLEST, POINTS = 1e-4, 1e-8, 0.0025
"""Allowed differences of a repeated row. An error may change by `ALLOWED` of itself, or of `SMALLEST`
(rounding decides smaller ones), and a share of points by `POINTS`."""

TITLE = "Lookup tables of the Wasserstein projection"
LEGEND = """\
Errors of sigma are relative, against quadrature, at random points: mu uniform, sigma log-uniform, in the
paper's box (|mu| <= 10, 0.1 <= sigma <= 10) and in the plane (|mu| <= 1e3, 1e-3 <= sigma <= 1e3). "Above the
gap": share of the points where sigma^2 is off by more than EP's sigma^2 is. The paper's table: 20001 x 2001
float64 a label or count, linear, EP's variance outside the box; its build time is projected from a few rows,
its evaluation is timed on a coarse table inside the box. Times are processor seconds of one core."""


def write_table(log: str) -> bytes:
    """Build the certified table, and log its measured error against quadrature."""
    built = lookup.build()
    store.write_text(log, f"{built.origin}\n")
    return lookup.encode(built)


def compare(counts: Sequence[int], points: int, rows: int, log: str = "") -> Iterator[dict[str, Any]]:
    """Yield rows with `COLUMNS` for the probit (label +1), then for each count.

    Parameters
    ----------
    counts : sequence of int
        Counts of the Poisson likelihood.
    points : int
        Random points in each region: mu uniform, sigma log-uniform; in the paper's box and in the plane.
    rows : int
        Rows of the paper's table that are built to time it.
    log : str
        Nothing is logged.
    """
    table, seconds = _timed(lookup.build, ())
    sizes = {"quadrature": (0, 0.0), "certified": (len(lookup.encode(table)), seconds)}
    n_cells = int(np.prod([len(axis) for axis in axes(PAPER)]))
    for name, y in [("probit", 1), *(("poisson-square", count) for count in counts)]:
        sizes["as-described"] = 8 * n_cells, n_cells * _seconds_a_cell(name, y, rows)
        for region in REGIONS:
            arguments = _arguments(name, y, region, points)
            exact, gap = _by_quadrature(*arguments), kl(*arguments)
            for projection, project in _projections(name, table).items():
                result, seconds = _timed(project, arguments)
                if projection == "as-described":
                    seconds = _timed(*_small_table(name, y, arguments))[1]
                n_bytes, build_seconds = sizes[projection]
                yield {
                    **{"projection": projection, "likelihood": name, "y": y, "region": region},
                    **_errors(result, exact, gap),
                    **{"bytes": n_bytes, "build_seconds": build_seconds},
                    "microseconds": 1e6 * seconds / points,
                }


def _projections(likelihood: str, table: lookup.RatioTable) -> dict[str, Callable[..., Projection]]:
    """Return the projections to compare; counts have no certified table and need none."""
    certified = {"certified": table.project} if likelihood == "probit" else {}
    return {"quadrature": _by_quadrature, **certified, "as-described": PAPER.project}


def _arguments(name: str, y: int, region: str, points: int) -> Arguments:
    """Return likelihood, labels and cavities of random points in a region, the same in every call."""
    limit, low, high = REGIONS[region]
    rng = np.random.default_rng(0)
    mu, sigma = rng.uniform(-limit, limit, points), 10.0 ** rng.uniform(low, high, points)
    return likelihoods.get(name), np.full(points, float(y)), mu, sigma**2


def _by_quadrature(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Projection:
    """Compute `wasserstein` in pieces that stay in the cache."""
    cuts = np.arange(lookup.BLOCK, len(m), lookup.BLOCK)
    blocks = zip(*(np.split(array, cuts) for array in (y, m, v)), strict=True)
    results = [wasserstein(likelihood, *block) for block in blocks]
    fields = vars(results[0])
    return type(results[0])(*(np.concatenate([getattr(r, name) for r in results]) for name in fields))


def _timed(function: Callable[..., Result], arguments: tuple[object, ...]) -> tuple[Result, float]:
    began = time.process_time()
    return function(*arguments), time.process_time() - began


def axes(grid: TableGrid) -> tuple[np.ndarray, np.ndarray]:
    """Return mu and log10 sigma of the rows and columns of the paper's table on a grid."""
    I, J = round(grid.mu_limit / grid.step), round(grid.log10_sigma_limit / grid.step)  # noqa: E741
    return grid.step * np.arange(-I, I + 1), grid.step * np.arange(-J, J + 1)


def build(name: str, y: float, mu: np.ndarray, log10_sigma: np.ndarray) -> np.ndarray:
    """Build sigma_QP^2 [mu, sigma] of one label or count of a likelihood, by quadrature."""
    likelihood = likelihoods.get(name)
    m, sigma = (cells.ravel() for cells in np.meshgrid(mu, 10.0**log10_sigma, indexing="ij"))
    cuts = np.arange(CHUNK, len(m), CHUNK)
    values = [
        wasserstein_sd(likelihood.tilted_density(np.full(len(means), float(y)), means, sds**2)) ** 2
        for means, sds in zip(np.split(m, cuts), np.split(sigma, cuts), strict=True)
    ]
    return np.concatenate(values).reshape(len(mu), len(log10_sigma))


def _seconds_a_cell(name: str, y: float, rows: int) -> float:
    """Return the processor seconds for one cell of the paper's table, from its middle rows."""
    mu, log10_sigma = axes(PAPER)
    values, seconds = _timed(build, (name, y, mu[len(mu) // 2 :][:rows], log10_sigma))
    return seconds / values.size


def _small_table(name: str, y: float, arguments: Arguments) -> tuple[Callable[..., np.ndarray], Arguments]:
    """Return a function that interpolates in a coarse table, and points in the paper's box, to time it."""
    from scipy.interpolate import RegularGridInterpolator

    table = RegularGridInterpolator(axes(COARSE), build(name, y, *axes(COARSE)))
    likelihood, labels, m, v = arguments

    def variance(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        likelihood.tilted(y, m, v)  # the other moments of the projection
        values: np.ndarray = table(np.column_stack([m, 0.5 * np.log10(v)]))
        return values

    return variance, (likelihood, labels, np.clip(m, -10, 10), np.clip(v, 0.01, 100.0))


def _errors(result: Projection, exact: Projection, ep: Projection) -> dict[str, Any]:
    error = np.abs(np.sqrt(result.variance / exact.variance) - 1.0)
    gap = np.abs(ep.variance - exact.variance)
    # what differs by rounding alone is no gap
    above = np.abs(result.variance - exact.variance) > np.maximum(gap, 1e-13 * exact.variance)
    return {
        "points": len(error),
        "error_max": error.max(),
        "error_median": np.median(error),
        "above_gap": above.mean(),
    }


def repeat(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield rows with their errors measured again; times are not."""
    for (name, y, region, points), of_points in rows.groupby(
        ["likelihood", "y", "region", "points"], sort=False
    ):
        arguments = _arguments(name, y, region, points)
        exact, gap = _by_quadrature(*arguments), kl(*arguments)
        projections = _projections(name, certified_table())
        for line in of_points.to_dict("records"):
            yield {**line, **_errors(projections[line["projection"]](*arguments), exact, gap)}


def allowed(name: str) -> Callable[[Row], float]:
    """Return the function that says how far an error measured again may be from the recorded one."""
    return lambda row: ALLOWED * max(float(row[name]), SMALLEST)


def _size(n_bytes: int) -> str:
    if n_bytes == 0:
        return "none"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes > 1e6 else f"{n_bytes / 1e3:.0f} kB"


TABLE = (
    text("Projection", "projection"),
    text("Likelihood", "likelihood"),
    Column("y", "y"),
    text("Region", "region"),
    Column("Max error", "error_max", ".1e"),
    Column("Median", "error_median", ".1e"),
    Column("Above the gap", "above_gap", ".1%"),
    Column("Size", lambda line: _size(line.bytes)),
    Column("Build, s", "build_seconds", ".0f"),
    Column("us a point", "microseconds", ".1f"),
)


def section(errors: pd.DataFrame) -> str:
    """Return the table of errors, sizes and times."""
    return "\n".join(render.markdown(TABLE, errors.itertuples()))
