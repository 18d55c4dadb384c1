"""Where the pseudo-points go: fits of the made-up set in the plane [Bui et al. 2017, appendix I.3].

For each draw and power the pseudo-inputs are optimised from the same training inputs. How near they end to
the decision boundary is measured by the distance of the middle one (median) to the boundary, in units of the
same distance of the data: 0 is on the boundary, 1 is as far as the data are. Distances are in standardised
inputs, boundaries (predictive probability 1/2) those inside the rectangle of the data. A probability near 1/2
would not do as a measure: far from all data it is 1/2 too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import numpy as np

from tilted.experiments import banana, pep_classification
from tilted.likelihoods.probit import Probit
from tilted.sparse_search import Fitted, maximise

COLUMNS = (
    "seed", "alpha", "m", "n", "pseudo", "data", "ratio", "outside", "energy", "error", "evaluations",
    "converged",
)  # fmt: skip
"""``pseudo``, ``data``: median distance to the boundary; ``outside``: pseudo-points outside the data's
rectangle; ``error``: share of wrong training labels."""

MAP_COLUMNS = ("alpha", "kind", "line", "x", "y", "label")
"""``kind``: data (``label`` -1 or +1), start, pseudo, or boundary (``line`` numbers its pieces)."""

ALPHAS, M, N, SEEDS = (0.0, 0.5, 1.0), 20, 400, 10
GRID, SHOWN = 121, 0


class Drawn(NamedTuple):
    """A fit of one draw with everything that is measured or drawn."""

    X: np.ndarray
    y: np.ndarray
    start: np.ndarray
    fitted: Fitted
    boundary: list[np.ndarray]


def modules_of(alpha: str) -> list[str]:
    """Modules whose closures a line depends on."""
    return [__name__]


def study(seeds: int = SEEDS) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """A line with `COLUMNS` a draw and power, and lines with `MAP_COLUMNS` for the draw `SHOWN`."""
    for seed in range(seeds):
        for alpha in ALPHAS:
            drawn = fit(seed, alpha)
            yield line_of(seed, alpha, drawn), list(_map(alpha, drawn)) if seed == SHOWN else []


def fit(seed: int, alpha: float) -> Drawn:
    """Fit a draw."""
    X, y = banana.draw(seed, N)
    X, _, y, _ = pep_classification.prepared((X, X, y, y))
    problem, kernel, Z = pep_classification.start(X, y, alpha, M, seed)
    fitted = maximise(problem, kernel, Z, pep_classification.SEARCH)
    return Drawn(X, y, Z, fitted, boundary_of(fitted, X))


def boundary_of(fitted: Fitted, X: np.ndarray) -> list[np.ndarray]:
    """Pieces [k, 2] of the line of probability 1/2 inside the rectangle of ``X``."""
    from contourpy import contour_generator

    low, high = X.min(axis=0), X.max(axis=0)
    x, y = (np.linspace(low[d], high[d], GRID) for d in (0, 1))
    at = np.array(np.meshgrid(x, y)).reshape(2, -1).T
    mean = fitted.predict(at)[0].reshape(GRID, GRID)
    return cast("list[np.ndarray]", contour_generator(x, y, mean).lines(0.0))  # separate lines by default


def distances(points: np.ndarray, boundary: list[np.ndarray]) -> np.ndarray:
    """Distance [k] of points [k, 2] to the nearest piece of the boundary.

    Raises
    ------
    ArithmeticError
        If there is no boundary.
    """
    if not boundary:
        raise ArithmeticError("no decision boundary inside the data")
    starts = np.vstack([line[:-1] for line in boundary])
    along = np.vstack([np.diff(line, axis=0) for line in boundary])
    lengths = np.maximum(np.sum(along**2, axis=1), np.finfo(float).tiny)
    offset = points[:, None] - starts
    part = np.clip(np.sum(offset * along, axis=2) / lengths, 0.0, 1.0)
    return np.min(np.linalg.norm(offset - part[:, :, None] * along, axis=2), axis=1)


def line_of(seed: int, alpha: float, drawn: Drawn) -> dict[str, Any]:
    """A line with `COLUMNS`."""
    fitted, X = drawn.fitted, drawn.X
    Z = fitted.posterior.pseudo.Z
    pseudo, data = (float(np.median(distances(points, drawn.boundary))) for points in (Z, X))
    within = np.all((X.min(axis=0) <= Z) & (X.max(axis=0) >= Z), axis=1)
    wrong = float(np.mean(Probit().errors(drawn.y, *fitted.predict(X))))
    status = fitted.status
    values = (seed, alpha, len(Z), len(X), pseudo, data, pseudo / data, int(np.sum(~within)),
              -fitted.inference.log_evidence, wrong, status.evaluations, status.converged)  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def _map(alpha: float, drawn: Drawn) -> Iterator[dict[str, Any]]:
    kinds = {"data": drawn.X, "start": drawn.start, "pseudo": drawn.fitted.posterior.pseudo.Z}
    for kind, points in kinds.items():
        labels = drawn.y if kind == "data" else np.zeros(len(points))
        for (x, y), label in zip(points, labels, strict=True):
            yield dict(zip(MAP_COLUMNS, (alpha, kind, 0, x, y, int(label)), strict=True))
    for k, piece in enumerate(drawn.boundary):
        for x, y in piece:
            yield dict(zip(MAP_COLUMNS, (alpha, "boundary", k, x, y, 0), strict=True))
