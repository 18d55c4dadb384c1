"""Figures 8 to 10: exact regression on the made-up sets, at their true hyperparameters and at learned ones.

A set has two training parts [Bui et al. 2017, appendix I.1], tested on the same points: half of its 1000
points, as in section 4.1, and these 500 with 500 more of the same function (`grown`; the paper does not say
where its 1000 training points come from). Nothing is standardised: the truth is a zero-mean process in the
units of the data. Learned hyperparameters maximise the evidence, from the start and with the search of the
other regressions (`papers.pep.regression`).

The units are sets: a difference, learned - true, is of one set and one number of training points. A set in
which one of the two fits failed has no difference and is counted. Lower scores are better.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import norm

from papers.core import metrics, style
from papers.core.comparisons import estimate
from papers.core.grid import counted, grid
from papers.pep import looks, regression
from papers.pep.looks import Figure
from papers.pep.regression import FAILED, STOPPED
from tilted.inference.result import Status
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.learning.regression import Fitted, maximise
from tilted.posteriors.full import FullRegression

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

TRUE, LEARNED = "true", "learned"
SCORES = ("nlml", "mse_train", "mse_test", "loss_train", "loss_test")
"""Negative log evidence of the training part; mean squared error and mean log loss (nats) of targets."""


# The experiment


class Problem(NamedTuple):
    """Training and test points of a set [N, D], [N*, D], [N], [N*], and the set's generating values."""

    X: np.ndarray
    Xs: np.ndarray
    y: np.ndarray
    ys: np.ndarray
    kernel: SquaredExponential
    noise: float


def problem(split: int, n: int) -> Problem:
    """Return a made-up set with ``n`` training points."""
    drawn = regression.draw(split)
    X, Xs, y, ys = regression.parts_of(regression.SYNTHETIC, split, None)
    if n > len(y):
        more = grown(drawn, split, n - len(y))
        X, y = np.vstack([X, more.X]), np.append(y, more.y)
    return Problem(X, Xs, y, ys, drawn.kernel, drawn.noise)


def grown(drawn: regression.Drawn, split: int, n: int) -> regression.Drawn:
    """Draw ``n`` more points of the function of a set, given its values at the present points."""
    rng = np.random.default_rng([split, 2])
    half, had = regression.HALF_WIDTH, len(drawn.f)
    X = rng.uniform(-half, half, (n, drawn.X.shape[1]))
    K = drawn.kernel.matrix(np.vstack([drawn.X, X]))
    K.flat[:: had + n + 1] += regression.DRAWN_JITTER * drawn.kernel.variance
    L = np.linalg.cholesky(K)
    whitened = solve_triangular(L[:had, :had], drawn.f, lower=True)
    f = L[had:, :had] @ whitened + L[had:, had:] @ rng.standard_normal(n)
    return regression.Drawn(
        X, f + np.sqrt(drawn.noise) * rng.standard_normal(n), f, drawn.kernel, drawn.noise
    )


def study(splits: Iterable[int], sizes: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield rows of `records.TOY`: each set and size at true and at learned hyperparameters."""
    for split, n in itertools.product(splits, sizes):
        drawn_problem = problem(split, n)
        yield from (fit(drawn_problem, split, hyperparameters) for hyperparameters in (TRUE, LEARNED))


def fit(problem: Problem, split: int, hyperparameters: str) -> dict[str, Any]:
    """Return a row of `records.TOY`; a failed fit has a reason and no numbers."""
    tried = regression.attempted(
        lambda: fitted(problem, hyperparameters),
        lambda fit: _tested(fit, problem),
        (*SCORES, "variance", "noise"),
    )
    sizes = {"n_train": len(problem.y), "n_test": len(problem.ys)}
    identity = {"dataset": regression.SYNTHETIC, "split": int(split), "hyperparameters": hyperparameters}
    return {"lengthscales": "", **tried, **identity, **sizes}


def fitted(problem: Problem, hyperparameters: str) -> Fitted:
    """Fit exact regression at the true hyperparameters, or at those of largest evidence."""
    exact, none = FullRegression(problem.X, problem.y), problem.X[:0]
    if hyperparameters == TRUE:
        return Fitted(*exact.evaluate(problem.kernel, none, problem.noise), Status(True, 0))
    start, dimension = regression.STARTS[regression.DEFAULT], problem.X.shape[1]
    scales = (start.stretch * float(np.sqrt(dimension)),) * dimension
    kernel = SquaredExponential(regression.VARIANCE, scales)
    return maximise(exact, kernel, none, start.noise, regression.SEARCH)


def _tested(fit: Fitted, problem: Problem) -> dict[str, Any]:
    """Return `SCORES` and hyperparameters of a fit."""
    state = fit.state
    scores = {"nlml": -state.log_evidence}
    for name, X, y in (("train", problem.X, problem.y), ("test", problem.Xs, problem.ys)):
        mean, variance = state.predict(X)
        regression.require_finite(mean)
        scores[f"mse_{name}"] = float(np.mean((y - mean) ** 2))
        density = norm.logpdf(y, mean, np.sqrt(variance + state.noise))
        scores[f"loss_{name}"] = metrics.negative_log_likelihood(density)
    variance, *lengthscales = state.kernel.parameters().tolist()
    text = ":".join(f"{scale:.12g}" for scale in lengthscales)
    return {**scores, "variance": variance, "lengthscales": text, "noise": state.noise}


# The table

NAMES = {
    "nlml": ("NLML (nats)", ".2f"),
    "mse_test": ("test MSE", ".5f"),
    "loss_test": ("test log loss (nats)", ".4f"),
    "mse_train": ("training MSE", ".5f"),
    "loss_train": ("training log loss (nats)", ".4f"),
}
"""Score -> its name in the table and the form of its numbers."""

HEADING = "True and learned hyperparameters"
LEGEND = """\
Exact regression on the synthetic sets at the hyperparameters they were drawn with and at those of largest
evidence, in the units of the data (function variance 1, noise variance 0.01): means over the sets, and the
difference learned - true with its 95 % interval (t over the sets) and its range. 1000 training points are
the 500 and 500 more of the same function; the test points are the same."""
HEADER = (
    *("Training points", "Score", "True", "Learned", "Learned - true"),
    *("Interval", "Range", "Lower if learned", "Left out"),
)


def pairs(frame: pd.DataFrame, n: int, score: str) -> pd.DataFrame:
    """Return a score [sets] with `TRUE` and `LEARNED` hyperparameters, ``n`` training points; NaN: failed."""
    wide = frame[frame["n_train"] == n].pivot(index="split", columns="hyperparameters", values=score)
    return wide.reindex(columns=[TRUE, LEARNED])


def sizes(frame: pd.DataFrame) -> list[int]:
    """Return the numbers of training points."""
    return sorted(int(n) for n in frame["n_train"].unique())


def coverage(frame: pd.DataFrame) -> str:
    """Return a sentence without a full stop: the coverage of the record."""
    n_stopped, n_failed = (int((frame["outcome"] == outcome).sum()) for outcome in (STOPPED, FAILED))
    stopped = f", {n_stopped} not converged" if n_stopped else ""
    sets = f"{counted(frame['split'].nunique(), 'set')} of synthetic data"
    points = f"{' and '.join(map(str, sizes(frame)))} training points"
    return f"{sets}; {points}; {counted(len(frame), 'fit')}{stopped}, {n_failed} failed"


def section(frame: pd.DataFrame, origin: Sequence[str]) -> list[str]:
    """Return Markdown: the comparison, the table, and the record's origin (`provenance.note`)."""
    cells = [_cells(frame, n, score) for n in sizes(frame) for score in NAMES]
    lines = [f"## {HEADING}", "", *LEGEND.splitlines(), "", f"Coverage: {coverage(frame)}.", ""]
    return [*lines, *grid(HEADER, "rlrrrrrrr", cells), "", *origin, ""]


def _cells(frame: pd.DataFrame, n: int, score: str) -> Sequence[str]:
    paired = pairs(frame, n, score)
    complete = paired.dropna()
    n_left_out, (name, form) = len(paired) - len(complete), NAMES[score]
    if complete.empty:
        return (f"{n}", name, *[""] * 6, f"{n_left_out}")
    moved = complete[LEARNED] - complete[TRUE]
    mean = estimate(moved.to_numpy())
    return (
        *(f"{n}", name, f"{complete[TRUE].mean():{form}}", f"{complete[LEARNED].mean():{form}}"),
        f"{moved.mean():+{form}}",
        _range(*mean.interval(), form) if mean else "",
        _range(moved.min(), moved.max(), form),
        f"{int((moved < 0).sum())} of {len(moved)}",
        f"{n_left_out}",
    )


def _range(low: float, high: float, form: str) -> str:
    return f"[{low:+{form}}, {high:+{form}}]"


# The figures

AGAINST = {
    "nlml": ("NLML a training point (nats)", " (nats, all points)"),
    "mse_test": ("test mean squared error", ""),
    "loss_test": ("test log loss (nats)", " (nats)"),
}
"""Panels of figure 8: score -> its heading, and the unit of its differences."""

NOISE = regression.DRAWN_NOISE
ERRORS = {
    "mse": ("mean squared error", NOISE),
    "loss": ("mean log loss (nats)", 0.5 * np.log(2.0 * np.pi * np.e * NOISE)),
}
"""Panels of figures 9 and 10: score -> its heading, and its mean if the function were known."""

MARKS = {"train": ("training part", style.CYCLE[0]), "test": ("test part", style.CYCLE[1])}
DASHED: dict[str, Any] = {"color": "black", "linestyle": (0, (5, 3)), "linewidth": 0.7}
DASH: dict[str, Any] = {"linestyle": "", "marker": "_", "markersize": 6.0, "markeredgewidth": 0.9}
ROOM = 0.06


def true_against_learned(frame: pd.DataFrame, stem: Path) -> None:
    """Draw figure 8: NLML a training point, test squared error and log loss; below, their differences."""
    frame = frame[frame["n_train"].isin(_with_numbers(frame))]
    if frame.empty:
        return
    kinds = dict(zip(sizes(frame), style.CYCLE, strict=False))
    with style.drawing(stem, (6.9, 4.7)) as figure:
        panels = figure.subplots(2, len(AGAINST), height_ratios=(1.0, 0.5))
        for column, score in zip(panels.T, AGAINST, strict=True):
            _against(column, frame, score, kinds)
        panels[0, 0].set_ylabel("learned hyperparameters")
        panels[1, 0].set_ylabel("difference")
        figure.suptitle("Exact regression on the synthetic sets, a dot a set", fontsize=9.0)
        labels = {f"{n} training points": kind for n, kind in kinds.items()}
        looks.below(figure, coverage(frame), _handles(labels))


def _against(
    panels: Sequence[Axes], frame: pd.DataFrame, score: str, kinds: dict[int, tuple[str, str]]
) -> None:
    """Draw one score under learned against that under true hyperparameters, and below, their differences."""
    above, below = panels
    heading, unit = AGAINST[score]
    drawn_scores = []
    for n, kind in kinds.items():
        paired = pairs(frame, n, score).dropna()
        drawn = paired / (n if score == "nlml" else 1)
        drawn_scores += [drawn[TRUE], drawn[LEARNED]]
        _dots(above, drawn[TRUE], drawn[LEARNED], *kind)
        _dots(below, drawn[TRUE], paired[LEARNED] - paired[TRUE], *kind)
    values = np.concatenate(drawn_scores)
    room = ROOM * (values.max() - values.min()) + 1e-12
    ends = values.min() - room, values.max() + room
    above.plot(ends, ends, zorder=1, **DASHED)
    above.set(xlim=ends, ylim=ends, box_aspect=1.0)
    below.axhline(0.0, zorder=1, **DASHED)
    below.set(xlim=above.get_xlim(), xlabel="true hyperparameters")
    for axes in panels:
        axes.locator_params(nbins=5)
    below.set_title(f"learned − true{unit}", fontsize=8.0)
    above.set_title(heading)


def _with_numbers(frame: pd.DataFrame) -> list[int]:
    """Return the numbers of training points with a set that has both fits."""
    return [n for n in sizes(frame) if len(pairs(frame, n, "nlml").dropna())]


def train_and_test(frame: pd.DataFrame, stem: Path, n: int) -> None:
    """Draw figures 9 and 10: training and test errors of every set, in order of the test error."""
    if n not in _with_numbers(frame):
        return
    of_size = frame[frame["n_train"] == n]
    fits = of_size[of_size["nlml"].notna()].set_index("split")
    learned, true = (fits[fits["hyperparameters"] == name] for name in (LEARNED, TRUE))
    order = learned["mse_test"].sort_values().index
    true = true[true.index.isin(order)]
    place = dict(zip(order, range(1, len(order) + 1), strict=True))
    with style.drawing(stem, (6.9, 3.0)) as figure:
        for axes, (score, (heading, best)) in zip(figure.subplots(1, 2), ERRORS.items(), strict=True):
            for name, (_, kind) in MARKS.items():
                column = f"{score}_{name}"
                _dots(axes, learned.index.map(place), learned[column], *kind)
                axes.plot(true.index.map(place), true[column], color=style.GREY, zorder=2, **DASH)
            axes.axhline(best, zorder=1, **DASHED)
            if score == "mse":
                axes.set_yscale("log")
                looks.plain_ticks(axes.yaxis, axes.get_ylim(), 5)
            axes.set_title(heading)
            axes.set_xlabel("synthetic set, by test error")
            axes.set_xlim(0.3, len(order) + 0.7)
        figure.suptitle(f"Exact regression with {n} training points", fontsize=9.0)
        labels = dict(MARKS.values()) | {"the same, true hyperparameters": (style.GREY, "_")}
        handles = [*_handles(labels), style.line("the noise alone", **DASHED)]
        looks.below(figure, coverage(of_size), handles)


def _dots(axes: Axes, x: pd.Series, y: pd.Series, colour: str, marker: str) -> None:
    look: dict[str, Any] = {"linestyle": "", "markersize": 3.4, "markeredgewidth": 0.0, "alpha": 0.8}
    axes.plot(x, y, marker=marker, color=colour, zorder=3, **look)


def _handles(labels: dict[str, tuple[str, str]]) -> list[Line2D]:
    """Return the legend handles of dots and dashes."""
    dot = {"linestyle": "", "markersize": 4.0, "markeredgewidth": 0.0}
    return [
        style.line(label, color=colour, **(DASH if marker == "_" else dot | {"marker": marker}))
        for label, (colour, marker) in labels.items()
    ]


FIGURES = {
    "figure8": Figure(
        true_against_learned,
        "Exact regression on the synthetic sets with the hyperparameters they were drawn with and with those "
        "of largest evidence: NLML of the training part, mean squared error and mean log loss on the test "
        "part. A dot is a set; on the dashed lines both are equal. Below: their differences.",
    ),
    "figure9": Figure(
        partial(train_and_test, n=500),
        "Exact regression with 500 training points: mean squared error and mean log loss (minus the mean "
        "log-likelihood) of noisy targets on the training and on the test part of every synthetic set, with "
        "learned (dots) and with true hyperparameters (dashes). Dashed line: of the noise alone.",
    ),
    "figure10": Figure(
        partial(train_and_test, n=1000),
        "The same as figure 9 with 1000 training points: the 500 and 500 more of the same function. The test "
        "points are the same.",
    ),
}
