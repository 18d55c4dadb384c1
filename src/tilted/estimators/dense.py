"""Dense models behind the estimators: EP, QP, VB, Power EP and relaxed EP on one target vector."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from tilted import api, hyperparameters, means
from tilted.estimators.models import Settings, finite, standing
from tilted.estimators.search import best_of, by_cross_validation, candidates, noted
from tilted.hyperparameters import Problem, Search
from tilted.inference import rep
from tilted.inference.options import require_whole
from tilted.inference.pep import power_rule
from tilted.inference.result import Inference, Status

if TYPE_CHECKING:
    from tilted.inference.rule import Projector, Rule
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import DenseState

SEARCH = Search(transform="log")  # whose tolerances mean the same whatever the units of the inputs
NO_EVIDENCE = (
    "relaxed EP (inference='rep') has no evidence: choose the kernel by cross-validation (optimise='cv', or "
    "GridSearchCV with optimise=None), or keep the one given (optimise=None)"
)
NO_LEARNED_MEAN = "relaxed EP (inference='rep') has no evidence to learn a mean by: give mean as a number"


@dataclass(frozen=True)
class PowerProblem(Problem):
    """A problem under Power EP [Bui et al. 2017, section 3], whose evidence is stationary in the sites."""

    alpha: float = 0.5

    def rule(self) -> Rule:
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
    projection: Projector | None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole("cv", self.cv, 2)
        finite("penalty", self.penalty)
        rep.Relaxation(self.penalty)  # refuses a negative one
        if self.inference == "rep" and self.optimise == "evidence":
            raise ValueError(NO_EVIDENCE)
        if self.inference == "rep" and self.learn_mean:
            raise ValueError(NO_LEARNED_MEAN)
        if self.inference != "qp" and self.projection is not None:
            raise ValueError(f"only inference='qp' takes a projection, not {self.inference!r}")


@dataclass(frozen=True)
class DenseModel:
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
    def kernel(self) -> Kernel:
        """With the hyperparameters used."""
        return self.fit.kernel

    @property
    def likelihood(self) -> Likelihood:
        """As fitted with."""
        return self.fit.problem.likelihood

    @property
    def Z(self) -> None:
        """No pseudo-inputs."""
        return

    @property
    def mean(self) -> float:
        """The prior mean."""
        return self.fit.problem.mean

    @property
    def theta(self) -> np.ndarray:
        """Logarithms [P] of the kernel's parameters."""
        return np.log(self.kernel.parameters())

    @property
    def log_evidence(self) -> float | None:
        """In nats; None for relaxed EP."""
        return getattr(self.fit.inference, "log_evidence", None)

    @property
    def standing(self) -> float:
        """The log evidence, -inf where that is unsound."""
        return standing(self.fit.inference)

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function, in chunks."""
        return self.fit.predict_latent(X)

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*]: K** - K*f (K + T^-1)^-1 Kf*."""
        state, cross = self.fit.inference.state, self.kernel.matrix(X, self.fit.problem.X)
        W = api.PREDICTOR.inner_precision(state)
        return self.mean + cross @ state.weights, self.kernel.matrix(X) - cross @ W @ cross.T

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
    X: np.ndarray,
    y: np.ndarray,
    kernel: Kernel,
    settings: DenseSettings,
    rng: np.random.Generator,
    stratified: bool,
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
        If there is no proper posterior at the start; with a learned mean, also if the sites do not converge.
    """
    if settings.optimise == "cv":
        at, seed = candidates(kernel), int(rng.integers(2**31))

        def fold(X: np.ndarray, y: np.ndarray, kernel: Kernel) -> api.Fit:
            return _fit(X, y, kernel, settings, False)

        kernel, note = by_cross_validation(fold, X, y, at, settings.cv, stratified, seed)
        scales = [one.parameters()[1] for one in at]
        if kernel.parameters()[1] in (min(scales), max(scales)):
            note += "; its lengthscales are at the edge of the grid"
        fit = _fit(X, y, kernel, settings, False)
        return DenseModel(fit, noted(fit.status, note))
    if settings.optimise is None:
        fit = _fit(X, y, kernel, settings, False)
        return DenseModel(fit, fit.status)

    def search(factors: np.ndarray) -> DenseModel:
        fit = _fit(X, y, kernel.with_parameters(kernel.parameters() * factors), settings, True)
        return DenseModel(fit, fit.status)

    best, note = best_of(search, len(kernel.parameters()), settings.n_restarts, rng)
    return DenseModel(best.fit, noted(best.status, note))


def _fit(X: np.ndarray, y: np.ndarray, kernel: Kernel, settings: DenseSettings, optimise: bool) -> api.Fit:
    """One search, or one inference; of the mean too where that is learned, whatever the kernel does."""
    search, options, method = settings.search or SEARCH, settings.options, settings.inference
    assert isinstance(search, Search)
    data, own = (X, y, settings.likelihood), method in ("power-ep", "rep")
    if not (own or settings.learn_mean):
        return api.fit(
            *data, method, kernel, settings.mean, optimise, search, options, projection=settings.projection
        )
    began = time.perf_counter()
    problem = api.make_problem(*data, "ep" if own else method, settings.mean, options, settings.projection)
    if method == "rep":
        prior, relaxation = problem.posterior(kernel), rep.Relaxation(settings.penalty)
        relaxed = rep.infer(prior, problem.likelihood, problem.y, relaxation, options)
        seconds = time.perf_counter() - began
        return api.Fit(problem, kernel, relaxed, relaxed.status, seconds)  # type: ignore[arg-type]  # no evidence
    if method == "power-ep":
        values = {field.name: getattr(problem, field.name) for field in fields(Problem)}
        problem = PowerProblem(**values, alpha=settings.power)
    problem, kernel, found, status = _search(problem, kernel, search, settings.learn_mean, optimise)
    return api.Fit(problem, kernel, found, status, time.perf_counter() - began)


def _search(
    problem: Problem, kernel: Kernel, search: Search, learn_mean: bool, optimise: bool
) -> tuple[Problem, Kernel, Inference[DenseState], Status]:
    """Inference at the best mean and kernel, of which either may be kept."""
    if learn_mean:
        centred = means.maximise(problem, kernel, search, move_kernel=optimise)
        return centred.problem, centred.kernel, centred.inference, centred.status
    if optimise:
        tuned = hyperparameters.maximise(problem, kernel, search)
        return problem, tuned.kernel, tuned.inference, tuned.status
    found = hyperparameters.infer_at(problem, kernel)
    return problem, kernel, found, found.status
