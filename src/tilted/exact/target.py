"""The exact posterior over latents, one a distinct input, and the reference Gaussians it is sampled from.

Elliptical slice sampling [Murray, Adams & MacKay 2010] needs a posterior of the form Gaussian times
likelihood. Any Gaussian will do [Nishihara, Murray & Adams 2014; Fagan, Bhandari & Cunningham 2016]: with
sites t_i and the Gaussian q(f) = p(f) prod_i t_i(f_i) / Z_q,

    p(f) prod_i p(y_i | f_i) = Z_q q(f) exp(R(f)),    R(f) = sum_i log p(y_i | f_i) - log t_i(f_i),

exactly, for the sites of EP, for flat sites (q is the prior, R the log likelihood), and for any other
sites that leave q proper. Sites close to the likelihood make R nearly constant, and the chains mix well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Sites
from tilted.kernels.compound import noise_of
from tilted.numerics import linalg
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood

CONDITION = 1e-4  # smallest to largest pivot for which a precision matrix keeps some 8 digits


@dataclass(frozen=True)
class Target:
    """A latent posterior at fixed hyperparameters. Rows of X that are equal share one latent.

    Not where the kernel has independent noise, of which every row has its own. Latents are in order of
    appearance: without equal rows, latent i belongs to row i.

    Attributes
    ----------
    prior : Dense
        Over the inputs of the U latents.
    likelihood : Likelihood
    y : array [N]
        Observations, ordered by their latent.
    starts : array [U]
        Where the observations of each latent begin in ``y``.
    latent : array [N]
        Latent of each row of the X handed in.
    inputs : array [U, D]
    kernel, mean : of the prior
    """

    prior: Dense = field(repr=False)
    likelihood: Likelihood
    y: np.ndarray = field(repr=False)
    starts: np.ndarray = field(repr=False)
    latent: np.ndarray = field(repr=False)
    inputs: np.ndarray = field(repr=False)
    kernel: Kernel
    mean: float

    @classmethod
    def build(
        cls, kernel: Kernel, X: np.ndarray, y: np.ndarray, likelihood: Likelihood, mean: float = 0.0
    ) -> Target:
        """From inputs ``X`` [N, D] and labels ``y`` [N], fit for ``likelihood`` (ValueError if not)."""
        y = likelihood.check(y)
        inputs, latent = X, np.arange(len(X))
        if not noise_of(kernel):
            inputs, first, latent = np.unique(X, axis=0, return_index=True, return_inverse=True)
            appearance = np.argsort(first)  # latents in the order of the rows, not of the values
            inputs, latent = inputs[appearance], np.argsort(appearance)[latent.ravel()]
        order = np.argsort(latent, kind="stable")
        starts = np.searchsorted(latent[order], np.arange(len(inputs)))
        prior = Dense.build(kernel.matrix(inputs), mean)
        return cls(prior, likelihood, y[order], starts, latent, inputs, kernel, float(mean))

    def __len__(self) -> int:
        return len(self.inputs)

    def log_likelihoods(self, f: np.ndarray) -> np.ndarray:
        """log p(y | f) summed over the observations of each latent, [U, C] for f [U, C]."""
        if len(self.y) == len(f):
            return self.likelihood.log_likelihood(self.y[:, None], f)
        counts = np.diff(np.append(self.starts, len(self.y)))
        terms = self.likelihood.log_likelihood(self.y[:, None], np.repeat(f, counts, axis=0))
        return np.add.reduceat(terms, self.starts, axis=0)

    def log_likelihoods_of(self, u: int, f: np.ndarray) -> np.ndarray:
        """Return log likelihoods [C] of one latent."""
        end = self.starts[u + 1] if u + 1 < len(self.starts) else len(self.y)
        labels = self.y[self.starts[u] : end]
        if len(labels) == 1:
            return self.likelihood.log_likelihood(labels[0], f)
        return self.likelihood.log_likelihood(labels[:, None], f).sum(axis=0)

    def merge(self, sites: Sites) -> Sites:
        """Sites of the N rows of X as sites of the U latents."""
        n = len(self)
        return Sites(np.bincount(self.latent, sites.tau, n), np.bincount(self.latent, sites.nu, n))


@dataclass(frozen=True)
class Reference:
    """The target as N(f; mean, covariance) exp(residual(f)) exp(log_normaliser).

    Functions take deviations D = f - mean, [U, C]: a column is one chain.

    Attributes
    ----------
    target : Target
    sites : Sites
        Of the U latents.
    mean, variance : arrays [U]
    root : array [U, R]
        Root of the covariance.
    precision : array [U, U] or None
        Its inverse; None where it is singular to rounding.
    log_normaliser : float
        log Z_q.
    """

    target: Target
    sites: Sites = field(repr=False)
    mean: np.ndarray = field(repr=False)
    variance: np.ndarray = field(repr=False)
    root: np.ndarray = field(repr=False)
    precision: np.ndarray | None = field(repr=False)
    log_normaliser: float

    @classmethod
    def build(cls, target: Target, sites: Sites | None = None, fraction: float = 1.0) -> Reference:
        """The reference with ``sites`` on the N rows of X, such as an inference's; the prior without.

        Sites are raised to the power ``fraction``. Below 1 the reference is wider than the inference's
        posterior: where labels are separable, posteriors have heavier tails than EP's Gaussian, and
        chains would stay long in tails that the reference hardly visits.

        Raises
        ------
        NotPositiveDefinite
            If prior times sites is no proper Gaussian.
        """
        merged = Sites.zeros(len(target))
        if sites is not None:
            merged = merged.towards(target.merge(sites), fraction)
        state = target.prior.condition(merged)
        covariance = target.prior.covariance(state)
        variance = np.diagonal(covariance).copy()
        if not np.all(variance > 0):
            raise NotPositiveDefinite("reference covariance", 0, len(variance))
        root, pivots = linalg.pivoted_cholesky(covariance)
        precision, pivot = None, np.diagonal(root[pivots])
        if len(pivots) == len(target) and pivot[-1] > CONDITION * pivot[0]:
            precision = linalg.inverse_from_cholesky(linalg.cholesky(covariance, "reference covariance"))
        return cls(target, merged, state.marginals.mean, variance, root, precision, state.log_normaliser)

    def draw(self, rng: np.random.Generator, chains: int) -> np.ndarray:
        """Independent deviations from the reference, [U, C]."""
        return self.root @ rng.standard_normal((self.root.shape[1], chains))

    def residuals(self, D: np.ndarray) -> np.ndarray:
        """R of each latent, [U, C]."""
        f = self.mean[:, None] + D
        tau, nu = self.sites.tau[:, None], self.sites.nu[:, None]
        return self.target.log_likelihoods(f) + (0.5 * tau * f - nu) * f

    def residual_of(self, u: int, d: np.ndarray) -> np.ndarray:
        """R of latent ``u`` at its deviations ``d`` [C], [C]."""
        f = self.mean[u] + d
        return self.target.log_likelihoods_of(u, f) + (0.5 * self.sites.tau[u] * f - self.sites.nu[u]) * f

    def independence(self) -> float:
        """Median over latents of sd given all others / marginal sd, 0 to 1; 0 without a precision."""
        if self.precision is None:
            return 0.0
        return float(np.median(1.0 / np.sqrt(np.diagonal(self.precision) * self.variance)))


@dataclass(frozen=True)
class Conditional:
    """Latents at other inputs given f, exactly: N(mean + weights (f - prior mean), variance).

    Attributes
    ----------
    weights : array [N*, U]
    variance : array [N*]
    floored : int
        How many variances rounding had put below the floor of 1e-12 of the prior variance.
    """

    weights: np.ndarray = field(repr=False)
    variance: np.ndarray = field(repr=False)
    floored: int

    @classmethod
    def build(cls, target: Target, X: np.ndarray) -> Conditional:
        """At the rows of ``X`` [N*, D]. Pivots stand for all latents where the prior is singular."""
        root, pivots = linalg.pivoted_cholesky(target.prior.K)
        corner = np.asfortranarray(root[pivots])
        cross = target.kernel.matrix(target.inputs[pivots], X)
        half = linalg.solve_lower(corner, cross)
        weights = np.zeros((len(X), len(target)))
        weights[:, pivots] = linalg.solve_lower(corner, half, transpose=True).T
        prior = target.kernel.diagonal(X)
        variance, floor = prior - np.einsum("rn,rn->n", half, half), 1e-12 * prior
        return cls(weights, np.maximum(variance, floor), int(np.sum(variance < floor)))
