"""What lookup tables cost and do: the certified one and the paper's, against quadrature.

``compare`` measures error, size and time of the projections themselves; ``effects`` runs QP with each of
them on the same folds at the same hyperparameters (those that the protocol's QP starts from).
Times are processor seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilted import api, likelihoods, lookup, metrics, protocols
from tilted.data import Dataset, split
from tilted.experiments import paper_table, qp
from tilted.gaussian import cavity
from tilted.inference.options import Options
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.projections import TableGrid, kl, wasserstein

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from tilted.data import Split
    from tilted.inference.rule import Projector
    from tilted.likelihoods.contract import Likelihood
    from tilted.projections import Projection

    Arguments = tuple[Likelihood, np.ndarray, np.ndarray, np.ndarray]
    Made = TypeVar("Made")

PAPER = TableGrid()
REGIONS = {"box": (10.0, -1.0, 1.0), "plane": (1e3, -3.0, 3.0)}
COLUMNS = tuple(
    "projection likelihood y region points error_max error_median above_gap bytes build_seconds "
    "microseconds".split()
)
"""Columns of `compare`. Errors are relative, of sigma; ``above_gap``: share of the points where sigma^2 is
off by more than EP's sigma^2 is; ``build_seconds``: for the paper's table projected from one block."""

EFFECT_COLUMNS = tuple("dataset protocol seed fold projection converged ntll outside_box".split())


def modules_of_comparison(likelihood: str) -> list[str]:
    """Modules whose closures a line of `compare` depends on."""
    return [__name__, likelihoods.module_of(likelihood)]


def modules_of(protocol: str, dataset: str) -> list[str]:
    """Modules whose closures a line of `effects` depends on, the search for its hyperparameters included."""
    start = protocols.method(protocol, qp.task_of(dataset), "qp")["start"]
    job = protocols.job_of(protocols.block(protocol, qp.task_of(dataset))["methods"], start)
    assert job is not None, "methods start from others of their protocol"
    return [__name__, *(name for method in (job, "qp") for name in qp.modules_of(protocol, dataset, method))]


def compare(counts: Sequence[int], points: int, rows: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Lines with `COLUMNS` for the probit (label +1), then for each count.

    Parameters
    ----------
    counts : sequence of int
        Counts of the Poisson likelihood.
    points : int
        Random points in each region: mu uniform, sigma log-uniform; in the paper's box and in the plane.
    rows : int
        Rows of the paper's table that are built to time it.
    """
    began = time.process_time()
    table = lookup.build()
    certified = len(lookup.encode(table)), time.process_time() - began
    size = np.prod([2 * half + 1 for half in paper_table.half_sizes(PAPER)])
    for name, y in [("probit", 1), *(("poisson-square", count) for count in counts)]:
        model = likelihoods.get(name)
        whole = 8 * int(size), size * _seconds_a_cell(name, y, rows)
        for region in REGIONS:
            mu, sigma = _points(region, points, np.random.default_rng(seed))
            arguments = model, np.full(points, float(y)), mu, sigma**2
            exact, seconds = _timed(_by_quadrature, arguments)
            made = {"quadrature": (exact, 0, 0.0, seconds)}
            if name == "probit":
                made["certified"] = _with_time(table.project, arguments, *certified)
            made["as-described"] = _with_time(PAPER.project, arguments, *whole)
            built, cells = _small_table(name, y, arguments)
            for projection, (found, n_bytes, build, seconds) in made.items():
                if projection == "as-described":
                    seconds = _timed(built.project, cells)[1]
                yield _line(projection, name, y, region, found, exact, kl(*arguments)) | {
                    "bytes": n_bytes,
                    "build_seconds": build,
                    "microseconds": 1e6 * seconds / points,
                }


def _points(region: str, points: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    limit, low, high = REGIONS[region]
    return rng.uniform(-limit, limit, points), 10.0 ** rng.uniform(low, high, points)


def _by_quadrature(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Projection:
    """`wasserstein` in pieces that stay in the cache."""
    cuts = np.arange(lookup.BLOCK, len(m), lookup.BLOCK)
    parts = [
        wasserstein(likelihood, *part) for part in zip(*(np.split(a, cuts) for a in (y, m, v)), strict=True)
    ]
    return type(parts[0])(*(np.concatenate([getattr(p, f) for p in parts]) for f in vars(parts[0])))


def _timed(function: Callable[..., Made], arguments: tuple[object, ...]) -> tuple[Made, float]:
    began = time.process_time()
    return function(*arguments), time.process_time() - began


def _with_time(
    function: Callable[..., Projection], arguments: Arguments, n_bytes: int, build: float
) -> tuple[Projection, int, float, float]:
    found, seconds = _timed(function, arguments)
    return found, n_bytes, build, seconds


def _seconds_a_cell(name: str, y: float, rows: int) -> float:
    """Processor seconds a cell of the paper's table, from its middle rows."""
    middle = paper_table.half_sizes(PAPER)[0]
    block, seconds = _timed(paper_table.build, (name, y, PAPER, middle, middle + rows - 1))
    return seconds / block.values.size


def _small_table(name: str, y: float, arguments: Arguments) -> tuple[paper_table.PaperTable, Arguments]:
    """A coarse built table in the paper's box and points in it, to time an evaluation."""
    grid = TableGrid(step=0.25)
    first, last = paper_table.blocks(grid, 10**6)[0]
    block = paper_table.build(name, y, grid, first, last)
    likelihood, labels, m, v = arguments
    table = paper_table.PaperTable(name, grid, {float(y): block.values})
    return table, (likelihood, labels, np.clip(m, -10, 10), np.clip(v, 0.01, 100.0))


def _line(
    projection: str, name: str, y: float, region: str, found: Projection, exact: Projection, ep: Projection
) -> dict[str, Any]:
    error = np.abs(np.sqrt(found.variance / exact.variance) - 1.0)
    gap = np.abs(ep.variance - exact.variance)
    # what differs by rounding alone is no gap
    above = np.abs(found.variance - exact.variance) > np.maximum(gap, 1e-13 * exact.variance)
    return {
        "projection": projection,
        "likelihood": name,
        "y": y,
        "region": region,
        "points": len(error),
        "error_max": error.max(),
        "error_median": np.median(error),
        "above_gap": above.mean(),
    }


def effects(
    dataset: Dataset, protocol: str, records: Iterable[dict[str, Any]], table: lookup.RatioTable | None
) -> Iterator[dict[str, Any]]:
    """QP by quadrature and with each table, at the hyperparameters of recorded fits.

    Parameters
    ----------
    dataset : Dataset
        In the variant of the protocol.
    records : iterable of dict
        Fits of the protocol's EP; those of the method that its QP starts from are used.
    table : lookup.RatioTable
        For the probit; counts have no certified table and need none.

    Yields
    ------
    line : dict
        `EFFECT_COLUMNS`; ``ntll`` and ``outside_box`` are None where the fit failed.
    """
    task = qp.task_of(dataset.name)
    block, spec = protocols.block(protocol, task), protocols.method(protocol, task, "qp")
    projections = {"quadrature": None, "certified": table, "as-described": PAPER}
    if block["likelihood"] != "probit":
        del projections["certified"]
    for record in records:
        if record["method"] != spec["start"] or record["hyperparameters"] is None:
            continue
        part = split(
            dataset, block["split"], record["seed"], record["fold"], standardise=block["standardise"]
        )
        for name, projection in projections.items():
            outcome = _outcome(block, spec, part, record["hyperparameters"], projection)
            values = dataset.name, protocol, record["seed"], record["fold"], name, *outcome
            yield dict(zip(EFFECT_COLUMNS, values, strict=True))


def _outcome(
    block: dict[str, Any],
    spec: dict[str, Any],
    part: Split,
    hyperparameters: dict[str, Any],
    projection: Projector | None,
) -> tuple[bool, float | None, float | None]:
    """Whether QP converged, its NTLL, and the share of its cavities outside the box; None without a fit."""
    likelihood = qp._likelihood(block)
    lengthscale = hyperparameters["lengthscale"]
    lengthscale = tuple(lengthscale) if isinstance(lengthscale, list) else lengthscale
    try:
        fitted = api.fit(
            part.X_train,
            part.y_train,
            likelihood,
            "qp",
            SquaredExponential(hyperparameters["variance"], lengthscale),
            mean=spec.get("mean", block["mean"]),
            optimise=False,
            options=Options(**block["sites"], min_precision=spec.get("min_precision", -np.inf)),
            start=qp._starting_sites(block, part),
            projection=projection,
        )
    except ArithmeticError:  # an improper posterior
        return False, None, None
    marginals, sites = fitted.inference.state.marginals, fitted.inference.sites
    outside = outside_box(*cavity(marginals.mean, marginals.variance, sites.tau, sites.nu))
    return fitted.status.converged, _ntll(likelihood, fitted, part), float(np.mean(outside))


def outside_box(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Whether cavities N(m, v) [N] lie outside the paper's table, where its projection is EP's."""
    limit = 10.0 ** (2 * PAPER.log10_sigma_limit)
    return ~((np.abs(m) <= PAPER.mu_limit) & (v <= limit) & (v >= 1.0 / limit))


def _ntll(likelihood: Likelihood, fitted: api.Fit, part: Split) -> float | None:
    """Negative test log-likelihood of a fit; None without a finite one."""
    try:
        mean, variance = fitted.predict_latent(part.X_test)
    except ArithmeticError:  # a variance lost to rounding
        return None
    density = likelihood.log_predictive(part.y_test, mean, variance)
    return metrics.negative_log_likelihood(density) if np.all(np.isfinite(density)) else None
