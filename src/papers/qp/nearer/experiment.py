"""Seven approximations of one split, to be compared with the exact posterior.

They are EP, QP, VB, Power EP of power 1/2, Laplace's approximation, and EP corrected, cheaply and nearly
exactly (`tilted.corrections`). All use the splits and the hyperparameters of the ground truth
(`papers.qp.truth.experiment`): on separable data these lie on a flat ridge, and another search would end at
another point of it. A record has a method's log evidence, the latents of the test inputs, their log
predictive densities, and processor seconds. Both grades of correction share the corrected evidence.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from papers.core import store
from papers.data import standard
from papers.qp import fits
from papers.qp.nearer.laplace import laplace
from papers.qp.repeat import loaded
from papers.qp.truth.experiment import PROTOCOL, approximated
from tilted import api
from tilted.corrections.marginals import GRADES, SAMPLED
from tilted.gaussian import require_positive
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.likelihoods.probit import Probit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import pandas as pd

    from papers.data import Dataset, Split
    from tilted.kernels.squared_exponential import SquaredExponential

POWER_EP, LAPLACE = "pep", "laplace"
METHODS = ("ep", "qp", "vb", POWER_EP, LAPLACE, *GRADES)
POWER = 0.5
KEY = ("dataset", "seed", "fold", "method")


def approximate_split(data: str, truth: str, log: str) -> Iterator[dict[str, Any]]:
    """Yield the records (`run`) of the split of a record of ground truth, at its hyperparameters."""
    dataset, (sampled,) = standard.read_standard(data), store.read_records(truth)
    return run(dataset, sampled["seed"], sampled["fold"], fits.kernel_at(sampled))


def run(dataset: Dataset, seed: int, fold: int, kernel: SquaredExponential) -> Iterator[dict[str, Any]]:
    """Yield the records of one split, one for each method.

    Parameters
    ----------
    dataset : Dataset
        Data set in the variant of the protocol as-released.
    seed, fold : int
    kernel : SquaredExponential
        Kernel at the hyperparameters of the ground truth.

    Yields
    ------
    record : dict
        The columns of `papers.qp.records.NEARER_FITS`: ``trusted`` is about the evidence, ``seconds`` are of
        inference and evidence. In ``latents`` the columns of `NEARER_LATENTS`.

    Raises
    ------
    ArithmeticError
        If a method's inference fails: there is nothing to compare.
    """
    identity = {"dataset": dataset.name, "seed": seed, "fold": fold}
    hyperparameters = {"variance": kernel.variance, "lengthscale": kernel.lengthscale}
    for method, answer in _answers(dataset, kernel, seed, fold):
        yield {**identity, "method": method, **hyperparameters, **answer}


def _answers(
    dataset: Dataset, kernel: SquaredExponential, seed: int, fold: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each method with its part of a record."""
    approximated(dataset, kernel, seed, fold)  # what a process does once is no cost of a method's
    result = approximated(dataset, kernel, seed, fold)
    points, ep = result.points, result.fits["ep"]
    for name, fit in result.fits.items():
        yield name, _predicted(fit, points, result.seconds[name])
    began = time.process_time()
    power_ep = api.fit(
        points.X_train,
        points.y_train,
        ep.problem.likelihood,
        power_rule(POWER),
        kernel,
        mean=ep.problem.mean,
        optimise=False,
        options=Options(tolerance=ep.problem.options.tolerance),
    )
    if not power_ep.status.converged:
        raise ArithmeticError(f"Power EP on {dataset.name}: {power_ep.status.message}")
    yield POWER_EP, _predicted(power_ep, points, time.process_time() - began)
    yield LAPLACE, _of_laplace(ep, points)
    began = time.process_time()
    evidence = ep.corrected_evidence()
    seconds = result.seconds["ep"] + time.process_time() - began
    for grade in GRADES:
        if grade == SAMPLED:
            if not isinstance(ep.problem.likelihood, Probit):
                continue
            began = time.process_time()
            evidence, seconds = ep.corrected_evidence(grade), time.process_time() - began
        began = time.process_time()
        correction = ep.corrected(points.X_test, grade)
        density = correction.log_predictive(ep.problem.likelihood.domain(points.y_test))
        answer = _answer(evidence.value, correction.mean, correction.variance, density, seconds, began)
        answer["latents"]["trusted"] = correction.trusted.tolist()
        yield grade, {**answer, "trusted": bool(evidence.trusted)}


def _answer(
    log_evidence: float,
    mean: np.ndarray,
    variance: np.ndarray,
    log_density: np.ndarray,
    seconds: float,
    began: float,
) -> dict[str, Any]:
    """Return a method's part of a record; its latents [N*] were computed from the process time ``began``."""
    return {
        "log_evidence": log_evidence,
        "trusted": True,
        "seconds": seconds,
        "latent_seconds": time.process_time() - began,
        "latents": {
            "mean": mean.tolist(),
            "variance": variance.tolist(),
            "log_density": log_density.tolist(),
            "trusted": [True] * len(mean),
        },
    }


def _predicted(fit: api.Fit, points: Split, seconds: float) -> dict[str, Any]:
    began = time.process_time()
    mean, variance = fit.predict_latent(points.X_test)
    density = fit.problem.likelihood.log_predictive(points.y_test, mean, variance)
    return _answer(fit.log_evidence, mean, variance, density, seconds, began)


def _of_laplace(ep: api.Fit, points: Split) -> dict[str, Any]:
    began = time.process_time()
    state, log_evidence = laplace(ep)
    at_mode = time.process_time()
    kernel, problem = ep.kernel, ep.problem
    cross = kernel.matrix(points.X_test, problem.X)
    mean, variance = state.predict(cross, kernel.diagonal(points.X_test), problem.mean)
    density = problem.likelihood.log_predictive(points.y_test, mean, require_positive(variance))
    return _answer(log_evidence, mean, variance, density, at_mode - began, at_mode)


def repeat(rows: pd.DataFrame, mirror: str | None) -> Iterator[dict[str, Any]]:
    """Yield the records of the splits of rows of one data set, at the recorded hyperparameters."""
    dataset = loaded(rows.iloc[0]["dataset"], PROTOCOL, mirror)
    for (seed, fold), of_split in rows.groupby(["seed", "fold"], sort=False):
        kernel = fits.kernel_at(of_split.iloc[0].to_dict())
        yield from run(dataset, int(seed), int(fold), kernel)
