"""PEP10 and figure 23: the positions of the pseudo-points on a made-up binary set in the plane.

The banana set in the paper [Bui et al. 2017, appendix I.3] has no licence that we know of. This set has two
interlocking crescents, with noise that lets them overlap:

    label +1:  (cos t, sin t),  label -1:  (1 - cos t, 1/2 - sin t),  t uniform on [0, pi], plus N(0, 0.3^2 I)

For each draw and power the pseudo-inputs are optimised from the same training inputs. The measure is their
median distance to the decision boundary, divided by the median distance of the data: 0 is on the boundary, 1
is as far as the data. Distances are in standardised inputs. The boundary (predictive probability 1/2) is cut
at the rectangle of the data. A probability near 1/2 is no measure: far from all data it is 1/2 too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from papers.core import claims, style
from papers.core.comparisons import Draft, higher, not_lower, similar, tested
from papers.core.study import Flag, Float, Integer, Study, Text
from papers.core.verdicts import Block
from papers.pep import classification, looks, scores
from papers.pep.looks import Figure
from tilted.learning.sparse import Fitted, maximise
from tilted.likelihoods.probit import Probit

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from matplotlib.axes import Axes

    from papers.core.comparisons import Rule
    from papers.core.study import Kind, Row, Source

ALPHAS, M, N, SEEDS = (0.0, 0.5, 1.0), 20, 400, 40
GRID, MAPPED_SEED = 121, 0
"""Points of the grid a side; the draw whose map is drawn."""


# The experiment


class Drawn(NamedTuple):
    """A fit of one draw with all values that are measured or drawn."""

    X: np.ndarray
    y: np.ndarray
    start: np.ndarray
    fitted: Fitted
    boundary: list[np.ndarray]


def fit(seed: int, alpha: float) -> Drawn:
    """Fit one draw of the set at one power."""
    X, y = classification.draw_banana(seed, N)
    X, _, y, _ = classification.prepared((X, X, y, y))
    problem, kernel, Z = classification.start(X, y, alpha, M, seed)
    fitted = maximise(problem, kernel, Z, classification.SEARCH)
    return Drawn(X, y, Z, fitted, boundary_of(fitted, X))


def boundary_of(fitted: Fitted, X: np.ndarray) -> list[np.ndarray]:
    """Return the pieces [k, 2] of the line of probability 1/2 inside the rectangle of ``X``."""
    from contourpy import contour_generator

    low, high = X.min(axis=0), X.max(axis=0)
    x, y = (np.linspace(low[d], high[d], GRID) for d in (0, 1))
    at = np.array(np.meshgrid(x, y)).reshape(2, -1).T
    mean = fitted.predict(at)[0].reshape(GRID, GRID)
    return cast("list[np.ndarray]", contour_generator(x, y, mean).lines(0.0))  # separate lines by default


def distances(points: np.ndarray, boundary: list[np.ndarray]) -> np.ndarray:
    """Return the distance [k] of points [k, 2] to the nearest piece; ArithmeticError without any piece."""
    if not boundary:
        raise ArithmeticError("no decision boundary inside the data")
    starts = np.vstack([line[:-1] for line in boundary])
    along = np.vstack([np.diff(line, axis=0) for line in boundary])
    lengths = np.maximum(np.sum(along**2, axis=1), np.finfo(float).tiny)
    offset = points[:, None] - starts
    share = np.clip(np.sum(offset * along, axis=2) / lengths, 0.0, 1.0)
    return np.min(np.linalg.norm(offset - share[:, :, None] * along, axis=2), axis=1)


def line_of(seed: int, alpha: float, drawn: Drawn) -> dict[str, Any]:
    """Return a row of `BANANA`."""
    fitted, X = drawn.fitted, drawn.X
    Z = fitted.posterior.pseudo.Z
    pseudo, data = (float(np.median(distances(points, drawn.boundary))) for points in (Z, X))
    within = np.all((X.min(axis=0) <= Z) & (X.max(axis=0) >= Z), axis=1)
    return {
        "seed": seed,
        "alpha": alpha,
        "m": len(Z),
        "n": len(X),
        "pseudo": pseudo,
        "data": data,
        "ratio": pseudo / data,
        "outside": int(np.sum(~within)),
        "energy": -fitted.inference.log_evidence,
        "error": float(np.mean(Probit().errors(drawn.y, *fitted.predict(X)))),
        "evaluations": fitted.status.evaluations,
        "converged": fitted.status.converged,
    }


def map_of(alpha: float, drawn: Drawn) -> Iterator[dict[str, Any]]:
    """Yield rows of `MAP`."""
    kinds = {"data": drawn.X, "start": drawn.start, "pseudo": drawn.fitted.posterior.pseudo.Z}
    for kind, points in kinds.items():
        labels = drawn.y if kind == "data" else np.zeros(len(points))
        for (x, y), label in zip(points, labels, strict=True):
            yield {"alpha": alpha, "kind": kind, "line": 0, "x": x, "y": y, "label": int(label)}
    for k, piece in enumerate(drawn.boundary):
        for x, y in piece:
            yield {"alpha": alpha, "kind": "boundary", "line": k, "x": x, "y": y, "label": 0}


# The records


def rows(seed: int, alpha: float) -> Iterator[tuple[Study, Row]]:
    """Yield the rows of a fit, with the map of `MAPPED_SEED`."""
    drawn = fit(seed, alpha)
    yield BANANA, line_of(seed, alpha, drawn)
    if seed == MAPPED_SEED:
        yield from ((MAP, row) for row in map_of(alpha, drawn))


def study() -> Iterator[tuple[Study, Row]]:
    """Yield the rows of `BANANA` and `MAP`."""
    for seed in range(SEEDS):
        for alpha in ALPHAS:
            yield from rows(seed, alpha)


def _repeat(fits: pd.DataFrame, source: Source) -> Iterator[tuple[Study, Row]]:
    """Repeat recorded fits."""
    for seed, alpha in zip(fits["seed"], fits["alpha"], strict=True):
        yield from rows(int(seed), alpha)


def _kind(row: Row) -> Kind:
    """Return the kind of a row: at power 1 the energy hardly depends on where some pseudo-points are."""
    return "chaotic" if row["alpha"] == 1 else "optimum"


STEP, COVERING = (claims.load()["PEP10"].margin[name] for name in ("ratio", "covering"))
"""A fall of the ratio along alpha that matters; its largest distance from 1 if points cover the data."""

BANANA = Study(
    "pep/banana.csv",
    {
        "seed": Integer(),
        "alpha": Float(6),
        "m": Integer(),
        "n": Integer(),
        # the energy hardly depends on where some pseudo-points are: what matters to the claim
        **dict.fromkeys(("pseudo", "data", "ratio"), Float(6, tolerance=STEP)),
        "outside": Integer(compared=False),
        "energy": Float(6, tolerance=0.01),
        "error": Float(6, tolerance=0.01, share=True),
        "evaluations": Integer(compared=False),
        "converged": Flag(),
    },
    key=("alpha", "seed"),
    kind=_kind,
    objective="-energy",
    group=("alpha",),
    together=("seed",),
    seconds=1.0,
    repeat=_repeat,
)
"""A row is a fit. ``pseudo``, ``data``: median distance to the boundary; ``outside``: pseudo-points outside
the data's rectangle; ``error``: share of wrong training labels."""

MAP = Study(
    "pep/banana_map.csv",
    {
        "alpha": Float(6),
        "kind": Text(),
        "line": Integer(),
        "x": Float(6),
        "y": Float(6),
        "label": Integer(signed=True),
    },
    key=("alpha", "kind", "line", "x", "y"),
    kind=lambda row: "chaotic" if row["alpha"] == 1 else "exact",
    unit=("alpha",),
    group=("alpha",),
)
"""A row is a point of draw `MAPPED_SEED`. ``kind``: data (``label`` -1 or +1), start, pseudo, or boundary,
with ``line`` the number of its piece."""


# The verdict

RATIO = "ratio: median distance to the boundary, pseudo-points / data"
TEST = (
    "t over draws, Holm; steps: 95 % interval against minus the smallest effect that matters; "
    f"covering: two one-sided t tests against 1 ± {COVERING:g}"
)


def moved(frame: pd.DataFrame) -> list[Block]:
    """Judge PEP10 from rows of `BANANA`; draws are independent, so both estimands are the same."""
    ratios = frame.pivot(index="seed", columns="alpha", values="ratio").dropna()
    low, middle, high = (ratios[alpha].to_numpy(float) for alpha in ALPHAS)
    drafts = [
        _draft("α = 0 nearer than the data", 1.0 - low, higher, STEP, "1 - ratio at α = 0"),
        _draft("α = 1 further than α = 0", high - low, higher, STEP, "difference of ratios"),
        _draft("0.5 not nearer than 0", middle - low, not_lower, STEP, "difference of ratios"),
        _draft("1 not nearer than 0.5", high - middle, not_lower, STEP, "difference of ratios"),
        _draft("α = 1 covers the data", high - 1.0, similar, COVERING, "ratio at α = 1 - 1"),
    ]
    remarks = [
        f"{len(ratios)} draws, M = {frame['m'].iloc[0]}, N = {frame['n'].iloc[0]}",
        stopped(frame),
        RATIO,
        f"mean ratio {_by_power(frame, 'ratio')}",
        f"mean number of pseudo-points outside the data's rectangle {_by_power(frame, 'outside')}",
    ]
    return [Block("where pseudo-points end", TEST, tuple(tested(drafts)), "; ".join(remarks))]


def _draft(row: str, units: np.ndarray, judge: Rule, margin: float, quantity: str) -> Draft:
    return Draft(row, quantity, "factor", units, units, margin, judge, len(units), of="draw")


def stopped(frame: pd.DataFrame) -> str:
    """Return text: how many searches did not converge, by power."""
    counts = frame.groupby("alpha")["converged"].agg(["sum", "size"]).itertuples()
    return f"not converged: {', '.join(f'{n - ok} of {n} at α = {alpha:g}' for alpha, ok, n in counts)}"


def _by_power(frame: pd.DataFrame, column: str) -> str:
    means = frame.groupby("alpha")[column].mean()
    return ", ".join(f"{value:.2f} at α = {alpha:g}" for alpha, value in means.items())


# The figure


def draw(frame: pd.DataFrame, points: pd.DataFrame, stem: Path) -> None:
    """Draw figure 23 from `BANANA` and `MAP`: a panel for each power, and the distances of all draws."""
    powers = sorted(points["alpha"].unique())
    with style.drawing(stem, (6.9, 2.5)) as figure:
        panels = figure.subplots(1, len(powers) + 1, width_ratios=[1.0] * len(powers) + [0.75])
        for axes, alpha in zip(panels, powers, strict=False):
            _panel(axes, points[points["alpha"] == alpha])
            axes.set_title(scores.label(f"{alpha:g}"))
        _distances(panels[-1], frame)
        sizes = f"N = {frame['n'].iloc[0]}, M = {frame['m'].iloc[0]}"
        figure.suptitle(f"Pseudo-points and decision boundary of a made-up set, {sizes}", fontsize=9.0)
        subtitle = f"draw {MAPPED_SEED} of {frame['seed'].nunique()}, and the distances of all"
        looks.below(figure, f"{subtitle}; searches {stopped(frame)}")


def _panel(axes: Axes, points: pd.DataFrame) -> None:
    kinds = ("data", "start", "pseudo", "boundary")
    data, start, pseudo, boundary = (points[points["kind"] == kind] for kind in kinds)
    dots: dict[str, Any] = {"linestyle": "", "marker": "."}
    for label, colour in ((1, style.ORANGE), (-1, style.BLUE)):
        of_class = data[data["label"] == label]
        axes.plot(of_class["x"], of_class["y"], color=colour, alpha=0.35, markersize=2.5, **dots)
    for _, line in boundary.groupby("line", sort=False):
        axes.plot(line["x"], line["y"], color="black", linewidth=0.9)
    axes.plot(start["x"], start["y"], color=style.GREY, markersize=3.0, **dots | {"marker": "x"})
    ended = dots | {"marker": "o", "markeredgewidth": 0.6, "markeredgecolor": "white"}
    axes.plot(pseudo["x"], pseudo["y"], color="black", markersize=4.0, **ended)
    low, high = data[["x", "y"]].min() - 0.3, data[["x", "y"]].max() + 0.3
    inside = ((pseudo[["x", "y"]] >= low) & (pseudo[["x", "y"]] <= high)).all(axis=1)
    axes.set(xlim=(low["x"], high["x"]), ylim=(low["y"], high["y"]), xticks=[], yticks=[])
    looks.outside(axes, int((~inside).sum()), 0.03)


def _distances(axes: Axes, frame: pd.DataFrame) -> None:
    for _, line in frame.sort_values("alpha").groupby("seed"):
        axes.plot(line["alpha"], line["ratio"], color=style.LIGHT, linewidth=0.7, zorder=1)
    means = frame.groupby("alpha")["ratio"].mean()
    axes.plot(means.index, means, color="black", marker="o", markersize=3.5, linewidth=1.2)
    axes.axhline(1.0, color=style.GREY, linestyle=(0, (4, 2)), linewidth=0.7)
    axes.set(xlabel="α", title="distance / data's", xticks=sorted(frame["alpha"].unique()))
    axes.set_ylim(bottom=0.0)


FIGURES = {
    "figure23": Figure(
        draw,
        "Pseudo-points of a made-up set in the plane: crosses where the search started, dots where it ended; "
        "lines are decision boundaries. The last panel: median distance of the pseudo-points to the boundary "
        "in units of the data's, a thin line a draw, searches that did not converge among them.",
    ),
}
