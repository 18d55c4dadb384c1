"""Starts of an inference: the first sites, the last ones, or sites extrapolated from earlier ones.

In log tau and nu / sqrt(tau), as functions of the logarithms of the hyperparameters, the sites of a
log-concave likelihood are smooth (on separable data, where the variance grows without bound, they become
linear). Broyden's rank-one updates [Broyden 1965, Math. Comp. 19] collect their slope; the prediction is
made from the nearest earlier point. It is a start only: an inference iterates to its own fixed point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tilted.gaussian import Sites
from tilted.inference.result import Inference, StateT
from tilted.numerics.linalg import NotPositiveDefinite

BesideT = TypeVar("BesideT")
Starts = Sequence[Sites | None]
Attempt = Callable[[Sites | None], tuple[Inference[StateT], BesideT]]

REACH = 1.0  # largest change of a coordinate that is extrapolated
NEAR = 1e-8, 2.0  # distances in log parameters between which two points teach something about the slope
MOST_POINTS = 100  # points


@dataclass
class Attempts:
    """Counts of the inferences of one search: sweeps in all, and repeated starts."""

    sweeps: int = 0
    restarted: int = 0

    def converged(self, infer: Attempt[StateT, BesideT], starts: Starts) -> tuple[Inference[StateT], BesideT]:
        """The first inference, from one start after the other, that converges.

        Parameters
        ----------
        infer : callable
            Sites to start from (None: flat ones) -> an inference, and what else belongs to it.
        starts : sequence of Sites or None

        Raises
        ------
        NotPositiveDefinite
            If the posterior is improper at the last of them.
        ArithmeticError
            If none converges.
        """
        inference, extra = self.converged_or_last(infer, starts)
        if not inference.status.converged:
            raise ArithmeticError(f"the sites did not converge ({inference.status.message})")
        return inference, extra

    def converged_or_last(
        self, infer: Attempt[StateT, BesideT], starts: Starts
    ) -> tuple[Inference[StateT], BesideT]:
        """Return the first converged inference, or the last one if none converges."""
        for start in starts[:-1]:
            try:
                inference, extra = infer(start)
            except NotPositiveDefinite:  # at these sites, not necessarily at the next
                pass
            else:
                self.sweeps += inference.status.sweeps
                if inference.status.converged:
                    return inference, extra
            self.restarted += 1
        inference, extra = infer(starts[-1])
        self.sweeps += inference.status.sweeps
        return inference, extra


class WarmStarts:
    """Converged sites along the path of one search.

    Parameters
    ----------
    extrapolate : bool
        False starts at the last sites: where the sites have several fixed points, an extrapolation may lead
        from one to another.
    """

    def __init__(self, extrapolate: bool) -> None:
        self.extrapolate = extrapolate
        self.last: Sites | None = None
        self.where: list[np.ndarray] = []
        self.coordinates: list[np.ndarray] = []
        self.slope: np.ndarray | None = None

    def sites(self, parameters: np.ndarray) -> Sites | None:
        """Sites at which to start for positive ``parameters`` [P]; None if there is nothing to go by."""
        if not self.where:
            return self.last
        to = np.log(parameters)
        i = self._nearest(to)
        change = np.clip(self.slope @ (to - self.where[i]), -REACH, REACH)
        log_tau, ratio = np.split(self.coordinates[i] + change, 2)
        tau = np.exp(log_tau)
        return Sites(tau, ratio * np.sqrt(tau))

    def record(self, parameters: np.ndarray, sites: Sites) -> None:
        """Learn from the converged sites of an inference at ``parameters`` [P]."""
        self.last = sites
        if not (self.extrapolate and np.all(sites.tau > 0)):
            return
        at = np.log(parameters)
        x = np.concatenate([np.log(sites.tau), sites.nu / np.sqrt(sites.tau)])
        if self.slope is None:
            self.slope = np.zeros((len(x), len(at)))
        else:
            i = self._nearest(at)
            d = at - self.where[i]
            if NEAR[0] < np.linalg.norm(d) < NEAR[1]:
                missed = x - self.coordinates[i] - self.slope @ d
                self.slope += np.multiply.outer(missed, d / (d @ d))
        self.where = [*self.where[1 - MOST_POINTS :], at]
        self.coordinates = [*self.coordinates[1 - MOST_POINTS :], x]

    def _nearest(self, at: np.ndarray) -> int:
        return int(np.argmin(np.linalg.norm(np.array(self.where) - at, axis=1)))
