"""Bounds on the parameters of a kernel, and parameters that stay as they are.

``Restricted(SquaredExponential(2.0, 0.5), {"variance": "fixed", "lengthscale": (0.1, 10.0)})``. A search does
not see what is fixed. In place of a parameter between bounds it sees u > 0 with

    log parameter = log low + (log high - log low) u / (1 + u),

so that every search keeps to the bounds without knowing of them, and ends next to one that it would pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tilted.kernels.around import Around
from tilted.kernels.compound import free_parameters_of, is_kernel

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

FIXED = "fixed"
NEAR = 1e-3
INSIDE = 0.01  # of the logarithmic distance between two bounds, from which a search starts
FARTHEST = 1e20
EPSILON = float(np.finfo(float).eps)
Bounds = Mapping[str, tuple[float, float] | str]


@dataclass(frozen=True)
class Restricted(Around):
    """A kernel some of whose parameters are fixed or have bounds.

    Parameters
    ----------
    kernel : Kernel
        One with parameters of its own; of a sum or a product restrict the parts.
    bounds : mapping, optional
        Names of parameters -> (low, high), or "fixed"; of every lengthscale of ARD alike. None fixes all. A
        low of 0 or an infinite high is no bound: in its place is one that is `FARTHEST` times as far.

    Raises
    ------
    ValueError
        For what is no such kernel, names it does not have, bounds that are not 0 <= low < high, and values
        that do not lie between theirs.

    Examples
    --------
    >>> from tilted.kernels import Restricted, SquaredExponential
    >>> kernel = Restricted(SquaredExponential(), {"variance": "fixed"})
    >>> kernel.parameters().shape
    (1,)
    """

    bounds: Bounds | None = None

    def __post_init__(self) -> None:
        if not (is_kernel(self.kernel) and is_dataclass(self.kernel)):
            raise ValueError(f"only kernels can be restricted, got {self.kernel!r}")
        names = self._names()
        if not (self.bounds is None or isinstance(self.bounds, Mapping)):
            raise ValueError(f"bounds are a mapping of names to (low, high) or 'fixed', got {self.bounds!r}")
        bounds = dict.fromkeys(names, FIXED) if self.bounds is None else dict(self.bounds)
        for name, bound in bounds.items():
            if name not in names:
                raise ValueError(
                    f"no parameter {name!r} of {self.kernel!r}; it has {', '.join(dict.fromkeys(names))}"
                )
            if isinstance(bound, str) and bound == FIXED:
                continue
            try:
                low, high = (float(end) for end in bound)
            except (TypeError, ValueError):
                low = high = np.nan
            if not 0 <= low < high:
                raise ValueError(f"bounds are 0 <= low < high, or 'fixed', got {name}={bound!r}")
            farthest = min(high, 1.0) / FARTHEST, max(low, 1.0) * FARTHEST
            bounds[name] = low or farthest[0], high if high < np.inf else farthest[1]
        object.__setattr__(self, "bounds", bounds)
        for value, (name, bound) in zip(self.kernel.parameters(), self._each(), strict=True):
            if isinstance(bound, tuple) and not bound[0] <= value <= bound[1]:
                raise ValueError(f"{name} must lie between its bounds {bound}, got {value:g}")

    def __hash__(self) -> int:
        return hash((self.kernel, tuple(self._each())))

    def parameters(self) -> np.ndarray:
        """The free parameters; one between bounds is u (see above), finite and positive at a bound too."""
        free, low, high = self._spans()
        values, bounded = self.kernel.parameters()[free], high > 0
        low, high = np.log(low[bounded]), np.log(high[bounded])
        share = (np.log(values[bounded]) - low) / (high - low)
        share = np.clip(share, EPSILON, 1.0 - EPSILON)
        values[bounded] = share / (1.0 - share)
        return values

    def free_parameters(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the kernel's free parameters [P], and their derivatives in :meth:`parameters` [P]."""
        values, slopes = free_parameters_of(self.kernel)
        return values[self._spans()[0]], self._pulled_back(slopes)

    def _shares(self) -> np.ndarray:
        """Return where each parameter of the kernel is between its bounds, in logarithms; NaN without any."""
        bounds = [bound if isinstance(bound, tuple) else (np.nan, np.nan) for _, bound in self._each()]
        low, high = np.log(np.array(bounds)).T
        return (np.log(self.kernel.parameters()) - low) / (high - low)

    def at_bounds(self) -> list[tuple[str, str, float]]:
        """Parameters within `NEAR` of a bound, of the logarithmic distance between the two.

        Names, "lower" or "upper", and that bound.
        """
        ends = []
        for share, (name, bound) in zip(self._shares(), self._each(), strict=True):
            if min(share, 1.0 - share) < NEAR:
                ends.append((name, "lower", bound[0]) if share < 0.5 else (name, "upper", bound[1]))
        return ends

    def off_bounds(self) -> Self:
        """Return the kernel with parameters at least `INSIDE` from bounds, which a search hardly leaves."""
        values, shares = self.kernel.parameters(), self._shares()
        for i, (share, (_, bound)) in enumerate(zip(shares, self._each(), strict=True)):
            if min(share, 1.0 - share) < NEAR:
                low, high = np.log(bound)
                values[i] = np.exp(low + (high - low) * np.clip(share, INSIDE, 1.0 - INSIDE))
        return replace(self, kernel=self.kernel.with_parameters(values))

    def with_parameters(self, values: np.ndarray) -> Self:
        free, low, high = self._spans()
        values, bounded = np.array(values, dtype=float), high > 0
        u, low, high = values[bounded], low[bounded], high[bounded]
        inside = np.exp(np.log(low) + (np.log(high) - np.log(low)) * (u / (1.0 + u)))
        values[bounded] = np.clip(inside, np.nextafter(low, high), np.nextafter(high, low))
        all_values = self.kernel.parameters()
        all_values[free] = values
        return super().with_parameters(all_values)

    def _names(self) -> list[str]:
        """The name of every parameter of the kernel, ARD's several times: its fields, in their order."""
        names: list[str] = []
        for field in fields(self.kernel):  # type: ignore[arg-type]  # a dataclass
            value = getattr(self.kernel, field.name)
            if is_kernel(value):
                raise ValueError(f"restrict {value!r}, not {type(self.kernel).__name__} of it")
            names += [field.name] * np.size(value)
        return names[: len(self.kernel.parameters())]

    def _each(self) -> list[tuple[str, Any]]:
        """Name and restriction of every parameter of the kernel; None for none."""
        bounds = self.bounds or {}
        return [(name, bounds.get(name)) for name in self._names()]

    def _spans(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which parameters are free, and their bounds (0 and 0 without bounds)."""
        each = [bound for _, bound in self._each()]
        ends = np.array([bound or (0.0, 0.0) for bound in each if bound != FIXED]).reshape(-1, 2)
        return np.array([bound != FIXED for bound in each]), ends[:, 0], ends[:, 1]

    def _pulled_back(self, by_parameters: np.ndarray) -> np.ndarray:
        """Derivatives in what a search sees from those in the parameters of the kernel."""
        free, low, high = self._spans()
        u, bounded = self.parameters(), high > 0
        slope = np.ones(len(u))
        width = np.log(high[bounded]) - np.log(low[bounded])
        slope[bounded] = self.kernel.parameters()[free][bounded] * width / (1.0 + u[bounded]) ** 2
        return by_parameters[free] * slope


def ends_of(kernel: Kernel) -> list[tuple[str, str, float]]:
    """`Restricted.at_bounds` of a kernel and of all its parts."""
    own = kernel.at_bounds() if isinstance(kernel, Restricted) else []
    if not is_dataclass(kernel):
        return own
    inner_kernels = (getattr(kernel, field.name) for field in fields(kernel))
    return own + [end for inner in inner_kernels if is_kernel(inner) for end in ends_of(inner)]


def off_bounds(kernel: Kernel) -> Kernel:
    """`Restricted.off_bounds` of a kernel and of all its parts."""
    if isinstance(kernel, Restricted):
        return kernel.off_bounds()
    if not ends_of(kernel):
        return kernel
    inner_kernels = {field.name: getattr(kernel, field.name) for field in fields(kernel)}  # type: ignore[arg-type]
    return replace(kernel, **{n: off_bounds(k) for n, k in inner_kernels.items() if is_kernel(k)})  # type: ignore[type-var]
