"""Seven approximations of the posterior of one split, to be compared with the exact one.

They are EP, QP, VB, Power EP of power 1/2, Laplace's approximation, and EP corrected, cheaply and nearly
exactly (`tilted.corrections`). All use the hyperparameters of the exact posterior
(`papers.qp.accuracy.exact_posterior`): on separable data these lie on a flat ridge, and another search would
end at another point of it. A record has a method's log evidence, the latents of the test inputs, their log
predictive densities, and processor seconds. Both grades of correction share the corrected evidence.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from papers.core import store
from papers.data import standard
from papers.qp import fits
from papers.qp.accuracy.laplace import laplace
from papers.qp.published import TRUTH_METHODS, TRUTH_PROTOCOL
from tilted import api
from tilted.corrections.marginals import GRADES, SAMPLED
from tilted.gaussian import require_positive
from tilted.inference.pep import power_rule
from tilted.likelihoods.probit import Probit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import numpy as np

    from papers.data import Dataset, Split
    from tilted.kernels.squared_exponential import SquaredExponential

POWER_EP, LAPLACE = "pep", "laplace"
METHODS = (*TRUTH_METHODS, POWER_EP, LAPLACE, *GRADES)
POWER = 0.5


class Approximated(NamedTuple):
    """A split; fits to it by name at fixed hyperparameters; processor seconds of each."""

    points: Split
    fits: dict[str, api.Fit]
    seconds: dict[str, float]


def approximated(
    dataset: Dataset, kernel: SquaredExponential, seed: int, fold: int, power_ep: bool = False
) -> Approximated:
    """Fit EP, QP and VB to a fold at fixed hyperparameters, by quadrature and with EP's prior mean.

    Parameters
    ----------
    dataset : Dataset
        Data set in the variant of the protocol as-released.
    kernel : SquaredExponential
    seed, fold : int
    power_ep : bool
        Whether to fit Power EP too.

    Raises
    ------
    ArithmeticError
        If a method's inference fails: there is nothing to compare.
    """
    done, seconds = {}, {}
    for method in (*TRUTH_METHODS, *([POWER_EP] if power_ep else [])):
        began = time.process_time()
        cell = fits.cell_of(dataset, TRUTH_PROTOCOL, "ep" if method == POWER_EP else method, seed, fold)
        spec = {"rule": power_rule(POWER)} if method == POWER_EP else cell.spec
        done[method] = fits.approximate(cell._replace(spec={**spec, "mean": cell.block["mean"]}), kernel)
        if not done[method].status.converged:
            raise ArithmeticError(f"{method} on {dataset.name}: {done[method].status.message}")
        seconds[method] = time.process_time() - began
    return Approximated(cell.points, done, seconds)


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
        The columns of `papers.qp.accuracy.records.NEARER_FITS`: ``trusted`` is about the evidence,
        ``seconds`` are of inference and evidence. In ``latents`` the columns of `NEARER_LATENTS`.

    Raises
    ------
    ArithmeticError
        If a method's inference fails: there is nothing to compare.
    """
    identity = {"dataset": dataset.name, "seed": seed, "fold": fold}
    hyperparameters = {"variance": kernel.variance, "lengthscale": kernel.lengthscale}
    approximated(dataset, kernel, seed, fold)  # what a process does once is no cost of a method's
    result = approximated(dataset, kernel, seed, fold, power_ep=True)
    points, ep = result.points, result.fits["ep"]
    answers = {name: _predicted(fit, points, result.seconds[name]) for name, fit in result.fits.items()}
    answers[LAPLACE] = _of_laplace(ep, points)
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
        answers[grade] = {**answer, "trusted": bool(evidence.trusted)}
    for method, answer in answers.items():
        yield {**identity, "method": method, **hyperparameters, **answer}


def _answer(
    log_evidence: float,
    mean: np.ndarray,
    variance: np.ndarray,
    log_density: np.ndarray,
    seconds: float,
    began: float,
) -> dict[str, Any]:
    """Return a method's numbers; its latents [N*] were computed from the process time ``began``."""
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
