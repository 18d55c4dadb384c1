"""Dense models behind the estimators: EP, QP, VB, Power EP and relaxed EP on one target vector."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilted import api, corrections
from tilted.corrections import learning as corrected_learning
from tilted.corrections.marginals import SAMPLED
from tilted.estimators.models import LatentModel, Settings, choice, finite
from tilted.inference import rep
from tilted.inference.options import require_whole
from tilted.inference.pep import power_rule
from tilted.inference.relaxations import Relaxation
from tilted.inference.result import Inference, Status
from tilted.kernels.stationary import Stationary
from tilted.learning import averages
from tilted.learning import dense as hyperparameters
from tilted.learning import likelihood as with_likelihood
from tilted.learning import mean as means
from tilted.learning.dense import Problem
from tilted.learning.likelihood import coordinates_of
from tilted.learning.search import Search
from tilted.learning.site_starts import first_sites
from tilted.learning.starts import NO_LENGTHSCALE, best_of, places, with_notes
from tilted.numerics.chunks import in_chunks

if TYPE_CHECKING:
    from tilted.gaussian import Sites
    from tilted.inference.rule import Projector, Rule
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import DenseState

SEARCH = Search("log", max_iterations=1000)  # whose tolerances mean the same whatever the units of the inputs
NO_EVIDENCE = (
    "relaxed EP (inference='rep') has no evidence: choose the kernel by cross-validation (optimise='cv', or "
    "GridSearchCV with optimise=None), or keep the one given (optimise=None)"
)
EVIDENCES = OWN, EP_EVIDENCE, CORRECTED = "evidence", "ep-evidence", "corrected-evidence"
NO_WEIGHTS = "relaxed EP (inference='rep') takes no weights"
LENGTHSCALES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the cross-validated kernels, in units of the start's
VARIANCES = (1.0, 10.0)
NO_LEARNED_MEAN = "relaxed EP (inference='rep') has no evidence to learn a mean by: give mean as a number"


@dataclass(frozen=True)
class DenseSettings(Settings):
    """Settings of a dense fit: the parameters of ``GPClassifier``.

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
        """The inference as ``tilted.fit`` takes it."""
        if not isinstance(self.inference, str):
            return self.inference
        return power_rule(self.power) if self.inference == "power-ep" else self.inference


@dataclass(frozen=True)
class DenseModel(LatentModel):
    """A fitted dense model of one latent function.

    Attributes
    ----------
    fit : api.Fit
        Of ``tilted.fit``; that of relaxed EP holds a ``rep.Relaxed``.
    status : Status
    correction : str or None
    """

    fit: api.Fit
    status: Status
    correction: str | None = None

    @property
    def inference(self) -> Inference[DenseState]:
        return self.fit.inference

    @property
    def kernel(self) -> Kernel:
        return self.fit.kernel

    @property
    def likelihood(self) -> Likelihood:
        return self.fit.problem.likelihood

    @property
    def mean(self) -> float:
        return self.fit.problem.mean

    @property
    def fitted_mean(self) -> np.ndarray:
        return self.inference.state.marginals.mean

    def _moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.fit.predict_latent(X)

    def _means(self, X: np.ndarray) -> np.ndarray:
        problem, weights = self.fit.problem, self.inference.state.weights
        means = [self.kernel.matrix(rows, problem.X) @ weights for rows in in_chunks(X)]
        return problem.mean + np.concatenate(means)

    def corrected(self, X: np.ndarray) -> corrections.Corrected:
        return self.fit.corrected_or_warned(X, str(self.correction))

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*]: K** - K*f (K + T^-1)^-1 Kf*."""
        state, cross = self.inference.state, self.kernel.matrix(X, self.fit.problem.X)
        return self.mean + cross @ state.weights, state.covariance(cross, self.kernel.matrix(X))

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
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
        model = _fixed(X, y, kernel, timed)
    elif settings.optimise == "cv":
        model = _cross_validated(X, y, kernel, timed, rng, stratified)
    elif settings.optimise == OWN:
        model = _searched(X, y, kernel, timed, rng)
    else:
        model = _by_ep(X, y, kernel, timed, rng)
    problem = model.fit.problem
    problem = replace(problem, options=settings.untimed(problem.options))
    return replace(model, fit=replace(model.fit, problem=problem))


def _fixed(
    X: np.ndarray, y: np.ndarray, kernel: Kernel, settings: DenseSettings, note: str = ""
) -> DenseModel:
    """The model at the kernel given, with a note."""
    fit = _fit(X, y, kernel, settings)
    return DenseModel(fit, with_notes(fit.status, note), settings.correction)


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
    scales = [candidate.parameters()[1] for candidate in at]
    if kernel.parameters()[1] in (min(scales), max(scales)):
        note += "; its lengthscales are at the edge of the grid"
    return _fixed(X, y, kernel, settings, note)


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
    return DenseModel(best.fit, with_notes(best.status, note), settings.correction)


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
        status = with_notes(tuned.status, f"EP's: {status.message}")
        if not trusted:
            warnings.warn(tuned.status.message, corrections.CorrectionWarning, stacklevel=5)
    there = replace(settings, optimise=None, likelihood=problem.likelihood, mean=problem.mean, start=sites)
    fit = _fit(X, y, at, replace(there, learn_mean=False))
    converged = status.converged and fit.status.converged
    searched = replace(fit.status, converged=converged, evaluations=status.evaluations)
    status = with_notes(searched, status.message)
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
    fit_at: Callable[[np.ndarray, Kernel], api.Fit],
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
    splits, unsettled = list(splitter.split(X, y)), 0
    tested = None if weights is None else weights[np.concatenate([test for _, test in splits])]
    scores: list[tuple[float, Kernel]] = []
    failed: list[str] = []
    tried = 0
    for kernel in kernels:
        if scores and time.monotonic() >= deadline:
            break
        tried += 1
        densities = []
        try:
            for train, test in splits:
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
