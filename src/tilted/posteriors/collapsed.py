"""Power EP for regression with M pseudo-points, in closed form [Bui et al. 2017, sections 3.5-3.7].

With Gaussian noise the fixed point of Power EP is known: the evidence it maximises is

    log N(y; 0, Q + C) - sum_b (1 - alpha_b) / (2 alpha_b) log det(I + alpha_b D_b / noise),

Q = Kfu Kuu^-1 Kuf, D = K - Q, C block diagonal with the blocks noise I + alpha_b D_b (the paper's section 3.7
prints the second term with the wrong sign and without the determinant). Blocks of one datum and alpha = 1 are
FITC; alpha = 0 is the limit, the variational bound (VFE), where the sum is tr D / (2 noise); larger blocks
are PITC and what lies between. Everything costs O(N M^2) time and O(N M) memory, plus the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.linalg.blas import dger, dsyrk

from tilted.numerics import linalg
from tilted.posteriors.conditional import Blocks, Diagonal
from tilted.posteriors.features import Points, Windows
from tilted.posteriors.pseudo import PseudoPoints, check_jitter

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

    Parts = tuple[np.ndarray, np.ndarray, np.ndarray, Diagonal | Blocks, np.ndarray]

SMALLEST_NOISE = 1e-100


@dataclass(frozen=True)
class Regression:
    """Data, noise and powers of a sparse regression.

    Parameters
    ----------
    X : array [N, D]
    y : array [N]
        With zero prior mean.
    alpha : float or array
        Power in [0, 1]: one for all, or one a datum (with ``blocks``: one a block).
    blocks : tuple of arrays of indices, optional
        A partition of the data; every datum for itself by default.
    jitter : float
        Added to the diagonal of Kuu, in units of its mean; part of the model.
    features : Points or Windows
        What the pseudo-points see of f.
    weights : array [N], optional
        Powers w of the data's likelihood factors, whole ones as good as repeated rows. N(y; f, noise)^w is
        N(y; f, noise / w) times a constant, and the power of Power EP is that of its `shares`.

    Raises
    ------
    ValueError
        For weights that are not positive or of blocks, a power outside [0, 1], shapes that do not fit, or
        blocks that are no partition.
    """

    X: np.ndarray
    y: np.ndarray
    alpha: float | np.ndarray = 1.0
    blocks: tuple[np.ndarray, ...] | None = None
    jitter: float = 0.0
    features: Points | Windows = Points()
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        n = len(self.y)
        check_data(self.X, self.y)
        count = n if self.blocks is None else len(self.blocks)
        alpha = np.asarray(self.alpha, dtype=float)
        if alpha.ndim > 1 or (alpha.ndim == 1 and len(alpha) != count):
            raise ValueError(f"alpha is one number or one for each of {count} parts, got shape {alpha.shape}")
        if not np.all((alpha >= 0) & (alpha <= 1)):
            raise ValueError("powers lie between 0 (variational) and 1 (EP)")
        if self.blocks is not None:
            if not all(np.size(b) for b in self.blocks) or not self.blocks:
                raise ValueError("a block without data")
            indices = np.concatenate([np.asarray(b, dtype=int) for b in self.blocks])
            if not np.array_equal(np.sort(indices), np.arange(n)):
                raise ValueError("blocks must contain every datum exactly once")
        check_jitter(self.jitter)
        if self.weights is not None and not (
            self.blocks is None and np.shape(self.weights) == (n,) and np.all(self.weights > 0)
        ):
            raise ValueError("weights are positive, one a datum, and there are none of blocks")
        object.__setattr__(self, "alpha", np.broadcast_to(alpha, count))

    def of_rows(self, rows: np.ndarray) -> Self:
        """Return the problem of some rows, where there are no blocks."""
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
    """Derivatives of the energy in the kernel's parameters [P], the noise, the pseudo-inputs [M, D] and the
    features' widths."""

    kernel: np.ndarray
    noise: float
    Z: np.ndarray
    width: np.ndarray


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
        If Kuu is singular (pseudo-inputs that coincide: move them, or allow jitter), if K - Q has lost its
        sign to rounding (the same), or a block of C is not positive definite.
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
    weights = C.left_solve_transposed(white - S.T @ (inverse @ (S @ white)))  # (Q + C)^-1 y
    by_noise, VD, through_D = C.slopes(kernel, V, weights, S, BS)
    if problem.weights is not None:
        by_noise += 0.5 * float(np.sum(1.0 - problem.weights)) / noise
    # dE/dKuf = (T w) w^T - Luu^-T (B^-1 S L^-1 + 2 V dE/dD), with T = Kuu^-1 Kuf
    BS = C.right_solve(BS)
    inner = VD @ V.T
    BS += VD
    Vw = V @ weights
    by_Kuf = -root.T @ BS
    by_Kuf = dger(1.0, weights, root.T @ Vw, a=by_Kuf.T, overwrite_a=1).T
    # dE/dKuu = - dE/dKuf T^T / 2, where B^-1 S S^T = I - B^-1
    middle = np.eye(M) - inverse + inner - np.multiply.outer(Vw, Vw)
    by_Kuu = 0.5 * (root.T @ middle @ root)
    parameters, by_Z, by_width = state.pseudo.pull_back(problem.X, Kuf, by_Kuf, by_Kuu)
    return state, Gradient(parameters + through_D, by_noise, by_Z, by_width)


def _condition(problem: Regression, kernel: Kernel, Z: np.ndarray, noise: float) -> tuple[Collapsed, Parts]:
    """The posterior, and Kuf, V = Luu^-1 Kuf, S = V L^-T, C = L L^T and L^-1 y."""
    check_noise(noise)
    pseudo = PseudoPoints.build(kernel, Z, problem.jitter, problem.features)
    Kuf = pseudo.cross(problem.X)
    V = pseudo.root @ Kuf
    C: Diagonal | Blocks
    if problem.blocks is None:
        C = Diagonal(problem.X, problem.shares, kernel, V, noise, problem.weights)
    else:
        C = Blocks(problem.X, problem.shares, problem.blocks, kernel, V, noise)
    S, white = C.right_solve_transposed(V), C.left_solve(problem.y)
    B = dsyrk(1.0, S.T, trans=1, lower=1) if S.flags.c_contiguous else S @ S.T
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
