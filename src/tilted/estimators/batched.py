"""Sparse models of more rows than fit: the kernel by some of them, the posterior by all, in batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.estimators.sparse import PseudoPointModel, SparseSettings
from tilted.inference.pep import power_rule
from tilted.inference.result import Status
from tilted.inference.vb import VB
from tilted.learning import passes
from tilted.learning.batch import Model
from tilted.learning.moves import Posterior

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.estimators.sparse import CollapsedModel, SparseModel
    from tilted.learning.batch import Sums
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.pseudo import PseudoPoints

IN_BATCHES = "a model of batches has its evidence where it was fitted only: its rows are not kept"


@dataclass(frozen=True)
class BatchedModel(PseudoPointModel):
    """A fitted latent function, without the rows it was fitted to.

    Attributes
    ----------
    model : Model
    posterior : Posterior
    fitted_mean : array
        Posterior mean at the rows that the kernel was learned from.
    log_parameters : array
        Logarithms of the hyperparameters.
    total_evidence : float or None
        Log evidence of all rows; None after `more`, whose earlier rows are gone.
    status : Status
    batch : int
    """

    model: Model
    posterior: Posterior
    fitted_mean: np.ndarray
    log_parameters: np.ndarray
    total_evidence: float | None
    status: Status
    batch: int

    @property
    def pseudo(self) -> PseudoPoints:
        return self.model.pseudo

    @property
    def theta(self) -> np.ndarray:
        return self.log_parameters

    @property
    def log_evidence(self) -> float | None:
        return self.total_evidence

    @property
    def likelihood(self) -> Likelihood:
        return self.model.likelihood

    @property
    def mean(self) -> float:
        return self.model.mean

    @property
    def latent(self) -> tuple[np.ndarray, np.ndarray, float]:
        return self.posterior.factor, self.posterior.projected, self.mean

    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """ValueError: there is none at other hyperparameters."""
        raise ValueError(IN_BATCHES)

    def more(
        self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, how: PassSettings, deadline: float
    ) -> BatchedModel:
        """The model of further rows too, by the same kernel and pseudo-points; earlier sites stay.

        They stay as they are, so what had not converged before does not by further rows.
        """
        result = how.passes(self.model, X, y, self.posterior, self.posterior.sums, weights, deadline)
        message = f"{result.status.message}, {result.posterior.sums.rows:,} in all"
        if not self.status.converged:
            message += f"; before: {self.status.message.rpartition('; before: ')[2]}"
        converged = result.status.converged and self.status.converged
        status = replace(result.status, converged=converged, message=message)
        return replace(self, posterior=result.posterior, total_evidence=None, status=status)


@dataclass(frozen=True)
class PassSettings:
    """Settings of passes: rows a batch, jobs, and a function that hears of each pass."""

    batch: int
    n_jobs: int | None = None
    watch: Callable[[int, float], object] | None = None

    def passes(
        self,
        model: Model,
        X: np.ndarray,
        y: np.ndarray,
        start: Posterior,
        earlier: Sums | None,
        weights: np.ndarray | None,
        deadline: float,
    ) -> passes.Passed:
        """`passes.passes` of that kind."""
        return passes.passes(
            model,
            X,
            y,
            self.batch,
            start,
            earlier,
            weights,
            deadline=deadline,
            n_jobs=self.n_jobs,
            watch=self.watch,
        )


def fit_batched(
    X: np.ndarray,
    y: np.ndarray,
    learned: SparseModel | CollapsedModel,
    rows: np.ndarray,
    settings: SparseSettings,
    how: PassSettings,
) -> BatchedModel:
    """The posterior of all rows by the kernel and the pseudo-points ``learned`` from those ``rows``.

    Parameters
    ----------
    X, y : arrays [N, D], [N]
        May be memory-mapped.
    learned : SparseModel or CollapsedModel
    rows : array of int
        Rows.
    settings : SparseSettings
        Their weights are those of all rows.
    how : PassSettings

    Raises
    ------
    ArithmeticError
        As `passes.passes`.
    """
    rule = VB if settings.alpha == 0.0 else power_rule(settings.alpha)
    model = Model(learned.pseudo, learned.likelihood, rule, learned.mean)
    factor, projected, _ = learned.latent
    start = Posterior.from_factor(factor, projected)
    result = how.passes(model, X, y, start, None, settings.weights, settings.timed().deadline)
    first = learned.status
    message = f"{result.status.message}; kernel of {len(rows):,} rows: {first.message}"
    status = replace(
        result.status,
        converged=result.status.converged and first.converged,
        evaluations=first.evaluations,
        message=message,
    )
    at = learned.means(X[rows])
    return BatchedModel(model, result.posterior, at, learned.theta, result.log_evidence, status, how.batch)
