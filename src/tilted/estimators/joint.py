"""Several classes by one model: C latent functions, by EP for the multinomial probit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from tilted.estimators.dense import SEARCH, DenseSettings
from tilted.estimators.models import LatentModel
from tilted.gaussian import require_positive
from tilted.inference import rule_of
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.result import Inference, Status
from tilted.kernels.compound import free_parameters_of
from tilted.kernels.restricted import off_bounds
from tilted.learning import dense as hyperparameters
from tilted.learning.dense import Problem
from tilted.learning.priors import LogNormal
from tilted.learning.starts import PART, ROUGHLY, around, best_of, peaks, with_notes
from tilted.likelihoods.probit import Probit
from tilted.numerics.chunks import among_sorted, in_chunks
from tilted.numerics.largest import log_largest
from tilted.posteriors.joint import Joint, JointState

if TYPE_CHECKING:
    from tilted.gaussian import Sites
    from tilted.inference.rule import Rule
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood

INFERENCES = "ep", "power-ep", "vb"


@dataclass(frozen=True)
class PerClass:
    """Kernels of C functions, all of one kind.

    What a kernel has for gradients and predictions at dense posteriors, with matrices [C, N, N2] and
    diagonals [C, N]; parameters are those of one class after the other.
    """

    each: tuple[Kernel, ...]

    @classmethod
    def repeated(cls, kernel: Kernel, classes: int) -> Self:
        """So many times the same kernel."""
        return cls((kernel,) * classes)

    def parameters(self) -> np.ndarray:
        """The parameters of all classes [C P]."""
        return np.concatenate([kernel.parameters() for kernel in self.each])

    def free_parameters(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the parameters of all classes [C P], and their derivatives in :meth:`parameters` [C P]."""
        values, slopes = zip(*(free_parameters_of(kernel) for kernel in self.each), strict=True)
        return np.concatenate(values), np.concatenate(slopes)

    def with_parameters(self, values: np.ndarray) -> Self:
        """Return kernels with other parameter values, ordered as in :meth:`parameters`."""
        vectors = np.split(np.asarray(values), len(self.each))
        return type(self)(
            tuple(k.with_parameters(vector) for k, vector in zip(self.each, vectors, strict=True))
        )

    def distances(self, X: np.ndarray) -> Any:
        """Return the values that matrices of all classes at the same ``X`` [N, D] share."""
        return self.each[0].distances(X)

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: Any = None) -> np.ndarray:
        """Covariance matrices [C, N, N2]."""
        return np.stack([kernel.matrix(X, X2, distances=distances) for kernel in self.each])

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [C, N]."""
        return np.stack([kernel.diagonal(X) for kernel in self.each])

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: Any = None
    ) -> np.ndarray:
        """sum_ij G_cij dK_cij/dtheta [C P] for the matrices K [C, N, N] at ``X``."""
        terms = zip(self.each, K, G, strict=True)
        return np.concatenate([k.contract_gradient(X, K_c, G_c, distances) for k, K_c, G_c in terms])


def prior_of_each(prior: LogNormal | None, classes: int) -> LogNormal | None:
    """Return the prior on the parameters of all classes, the same for each."""
    return prior and LogNormal(prior.medians * classes, prior.sds * classes)


@dataclass(frozen=True)
class JointProblem(Problem):
    """A problem of ``labels`` [N] from 0 to C - 1; ``y`` [N (C - 1)] are ones, the labels of the pairs."""

    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, int))
    classes: int = 2

    @classmethod
    def of(
        cls, X: np.ndarray, labels: np.ndarray, classes: int, rule: Rule, options: Options
    ) -> JointProblem:
        """Build the problem of inputs [N, D] and labels [N]."""
        pair_labels = np.ones(len(X) * (classes - 1))
        return cls(X, pair_labels, Probit(), rule, 0.0, options, labels=labels, classes=classes)

    def posterior(self, kernel: Kernel) -> Joint:  # type: ignore[override] # its states are of the same use
        """The prior of all functions under ``kernel``."""
        return Joint(kernel.matrix(self.X, distances=self.distances), self.labels, self.classes)


@dataclass(frozen=True)
class JointModel(LatentModel):
    """A fitted model of C latent functions, whose moments have a column for every function."""

    problem: JointProblem
    kernel: Kernel
    inference: Inference[JointState]
    status: Status
    mean: float = field(default=0.0, init=False)

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood of the pairs of classes."""
        return self.problem.likelihood

    @property
    def fitted_mean(self) -> np.ndarray:
        """Posterior means [C, N] of the functions at the training inputs, less their own levels."""
        mean = self.inference.state.mean
        return mean - np.mean(mean, axis=1, keepdims=True)

    def _predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*, C] and covariance between the classes [N*, C, C], in chunks."""
        state, problem = self.inference.state, self.problem
        chunks = [
            state.predict(self.kernel.matrix(rows, problem.X), self.kernel.diagonal(rows))
            for rows in in_chunks(X)
        ]
        means, covariances = map(np.concatenate, zip(*chunks, strict=True))
        require_positive(np.diagonal(covariances, axis1=1, axis2=2))
        return means, covariances

    def _moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances [N*, C] of the functions."""
        mean, covariance = self._predict(X)
        return mean, np.diagonal(covariance, axis1=1, axis2=2)

    def _means(self, X: np.ndarray) -> np.ndarray:
        """The means [N*, C] alone."""
        inputs, state = self.problem.X, self.inference.state
        return np.concatenate([state.means(self.kernel.matrix(rows, inputs)) for rows in in_chunks(X)])

    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*, C] and covariances [N*, N*, C] of each function by itself."""
        mean, full = self.together(X)
        C, n = mean.shape
        return mean.T, np.einsum("cncm->nmc", full.reshape(C, n, C, n))

    def together(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means [C, N*], and the covariance [C N*, C N*] of all functions at all points."""
        cross, size = self.kernel.matrix(X, self.problem.X), self.problem.classes * len(X)
        full = self.inference.state.covariance(cross, self.kernel.matrix(X))
        return self.inference.state.means(cross).T, full.reshape(size, size)

    def log_proba(self, X: np.ndarray) -> np.ndarray:
        """Log probabilities [N*, C] of the classes."""
        mean, covariance = self._predict(X)
        return log_largest(mean, covariance + np.eye(self.problem.classes))

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Log evidence at ``theta`` from flat sites, its gradient [P] if asked for, and the status."""
        kernel = self.kernel.with_parameters(np.exp(theta))
        inference, slope = hyperparameters.evidence_and_gradient(self.problem, kernel)
        return inference.log_evidence, slope * kernel.parameters() if gradient else None, inference.status


def require_joint(settings: DenseSettings) -> None:
    """ValueError for settings that several classes at once have no use for."""
    sound = {
        f"inference of {', '.join(INFERENCES)}": settings.inference in INFERENCES,
        "likelihood='probit'": isinstance(settings.likelihood, Probit),
        "optimise='evidence' or None": settings.optimise in ("evidence", None),
        "mean=0": settings.mean == 0 and not settings.learn_mean,
        "correction=None": settings.correction is None,
        "whole weights, of rows and classes": settings.weights is None,
    }
    for needed, met in sound.items():
        if not met:
            raise ValueError(f"multi_class='joint' needs {needed}")


def fit_joint(
    X: np.ndarray,
    labels: np.ndarray,
    classes: int,
    kernel: Kernel,
    settings: DenseSettings,
    rng: np.random.Generator,
    per_class: bool = False,
) -> JointModel:
    """Fit C functions to ``labels`` [N] from 0 to C - 1 at ``X`` [N, D], from, or at, ``kernel``.

    They share one kernel; with ``per_class`` a second search gives each its own, from there.

    Raises
    ------
    ValueError
        For settings of another kind (`require_joint`).
    ArithmeticError
        If there is no proper posterior at the start.
    """
    require_joint(settings)
    settings = settings.timed()
    rule = (
        power_rule(settings.power) if settings.inference == "power-ep" else rule_of(str(settings.inference))
    )
    options = settings.options or Options()
    problem, prior = JointProblem.of(X, labels, classes, rule, options), settings.prior(kernel)

    def search(start: Kernel, prior: LogNormal | None = prior, sites: Sites | None = None) -> JointModel:
        tuned = hyperparameters.maximise(problem, start, settings.search or SEARCH, sites, prior)
        return JointModel(problem, tuned.kernel, tuned.inference, tuned.status)  # type: ignore[arg-type]

    if settings.optimise is None:
        inference = hyperparameters.infer_at(problem, kernel)
        model, note = JointModel(problem, kernel, inference, inference.status), ""  # type: ignore[arg-type]
    else:
        starts = [kernel := off_bounds(kernel)]
        if settings.guessed:
            rows = among_sorted(labels, PART)
            roughly = replace(ROUGHLY, deadline=options.deadline)
            starts = peaks(JointProblem.of(X[rows], labels[rows], classes, EP, roughly), kernel)
        starts += around(kernel, settings.n_restarts, rng)
        model, note = best_of(search, starts, prior, settings.deadline)
        if per_class:
            kernels = cast("Kernel", PerClass.repeated(model.kernel, classes))
            model = search(kernels, prior_of_each(prior, classes), model.inference.sites)
            note = f"from the kernel of all classes, {note or 'one start'}"
    problem = replace(problem, options=settings.untimed(options))
    return replace(model, problem=problem, status=with_notes(model.status, note))
