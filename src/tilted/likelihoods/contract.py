"""The contract of a likelihood, and the values it returns for tilted distributions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from tilted.numerics.quadrature import TiltedDensity


@dataclass(frozen=True)
class Tilted:
    """Moments of the tilted distributions N(f; m, v) p(y|f) / Z; arrays [N].

    Attributes
    ----------
    log_z : log normaliser
    d1, d2 : first and second derivative of log Z in m
    mean, variance : of the tilted distribution (mean = m + v d1, variance = v + v^2 d2, computed stably)
    """

    log_z: np.ndarray
    d1: np.ndarray
    d2: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


class Shape(NamedTuple):
    """Standardised third and fourth cumulants [N] of tilted distributions (`shape`); 0 for Gaussians."""

    skewness: np.ndarray
    kurtosis: np.ndarray


class Likelihood(Protocol):
    """Contract of ``tilted.likelihoods``; y, m, v are arrays [N], v > 0.

    ``log_concave`` says whether log p(y|f) is concave in f, so that the sites have one fixed point.
    """

    name: ClassVar[str]
    log_concave: ClassVar[bool]

    def domain(self, y: np.typing.ArrayLike) -> np.ndarray:
        """y [N] as floats in the domain; raises ValueError naming the offending value."""

    def check(self, y: np.typing.ArrayLike) -> np.ndarray:
        """Check training labels [N], which may have to contain more (both classes)."""

    def tilted(self, y: np.ndarray, m: np.ndarray, v: np.ndarray, power: float | np.ndarray = 1.0) -> Tilted:
        """Moments of N(f; m, v) p(y|f)^power; the power is a float or an array [N], in (0, 1]."""

    def tilted_shape(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Shape:
        """Skewness and excess kurtosis [N] of the tilted distributions (third and fourth cumulants)."""

    def tilted_density(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> TiltedDensity:
        """The tilted densities [N] with panels for quadrature."""

    def expected_log(
        self, y: np.ndarray, m: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[log p(y|f)] under N(m, v) and its derivatives in m and v, arrays [N]."""

    def log_predictive(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """log of the integral of N(f; m, v) p(y|f) over f, [N]."""

    def log_likelihood(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """log p(y|f) itself; y and f are arrays of any shapes that broadcast."""

    def errors(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Error [N] of the point prediction under N(m, v): 0 or 1 for labels, else absolute."""


def has_additive_noise(likelihood: Likelihood) -> bool:
    """Return whether targets are f plus noise of mean 0; such likelihoods have ``additive_noise = True``."""
    return getattr(likelihood, "additive_noise", False)


class Labels:
    """Domain of likelihoods of labels -1 and +1."""

    name: ClassVar[str]

    def domain(self, y: np.typing.ArrayLike) -> np.ndarray:
        """Labels [N] as floats; ValueError if one is not -1 or +1."""
        return require_labels(y, self.name)

    def check(self, y: np.typing.ArrayLike) -> np.ndarray:
        """Training labels [N] as floats; ValueError also if only one class is present."""
        return require_both_labels(y, self.name)

    def errors(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """1 where p(y) < 1/2, else 0 (ties count as right) [N]."""
        return (y * m < 0).astype(float)


class Reals:
    """Domain of likelihoods of real targets: f and noise of mean 0."""

    additive_noise: ClassVar[bool] = True

    def domain(self, y: np.typing.ArrayLike) -> np.ndarray:
        """Targets [N] as floats; ValueError if one is not finite."""
        return require_finite(y)

    check = domain

    def errors(self, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Absolute error of the predictive mean [N]."""
        return np.abs(y - m)


@dataclass(frozen=True)
class OneParameter:
    """Likelihoods that learn one field, positive, whose name is ``searched``."""

    searched: ClassVar[str]

    def coordinates(self) -> np.ndarray:
        """log of the parameter [1]: what a search moves."""
        return np.array([np.log(getattr(self, self.searched))])

    def at(self, coordinates: np.ndarray) -> Self:
        """Return the likelihood with another parameter, from its log [1]."""
        return replace(self, **{self.searched: float(np.exp(coordinates[0]))})


def require_unmasked(values: object, name: str) -> None:
    """ValueError for a masked array with a masked cell: what lies below the mask is no value."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked values")


TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)


def columns_of(values: Any) -> list[tuple[Any, np.ndarray]]:
    """Return the name and the cells [N] of every column of a data frame, of any library.

    Of anything else, which has no columns with names, return None and all cells.
    """
    names = getattr(values, "columns", None)
    if names is None:
        return [(None, np.asarray(values))]
    return [(name, np.asarray(values[name])) for name in names]


def require_no_times(cells: np.ndarray, where: str) -> None:
    """Raise ValueError for dates and spans of time, which NumPy would read as counts of some unit."""
    kinds = {type(cell) for cell in cells.flat if isinstance(cell, TIMES)} if cells.dtype.kind == "O" else ()
    if kinds or cells.dtype.kind in "mM":
        name = cells.dtype if not kinds else kinds.pop().__name__
        raise ValueError(f"{where} has times ({name}): give numbers, such as days since the first")


def names_of(X: object) -> tuple[str, ...] | None:
    """Return the names of the columns of a data frame; None where there are none, or not all are text.

    ValueError for a name that two columns have.
    """
    columns = getattr(X, "columns", None)
    names = () if columns is None else tuple(columns)
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"X has two columns of the name {twice!r}")
    return names if names and all(isinstance(name, str) for name in names) else None


def require_names(X: object, names: tuple[str, ...] | None) -> None:
    """ValueError if ``X`` has names of columns that are not ``names``, in this order."""
    own_names = names_of(X)
    if own_names and names and own_names != names:
        raise ValueError(
            f"X has columns {', '.join(own_names)}; in training it had {', '.join(names)}, in this order"
        )


def as_floats(values: np.typing.ArrayLike, name: str) -> np.ndarray:
    """``values`` as an array of floats.

    Raises
    ------
    ValueError
        If they are not numeric, times, complex, of unequal lengths, or masked.
    """
    require_unmasked(values, name)
    for _, cells in columns_of(values):
        require_no_times(cells, name)
    try:
        values = np.asarray(values)
        if np.iscomplexobj(values):
            raise ValueError("complex values")
        return values.astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be numeric: {error}") from None


def require_finite(y: np.typing.ArrayLike) -> np.ndarray:
    """``y`` as a float vector; ValueError if it is not one-dimensional or not finite."""
    y = as_floats(y, "y")
    if y.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {y.shape}")
    if not np.all(np.isfinite(y)):
        bad = int(np.flatnonzero(~np.isfinite(y))[0])
        raise ValueError(f"y has a missing or infinite value at row {bad}")
    return y


def require_labels(y: np.typing.ArrayLike, name: str) -> np.ndarray:
    """``y`` as floats; ValueError if one is not -1 or +1."""
    y = require_finite(y)
    wrong = np.abs(y) != 1.0
    if np.any(wrong):
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"{name} labels must be -1 or +1, got {y[row]:g} at row {row}")
    return y


def require_both_labels(y: np.typing.ArrayLike, name: str) -> np.ndarray:
    """Return checked labels; ValueError also if only one class is present."""
    y = require_labels(y, name)
    if len(np.unique(y)) < 2:
        raise ValueError(f"{name} needs both classes in the training labels, got only one")
    return y


def require_powers(power: float | np.ndarray, m: np.ndarray) -> np.ndarray:
    """A power for each of ``m`` [N], from one for all or one a site; ValueError outside (0, 1]."""
    if isinstance(power, float):
        powers = np.full(np.shape(m), power)  # a third of the time of broadcasting
    else:
        powers = np.broadcast_to(np.asarray(power, dtype=float), np.shape(m))
    if not ((powers > 0) & (powers <= 1)).all():
        raise ValueError("powers of a likelihood lie in (0, 1]")
    return powers
