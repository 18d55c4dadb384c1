"""Seven approximations of one split, to be compared with the exact posterior.

They are EP, QP, VB, Power EP of power 1/2, Laplace's approximation, and EP corrected, cheaply and nearly
exactly (`tilted.corrections`). All use the splits and the hyperparameters of the ground truth
(`papers.qp.truth.experiment`): on separable data these lie on a flat ridge, and another search would end at
another point of it. A record has a method's log evidence, the latents of the test inputs, their log
predictive densities, and processor seconds. Both grades of correction share the corrected evidence.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

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
    from collections.abc import Iterator, Mapping
    from typing import Any

    import pandas as pd

    from papers.data import Dataset, Split
    from tilted.kernels.squared_exponential import SquaredExponential

POWER_EP, LAPLACE = "pep", "laplace"
METHODS = ("ep", "qp", "vb", POWER_EP, LAPLACE, *GRADES)
POWER = 0.5
KEY = ("dataset", "seed", "fold", "method")
FIT_COLUMNS = (*KEY, "variance", "lengthscale", "log_evidence", "trusted", "seconds", "latent_seconds")
"""``trusted`` is about the evidence; ``seconds`` are of inference and evidence."""


class Answer(NamedTuple):
    """A method's results on a split: evidence, latents of the test inputs [N*], and their cost."""

    log_evidence: float
    mean: np.ndarray
    variance: np.ndarray
    log_density: np.ndarray
    seconds: float
    latent_seconds: float
    trusted: bool = True
    latents_trusted: np.ndarray | bool = True


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
        `FIT_COLUMNS`, and lists of the latents' numbers as ``latents``.

    Raises
    ------
    ArithmeticError
        If a method's inference fails: there is nothing to compare.
    """
    for method, answer in _answers(dataset, kernel, seed, fold):
        trusted = np.broadcast_to(answer.latents_trusted, answer.mean.shape)
        yield {
            **{"dataset": dataset.name, "seed": seed, "fold": fold, "method": method},
            **{"variance": kernel.variance, "lengthscale": kernel.lengthscale},
            **{"log_evidence": answer.log_evidence, "trusted": answer.trusted},
            **{"seconds": answer.seconds, "latent_seconds": answer.latent_seconds},
            "latents": {
                "mean": answer.mean.tolist(),
                "variance": answer.variance.tolist(),
                "log_density": answer.log_density.tolist(),
                "trusted": trusted.tolist(),
            },
        }


def fit_line(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a record in the study of fits."""
    return {name: record[name] for name in FIT_COLUMNS}


def latent_lines(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a record in the study of latents."""
    columns = record["latents"]
    return [
        {**{name: record[name] for name in KEY}, "point": point, **dict(zip(columns, values, strict=True))}
        for point, values in enumerate(zip(*columns.values(), strict=True))
    ]


def _answers(
    dataset: Dataset, kernel: SquaredExponential, seed: int, fold: int
) -> Iterator[tuple[str, Answer]]:
    approximated(dataset, kernel, seed, fold)  # what a process does once is no cost of a method's
    done = approximated(dataset, kernel, seed, fold)
    points, ep = done.points, done.fits["ep"]
    for name, fit in done.fits.items():
        yield name, _predicted(fit, points, done.seconds[name])
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
    seconds = done.seconds["ep"] + time.process_time() - began
    for grade in GRADES:
        if grade == SAMPLED:
            if not isinstance(ep.problem.likelihood, Probit):
                continue
            began = time.process_time()
            evidence, seconds = ep.corrected_evidence(grade), time.process_time() - began
        began = time.process_time()
        correction = ep.corrected(points.X_test, grade)
        density = correction.log_predictive(ep.problem.likelihood.domain(points.y_test))
        spent = time.process_time() - began
        yield (
            grade,
            Answer(
                evidence.value,
                correction.mean,
                correction.variance,
                density,
                seconds,
                spent,
                bool(evidence.trusted),
                correction.trusted,
            ),
        )


def _predicted(fit: api.Fit, points: Split, seconds: float) -> Answer:
    began = time.process_time()
    mean, variance = fit.predict_latent(points.X_test)
    density = fit.problem.likelihood.log_predictive(points.y_test, mean, variance)
    return Answer(fit.log_evidence, mean, variance, density, seconds, time.process_time() - began)


def _of_laplace(ep: api.Fit, points: Split) -> Answer:
    began = time.process_time()
    state, log_evidence = laplace(ep)
    at_mode = time.process_time()
    kernel, problem = ep.kernel, ep.problem
    cross = kernel.matrix(points.X_test, problem.X)
    mean, variance = state.predict(cross, kernel.diagonal(points.X_test), problem.mean)
    density = problem.likelihood.log_predictive(points.y_test, mean, require_positive(variance))
    return Answer(log_evidence, mean, variance, density, at_mode - began, time.process_time() - at_mode)


def repeat(rows: pd.DataFrame, mirror: str | None) -> Iterator[dict[str, Any]]:
    """Yield the records of the splits of rows of one data set, at the recorded hyperparameters."""
    dataset = loaded(rows.iloc[0]["dataset"], PROTOCOL, mirror)
    for (seed, fold), of_split in rows.groupby(["seed", "fold"], sort=False):
        kernel = fits.kernel_at(of_split.iloc[0].to_dict())
        yield from run(dataset, int(seed), int(fold), kernel)
