"""What dense and sparse models have in common: settings, which check themselves, and values of a fit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import ClassVar

import numpy as np

from tilted.inference.options import Options, require_whole
from tilted.inference.pep import SMALLEST


def choice(name: str, value, known) -> None:
    """ValueError that lists what is ``known`` unless ``value`` is among it."""
    if value not in known:
        raise ValueError(f"unknown {name} {value!r}; known: {', '.join(map(repr, known))}")


def kind(name: str, value, expected: type) -> None:
    """ValueError unless ``value`` is None or one of the ``expected``, which is then named with its module."""
    if not (value is None or isinstance(value, expected)):
        raise ValueError(f"{name} must be a {expected.__module__}.{expected.__name__}, got {value!r}")


def finite(name: str, value) -> None:
    """ValueError unless ``value`` is one finite number."""
    if not (isinstance(value, Real) and np.isfinite(value)):
        raise ValueError(f"{name} must be one finite number, got {value!r}")


@dataclass(frozen=True)
class Settings:
    """How one latent function is fitted; as the parameters of the estimators, of the same names.

    A kind of models says which inferences it offers, how its hyperparameters can be chosen, and what
    describes its searches.

    Raises
    ------
    ValueError
        For unknown names, values of another kind, and powers that Power EP does not take.
    """

    inferences: ClassVar[tuple]
    choices: ClassVar[tuple]
    searches: ClassVar[type]

    likelihood: object
    inference: str
    mean: float
    optimise: str | None
    n_restarts: int
    power: float
    search: object
    options: Options | None

    def __post_init__(self):
        choice("inference", self.inference, self.inferences)
        choice("optimise", self.optimise, self.choices)
        kind("search", self.search, self.searches)
        kind("options", self.options, Options)
        require_whole("n_restarts", self.n_restarts, 0)
        for name in ("mean", "power"):
            finite(name, getattr(self, name))
        if self.inference == "power-ep" and not SMALLEST <= self.power <= 1:
            raise ValueError(f"power must lie in [{SMALLEST:g}, 1], got {self.power!r}; 0 is inference='vb'")

    @classmethod
    def of(cls, estimator, **resolved) -> Settings:
        """The parameters of an estimator, but for those ``resolved`` from them; None for those it lacks."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: resolved.get(name, getattr(estimator, name, None)) for name in names})


class Model:
    """A fitted latent function: what follows from its ``kernel`` and its ``inference``."""

    @property
    def theta(self) -> np.ndarray:
        """Logarithms [P] of the kernel's parameters."""
        return np.log(self.kernel.parameters())

    @property
    def log_evidence(self) -> float | None:
        """In nats; None for relaxed EP."""
        return getattr(self.inference, "log_evidence", None)

    @property
    def sound(self) -> bool:
        """Whether the sites converged and the evidence is a number."""
        return bool(self.inference.status.converged and np.isfinite(self.log_evidence))
