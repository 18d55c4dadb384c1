"""The base of the sparse estimators: pseudo-inputs, and rows that come in batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tilted.estimators import sparse, validation
from tilted.estimators.base import LatentFunctions, parameters, warn_unless_converged
from tilted.estimators.batched import BatchedModel, fit_batched
from tilted.estimators.blocks import fit_blocks
from tilted.estimators.diagnostics import out_of_reach, sample_rows
from tilted.estimators.models import NOT_CORRECTED, LatentModel
from tilted.estimators.validation import weighted_rows
from tilted.inference.options import require_whole
from tilted.learning.passes import Passed, passes
from tilted.learning.starts import require_moderate, with_notes
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.numerics.chunks import by_class
from tilted.posteriors.blocks import NEIGHBOURS

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

NEEDS_BATCHES = "partial_fit needs batch_size: of the first rows at most so many determine the kernel"

UNSEEN = (
    "most of these rows have no correlation above 0.001 with a pseudo-input, which the first rows chose: "
    "predictions there are the prior's; shuffle rows, or fit anew"
)
FEW = (
    "there are {} pseudo-inputs where n_pseudo={}: they and the kernel are those of the first rows, which "
    "were too few; begin with more rows"
)
NOT_BATCHED = "this was fitted without batch_size, which partial_fit cannot go on from: fit it again"


def in_batches(estimator: PseudoInputs) -> bool:
    """Return whether rows may come in batches; AttributeError, with the reason, where they may not."""
    if estimator.batch_size is None:
        raise AttributeError(NEEDS_BATCHES)
    return True


@parameters
class PseudoInputs(LatentFunctions):
    """Parameters of the sparse estimators (pseudo-inputs and batches), and their fit of a latent function."""

    _settings = sparse.SparseSettings

    inference: str = field(default="power-ep", kw_only=False)
    n_pseudo: int = 50
    pseudo_inputs: ArrayLike | None = None
    move_pseudo_inputs: bool = True
    jitter: float = 1e-6
    batch_size: int | None = None
    n_jobs: int | None = None
    verbose: bool = False
    approximation: str = sparse.PSEUDO_POINTS
    neighbours: int = NEIGHBOURS

    @property
    def pseudo_inputs_(self) -> np.ndarray | list[np.ndarray]:
        """Pseudo-inputs [M, D] as fitted; a list of C for C > 2 classes; None by blocks."""
        check_is_fitted(self, "models_")
        places = [cast(np.ndarray, model.Z) for model in self.models_]
        return places[0] if len(places) == 1 else places

    def _passes(self) -> partial[Passed]:
        """Return `passes` with the parameters of this; ValueError for a batch size that is no integer."""
        require_whole("batch_size", self.batch_size, 2)
        if getattr(self, "correction", None) is not None:
            raise ValueError(NOT_CORRECTED)
        watch = _print_pass if self.verbose else None
        return partial(passes, batch=int(cast(int, self.batch_size)), n_jobs=self.n_jobs, watch=watch)

    def _fitter(
        self,
        X: np.ndarray,
        kernel: Kernel,
        settings: Any,
        rng: np.random.Generator,
        labels: np.ndarray | None = None,
    ) -> Callable[[np.ndarray], LatentModel]:
        by_pseudo_points = settings.approximation == sparse.PSEUDO_POINTS
        if not by_pseudo_points:
            self._require_whole_rows(settings.approximation)
        rows = np.arange(len(X))
        if self._batched:  # a batch of them, by chance
            over, order = self._passes(), rng.permutation(len(X))
            rows = by_class(order, None if labels is None else labels[order], over.keywords["batch"])
        few, of_rows = X[rows], None if labels is None else labels[rows]
        Z = sparse.pseudo_inputs_of(self.pseudo_inputs, few, self.n_pseudo, rng, of_rows)
        gaussian = isinstance(settings.likelihood, GaussianNoise)
        fit: Any = sparse.fit_collapsed if gaussian else sparse.fit_sparse

        if not by_pseudo_points:
            return lambda y: fit_blocks(
                X, y, kernel, settings, rng, lambda: fit(X, y, kernel, Z, settings, rng)
            )

        def fit_targets(y: np.ndarray) -> LatentModel:
            model = fit(few, y[rows], kernel, Z, settings.of_rows(rows), rng)
            return fit_batched(X, y, model, rows, settings, over) if self._batched else model

        return fit_targets

    def _require_whole_rows(self, approximation: str) -> None:
        """ValueError for parameters that an approximation by blocks does not take."""
        for name in ("pseudo_inputs", "batch_size", "correction"):
            if getattr(self, name, None) is not None:
                raise ValueError(f"approximation={approximation!r} takes no {name}: it is for pseudo-points")

    def _further(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, **how: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Rows, targets and weights of a later `partial_fit`."""
        if not all(isinstance(model, BatchedModel) for model in self.models_):
            raise ValueError(NOT_BATCHED)
        validation.require_flags(self)
        if self.pseudo_inputs is None and (few := len(cast(Any, self.models_[0].Z))) < self.n_pseudo:
            warnings.warn(FEW.format(few, self.n_pseudo), UserWarning, stacklevel=3)
        inputs, targets = self._rows(X, y, reset=False, **how)
        require_moderate("X", inputs)
        return weighted_rows(inputs, targets, sample_weight, least=1)

    def _add(
        self, X: np.ndarray, weights: np.ndarray | None, targets: Sequence[np.ndarray], names: list[str]
    ) -> Self:
        """The models with further rows; ``targets`` [N] of each."""
        deadline = sparse.SparseSettings.of(self, 0.0, likelihood=self.models_[0].likelihood).timed().deadline
        models: list[LatentModel] = [
            cast(BatchedModel, model).more(X, y, weights, self._passes(), deadline)
            for model, y in zip(self.models_, targets, strict=True)
        ]
        unseen = [out_of_reach(model, sample_rows(X)) for model in models]
        models = [
            replace(cast(Any, model), status=with_notes(model.status, UNSEEN)) if each else model
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


def _print_pass(done: int, distance: float) -> None:
    print(f"pass {done}: the posterior moved by {distance:.2g} sd", flush=True)
