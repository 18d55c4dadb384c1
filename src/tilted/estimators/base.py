"""The base of the estimators: parameters, checked data, seeds, warnings and latent functions.

An estimator keeps one fitted model for each latent function in ``models_``; several mean one-vs-rest. Its
parameters are the fields of a dataclass, from which the constructor that scikit-learn wants is made.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tilted.estimators import dense, diagnostics, validation
from tilted.estimators.diagnostics import sample_rows, shortcomings
from tilted.estimators.models import LatentModel, Settings
from tilted.gaussian import gaussians, require_positive
from tilted.inference.options import require_whole
from tilted.inference.result import Status
from tilted.kernels.compound import noise_of
from tilted.kernels.converted import as_kernel, of_scikit_learn
from tilted.learning.priors import LogNormal
from tilted.learning.search import Search
from tilted.learning.starts import with_notes
from tilted.likelihoods.contract import as_floats, require_unmasked

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

Seed = int | np.random.Generator | np.random.RandomState | None
Estimator = TypeVar("Estimator")
WITHOUT_WEIGHTS = {"rep", "corrected-evidence", "cv"}


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
def parameters(cls: type[Estimator]) -> type[Estimator]:
    """The class with a constructor of its fields: keywords, but for the inference."""
    return dataclass(eq=False, repr=False, kw_only=True)(cls)


def generator(random_state: Seed) -> np.random.Generator:
    """A generator of its own from a seed, a Generator, a RandomState (which is advanced), or None.

    Nothing here reads the global state: None asks the operating system. ValueError for anything else.
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31 - 1))
    try:
        if isinstance(random_state, bool):  # NumPy would take it for 1
            raise TypeError
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(f"random_state must be a seed or a generator, got {random_state!r}") from None


def warn_unless_converged(status: Status, name: str, level: int) -> None:
    """ConvergenceWarning, ``level`` calls up, with the status' message unless it says converged."""
    if not status.converged:
        warnings.warn(f"{name}: {status.message}", ConvergenceWarning, stacklevel=level + 1)


class ScoreMixin:
    """A score that is asked of sound rows, before scikit-learn's own."""

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The share of right classes, or R^2 of a regression, as scikit-learn's.

        Parameters
        ----------
        X : array-like [N, D]
        y : array-like [N]
        sample_weight : array-like [N], optional

        Raises
        ------
        ValueError
            For bad inputs, missing or masked targets, and weights that `fit` would refuse.
        NotFittedError
        """
        require_unmasked(y, "y")
        validation.require_present(y)
        weights = None if sample_weight is None else validation.checked_weights(sample_weight, X)
        scored: float = cast(Any, super()).score(X, validation.to_numpy(y), weights)
        return scored


@parameters
class LatentFunctions(BaseEstimator, ABC):
    """Parameters of every estimator, and methods of the latent functions: ``fit`` sets ``models_``."""

    _settings: ClassVar[type[Settings]]

    inference: str = field(default="ep", kw_only=False)
    kernel: Kernel | None = None
    ard: bool = False
    optimise: str | bool | None = "evidence"
    n_restarts: int = 0
    mean: float | str | None = None
    power: float = 0.5
    priors: LogNormal | str | None = None
    max_time: float = 600.0
    search: Search | None = None
    random_state: Seed = 0

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; ``deep`` adds those of the kernel, ``kernel__variance``, and of its parts."""
        own: dict[str, Any] = super().get_params(deep)
        return own | {f"kernel__{name}": value for name, value in fields_of(self.kernel)} if deep else own

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of the kernel (``kernel__first__variance``) by a kernel made anew.

        Raises
        ------
        ValueError
            For names that `get_params` does not have, and values that the kernel refuses.
        """
        of_kernel = {name: value for name, value in params.items() if name.startswith("kernel__")}
        kernel = params.get("kernel", self.kernel)
        if of_kernel:
            changes = {tuple(name.split("__")[1:]): value for name, value in of_kernel.items()}
            kernel = with_fields(kernel, changes)
        own = {name: value for name, value in params.items() if name not in of_kernel}
        super().set_params(**own | ({"kernel": kernel} if of_kernel else {}))
        return self

    @abstractmethod
    def _fitter(
        self,
        X: np.ndarray,
        kernel: Kernel,
        settings: Any,
        rng: np.random.Generator,
        labels: np.ndarray | None = None,
    ) -> Callable[[np.ndarray], LatentModel]:
        """Return the function that fits a latent function to targets [N]; each subclass has its own.

        ``labels`` [N] are the classes, all of which random parts of the rows have to contain.
        """

    def _merge_rows(
        self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """`merge_rows` data, where weights are taken; folds and white noise (one a row) are of the rows."""
        names = {name for name in (self.inference, self.optimise) if isinstance(name, str)}
        unmergeable = not isinstance(self.inference, str) or names & WITHOUT_WEIGHTS
        noisy = self.kernel is not None and noise_of(as_kernel(self.kernel, X.shape[1])) > 0
        rows_stay = unmergeable or noisy or self._batched or getattr(self, "correction", None) is not None
        return (X, y, weights) if rows_stay else validation.merge_rows(X, y, weights)

    def _rows(self, X: ArrayLike, y: ArrayLike, **how: int) -> tuple[np.ndarray, np.ndarray]:
        """``X`` [N, D] and ``y`` [N]; ValueError as scikit-learn, and for what it would take for numbers."""
        validation.require_numbers(X, "X")
        validation.require_present(y)
        require_unmasked(y, "y")
        if how.get("y_numeric"):
            validation.require_numbers(y, "y")
        checked: tuple[np.ndarray, np.ndarray] = validation.validated(self, X, validation.to_numpy(y), **how)
        return checked

    def _begin(self, X: ArrayLike, y: ArrayLike, **how: bool) -> tuple[np.ndarray, np.ndarray]:
        """``X`` [N, D] and ``y`` [N] to fit, checked by scikit-learn (ValueError).

        What was fitted before is forgotten: a fit that fails or is interrupted leaves none, never a mixture.
        """
        fitted = [name for name in vars(self) if name.endswith("_")]
        for name in sorted(fitted, key="models_".__ne__):  # first these: without them it is not fitted
            delattr(self, name)
        validation.require_flags(self)
        checked = self._rows(X, y, ensure_min_samples=2, **how)
        diagnostics.warn_of_many(self, len(checked[0]))
        if self._batched:
            return checked
        X, y = (np.array(each) for each in checked)  # the caller may overwrite the originals
        return X, y

    @property
    def _batched(self) -> bool:
        """Return whether rows are read in batches from where they are stored, perhaps a disk."""
        return getattr(self, "batch_size", None) is not None

    @property
    def _corrected(self) -> bool:
        """Return whether the model was fitted with a correction, whatever the parameter is now."""
        check_is_fitted(self, "models_")
        return any(getattr(model, "correction", None) is not None for model in self.models_)

    def _inputs(self, X: ArrayLike) -> np.ndarray:
        """``X`` [N*, D] as fitted on: ValueError for missing values, names and numbers of features."""
        check_is_fitted(self, "models_")
        validation.require_numbers(X, "X")
        checked: np.ndarray = validation.validated(self, X, reset=False)
        return checked

    def _moments(self, X: ArrayLike) -> list[tuple[np.ndarray, np.ndarray]]:
        """Mean and variance [N*] of every latent function."""
        X = self._inputs(X)
        return [model.moments(X) for model in self.models_]

    def _keep(
        self, models: Sequence[LatentModel], names: list[str], X: np.ndarray, **fitted_attributes: object
    ) -> None:
        """Fitted attributes of the models, lists where there are several, and warnings, from ``fit``."""
        self.__dict__.update(fitted_attributes)
        single = len(models) == 1
        rows = sample_rows(X) if self._batched else X
        notes = [shortcomings(model, getattr(model, "window", rows)) for model in models]
        models = [
            replace(cast(Any, model), status=with_notes(model.status, *each))
            for model, each in zip(models, notes, strict=True)
        ]
        for note in dict.fromkeys(note for each in notes for note in each):
            of = [name for name, each in zip(names, notes, strict=True) if note in each]
            named = "" if len(of) == len(models) else f"{', '.join(of)}: "
            warnings.warn(f"{named}{note}", UserWarning, stacklevel=3)
        for note in diagnostics.unused_parameters(self):
            warnings.warn(note, UserWarning, stacklevel=3)
        self.mean_ = models[0].mean if single else np.array([model.mean for model in models])
        self.kernel_ = models[0].kernel if single else [model.kernel for model in models]
        self.status_ = models[0].status if single else [model.status for model in models]
        self.theta_ = models[0].theta if single else np.concatenate([model.theta for model in models])
        evidences = [model.log_evidence for model in models if model.log_evidence is not None]
        self.log_evidence_ = float(np.mean(evidences)) if len(evidences) == len(models) else None
        self.models_ = models  # last: with them it is fitted
        for model, name in zip(models, names, strict=True):
            warn_unless_converged(model.status, name, 3)

    def predict_latent(
        self, X: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Posterior of the latent function f, without noise.

        Parameters
        ----------
        X : array-like [N*, D]
        return_std, return_cov : bool
            Also return standard deviations, or covariances; not both.

        Returns
        -------
        mean : array [N*], or [N*, C] for C > 2 classes
        std : array [N*], or [N*, C]
            If ``return_std``.
        cov : array [N*, N*], or [N*, N*, C]
            If ``return_cov``; not chunked.

        Raises
        ------
        ValueError
            For bad inputs, both flags, and covariances of an estimator with a correction.
        ArithmeticError
            If a variance that is asked for is lost to rounding.
        NotFittedError
        """
        X = self._inputs(X)
        validation.require_flag(return_std=return_std, return_cov=return_cov)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov exclude each other")
        if return_cov and self._corrected:
            raise ValueError(
                "corrections are of single latents: there is no corrected covariance (return_cov), and no "
                "corrected draws of latents"
            )
        if not (return_std or return_cov):
            each = [model.means(X) for model in self.models_]
            return each[0] if len(each) == 1 else np.stack(each, axis=-1)
        moments = [model.covariance(X) if return_cov else model.moments(X) for model in self.models_]
        means, second = (np.stack(values, axis=-1) for values in zip(*moments, strict=True))
        if len(self.models_) == 1:
            means, second = means[..., 0], second[..., 0]
        if return_cov:
            require_positive(np.diagonal(second))
            return means, second
        return means, np.sqrt(second)

    def sample_latent(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draws of the latent function from its joint posterior at ``X``.

        Parameters
        ----------
        X : array-like [N*, D]
            O(N*^3).
        n_samples : int
        random_state : int, Generator, RandomState or None

        Returns
        -------
        f : array [N*, n_samples], or [N*, C, n_samples] for C > 2 classes

        Raises
        ------
        ValueError
            For bad inputs, an estimator with a correction, and a covariance that is lost to rounding.
        ArithmeticError
            If a variance is.
        NotFittedError
        """
        require_whole("n_samples", n_samples, 1)
        mean, covariance = self.predict_latent(X, return_cov=True)
        rng, shape = generator(random_state), (*mean.shape, n_samples)
        n = len(mean)
        means, covariances = mean.reshape(n, -1).T, covariance.reshape(n, n, -1).T
        draws = [gaussians(*each, n_samples, rng) for each in zip(means, covariances, strict=True)]
        return np.stack(draws, axis=1).reshape(shape)

    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> float | tuple[float, np.ndarray]:
        """Log evidence of the training data at given hyperparameters.

        Parameters
        ----------
        theta : array-like [P], optional
            Logarithms of the kernel's parameters: variance, lengthscale(s), and for ``SparseGPRegressor`` the
            noise variance; the fitted ones (``theta_``) by default. For C > 2 classes [C P], class after
            class, or [P] for all of them alike. Prior means and pseudo-inputs stay as fitted.
        eval_gradient : bool
            Also return the gradient in ``theta``, which must then be given.

        Returns
        -------
        value : float
            In nats, of sites that start flat: where they have several fixed points (counts, the noisy step)
            it may differ from ``log_evidence_``. For C > 2 classes the mean over the one-vs-rest problems.
            With a ``correction`` it is EP's, corrected, where ``log_evidence_`` is what the search
            maximised.
        gradient : array like ``theta``
            If ``eval_gradient``. Right where the sites converged; a ConvergenceWarning says where not.

        Raises
        ------
        ValueError
            For relaxed EP, which has no evidence; a ``theta`` of another size, or whose exponentials are not
            finite and positive; a gradient without one, or for a projection without derivatives.
        ArithmeticError
            If there is no proper posterior at ``theta``.
        NotFittedError
        """
        check_is_fitted(self, "models_")
        models = self.models_
        if theta is None and self.log_evidence_ is not None and not (self._corrected and not eval_gradient):
            if eval_gradient:
                raise ValueError("a gradient is evaluated at a theta that is given, such as theta_")
            return self.log_evidence_
        validation.require_flag(eval_gradient=eval_gradient)
        at = self.theta_ if theta is None else as_floats(theta, "theta")
        sizes = [len(model.theta) for model in models]
        shared = at.shape == (sizes[0],)
        if not shared and at.shape != (sum(sizes),):
            lengths = " or ".join(map(str, sorted({sizes[0], sum(sizes)})))
            raise ValueError(f"theta must have {lengths} entries, got shape {at.shape}")
        points = [at] * len(models) if shared else np.split(at, np.cumsum(sizes)[:-1])
        with np.errstate(over="ignore"):  # kernels refuse what is not finite
            evaluated = [
                model.evidence(point, eval_gradient) for model, point in zip(models, points, strict=True)
            ]
        for _, _, status in evaluated:
            warn_unless_converged(status, "log_marginal_likelihood", 2)
        value = float(np.mean([evidence for evidence, _, _ in evaluated]))
        if not eval_gradient:
            return value
        slopes = [slope / len(models) for _, slope, _ in evaluated if slope is not None]
        return value, np.sum(slopes, axis=0) if shared else np.concatenate(slopes)


@parameters
class DenseEstimator(LatentFunctions):
    """Parameters of the dense estimators, and their fit of a latent function."""

    _settings = dense.DenseSettings

    cv: int = 3
    penalty: float = 0.1

    def _fitter(
        self,
        X: np.ndarray,
        kernel: Kernel,
        settings: Any,
        rng: np.random.Generator,
        labels: np.ndarray | None = None,
    ) -> Callable[[np.ndarray], LatentModel]:
        stratified = isinstance(self, ClassifierMixin)
        return lambda y: dense.fit_dense(X, y, kernel, settings, rng, stratified)


def fields_of(kernel: Kernel | None) -> Iterator[tuple[str, Any]]:
    """Names and values of the fields of a kernel that is a dataclass, and of its parts as ``part__field``."""
    if is_dataclass(kernel) and not isinstance(kernel, type):
        for field in fields(kernel):
            value = getattr(kernel, field.name)
            yield field.name, value
            yield from ((f"{field.name}__{name}", inner) for name, inner in fields_of(value))


def with_fields(kernel: Any, changes: Mapping[tuple[str, ...], object]) -> Any:
    """Return the kernel with other values of fields, or of an inner kernel's fields, all at once.

    Raises
    ------
    ValueError
        If there is no such field, or the kernel refuses the values.
    """
    if of_scikit_learn(kernel):
        return _changed(kernel, changes)
    values_by_name = dict(fields_of(kernel))
    for path in changes:
        if path[0] not in values_by_name or not is_dataclass(kernel):
            have = f"it has {', '.join(values_by_name)}" if values_by_name else "it has none"
            have = "give one first, as kernel=SquaredExponential()" if kernel is None else have
            raise ValueError(f"no parameter {'__'.join(path)!r} of kernel {kernel!r}: {have}")
    values: dict[str, Any] = {}
    for name in {path[0] for path in changes}:
        inner = {path[1:]: value for path, value in changes.items() if path[0] == name and len(path) > 1}
        value = changes.get((name,), values_by_name[name])
        values[name] = with_fields(value, inner) if inner else value
    return replace(kernel, **values)


def _changed(kernel: Any, changes: Mapping[tuple[str, ...], object]) -> Any:
    """Return the kernel of scikit-learn with other parameters; ``set_params`` would change the original."""
    kernel = clone(kernel)
    for path in sorted(changes, key=len):  # parts before what is theirs
        name, value = "__".join(path), changes[path]
        try:
            kernel.set_params(**{name: clone(value, safe=False)})
        except AttributeError:  # of what is no kernel
            raise ValueError(f"no parameter {name!r} of kernel {kernel!r}") from None
    return kernel
