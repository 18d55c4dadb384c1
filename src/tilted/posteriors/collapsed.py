"""Power EP for regression with M pseudo-points, in closed form [Bui et al. 2017, sections 3.5-3.7].

With Gaussian noise the fixed point of Power EP is known: the evidence it maximises is

    log N(y; 0, Q + C) - sum_b (1 - alpha_b) / (2 alpha_b) log det(I + alpha_b D_b / noise),

Q = Kfu Kuu^-1 Kuf, D = K - Q, C block diagonal with the blocks noise I + alpha_b D_b (the paper's section 3.7
prints the second term with the wrong sign and without the determinant). Blocks of one datum and alpha = 1 are
FITC; alpha = 0 is the limit, the variational bound (VFE), where the sum is tr D / (2 noise); larger blocks
are PITC and what lies between. Everything costs O(N M^2) time and O(N M) memory, plus the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.blas import dger, dsyrk

from tilted import linalg
from tilted.posteriors.features import Points, Windows


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

    Raises
    ------
    ValueError
        For a power outside [0, 1], shapes that do not fit, or blocks that are no partition.
    """

    X: np.ndarray
    y: np.ndarray
    alpha: float | np.ndarray = 1.0
    blocks: tuple[np.ndarray, ...] | None = None
    jitter: float = 0.0
    features: Points | Windows = Points()

    def __post_init__(self):
        n = len(self.y)
        if self.X.ndim != 2 or len(self.X) != n:
            raise ValueError(f"X [N, D] and y [N] do not fit: {self.X.shape} and {self.y.shape}")
        parts = n if self.blocks is None else len(self.blocks)
        alpha = np.asarray(self.alpha, dtype=float)
        if alpha.ndim > 1 or (alpha.ndim == 1 and len(alpha) != parts):
            raise ValueError(f"alpha is one number or one for each of {parts} parts, got shape {alpha.shape}")
        if not np.all((alpha >= 0) & (alpha <= 1)):
            raise ValueError("powers lie between 0 (variational) and 1 (EP)")
        if self.blocks is not None:
            indices = np.concatenate([np.asarray(b, dtype=int) for b in self.blocks])
            if not np.array_equal(np.sort(indices), np.arange(n)):
                raise ValueError("blocks must contain every datum exactly once")
        if self.jitter < 0:
            raise ValueError(f"jitter cannot be negative, got {self.jitter:g}")
        object.__setattr__(self, "alpha", np.broadcast_to(alpha, parts))

    def evaluate(self, kernel, Z: np.ndarray, noise: float) -> tuple[Collapsed, Gradient]:
        """`energy_and_gradient`."""
        return energy_and_gradient(self, kernel, Z, noise)


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
    kernel, Z, noise, jitter
        What it was conditioned with; ``jitter`` is what was added to the diagonal of Kuu.
    root, factor, projected : arrays [M, M], [M, M], [M]
        Luu^-1, LB^-1 and LB^-1 S L^-1 y (`condition`).
    between : kernel
        Of Kuf.
    """

    log_evidence: float
    kernel: object
    Z: np.ndarray
    noise: float
    jitter: float
    root: np.ndarray = field(repr=False)
    factor: np.ndarray = field(repr=False)
    projected: np.ndarray = field(repr=False)
    between: object = field(repr=False)

    def predict(self, Xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of f at ``Xs`` [N*, D], without noise, O(M^2) a point."""
        V = self.root @ self.between.matrix(self.Z, Xs)
        W = self.factor @ V
        variance = self.kernel.diagonal(Xs) - np.einsum("mn,mn->n", V, V) + np.einsum("mn,mn->n", W, W)
        return self.projected @ W, variance


def condition(problem: Regression, kernel, Z: np.ndarray, noise: float) -> Collapsed:
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
        If Kuu is singular (pseudo-inputs that coincide: move them, or allow jitter), or a block of C.
    ValueError
        For a noise variance that is not positive.
    """
    return _condition(problem, kernel, Z, noise)[0]


def energy_and_gradient(problem: Regression, kernel, Z, noise: float) -> tuple[Collapsed, Gradient]:
    """`condition`, and the gradient of the energy in every parameter."""
    state, parts = _condition(problem, kernel, Z, noise)
    Kuf, V, S, C, white = parts
    M = len(Z)
    inverse = state.factor.T @ state.factor  # B^-1
    BS = inverse @ S
    weights = C.left_solve_transposed(white - S.T @ (inverse @ (S @ white)))  # (Q + C)^-1 y
    by_C = C.by_C(weights, S, BS)
    by_D = C.by_D(by_C)
    by_noise = C.by_noise(by_C)
    # dE/dKuf = (T w) w^T - Luu^-T (B^-1 S L^-1 + 2 V dE/dD), with T = Kuu^-1 Kuf
    BS, VD = C.right_solve(BS), C.twice_times(V, by_D)
    inner = VD @ V.T
    BS += VD
    Vw = V @ weights
    by_Kuf = -state.root.T @ BS
    by_Kuf = dger(1.0, weights, state.root.T @ Vw, a=by_Kuf.T, overwrite_a=1).T
    # dE/dKuu = - dE/dKuf T^T / 2, where B^-1 S S^T = I - B^-1
    middle = np.eye(M) - inverse + inner - np.multiply.outer(Vw, Vw)
    by_Kuu = 0.5 * (state.root.T @ middle @ state.root)
    features, dimension = problem.features, Z.shape[1]
    across, by_Z = state.between.contract_cross(Z, problem.X, Kuf, by_Kuf)
    kernel_uu = features.among(kernel, dimension)
    among, by_Z_among = kernel_uu.contract_cross(Z, Z, kernel_uu.matrix(Z), by_Kuu)
    among[0] += problem.jitter * np.trace(by_Kuu)
    parameters, by_width = features.pull_back(kernel, dimension, among, across)
    parameters = parameters + C.by_parameters(kernel, by_D)
    return state, Gradient(parameters, by_noise, by_Z + 2.0 * by_Z_among, by_width)


def _condition(problem, kernel, Z, noise):
    """The posterior, and Kuf, V = Luu^-1 Kuf, S = V L^-T, C = L L^T and L^-1 y."""
    if not (np.isfinite(noise) and noise > 0):
        raise ValueError(f"the noise variance must be positive, got {noise}")
    M = len(Z)
    among = problem.features.among(kernel, Z.shape[1])
    between = problem.features.between(kernel, Z.shape[1])
    Kuu = among.matrix(Z)
    jitter = problem.jitter * float(np.mean(among.diagonal(Z)))
    Kuu.flat[:: M + 1] += jitter
    root = linalg.inverse_lower(linalg.cholesky(Kuu, "Kuu of the pseudo-inputs"), overwrite=True)
    Kuf = between.matrix(Z, problem.X)
    V = root @ Kuf
    C = (_Diagonal if problem.blocks is None else _Blocks)(problem, kernel, V, noise)
    S, white = C.right_solve_transposed(V), C.left_solve(problem.y)
    B = dsyrk(1.0, S.T, trans=1, lower=1) if S.flags.c_contiguous else S @ S.T
    B.flat[:: M + 1] += 1.0
    LB = linalg.cholesky(B, "I + S S^T")
    log_det = linalg.log_determinant(LB)
    factor = linalg.inverse_lower(LB, overwrite=True)
    projected = factor @ (S @ white)
    n = len(problem.y)
    quadratic = white @ white - projected @ projected
    log_density = -0.5 * (n * np.log(2.0 * np.pi) + C.log_det + log_det + quadratic)
    state = Collapsed(
        float(log_density - C.penalty), kernel, Z, noise, jitter, root, factor, projected, between
    )
    return state, (Kuf, V, S, C, white)


class _Diagonal:
    """C = noise + alpha D for blocks of one datum each; arrays [N]."""

    def __init__(self, problem, kernel, V, noise):
        self.X, self.alpha, self.noise = problem.X, problem.alpha, noise
        self.D = kernel.diagonal(problem.X) - np.einsum("mn,mn->n", V, V)
        self.C = noise + self.alpha * self.D
        if not np.all(self.C > 0):
            raise linalg.NotPositiveDefinite("noise + alpha (K - Q)", int(np.argmin(self.C)) + 1, len(self.C))
        self.L = np.sqrt(self.C)

    @property
    def log_det(self) -> float:
        return float(np.sum(np.log(self.C)))

    @property
    def penalty(self) -> float:
        """sum_n (1 - alpha) / (2 alpha) log(1 + alpha D / noise), D / (2 noise) at alpha = 0."""
        x = self.D / self.noise
        return 0.5 * float(np.sum((1.0 - self.alpha) * _log1p_over(self.alpha, x)))

    def right_solve_transposed(self, V):
        """V L^-T."""
        return V / self.L

    right_solve = right_solve_transposed

    def left_solve(self, y):
        """L^-1 y."""
        return y / self.L

    left_solve_transposed = left_solve

    def by_C(self, weights, S, BS):
        """Derivative of the log density in C."""
        return 0.5 * (weights**2 - (1.0 - np.einsum("mn,mn->n", S, BS)) / self.C)

    def by_D(self, by_C):
        """Derivative of the energy in D, at fixed Q."""
        return self.alpha * by_C - 0.5 * (1.0 - self.alpha) / self.C

    def by_noise(self, by_C) -> float:
        """Derivative of the energy in the noise."""
        return float(np.sum(by_C + 0.5 * (1.0 - self.alpha) * self.D / (self.noise * self.C)))

    def twice_times(self, V, by_D):
        """2 V dE/dD."""
        return V * (2.0 * by_D)

    def by_parameters(self, kernel, by_D):
        """Derivative through the prior variances in D."""
        return kernel.contract_diagonal(by_D)


class _Blocks:
    """The same for blocks of several data; lists of matrices."""

    def __init__(self, problem, kernel, V, noise):
        self.X, self.blocks, self.alpha, self.noise = problem.X, problem.blocks, problem.alpha, noise
        self.K = [kernel.matrix(problem.X[b]) for b in self.blocks]
        self.D = [K - V[:, b].T @ V[:, b] for K, b in zip(self.K, self.blocks, strict=True)]
        C = [a * D + noise * np.eye(len(D)) for a, D in zip(self.alpha, self.D, strict=True)]
        self.L = [linalg.cholesky(part, "a block of noise + alpha (K - Q)") for part in C]
        self.inverse_L = [linalg.inverse_lower(L) for L in self.L]
        self.inverse_C = [R.T @ R for R in self.inverse_L]

    @property
    def log_det(self) -> float:
        return sum(linalg.log_determinant(L) for L in self.L)

    @property
    def penalty(self) -> float:
        """sum_b (1 - alpha) / (2 alpha) log det(I + alpha D / noise), tr D / (2 noise) at alpha = 0."""
        x = [np.linalg.eigvalsh(D) / self.noise for D in self.D]
        return 0.5 * sum(
            (1.0 - a) * float(np.sum(_log1p_over(a, e))) for a, e in zip(self.alpha, x, strict=True)
        )

    def _each(self, V, factors):
        out = np.empty_like(V)
        for b, factor in zip(self.blocks, factors, strict=True):
            out[..., b] = V[..., b] @ factor
        return out

    def right_solve_transposed(self, V):
        """V L^-T."""
        return self._each(V, [R.T for R in self.inverse_L])

    def right_solve(self, V):
        """V L^-1."""
        return self._each(V, self.inverse_L)

    left_solve, left_solve_transposed = right_solve_transposed, right_solve

    def by_C(self, weights, S, BS):
        """Derivative of the log density in the blocks of C."""
        found = []
        for b, R, inverse in zip(self.blocks, self.inverse_L, self.inverse_C, strict=True):
            explained = R.T @ (S[:, b].T @ BS[:, b]) @ R
            found.append(0.5 * (np.multiply.outer(weights[b], weights[b]) - inverse + explained))
        return found

    def by_D(self, by_C):
        """Derivative of the energy in the blocks of D, at fixed Q."""
        parts = zip(self.alpha, by_C, self.inverse_C, strict=True)
        return [a * g - 0.5 * (1.0 - a) * inverse for a, g, inverse in parts]

    def by_noise(self, by_C) -> float:
        """Derivative of the energy in the noise."""
        parts = zip(self.alpha, by_C, self.D, self.inverse_C, strict=True)
        return float(sum(np.trace(g) + 0.5 * (1.0 - a) * np.sum(D * R) / self.noise for a, g, D, R in parts))

    def twice_times(self, V, by_D):
        """2 V dE/dD."""
        return self._each(V, [2.0 * g for g in by_D])

    def by_parameters(self, kernel, by_D):
        """Derivative through the prior covariances in D."""
        parts = zip(self.blocks, self.K, by_D, strict=True)
        return sum(kernel.contract_gradient(self.X[b], K, g) for b, K, g in parts)


def _log1p_over(alpha, x):
    """log(1 + alpha x) / alpha, and its limit x at alpha = 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(alpha > 0, np.log1p(alpha * x) / alpha, x)
