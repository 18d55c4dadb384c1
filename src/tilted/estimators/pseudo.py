"""What the sparse estimators have in common: pseudo-inputs, and rows that come in batches."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tilted.estimators import given, sparse
from tilted.estimators.base import LatentFunctions, parameters, warn_unless_converged
from tilted.estimators.batched import UNCORRECTED, BatchedModel, How, fit_batched
from tilted.estimators.models import Model
from tilted.estimators.reach import out_of_reach, some_of
from tilted.estimators.rows import weighed
from tilted.estimators.targets import Targets
from tilted.inference.options import require_whole
from tilted.learning.starts import noted, require_moderate

if TYPE_CHECKING:
    from tilted.estimators.collapsed import CollapsedModel
    from tilted.estimators.sparse import SparseModel, SparseSettings

LearnedT = TypeVar("LearnedT", "SparseModel", "CollapsedModel")
ONE_CLASS = "the rows that the kernel is learned from have one class only: take a larger batch_size"
NEEDS_BATCHES = "partial_fit needs batch_size: of the first rows at most so many determine the kernel"

LATER = {"batch_size", "n_jobs", "verbose", "max_time", "random_state"}
"""Parameters that may be others at a later `partial_fit`, which looks at no others."""

UNSEEN = (
    "most of these rows have no correlation above 0.001 with a pseudo-input, which the first rows chose: "
    "predictions there are the prior's; shuffle rows, or fit anew"
)
NOT_BATCHED = "this was fitted without batch_size, which partial_fit cannot go on from: fit it again"


def in_batches(estimator: PseudoInputs) -> bool:
    """Whether rows may come bit by bit; AttributeError, which says why not, where they may not."""
    if estimator.batch_size is None:
        raise AttributeError(NEEDS_BATCHES)
    return True


@parameters
class PseudoInputs(LatentFunctions):
    """Parameters of the sparse estimators: their pseudo-inputs, and how many rows are looked at at once."""

    inference: str = field(default="power-ep", kw_only=False)
    n_pseudo: int = 50
    pseudo_inputs: ArrayLike | None = None
    move_pseudo_inputs: bool = True
    jitter: float = 1e-6
    batch_size: int | None = None
    n_jobs: int | None = None
    verbose: bool = False

    def _begin(self, X: ArrayLike, y: ArrayLike, **how: bool) -> tuple[np.ndarray, np.ndarray]:
        checked = super()._begin(X, y, **how)
        if self._batched:
            self.asked_ = self._asked()
        return checked

    def _asked(self) -> dict[str, Any]:
        """Parameters that later rows cannot change."""
        return {name: value for name, value in self.get_params(deep=False).items() if name not in LATER}

    def _start(self, X: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rows that the kernel is learned from, and pseudo-inputs [M, D] from which."""
        seen = self._how().some(len(X), rng) if self._batched else np.arange(len(X))
        return seen, sparse.pseudo_inputs_of(self.pseudo_inputs, X[seen], self.n_pseudo, rng)

    @property
    def pseudo_inputs_(self) -> np.ndarray | list[np.ndarray]:
        """Pseudo-inputs [M, D] as fitted; a list of C for C > 2 classes."""
        check_is_fitted(self, "models_")
        places = [cast(np.ndarray, model.Z) for model in self.models_]
        return places[0] if len(places) == 1 else places

    def _how(self) -> How:
        """How passes are made; ValueError for a batch that is no whole number."""
        require_whole("batch_size", self.batch_size, 2)
        if getattr(self, "correction", None) is not None:
            raise ValueError(UNCORRECTED)
        return How(int(cast(int, self.batch_size)), self.n_jobs, _told if self.verbose else None)

    def _of_all(
        self,
        X: np.ndarray,
        y: np.ndarray,
        learned: LearnedT,
        seen: np.ndarray,
        settings: SparseSettings,
    ) -> LearnedT | BatchedModel:
        """The posterior of all rows, after the kernel was ``learned`` from those ``seen``."""
        return fit_batched(X, y, learned, seen, settings, self._how()) if self._batched else learned

    def _further(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, **how: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Rows, targets and weights of a later `partial_fit`."""
        if not all(isinstance(model, BatchedModel) for model in self.models_):
            raise ValueError(NOT_BATCHED)
        given.require_flags(self)
        then, now = self.asked_, self._asked()
        if changed := [name for name in then if not given.alike(then[name], now[name])]:
            said = ", ".join(f"{name}={now[name]!r}, was {then[name]!r}" for name in changed)
            raise ValueError(f"partial_fit goes on as fitted, fit anew for other parameters: {said}")
        inputs, targets = self._rows(X, y, reset=False, **how)
        require_moderate("X", inputs)
        return weighed(inputs, targets, sample_weight, least=1)

    def _add(
        self, X: np.ndarray, targets: Sequence[np.ndarray], weights: np.ndarray | None, names: list[str]
    ) -> Self:
        """The models with further rows; ``targets`` [N] of each."""
        before = self.models_
        deadline = sparse.SparseSettings.of(self, 0.0, likelihood=self.models_[0].likelihood).timed().deadline
        models: list[Model] = [
            cast(BatchedModel, model).more(X, y, weights, self._how(), deadline)
            for model, y in zip(before, targets, strict=True)
        ]
        given.require_alone(self.models_ is before)
        unseen = [out_of_reach(model, some_of(X)) for model in models]
        models = [
            replace(cast(Any, model), status=noted(model.status, UNSEEN)) if each else model
            for model, each in zip(models, unseen, strict=True)
        ]
        if any(unseen):
            warnings.warn(UNSEEN, UserWarning, stacklevel=3)
        self.status_ = models[0].status if len(models) == 1 else [model.status for model in models]
        self.log_evidence_ = None
        self.models_ = models
        for model, name in zip(models, names, strict=True):
            warn_unless_converged(model.status, name, 3)
        return self


@parameters
class SparseTargets(PseudoInputs, Targets):
    """A regression through pseudo-points."""

    @available_if(in_batches)  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the first rows as `fit` does, and add later ones by the kernel and pseudo-points found.

        The likelihood stays too. Of counts, sites of earlier rows stay as they were when these came. There is
        no evidence then.

        Parameters
        ----------
        X : array-like [N, D]
        y : array-like [N]
        sample_weight : array-like [N], optional

        Raises
        ------
        ValueError, ArithmeticError
            As `fit`.
        AttributeError
            Without ``batch_size``.
        """
        if not hasattr(self, "models_"):
            return cast(Self, cast(Any, self).fit(X, y, sample_weight))
        inputs, targets, weights = self._further(X, y, sample_weight, y_numeric=True)
        return self._add(inputs, [self._checked(self.likelihood_, targets)], weights, ["the fit"])


def _told(done: int, distance: float) -> None:
    print(f"pass {done}: the posterior moved by {distance:.2g} sd", flush=True)
