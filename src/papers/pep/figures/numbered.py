"""The figures of regressions and classifications by the paper's numbers: how each is drawn, its caption."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.pep.figures import curves, duels
from papers.pep.scores import ERROR, NLL, NLML, SMLL, SMSE, is_classification

if TYPE_CHECKING:
    import pandas as pd

    from papers.evidence.comparisons import Score


class Figure(NamedTuple):
    """How a figure is drawn (fits, stem; nothing where there is nothing to draw) and its caption."""

    draw: Callable[[pd.DataFrame, Path], None]
    caption: str


A_SPLIT = "a thin line a split, the bold one their mean."
MEAN = "mean over splits and its standard error; hollow: over fewer splits."
A_SET = "a thin line a set, the bold one their mean"


def _synthetic(score: Score, caption: str) -> Figure:
    return Figure(partial(curves.synthetic_traces, score=score), f"Synthetic sets, {caption}")


def _traces(score: Score, caption: str) -> Figure:
    return Figure(partial(curves.real_traces, score=score), caption)


def _means(score: Score, caption: str) -> Figure:
    return Figure(partial(curves.real_means, score=score), caption)


def _pair(number: int, caption: str) -> Figure:
    """Of `duels.PAIRS`."""
    first, second = duels.PAIRS[number]
    return Figure(partial(duels.by_dataset, first=first, second=second), caption)


REGRESSION = {
    "figure3": Figure(
        curves.synthetic_means,
        "Synthetic sets: mean of each score against the number of pseudo-points M, with its standard "
        "error over the sets; the full GP as a dashed line, its standard error as a band. NLML a training "
        "point. Lines are broken where the sets differ: hollow markers and the full GP beside them are of "
        "fewer sets.",
    ),
    "figure4": Figure(
        duels.overview,
        "UCI sets: experiments of two powers against each other (top and left method by name, below the "
        "diagonal the method of the y axis is better) and histograms of the differences. Every point is a "
        "data set, split and M; differences of SMSE are relative.",
    ),
    "figure5": Figure(
        duels.ranking,
        "UCI sets: share of experiments in which the power of the row beats that of the column, and "
        "average ranks of all powers with their standard errors over splits.",
    ),
    "figure11": _synthetic(SMLL, f"SMLL: {A_SET}; last panel: all means."),
    "figure12": _synthetic(SMSE, f"SMSE: {A_SET}; last panel: all means."),
    "figure13": _synthetic(NLML, f"NLML a training point: {A_SET}."),
    "figure14": _pair(
        0, "α = 0.5 against VFE, a row a UCI set: scores of every experiment, and their differences."
    ),
    "figure15": _pair(
        1, "EP against VFE, a row a UCI set: scores of every experiment, and their differences."
    ),
    "figure16": _pair(
        2, "α = 0.5 against EP, a row a UCI set: scores of every experiment, and their differences."
    ),
    "figure17": _traces(NLML, f"NLML a training point on the UCI sets: {A_SPLIT}"),
    "figure18": _means(NLML, f"NLML a training point on the UCI sets: {MEAN}"),
    "figure19": _traces(SMSE, f"SMSE on the UCI sets: {A_SPLIT}"),
    "figure20": _means(SMSE, f"SMSE on the UCI sets: {MEAN}"),
    "figure21": _traces(SMLL, f"SMLL on the UCI sets: {A_SPLIT}"),
    "figure22": _means(SMLL, f"SMLL on the UCI sets: {MEAN}"),
}
CLASSIFICATION = {
    "figure6": Figure(
        duels.overview,
        "Classification: experiments of two powers against each other (below the diagonal the method of the "
        "y axis is better) and histograms of the differences that are not zero. Every point is a data set, "
        "split and M; errors are shares of a few dozen test points, so that many points coincide.",
    ),
    "figure7": Figure(
        duels.ranking,
        "Classification: share of experiments, without ties, in which the power of the row beats that of the "
        "column, and average ranks of all powers with their standard errors over splits.",
    ),
    "figure24": _pair(
        0, "α = 0.5 against VFE, a row a classification set: scores of every experiment, differences."
    ),
    "figure25": _pair(
        1, "EP against VFE, a row a classification set: scores of every experiment, differences."
    ),
    "figure26": _pair(
        2, "α = 0.5 against EP, a row a classification set: scores of every experiment, differences."
    ),
    "figure27": _traces(ERROR, f"Test error: {A_SPLIT}"),
    "figure28": _means(ERROR, f"Test error: {MEAN}"),
    "figure29": _traces(NLL, f"NLL of the test labels: {A_SPLIT}"),
    "figure30": _means(NLL, f"NLL of the test labels: {MEAN}"),
}
CAPTIONS: Mapping[str, str] = {name: figure.caption for name, figure in (REGRESSION | CLASSIFICATION).items()}


def write(fits: pd.DataFrame, folder: Path) -> None:
    """Draw every figure there are fits for."""
    figures = CLASSIFICATION if is_classification(fits) else REGRESSION
    for name, figure in figures.items():
        figure.draw(fits, folder / name)
