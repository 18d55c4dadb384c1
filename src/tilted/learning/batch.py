"""Sums of a batch of rows at a posterior through pseudo-points, its sites updated once (`passes`)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Marginals, Sites, anchors, log_sites
from tilted.inference.rule import Update, weighted
from tilted.likelihoods.contract import has_additive_noise
from tilted.numerics import linalg
from tilted.numerics.chunks import in_chunks

if TYPE_CHECKING:
    from tilted.inference.rule import Rule
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.pseudo import PseudoPoints


@dataclass(frozen=True)
class Sums:
    """Sums over rows.

    Attributes
    ----------
    precision, shift : arrays [M, M], [M]
        The two sums.
    local : float
        Local parts of the log evidence and the sites' exponents at the posterior's mean, both about
        `gaussian.anchors` and before the update.
    rows, skipped, negative, floored : int
        Rows; sites left as they were; those with negative precision; conditional variances that rounding had
        put below zero.
    """

    precision: np.ndarray = field(repr=False)
    shift: np.ndarray = field(repr=False)
    local: float = 0.0
    rows: int = 0
    skipped: int = 0
    negative: int = 0
    floored: int = 0

    def plus(self, second: Sums) -> Sums:
        """Return the sums of both."""
        return Sums(*(a + b for a, b in zip(vars(self).values(), vars(second).values(), strict=True)))

    def part_of_the_way(self, old: Sums, share: float) -> Sums:
        """The sums, linear in the sites, where these go that share of their way from those of ``old``."""
        if share == 1.0:
            return self
        if share == 0.0:  # whatever numbers these are
            return replace(self, precision=old.precision, shift=old.shift)
        precision = old.precision + share * (self.precision - old.precision)
        return replace(self, precision=precision, shift=old.shift + share * (self.shift - old.shift))


@dataclass(frozen=True)
class Model:
    """The constants of all passes.

    Attributes
    ----------
    pseudo : PseudoPoints
    likelihood : Likelihood
    rule : Rule
        Without weights.
    mean : float
        Prior mean.
    """

    pseudo: PseudoPoints
    likelihood: Likelihood
    rule: Rule
    mean: float


def updated(
    model: Model,
    factor: np.ndarray,
    projected: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    tau: np.ndarray,
    nu: np.ndarray,
    weights: np.ndarray | None,
    step: float,
) -> tuple[Sums, Sites]:
    """Return the sums of a batch of rows at a posterior, and its sites, updated once.

    Parameters
    ----------
    model : Model
    factor, projected : arrays [M, M], [M]
        Of the posterior (`moves.Posterior`).
    X, y, tau, nu : arrays [n, D], [n], [n], [n]
        Rows and their sites.
    weights : array [n], optional
    step : float
        How much of the way to its new site each goes; 0 leaves them.
    """
    chunks = [
        _piece(
            model,
            factor,
            projected,
            X[some],
            y[some],
            Sites(tau[some], nu[some]),
            None if weights is None else weights[some],
            step,
        )
        for some in in_chunks(np.arange(len(y)))
    ]
    taus, nus = zip(*((sites.tau, sites.nu) for _, sites in chunks), strict=True)
    sums = reduce(Sums.plus, (each for each, _ in chunks))
    return sums, Sites(np.concatenate(taus), np.concatenate(nus))


def summed(model: Model, X: np.ndarray, tau: np.ndarray, nu: np.ndarray) -> Sums:
    """Return the sums of rows ``X`` [n, D] with sites ``tau`` and ``nu`` [n], without the rule."""
    M = len(model.pseudo.Z)
    total = Sums(np.zeros((M, M)), np.zeros(M), rows=len(tau))
    for some in in_chunks(np.arange(len(tau))):
        V = model.pseudo.root @ model.pseudo.cross(np.ascontiguousarray(X[some], dtype=float))
        shift = V @ (nu[some] - tau[some] * model.mean)
        total = total.plus(Sums((V * tau[some]) @ V.T, shift))
    return total


def factorised(precision: np.ndarray) -> tuple[np.ndarray, float]:
    """L^-1 [M, M] with L L^T = I + ``precision`` [M, M], and log det of that.

    Raises
    ------
    NotPositiveDefinite
        If that is no precision of a proper Gaussian.
    """
    L = linalg.cholesky(precision + np.eye(len(precision)), "I + sum of tau v v^T")
    return linalg.inverse_lower(L), linalg.log_determinant(L)


def marginals_of(
    factor: np.ndarray, projected: np.ndarray, mean: float, V: np.ndarray, extra: np.ndarray
) -> Marginals:
    """Return the marginals of rows n with v [M, n] and ``extra`` [n] at a posterior (`moves.Posterior`)."""
    W = factor @ V
    return Marginals(mean + projected @ W, np.einsum("mn,mn->n", W, W), extra)


def _piece(
    model: Model,
    factor: np.ndarray,
    projected: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    old: Sites,
    weights: np.ndarray | None,
    step: float,
) -> tuple[Sums, Sites]:
    X = np.ascontiguousarray(X, dtype=float)
    if has_additive_noise(model.likelihood):  # the same in differences, which keep their digits
        y, model = y - model.mean, replace(model, mean=0.0)
    V = model.pseudo.root @ model.pseudo.cross(X)
    extra, floored = model.pseudo.left_over(X, V)
    marginals = marginals_of(factor, projected, model.mean, V, extra)
    update = _update(model, marginals, old, y, weights)
    usable = np.isfinite(update.sites.tau) & np.isfinite(update.sites.nu)
    tau = old.tau + step * np.where(usable, update.sites.tau - old.tau, 0.0)
    nu = old.nu + step * np.where(usable, update.sites.nu - old.nu, 0.0)
    c = anchors(marginals.mean, old.tau)
    local = float(np.sum(update.log_terms + log_sites(marginals.mean, old, c)))
    counts = len(y), update.skipped + int(np.sum(~usable)), int(np.sum(tau < 0)), floored
    return Sums((V * tau) @ V.T, V @ (nu - tau * model.mean), local, *counts), Sites(tau, nu)


def _update(
    model: Model, marginals: Marginals, old: Sites, y: np.ndarray, weights: np.ndarray | None
) -> Update:
    """The rule's; where f has no prior variance, a row tells its likelihood alone, and has a flat site."""
    determined = marginals.variance + marginals.extra <= 0
    if not np.any(determined):
        return weighted(model.rule, weights).update(marginals, old, model.likelihood, y)
    n, unknown = len(y), np.flatnonzero(~determined)
    power = np.ones(n) if weights is None else weights
    tau, nu, by_extra = np.zeros((3, n))
    log_terms = power * model.likelihood.log_likelihood(y, marginals.mean)
    if not len(unknown):
        return Update(Sites(tau, nu), log_terms, by_extra)
    rule = weighted(model.rule, None if weights is None else weights[unknown])
    some = Marginals(marginals.mean[unknown], marginals.variance[unknown], marginals.extra[unknown])
    update = rule.update(some, Sites(old.tau[unknown], old.nu[unknown]), model.likelihood, y[unknown])
    tau[unknown], nu[unknown] = update.sites.tau, update.sites.nu
    log_terms[unknown], by_extra[unknown] = update.log_terms, update.by_extra
    return Update(Sites(tau, nu), log_terms, by_extra, update.skipped)
