"""Gaussians in natural parameters: sites, cavities, marginals.

A site is t_i(f_i) = exp(-tau_i f_i^2 / 2 + nu_i f_i), not normalised; its scale lives in the evidence.
Site precisions may be zero or negative; only the posterior as a whole has to be proper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sites:
    """Natural parameters of N sites: precision ``tau`` [N] and shift ``nu`` [N]."""

    tau: np.ndarray
    nu: np.ndarray

    @classmethod
    def zeros(cls, n: int) -> Sites:
        """Flat sites: the posterior is the prior."""
        return cls(np.zeros(n), np.zeros(n))

    def towards(self, target: Sites, step: float) -> Sites:
        """The damped update (1 - step) * self + step * target."""
        return Sites(self.tau + step * (target.tau - self.tau), self.nu + step * (target.nu - self.nu))

    def replace(self, i: int, tau: float, nu: float) -> Sites:
        """A copy with site ``i`` exchanged."""
        new_tau, new_nu = np.array(self.tau, dtype=float), np.array(self.nu, dtype=float)
        new_tau[i], new_nu[i] = tau, nu
        return Sites(new_tau, new_nu)


FAR = 1e5  # tau m^2 from which a site is expanded about m: its own exponent would cost the evidence digits


def anchors(mean: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Points c [N] about which the exponents of sites are taken: 0, or the posterior ``mean`` far from it.

    exp(-tau h^2 / 2 + nu h) is exp(-tau (h - c)^2 / 2 + (nu - tau c)(h - c)) times a constant, which is
    common to the normaliser of prior times sites and to the local terms, and cancels in the evidence.
    """
    return np.where(np.abs(tau) * mean**2 > FAR, mean, 0.0)


def log_sites(mean: np.ndarray, sites: Sites, c: np.ndarray) -> np.ndarray:
    """Exponents [N] of the sites at ``mean``, taken about ``c`` [N]."""
    apart = mean - c
    return (sites.nu - sites.tau * c) * apart - 0.5 * sites.tau * apart**2


@dataclass(frozen=True)
class Marginals:
    """Input of a rule: mean [N] and variance [N] of h, and the extra variance [N] of f given h.

    Sites act on h; the likelihood on f = h + e with e_i ~ N(0, extra_i). For a dense posterior without
    independent noise ``extra`` is zero and h is f.
    """

    mean: np.ndarray
    variance: np.ndarray
    extra: np.ndarray


def require_positive(variance: np.ndarray) -> np.ndarray:
    """The predictive variances [N*], if all are positive.

    Raises
    ------
    ArithmeticError
        If one is not: the difference of prior and explained variance has lost all its digits.
    """
    if not np.all(variance > 0):
        raise ArithmeticError(
            "a predictive variance is lost to rounding: too small beside the prior variance, as where "
            "targets have no noise, or 0 as a linear kernel's at inputs of 0 (means can be had alone)"
        )
    return variance


def cavity(
    mean: np.ndarray, variance: np.ndarray, tau: np.ndarray, nu: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Divide the sites out of the marginals.

    Parameters
    ----------
    mean, variance : arrays [N]
        Marginals of h.
    tau, nu : arrays [N]
        Their sites.

    Returns
    -------
    cavity_mean, cavity_variance : arrays [N]
        Of q / t_i. Where the cavity is improper (1 - tau v <= 0) the variance comes out infinite or
        negative; callers test ``cavity_variance > 0`` and ``isfinite``.
    """
    remaining = 1.0 - tau * variance
    with np.errstate(divide="ignore", invalid="ignore"):
        return (mean - nu * variance) / remaining, variance / remaining


def log_site_integral(
    cavity_mean: np.ndarray, cavity_variance: np.ndarray, tau: np.ndarray, nu: np.ndarray
) -> np.ndarray:
    """log of the integral of N(h; m, v) exp(-tau h^2 / 2 + nu h) over h, elementwise [N]."""
    scale = 1.0 + tau * cavity_variance
    quadratic = (nu**2 * cavity_variance + 2.0 * nu * cavity_mean - tau * cavity_mean**2) / scale
    return 0.5 * quadratic - 0.5 * np.log(scale)


def gaussians(mean: np.ndarray, covariance: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draw ``number`` vectors [N, number] of a Gaussian with ``mean`` [N] and ``covariance`` [N, N].

    Eigenvalues that rounding put below zero count as zero. ValueError where this would change a variance by
    more than two per cent, or 1e-8 of the largest one.
    """
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    variances = np.diagonal(covariance)
    added = np.abs(np.einsum("ij,ij->i", root, root) - variances)
    if not np.all(added <= 0.02 * variances + 1e-8 * np.max(variances)):
        raise ValueError("the covariance of these rows is lost to rounding: draw fewer at once")
    return mean[:, None] + root @ rng.standard_normal((number, len(mean))).T
