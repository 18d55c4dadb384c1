"""Joint variational optimisation as the QP paper's code does it (outside the engine).

The posterior is m = K alpha, Sigma = (K^-1 + diag(beta^2))^-1 [Opper & Archambeau 2009]; alpha, beta and
the softplus-transformed kernel parameters are optimised together by L-BFGS-B from alpha = 0, beta = 1,
with at most 1000 evaluations. With A = I + diag(beta) K diag(beta) and T_ij = beta_i (A^-1)_ij / beta_j,
the expected log likelihood has the derivative alpha dm^T + T diag(dv) T^T in K.

The released code scales rows instead of columns and computes alpha dm^T + diag(dv) T T^T, and its second
derivative of the squared link is 2|f| instead of 2: ``released=True`` replays both, because the printed
column depends on them (the search stops early). ``released=False`` has the right gradient. Neither need
reach the optimum of the ELBO; the rule in ``vb`` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln, ndtr

from tilted.gaussian import require_positive
from tilted.inference.result import Status
from tilted.numerics import linalg
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.numerics.optimise import TRANSFORMS, lbfgs
from tilted.numerics.quadrature import gauss_hermite

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.kernels.contract import Kernel

    Terms = Callable[[np.ndarray, np.ndarray, np.ndarray, bool], tuple[np.ndarray, np.ndarray, np.ndarray]]

NODES = 20
CLIP = 1e-9
FACTR, PGTOL = 1e7 * 2.220446049250313e-16, 1e-5  # of the released code's L-BFGS-B
SQRT_2PI = np.sqrt(2.0 * np.pi)


@dataclass(frozen=True)
class JointFit:
    """Result of :func:`fit`: kernel, variational parameters, ELBO and status."""

    kernel: Kernel
    alpha: np.ndarray = field(repr=False)
    beta: np.ndarray = field(repr=False)
    X: np.ndarray = field(repr=False)
    log_evidence: float
    status: Status

    def predict_latent(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Latent mean and variance [N*] at the rows of ``X`` [N*, D]; ArithmeticError if one is lost."""
        cross = self.kernel.matrix(X, self.X)
        B = self.beta[:, None] * self.kernel.matrix(self.X) * self.beta
        L = linalg.cholesky(np.eye(len(B)) + B, "I + B K B")
        half = linalg.solve_lower(L, self.beta[:, None] * cross.T)
        variance = self.kernel.diagonal(X) - np.einsum("ij,ij->j", half, half)
        return cross @ self.alpha, require_positive(variance)


def probit_terms(
    y: np.ndarray, m: np.ndarray, v: np.ndarray, released_link: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E[log Phi(y f)] and its derivatives [N] by 20 Gauss-Hermite nodes, Phi clipped at 1e-9."""
    x, w = gauss_hermite(NODES)
    u = (y * m)[:, None] + np.sqrt(v)[:, None] * x
    p = np.clip(ndtr(u), CLIP, 1.0 - CLIP)
    ratio = np.exp(-0.5 * u**2) / SQRT_2PI / p
    return np.log(p) @ w, y * (ratio @ w), -0.5 * ((ratio**2 + ratio * u) @ w)


def poisson_terms(
    y: np.ndarray, m: np.ndarray, v: np.ndarray, released_link: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E[log Poisson(y; f^2)] and its derivatives [N] by 20 Gauss-Hermite nodes.

    E[d^2 log p / df^2] does not exist, and the released code's link curvature 2|f| is wrong besides; the
    right derivative in v is that of the quadrature sum itself.
    """
    x, w = gauss_hermite(NODES)
    sd = np.sqrt(v)[:, None]
    f = m[:, None] + sd * x
    rate, counts = f**2, y[:, None]
    by_rate = counts / rate - 1.0
    by_f = by_rate * 2.0 * f
    value = counts * np.log(rate) - rate - gammaln(counts + 1.0)
    if released_link:
        by_variance = 0.5 * (-4.0 * counts / rate + by_rate * 2.0 * np.abs(f))
    else:
        by_variance = by_f * x / (2.0 * sd)
    return value @ w, by_f @ w, by_variance @ w


TERMS = {"probit": probit_terms, "poisson-square": poisson_terms}


def elbo_and_gradient(
    X: np.ndarray,
    y: np.ndarray,
    kernel: Kernel,
    alpha: np.ndarray,
    beta: np.ndarray,
    terms: Terms,
    released: bool,
    released_link: bool | None = None,
    distances: np.ndarray | None = None,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """ELBO, and its gradients in alpha [N], beta [N] and the kernel's parameters.

    With B = diag(beta) and A = I + B K B the posterior covariance is B^-1 (I - A^-1) B^-1. Products of a
    matrix with its own transpose cost half of others. ``distances`` may be the kernel's at ``X``, which a
    search has in common.

    Raises
    ------
    NotPositiveDefinite
        If I + diag(beta) K diag(beta) cannot be factored, or a variance is lost to rounding (small beta).
    """
    K = kernel.matrix(X, distances=distances)
    m = K @ alpha
    A = beta[:, None] * K * beta
    A.flat[:: len(A) + 1] += 1.0
    L = linalg.cholesky(A, "I + B K B")
    factor = linalg.inverse_lower(L)
    inverse = linalg.mirror_lower(linalg.gram_lower(factor))
    diagonal, precision = np.diagonal(inverse), beta**2
    variance = (1.0 - diagonal) / precision
    if not np.all(variance > 0):
        raise NotPositiveDefinite("Sigma", int(np.argmin(variance)), len(y))
    link = released if released_link is None else released_link
    value, d_mean, d_variance = terms(y, m, variance, link)
    kl = 0.5 * (linalg.log_determinant(L) + np.sum(diagonal) - len(y) + m @ alpha)
    by_alpha = K @ d_mean - m
    square = inverse @ inverse.T
    # sum_i d_i Sigma_ij^2, and diag(B K (A^-1 - A^-2))_j
    spread = (d_variance / precision) @ inverse**2 / precision
    spread += d_variance * (variance**2 - (diagonal / precision) ** 2)
    by_beta = -2.0 * beta * spread - (1.0 - 2.0 * diagonal + np.diagonal(square)) / beta
    half = inverse / beta
    G = d_variance[:, None] * (half @ half.T) if released else (half * d_variance) @ half.T
    square -= inverse
    square *= 0.5
    G += square
    G *= beta[:, None]
    G *= beta
    G += np.multiply.outer(alpha, d_mean - 0.5 * alpha)
    by_kernel = kernel.contract_gradient(X, K, G, distances)
    return float(np.sum(value) - kl), by_alpha, by_beta, by_kernel


def fit(
    X: np.ndarray,
    y: np.ndarray,
    likelihood_name: str,
    kernel: Kernel,
    released: bool = True,
    max_evaluations: int = 1000,
    alpha: float = 0.0,
    released_link: bool | None = None,
    relative_tolerance: float = FACTR,
    gradient_tolerance: float = PGTOL,
) -> JointFit:
    """Optimise alpha, beta and the kernel's parameters jointly.

    Parameters
    ----------
    X : array [N, D]
    y : array [N]
        Checked labels or counts.
    likelihood_name : "probit" or "poisson-square"
    kernel : SquaredExponential
        Starting point.
    released : bool
        Replay the released code's wrong gradient in the kernel and, for counts, of the link.
    max_evaluations : int
        Limit on iterations and evaluations.
    alpha : float
        Start of every alpha_i; 0 is a symmetric stationary point for the squared link.
    released_link : bool, optional
        Replay the wrong second derivative of the squared link; as ``released`` by default.
    relative_tolerance, gradient_tolerance : float
        Of L-BFGS-B; the released code's by default.

    Returns
    -------
    JointFit
        The search's last point. ``status.converged`` says whether L-BFGS-B met its tolerance (with the
        released gradient that is no sign of an optimum).

    Raises
    ------
    ArithmeticError
        If the bound could not be evaluated anywhere.
    """
    terms, n, softplus = TERMS[likelihood_name], len(y), TRANSFORMS["softplus"]
    distances = kernel.distances(X)
    failures: list[str] = []

    def unpack(x: np.ndarray) -> tuple[Kernel, np.ndarray, np.ndarray]:
        parameters = softplus.forward(x[2 * n :])
        return kernel.with_parameters(parameters), x[:n], x[n : 2 * n]

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                value, *gradient = elbo_and_gradient(
                    X, y, *unpack(x), terms, released, released_link, distances
                )
        except (ArithmeticError, ValueError) as error:
            failures.append(str(error))
            return np.inf, np.zeros_like(x)
        gradient[2] = gradient[2] * softplus.slope(x[2 * n :])
        return -value, -np.concatenate(gradient)

    start = softplus.inverse(kernel.parameters())
    x0 = np.concatenate([np.full(n, alpha), np.ones(n), start])
    outcome = lbfgs(objective, x0, max_evaluations, relative_tolerance, gradient_tolerance)
    if not np.isfinite(outcome.value):
        raise ArithmeticError(f"no point of the search could be evaluated ({failures[0]})")
    at, final_alpha, final_beta = unpack(outcome.x)
    message = outcome.message
    if failures:
        message += f"; {len(failures)} evaluations failed ({failures[0]})"
    status = Status(
        converged=outcome.success,
        sweeps=0,
        evaluations=outcome.evaluations,
        residual=float(np.max(np.abs(outcome.gradient))),
        message=message,
    )
    return JointFit(at, final_alpha, final_beta, X, -outcome.value, status)
