"""Sparse models behind the estimators: Power EP through M pseudo-points [Bui et al. 2017]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tilted import regression, sparse_search
from tilted.estimators.models import Model, Settings, finite
from tilted.estimators.search import best_of
from tilted.inference.options import require_whole
from tilted.inference.result import Status
from tilted.likelihoods.contract import as_floats
from tilted.posteriors.collapsed import Regression, condition, energy_and_gradient
from tilted.regression import Search

CHUNK = 4096  # rows predicted at once
SEARCH = Search(max_evaluations=500, relative_tolerance=1e-7, gradient_tolerance=1e-4)
NOISE = 0.1  # that a search starts from, in units of the variance of the targets


@dataclass(frozen=True)
class SparseSettings(Settings):
    """How a sparse model is fitted; as the parameters of ``SparseGPClassifier``."""

    inferences = ("power-ep", "ep", "vb")
    choices = ("evidence", None)
    searches = Search

    jitter: float
    move_pseudo_inputs: bool

    def __post_init__(self):
        super().__post_init__()
        finite("jitter", self.jitter)

    @property
    def alpha(self) -> float:
        """The power: 1 is EP, 0 is VB."""
        return {"ep": 1.0, "vb": 0.0}.get(self.inference, self.power)

    @property
    def how(self) -> Search:
        """The search, with pseudo-inputs that stay where they are if they are to."""
        search = self.search or SEARCH
        return search if self.move_pseudo_inputs else replace(search, move_pseudo_inputs=False)


def pseudo_inputs_of(given, X: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
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


class PseudoModel(Model):
    """What predicts from ``pseudo``-points, the ``state`` conditioned on the data and the prior ``mean``."""

    @property
    def kernel(self):
        """With the hyperparameters used."""
        return self.pseudo.kernel

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function, in chunks."""
        at = self.state.factor, self.state.projected
        rows = np.array_split(X, max(1, -(-len(X) // CHUNK)))
        means, variances = zip(*(self.pseudo.predict(*at, part) for part in rows), strict=True)
        return self.mean + np.concatenate(means), np.concatenate(variances)

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*] of the latent function: K** - V^T V + W^T W."""
        V = self.pseudo.root @ self.pseudo.cross(X)
        W = self.state.factor @ V
        return self.mean + self.state.projected @ W, self.kernel.matrix(X) - V.T @ V + W.T @ W


@dataclass(frozen=True)
class SparseModel(PseudoModel):
    """A fitted sparse model under any likelihood.

    Attributes
    ----------
    problem : sparse_search.Problem
    fitted : sparse_search.Fitted
    status : Status
    """

    problem: sparse_search.Problem
    fitted: sparse_search.Fitted
    status: Status

    @property
    def inference(self):
        """Sites, posterior and Power EP's energy, or the bound of VB."""
        return self.fitted.inference

    @property
    def likelihood(self):
        """As fitted with."""
        return self.problem.likelihood

    @property
    def pseudo(self):
        """The pseudo-points."""
        return self.fitted.posterior.pseudo

    @property
    def state(self):
        """The conditioned posterior."""
        return self.inference.state

    @property
    def mean(self) -> float:
        """Prior mean."""
        return self.fitted.mean

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Energy at ``theta``, pseudo-inputs as fitted, its gradient [P] if asked for, and the status."""
        kernel = self.kernel.with_parameters(np.exp(theta))
        posterior, found = self.problem.infer(kernel, self.pseudo.Z)
        if not gradient:
            return found.log_evidence, None, found.status
        slope = posterior.evidence_gradient(found.state, found.by_extra)[0]
        return found.log_evidence, slope * kernel.parameters(), found.status


def fit_sparse(X, y, kernel, Z: np.ndarray, settings: SparseSettings, rng) -> SparseModel:
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
        If the first evaluation fails: Kuu is singular (allow jitter), or the sites do not converge.
    """
    parts = settings.likelihood, settings.alpha, settings.mean, settings.jitter
    options = () if settings.options is None else (settings.options,)
    problem = sparse_search.Problem(X, y, *parts, *options)
    if settings.optimise is None:
        posterior, found = problem.infer(kernel, Z)
        fitted = sparse_search.Fitted(posterior, found, found.status, problem.mean)
        return SparseModel(problem, fitted, found.status)

    def search(factors):
        at = kernel.with_parameters(kernel.parameters() * factors)
        fitted = sparse_search.maximise(problem, at, Z, settings.how)
        return SparseModel(problem, fitted, fitted.status)

    return best_of(search, len(kernel.parameters()), settings.n_restarts, rng)


@dataclass(frozen=True)
class CollapsedModel(PseudoModel):
    """A fitted sparse regression.

    Attributes
    ----------
    problem : Regression
        With targets from which ``mean`` is subtracted.
    state : Collapsed
    mean : float
    status : Status
    """

    problem: Regression
    state: object
    mean: float
    status: Status

    sound: ClassVar[bool] = True  # in closed form

    @property
    def pseudo(self):
        """The pseudo-points."""
        return self.state.pseudo

    @property
    def theta(self) -> np.ndarray:
        """Logarithms [P + 1] of the kernel's parameters and the noise variance."""
        return np.append(super().theta, np.log(self.state.noise))

    @property
    def log_evidence(self) -> float:
        """Power EP's energy."""
        return self.state.log_evidence

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Energy at ``theta``, pseudo-inputs as fitted, its gradient [P + 1] if asked for, and the status."""
        values = np.exp(theta)
        at = self.kernel.with_parameters(values[:-1]), self.pseudo.Z, float(values[-1])
        if not gradient:
            return condition(self.problem, *at).log_evidence, None, Status(True, 0)
        state, slope = energy_and_gradient(self.problem, *at)
        return state.log_evidence, np.append(slope.kernel, slope.noise) * values, Status(True, 0)


def fit_collapsed(X, y, kernel, Z: np.ndarray, noise: float, settings: SparseSettings, rng) -> CollapsedModel:
    """Fit a sparse regression in closed form; as `fit_sparse`, with the noise variance searched too."""
    problem = Regression(X, y - settings.mean, settings.alpha, jitter=settings.jitter)
    if settings.optimise is None:
        state = condition(problem, kernel, Z, noise)
        status = Status(True, 0, jitter=state.jitter, message="closed form at the parameters given")
        return CollapsedModel(problem, state, settings.mean, status)

    def search(factors):
        at = kernel.with_parameters(kernel.parameters() * factors[:-1])
        start = noise * float(factors[-1])
        fitted = regression.maximise(problem, at, Z, start, settings.how)
        return CollapsedModel(problem, fitted.state, settings.mean, fitted.status)

    return best_of(search, len(kernel.parameters()) + 1, settings.n_restarts, rng)
