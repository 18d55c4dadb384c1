"""A fit of a fold as a record: scored stably, corrected, or as the released code does; or failed."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from papers.core import metrics
from papers.qp import vb_released
from tilted.inference.result import Status
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.likelihoods.contract import Labels

if TYPE_CHECKING:
    from typing import Any

    from papers.data import Split
    from tilted import api
    from tilted.inference.vb_joint import JointFit
    from tilted.likelihoods.contract import Likelihood


UNTRUSTED = "evidence not corrected"


def stable(likelihood: Likelihood, points: Split, fitted: api.Fit | JointFit) -> dict[str, Any]:
    """Return the record of a fit, predicted without an inverse of K; ArithmeticError if not finite."""
    mean, variance = fitted.predict_latent(points.X_test)
    density = likelihood.log_predictive(points.y_test, mean, variance)
    if not (np.isfinite(fitted.log_evidence) and np.all(np.isfinite(density))):
        raise ArithmeticError(f"no finite evidence or test density ({fitted.status.message})")
    errors = likelihood.errors(points.y_test, mean, variance)
    return _record(fitted, fitted.status, mean, variance, density, errors)


def corrected(likelihood: Likelihood, points: Split, fitted: api.Fit, grade: str) -> dict[str, Any]:
    """Return the record of EP's fit with its posterior and evidence corrected (`tilted.corrections`).

    A label is wrong if its predictive probability is below one half. Counts are predicted from the corrected
    moments. If a correction is not trusted, of the evidence or of a latent (which is then EP's), the fit is
    not converged, and the reason says so.
    """
    evidence, correction = fitted.corrected_evidence(grade), fitted.corrected(points.X_test, grade)
    density = correction.log_predictive(likelihood.domain(points.y_test))
    if not (np.isfinite(evidence.value) and np.all(np.isfinite(density))):
        raise ArithmeticError(f"no finite evidence or test density ({correction.message})")
    if isinstance(likelihood, Labels):
        errors = (density < np.log(0.5)).astype(float)
    else:
        errors = likelihood.errors(points.y_test, correction.mean, correction.variance)
    status = fitted.status
    if status.converged and not np.all(correction.trusted):
        status = replace(status, converged=False, message=f"not corrected: {correction.message}")
    elif status.converged and not evidence.trusted:
        status = _with_evidence_of_ep(status, evidence.message)
    record = _record(fitted, status, correction.mean, correction.variance, density, errors)
    return {**record, "log_evidence": float(evidence.value)}


def of_corrected_evidence(likelihood: Likelihood, points: Split, fitted: api.Fit) -> dict[str, Any]:
    """Return the record of EP's fit with EP's predictions and the second-order evidence in place of EP's.

    If that evidence is not trusted, nothing was searched, the evidence is EP's, and the fit is not converged.
    """
    record, evidence = stable(likelihood, points, fitted), fitted.corrected_evidence()
    if not evidence.trusted:
        record["status"] = _with_evidence_of_ep(fitted.status, evidence.message).as_dict()
    return {**record, "log_evidence": float(evidence.value)}


def _with_evidence_of_ep(status: Status, why: str) -> Status:
    """Return the status of a fit whose evidence could not be corrected."""
    message = f"{UNTRUSTED}: {why.removeprefix('not corrected: ')}"
    return replace(status, converged=False, message=message)


def released(likelihood: Likelihood, points: Split, fitted: JointFit) -> dict[str, Any]:
    """Return the record of a fit, predicted and scored as the released code does (`vb_released`).

    ``clipped`` counts predictive variances, ``retries`` amounts of jitter.
    """
    predicted = vb_released.predict(fitted, points.X_test)
    density, errors = vb_released.scores(likelihood, points.y_test, predicted)
    status = replace(
        fitted.status, clipped=predicted.clipped, retries=predicted.tries, jitter=predicted.jitter
    )
    return _record(fitted, status, predicted.mean, predicted.variance, density, errors)


def _record(
    fitted: api.Fit | JointFit,
    status: Status,
    mean: np.ndarray,
    variance: np.ndarray,
    density: np.ndarray,
    errors: np.ndarray,
) -> dict[str, Any]:
    """Return the record, without seconds, of a fit that gave numbers; arrays [N*]."""
    kernel = fitted.kernel
    assert isinstance(kernel, SquaredExponential), "a search keeps the kind of its kernel"
    lengthscale = kernel.lengthscale
    return {
        "hyperparameters": {
            "variance": kernel.variance,
            "lengthscale": list(lengthscale) if isinstance(lengthscale, tuple) else lengthscale,
        },
        "log_evidence": float(fitted.log_evidence),
        "status": status.as_dict(),
        "test_error": metrics.mean_error(errors),
        "ntll": metrics.negative_log_likelihood(density),
        "test_log_density": density.tolist(),
        "latent_mean": mean.tolist(),
        "latent_variance": variance.tolist(),
    }


FAILURES = (ArithmeticError, ValueError)
"""An improper posterior, one class only, a matrix that cannot be factorised, ..."""

EMPTY = "hyperparameters log_evidence test_error ntll test_log_density latent_mean latent_variance".split()
"""Fields that a failed fit has no numbers for."""


def failed(why: str, seconds: float) -> dict[str, Any]:
    """Return the record of a fit that gave no numbers."""
    status = Status(converged=False, sweeps=0, message=f"failed: {why}")
    return {**dict.fromkeys(EMPTY), "status": status.as_dict(), "seconds": seconds}


def failure(error: Exception, began: float) -> dict[str, Any]:
    """Return the record of a fit that raised, timed from ``began``, a process time."""
    return failed(str(error), time.process_time() - began)
