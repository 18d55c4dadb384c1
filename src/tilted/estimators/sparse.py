"""Sparse models behind the estimators: Power EP through M pseudo-points [Bui et al. 2017]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilted import regression, sparse_search
from tilted.estimators.search import best_of, choice, kind
from tilted.inference.options import require_whole
from tilted.inference.result import Status
from tilted.posteriors.collapsed import Regression, condition, energy_and_gradient
from tilted.regression import Search

INFERENCES = ("power-ep", "ep", "vb")
OPTIMISE = ("evidence", None)
CHUNK = 4096  # rows predicted at once
SEARCH = Search(max_evaluations=500, relative_tolerance=1e-7, gradient_tolerance=1e-4)
NOISE = 0.1  # that a search starts from, in units of the variance of the targets


@dataclass(frozen=True)
class Settings:
    """How a sparse model is fitted; as the parameters of ``SparseGPClassifier``."""

    likelihood: object
    inference: str
    mean: float
    optimise: str | None
    n_restarts: int
    power: float
    jitter: float
    search: Search | None
    options: object

    def check(self) -> None:
        """ValueError for unknown names, and for powers that Power EP does not take."""
        choice("inference", self.inference, INFERENCES)
        choice("optimise", self.optimise, OPTIMISE)
        kind("search", self.search, Search)
        require_whole("n_restarts", self.n_restarts, 0)
        if self.inference == "power-ep" and not 0 < self.power <= 1:
            raise ValueError(f"power must lie in (0, 1], got {self.power!r}; 0 is inference='vb'")

    @property
    def alpha(self) -> float:
        """The power: 1 is EP, 0 is VB."""
        return {"ep": 1.0, "vb": 0.0}.get(self.inference, self.power)


def pseudo_inputs_of(given, X: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Pseudo-inputs [M, D]: those given, or a random part of the distinct rows of ``X`` [N, D].

    Raises
    ------
    ValueError
        For another number of columns than X has, and for fewer than one.
    """
    if given is None:
        if not (isinstance(number, (int, np.integer)) and number >= 1):
            raise ValueError(f"n_pseudo must be a whole number of at least 1, got {number!r}")
        distinct = np.unique(X, axis=0)
        return distinct[np.sort(rng.permutation(len(distinct))[:number])]
    Z = np.asarray(given, dtype=float)
    if Z.ndim != 2 or Z.shape[1] != X.shape[1] or len(Z) == 0:
        raise ValueError(f"pseudo_inputs must be a matrix [M, {X.shape[1]}], got shape {Z.shape}")
    return Z


@dataclass(frozen=True)
class SparseModel:
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
    def pseudo(self):
        """The pseudo-points."""
        return self.fitted.posterior.pseudo

    @property
    def kernel(self):
        """With the hyperparameters used."""
        return self.pseudo.kernel

    @property
    def theta(self) -> np.ndarray:
        """Logarithms [P] of the kernel's parameters."""
        return np.log(self.kernel.parameters())

    @property
    def log_evidence(self) -> float:
        """Power EP's energy, or the bound of VB."""
        return self.fitted.inference.log_evidence

    @property
    def sound(self) -> bool:
        """Whether the sites converged and the evidence is a number."""
        return bool(self.fitted.inference.status.converged and np.isfinite(self.log_evidence))

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function, in chunks."""
        return _chunked(self.fitted.predict, X)

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*]."""
        state = self.fitted.inference.state
        mean, covariance = _covariance(self.pseudo, state.factor, state.projected, X)
        return self.fitted.mean + mean, covariance

    def log_predictive(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Log predictive density [N*] of ``y``."""
        return self.problem.likelihood.log_predictive(y, *self.moments(X))

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Energy at ``theta``, pseudo-inputs as fitted, its gradient [P] if asked for, and the status."""
        kernel = self.kernel.with_parameters(np.exp(theta))
        posterior, found = self.problem.infer(kernel, self.pseudo.Z)
        if not gradient:
            return found.log_evidence, None, found.status
        slope = posterior.evidence_gradient(found.state, found.by_extra)[0]
        return found.log_evidence, slope * kernel.parameters(), found.status


def fit_sparse(X, y, kernel, Z: np.ndarray, settings: Settings, rng) -> SparseModel:
    """Fit one latent function through pseudo-inputs.

    Parameters
    ----------
    X, y : arrays [N, D], [N]
        ``y`` in the domain of the likelihood.
    kernel : SquaredExponential or another kernel
        To start from, or to keep.
    Z : array [M, D]
        Pseudo-inputs to start from, or to keep.
    settings : Settings
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
        fitted = sparse_search.maximise(problem, at, Z, settings.search or SEARCH)
        return SparseModel(problem, fitted, fitted.status)

    return best_of(search, len(kernel.parameters()), settings.n_restarts, rng)


@dataclass(frozen=True)
class CollapsedModel:
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
    sound: bool = True

    @property
    def kernel(self):
        """With the hyperparameters used."""
        return self.state.kernel

    @property
    def pseudo(self):
        """The pseudo-points."""
        return self.state.pseudo

    @property
    def theta(self) -> np.ndarray:
        """Logarithms [P + 1] of the kernel's parameters and the noise variance."""
        return np.log(np.append(self.kernel.parameters(), self.state.noise))

    @property
    def log_evidence(self) -> float:
        """Power EP's energy."""
        return self.state.log_evidence

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function, in chunks."""
        mean, variance = _chunked(self.state.predict, X)
        return self.mean + mean, variance

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*] of the latent function."""
        mean, covariance = _covariance(self.pseudo, self.state.factor, self.state.projected, X)
        return self.mean + mean, covariance

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Energy at ``theta``, pseudo-inputs as fitted, its gradient [P + 1] if asked for, and the status."""
        values = np.exp(theta)
        at = self.kernel.with_parameters(values[:-1]), self.pseudo.Z, float(values[-1])
        if not gradient:
            return condition(self.problem, *at).log_evidence, None, Status(True, 0)
        state, slope = energy_and_gradient(self.problem, *at)
        return state.log_evidence, np.append(slope.kernel, slope.noise) * values, Status(True, 0)


def fit_collapsed(X, y, kernel, Z: np.ndarray, noise: float, settings: Settings, rng) -> CollapsedModel:
    """Fit a sparse regression in closed form; as `fit_sparse`, with the noise variance searched too."""
    problem = Regression(X, y - settings.mean, settings.alpha, jitter=settings.jitter)
    if settings.optimise is None:
        state = condition(problem, kernel, Z, noise)
        status = Status(True, 0, jitter=state.jitter, message="closed form at the parameters given")
        return CollapsedModel(problem, state, settings.mean, status)

    def search(factors):
        at = kernel.with_parameters(kernel.parameters() * factors[:-1])
        start = noise * float(factors[-1])
        fitted = regression.maximise(problem, at, Z, start, settings.search or SEARCH)
        return CollapsedModel(problem, fitted.state, settings.mean, fitted.status)

    return best_of(search, len(kernel.parameters()) + 1, settings.n_restarts, rng)


def keep_pseudo_inputs(search: Search | None) -> Search:
    """The same search with pseudo-inputs that stay where they are."""
    return replace(search or SEARCH, move_pseudo_inputs=False)


def _chunked(predict, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance [N*], so many rows at once."""
    parts = [predict(rows) for rows in np.array_split(X, max(1, -(-len(X) // CHUNK)))]
    means, variances = zip(*parts, strict=True)
    return np.concatenate(means), np.concatenate(variances)


def _covariance(pseudo, factor, projected, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean, without the prior's, and covariance of f at ``X``: K** - V^T V + W^T W."""
    V = pseudo.root @ pseudo.cross(X)
    W = factor @ V
    return projected @ W, pseudo.kernel.matrix(X) - V.T @ V + W.T @ W
