"""PEP9 and figure 33: comparison of sparse EP with dense EP for as many pseudo-points as data.

The data are one split of Ionosphere [Bui et al. 2017, appendix I.5], with pseudo-inputs at the distinct
training inputs, alpha = 1 and hyperparameters on a grid. Energy and test NLL are compared with those of EP on
the dense posterior, whose sites touch one function value each. Kuu has a relative jitter of `JITTER`, without
which long lengthscales make it singular. The differences are of the order of this jitter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.core import claims, metrics, style
from papers.core.study import Flag, Float, Integer, Study, Text
from papers.core.verdicts import Block
from papers.data import Dataset, regression
from papers.data import classification as data
from papers.pep import classification, looks
from papers.pep.limits import line_of
from papers.pep.looks import Figure
from tilted.inference.engine import infer
from tilted.inference.ep import EP
from tilted.inference.options import Options
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.likelihoods.probit import Probit
from tilted.posteriors.dense import Dense
from tilted.posteriors.sparse import Sparse

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from papers.core.study import Row

DATA, SPLIT, JITTER = "iono", 0, 1e-9
LENGTHSCALES = tuple(np.round(np.exp(np.linspace(0.0, 4.0, 9)), 6))
VARIANCES = tuple(np.round(np.exp(np.array([0.0, 2.0, 4.0, 6.0, 8.0])), 6))
QUANTITIES = ENERGY, NLL = ("energy", "NLL")
OPTIONS = Options(tolerance=1e-10)


# The experiment


def study(dataset: Dataset) -> Iterator[tuple[Study, Row]]:
    """Yield the rows of `DENSE` for the set `DATA`, lengthscale by lengthscale."""
    X, Xs, y, ys = classification.prepared(regression.parts(dataset, SPLIT))
    X, rows = np.unique(X, axis=0, return_index=True)
    y = y[rows]
    for lengthscale in LENGTHSCALES:
        for variance in VARIANCES:
            kernel = SquaredExponential(variance, lengthscale)
            (*dense, dense_converged), (*sparse, sparse_converged) = measured(kernel, X, y, Xs, ys)
            for quantity, a, b in zip(QUANTITIES, dense, sparse, strict=True):
                identity = (DATA, len(y), len(ys), JITTER, lengthscale, variance, quantity)
                values = (a, b, abs(a - b) / max(1.0, abs(a)), dense_converged and sparse_converged)
                yield DENSE, dict(zip(DENSE.columns, (*identity, *values), strict=True))


def measured(
    kernel: SquaredExponential, X: np.ndarray, y: np.ndarray, Xs: np.ndarray, ys: np.ndarray
) -> Iterator[tuple[float, float, bool]]:
    """Yield energy (nats), test NLL (nats a point) and whether EP converged, of dense and of sparse EP.

    Both train on X [N, D] and labels y [N], and are tested on Xs [N*, D] and ys [N*]. Every training input is
    a pseudo-input of sparse EP.
    """
    dense = infer(Dense.build(kernel.matrix(X)), Probit(), y, EP, OPTIONS)
    latent_of_dense = dense.state.predict(kernel.matrix(Xs, X), kernel.diagonal(Xs))
    posterior = Sparse.build(kernel, X, X, jitter=JITTER)
    sparse = infer(posterior, Probit(), y, EP, OPTIONS)
    latent_of_sparse = posterior.predict(sparse.state, Xs)
    for inference, latent in ((dense, latent_of_dense), (sparse, latent_of_sparse)):
        nll = metrics.negative_log_likelihood(Probit().log_predictive(ys, *latent))
        yield -inference.log_evidence, nll, inference.status.converged


# The record


@lru_cache(maxsize=1)
def load(mirror: str | None) -> Dataset:
    """Return the data of the study."""
    return data.load(DATA, data.RELEASED, mirror=mirror)


DENSE = Study(
    "pep/dense.csv",
    {
        "data": Text(),
        **dict.fromkeys(("n", "n_test"), Integer()),
        **dict.fromkeys(("jitter", "lengthscale", "variance"), Float(6)),
        "quantity": Text(),
        **dict.fromkeys(("dense", "sparse", "difference"), Float(6)),
        "converged": Flag(),
    },
    key=("data", "lengthscale", "variance", "quantity"),
    unit=("data",),
    group=("data",),
    together=("data",),
    seconds=0.5,
    repeat=lambda rows, source: study(load(source.mirror)),
)
"""A row is one of `QUANTITIES`; ``difference``: relative to the larger of 1 and the dense one."""


# The verdict

ACCURACY = claims.load()["PEP9"].margin["difference"]
TEST = f"largest relative difference at most {ACCURACY:g} on the whole grid; interval: smallest and largest"


def equal(frame: pd.DataFrame) -> list[Block]:
    """Judge PEP9 from rows of `DENSE`."""
    lines = []
    for quantity in QUANTITIES:
        pairs = frame[frame["quantity"] == quantity]
        sound = bool(pairs["converged"].all())
        note = f"{len(pairs)} pairs of hyperparameters, N = {pairs['n'].iloc[0]}"
        note += "" if sound else "; not all converged"
        lines.append(line_of(f"{quantity}, M = N", pairs["difference"], sound, note, ACCURACY))
    return [Block("direct computation", TEST, tuple(lines), best=-math.inf)]


# The figure

DOTS: dict[str, Any] = {"linestyle": "", "markersize": 3.0, "markeredgewidth": 0}


def draw(frame: pd.DataFrame, stem: Path) -> None:
    """Draw figure 33: both quantities against the lengthscale, and their differences."""
    with style.drawing(stem, (6.9, 2.6)) as figure:
        panels = figure.subplots(1, 3)
        for axes, quantity in zip(panels, QUANTITIES, strict=False):
            _curves(axes, frame[frame["quantity"] == quantity])
            axes.set_title("energy (nats)" if quantity == ENERGY else "test NLL (nats)")
        _differences(panels[2], frame)
        small = {"fontsize": 6.5, "title_fontsize": 6.5, "labelspacing": 0.2}
        panels[1].legend(title="variance", loc="lower right", **small)
        panels[2].legend(fontsize=6.5, loc="lower right")
        for axes in panels:
            axes.set(xscale="log", xlabel="lengthscale")
        n = int(frame["n"].iloc[0])
        figure.suptitle(f"Ionosphere, M = N = {n}: dense EP (lines) and sparse EP (dots)", fontsize=9.0)
        both = frame[frame["quantity"] == ENERGY]
        ended = f"{int((~both['converged']).sum())} of {len(both)} pairs of hyperparameters did not converge"
        looks.below(
            figure, f"one split, N* = {frame['n_test'].iloc[0]}, jitter {frame['jitter'].iloc[0]:g}; {ended}"
        )


def _curves(axes: Axes, pairs: pd.DataFrame) -> None:
    from matplotlib import colormaps

    groups = list(pairs.sort_values("lengthscale").groupby("variance"))
    for k, (variance, line) in enumerate(groups):
        colour = colormaps["plasma"](0.85 * k / max(len(groups) - 1, 1))
        axes.plot(line["lengthscale"], line["dense"], color=colour, linewidth=1.0)
        axes.plot(
            line["lengthscale"], line["sparse"], color=colour, label=f"{variance:.0f}", marker="o", **DOTS
        )


def _differences(axes: Axes, frame: pd.DataFrame) -> None:
    looks = ({"marker": "o", "markerfacecolor": "black"}, {"marker": "s", "markerfacecolor": "none"})
    for quantity, look in zip(QUANTITIES, looks, strict=True):
        pairs = frame[frame["quantity"] == quantity]
        positive = pairs[pairs["difference"] > 0]
        n_equal = len(pairs) - len(positive)
        dots: dict[str, Any] = DOTS | {"color": "black", "markeredgewidth": 0.6} | look
        dots["label"] = f"{quantity} ({n_equal} equal)" if n_equal else quantity
        axes.plot(positive["lengthscale"], positive["difference"], **dots)
    axes.axhline(ACCURACY, color=style.GREY, linestyle=(0, (4, 2)), linewidth=0.8)
    axes.set(yscale="log", title="relative difference")


FIGURES = {
    "figure33": Figure(
        draw,
        "Ionosphere: energy and test NLL of EP against the lengthscale, a colour a variance; lines: dense "
        "EP, dots: sparse EP with every training input a pseudo-input. Right: their differences, relative to "
        "the larger of 1 and dense EP's; equal numbers are counted in the legend.",
    ),
}
