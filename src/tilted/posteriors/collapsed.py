"""Power EP for regression with M pseudo-points, in closed form [Bui et al. 2017, sections 3.5-3.7].

With Gaussian noise the fixed point of Power EP is known: the evidence it maximises is

    log N(y; 0, Q + C) - sum_n (1 - alpha_n) / (2 alpha_n) log(1 + alpha_n D_n / noise),

Q = Kfu Kuu^-1 Kuf, D = diag(K - Q), C = noise I + alpha D (the paper's section 3.7 prints the second term
with the wrong sign). alpha = 1 is FITC; alpha = 0 is the limit, the variational bound (VFE), where the sum is
tr D / (2 noise). Everything costs O(N M^2) time and O(N M) memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.linalg.blas import dger, dsyrk

from tilted.numerics import linalg
from tilted.posteriors.pseudo import PseudoPoints, check_jitter

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

SMALLEST_NOISE = 1e-100
LOST = 1e-7  # of the noise: how far rounding may take K - Q below zero


@dataclass(frozen=True)
class Regression:
    """Data, noise and powers of a sparse regression.

    Parameters
    ----------
    X : array [N, D]
    y : array [N]
        With zero prior mean.
    alpha : float or array
        Power in [0, 1]: one for all, or one a datum.
    jitter : float
        Added to the diagonal of Kuu, in units of its mean; part of the model.
    weights : array [N], optional
        Powers w of the data's likelihood factors, whole ones as good as repeated rows. N(y; f, noise)^w is
        N(y; f, noise / w) times a constant, and the power of Power EP is that of its `shares`.

    Raises
    ------
    ValueError
        For weights that are not positive, a power outside [0, 1], and shapes that do not fit.
    """

    X: np.ndarray
    y: np.ndarray
    alpha: float | np.ndarray = 1.0
    jitter: float = 0.0
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        n = len(self.y)
        check_data(self.X, self.y)
        alpha = np.asarray(self.alpha, dtype=float)
        if alpha.shape not in ((), (n,)):
            raise ValueError(f"alpha is one number or one for each of {n} data, got shape {alpha.shape}")
        if not np.all((alpha >= 0) & (alpha <= 1)):
            raise ValueError("powers lie between 0 (variational) and 1 (EP)")
        check_jitter(self.jitter)
        if self.weights is not None and not (np.shape(self.weights) == (n,) and np.all(self.weights > 0)):
            raise ValueError("weights are positive, one a datum")
        object.__setattr__(self, "alpha", np.broadcast_to(alpha, n))

    def of_rows(self, rows: np.ndarray) -> Self:
        """Return the problem of some rows."""
        alpha = np.asarray(self.alpha)[rows]
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], alpha=alpha, weights=weights)

    @property
    def shares(self) -> np.ndarray:
        """The power of a site that makes a cavity: ``alpha``, or alpha / max(1, w) for weights w."""
        alpha = np.asarray(self.alpha)
        return alpha if self.weights is None else alpha / np.maximum(self.weights, 1.0)

    def noises(self, noise: float) -> float | np.ndarray:
        """The noise variance of the data, [N] where they have weights."""
        return noise if self.weights is None else noise / self.weights

    def constant(self, noise: float) -> float:
        """sum_n log N(y; f, noise)^w - log N(y; f, noise / w), of any y and f; 0 without weights."""
        if self.weights is None:
            return 0.0
        w = self.weights
        return 0.5 * float(np.sum((1.0 - w) * np.log(2.0 * np.pi * noise) - np.log(w)))

    def evaluate(self, kernel: Kernel, Z: np.ndarray, noise: float) -> tuple[Collapsed, Gradient]:
        """`energy_and_gradient` with pseudo-inputs ``Z`` [M, D]."""
        return energy_and_gradient(self, kernel, Z, noise)


def check_data(X: np.ndarray, y: np.ndarray) -> None:
    """ValueError if inputs [N, D] and targets [N] do not fit or are not finite."""
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or len(y) == 0:
        raise ValueError(f"X [N, D] and y [N] do not fit: {X.shape} and {y.shape}")
    if not (np.all(np.isfinite(X)) and np.all(np.isfinite(y))):
        raise ValueError("X and y must be finite")


def check_noise(noise: float) -> None:
    """ValueError if a noise variance is not positive, or so small that dividing by it may overflow."""
    if not (np.isfinite(noise) and noise > SMALLEST_NOISE):
        raise ValueError(f"the noise variance must be positive (above {SMALLEST_NOISE:g}), got {noise}")


@dataclass(frozen=True)
class Gradient:
    """Derivatives of the energy in the kernel's parameters [P], the noise and the pseudo-inputs [M, D]."""

    kernel: np.ndarray
    noise: float
    Z: np.ndarray


@dataclass(frozen=True)
class Collapsed:
    """The posterior over the pseudo-points' values, conditioned on the data.

    Attributes
    ----------
    log_evidence : float
        The energy of Power EP, which the hyperparameters maximise.
    pseudo : PseudoPoints
    noise : float
    factor, projected : arrays [M, M], [M]
        LB^-1 and LB^-1 S L^-1 y (`condition`).
    """

    log_evidence: float
    pseudo: PseudoPoints
    noise: float
    factor: np.ndarray = field(repr=False)
    projected: np.ndarray = field(repr=False)

    @property
    def kernel(self) -> Kernel:
        """Kernel of f."""
        return self.pseudo.kernel

    @property
    def Z(self) -> np.ndarray:
        """Pseudo-inputs [M, D]."""
        return self.pseudo.Z

    @property
    def jitter(self) -> float:
        """The jitter on the diagonal of Kuu."""
        return self.pseudo.jitter

    def predict(self, Xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of f at ``Xs`` [N*, D], without noise, O(M^2) a point.

        Raises
        ------
        ArithmeticError
            If a variance is lost to rounding.
        """
        return self.pseudo.predict(self.factor, self.projected, Xs)


class Diagonal:
    """C = noise / weights + alpha D, with D = diag(K - Q); arrays [N]."""

    def __init__(
        self,
        X: np.ndarray,
        alpha: np.ndarray,
        kernel: Kernel,
        V: np.ndarray,
        noise: float,
        weights: np.ndarray | None = None,
    ):
        self.X, self.alpha, self.weights = X, alpha, 1.0 if weights is None else weights
        self.noise = noise / self.weights
        self.D = kernel.diagonal(X) - np.einsum("mn,mn->n", V, V)
        _require_sign(self.D, noise)
        self.C = self.noise + self.alpha * self.D
        self.L = np.sqrt(self.C)

    @property
    def log_det(self) -> float:
        """The log determinant of C."""
        return float(np.sum(np.log(self.C)))

    @property
    def penalty(self) -> float:
        """sum_n (1 - alpha) / (2 alpha) log(1 + alpha D / noise), D / (2 noise) at alpha = 0."""
        x = self.D / self.noise
        return 0.5 * float(np.sum((1.0 - self.alpha) * _log1p_over(self.alpha, x)))

    def slopes(
        self, kernel: Kernel, V: np.ndarray, weights: np.ndarray, S: np.ndarray, BS: np.ndarray
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Derivative of the energy in the noise, 2 V dE/dD [M, N] at fixed Q, and that through K in D [P]."""
        by_C = 0.5 * (weights**2 - (1.0 - np.einsum("mn,mn->n", S, BS)) / self.C)
        by_D = self.alpha * by_C - 0.5 * (1.0 - self.alpha) / self.C
        by_each = by_C + 0.5 * (1.0 - self.alpha) * self.D / (self.noise * self.C)
        by_noise = float(np.sum(by_each / self.weights))
        return by_noise, V * (2.0 * by_D), kernel.contract_diagonal(self.X, by_D)[0]


def _require_sign(D: np.ndarray, noise: float) -> None:
    """NotPositiveDefinite if eigenvalues of K - Q are below zero by an amount that the energy would show."""
    if not np.all(-LOST * noise <= D):
        raise linalg.NotPositiveDefinite("K - Q (allow jitter)", int(np.argmin(D)) + 1, len(D))


def _log1p_over(alpha: np.ndarray, x: np.ndarray) -> np.ndarray:
    """log(1 + alpha x) / alpha, and its limit x at alpha = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(alpha > 0, np.log1p(alpha * x) / alpha, x)


def condition(problem: Regression, kernel: Kernel, Z: np.ndarray, noise: float) -> Collapsed:
    """The posterior and its energy.

    Parameters
    ----------
    problem : Regression
    kernel : SquaredExponential or another kernel
    Z : array [M, D]
        Pseudo-inputs.
    noise : float
        Noise variance, in units of y squared.

    Raises
    ------
    NotPositiveDefinite
        If Kuu is singular (pseudo-inputs that coincide: move them, or allow jitter), or K - Q has lost its
        sign to rounding (the same).
    ValueError
        For a noise variance that is not positive, or so small that there is no finite energy; and without
        pseudo-inputs.
    """
    return _condition(problem, kernel, Z, noise)[0]


def energy_and_gradient(
    problem: Regression, kernel: Kernel, Z: np.ndarray, noise: float
) -> tuple[Collapsed, Gradient]:
    """`condition` at pseudo-inputs ``Z`` [M, D], and the gradient of the energy in every parameter."""
    state, terms = _condition(problem, kernel, Z, noise)
    Kuf, V, S, C, white = terms
    root, M = state.pseudo.root, len(Z)
    inverse = state.factor.T @ state.factor  # B^-1
    BS = inverse @ S
    weights = (white - S.T @ (inverse @ (S @ white))) / C.L  # (Q + C)^-1 y
    by_noise, VD, through_D = C.slopes(kernel, V, weights, S, BS)
    if problem.weights is not None:
        by_noise += 0.5 * float(np.sum(1.0 - problem.weights)) / noise
    # dE/dKuf = (T w) w^T - Luu^-T (B^-1 S L^-1 + 2 V dE/dD), with T = Kuu^-1 Kuf
    BS = BS / C.L
    inner = VD @ V.T
    BS += VD
    Vw = V @ weights
    by_Kuf = -root.T @ BS
    by_Kuf = dger(1.0, weights, root.T @ Vw, a=by_Kuf.T, overwrite_a=1).T
    # dE/dKuu = - dE/dKuf T^T / 2, where B^-1 S S^T = I - B^-1
    middle = np.eye(M) - inverse + inner - np.multiply.outer(Vw, Vw)
    by_Kuu = 0.5 * (root.T @ middle @ root)
    parameters, by_Z = state.pseudo.pull_back(problem.X, Kuf, by_Kuf, by_Kuu)
    return state, Gradient(parameters + through_D, by_noise, by_Z)


def _condition(
    problem: Regression, kernel: Kernel, Z: np.ndarray, noise: float
) -> tuple[Collapsed, tuple[np.ndarray, np.ndarray, np.ndarray, Diagonal, np.ndarray]]:
    """The posterior, and Kuf, V = Luu^-1 Kuf, S = V L^-T, C = L L^T and L^-1 y."""
    check_noise(noise)
    pseudo = PseudoPoints.build(kernel, Z, problem.jitter)
    Kuf = pseudo.cross(problem.X)
    V = pseudo.root @ Kuf
    C = Diagonal(problem.X, problem.shares, kernel, V, noise, problem.weights)
    S, white = V / C.L, problem.y / C.L
    B = dsyrk(1.0, S.T, trans=1, lower=1)
    B.flat[:: len(B) + 1] += 1.0
    LB = linalg.cholesky(B, "I + S S^T")
    log_det = linalg.log_determinant(LB)
    factor = linalg.inverse_lower(LB, overwrite=True)
    projected = factor @ (S @ white)
    n = len(problem.y)
    quadratic = white @ white - projected @ projected
    log_density = -0.5 * (n * np.log(2.0 * np.pi) + C.log_det + log_det + quadratic)
    log_density += problem.constant(noise)
    if not np.isfinite(log_density - C.penalty):
        raise ValueError(f"no finite energy at a noise variance of {noise:g}")
    state = Collapsed(float(log_density - C.penalty), pseudo, noise, factor, projected)
    return state, (Kuf, V, S, C, white)
