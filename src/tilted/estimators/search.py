"""The choice of a kernel by cross-validation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.kernels.stationary import Stationary
from tilted.learning import averages
from tilted.learning.starts import NO_LENGTHSCALE

if TYPE_CHECKING:
    from tilted.api import Fit
    from tilted.kernels.contract import Kernel

LENGTHSCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
VARIANCES = (1.0, 10.0)


def candidates(kernel: Kernel) -> list[Kernel]:
    """Kernels a cross-validation tries: `VARIANCES` times `LENGTHSCALES` times those of ``kernel``.

    ValueError if it has no lengthscale of its own.
    """
    if not isinstance(kernel, Stationary):
        raise ValueError(f"optimise='cv' {NO_LENGTHSCALE}, got {kernel!r}")
    scales = np.asarray(kernel.lengthscale)
    return [
        replace(kernel, variance=v * kernel.variance, lengthscale=s * scales)  # type: ignore[arg-type]
        for v in VARIANCES
        for s in LENGTHSCALES
    ]


def by_cross_validation(
    fit_at: Callable[[np.ndarray, Kernel], Fit],
    X: np.ndarray,
    y: np.ndarray,
    kernels: list[Kernel],
    folds: int,
    stratified: bool,
    seed: int,
    weights: np.ndarray | None = None,
    deadline: float = math.inf,
) -> tuple[Kernel, str]:
    """The kernel with the highest mean log predictive density of left-out targets.

    Parameters
    ----------
    fit_at : callable
        (rows to fit on, kernel) -> the fit.
    X, y : arrays [N, D], [N]
    kernels : list
        Candidates.
    folds : int
        Shuffled by ``seed``; ``stratified`` keeps the shares of the labels in them.
    weights : array [N], optional
        Of the targets in the score.
    deadline : float
        Of `time.monotonic`: no further kernel is tried after it, once one has a score.

    Returns
    -------
    kernel
    note : str
        The score, and of candidates without one, of those not tried, and of runs that did not converge
        (scored where they were).

    Raises
    ------
    ValueError
        If a class has fewer than two members, or there are fewer targets than folds.
    ArithmeticError
        If no candidate has a score.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # takes as long as all else here together

    if stratified:
        fewest = int(np.min(np.unique(y, return_counts=True)[1]))
        if fewest < 2:
            raise ValueError("cross-validation needs at least 2 members of every class, got 1")
        folds = min(folds, fewest)
    splitter = (StratifiedKFold if stratified else KFold)(folds, shuffle=True, random_state=seed)
    parts, unsettled = list(splitter.split(X, y)), 0
    tested = None if weights is None else weights[np.concatenate([test for _, test in parts])]
    scores: list[tuple[float, Kernel]] = []
    failed: list[str] = []
    tried = 0
    for kernel in kernels:
        if scores and time.monotonic() >= deadline:
            break
        tried += 1
        densities = []
        try:
            for train, test in parts:
                model = fit_at(train, kernel)
                unsettled += not model.status.converged
                densities.append(model.log_predictive(X[test], y[test]))
        except ArithmeticError as error:
            failed.append(str(error))
            continue
        scores.append((averages.mean(np.concatenate(densities), tested), kernel))
    if not scores:
        raise ArithmeticError(f"no kernel has a cross-validated score ({failed[0]})")
    score, kernel = max(scores, key=lambda pair: pair[0])
    note = f"one of {tried} kernels tried, by {folds}-fold cross-validation"
    if tried < len(kernels):
        note += f" (the time was up for {len(kernels) - tried} more)"
    note += f", {score:.3g} nats a target left out"
    if failed:
        note += f", {len(failed)} failed ({failed[0]})"
    if unsettled:
        note += f", {unsettled} runs not converged"
    return kernel, note
