"""Sparse regression behind its estimator: Power EP in closed form [Bui et al. 2017, sections 3.5-3.7]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.estimators.models import unraised
from tilted.estimators.sparse import SparseSettings, ThroughPoints
from tilted.inference.result import Status
from tilted.learning import mean as means
from tilted.learning import regression
from tilted.learning.starts import RESTART_DECADES, best_of, noted, units_of
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.posteriors.collapsed import Collapsed, Regression, condition, energy_and_gradient
from tilted.posteriors.pseudo import PseudoPoints

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood

CLOSED_FORM = "closed form at the parameters given"
NOISE = 0.1  # that a search starts from, in units of the variance of the targets


@dataclass(frozen=True)
class CollapsedModel(ThroughPoints):
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
    state: Collapsed
    mean: float
    status: Status

    @property
    def pseudo(self) -> PseudoPoints:
        return self.state.pseudo

    @property
    def likelihood(self) -> Likelihood:
        """Of the noise found."""
        return GaussianNoise(self.state.noise)

    @property
    def fitted_mean(self) -> np.ndarray:
        """Posterior mean [N] of the latent function at the training inputs."""
        return self.moments(self.problem.X)[0]

    @property
    def theta(self) -> np.ndarray:
        """Logarithms [P + 1] of the kernel's parameters and the noise variance."""
        return np.log(np.append(self.kernel.parameters(), self.state.noise))

    @property
    def log_evidence(self) -> float:
        """Power EP's energy."""
        return self.state.log_evidence

    @property
    def standing(self) -> float:
        """The energy, in closed form and so always sound."""
        return self.state.log_evidence

    @property
    def latent(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Factor [M, M] and projected [M] of the posterior, and the prior mean."""
        return self.state.factor, self.state.projected, self.mean

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Energy at ``theta``, pseudo-inputs as fitted, its gradient [P + 1] if asked for, and the status."""
        values = np.exp(theta)
        at = self.kernel.with_parameters(values[:-1]), self.pseudo.Z, float(values[-1])
        if not gradient:
            return condition(self.problem, *at).log_evidence, None, Status(True, 0)
        state, slope = energy_and_gradient(self.problem, *at)
        return state.log_evidence, np.append(slope.kernel, slope.noise) * values, Status(True, 0)


@unraised
def fit_collapsed(
    X: np.ndarray,
    y: np.ndarray,
    kernel: Kernel,
    Z: np.ndarray,
    noise: float,
    settings: SparseSettings,
    rng: np.random.Generator,
) -> CollapsedModel:
    """Fit a sparse regression in closed form; as `fit_sparse`, with the noise variance searched too."""
    settings = settings.timed()
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
    return replace(best, status=noted(best.status, note))
