"""Dense models behind the estimators: EP, QP, VB, Power EP and relaxed EP on one target vector."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tilted import api, corrections
from tilted.corrections import learning as corrected_learning
from tilted.corrections.marginals import SAMPLED
from tilted.estimators.models import Settings, choice, finite, standing, unraised
from tilted.estimators.search import by_cross_validation, candidates
from tilted.inference import rep
from tilted.inference.options import require_whole
from tilted.inference.pep import power_rule
from tilted.inference.relaxations import Relaxation
from tilted.inference.result import Status
from tilted.learning import dense as hyperparameters
from tilted.learning import likelihood as with_likelihood
from tilted.learning import mean as means
from tilted.learning.dense import Problem
from tilted.learning.likelihood import coordinates_of
from tilted.learning.search import Search
from tilted.learning.site_starts import first_sites
from tilted.learning.starts import best_of, noted, places
from tilted.numerics.chunks import in_chunks

if TYPE_CHECKING:
    from tilted.gaussian import Sites
    from tilted.inference.rule import Projector, Rule
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal
    from tilted.likelihoods.contract import Likelihood

SEARCH = Search("log", max_iterations=1000)  # whose tolerances mean the same whatever the units of the inputs
NO_EVIDENCE = (
    "relaxed EP (inference='rep') has no evidence: choose the kernel by cross-validation (optimise='cv', or "
    "GridSearchCV with optimise=None), or keep the one given (optimise=None)"
)
EVIDENCES = OWN, EP_EVIDENCE, CORRECTED = "evidence", "ep-evidence", "corrected-evidence"
NO_WEIGHTS = "relaxed EP (inference='rep') takes no weights"
NO_LEARNED_MEAN = "relaxed EP (inference='rep') has no evidence to learn a mean by: give mean as a number"


@dataclass(frozen=True)
class DenseSettings(Settings):
    """How a dense model is fitted; as the parameters of ``GPClassifier``.

    ``learn_likelihood`` says whether a search of the evidence moves parameters of the likelihood too.
    """

    inferences = ("ep", "qp", "vb", "power-ep", "rep")
    choices = (*EVIDENCES, "cv", None)

    cv: int
    penalty: float
    projection: Projector | None
    correction: str | None = None
    learn_likelihood: bool | None = None
    start: Sites | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("correction", self.correction, (None, *corrections.GRADES))
        if self.correction == SAMPLED:
            corrections.require_sampled(self.likelihood)
        if self.optimise == "cv":
            require_whole("cv", self.cv, 2)
        finite("penalty", self.penalty)
        Relaxation(self.penalty)  # refuses a negative one
        if self.inference == "rep" and self.optimise in EVIDENCES:
            raise ValueError(NO_EVIDENCE)
        if self.inference == "rep" and self.learn_mean:
            raise ValueError(NO_LEARNED_MEAN)
        if self.weights is not None and self.inference == "rep":
            raise ValueError(NO_WEIGHTS)
        if self.weights is not None and (self.correction is not None or self.optimise == CORRECTED):
            raise ValueError(api.UNCORRECTED)
        if self.inference != "qp" and self.projection is not None:
            raise ValueError(f"only inference='qp' takes a projection, not {self.inference!r}")

    @property
    def method(self) -> str | Rule:
        """What ``tilted.fit`` knows the inference by."""
        if not isinstance(self.inference, str):
            return self.inference
        return power_rule(self.power) if self.inference == "power-ep" else self.inference


@dataclass(frozen=True)
class DenseModel:
    """A fitted dense model of one latent function.

    Attributes
    ----------
    fit : api.Fit
        Of ``tilted.fit``; that of relaxed EP holds a ``rep.Relaxed``.
    status : Status
    correction : str or None
        Of predictions and of the evidence.
    """

    fit: api.Fit
    status: Status
    correction: str | None = None
    Z: ClassVar[None] = None

    @property
    def kernel(self) -> Kernel:
        """With the hyperparameters used."""
        return self.fit.kernel

    @property
    def likelihood(self) -> Likelihood:
        """As fitted with."""
        return self.fit.problem.likelihood

    @property
    def mean(self) -> float:
        """The prior mean."""
        return self.fit.problem.mean

    @property
    def fitted_mean(self) -> np.ndarray:
        """Posterior mean [N] of the latent function at the training inputs."""
        return self.fit.inference.state.marginals.mean

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
        """Mean and variance [N*] of the latent function, in chunks, corrected where that was asked for."""
        return self.fit.predict_latent(X, self.correction)

    def means(self, X: np.ndarray) -> np.ndarray:
        """The means [N*] alone, which need no variance that rounding may have lost."""
        if self.correction is not None:
            return self.moments(X)[0]
        problem, weights = self.fit.problem, self.fit.inference.state.weights
        parts = [self.kernel.matrix(inputs, problem.X) @ weights for inputs in in_chunks(X)]
        return problem.mean + np.concatenate(parts)

    def log_predictive(self, X: np.ndarray, targets: list[np.ndarray]) -> list[np.ndarray]:
        """Log predictive densities [N*], corrected, of several vectors of targets [N*], all in the domain."""
        found = self.corrected(X)
        return [found.resolved(y) for y in targets]

    def corrected(self, X: np.ndarray) -> corrections.Corrected:
        """Corrected posterior of the latent function at ``X`` [N*, D]."""
        return self.fit.corrected_or_warned(X, str(self.correction))

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*]: K** - K*f (K + T^-1)^-1 Kf*."""
        state, cross = self.fit.inference.state, self.kernel.matrix(X, self.fit.problem.X)
        return self.mean + cross @ state.weights, state.covariance(cross, self.kernel.matrix(X))

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Log evidence at ``theta`` from flat sites, its gradient [P] in ``theta`` if asked for, the status.

        With a correction it is EP's at second order where that is to be trusted, or that of draws; the status
        says so.

        Raises
        ------
        ValueError
            For relaxed EP.
        """
        if self.log_evidence is None:
            raise ValueError(NO_EVIDENCE)
        problem, kernel = self.fit.problem, self.kernel.with_parameters(np.exp(theta))
        if self.correction is not None:
            return corrected_learning.evidence_of(self.correction, problem, kernel, gradient)
        if not gradient:
            inference = hyperparameters.infer_at(problem, kernel)
            return inference.log_evidence, None, inference.status
        inference, slope = hyperparameters.evidence_and_gradient(problem, kernel)
        return inference.log_evidence, slope * kernel.parameters(), inference.status


@unraised
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
    timed = settings.timed()
    if settings.optimise is None:
        model = _as_it_is(X, y, kernel, timed)
    elif settings.optimise == "cv":
        model = _cross_validated(X, y, kernel, timed, rng, stratified)
    elif settings.optimise == OWN:
        model = _searched(X, y, kernel, timed, rng)
    else:
        model = _by_ep(X, y, kernel, timed, rng)
    problem = model.fit.problem
    problem = replace(problem, options=settings.untimed(problem.options))
    return replace(model, fit=replace(model.fit, problem=problem))


def _as_it_is(
    X: np.ndarray, y: np.ndarray, kernel: Kernel, settings: DenseSettings, note: str = ""
) -> DenseModel:
    """The model at the kernel given, with a note."""
    fit = _fit(X, y, kernel, settings)
    return DenseModel(fit, noted(fit.status, note), settings.correction)


def _cross_validated(
    X: np.ndarray,
    y: np.ndarray,
    kernel: Kernel,
    settings: DenseSettings,
    rng: np.random.Generator,
    stratified: bool,
) -> DenseModel:
    """The model at the kernel of a grid that predicts targets left out best."""
    at, seed = candidates(kernel), int(rng.integers(2**31))

    def fold(rows: np.ndarray, kernel: Kernel) -> api.Fit:
        own = None if settings.weights is None else settings.weights[rows]
        return _fit(X[rows], y[rows], kernel, replace(settings, weights=own))

    folds, weights = settings.cv, settings.weights
    kernel, note = by_cross_validation(fold, X, y, at, folds, stratified, seed, weights, settings.deadline)
    scales = [one.parameters()[1] for one in at]
    if kernel.parameters()[1] in (min(scales), max(scales)):
        note += "; its lengthscales are at the edge of the grid"
    return _as_it_is(X, y, kernel, settings, note)


def _searched(
    X: np.ndarray, y: np.ndarray, kernel: Kernel, settings: DenseSettings, rng: np.random.Generator
) -> DenseModel:
    """The model of the highest evidence that searches from several kernels find."""
    prior = settings.prior(kernel)

    def search(start: Kernel) -> DenseModel:
        fit = _fit(X, y, start, settings, prior)
        return DenseModel(fit, fit.status, settings.correction)

    kernels = settings.starts(X, y, settings.likelihood, kernel, rng)
    fixed = not (settings.learn_likelihood or settings.learn_mean)  # what the climb would hold fixed
    if settings.guessed and fixed and not settings.n_restarts:
        on = settings.likelihood, settings.mean, kernels, prior, settings.weights, settings.deadline
        kernels = places(X, y, *on)
    best, note = best_of(search, kernels, prior, settings.deadline)
    return DenseModel(best.fit, noted(best.status, note), settings.correction)


def _by_ep(
    X: np.ndarray, y: np.ndarray, kernel: Kernel, settings: DenseSettings, rng: np.random.Generator
) -> DenseModel:
    """Hyperparameters by EP's evidence, corrected or as it is; then the inference asked for.

    A prior mean and parameters of the likelihood that are learned too stay where EP's evidence has them.
    """
    own = replace(settings, inference="ep", optimise=OWN, projection=None, correction=None)
    model = _searched(X, y, kernel, own, rng)
    problem, at, sites, status = model.fit.problem, model.kernel, model.fit.inference.sites, model.status
    if settings.optimise == CORRECTED:
        prior, search = settings.prior(kernel), settings.search or SEARCH
        tuned, trusted = corrected_learning.maximise(problem, at, search, sites, prior)
        at, sites = tuned.kernel, tuned.inference.sites
        status = noted(tuned.status, f"EP's: {status.message}")
        if not trusted:
            warnings.warn(tuned.status.message, corrections.CorrectionWarning, stacklevel=5)
    there = replace(settings, optimise=None, likelihood=problem.likelihood, mean=problem.mean, start=sites)
    fit = _fit(X, y, at, replace(there, learn_mean=False))
    converged = status.converged and fit.status.converged
    searched = replace(fit.status, converged=converged, evaluations=status.evaluations)
    status = noted(searched, status.message)
    return DenseModel(replace(fit, status=status), status, settings.correction)


def _fit(
    X: np.ndarray, y: np.ndarray, kernel: Kernel, settings: DenseSettings, prior: LogNormal | None = None
) -> api.Fit:
    """One search of the evidence, or one inference; of the mean too where that is learned, in either case."""
    optimise = settings.optimise == OWN
    search, began = settings.search or SEARCH, time.perf_counter()
    method = "ep" if settings.inference == "rep" else settings.method
    model = settings.likelihood, method, settings.mean, settings.options, settings.projection
    problem = api.make_problem(X, y, *model, settings.weights)
    if settings.inference == "rep":
        return _relaxed(problem, kernel, settings.penalty)
    start = settings.start or first_sites(problem.likelihood, problem.y, problem.mean, settings.weights)
    learned = bool(optimise and settings.learn_likelihood and len(coordinates_of(problem.likelihood)))
    if not settings.learn_mean:
        return api.fit_problem(problem, kernel, optimise, search, start, prior, learned)
    if learned:
        tuned = with_likelihood.maximise(problem, kernel, search, start, True, prior)
    else:
        tuned = means.maximise(problem, kernel, search, start, optimise, prior)
    return api.Fit(tuned.problem, tuned.kernel, tuned.inference, tuned.status, time.perf_counter() - began)


def _relaxed(problem: Problem, kernel: Kernel, penalty: float) -> api.Fit:
    """Relaxed EP at the kernel given, whose inference has no evidence."""
    began = time.perf_counter()
    prior, relaxation = problem.posterior(kernel), Relaxation(penalty)
    relaxed = rep.infer(prior, problem.likelihood, problem.y, relaxation, problem.options)
    seconds = time.perf_counter() - began
    return api.Fit(problem, kernel, relaxed, relaxed.status, seconds)  # type: ignore[arg-type]  # no evidence
