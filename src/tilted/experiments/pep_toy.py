"""Exact regression on the made-up sets, at the hyperparameters they were drawn with and at learned ones.

What figures 8 to 10 of the Power-EP paper show [Bui et al. 2017, appendix I.1]. A set has two training parts,
tested on the same points: half of its 1000 points, as in section 4.1, and these 500 with 500 more of the same
function (`grown`; the paper does not say where its 1000 training points come from). Nothing is standardised:
the truth is a zero-mean process in the units of the data. Learned hyperparameters maximise the evidence, from
the start and with the search of the other regressions (`tilted.experiments.pep`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import norm

from tilted import metrics
from tilted.experiments import pep, synthetic
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.linalg import NotPositiveDefinite
from tilted.posteriors.full import FullRegression
from tilted.regression import Fitted, maximise

if TYPE_CHECKING:
    from tilted.posteriors.collapsed import Collapsed
    from tilted.posteriors.full import Full

TRUE, LEARNED = "true", "learned"
SIZES = (synthetic.POINTS // 2, synthetic.POINTS)
"""Training points."""

SCORES = ("nlml", "mse_train", "mse_test", "loss_train", "loss_test")
"""Negative log evidence of the training part; mean squared error and mean log loss (nats) of targets."""

COLUMNS = (
    "dataset", "split", "n_train", "n_test", "hyperparameters", *SCORES, "variance", "lengthscales", "noise",
    "evaluations", "outcome", "message", "seconds",
)  # fmt: skip
"""``lengthscales`` is text, with colons between them; ``outcome`` is ok, stopped or failed."""


class Problem(NamedTuple):
    """Training and test part of a set [N, D], [N*, D], [N], [N*], and what it was drawn with."""

    X: np.ndarray
    Xs: np.ndarray
    y: np.ndarray
    ys: np.ndarray
    kernel: SquaredExponential
    noise: float


def modules_of(dataset: str) -> list[str]:
    """Modules whose closures a line depends on."""
    return [__name__]


def problem(split: int, n: int) -> Problem:
    """A made-up set with one of `SIZES` as its number of training points."""
    drawn = synthetic.draw(split)
    X, Xs, y, ys = pep.synthetic_split(split)
    if n > len(y):
        more = grown(drawn, split, n - len(y))
        X, y = np.vstack([X, more.X]), np.append(y, more.y)
    return Problem(X, Xs, y, ys, drawn.kernel, drawn.noise)


def grown(drawn: synthetic.Drawn, split: int, n: int) -> synthetic.Drawn:
    """``n`` more points of the function of a set, drawn given its values at the points there are."""
    rng = np.random.default_rng([split, 2])
    half, had = synthetic.HALF_WIDTH, len(drawn.f)
    X = rng.uniform(-half, half, (n, drawn.X.shape[1]))
    K = drawn.kernel.matrix(np.vstack([drawn.X, X]))
    K.flat[:: had + n + 1] += synthetic.JITTER * drawn.kernel.variance
    L = np.linalg.cholesky(K)
    known = solve_triangular(L[:had, :had], drawn.f, lower=True)
    f = L[had:, :had] @ known + L[had:, had:] @ rng.standard_normal(n)
    return synthetic.Drawn(X, f + np.sqrt(drawn.noise) * rng.standard_normal(n), f, drawn.kernel, drawn.noise)


def study(splits: Iterable[int], sizes: Iterable[int] = SIZES) -> Iterator[dict[str, Any]]:
    """Lines with `COLUMNS`: of each set and size one at the true hyperparameters and one at learned ones."""
    for split in splits:
        for n in sizes:
            of = problem(split, n)
            for hyperparameters in (TRUE, LEARNED):
                yield fit(of, split, hyperparameters)


def fit(of: Problem, split: int, hyperparameters: str) -> dict[str, Any]:
    """A line with `COLUMNS`; without numbers, and with the reason, if the fit failed."""
    began = time.process_time()
    evaluations, outcome, message = 1, "ok", ""
    state: Collapsed | Full
    found: dict[str, Any] = dict.fromkeys((*SCORES, "variance", "lengthscales", "noise"))
    try:
        if hyperparameters == TRUE:
            state = FullRegression(of.X, of.y).evaluate(of.kernel, of.X[:0], of.noise)[0]
        else:
            fitted = _learned(of)
            state, evaluations = fitted.state, fitted.status.evaluations
            if not fitted.status.converged:
                outcome, message = "stopped", " ".join(fitted.status.message.split())
        found = _numbers(state, of)
    except (NotPositiveDefinite, ArithmeticError, ValueError) as error:
        outcome, message = "failed", " ".join(str(error).split())
    values = (pep.SYNTHETIC, int(split), len(of.y), len(of.ys), hyperparameters, *found.values(),
              evaluations, outcome, message, time.process_time() - began)  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def _learned(of: Problem) -> Fitted:
    start, dimension = pep.STARTS[pep.DEFAULT], of.X.shape[1]
    kernel = SquaredExponential(pep.VARIANCE, (start.stretch * float(np.sqrt(dimension)),) * dimension)
    return maximise(FullRegression(of.X, of.y), kernel, of.X[:0], start.noise, pep.SEARCH)


def _numbers(state: Collapsed | Full, of: Problem) -> dict[str, Any]:
    """`SCORES` and hyperparameters of an exact posterior; ArithmeticError if it does not predict."""
    found = {"nlml": -state.log_evidence}
    for part, X, y in (("train", of.X, of.y), ("test", of.Xs, of.ys)):
        mean, variance = state.predict(X)
        if not np.all(np.isfinite(mean)):
            raise ArithmeticError("a predictive mean is not finite")
        found[f"mse_{part}"] = float(np.mean((y - mean) ** 2))
        density = norm.logpdf(y, mean, np.sqrt(variance + state.noise))
        found[f"loss_{part}"] = metrics.negative_log_likelihood(density)
    kernel_variance, *lengthscales = state.kernel.parameters().tolist()
    scales = ":".join(f"{scale:.12g}" for scale in lengthscales)
    ordered = {name: found[name] for name in SCORES}
    return {**ordered, "variance": kernel_variance, "lengthscales": scales, "noise": state.noise}
