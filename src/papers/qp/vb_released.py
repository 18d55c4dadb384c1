"""Predictions and scores of the released code under VB (docs/paper-qp.md).

Its variational inference hands m = K alpha, Sigma = B^-1 (I - A^-1) B^-1 and K to GPy's posterior object.
This goes back through the inverse of K, from a plain Cholesky factor. Jitter is added only where the
factorisation fails:

    w = K^-1 m,  W = K^-1 (K - Sigma) K^-1,  mean k*^T w,  variance k** - k*^T W k*, at least 1e-15.

If K is singular to rounding and is factorised nevertheless, W is noise. Variances come out negative and are
set to 1e-15, and the integral of the likelihood over a Gaussian that narrow may be 0. The logarithm of 0 is
scored as -1, and a probability of 0 is an error. Squared distances are summed as GPy sums them, since their
rounding decides the result for a singular K.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.linalg
from scipy.integrate import quad
from scipy.linalg import lapack
from scipy.special import ndtr

from tilted.numerics import linalg
from tilted.numerics.linalg import NotPositiveDefinite

if TYPE_CHECKING:
    from tilted.inference.vb_joint import JointFit
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood

SMALLEST = 1e-15
"""Least predictive variance."""

FLOOR = 1e-9
"""Least probability of a label inside the integral."""

NO_DENSITY = -1.0
"""Score of a density of 0."""

FIRST_JITTER, TRIES = 1e-6, 5
"""First jitter, relative to the mean of the diagonal, and how many are tried, each ten times the last."""


class Prediction(NamedTuple):
    """Latent predictions, with the clipping and the jitter that they needed.

    Attributes
    ----------
    mean, variance : arrays [N*]
    clipped : int
        Variances set to `SMALLEST`.
    tries : int
        Amounts of jitter tried; 0 where K was factorised as it is.
    jitter : float
        Amount added to K's diagonal.
    """

    mean: np.ndarray
    variance: np.ndarray
    clipped: int
    tries: int
    jitter: float


def predict(fit: JointFit, X: np.ndarray) -> Prediction:
    """Return latent mean and variance at the rows of ``X`` [N*, D], through the inverse of K.

    Raises
    ------
    NotPositiveDefinite
        K cannot be factorised, whatever jitter was tried, or I + B K B cannot.
    ValueError
        The kernel is not isotropic.
    """
    K, cross = _matrix(fit.kernel, fit.X), _matrix(fit.kernel, fit.X, X)
    A = fit.beta[:, None] * K * fit.beta
    A.flat[:: len(A) + 1] += 1.0
    inverse = linalg.inverse_from_cholesky(linalg.cholesky(A, "I + B K B"))
    covariance = np.diag(fit.beta**-2) - inverse / fit.beta[:, None] / fit.beta
    C, tries, jitter = factor_with_jitter(K)
    w = lapack.dpotrs(C, K @ fit.alpha, lower=1)[0]
    half = lapack.dpotrs(C, K - covariance, lower=1)[0]
    W = lapack.dpotrs(C, half.T, lower=1)[0]
    variance = fit.kernel.diagonal(X) - np.sum((W.T @ cross) * cross, axis=0)
    clipped = int(np.sum(variance < SMALLEST))
    return Prediction(cross.T @ w, np.maximum(variance, SMALLEST), clipped, tries, jitter)


def factor_with_jitter(K: np.ndarray) -> tuple[np.ndarray, int, float]:
    """Return the lower Cholesky factor [N, N] of K, the number of jitters tried, and the jitter added.

    Raises
    ------
    NotPositiveDefinite
        After the last try.
    """
    C, info = lapack.dpotrf(K, lower=1)
    if info == 0:
        return C, 0, 0.0
    jitter = FIRST_JITTER * float(np.mean(np.diagonal(K)))
    for tries in range(1, TRIES + 1):
        try:
            return scipy.linalg.cholesky(K + jitter * np.eye(len(K)), lower=True), tries, jitter
        except scipy.linalg.LinAlgError:
            jitter *= 10.0
    raise NotPositiveDefinite("K with jitter", info, len(K))


def _matrix(kernel: Kernel, X: np.ndarray, X2: np.ndarray | None = None) -> np.ndarray:
    """Return covariances [N, N2] by GPy's arithmetic: squares expanded, not centred, clipped at 0."""
    variance, scale = kernel.parameters()  # ValueError for more lengthscales, which that code has not
    squares = np.sum(X**2, axis=1)
    squares2 = squares if X2 is None else np.sum(X2**2, axis=1)
    squared = -2.0 * (X @ (X if X2 is None else X2).T) + (squares[:, None] + squares2)
    if X2 is None:
        np.fill_diagonal(squared, 0.0)
    return variance * np.exp(-0.5 * (np.sqrt(np.maximum(squared, 0.0)) / scale) ** 2)


def densities(likelihood: Likelihood, y: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Integrate p(y | f) N(f; mean, variance) df [N*] by scipy's quad, which may miss a narrow Gaussian."""
    log_likelihood = LOG_LIKELIHOODS[likelihood.name]

    def density(label: float, m: float, v: float) -> float:
        scale = 0.5 * math.log(2.0 * math.pi * v)

        def integrand(f: float) -> float:
            return math.exp(log_likelihood(label, f) - scale - 0.5 * (f - m) ** 2 / v)

        return quad(integrand, -math.inf, math.inf, full_output=True)[0]  # in full, its warnings stay inside

    points = zip(y.tolist(), mean.tolist(), variance.tolist(), strict=True)
    return np.array([density(*point) for point in points])


def _log_probit(label: float, f: float) -> float:
    right = ndtr(f)
    return math.log(max(right if label > 0 else 1.0 - right, FLOOR))


def _log_poisson(count: float, f: float) -> float:
    if f == 0.0:
        return 0.0 if count == 0 else -math.inf
    return count * math.log(f * f) - f * f - math.lgamma(count + 1.0)


LOG_LIKELIHOODS: dict[str, Callable[[float, float], float]] = {
    "probit": _log_probit,
    "poisson-square": _log_poisson,
}


def scores(likelihood: Likelihood, y: np.ndarray, predicted: Prediction) -> tuple[np.ndarray, np.ndarray]:
    """Return log densities and errors [N*] as the released code counts them.

    A label is wrong if its probability is below one half, which includes 0. Counts are compared with the
    predicted count, whatever the density.
    """
    mean, variance = predicted.mean, predicted.variance
    density = densities(likelihood, y, mean, variance)
    positive = density > 0.0
    logs = np.where(positive, np.log(np.where(positive, density, 1.0)), NO_DENSITY)
    labels = likelihood.name == "probit"
    return logs, (density < 0.5).astype(float) if labels else likelihood.errors(y, mean, variance)
