"""PEP8, the limits of Power EP: alpha = 1 against FITC, alpha -> 0 against VFE, and one pass.

On random problems, the collapsed energy and its predictions are compared with the dense N x N formulas of
FITC [Snelson & Ghahramani 2006] and VFE [Titsias 2009], which share only the kernel with the library:

    FITC:  log N(y; 0, Q + diag(K - Q) + s^2 I)
    VFE:   log N(y; 0, Q + s^2 I) - tr(K - Q) / (2 s^2)
    both:  mean Q* A^-1 y, variance k** - Q* A^-1 Q*^T, with A the covariance above

and the sites after one sequential pass of Power EP from flat sites with the fixed point
tau = 1 / (s^2 + alpha D), nu = tau y: with the step of the paper's appendix F.4, a fraction alpha of the way
to the new site, and with the full step [Bui et al. 2017, remarks 2 to 4].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from papers.core import claims
from papers.core.study import Float, Integer, Study, Text
from papers.core.verdicts import NO, YES, Block, Inference, Line
from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.posteriors.collapsed import Regression, condition
from tilted.posteriors.sparse import Sparse

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Row

SIZES = {"small": (40, 2, 4), "middle": (120, 3, 15), "large": (300, 5, 40)}
"""Problem -> data, dimensions, pseudo-points."""

FITC, VFE, PRINTED, FULL_STEP = "FITC", "VFE", "one pass (F.4)", "one pass (full step)"
POWERS = (1e-2, 1e-4, 1e-6, 1e-8, 0.0)
PASSES = (0.1, 0.5, 0.8, 1.0)
NOISE, N_TEST, SEED = 0.1, 50, 0


# The experiment


def problem_lines(problem: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one of `SIZES`."""
    n, dimension, m = SIZES[problem]
    rng = np.random.default_rng([SEED, list(SIZES).index(problem)])
    X, Xs = rng.standard_normal((n, dimension)), rng.standard_normal((N_TEST, dimension))
    y = np.sin(2.0 * X[:, 0]) + np.sqrt(NOISE) * rng.standard_normal(n)
    Z = X[rng.permutation(n)[:m]] + 0.1 * rng.standard_normal((m, dimension))
    kernel = SquaredExponential(1.3, tuple(rng.uniform(0.8, 2.0, dimension)))

    def line(alpha: float, limit: str, quantity: str, difference: float) -> dict[str, Any]:
        return dict(zip(LIMITS.columns, (problem, n, m, alpha, limit, quantity, difference), strict=True))

    for alpha, limit in ((1.0, FITC), *((alpha, VFE) for alpha in POWERS)):
        dense_values: tuple[float | np.ndarray, ...] = dense(limit, kernel, X, y, Z, Xs)
        state = condition(Regression(X, y, alpha), kernel, Z, NOISE)
        sparse_values: tuple[float | np.ndarray, ...] = (state.log_evidence, *state.predict(Xs))
        for quantity, a, b in zip(("evidence", "mean", "variance"), sparse_values, dense_values, strict=True):
            yield line(alpha, limit, quantity, relative_difference(a, b))
    for alpha in PASSES:
        for limit in (PRINTED, FULL_STEP):
            yield line(alpha, limit, "sites", one_pass(kernel, X, y, Z, alpha, limit))


def dense(
    limit: str, kernel: SquaredExponential, X: np.ndarray, y: np.ndarray, Z: np.ndarray, Xs: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return log evidence, mean and variance of f at ``Xs``, by the dense formulas of FITC or VFE."""
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
    """Return the largest relative difference of a site's tau or nu from the fixed point after one pass.

    nu is measured in units of the largest.
    """
    posterior = Sparse.build(kernel, X, Z)
    damping = alpha if limit == PRINTED else 1.0
    options = Options(max_sweeps=1, schedule="sequential", damping=damping, memory=0, newton=False)
    sites = infer(posterior, GaussianNoise(NOISE), y, power_rule(alpha), options).sites
    tau = 1.0 / (NOISE + alpha * posterior.extra)
    return max(relative_difference(sites.tau, tau), relative_difference(sites.nu, tau * y))


def relative_difference(values: float | np.ndarray, expected: float | np.ndarray) -> float:
    """Return the largest difference in units of the largest expected number."""
    return float(np.max(np.abs(np.asarray(values) - expected)) / np.max(np.abs(expected)))


# The record


def study(problems: Iterable[str] = tuple(SIZES)) -> Iterator[tuple[Study, Row]]:
    """Yield the rows of `LIMITS`, problem by problem."""
    for problem in problems:
        yield from ((LIMITS, line) for line in problem_lines(problem))


LIMITS = Study(
    "pep/limits.csv",
    {
        "problem": Text(),
        "n": Integer(),
        "m": Integer(),
        "alpha": Float(6),
        "limit": Text(),
        "quantity": Text(),
        "difference": Float(6),
    },
    key=("problem", "alpha", "limit", "quantity"),
    unit=("problem",),
    group=("problem",),
    together=("problem",),
    seconds=0.1,
    repeat=lambda rows, source: study(rows["problem"].unique()),
)
"""A row is a comparison; ``limit``: FITC, VFE, one pass (F.4) or one pass (full step); ``difference``: the
largest, relative."""


# The verdict

ACCURACY = claims.load()["PEP8"].margin["difference"]
STEEPNESS = 0.5
"""With a power k times smaller the difference falls at least `STEEPNESS` k times: it is O(alpha)."""

SLOW = "difference is not O(α)"
TEST = f"largest relative difference at most {ACCURACY:g} on every problem; interval: smallest and largest"
QUANTITY = "largest relative difference"
EVIDENCE, POSTERIOR = ("evidence",), ("mean", "variance")


def recovered(frame: pd.DataFrame) -> list[Block]:
    """Judge PEP8 from rows of `LIMITS`.

    The first block decides: FITC at power 1, VFE at 0 and as the limit of small powers, and one pass as
    the paper prints it. The second block has the full step.
    """
    reached = [_limit(frame, limit, names) for limit in (FITC, VFE) for names in (EVIDENCE, POSTERIOR)]
    test = f"{TEST}; α in {', '.join(f'{a:g}' for a in sorted(PASSES))} for one pass"
    return [
        Block("direct computation", test, (*reached, *_passes(frame, PRINTED)), best=-math.inf),
        Block("one pass with the full step", TEST, tuple(_passes(frame, FULL_STEP)), best=-math.inf),
    ]


def _limit(frame: pd.DataFrame, limit: str, quantities: tuple[str, ...]) -> Line:
    lines = frame[(frame["limit"] == limit) & frame["quantity"].isin(quantities)]
    exact, small = lines[lines["alpha"].isin([0.0, 1.0])], lines[lines["alpha"].between(0.0, 1.0, "neither")]
    name = "evidence" if quantities == EVIDENCE else "posterior"
    row = f"{'α = 1 is FITC' if limit == FITC else 'α to 0 is VFE'}: {name}"
    note, falls = f"{lines['problem'].nunique()} problems", _is_proportional(small)
    if len(small):
        largest = small.groupby("alpha")["difference"].max()
        ends = [f"{largest.iloc[k]:.1e} at α = {largest.index[k]:g}" for k in (0, -1)]
        note += f"; {', '.join(ends)}" + ("" if falls else f"; {SLOW}")
    return line_of(row, exact["difference"], falls, note)


def _is_proportional(small: pd.DataFrame) -> bool:
    """Return True if each problem's differences fall in proportion to the power in each quantity."""
    for _, group in small.groupby(["problem", "quantity"]):
        for less, more in pairwise(group.sort_values("alpha").itertuples()):
            if less.difference * (more.alpha / less.alpha) * STEEPNESS > more.difference:
                return False
    return True


def _passes(frame: pd.DataFrame, limit: str) -> Iterator[Line]:
    row = "one pass, printed step" if limit == PRINTED else "one pass, full step"
    lines = frame[frame["limit"] == limit]
    for chosen in (lines[lines["alpha"] == 1.0], lines[lines["alpha"] != 1.0]):
        powers = ", ".join(f"{alpha:g}" for alpha in sorted(chosen["alpha"].unique()))
        yield line_of(row, chosen["difference"], True, f"α = {powers}")


def line_of(row: str, differences: pd.Series, sound: bool, note: str, accuracy: float = ACCURACY) -> Line:
    """Return a line that holds if no difference is above ``accuracy`` and ``sound`` is true."""
    if differences.empty:
        return Line(row, QUANTITY, "excess", note="not computed")
    low, high = float(differences.min()), float(differences.max())
    status = YES if sound and high <= accuracy and math.isfinite(high) else NO
    sample = Inference(status, low, high)
    return Line(row, QUANTITY, "excess", high, sample=sample, n=len(differences), note=note)
