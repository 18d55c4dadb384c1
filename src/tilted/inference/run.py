"""One iteration: where it is, how far that is from a fixed point, and what it took."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Generic

import numpy as np

from tilted.gaussian import Marginals, Sites
from tilted.inference.acceleration import Anderson
from tilted.inference.newton import perturbed
from tilted.inference.options import Options
from tilted.inference.result import StateT
from tilted.inference.rule import Rule, Update
from tilted.numerics.linalg import NotPositiveDefinite

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.contract import Posterior

FEW = 400  # sites, of which the rule answers three times as many in hardly more time
SURE = 1e-3  # residual after which one more Newton step, whose residuals are like squares, is almost sure
ROUNDING = 1e-10  # relative difference of two evidences that is taken for rounding
FLOOR = 1e-6  # residual that may be rounding's, where the prior variance or the sites' precisions are large
PATIENCE = 100  # sweeps after which such a one, if no clearly lower one was seen, is taken for it
LOWER = 0.1  # share by which a residual is clearly lower than the lowest so far, where steps are whole


@dataclass(frozen=True)
class Point(Generic[StateT]):
    """A conditioned posterior with the rule's answer to it.

    Attributes
    ----------
    residual : float
        How far the rule's new sites are from the present ones.
    clipped : int
        New sites held at the smallest precision.
    response : Sites or None
        The rule's new sites [2N] at `newton.perturbed`, if they were asked for in advance.
    """

    state: StateT
    update: Update
    residual: float
    clipped: int = 0
    response: Sites | None = None

    @cached_property
    def evidence(self) -> float:
        """Log evidence by the present sites, in nats; right at a fixed point."""
        return self.state.anchored + float(self.update.log_terms.sum())

    @property
    def slack(self) -> float:
        """Difference of the evidence that is taken for rounding."""
        return ROUNDING * (1.0 + abs(self.evidence))


def residual_of(sites: Sites, new: Sites, marginals: Marginals, stop: str) -> float:
    """Return the distance of new sites from the present ones, as `Options.stop` defines it."""
    d_tau = new.tau - sites.tau
    d_nu = new.nu - sites.nu
    if stop == "site-rms":
        return max(float(np.sqrt(np.mean(change**2))) for change in (d_tau, d_nu))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        shrink = 1.0 + d_tau * marginals.variance
        by_mean = np.abs(d_nu - d_tau * marginals.mean) * np.sqrt(marginals.variance) / np.abs(shrink)
        by_variance = np.abs(np.log(np.maximum(shrink, 0.0)))
    return float(np.maximum(by_mean, by_variance).max())


def _parts(marginals: Marginals) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return marginals.mean, marginals.variance, marginals.extra


@dataclass
class Run(Generic[StateT]):
    """Bookkeeping of one iteration; nothing of it outlives the call of ``infer``.

    Attributes
    ----------
    step, smallest : float
        The damping now, and the smallest that was used.
    refused : int
        Newton steps refused in a row; ``pause`` is the sweep before which none is tried.
    taken_at : float
        Residual at which the last one was accepted; it was back there ``relapses`` times.
    residual : float
        Of the last point.
    lowest : float
        The smallest residual so far, or close to it; it was ``reached`` after so many sweeps.
    lost : bool
        Whether the last step failed for numbers that are none, or for nothing but rounding.
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
    taken_at: float = np.inf
    relapses: int = 0
    residual: float = np.inf
    lowest: float = np.inf
    reached: int = 0
    lost: bool = False
    fallback: bool = False

    def __post_init__(self) -> None:
        self.memory = Anderson(self.options.memory)
        self.step = self.smallest = self.options.damping

    def clip(self, sites: Sites) -> Sites:
        """Sites held at the smallest precision."""
        if self.options.min_precision == -np.inf:
            return sites
        return Sites(np.maximum(sites.tau, self.options.min_precision), sites.nu)

    def first(self, sites: Sites) -> Point[StateT]:
        """Condition on ``sites``; NotPositiveDefinite if the posterior is improper, if only by rounding."""
        state = self.posterior.condition(sites)
        variance = state.marginals.variance  # of h 0 where pseudo-points are out of sight
        if not (variance > 0).all():
            proper = (variance >= 0) & (variance + state.marginals.extra > 0) & (variance > 0).any()
            if proper.all():
                return self.answer(state)
            raise NotPositiveDefinite("Sigma", int(np.argmin(proper)) + 1, len(self.y))
        return self.answer(state)

    def visit(self, sites: Sites) -> Point[StateT] | None:
        """Condition on ``sites`` (held at the smallest precision); None if the posterior is improper."""
        try:
            return self.first(self.clip(sites))
        except NotPositiveDefinite:
            self.lost = bool(np.all(sites.tau >= 0.0))  # such sites make no prior improper
            return None

    def answer(self, state: StateT) -> Point[StateT]:
        """The rule's new sites at a state, clipped where the options say so."""
        (update, beyond), clipped = self._respond(state), 0
        if self.options.min_precision > -np.inf:
            clipped = int(np.sum(update.sites.tau < self.options.min_precision))
            update = replace(update, sites=self.clip(update.sites))
        residual = residual_of(state.sites, update.sites, state.marginals, self.options.stop)
        return Point(state, update, residual, clipped, beyond)

    def _respond(self, state: StateT) -> tuple[Update, Sites | None]:
        """The rule's answer, and in the same call those beside it that the next Newton step will ask for."""
        marginals, sites, n = state.marginals, state.sites, len(self.y)
        if self.foresees and (sites.tau > 0).all():
            pairs = zip(_parts(marginals), _parts(perturbed(marginals)), strict=True)
            all_three = Marginals(*(np.concatenate(pair) for pair in pairs))
            present = Sites(np.concatenate([sites.tau] * 3), np.concatenate([sites.nu] * 3))
            answer = self.rule.update(all_three, present, self.likelihood, np.concatenate([self.y] * 3))
            if not answer.skipped:
                tau, nu = answer.sites.tau, answer.sites.nu
                update = Update(Sites(tau[:n], nu[:n]), answer.log_terms[:n], answer.by_extra[:n])
                return update, self.clip(Sites(tau[n:], nu[n:]))
        return self.rule.update(marginals, sites, self.likelihood, self.y), None

    @property
    def foresees(self) -> bool:
        """Return whether the next point is expected to take a Newton step, and its sites are few."""
        options = self.options
        return (
            len(self.y) <= FEW
            and self.rule.select is None
            and self.likelihood.log_concave
            and options.newton
            and options.schedule == "parallel"
            and self.residual > max(SURE, 100.0 * options.tolerance)
        )

    def note(self, residual: float) -> None:
        """Take down a point's residual."""
        self.residual = residual
        if residual < (1.0 - LOWER * self.step) * self.lowest:
            self.lowest, self.reached = residual, self.sweeps

    @property
    def floored(self) -> bool:
        """Return whether the residual has been so small for so long that only rounding remains."""
        return self.residual <= FLOOR and self.sweeps - self.reached >= PATIENCE

    @property
    def late(self) -> bool:
        """Return whether the time is up."""
        return time.monotonic() >= self.options.deadline

    def shrink(self) -> None:
        """Halve the step."""
        self.step *= 0.5
        self.smallest = min(self.smallest, self.step)
