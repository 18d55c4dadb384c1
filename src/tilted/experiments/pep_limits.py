"""Power EP's limits by direct computation: is alpha = 1 FITC, alpha -> 0 VFE, and is one pass enough?

Random problems. The collapsed energy and its predictions are compared with the dense N x N formulas of FITC
[Snelson & Ghahramani 2006] and VFE [Titsias 2009], written here with nothing of ours but the kernel:

    FITC:  log N(y; 0, Q + diag(K - Q) + s^2 I)
    VFE:   log N(y; 0, Q + s^2 I) - tr(K - Q) / (2 s^2)
    both:  mean Q* A^-1 y, variance k** - Q* A^-1 Q*^T, with A the covariance above

and the sites after one sequential pass of Power EP from flat sites with the fixed point
tau = 1 / (s^2 + alpha D), nu = tau y: with the step of the paper's appendix F.4, a fraction alpha of the way
to the new site, and with the full step [Bui et al. 2017, remarks 2 to 4].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.posteriors.collapsed import Regression, condition
from tilted.posteriors.sparse import Sparse

if TYPE_CHECKING:
    from typing import Any

COLUMNS = ("problem", "n", "m", "alpha", "limit", "quantity", "difference")
"""``limit``: FITC, VFE, one pass (F.4) or one pass (full step); ``difference``: the largest, relative."""

SIZES = {"small": (40, 2, 4), "middle": (120, 3, 15), "large": (300, 5, 40)}
"""Problem -> data, dimensions, pseudo-points."""

FITC, VFE, PRINTED, WHOLE = "FITC", "VFE", "one pass (F.4)", "one pass (full step)"
POWERS = (1e-2, 1e-4, 1e-6, 1e-8, 0.0)
PASSES = (0.1, 0.5, 0.8, 1.0)
NOISE, N_TEST = 0.1, 50


def modules_of(problem: str) -> list[str]:
    """Modules whose closures a line depends on."""
    return [__name__]


def study(seed: int = 0) -> Iterator[dict[str, Any]]:
    """Lines with `COLUMNS`, problem by problem."""
    for k, (name, (n, dimension, m)) in enumerate(SIZES.items()):
        rng = np.random.default_rng([seed, k])
        X, Xs = rng.standard_normal((n, dimension)), rng.standard_normal((N_TEST, dimension))
        y = np.sin(2.0 * X[:, 0]) + np.sqrt(NOISE) * rng.standard_normal(n)
        Z = X[rng.permutation(n)[:m]] + 0.1 * rng.standard_normal((m, dimension))
        kernel = SquaredExponential(1.3, tuple(rng.uniform(0.8, 2.0, dimension)))
        for alpha, limit in ((1.0, FITC), *((alpha, VFE) for alpha in POWERS)):
            expected: tuple[float | np.ndarray, ...] = dense(limit, kernel, X, y, Z, Xs)
            state = condition(Regression(X, y, alpha), kernel, Z, NOISE)
            found: tuple[float | np.ndarray, ...] = (state.log_evidence, *state.predict(Xs))
            for quantity, ours, theirs in zip(("evidence", "mean", "variance"), found, expected, strict=True):
                yield _line(name, n, m, alpha, limit, quantity, _relative(ours, theirs))
        for alpha in PASSES:
            for limit in (PRINTED, WHOLE):
                yield _line(name, n, m, alpha, limit, "sites", one_pass(kernel, X, y, Z, alpha, limit))


def dense(
    limit: str, kernel: SquaredExponential, X: np.ndarray, y: np.ndarray, Z: np.ndarray, Xs: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Log evidence, and mean and variance of f at ``Xs``, by the dense formulas of FITC or VFE."""
    n = len(y)
    cross = np.vstack([kernel.matrix(X, Z), kernel.matrix(Xs, Z)])
    Q = cross @ np.linalg.solve(kernel.matrix(Z), cross.T)
    D = kernel.diagonal(X) - np.diagonal(Q)[:n]
    A = Q[:n, :n] + NOISE * np.eye(n) + (np.diag(D) if limit == FITC else 0.0)
    solved = np.linalg.solve(A, np.column_stack([y, Q[:n, n:]]))
    evidence = -0.5 * (y @ solved[:, 0] + np.linalg.slogdet(A)[1] + n * np.log(2.0 * np.pi))
    if limit == VFE:
        evidence -= D.sum() / (2.0 * NOISE)
    mean = Q[n:, :n] @ solved[:, 0]
    variance = kernel.diagonal(Xs) - np.einsum("sn,ns->s", Q[n:, :n], solved[:, 1:])
    return float(evidence), mean, variance


def one_pass(
    kernel: SquaredExponential, X: np.ndarray, y: np.ndarray, Z: np.ndarray, alpha: float, limit: str
) -> float:
    """Largest relative difference of a site's tau or nu, after one pass, from the fixed point.

    nu is measured in units of the largest.
    """
    posterior = Sparse.build(kernel, X, Z)
    damping = alpha if limit == PRINTED else 1.0
    options = Options(max_sweeps=1, schedule="sequential", damping=damping, memory=0, newton=False)
    sites = infer(posterior, GaussianNoise(NOISE), y, power_rule(alpha), options).sites
    tau = 1.0 / (NOISE + alpha * posterior.extra)
    return max(_relative(sites.tau, tau), _relative(sites.nu, tau * y))


def _relative(ours: float | np.ndarray, theirs: float | np.ndarray) -> float:
    """Largest difference in units of the largest expected number."""
    return float(np.max(np.abs(np.asarray(ours) - theirs)) / np.max(np.abs(theirs)))


def _line(*values: object) -> dict[str, Any]:
    return dict(zip(COLUMNS, values, strict=True))
