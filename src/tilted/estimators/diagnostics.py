"""Warnings about data, parameters and fitted models: parameters without effect, outliers, useless kernels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tilted.inference.relaxations import at_limit
from tilted.inference.rep import Relaxed
from tilted.kernels.compound import noise_of
from tilted.kernels.restricted import ends_of
from tilted.learning.dense import AT_LOWEST
from tilted.learning.likelihood import LEAST_NOISE
from tilted.numerics.chunks import some_rows

if TYPE_CHECKING:
    from tilted.estimators.models import LatentModel
    from tilted.kernels.contract import Kernel

CHUNK = 1000  # rows at once
MOST_CHECKED = 2000  # of rows in batches, at which shortcomings are looked for
APART = 1e-3  # correlation below which an input is as good as out of sight
CONSTANT = 1e-3  # sd of noise within which f is constant
OF_NOISE, OF_FUNCTION = 0.1, 1e-3  # parts of the noise's variance and of f's that jitter may have
COINCIDENT = 1e-9  # by which a correlation falls short of 1 where inputs are as good as one
OUT_OF_SIGHT = (
    "inputs do not see each other at this lengthscale (most have no correlation above 0.001 with another): "
    "scale them, or start from another kernel"
)
OUT_OF_REACH = "most inputs have no correlation above 0.001 with a pseudo-input: take more or move them"
ALL_ONE = "inputs are all alike at this lengthscale (their correlations are 1): predictions are constant"


MORE_VARIED = "unless counts vary more than Poisson's (likelihood='negative-binomial')"
UNLESS = {  # name of a likelihood -> what a search may have taken for the function
    "gaussian": "unless there are outliers (GPRegressor takes likelihood='student-t')",
    "poisson-square": MORE_VARIED,
    "poisson-exp": MORE_VARIED,
}
NOTHING = (
    "predictions hardly depend on the inputs (f varies by less than a thousandth of its noise among them): "
    "nothing was learnt; look for targets that are all alike, wild values, other units, another kernel"
)
DROWNED = "the jitter on Kuu, {:.1e}, may add as much to the variance of f, beside noise of {:.1e}: take less"
AT_BOUND = "a parameter of the kernel ended at the lower bound of the search"
RELAXED = (
    "{} of {} relaxations are the largest that are searched: sites hardly move from where they start, at the "
    "prior; take a larger penalty"
)
USED_BY = {"power": "power-ep", "penalty": "rep"}
"""Parameters that one inference only has a use for."""
OF_APPROXIMATION = {"n_pseudo": "blocks", "jitter": "blocks", "neighbours": "pseudo-points"}
"""Parameters of a sparse estimator -> the approximation that has no use for them."""
OF_SEARCHES = {"priors", "n_restarts"}
"""Parameters that only a search of an evidence has a use for."""
MANY_ROWS = 10_000
"""From which on a step of a dense model takes minutes, and some GB."""
OUTLIERS = (
    "{} of {} targets are over a hundred times as far from the median as is usual among them: if these are "
    "wild values, they may rule the fit (GPRegressor takes likelihood='student-t')"
)
FAR = 100.0  # median distances from the median


def unused_parameters(estimator: Any) -> Iterator[str]:
    """Yield notes on parameters that are not their defaults and have no effect."""
    inference, optimise = estimator.inference, estimator.optimise
    for parameter in fields(estimator):
        value, of = getattr(estimator, parameter.name), USED_BY.get(parameter.name, inference)
        if of != inference and value != parameter.default:
            yield f"{parameter.name}={value!r} has no effect: it is for inference={of!r}, not {inference!r}"
        unused_by = OF_APPROXIMATION.get(parameter.name)
        approximation = getattr(estimator, "approximation", "")
        if approximation == unused_by and value != parameter.default:
            yield f"{parameter.name}={value!r} has no effect: approximation={approximation!r} does not use it"
        if parameter.name not in OF_SEARCHES or value in (None, 0):
            continue
        if optimise == "cv":
            yield f"{parameter.name}={value!r} has no effect: optimise='cv' compares ten kernels by folds"
        if optimise is None or optimise is False:
            yield f"{parameter.name}={value!r} has no effect: optimise={optimise} keeps the kernel as it is"
    if estimator.priors == "weak" and estimator.kernel is not None and optimise not in ("cv", None, False):
        yield "priors='weak' has no effect: they are about a guess, and a kernel is given"


def warn_of_many(estimator: Any, rows: int) -> None:
    """UserWarning, three calls up, of a dense model of more rows than its time limit can be kept for."""
    if rows > MANY_ROWS and not hasattr(estimator, "n_pseudo"):
        note = (
            f"{rows:,} rows: a step of a dense model takes O(N^3), and max_time is looked at between steps; "
        )
        warnings.warn(f"{note}the sparse estimators are for so many", UserWarning, stacklevel=4)


def outlier_notes(y: np.ndarray) -> list[str]:
    """A note where at most a hundredth of the targets ``y`` [N], or one, are `FAR` from the median of all.

    In units of the median distance of those that are not at it.
    """
    away = np.abs(y - np.median(y))
    far = int(np.sum(away > FAR * np.median(away[away > 0]))) if np.any(away) else 0
    return [OUTLIERS.format(far, len(y))] if 0 < far <= max(1, len(y) // 100) else []


def kernels_of(kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the kernels of all classes, or the one kernel."""
    return getattr(kernel, "each", (kernel,))


def shortcomings(model: LatentModel, X: np.ndarray) -> list[str]:
    """Return notes on why a fitted model may be useless: `reach`, a constant f, jitter, bounds."""
    likelihood, kernels = model.likelihood, kernels_of(model.kernel)
    reach_note = next(filter(None, (reach(kernel, X, model.Z) for kernel in kernels)), "")
    noise = getattr(likelihood, "scale", np.sqrt(getattr(likelihood, "noise", 1.0)))
    if reach_note == OUT_OF_SIGHT and model.status.evaluations > 1 and likelihood.name in UNLESS:
        reach_note += f", {UNLESS[likelihood.name]}"
    constant = np.ptp(model.fitted_mean) < CONSTANT * noise
    # in spite of correlations near 1
    apart = np.max(model.kernel.diagonal(X)) * COINCIDENT > CONSTANT * noise**2
    notes = [] if reach_note == ALL_ONE and apart and not constant else [reach_note]
    if constant and not reach_note and model.status.evaluations > 1:  # a kernel that was searched
        notes.append(NOTHING)
    total_noise = noise**2 + max(map(noise_of, kernels))
    if (
        model.status.jitter > max(OF_NOISE * total_noise, OF_FUNCTION * np.var(model.fitted_mean))
        and not constant
    ):
        notes.append(DROWNED.format(model.status.jitter, total_noise))
    if AT_LOWEST in model.status.message:
        notes.append(AT_BOUND)
    if LEAST_NOISE in model.status.message:
        notes.append(LEAST_NOISE)
    ends = [end for kernel in kernels for end in ends_of(kernel)]
    inference = getattr(getattr(model, "fit", None), "inference", None)
    if isinstance(inference, Relaxed):
        most = at_limit(inference.b, inference.state.marginals, inference.sites)
        notes += [RELAXED.format(np.sum(most), len(most))] if np.any(most) else []
    if model.status.evaluations > 1:
        notes += [f"{name} of the kernel ended at its {which} bound, {at:g}" for name, which, at in ends]
    return list(dict.fromkeys(note for note in notes if note))


def sample_rows(X: np.ndarray) -> np.ndarray:
    """Return at most `MOST_CHECKED` rows of batches."""
    return X[some_rows(len(X), MOST_CHECKED)]


def out_of_reach(model: LatentModel, X: np.ndarray) -> bool:
    """Return whether most inputs [N, D] are nearly uncorrelated with every pseudo-input."""
    Z = model.Z
    assert Z is not None, "of sparse models"
    return any(float(np.median(_nearest(kernel, X, Z))) < APART for kernel in kernels_of(model.kernel))


def _nearest(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Largest size [N] of a correlation with a pseudo-input; 1 where f does not vary, whatever is learnt."""
    nearest = np.concatenate([np.max(np.abs(C), axis=1) for _, C in _correlations(kernel, X, Z)])
    return np.where(_sd(kernel, X) > 0, nearest, 1.0)


def _sd(kernel: Kernel, X: np.ndarray) -> np.ndarray:
    """Standard deviation [N] of f, independent noise left out."""
    return np.sqrt(np.maximum(kernel.diagonal(X) - noise_of(kernel), 0.0))


def _correlations(kernel: Kernel, X: np.ndarray, Z: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the first of `CHUNK` rows, and their correlations [n, M] with Z; 0 where f is."""
    sd_X, sd_Z = _sd(kernel, X), _sd(kernel, Z)
    for first in range(0, len(X), CHUNK):
        rows = slice(first, first + CHUNK)
        scale = np.multiply.outer(sd_X[rows], sd_Z)
        yield first, np.divide(kernel.matrix(X[rows], Z), scale, out=np.zeros_like(scale), where=scale > 0)


def reach(kernel: Kernel, X: np.ndarray, Z: np.ndarray | None = None) -> str:
    """A note where f is as good as independent at the inputs or of the pseudo-inputs, or constant; else "".

    Parameters
    ----------
    kernel : Kernel
        Its independent noise does not count.
    X : array [N, D]
        Duplicates see each other.
    Z : array [M, D], optional
        Pseudo-inputs, through which the others see each other.
    """
    seen_from = X if Z is None else Z
    own = _sd(kernel, X)
    if not np.any(own > 0):
        return OUT_OF_SIGHT
    nearest, farthest = [], []
    for first, C in _correlations(kernel, X, seen_from):
        farthest.append(C.min(axis=1))
        if Z is None:
            C[np.arange(len(C)), first + np.arange(len(C))] = 0.0
        nearest.append(C.max(axis=1))
    if np.min(np.concatenate(farthest)) > 1.0 - COINCIDENT and np.ptp(own) <= COINCIDENT * np.max(own):
        return ALL_ONE
    correlations = np.concatenate(nearest)
    if Z is not None:
        correlations = correlations[correlations < 1.0 - COINCIDENT]  # the others are pseudo-inputs
        if not len(correlations):
            return reach(kernel, Z) if len(Z) > 1 else ""
    if np.median(correlations) >= APART:
        return ""
    return OUT_OF_SIGHT if Z is None else reach(kernel, X) or OUT_OF_REACH
