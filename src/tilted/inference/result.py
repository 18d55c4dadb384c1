"""The result of an inference: posterior, sites, evidence and a status that hides nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from tilted.gaussian import Sites

if TYPE_CHECKING:
    from tilted.posteriors.contract import State

StateT = TypeVar("StateT", bound="State")


@dataclass(frozen=True)
class Status:
    """The status of an inference, or of a fit, at its end.

    Attributes
    ----------
    converged : bool
    sweeps : int
        Sweeps over all sites (in a fit: summed over evaluations).
    evaluations : int
        Evidence evaluations of the optimiser (1 for plain inference).
    residual : float
        How far the last sweep was from the fixed point (``engine.Options.stop``).
    damping : float
        Smallest step that was used (1: undamped).
    jitter : float
        Added to a diagonal (Kuu's); always 0 for the dense posterior, which needs none.
    skipped : int
        Sites left as they were in the last sweep because their cavity was improper.
    retries : int
        Steps refused: the posterior was improper, the evidence of an ascending rule fell, a Newton step led
        no nearer, or an extrapolation led to negative precisions.
    clipped : int
        Sites held at the smallest precision a protocol allows, in the last sweep.
    negative_sites : int
        Sites with negative precision at the end (legitimate).
    message : str
        Cause and, where there is one, remedy.
    """

    converged: bool
    sweeps: int
    evaluations: int = 1
    residual: float = 0.0
    damping: float = 1.0
    jitter: float = 0.0
    skipped: int = 0
    retries: int = 0
    clipped: int = 0
    negative_sites: int = 0
    message: str = ""

    def after(self, earlier: Status, name: str) -> Status:
        """Return the status with the sweeps, damping and refused steps of an ``earlier`` inference, named."""
        return replace(
            self,
            sweeps=earlier.sweeps + self.sweeps,
            damping=min(earlier.damping, self.damping),
            retries=earlier.retries + self.retries,
            message=f"{self.message}; {earlier.sweeps} sweeps before, {name}",
        )

    def as_dict(self) -> dict[str, bool | int | float | str]:
        """A plain dictionary, for records."""
        return asdict(self)


@dataclass(frozen=True)
class Inference(Generic[StateT]):
    """Approximate posterior at fixed hyperparameters.

    Attributes
    ----------
    sites : Sites
    state : State
        The conditioned posterior (``DenseState`` or ``SparseState``).
    log_evidence : float
        Log marginal likelihood: EP's [Zhang 2020, eq. 2], the same formula with QP's sites, Power EP's
        [Bui et al. 2017, eq. 38], or the ELBO.
    status : Status
    by_extra : array [N]
        Derivatives of the evidence in the extra variances, everything else held fixed (`Update.by_extra`).
    """

    sites: Sites
    state: StateT = field(repr=False)
    log_evidence: float
    status: Status
    by_extra: np.ndarray = field(repr=False)
