"""Sparse models behind the estimators: Power EP through M pseudo-points [Bui et al. 2017]."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from tilted import api, corrections
from tilted.corrections.evidence import correction_gradient
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT
from tilted.estimators.diagnostics import reach
from tilted.estimators.models import LatentModel, Settings, choice, finite
from tilted.inference.options import Options, require_whole
from tilted.inference.result import Inference, Status
from tilted.learning import mean as means
from tilted.learning import regression
from tilted.learning import sparse as sparse_search
from tilted.learning.blocks import MOST_NEIGHBOURS
from tilted.learning.dense import of_labels, ridge
from tilted.learning.search import Search
from tilted.learning.site_starts import first_sites
from tilted.learning.starts import RESTART_DECADES, best_of, units_of, with_notes
from tilted.likelihoods.contract import as_floats
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.numerics.chunks import by_class, in_chunks
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.collapsed import Collapsed, Regression, condition, energy_and_gradient
from tilted.posteriors.dense import Dense
from tilted.posteriors.pseudo import PseudoPoints
from tilted.posteriors.sparse import Sparse

if TYPE_CHECKING:
    from tilted.gaussian import Sites
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.sparse import SparseState

CLOSED_FORM = "closed form at the parameters given"
APPROXIMATIONS = PSEUDO_POINTS, BLOCKS, AUTO = "pseudo-points", "blocks", "auto"
MOST_NEARLY_EXACT = 1000  # rows of which nearly exact marginals are computed, from a dense posterior
NEEDS_SEARCH = "the mean of a sparse model is learned with its kernel (optimise='evidence'), not by itself"
SEARCH = Search(method="bfgs", max_iterations=500, expected_gain=1e-4)
"""Whose stop is in nats: a relative one depends on the unit of the targets, which adds to the evidence."""


@dataclass(frozen=True)
class SparseSettings(Settings):
    """Settings of a sparse fit: the parameters of ``SparseGPClassifier``.

    A search of the evidence moves parameters of the likelihood too, unless ``learn_likelihood`` is false.
    """

    inferences = ("power-ep", "ep", "vb")
    choices = ("evidence", None)

    jitter: float
    move_pseudo_inputs: bool
    n_pseudo: int
    approximation: str
    neighbours: int
    correction: str | None = None
    learn_likelihood: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("jitter", self.jitter)
        choice("approximation", self.approximation, APPROXIMATIONS)
        require_whole("neighbours", self.neighbours, 1, MOST_NEIGHBOURS)
        choice("correction", self.correction, (None, CHEAP, NEARLY_EXACT))
        if self.weights is not None and self.correction is not None:
            raise ValueError(api.UNCORRECTED)

    def of_rows(self, rows: np.ndarray) -> SparseSettings:
        """Return the settings of some of the rows."""
        return self if self.weights is None else replace(self, weights=self.weights[rows])

    @property
    def alpha(self) -> float:
        """The power: 1 is EP, 0 is VB."""
        return {"ep": 1.0, "vb": 0.0}.get(str(self.inference), self.power)

    @property
    def how(self) -> Search:
        """The search, with pseudo-inputs that stay where they are if they are to."""
        search = self.search or SEARCH
        return search if self.move_pseudo_inputs else replace(search, move_pseudo_inputs=False)


def pseudo_inputs_of(
    pseudo_inputs: ArrayLike | None,
    X: np.ndarray,
    number: int,
    rng: np.random.Generator,
    labels: np.ndarray | None = None,
) -> np.ndarray:
    """Pseudo-inputs [M, D]: those given, or a random part of the distinct rows of ``X`` [N, D].

    Rows of every class of ``labels`` [N] are among these (`by_class`).

    Raises
    ------
    ValueError
        For another number of columns than X has, for fewer than one, and for what is not numeric.
    """
    if pseudo_inputs is None:
        require_whole("n_pseudo", number, 1)
        distinct, rows = np.unique(X, axis=0, return_index=True)
        order = rng.permutation(len(distinct))
        return distinct[by_class(order, None if labels is None else labels[rows[order]], number)]
    Z = as_floats(pseudo_inputs, "pseudo_inputs")
    if Z.ndim != 2 or Z.shape[1] != X.shape[1] or len(Z) == 0:
        raise ValueError(f"pseudo_inputs must be a matrix [M, {X.shape[1]}], got shape {Z.shape}")
    return Z


class PseudoPointModel(LatentModel):
    """The base of the models with pseudo-points."""

    @property
    @abstractmethod
    def pseudo(self) -> PseudoPoints:
        """The pseudo-points."""

    @property
    @abstractmethod
    def latent(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Factor [M, M] and projected [M] of the posterior (`PseudoPoints.predict`), and the prior mean."""

    @property
    def Z(self) -> np.ndarray:
        return self.pseudo.Z

    @property
    def kernel(self) -> Kernel:
        return self.pseudo.kernel

    def _moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        factor, projected, mean = self.latent
        moments = [self.pseudo.predict(factor, projected, rows) for rows in in_chunks(X)]
        means, variances = zip(*moments, strict=True)
        return mean + np.concatenate(means), np.concatenate(variances)

    def _means(self, X: np.ndarray) -> np.ndarray:
        factor, projected, mean = self.latent
        weights, pseudo = projected @ factor, self.pseudo
        means = [weights @ (pseudo.root @ pseudo.cross(rows)) for rows in in_chunks(X)]
        return mean + np.concatenate(means)

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*] of the latent function: K** - V^T V + W^T W."""
        factor, projected, mean = self.latent
        V = self.pseudo.root @ self.pseudo.cross(X)
        W = factor @ V
        return mean + projected @ W, self.pseudo.kernel.matrix(X) - V.T @ V + W.T @ W


@dataclass(frozen=True)
class SparseModel(PseudoPointModel):
    """A fitted sparse model under any likelihood.

    Attributes
    ----------
    fitted : sparse_search.Fitted
    status : Status
    correction : str or None
    """

    fitted: sparse_search.Fitted
    status: Status
    correction: str | None = None

    @property
    def inference(self) -> Inference[SparseState]:
        return self.fitted.inference

    @property
    def pseudo(self) -> PseudoPoints:
        return self.fitted.posterior.pseudo

    @property
    def problem(self) -> sparse_search.Problem:
        """With the mean and the likelihood used."""
        return self.fitted.problem

    @property
    def likelihood(self) -> Likelihood:
        return self.problem.likelihood

    @property
    def mean(self) -> float:
        return self.fitted.mean

    @property
    def fitted_mean(self) -> np.ndarray:
        return self.inference.state.marginals.mean

    @property
    def latent(self) -> tuple[np.ndarray, np.ndarray, float]:
        state = self.inference.state
        return state.factor, state.projected, self.mean

    def corrected(self, X: np.ndarray) -> corrections.Corrected:
        """Corrected posterior at ``X`` [N*, D], with a CorrectionWarning where its answers are EP's."""
        sites, grade = self.inference.sites, str(self.correction)
        return correct(self.problem, self.kernel, self.Z, sites, X, grade)

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        kernel = self.kernel.with_parameters(np.exp(theta))
        if self.correction is not None:
            value, slope, status = corrected_evidence(self.problem, kernel, self.Z, gradient)
            return value, None if slope is None else slope * kernel.parameters(), status
        posterior, inference = self.problem.infer(kernel, self.pseudo.Z)
        if not gradient:
            return inference.log_evidence, None, inference.status
        slope = posterior.evidence_gradient(inference.state, inference.by_extra)[0]
        return inference.log_evidence, slope * kernel.parameters(), inference.status


@dataclass(frozen=True)
class CollapsedModel(PseudoPointModel):
    """A fitted sparse regression, in closed form [Bui et al. 2017, sections 3.5-3.7].

    Attributes
    ----------
    problem : Regression
        With targets from which ``mean`` is subtracted.
    state : Collapsed
    mean : float
    status : Status
    """

    problem: Regression
    state: Collapsed
    mean: float
    status: Status

    @property
    def inference(self) -> Collapsed:
        return self.state

    @property
    def pseudo(self) -> PseudoPoints:
        return self.state.pseudo

    @property
    def likelihood(self) -> Likelihood:
        return GaussianNoise(self.state.noise)

    @property
    def fitted_mean(self) -> np.ndarray:
        return self.moments(self.problem.X)[0]

    @property
    def theta(self) -> np.ndarray:
        """Logarithms [P + 1] of the kernel's parameters and the noise variance."""
        return np.log(np.append(self.kernel.parameters(), self.state.noise))

    @property
    def selection_score(self) -> float:
        """The energy, in closed form and so always sound."""
        return self.state.log_evidence

    @property
    def latent(self) -> tuple[np.ndarray, np.ndarray, float]:
        return self.state.factor, self.state.projected, self.mean

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Energy at ``theta``, pseudo-inputs as fitted, its gradient [P + 1] if asked for, and the status."""
        values = np.exp(theta)
        at = self.kernel.with_parameters(values[:-1]), self.pseudo.Z, float(values[-1])
        if not gradient:
            return condition(self.problem, *at).log_evidence, None, Status(True, 0)
        state, slope = energy_and_gradient(self.problem, *at)
        return state.log_evidence, np.append(slope.kernel, slope.noise) * values, Status(True, 0)


def fit_sparse(
    X: np.ndarray,
    y: np.ndarray,
    kernel: Kernel,
    Z: np.ndarray,
    settings: SparseSettings,
    rng: np.random.Generator,
) -> SparseModel:
    """Fit one latent function through pseudo-inputs.

    Parameters
    ----------
    X, y : arrays [N, D], [N]
        ``y`` in the domain of the likelihood.
    kernel : SquaredExponential or another kernel
        To start from, or to keep.
    Z : array [M, D]
        Pseudo-inputs to start from, or to keep.
    settings : SparseSettings
    rng : Generator
        For restarts.

    Raises
    ------
    ValueError
        For bad data and settings.
    ArithmeticError
        If the first evaluation fails: Kuu is singular (allow jitter), the pseudo-inputs are out of sight, or
        the sites do not converge.
    """
    original, settings = settings, settings.timed()
    model_parameters = settings.likelihood, settings.alpha, settings.mean, settings.jitter
    problem = sparse_search.Problem(X, y, *model_parameters, settings.options or Options(), settings.weights)
    if settings.optimise is None and settings.learn_mean:
        raise ValueError(NEEDS_SEARCH)
    require_few(settings.correction, len(y))
    try:
        model = (
            _fixed(problem, kernel, Z)
            if settings.optimise is None
            else _searched(problem, kernel, Z, settings, rng)
        )
        problem = replace(model.problem, options=original.untimed(problem.options))
        fitted = replace(model.fitted, problem=problem)
        return replace(model, fitted=fitted, correction=settings.correction)
    except NotPositiveDefinite as error:
        if note := reach(kernel, X, Z):
            raise ArithmeticError(f"{error}: {note}") from error
        raise


def _fixed(problem: sparse_search.Problem, kernel: Kernel, Z: np.ndarray) -> SparseModel:
    """The model with this kernel and these pseudo-inputs."""
    start = first_sites(problem.likelihood, problem.y, problem.mean, problem.weights)
    posterior, inference = problem.infer(kernel, Z, start)
    return SparseModel(
        sparse_search.Fitted(problem, posterior, inference, inference.status), inference.status
    )


def _searched(
    problem: sparse_search.Problem,
    kernel: Kernel,
    Z: np.ndarray,
    settings: SparseSettings,
    rng: np.random.Generator,
) -> SparseModel:
    """The best model of the searches that start here and elsewhere."""

    prior, units = settings.prior(kernel), units_of(problem.X)
    learned = settings.learn_likelihood is not False

    def search(start: Kernel) -> SparseModel:
        how = settings.how, settings.learn_mean, prior, learned, units
        fitted = sparse_search.maximise(problem, start, Z, *how)
        pseudo = fitted.posterior.pseudo
        note = ""
        if of_labels(problem.likelihood):
            infer = fitted.problem.infer
            note = ridge(
                pseudo.kernel,
                problem.X,
                fitted.inference,
                lambda steeper, at: infer(steeper, pseudo.Z, at)[1],
            )
        return SparseModel(fitted, with_notes(fitted.status, note))

    kernels = settings.starts(problem.X, problem.y, settings.likelihood, kernel, rng)
    best, note = best_of(search, kernels, prior, settings.deadline)
    return replace(best, status=with_notes(best.status, note))


def fit_collapsed(
    X: np.ndarray,
    y: np.ndarray,
    kernel: Kernel,
    Z: np.ndarray,
    settings: SparseSettings,
    rng: np.random.Generator,
) -> CollapsedModel:
    """Fit a sparse regression in closed form; as `fit_sparse`, with the noise variance searched too."""
    settings, noise = settings.timed(), cast("GaussianNoise", settings.likelihood).noise
    kind = means.Levelled if settings.learn_mean else Regression
    problem = kind(X, y - settings.mean, settings.alpha, jitter=settings.jitter, weights=settings.weights)

    def model(state: Collapsed, status: Status) -> CollapsedModel:
        level = means.best_level(problem, state) if settings.learn_mean else 0.0
        return CollapsedModel(replace(problem, y=problem.y - level), state, settings.mean + level, status)

    if settings.optimise is None:
        centred = problem.centred(kernel, Z, noise) if isinstance(problem, means.Levelled) else problem
        state = condition(centred, kernel, Z, noise)
        return model(state, Status(True, 0, jitter=state.jitter, message=CLOSED_FORM))

    prior = settings.prior(kernel)
    kernels = settings.starts(X, y, GaussianNoise(noise), kernel, rng)
    elsewhere = 10.0 ** rng.uniform(-RESTART_DECADES, RESTART_DECADES, settings.n_restarts)
    noises = noise * np.append(np.ones(len(kernels) - settings.n_restarts), elsewhere)
    units = units_of(X)

    def search(start: tuple[Kernel, float]) -> CollapsedModel:
        at, variance = start
        how = settings.how, prior, settings.deadline, units
        fitted = regression.maximise(problem, at, Z, variance, *how)
        assert isinstance(fitted.state, Collapsed)
        return model(fitted.state, fitted.status)

    best, note = best_of(search, list(zip(kernels, noises, strict=True)), prior, settings.deadline)
    return replace(best, status=with_notes(best.status, note))


def require_few(correction: str | None, rows: int) -> None:
    """Raise ValueError for nearly exact marginals of more than `MOST_NEARLY_EXACT` rows."""
    if correction == NEARLY_EXACT and rows > MOST_NEARLY_EXACT:
        raise ValueError(
            "correction='nearly-exact' takes time and memory of a dense posterior: at most "
            f"{MOST_NEARLY_EXACT} rows ('cheap' takes any), got {rows}"
        )


def expand(
    problem: sparse_search.Problem, kernel: Kernel, Z: np.ndarray, start: Sites | None = None
) -> corrections.Expansion:
    """EP's fixed point through pseudo-inputs ``Z`` [M, D]."""
    prior = Sparse.build(kernel, problem.X, Z, problem.mean, problem.jitter)
    return corrections.expand(prior, problem.likelihood, problem.y, start, problem.options)


def correct(
    problem: sparse_search.Problem, kernel: Kernel, Z: np.ndarray, start: Sites, X: np.ndarray, grade: str
) -> corrections.Corrected:
    """Corrected posterior at ``X`` [N*, D], with a CorrectionWarning where its answers are EP's.

    Nearly exact marginals are made from the dense posterior with the pseudo-points' prior.
    """
    base = expand(problem, kernel, Z, start)
    queries = corrections.queries_through(base, X)
    if grade == NEARLY_EXACT:
        prior, batches = base.prior, list(queries)
        assert isinstance(prior, Sparse)
        among = Dense.build(prior.V.T @ prior.V + np.diag(prior.extra), prior.mean)
        dense = corrections.expand(among, problem.likelihood, problem.y, None, problem.options)
        queries = (corrections.queries(dense, *batch[:3]) for batch in batches)
        base = dense
    corrected = corrections.correct_marginals(base, queries, grade)
    if not np.all(corrected.trusted):
        warnings.warn(corrected.message, corrections.CorrectionWarning, stacklevel=5)
    return corrected


def corrected_evidence(
    problem: sparse_search.Problem, kernel: Kernel, Z: np.ndarray, gradient: bool
) -> tuple[float, np.ndarray | None, Status]:
    """Return EP's log evidence, to second order where that is to be trusted, and its gradient [P]."""
    base = expand(problem, kernel, Z)
    evidence, inference, prior = corrections.correct_evidence(base), base.inference, base.prior
    status = with_notes(inference.status, evidence.message)
    if not gradient:
        return evidence.value, None, status
    assert isinstance(prior, Sparse)
    slope = prior.evidence_gradient(inference.state, inference.by_extra)[0]
    if evidence.trusted:
        slope = slope + correction_gradient(lambda near: expand(problem, near, Z, inference.sites), kernel)
    return evidence.value, slope, status
