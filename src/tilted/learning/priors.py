"""Priors on a kernel's parameters, for searches of the evidence times the prior.

An evidence alone can have flat ridges (the variance of separable labels, the lengthscale of an input that
says nothing), along which a search runs to its limits. A weak prior ends it where the evidence stops to rise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from tilted.kernels.compound import free_parameters_of

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

WEAK = "weak"
SD_VARIANCE, SD_LENGTHSCALE = 5.0, 3.0  # of logarithms: factors of 150 and of 20


@dataclass(frozen=True)
class LogNormal:
    """Independent normal priors on the logarithms of a kernel's parameters, of density 1 at their medians.

    Parameters
    ----------
    medians : sequence [P]
        Of the parameters that are not fixed, as they stand in the kernel, bounds or none; in the order of
        ``kernel.parameters()``.
    sds : sequence [P]
        Standard deviations of the logarithms; infinite is flat.

    Raises
    ------
    ValueError
        For lengths that differ, and for values that are not positive.
    """

    medians: tuple[float, ...]
    sds: tuple[float, ...]

    def __post_init__(self) -> None:
        medians, sds = (np.asarray(values, dtype=float) for values in (self.medians, self.sds))
        if medians.ndim != 1 or medians.shape != sds.shape:
            raise ValueError(f"a prior has a median and an sd for each parameter, got {self!r}")
        if not (np.all(medians > 0) and np.all(np.isfinite(medians)) and np.all(sds > 0)):
            raise ValueError(f"medians and sds of a prior are positive, got {self!r}")
        object.__setattr__(self, "medians", tuple(medians.tolist()))  # of arrays too
        object.__setattr__(self, "sds", tuple(sds.tolist()))

    @classmethod
    def weak(cls, kernel: Kernel) -> Self:
        """About a guessed kernel of one variance, the first parameter, and lengthscales."""
        medians = kernel.parameters()
        return cls(tuple(medians), (SD_VARIANCE,) + (SD_LENGTHSCALE,) * (len(medians) - 1))

    def of(self, kernel: Kernel) -> tuple[float, np.ndarray]:
        """Log density at the parameters of ``kernel``, and its gradient in what a search sees of them [P]."""
        values, slopes = free_parameters_of(kernel)
        value, by_values = self.log(values)
        return value, by_values * slopes

    def log(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Log density at positive ``parameters`` [P], 0 at the medians, and its gradient in them [P]."""
        if len(parameters) != len(self.medians):
            raise ValueError(
                f"a prior on {len(self.medians)} of {len(parameters)} parameters: it has a median and an sd "
                "for each that is not fixed, so with ARD for every lengthscale"
            )
        scaled = np.log(parameters / np.asarray(self.medians)) / self.sds
        return -0.5 * float(scaled @ scaled), -scaled / (np.asarray(self.sds) * parameters)
