"""Settings of a fit, which check themselves, and the base of all fitted models."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from tilted.inference.options import Options, require_whole
from tilted.inference.pep import SMALLEST
from tilted.inference.result import Inference, StateT, Status
from tilted.inference.rule import Rule
from tilted.kernels.restricted import off_bounds
from tilted.kernels.stationary import Stationary
from tilted.learning.priors import WEAK, LogNormal
from tilted.learning.search import Search
from tilted.learning.starts import around, promising
from tilted.numerics.words import nearest

if TYPE_CHECKING:
    from tilted import corrections
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.collapsed import Collapsed

SEARCHED = Options(
    max_sweeps=100, min_damping=0.02, fallback=False
)  # a search steps back from where that is not enough
MOST_RESTARTS = 10_000
LEARNED = "constant"  # the prior mean is learned by evidence
NOT_CORRECTED = "corrections are of models that keep their rows: not with batch_size"


def choice(name: str, value: object, options: Collection[object]) -> None:
    """ValueError that lists what is ``options``, and asks for the nearest, unless ``value`` is among it."""
    if not (value is None or isinstance(value, str)) or value not in options:
        listed = ", ".join(map(repr, options))
        raise ValueError(f"unknown {name} {value!r}; known: {listed}{nearest(value, options)}")


def _not_a_kernel(inference: object) -> None:
    """ValueError for a kernel in the place of the inference, where scikit-learn's estimators have theirs."""
    if hasattr(inference, "theta") or hasattr(inference, "with_parameters"):  # scikit-learn's or one of ours
        raise ValueError(f"inference is the first argument; a kernel goes by its name, kernel={inference!r}")


def kind(name: str, value: object, expected: type) -> None:
    """ValueError unless ``value`` is None or one of the ``expected``, which is then named with its module."""
    if not (value is None or isinstance(value, expected)):
        raise ValueError(f"{name} must be a {expected.__module__}.{expected.__name__}, got {value!r}")


def finite(name: str, value: object) -> None:
    """ValueError unless ``value`` is one finite number."""
    if isinstance(value, bool) or not (isinstance(value, Real) and np.isfinite(float(value))):
        raise ValueError(f"{name} must be one finite number, got {value!r}")


def _plain(value: Any) -> Any:
    """A number of NumPy's, whose type would be that of what is made of it, as Python's."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class Settings:
    """Settings of the fit of one latent function: the estimators' parameters of the same names.

    ``learn_mean`` says whether ``mean`` is learned, from there; ``guessed`` whether the kernel was guessed
    from the data, about which a search then looks for starts; ``weights`` [N] are those of the rows. A kind
    of models says which inferences it offers, and how its hyperparameters can be chosen.

    Raises
    ------
    ValueError
        For unknown names, values of another kind, and powers that Power EP does not take.
    """

    inferences: ClassVar[tuple[str, ...]]
    choices: ClassVar[tuple[str | None, ...]]

    likelihood: Likelihood
    inference: str | Rule
    mean: float
    learn_mean: bool
    optimise: str | None
    n_restarts: int
    power: float
    search: Search | None
    options: Options | None
    guessed: bool
    priors: LogNormal | str | None
    max_time: float
    weights: np.ndarray | None

    def __post_init__(self) -> None:
        if not isinstance(self.inference, Rule):
            _not_a_kernel(self.inference)
            choice("inference", self.inference, self.inferences)
        if not (self.priors is None or isinstance(self.priors, LogNormal)):
            try:
                choice("priors", self.priors, (WEAK, None))
            except ValueError as error:
                raise ValueError(f"{error}, or a tilted.learning.priors.LogNormal") from None
        if isinstance(self.max_time, bool) or not (isinstance(self.max_time, Real) and self.max_time > 0):
            raise ValueError(f"max_time must be a positive number of seconds, got {self.max_time!r}")
        choice("optimise", self.optimise, self.choices)
        kind("search", self.search, Search)
        kind("options", self.options, Options)
        require_whole("n_restarts", self.n_restarts, 0, MOST_RESTARTS)
        for name in ("mean", "power", "n_restarts"):
            finite(name, getattr(self, name))
        if not SMALLEST <= self.power <= 1:
            raise ValueError(f"power must lie in [{SMALLEST:g}, 1], got {self.power!r}; 0 is inference='vb'")

    @classmethod
    def of(cls, estimator: Any, start: float, **resolved: object) -> Self:
        """The parameters of an estimator, but for those ``resolved`` from them; None for those it lacks.

        The prior mean is ``start`` where none is given, and where a search of it starts.
        """
        learned = isinstance(estimator.mean, str)
        if learned:
            choice("mean", estimator.mean, (LEARNED,))
        resolved["learn_mean"], resolved["guessed"] = learned, estimator.kernel is None
        flags = {False: None, True: "evidence"}
        optimise = estimator.optimise
        resolved["optimise"] = flags[optimise] if isinstance(optimise, bool) else optimise
        mean = estimator.mean
        resolved["mean"] = start if learned or mean is None else _plain(mean)
        names = [field.name for field in fields(cls)]
        values: dict[str, Any] = {
            name: resolved[name] if name in resolved else getattr(estimator, name, None) for name in names
        }
        return cls(**values)

    def timed(self) -> Self:
        """Return the settings with the deadline that ``max_time`` sets from now on in the options."""
        options = self.options or (Options() if self.optimise is None else SEARCHED)
        deadline = min(options.deadline, time.monotonic() + float(self.max_time))
        return replace(self, options=replace(options, deadline=deadline))

    def untimed(self, options: Options) -> Options:
        """Return a `timed` fit's options as its model stores them, without that deadline."""
        return replace(options, deadline=self.deadline)

    @property
    def deadline(self) -> float:
        """The deadline of the options."""
        return np.inf if self.options is None else self.options.deadline

    def prior(self, kernel: Kernel) -> LogNormal | None:
        """On the parameters of ``kernel``: the weak one is about a guess only."""
        if isinstance(self.priors, str):
            return LogNormal.weak(kernel) if self.guessed else None
        return self.priors

    def starts(
        self, X: np.ndarray, y: np.ndarray, likelihood: Likelihood, kernel: Kernel, rng: np.random.Generator
    ) -> list[Kernel]:
        """Return the starts of searches: ``kernel``, or promising kernels about a guess; and restarts."""
        first = [kernel := off_bounds(kernel)]
        if self.guessed and isinstance(kernel, Stationary):
            first = promising(X, y, likelihood, self.mean, kernel, self.weights, self.deadline)
        return first + around(kernel, self.n_restarts, rng)


class LatentModel(ABC):
    """A fitted latent function, the base of all models; X are arrays [N*, D].

    Attributes
    ----------
    kernel : Kernel
        With the hyperparameters used.
    likelihood : Likelihood
        With the parameters used.
    mean : float
        The prior mean.
    fitted_mean : array [N]
        Posterior mean of the latent function at the training inputs.
    Z : array [M, D] or None
        Pseudo-inputs.
    status : Status
        How the fit ended.
    correction : str or None
        The correction of predictions and of the evidence.
    """

    if TYPE_CHECKING:  # fields of some models, properties of others

        @property
        def kernel(self) -> Kernel: ...

        @property
        def likelihood(self) -> Likelihood: ...

        @property
        def mean(self) -> float: ...

        @property
        def fitted_mean(self) -> np.ndarray: ...

        @property
        def Z(self) -> np.ndarray | None: ...

        @property
        def status(self) -> Status: ...

        @property
        def correction(self) -> str | None: ...

        @property
        def inference(self) -> Inference[Any] | Collapsed: ...

    else:
        Z = correction = None

    @property
    def theta(self) -> np.ndarray:
        """Logarithms [P] of the hyperparameters."""
        return np.log(self.kernel.parameters())

    @property
    def log_evidence(self) -> float | None:
        """Log evidence in nats, a bound for VB; None for relaxed EP."""
        return getattr(self.inference, "log_evidence", None)

    @property
    def selection_score(self) -> float:
        """The log evidence by which one search of several is chosen, -inf where it is unsound."""
        return selection_score(cast("Inference[Any]", self.inference))

    def moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function, in chunks, corrected if that was requested."""
        if self.correction is None:
            return self._moments(X)
        corrected = self.corrected(X)
        return corrected.mean, corrected.variance

    def means(self, X: np.ndarray) -> np.ndarray:
        """The means [N*] alone, which need no variance that rounding may have lost."""
        return self._means(X) if self.correction is None else self.moments(X)[0]

    def log_predictive(self, X: np.ndarray, targets: list[np.ndarray]) -> list[np.ndarray]:
        """Corrected log predictive densities [N*] of several vectors of targets [N*], all in the domain."""
        corrected = self.corrected(X)
        return [corrected.resolved(y) for y in targets]

    @abstractmethod
    def _moments(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function, in chunks, without correction."""

    @abstractmethod
    def _means(self, X: np.ndarray) -> np.ndarray:
        """The means [N*] of the latent function, in chunks, without correction."""

    @abstractmethod
    def covariance(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N*] and covariance [N*, N*] of the latent function."""

    @abstractmethod
    def evidence(self, theta: np.ndarray, gradient: bool) -> tuple[float, np.ndarray | None, Status]:
        """Log evidence at ``theta``, its gradient [P] in ``theta`` if requested, and the status.

        The prior mean and the pseudo-inputs stay. With a correction it is EP's evidence to second order where
        that is to be trusted, or that of draws.
        """

    def corrected(self, X: np.ndarray) -> corrections.Corrected:
        """Corrected posterior of the latent function at ``X`` [N*, D]; ValueError where there is none."""
        raise ValueError(NOT_CORRECTED)


def selection_score(inference: Inference[StateT]) -> float:
    """Return the log evidence by which one search of several is chosen, -inf where it is unsound."""
    sound = inference.status.converged and np.isfinite(inference.log_evidence)
    return inference.log_evidence if sound else -np.inf
