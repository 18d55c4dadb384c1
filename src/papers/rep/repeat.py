"""Repeat rows of the relaxed-EP records.

Fits, choices, five points and boundaries are repeated at the recorded lengthscale and value, which the study
of choices holds; the exact posterior is sampled anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from papers.data import relaxed
from papers.rep import boundary, choice, exact, fits, points

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.data import Dataset

    Line = dict[str, Any]

FIT = ("dataset", "flips", "chosen_on", "split", "method")
"""Columns that name a fit."""

ROUNDING = 1e-4
"""Largest relative difference between a lengthscale of the grid and its rounded value in a file."""


def repeat_fits(rows: pd.DataFrame, mirror: str | None) -> Iterator[Line]:
    """Yield the records of fits with their recorded parameters."""
    for line in rows.to_dict("records"):
        yield {**{name: line[name] for name in FIT}, **_fitted(line, line, mirror)}


def repeat_choices(rows: pd.DataFrame, mirror: str | None) -> Iterator[Line]:
    """Yield the cross-validated scores of one method at one lengthscale and value."""
    for line in rows.to_dict("records"):
        X, _, y, _ = _parts(line["dataset"], line["split"], line["flips"], mirror)
        pair = line["method"], line["value"]
        lengthscale = _unrounded(line["lengthscale"], X.shape[1])
        epsilon = fits.epsilon_of(line["dataset"], line["flips"])
        yield {**line, **choice.cross_validated(X, y, line["split"], lengthscale, epsilon, [pair])[pair]}


def repeat_points(rows: pd.DataFrame) -> Iterator[Line]:
    """Yield the rows of methods on sets of five points, or at other error rates."""
    for line in rows.to_dict("records"):
        epsilon = line.get("epsilon", points.EPS)
        yield {**line, **points.line_of(line["set"], line["method"], line["value"], epsilon)}


def repeat_exact(rows: pd.DataFrame) -> Iterator[Line]:
    """Yield methods against the exact posterior, sampled anew (a minute) once for each training set."""
    for line in rows.to_dict("records"):
        where = line["flips"], line["split"], _unrounded(line["lengthscale"], 2)
        truth = exact.sampled(*where, line["chains"], line["iterations"])
        yield {**line, **exact.line_of(truth, *where, line["method"], line["value"])}


def repeat_boundary(rows: pd.DataFrame) -> Iterator[Line]:
    """Yield the probabilities at places of a picture; each inference runs once for all its places."""
    picture = ["flips", "split", "method", "value", "lengthscale"]
    for (flips, split, method, value, lengthscale), of_picture in rows.groupby(picture, dropna=False):
        settings = (None, None) if method == boundary.BAYES else (value, _unrounded(lengthscale, 2))
        places = of_picture[["x", "y"]].to_numpy()
        drawn = boundary.picture_of(places, flips, split, method, *settings)
        for line, probability in zip(of_picture.to_dict("records"), drawn.probability, strict=True):
            yield {**line, "outcome": drawn.outcome, "sweeps": drawn.sweeps, "probability": probability}


def _fitted(line: Line, chosen: Mapping[str, Any], mirror: str | None) -> Line:
    """Return the record of the fit of a row with some value and lengthscale."""
    where = line["dataset"], line["flips"], line["split"], line["method"]
    return _fit(*where, chosen["value"], chosen["lengthscale"], mirror)


@lru_cache(maxsize=64)
def _fit(
    dataset: str,
    flips: float,
    split: int,
    method: str,
    value: float,
    lengthscale: float,
    mirror: str | None,
) -> Line:
    split_data = _parts(dataset, split, flips, mirror)
    lengthscale = _unrounded(lengthscale, split_data[0].shape[1])
    epsilon, most = fits.epsilon_of(dataset, flips), fits.max_sweeps_of(dataset)
    return fits.run_cell(split_data, method, value, lengthscale, epsilon, most)


def _parts(dataset: str, split: int, flips: float, mirror: str | None) -> fits.Parts:
    return fits.parts_of(dataset, split, flips, _data(dataset, mirror))


@lru_cache(maxsize=4)
def _data(name: str, mirror: str | None) -> Dataset | None:
    return None if name == fits.BLOBS else relaxed.load(name, mirror=mirror)


def _unrounded(lengthscale: float, n_features: int) -> float:
    """Return the lengthscale of the grid of choices that a file holds with fewer digits."""
    nearest = min(choice.lengthscales(n_features), key=lambda tried: abs(tried - lengthscale))
    return nearest if abs(nearest - lengthscale) <= ROUNDING * nearest else lengthscale
