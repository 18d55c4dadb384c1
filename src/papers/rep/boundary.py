"""Predictive probabilities on a grid of the plane: decision boundaries [Qi & Guo 2012, figure 2]."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.rep import blobs, fits
from papers.rep.methods import METHODS, Problem
from tilted.gaussian import require_positive
from tilted.likelihoods.step import NoisyStep

if TYPE_CHECKING:
    from typing import Any

    from papers.rep.methods import Outcome

EDGE = 6.0
BAYES = "bayes"
"""The best classifier, which knows the densities."""

DECIMALS = 4
"""Decimals of a recorded probability."""


class Picture(NamedTuple):
    """Probabilities at points of the plane, and how the inference ended."""

    probability: np.ndarray
    outcome: str
    sweeps: int


def axis(steps: int) -> np.ndarray:
    """Return the coordinates [steps] of the grid."""
    return np.linspace(-EDGE, EDGE, steps)


def written(coordinate: float) -> float:
    """Round a coordinate to the digits of the recorded rows."""
    return round(float(coordinate), 6)


def study(
    flips: float, split: int, chosen: dict[str, tuple[float, float]], effort: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield rows of `records.BOUNDARY` of the best classifier and of all methods; none of a failed method.

    Parameters
    ----------
    flips : float
    split : int
    chosen : dict
        Method -> (value, lengthscale), as `cross_validation.chosen` has it.
    effort : dict
        ``steps`` of the grid along each axis.
    """
    along = axis(effort["steps"])
    places = np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)
    drawn: dict[str, tuple[float | None, float | None]] = {BAYES: (None, None), **chosen}
    for method, (value, lengthscale) in drawn.items():
        try:
            picture = picture_of(places, flips, split, method, value, lengthscale)
        except ArithmeticError:  # an improper posterior is one
            continue
        line = {"flips": flips, "split": split, "method": method, "value": value}
        line |= {"lengthscale": lengthscale, "outcome": picture.outcome, "sweeps": picture.sweeps}
        for place, probability in zip(places, picture.probability, strict=True):
            x, y = map(written, place)
            yield {**line, "x": x, "y": y, "probability": round(float(probability), DECIMALS)}


def picture_of(
    places: np.ndarray, flips: float, split: int, method: str, value: float | None, lengthscale: float | None
) -> Picture:
    """Return the probabilities [K] at places [K, 2] by one method; `BAYES` has value and lengthscale None.

    Raises
    ------
    ArithmeticError
        For a posterior that is not proper.
    """
    if value is None or lengthscale is None:
        positive, negative = blobs.log_densities(places)
        return Picture(np.atleast_1d(1.0 / (1.0 + np.exp(negative - positive))), "", 0)
    X, end = _fitted(flips, split, method, value, lengthscale)
    mean, variance = fits.predicted(end, X, places, lengthscale)
    require_positive(variance)
    noisy = np.exp(NoisyStep(flips).log_predictive(np.ones(len(places)), mean, variance))
    return Picture((noisy - flips) / (1.0 - 2.0 * flips), end.outcome, end.sweeps)


@lru_cache(maxsize=2)
def _fitted(
    flips: float, split: int, method: str, value: float, lengthscale: float
) -> tuple[np.ndarray, Outcome]:
    """Return the training inputs, and the outcome of an inference given them."""
    X, _, y, _ = fits.parts_of(fits.BLOBS, split, flips)
    return X, METHODS[method].run(Problem(fits.prior_of(X, lengthscale), NoisyStep(flips), y), value)
