"""Sparse models of more rows than fit: the kernel by some of them, the posterior by all, in batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.estimators.sparse import PseudoPointModel, SparseSettings
from tilted.inference.pep import power_rule
from tilted.inference.result import Status
from tilted.inference.vb import VB
from tilted.learning.batch import Model
from tilted.learning.moves import Posterior

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.estimators.sparse import CollapsedModel, SparseModel
    from tilted.learning.passes import Passed
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.pseudo import PseudoPoints

    Passes = Callable[..., Passed]

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
    """

    model: Model
    posterior: Posterior
    fitted_mean: np.ndarray
    log_parameters: np.ndarray
    total_evidence: float | None
    status: Status

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
        self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, over: Passes, deadline: float
    ) -> BatchedModel:
        """The model of further rows too, by the same kernel and pseudo-points; earlier sites stay.

        They stay as they are, so what had not converged before does not by further rows.
        """
        before = self.posterior
        result = over(self.model, X, y, start=before, earlier=before.sums, weights=weights, deadline=deadline)
        message = f"{result.status.message}, {result.posterior.sums.rows:,} in all"
        if not self.status.converged:
            message += f"; before: {self.status.message.rpartition('; before: ')[2]}"
        converged = result.status.converged and self.status.converged
        status = replace(result.status, converged=converged, message=message)
        return replace(self, posterior=result.posterior, total_evidence=None, status=status)


def fit_batched(
    X: np.ndarray,
    y: np.ndarray,
    learned: SparseModel | CollapsedModel,
    rows: np.ndarray,
    settings: SparseSettings,
    over: Passes,
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
    over : callable
        `passes.passes` with the size of batches, jobs and what hears of each pass.

    Raises
    ------
    ArithmeticError
        As `passes.passes`.
    """
    rule = VB if settings.alpha == 0.0 else power_rule(settings.alpha)
    model = Model(learned.pseudo, learned.likelihood, rule, learned.mean)
    factor, projected, _ = learned.latent
    start = Posterior.from_factor(factor, projected)
    deadline = settings.timed().deadline
    result = over(model, X, y, start=start, weights=settings.weights, deadline=deadline)
    first = learned.status
    message = f"{result.status.message}; kernel of {len(rows):,} rows: {first.message}"
    status = replace(
        result.status,
        converged=result.status.converged and first.converged,
        evaluations=first.evaluations,
        message=message,
    )
    at = learned.means(X[rows])
    return BatchedModel(model, result.posterior, at, learned.theta, result.log_evidence, status)
