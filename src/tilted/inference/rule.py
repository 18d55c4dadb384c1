"""The contract of a local rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from tilted.gaussian import Marginals, Sites

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.projections.moments import Projection, Sensitivity

    Project: TypeAlias = Callable[..., Projection]  # (likelihood, y, m, v) and perhaps the power
    Sense: TypeAlias = Callable[[Likelihood, np.ndarray, np.ndarray, np.ndarray], Sensitivity]


class Projector(Protocol):
    """A projection that may take the place of QP's own."""

    @property
    def sensitivity(self) -> Sense | None:
        """Derivatives of the projections of N tilted distributions in their cavities; None if unknown."""

    def project(self, likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Projection:
        """Gaussians [N] for the tilted distributions with cavities N(m, v); y, m, v are arrays [N]."""


@dataclass(frozen=True)
class Update:
    """The new sites of a rule, for N sites.

    Attributes
    ----------
    sites : Sites
        Undamped new sites; a site that could not be updated keeps its value.
    log_terms : array [N]
        Local parts of the log evidence at the **given** marginals and sites: log Z of the tilted
        distribution minus log of the integral of cavity times site (EP, QP), or the expected log
        likelihood minus the expected log site (VB). Exponents of sites are taken about `gaussian.anchors`.
    by_extra : array [N]
        Derivatives of the local parts in the extra variances of the marginals; 0 where a site was skipped.
    skipped : int
        Number of sites left as they were because the cavity or the projection was improper.
    """

    sites: Sites
    log_terms: np.ndarray
    by_extra: np.ndarray
    skipped: int = 0


@dataclass(frozen=True)
class Rule:
    """A local rule.

    Attributes
    ----------
    update : callable
        (marginals of h, current sites, likelihood, y [N]) -> Update.
    ascends : bool
        Whether small steps towards the new sites increase the evidence (VB: the ELBO); parallel sweeps
        then accept no step that lowers it.
    power : float or array [N]
        How much of its site a rule divides out of the marginal before it looks at it: all (EP, QP), a
        fraction (Power EP), nothing (VB).
    stationary : bool
        Whether the evidence is stationary in the sites at their fixed point, so that its gradient may hold
        them fixed.
    sensitivity : callable or None
        Derivatives of the projection in its cavity, by which the gradient of an evidence that is not
        stationary follows the sites (``inference.implicit``).
    select : callable or None
        Numbers of sites -> the rule of these, where sites have rules of their own (powers, weights).
    weigh : callable or None
        Weights [N] -> the rule of p(y|f)^weight (`weighted`).
    weights : array [N] or None
        Those that the likelihood is taken to the power of.
    plain : Rule or None
        The same without them.
    sites : callable or None
        As ``update``, of the new sites alone, where these come cheaper.
    """

    update: Callable[[Marginals, Sites, Likelihood, np.ndarray], Update]
    ascends: bool = False
    power: float | np.ndarray = 1.0
    stationary: bool = True
    sensitivity: Sense | None = None
    select: Callable[[np.ndarray], Rule] | None = None
    weigh: Callable[[np.ndarray], Rule] | None = None
    weights: np.ndarray | None = None
    plain: Rule | None = None
    sites: Callable[[Marginals, Sites, Likelihood, np.ndarray], Sites] | None = None

    def respond(self, marginals: Marginals, sites: Sites, likelihood: Likelihood, y: np.ndarray) -> Sites:
        """The new sites alone."""
        if self.sites is None:
            return self.update(marginals, sites, likelihood, y).sites
        return self.sites(marginals, sites, likelihood, y)

    def at(self, i: int) -> Rule:
        """The rule of site ``i`` by itself, for sequential sweeps."""
        return self if self.select is None else self.select(np.array([i]))

    def twice(self, n: int) -> Rule:
        """The rule of all ``n`` sites twice over, one after the other, for Newton's method."""
        return self if self.select is None else self.select(np.tile(np.arange(n), 2))

    @property
    def heavy(self) -> bool:
        """Return whether some weights are so large that repeated rows overshoot together."""
        return self.weights is not None and float(np.max(self.weights)) > HEAVY

    def lighter(self) -> Rule:
        """Return the rule with weights of at most a `HEAVY`-th of the largest, to start from its sites."""
        assert self.plain is not None and self.weights is not None
        return weighted(self.plain, np.minimum(self.weights, np.max(self.weights) / HEAVY))


LARGEST_WEIGHT = 1e6  # rounding in the evidence grows with it
HEAVY = 10.0


def weighted(rule: Rule, weights: np.ndarray | None) -> Rule:
    """The rule of the likelihood factors p(y_i|f_i)^w_i, weights [N] in (0, `LARGEST_WEIGHT`]; None: all 1.

    At a fixed point a whole weight is that many rows with the same input and target.

    Raises
    ------
    ValueError
        For other weights, and for a rule that cannot take them.
    """
    if weights is None:
        return rule
    if not np.all((weights > 0) & (weights <= LARGEST_WEIGHT)):
        raise ValueError(f"weights of rows must be positive and at most {LARGEST_WEIGHT:g}")
    if rule.weigh is None or rule.weights is not None:
        raise ValueError("this rule takes no weights")
    return replace(rule.weigh(weights), weights=weights, plain=rule)
