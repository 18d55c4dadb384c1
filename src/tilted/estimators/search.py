"""Where searches start, the best of several, and the choice of a kernel by cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from tilted.inference.result import Status
from tilted.kernels.converted import as_kernel
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.kernels.stationary import Stationary

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

RESTART_DECADES = 1.0  # restarts multiply every parameter by up to this power of ten, or divide
LENGTHSCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
VARIANCES = (1.0, 10.0)
NO_LENGTHSCALE = "needs a kernel with a lengthscale of its own (kernels.stationary)"  # as a sum has not


class Ranked(Protocol):
    """What one search of several brings."""

    @property
    def standing(self) -> float:
        """The log evidence it is chosen by, -inf where that is unsound."""


class Scored(Protocol):
    """What predicts targets that were left out."""

    @property
    def status(self) -> Status:
        """How its fit ended."""

    def log_predictive(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Log predictive densities [N*] of targets ``y`` at the rows of ``X``."""


Found = TypeVar("Found", bound=Ranked)


def start_kernel(kernel: Kernel | None, X: np.ndarray, ard: bool, variance: float = 1.0) -> Kernel:
    """The kernel a search starts from.

    Parameters
    ----------
    kernel : Kernel, optional
        One that is given, also of scikit-learn's, starts from its own hyperparameters, nothing being guessed
        from the data. None: a squared exponential whose lengthscale is the root of the summed variances of
        the columns of ``X`` [N, D], or sqrt(D) of each column's standard deviation (ARD); 1 where a column
        is constant.
    X : array [N, D]
    ard : bool
        Whether an isotropic kernel gets a lengthscale for every dimension.
    variance : float
        That of the default kernel.

    Raises
    ------
    ValueError
        For what is no kernel, and for ``ard`` with a kernel that has no lengthscale of its own.
    """
    D = X.shape[1]
    if kernel is None:
        spread = X.std(axis=0)
        if ard:
            return SquaredExponential(variance, tuple(np.sqrt(D) * np.where(spread > 0, spread, 1.0)))
        total = float(np.sqrt(np.sum(spread**2)))
        return SquaredExponential(variance, total if total > 0 else 1.0)
    kernel = as_kernel(kernel, D)
    if not ard:
        return kernel
    if not isinstance(kernel, Stationary):
        raise ValueError(f"ard {NO_LENGTHSCALE}, got {kernel!r}")
    return kernel if kernel.ard else replace(kernel, lengthscale=(kernel.lengthscale,) * D)


def best_of(
    search: Callable[[np.ndarray], Found], parameters: int, restarts: int, rng: np.random.Generator
) -> tuple[Found, str]:
    """The best of a search from the start and from ``restarts`` random places about it.

    Parameters
    ----------
    search : callable
        Factors [P] of the starting parameters -> a model.
    parameters : int
        P; of sums and products those of every part.
    restarts : int
    rng : Generator

    Returns
    -------
    model
        That of the highest standing.
    note : str
        Of how many, and how many failed; "" without restarts.

    Raises
    ------
    ArithmeticError, ValueError
        If the first search fails; later failures are counted.
    """
    models, failed = [search(np.ones(parameters))], []
    for _ in range(restarts):
        factors = 10.0 ** rng.uniform(-RESTART_DECADES, RESTART_DECADES, parameters)
        try:
            models.append(search(factors))
        except (ArithmeticError, ValueError) as error:
            failed.append(str(error))
    best = max(models, key=lambda model: model.standing)
    if not restarts:
        return best, ""
    note = f"best of {len(models)} starts" + (f", {len(failed)} failed ({failed[0]})" if failed else "")
    return best, note


def noted(status: Status, note: str) -> Status:
    """The status with a note at the end of its message."""
    return replace(status, message="; ".join(part for part in (status.message, note) if part))


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
    fit_at: Callable[[np.ndarray, np.ndarray, Kernel], Scored],
    X: np.ndarray,
    y: np.ndarray,
    kernels: list[Kernel],
    folds: int,
    stratified: bool,
    seed: int,
) -> tuple[Kernel, str]:
    """The kernel with the highest mean log predictive density of left-out targets.

    Parameters
    ----------
    fit_at : callable
        (X, y, kernel) -> a model with ``log_predictive(X, y)`` and ``status``.
    X, y : arrays [N, D], [N]
    kernels : list
        Candidates.
    folds : int
        Shuffled by ``seed``; ``stratified`` keeps the shares of the labels in them.

    Returns
    -------
    kernel
    note : str
        The score, and of candidates without one and of runs that did not converge (scored where they were).

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
    scores: list[tuple[float, Kernel]] = []
    failed: list[str] = []
    for kernel in kernels:
        densities = []
        try:
            for train, test in parts:
                model = fit_at(X[train], y[train], kernel)
                unsettled += not model.status.converged
                densities.append(model.log_predictive(X[test], y[test]))
        except ArithmeticError as error:
            failed.append(str(error))
            continue
        scores.append((float(np.mean(np.concatenate(densities))), kernel))
    if not scores:
        raise ArithmeticError(f"no kernel has a cross-validated score ({failed[0]})")
    score, kernel = max(scores, key=lambda pair: pair[0])
    note = f"one of {len(kernels)} kernels tried, by {folds}-fold cross-validation"
    note += f", {score:.3g} nats a target left out"
    if failed:
        note += f", {len(failed)} failed ({failed[0]})"
    if unsettled:
        note += f", {unsettled} runs not converged"
    return kernel, note
