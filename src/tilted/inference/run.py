"""One iteration: where it is, how far that is from a fixed point, and what it took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic

import numpy as np

from tilted.gaussian import Sites
from tilted.inference.acceleration import Anderson
from tilted.inference.options import Options
from tilted.inference.result import StateT
from tilted.inference.rule import Rule, Update
from tilted.numerics.linalg import NotPositiveDefinite

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.contract import Posterior

ROUNDING = 1e-10  # relative difference of two evidences that is taken for rounding


@dataclass(frozen=True)
class Point(Generic[StateT]):
    """A conditioned posterior with the rule's answer to it, of which so many sites were ``clipped``."""

    state: StateT
    update: Update
    clipped: int = 0

    @property
    def evidence(self) -> float:
        """Log evidence by the present sites, in nats; right at a fixed point."""
        return self.state.anchored + float(np.sum(self.update.log_terms))

    @property
    def slack(self) -> float:
        """Difference of the evidence that is taken for rounding."""
        return ROUNDING * (1.0 + abs(self.evidence))

    def residual(self, stop: str) -> float:
        """How far the rule's new sites are from the present ones, as `Options.stop` says."""
        d_tau = self.update.sites.tau - self.state.sites.tau
        d_nu = self.update.sites.nu - self.state.sites.nu
        if stop == "site-rms":
            return max(float(np.sqrt(np.mean(change**2))) for change in (d_tau, d_nu))
        mean, variance = self.state.marginals.mean, self.state.marginals.variance
        shrink = 1.0 + d_tau * variance
        with np.errstate(divide="ignore", invalid="ignore"):
            by_mean = np.abs(d_nu - d_tau * mean) * np.sqrt(variance) / np.abs(shrink)
            by_variance = np.abs(np.log(np.maximum(shrink, 0.0)))
        return float(np.max(np.maximum(by_mean, by_variance)))


@dataclass
class Run(Generic[StateT]):
    """Bookkeeping of one iteration; nothing of it outlives the call of ``infer``.

    Attributes
    ----------
    step, smallest : float
        The damping now, and the smallest that was used.
    refused : int
        Newton steps refused in a row; ``pause`` is the sweep before which none is tried.
    residual : float
        Of the last point.
    """

    posterior: Posterior[StateT]
    likelihood: Likelihood
    y: np.ndarray
    rule: Rule
    options: Options
    memory: Anderson = field(init=False)
    step: float = field(init=False)
    smallest: float = field(init=False)
    sweeps: int = 0
    retries: int = 0
    refused: int = 0
    pause: int = 0
    residual: float = np.inf
    fallback: bool = False

    def __post_init__(self) -> None:
        self.memory = Anderson(self.options.memory)
        self.step = self.smallest = self.options.damping

    def clip(self, sites: Sites) -> Sites:
        """Sites held at the smallest precision."""
        if not np.isfinite(self.options.min_precision):
            return sites
        return Sites(np.maximum(sites.tau, self.options.min_precision), sites.nu)

    def first(self, sites: Sites) -> Point[StateT]:
        """Condition on ``sites``; NotPositiveDefinite if the posterior is improper, if only by rounding."""
        state = self.posterior.condition(sites)
        variance = state.marginals.variance  # of h 0 where pseudo-points are out of sight
        proper = (variance >= 0) & (variance + state.marginals.extra > 0) & np.any(variance > 0)
        if not np.all(proper):
            raise NotPositiveDefinite("Sigma", int(np.argmin(proper)) + 1, len(self.y))
        return self.answer(state)

    def visit(self, sites: Sites) -> Point[StateT] | None:
        """Condition on ``sites`` (held at the smallest precision); None if the posterior is improper."""
        try:
            return self.first(self.clip(sites))
        except NotPositiveDefinite:
            return None

    def answer(self, state: StateT) -> Point[StateT]:
        """The rule's new sites at a state, clipped where the options say so."""
        update = self.rule.update(state.marginals, state.sites, self.likelihood, self.y)
        clipped = int(np.sum(update.sites.tau < self.options.min_precision))
        return Point(state, replace(update, sites=self.clip(update.sites)), clipped)

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.options.deadline

    def shrink(self) -> None:
        """Halve the step."""
        self.step *= 0.5
        self.smallest = min(self.smallest, self.step)
