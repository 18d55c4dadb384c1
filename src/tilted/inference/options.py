"""Options of the iteration of an inference."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

SCHEDULES = ("parallel", "sequential")
STOPS = ("marginals", "site-rms")


@dataclass(frozen=True)
class Options:
    """Options of the iteration.

    Parameters
    ----------
    tolerance : float
        Stop when the residual is at most this. A residual of at most 1e-6 that hardly fell for 100 sweeps is
        what rounding leaves: the inference ends there too, not converged.
    max_sweeps : int
        Bound on the sweeps; reaching it is reported as not converged. Where no parallel step is possible the
        sequential sweeps that follow have the same bound.
    schedule : "parallel" or "sequential"
    damping : float in (0, 1]
        First and largest step.
    min_damping : float
        Smallest step the adaptation may choose.
    memory : int
        Depth of the acceleration (parallel schedule); 0 switches it off.
    stop : "marginals" or "site-rms"
        The residual: by how much each marginal would change if its own site took its undamped new
        value, max of |dm| / sqrt(v) and |d log v| (free of scale); or the papers' own, the larger root
        mean square change of tau and of nu.
    min_precision : float
        Site precisions are clipped from below to this, and clippings counted. -inf (negative
        precisions are legitimate) unless a protocol replays code that clips.
    newton : bool
        Try a Newton step first in sweeps of the parallel schedule (log-concave likelihoods), the less often
        the more of them in a row led no nearer.
    fallback : bool
        Whether a parallel run goes on sequentially where no step is acceptable, in time O(N^3) a sweep.
    deadline : float
        Instant of ``time.monotonic()`` after which no sweep begins, nor, of a sequential one, the next site:
        the inference ends there, not converged.

    Raises
    ------
    ValueError
        Naming the option that is out of its range.
    """

    tolerance: float = 1e-8
    max_sweeps: int = 1000
    schedule: str = "parallel"
    damping: float = 1.0
    min_damping: float = 1e-4
    memory: int = 5
    stop: str = "marginals"
    min_precision: float = -np.inf
    newton: bool = True
    fallback: bool = True
    deadline: float = np.inf

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {SCHEDULES}, got '{self.schedule}'")
        if self.stop not in STOPS:
            raise ValueError(f"stop must be one of {STOPS}, got '{self.stop}'")
        if not 0 < self.min_damping <= self.damping <= 1:
            raise ValueError("need 0 < min_damping <= damping <= 1")
        if not 0 < self.tolerance < np.inf:
            raise ValueError(f"tolerance must be finite and positive, got {self.tolerance}")
        if np.isnan(self.deadline):
            raise ValueError("deadline must be an instant or inf, got nan")
        if not self.min_precision < np.inf:
            raise ValueError(f"min_precision must be a number or -inf, got {self.min_precision}")
        require_whole("max_sweeps", self.max_sweeps, 1)
        require_whole("memory", self.memory, 0)


def require_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """ValueError if the option ``name`` is not a whole number of at least ``least``, and at most ``most``."""
    if isinstance(value, bool) or not (isinstance(value, Integral) and int(value) >= least):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if most is not None and int(value) > most:
        raise ValueError(f"{name} must be a whole number of at most {most:,}, got {value!r}")
