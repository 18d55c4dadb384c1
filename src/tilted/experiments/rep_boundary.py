"""Predictive probabilities on a grid of the plane: decision boundaries [Qi & Guo 2012, figure 2]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments import blobs, rep
from tilted.gaussian import require_positive
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.likelihoods.step import NoisyStep
from tilted.posteriors.dense import Dense

if TYPE_CHECKING:
    from typing import Any

EDGE = 6.0
COLUMNS = ("flips", "split", "method", "value", "lengthscale", "outcome", "sweeps", "x", "y", "probability")
"""``probability`` that the true label at (x, y) is +1; the exact one of "bayes", the best classifier."""


def modules_of() -> list[str]:
    """Modules whose closures a line depends on."""
    return [__name__]


def study(
    flips: float, split: int, chosen: dict[str, tuple[float, float]], effort: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Lines with `COLUMNS` of the best classifier and of all methods; of a failed one there are none.

    Parameters
    ----------
    flips : float
    split : int
    chosen : dict
        Method -> (value, lengthscale), as ``rep_choice.chosen`` has it.
    effort : dict
        ``steps`` of the grid along each axis.
    """
    axis = np.linspace(-EDGE, EDGE, effort["steps"])
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    positive, negative = blobs.log_densities(grid)
    about = {"flips": flips, "split": split}
    bayes = {"method": "bayes", "value": None, "lengthscale": None, "outcome": "", "sweeps": 0}
    yield from _lines({**about, **bayes}, grid, 1.0 / (1.0 + np.exp(negative - positive)))
    X, _, y, _ = rep.parts_of(rep.BLOBS, split, flips)
    for method, (value, lengthscale) in chosen.items():
        run, likelihood = rep.METHODS[method].run, NoisyStep(flips)
        prior, kernel = Dense.build(np.empty((0, 0))), SquaredExponential(1.0, lengthscale)
        try:
            found = run(rep.posterior_of(X, lengthscale), likelihood, y, value, rep.MAX_SWEEPS)
            mean, variance = prior.predict(found.state, kernel.matrix(grid, X), 1.0)
            require_positive(variance)
        except ArithmeticError:  # an improper posterior is one
            continue
        noisy = np.exp(likelihood.log_predictive(np.ones(len(grid)), mean, variance))
        ended = {"method": method, "value": value, "lengthscale": lengthscale, "outcome": found.outcome,
                 "sweeps": found.sweeps}  # fmt: skip
        yield from _lines({**about, **ended}, grid, (noisy - flips) / (1.0 - 2.0 * flips))


def _lines(about: dict[str, Any], grid: np.ndarray, probability: np.ndarray) -> Iterator[dict[str, Any]]:
    for (x, y), p in zip(grid, probability, strict=True):
        yield {**about, "x": round(float(x), 6), "y": round(float(y), 6), "probability": round(float(p), 4)}
