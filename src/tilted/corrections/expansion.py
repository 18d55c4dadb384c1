"""EP's fixed point as corrections see it: tilted distributions, their cumulants, and posterior covariances.

With q(f) = N(mean, Sigma) EP's posterior and eps_i = p(y_i | f_i) / site_i, normalised so that E_q[eps_i] =
1, the exact posterior is q(f) prod_i eps_i(f_i) times Z_EP / Z, and Z / Z_EP = E_q[prod_i eps_i]. All
corrections are approximations of one of these products [Opper, Paquet & Winther 2013; Cseke & Heskes 2011].
eps_i q_i is the tilted distribution, which has the mean and variance of q_i at EP's fixed point; so the
cumulants from the third on say all that eps_i adds.

Where sites act on h and f = h + e with independent e of extra variance d (pseudo-points), the exact posterior
is that of the prior with the covariance of h plus diag(d). h has the share a = v / (v + d) of a deviation of
f in a cavity of variance v, and the l-th standardised cumulant of h's tilted distribution is rho^l times that
of f's, rho^2 = a^2 Var[f] / Var[h]. So the expansion is in the cumulants of f, with rho_i rho_j P_ij for
correlations: those of f under EP's posterior.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilted.corrections.sampled import Sampled, require_sampled
from tilted.gaussian import Sites, cavity, log_site_integral
from tilted.inference.engine import infer
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.likelihoods.contract import Reals, Shape
from tilted.likelihoods.shape import shape_of
from tilted.numerics import linalg
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense
from tilted.posteriors.sparse import Sparse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilted.inference.result import Inference
    from tilted.likelihoods.contract import Likelihood, Tilted

TOLERANCE = 1e-8  # of EP's residual: terms of first and second order in what is left are neglected
MEMORY = 64e6  # bytes of a block of correlations, where they are made in blocks
OTHER_LOBE = -5.0  # log odds of another lobe, such as -f, that corrections may neglect
RIVAL_SWEEPS = 100  # for EP to get from its other start to a fixed point there
REJECTED = 0.1  # of the largest precision of a site, below which it hardly counts
LOBES = 0.6  # (skewness^2 + 1) / (kurtosis + 3): 5/9 for a uniform or exponential density, 1 for two points


@dataclass(frozen=True)
class Expansion:
    """EP's fixed point at N data.

    Attributes
    ----------
    prior : Dense or Sparse
    likelihood : Likelihood
    y : array [N]
    inference : Inference
        EP's.
    cavity : pair of arrays [N]
        Mean and variance of f without its own datum.
    tilted : Tilted
    log_terms : array [N]
        log of the tilted normaliser minus that of cavity times site.
    shape : Shape
        Skewness and excess kurtosis [N] of the tilted distributions of f.
    retained : array [N]
        rho, 1 where f is h.
    options : Options
        How EP was iterated.
    """

    prior: Dense | Sparse = field(repr=False)
    likelihood: Likelihood
    y: np.ndarray = field(repr=False)
    inference: Inference[Any] = field(repr=False)
    cavity: tuple[np.ndarray, np.ndarray] = field(repr=False)
    tilted: Tilted = field(repr=False)
    log_terms: np.ndarray = field(repr=False)
    shape: Shape = field(repr=False)
    retained: np.ndarray = field(repr=False)
    options: Options

    @cached_property
    def prior_variance(self) -> np.ndarray:
        """Prior variances [N] of h."""
        if isinstance(self.prior, Sparse):
            return np.einsum("mn,mn->n", self.prior.V, self.prior.V)
        return np.diagonal(self.prior.K)

    @cached_property
    def sampled(self) -> Sampled:
        """The exact posterior; ValueError where there is no sampler."""
        require_sampled(self.likelihood, self.prior)
        assert isinstance(self.prior, Dense)
        return Sampled.of(self.prior, self.y)

    def __getstate__(self) -> dict[str, Any]:
        """Without the draws, which are made again where they are asked for."""
        return {name: value for name, value in vars(self).items() if name != "sampled"}

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Rows of the posterior correlations of f, zeros on the diagonal: which, and they [rows, N].

        All at once of a dense posterior; through pseudo-points from W [M, N], Cov[h] = W^T W, in blocks of
        `MEMORY` bytes, O(N^2 M) in all.
        """
        n = len(self.y)
        if not isinstance(self.prior, Sparse):
            yield slice(0, n), self._dense_correlations()
            return
        W = self.inference.state.factor @ self.prior.V
        W *= self.retained / np.sqrt(self.inference.state.marginals.variance)
        size = max(1, int(MEMORY / (8.0 * n)))
        for first in range(0, n, size):
            rows = slice(first, min(first + size, n))
            P = W[:, rows].T @ W
            P[np.arange(len(P)), np.arange(n)[rows]] = 0.0
            yield rows, np.clip(P, -1.0, 1.0, out=P)

    def correlations(self) -> np.ndarray:
        """All of them [N, N]."""
        return np.concatenate([P for _, P in self.blocks()])

    def _dense_correlations(self) -> np.ndarray:
        """From B^-1 (``posteriors.dense``) where precisions are positive: S^-1/2 (I - B^-1) S^-1/2."""
        assert isinstance(self.prior, Dense)
        state = self.inference.state
        tau, v = state.sites.tau, state.marginals.variance
        if state.root is None and np.all(tau > 0):
            P, scale = linalg.mirror_lower(linalg.gram_lower(state.factor)), self.retained / np.sqrt(tau * v)
            P *= -scale
        else:
            P, scale = self.prior.covariance(state), self.retained / np.sqrt(v)
            P *= scale
        P *= scale[:, None]
        P.flat[:: len(P) + 1] = 0.0
        return np.clip(P, -1.0, 1.0, out=P)

    @cached_property
    def mirror_odds(self) -> float:
        """log of the mass of -f against that of f where both have the same likelihood, about; else -inf.

        By the evidence with mirrored sites. A posterior with a second lobe at -f is none that corrections of
        one lobe get near to.
        """
        y, f = self.y[:, None], np.array([0.3, 1.0, 4.0])
        if not np.array_equal(self.likelihood.log_likelihood(y, f), self.likelihood.log_likelihood(y, -f)):
            return -np.inf
        state = self.inference.state
        if not np.any(state.sites.nu):
            return 0.0
        mirrored = Sites(state.sites.tau, -state.sites.nu)
        return self.prior.condition(mirrored).log_normaliser - state.log_normaliser

    @cached_property
    def rival_odds(self) -> float:
        """log of the evidence at another fixed point against that here; -inf if none is found.

        Of reals, where a likelihood that is not log-concave may reject some data: EP is started as if only
        these counted. Rejected data that agree with each other are another lobe of the posterior, which no
        tilted distribution of a single one of them shows. Where EP does not converge none is found.
        """
        sites, marginals = self.inference.sites, self.inference.state.marginals
        most = float(np.max(sites.tau))
        rejected = sites.tau < REJECTED * most
        possible = isinstance(self.likelihood, Reals) and not self.likelihood.log_concave and most > 0
        if not (possible and np.any(rejected)):
            return -np.inf
        tau = np.where(rejected, most, 0.0)
        options = replace(self.options, max_sweeps=RIVAL_SWEEPS, fallback=False)
        posterior: Any = self.prior
        try:
            rival = infer(posterior, self.likelihood, self.y, EP, options, Sites(tau, tau * self.y))
        except NotPositiveDefinite:
            return -np.inf
        change = np.abs(rival.state.marginals.mean - marginals.mean)
        if not (rival.status.converged and np.any(change > np.sqrt(marginals.variance + self.prior.extra))):
            return -np.inf
        return rival.log_evidence - self.inference.log_evidence

    @property
    def concern(self) -> str:
        """Return the reason why nothing can be corrected from here, or an empty text."""
        if not self.inference.status.converged:
            return f"EP did not converge ({self.inference.status.message})"
        if self.mirror_odds > OTHER_LOBE:
            return f"the posterior has a second lobe at -f (exp({self.mirror_odds:.2g}) times the mass)"
        if self.rival_odds > OTHER_LOBE:
            mass = f"exp({self.rival_odds:.2g}) times the mass of this one"
            return f"the posterior has another lobe, where data count that this one rejects, of {mass}"
        return ""

    @property
    def lobes(self) -> np.ndarray:
        """Return which tilted distributions [N] have several lobes, by their bimodality coefficients."""
        return (self.shape.skewness**2 + 1.0) / (self.shape.kurtosis + 3.0) > LOBES


class Queries(NamedTuple):
    """Q latents f* and how they go with the data.

    Attributes
    ----------
    cross : array [Q, N]
        Prior covariances with the latents of the data.
    prior_mean, prior_variance : arrays [Q]
    mean, variance : arrays [Q]
        Of EP's posterior.
    covariance : array [Q, N]
        EP's posterior covariances with the latents of the data.
    """

    cross: np.ndarray
    prior_mean: np.ndarray
    prior_variance: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    covariance: np.ndarray

    def select(self, rows: np.ndarray | slice) -> Queries:
        """Some of the latents."""
        return Queries(*(values[rows] for values in self))


def expand(
    prior: Dense | Sparse,
    likelihood: Likelihood,
    y: np.ndarray,
    start: Sites | None = None,
    options: Options | None = None,
) -> Expansion:
    """EP's fixed point, iterated from ``start`` (flat sites by default) to a tolerance of at most 1e-8.

    Parameters
    ----------
    prior : Dense or Sparse
    likelihood : Likelihood
    y : array [N]
    start : Sites, optional
        Of any method; flat sites take over where they give no proper posterior.
    options : Options, optional
        Precisions are not clipped, and the residual is that of the marginals, whatever these say.

    Raises
    ------
    NotPositiveDefinite
        If there is no proper posterior.
    """
    options = options or Options()
    tight = min(options.tolerance, TOLERANCE)
    options = replace(options, stop="marginals", min_precision=-np.inf, tolerance=tight)
    posterior: Any = prior
    try:
        inference = infer(posterior, likelihood, y, EP, options, start)
    except NotPositiveDefinite:
        if start is None:
            raise
        inference = infer(posterior, likelihood, y, EP, options)
    marginals, sites = inference.state.marginals, inference.sites
    m, v = cavity(marginals.mean, marginals.variance, sites.tau, sites.nu)
    proper = np.isfinite(v) & (v > 0)
    m, v = np.where(proper, m, 0.0), np.where(proper, v, 1.0)
    variance = v + prior.extra
    tilted, shape = likelihood.tilted(y, m, variance), shape_of(likelihood, y, m, variance)
    log_terms = tilted.log_z - log_site_integral(m, v, sites.tau, sites.nu)
    share = v / variance
    spread = share**2 * tilted.variance
    retained = np.where(prior.extra > 0, np.sqrt(spread / (spread + (1.0 - share) * v)), 1.0)
    terms = (m, variance), tilted, log_terms, shape, retained
    return Expansion(prior, likelihood, y, inference, *terms, options)


def queries(
    base: Expansion, cross: np.ndarray, prior_mean: float | np.ndarray, prior_variance: float | np.ndarray
) -> Queries:
    """EP's posterior of latents with prior covariances ``cross`` [Q, N] with the data's.

    Of a dense prior; the data's own latents have ``cross`` rows of its covariance matrix.
    """
    assert isinstance(base.prior, Dense)
    state = base.inference.state
    mean, variance = state.predict(cross, prior_variance, prior_mean)
    W = state.inner_precision()
    covariance = cross - (cross @ W) @ base.prior.K
    means, variances = (
        np.broadcast_to(np.asarray(x, dtype=float), mean.shape) for x in (prior_mean, prior_variance)
    )
    return Queries(cross, means, variances, mean, variance, covariance)


def queries_through(base: Expansion, X: np.ndarray) -> Iterator[Queries]:
    """EP's posterior of f at ``X`` [Q, D] through pseudo-points, in parts that fit `MEMORY`.

    A training input's f is one of its own given the pseudo-points, as new data have it. ArithmeticError if a
    variance is lost to rounding.
    """
    assert isinstance(base.prior, Sparse)
    pseudo, prior, state = base.prior.pseudo, base.prior, base.inference.state
    level, W = float(prior.mean[0]), state.factor @ prior.V
    for rows in np.array_split(X, max(1, -(-len(X) * len(base.y) // int(MEMORY / 16.0)))):
        V = pseudo.root @ pseudo.cross(rows)
        means = np.full(len(rows), level)
        mean, variance = prior.predict(state, rows, level)
        covariance = (state.factor @ V).T @ W
        yield Queries(V.T @ prior.V, means, pseudo.kernel.diagonal(rows), mean, variance, covariance)
