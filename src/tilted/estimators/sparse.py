"""Sparse models behind the estimators: Power EP through M pseudo-points [Bui et al. 2017]."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tilted import api, corrections
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT
from tilted.estimators import sparse_corrections
from tilted.estimators.models import Settings, choice, finite, standing, unraised
from tilted.estimators.reach import reach
from tilted.inference.options import Options, require_whole
from tilted.inference.result import Status
from tilted.learning import sparse as sparse_search
from tilted.learning.dense import of_labels, ridge
from tilted.learning.search import Search
from tilted.learning.site_starts import first_sites
from tilted.learning.starts import best_of, noted, units_of
from tilted.likelihoods.contract import as_floats
from tilted.numerics.chunks import in_chunks
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.pseudo import PseudoPoints

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood

KEPT = "the mean of a sparse model is learned with its kernel (optimise='evidence'), not by itself"
SEARCH = Search(method="bfgs", max_iterations=500, expected_gain=1e-4)
"""Whose stop is in nats: a relative one depends on the unit of the targets, which adds to the evidence."""


@dataclass(frozen=True)
class SparseSettings(Settings):
    """How a sparse model is fitted; as the parameters of ``SparseGPClassifier``.

    A search of the evidence moves parameters of the likelihood too, unless ``learn_likelihood`` is false.
    """

    inferences = ("power-ep", "ep", "vb")
    choices = ("evidence", None)

    jitter: float
    move_pseudo_inputs: bool
    correction: str | None = None
    learn_likelihood: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        finite("jitter", self.jitter)
        choice("correction", self.correction, (None, CHEAP, NEARLY_EXACT))
        if self.weights is not None and self.correction is not None:
            raise ValueError(api.UNCORRECTED)

    def of_rows(self, rows: np.ndarray) -> SparseSettings:
        """The same for some of the rows."""
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
    given: ArrayLike | None, X: np.ndarray, number: int, rng: np.random.Generator
) -> np.ndarray:
    """Pseudo-inputs [M, D]: those given, or a random part of the distinct rows of ``X`` [N, D].

    Raises
    ------
    ValueError
        For another number of columns than X has, for fewer than one, and for what is not numeric.
    """
    if given is None:
        require_whole("n_pseudo", number, 1)
        distinct = np.unique(X, axis=0)
        return distinct[np.sort(rng.permutation(len(distinct))[:number])]
    Z = as_floats(given, "pseudo_inputs")
    if Z.ndim != 2 or Z.shape[1] != X.shape[1] or len(Z) == 0:
        raise ValueError(f"pseudo_inputs must be a matrix [M, {X.shape[1]}], got shape {Z.shape}")
    return Z


class ThroughPoints(ABC):
    """What models through pseudo-points have in common."""

    @property
    @abstractmethod
    def pseudo(self) -> PseudoPoints:
        """The pseudo-points."""

    @property
    @abstractmethod
    def latent(self) -> tuple[np.ndarray, np.ndarray, float]:
        """What predicts the latent function: factor [M, M] and projected [M] of its posterior; its mean.

        The former are those of `PseudoPoints.predict`, the latter is the prior's.
        """

    @property
    def Z(self) -> np.ndarray:
        """Pseudo-inputs [M, D]."""
        return self.pseudo.Z

    @property
    def kernel(self) -> Kernel:
        """With the hyperparameters used."""
        return self.pseudo.kernel

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function, in chunks."""
        factor, projected, mean = self.latent
        moments = [self.pseudo.predict(factor, projected, some) for some in in_chunks(X)]
        means, variances = zip(*moments, strict=True)
        return mean + np.concatenate(means), np.concatenate(variances)

    def means(self, X: np.ndarray) -> np.ndarray:
        """The means [N*] alone, which need no variance that rounding may have lost."""
        factor, projected, mean = self.latent
        weights, pseudo = projected @ factor, self.pseudo
        parts = [weights @ (pseudo.root @ pseudo.cross(some)) for some in in_chunks(X)]
        return mean + np.concatenate(parts)

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*] of the latent function: K** - V^T V + W^T W."""
        factor, projected, mean = self.latent
        V = self.pseudo.root @ self.pseudo.cross(X)
        W = factor @ V
        return mean + projected @ W, self.pseudo.kernel.matrix(X) - V.T @ V + W.T @ W


@dataclass(frozen=True)
class SparseModel(ThroughPoints):
    """A fitted sparse model under any likelihood.

    Attributes
    ----------
    fitted : sparse_search.Fitted
    status : Status
    correction : str or None
        Of predictions and of the evidence.
    """

    fitted: sparse_search.Fitted
    status: Status
    correction: str | None = None

    @property
    def problem(self) -> sparse_search.Problem:
        """With the likelihood and the prior mean found."""
        return self.fitted.problem

    @property
    def pseudo(self) -> PseudoPoints:
        return self.fitted.posterior.pseudo

    @property
    def likelihood(self) -> Likelihood:
        """As fitted with."""
        return self.problem.likelihood

    @property
    def mean(self) -> float:
        """Prior mean."""
        return self.fitted.mean

    @property
    def fitted_mean(self) -> np.ndarray:
        """Posterior mean [N] of the latent function at the training inputs."""
        return self.fitted.inference.state.marginals.mean

    @property
    def theta(self) -> np.ndarray:
        """Logarithms [P] of the kernel's parameters."""
        return np.log(self.kernel.parameters())

    @property
    def log_evidence(self) -> float:
        """Power EP's energy, or the bound of VB."""
        return self.fitted.inference.log_evidence

    @property
    def standing(self) -> float:
        """The energy, -inf where that is unsound."""
        return standing(self.fitted.inference)

    @property
    def latent(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Factor [M, M] and projected [M] of the posterior, and the prior mean."""
        state = self.fitted.inference.state
        return state.factor, state.projected, self.mean

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function, in chunks, corrected where that was asked for."""
        if self.correction is None:
            return super().moments(X)
        found = self.corrected(X)
        return found.mean, found.variance

    def means(self, X: np.ndarray) -> np.ndarray:
        """The means [N*] alone."""
        return super().means(X) if self.correction is None else self.moments(X)[0]

    def log_predictive(self, X: np.ndarray, targets: list[np.ndarray]) -> list[np.ndarray]:
        """Log predictive densities [N*], corrected, of several vectors of targets [N*], all in the domain."""
        found = self.corrected(X)
        return [found.log_predictive(y) for y in targets]

    def corrected(self, X: np.ndarray) -> corrections.Corrected:
        """Corrected posterior of the latent function at ``X`` [N*, D]."""
        sites, grade = self.fitted.inference.sites, str(self.correction)
        return sparse_corrections.corrected(self.problem, self.kernel, self.Z, sites, X, grade)

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Energy at ``theta``, pseudo-inputs as fitted, its gradient [P] if asked for, and the status.

        With a correction it is EP's at second order where that is to be trusted; the status says so.
        """
        kernel = self.kernel.with_parameters(np.exp(theta))
        if self.correction is not None:
            value, slope, status = sparse_corrections.evidence(self.problem, kernel, self.Z, gradient)
            return value, None if slope is None else slope * kernel.parameters(), status
        posterior, inference = self.problem.infer(kernel, self.pseudo.Z)
        if not gradient:
            return inference.log_evidence, None, inference.status
        slope = posterior.evidence_gradient(inference.state, inference.by_extra)[0]
        return inference.log_evidence, slope * kernel.parameters(), inference.status


@unraised
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
    asked, settings = settings, settings.timed()
    parts = settings.likelihood, settings.alpha, settings.mean, settings.jitter
    problem = sparse_search.Problem(X, y, *parts, settings.options or Options(), settings.weights)
    if settings.optimise is None and settings.learn_mean:
        raise ValueError(KEPT)
    sparse_corrections.require_few(settings.correction, len(y))
    try:
        found = (
            _kept(problem, kernel, Z)
            if settings.optimise is None
            else _found(problem, kernel, Z, settings, rng)
        )
        problem = replace(found.problem, options=asked.untimed(problem.options))
        fitted = replace(found.fitted, problem=problem)
        return replace(found, fitted=fitted, correction=settings.correction)
    except NotPositiveDefinite as error:
        if note := reach(kernel, X, Z):
            raise ArithmeticError(f"{error}: {note}") from error
        raise


def _kept(problem: sparse_search.Problem, kernel: Kernel, Z: np.ndarray) -> SparseModel:
    """The model with this kernel and these pseudo-inputs."""
    start = first_sites(problem.likelihood, problem.y, problem.mean, problem.weights)
    posterior, inference = problem.infer(kernel, Z, start)
    return SparseModel(
        sparse_search.Fitted(problem, posterior, inference, inference.status), inference.status
    )


def _found(
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
        return SparseModel(fitted, noted(fitted.status, note))

    kernels = settings.starts(problem.X, problem.y, settings.likelihood, kernel, rng)
    best, note = best_of(search, kernels, prior, settings.deadline)
    return replace(best, status=noted(best.status, note))
