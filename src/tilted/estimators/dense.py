"""Dense models behind the estimators: EP, QP, VB, Power EP and relaxed EP on one target vector."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields

import numpy as np

from tilted import api, hyperparameters
from tilted.estimators.models import Model, Settings, finite
from tilted.estimators.search import best_of, by_cross_validation, candidates, noted
from tilted.hyperparameters import Problem, Search
from tilted.inference import rep
from tilted.inference.options import require_whole
from tilted.inference.pep import power_rule
from tilted.inference.result import Status

SEARCH = Search(transform="log")  # whose tolerances mean the same whatever the units of the inputs
NO_EVIDENCE = (
    "relaxed EP (inference='rep') has no evidence: choose the kernel by cross-validation (optimise='cv', or "
    "GridSearchCV with optimise=None), or keep the one given (optimise=None)"
)


@dataclass(frozen=True)
class PowerProblem(Problem):
    """A problem under Power EP [Bui et al. 2017, section 3], whose evidence is stationary in the sites."""

    alpha: float = 0.5

    def rule(self):
        """Power EP's rule."""
        return power_rule(self.alpha)


@dataclass(frozen=True)
class DenseSettings(Settings):
    """How a dense model is fitted; as the parameters of ``GPClassifier``."""

    inferences = ("ep", "qp", "vb", "power-ep", "rep")
    choices = ("evidence", "cv", None)
    searches = Search

    cv: int
    penalty: float
    projection: object

    def __post_init__(self):
        super().__post_init__()
        require_whole("cv", self.cv, 2)
        finite("penalty", self.penalty)
        if self.inference == "rep" and self.optimise == "evidence":
            raise ValueError(NO_EVIDENCE)
        if self.inference != "qp" and self.projection is not None:
            raise ValueError(f"only inference='qp' takes a projection, not {self.inference!r}")


@dataclass(frozen=True)
class DenseModel(Model):
    """A fitted dense model of one latent function.

    Attributes
    ----------
    fit : api.Fit
        Of ``tilted.fit``; that of relaxed EP holds a ``rep.Relaxed``.
    status : Status
    """

    fit: api.Fit
    status: Status

    @property
    def kernel(self):
        """With the hyperparameters used."""
        return self.fit.kernel

    @property
    def inference(self):
        """Sites and posterior at these."""
        return self.fit.inference

    @property
    def likelihood(self):
        """As fitted with."""
        return self.fit.problem.likelihood

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function, in chunks."""
        return self.fit.predict_latent(X)

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*]: K** - K*f (K + T^-1)^-1 Kf*."""
        state, cross = self.inference.state, self.kernel.matrix(X, self.fit.problem.X)
        W = api.PREDICTOR.inner_precision(state)
        return self.fit.problem.mean + cross @ state.weights, self.kernel.matrix(X) - cross @ W @ cross.T

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Log evidence at ``theta`` from flat sites, its gradient [P] in ``theta`` if asked for, the status.

        Raises
        ------
        ValueError
            For relaxed EP.
        """
        if self.log_evidence is None:
            raise ValueError(NO_EVIDENCE)
        problem, kernel = self.fit.problem, self.kernel.with_parameters(np.exp(theta))
        if not gradient:
            found = hyperparameters.infer_at(problem, kernel)
            return found.log_evidence, None, found.status
        found, slope = hyperparameters.evidence_and_gradient(problem, kernel)
        return found.log_evidence, slope * kernel.parameters(), found.status


def fit_dense(
    X: np.ndarray, y: np.ndarray, kernel, settings: DenseSettings, rng, stratified: bool
) -> DenseModel:
    """Fit one latent function.

    Parameters
    ----------
    X, y : arrays [N, D], [N]
        ``y`` in the domain of the likelihood.
    kernel : SquaredExponential or another kernel
        To start from, or to keep.
    settings : DenseSettings
    rng : Generator
        For restarts and folds.
    stratified : bool
        Whether targets are labels, whose shares folds keep.

    Raises
    ------
    ValueError
        For bad data and settings.
    ArithmeticError
        If there is no proper posterior at the start.
    """
    if settings.optimise == "cv":
        at, seed = candidates(kernel), int(rng.integers(2**31))
        fold = lambda *part: _fit(*part, settings, False).fit  # noqa: E731
        kernel, note = by_cross_validation(fold, X, y, at, settings.cv, stratified, seed)
        model = _fit(X, y, kernel, settings, False)
        return DenseModel(model.fit, noted(model.status, note))
    if settings.optimise is None:
        return _fit(X, y, kernel, settings, False)

    def search(factors):
        return _fit(X, y, kernel.with_parameters(kernel.parameters() * factors), settings, True)

    return best_of(search, len(kernel.parameters()), settings.n_restarts, rng)


def _fit(X, y, kernel, settings: DenseSettings, optimise: bool) -> DenseModel:
    """One search, or one inference."""
    search, options = settings.search or SEARCH, settings.options
    data = X, y, settings.likelihood
    if settings.inference not in ("power-ep", "rep"):
        fit = api.fit(
            *data, settings.inference, kernel, settings.mean, optimise, search, options,
            projection=settings.projection,
        )  # fmt: skip
        return DenseModel(fit, fit.status)
    began = time.perf_counter()
    problem = api.make_problem(*data, "ep", settings.mean, options)
    if settings.inference == "rep":
        prior, relaxation = problem.posterior(kernel), rep.Relaxation(settings.penalty)
        found = rep.infer(prior, problem.likelihood, problem.y, relaxation, options)
        status = found.status
    else:
        values = {field.name: getattr(problem, field.name) for field in fields(Problem)}
        problem = PowerProblem(**values, alpha=settings.power)
        if optimise:
            tuned = hyperparameters.maximise(problem, kernel, search)
            kernel, found, status = tuned.kernel, tuned.inference, tuned.status
        else:
            found = hyperparameters.infer_at(problem, kernel)
            status = found.status
    return DenseModel(api.Fit(problem, kernel, found, status, time.perf_counter() - began), status)
