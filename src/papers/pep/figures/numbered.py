"""The figures of regressions and classifications by number: how each is drawn, and its caption."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from papers.pep.figures import Figure, curves, duels
from papers.pep.scores import ENDS, ERROR, NLL, NLML, SMLL, SMSE

if TYPE_CHECKING:
    from papers.core.comparisons import Score

A_SPLIT = "a thin line a split, the bold one their mean."
MEAN = "mean over splits and its standard error; hollow: over fewer splits."
A_SET = "a thin line a set, the bold one their mean"


def _synthetic(score: Score, caption: str) -> Figure:
    return Figure(partial(curves.synthetic_traces, score=score), f"Synthetic sets, {caption}")


def _pairs(first: int, kind: str, differences: str) -> dict[str, Figure]:
    """Return the figures of `duels.PAIRS`, numbered from ``first``."""
    figures = {}
    for number, pair in enumerate(duels.PAIRS, first):
        first_name, second_name = (ENDS.get(alpha, f"α = {alpha}") for alpha in pair)
        pair_text = f"{first_name} against {second_name}, a row a {kind} set"
        caption = f"{pair_text}: scores of every experiment, {differences}."
        drawn = partial(duels.by_dataset, first=pair[0], second=pair[1])
        figures[f"figure{number}"] = Figure(drawn, caption)
    return figures


def _scores(first: int, headings: Mapping[Score, str]) -> dict[str, Figure]:
    """Return two figures for each score, numbered from ``first``: a line for each split, and means."""
    kinds = ((curves.real_traces, A_SPLIT), (curves.real_means, MEAN))
    every = [
        (partial(draw, score=x), f"{heading}: {how}")
        for x, heading in headings.items()
        for draw, how in kinds
    ]
    return {f"figure{number}": Figure(*drawing) for number, drawing in enumerate(every, first)}


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
    **_pairs(14, "UCI", "and their differences"),
    **_scores(
        17,
        {
            NLML: "NLML a training point on the UCI sets",
            SMSE: "SMSE on the UCI sets",
            SMLL: "SMLL on the UCI sets",
        },
    ),
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
    **_pairs(24, "classification", "differences"),
    **_scores(27, {ERROR: "Test error", NLL: "NLL of the test labels"}),
}
