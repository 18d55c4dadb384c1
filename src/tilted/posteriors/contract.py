"""The contract of a posterior, and the state it returns for given sites."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from tilted.gaussian import Marginals, Sites


class State(Protocol):
    """A posterior conditioned on N sites."""

    @property
    def sites(self) -> Sites:
        """tau [N] and nu [N]."""

    @property
    def marginals(self) -> Marginals:
        """Mean and variance [N] of h, and the extra variance [N] of f given h."""

    @property
    def log_normaliser(self) -> float:
        """log of the integral of p(h) prod_i exp(-tau_i h_i^2/2 + nu_i h_i)."""

    @property
    def anchored(self) -> float:
        """Return the state with the sites' exponents about their `gaussian.anchors`."""

    @property
    def negative_sites(self) -> int:
        """The number of negative precisions among N."""


class Correlations(Protocol):
    """Products with the posterior correlation matrix P [N, N] of all points, for Newton's method."""

    def product(self, x: np.ndarray) -> np.ndarray:
        """(P - I) x [N]."""

    def square_product(self, x: np.ndarray) -> np.ndarray:
        """(P o P - I) x [N], with the squares of the correlations."""


StateT = TypeVar("StateT", bound=State)


class Posterior(Protocol[StateT]):
    """Contract of ``tilted.posteriors``: a Gaussian prior over h at N points, to be conditioned on sites.

    Sequential sweeps carry a mean [N] of h and a covariance, that of whatever the posterior is made of:
    [N, N] of h where it is dense, [M, M] of M pseudo-points.
    """

    @property
    def jitter(self) -> float:
        """The jitter on a diagonal."""

    def condition(self, sites: Sites) -> StateT:
        """The posterior given N sites; NotPositiveDefinite if it is improper."""

    def correlations(self, state: StateT, costly: bool = False) -> Correlations | None:
        """Posterior correlations [N, N] between the points; None where they are not to be had.

        ``costly`` also where a product costs as much as conditioning.
        """

    def covariance(self, state: StateT) -> np.ndarray:
        """The covariance [N, N] or [M, M] that a sequential sweep starts from."""

    def marginal(self, mean: np.ndarray, covariance: np.ndarray, i: int) -> Marginals:
        """Marginal of point ``i`` at a mean [N] and a covariance of a sweep, as arrays [1]."""

    def update_one(
        self, mean: np.ndarray, covariance: np.ndarray, i: int, d_tau: float, d_nu: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean [N] and covariance after site ``i`` changed by ``d_tau`` and ``d_nu``; may overwrite both."""
