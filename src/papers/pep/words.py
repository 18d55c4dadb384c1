"""Words about the experiments: claims, introductions, captions."""

from __future__ import annotations

from typing import NamedTuple

HEADING = "Which claims of the Power-EP paper hold"
LEGEND = """\
Effects on SMSE are differences of its logarithm; the smallest effects that matter are 10^-3 nats (SMLL,
NLL, NLML a point), 0.1 % (SMSE), 0.1 of a rank and 5 percentage points of a share."""


class About(NamedTuple):
    """What tables and figures of one kind of experiments are called, and what is said before them."""

    stem: str
    title: str
    introduction: str


REGRESSION = About(
    "pep",
    "Power EP for sparse Gaussian-process regression",
    """\
Sections 4.1 and 4.2 of "A Unifying Framework for Gaussian Process Pseudo-Point Approximations using Power
Expectation Propagation" (Bui, Yan and Turner, JMLR 2017), computed afresh by the collapsed energy. α = 0 is
VFE, α = 1 is EP (FITC). All scores are better low.""",
)
CLASSIFICATION = About(
    "pep_classification",
    "Power EP for sparse Gaussian-process classification",
    """\
Section 4.3 of "A Unifying Framework for Gaussian Process Pseudo-Point Approximations using Power Expectation
Propagation" (Bui, Yan and Turner, JMLR 2017), computed afresh with converged sites and L-BFGS-B, where the
paper has unconverged sites, minibatches and Adam. α = 0 is the bound of Hensman et al. (2015), α = 1 is EP.
All scores are better low; ties, which are many in the error, are no wins.""",
)


def under(protocol: str) -> About:
    """`CLASSIFICATION` under a protocol; ``as-released`` has the plain names."""
    title = f"{CLASSIFICATION.title}, {protocol}"
    if protocol == "as-released":
        return CLASSIFICATION._replace(title=title)
    return CLASSIFICATION._replace(stem=f"{CLASSIFICATION.stem}_{protocol}", title=title)


CAPTIONS = {
    "figure3": (
        "Synthetic sets: mean of each score against the number of pseudo-points M, with its standard "
        "error over the sets; the full GP as a dashed line, its standard error as a band. NLML a training "
        "point. Lines are broken where the sets differ: hollow markers and the full GP beside them are of "
        "fewer sets."
    ),
    "figure4": (
        "UCI sets: experiments of two powers against each other (top and left method by name, below the "
        "diagonal the method of the y axis is better) and histograms of the differences. Every point is a "
        "data set, split and M; differences of SMSE are relative."
    ),
    "figure5": (
        "UCI sets: share of experiments in which the power of the row beats that of the column, and "
        "average ranks of all powers with their standard errors over splits."
    ),
    "figure6": (
        "Classification: experiments of two powers against each other (below the diagonal the method of the "
        "y axis is better) and histograms of the differences that are not zero. Every point is a data set, "
        "split and M; errors are shares of a few dozen test points, so that many points coincide."
    ),
    "figure7": (
        "Classification: share of experiments, without ties, in which the power of the row beats that of the "
        "column, and average ranks of all powers with their standard errors over splits."
    ),
    "figure8": (
        "Exact regression on the synthetic sets with the hyperparameters they were drawn with and with those "
        "of largest evidence: NLML of the training part, mean squared error and mean log loss on the test "
        "part. A dot is a set; on the dashed lines both are equal. Below: their differences."
    ),
    "figure9": (
        "Exact regression with 500 training points: mean squared error and mean log loss (minus the mean "
        "log-likelihood) of noisy targets on the training and on the test part of every synthetic set, with "
        "learned (dots) and with true hyperparameters (dashes). Dashed line: of the noise alone."
    ),
    "figure10": (
        "The same as figure 9 with 1000 training points: the 500 and 500 more of the same function. The test "
        "points are the same."
    ),
    "figure11": "Synthetic sets, SMLL: a thin line a set, the bold one their mean; last panel: all means.",
    "figure12": "Synthetic sets, SMSE: a thin line a set, the bold one their mean; last panel: all means.",
    "figure13": "Synthetic sets, NLML a training point: a thin line a set, the bold one their mean.",
    "figure14": "α = 0.5 against VFE, a row a UCI set: scores of every experiment, and their differences.",
    "figure15": "EP against VFE, a row a UCI set: scores of every experiment, and their differences.",
    "figure16": "α = 0.5 against EP, a row a UCI set: scores of every experiment, and their differences.",
    "figure17": "NLML a training point on the UCI sets: a thin line a split, the bold one their mean.",
    "figure18": (
        "NLML a training point on the UCI sets: mean over splits and its standard error; hollow: over fewer "
        "splits."
    ),
    "figure19": "SMSE on the UCI sets: a thin line a split, the bold one their mean.",
    "figure20": ("SMSE on the UCI sets: mean over splits and its standard error; hollow: over fewer splits."),
    "figure21": "SMLL on the UCI sets: a thin line a split, the bold one their mean.",
    "figure22": ("SMLL on the UCI sets: mean over splits and its standard error; hollow: over fewer splits."),
    "figure23": (
        "Pseudo-points of a made-up set in the plane: crosses where the search started, dots where it ended; "
        "lines are decision boundaries. The last panel: median distance of the pseudo-points to the boundary "
        "in units of the data's, a thin line a draw, searches that did not converge among them."
    ),
    "figure24": "α = 0.5 against VFE, a row a classification set: scores of every experiment, differences.",
    "figure25": "EP against VFE, a row a classification set: scores of every experiment, differences.",
    "figure26": "α = 0.5 against EP, a row a classification set: scores of every experiment, differences.",
    "figure27": "Test error: a thin line a split, the bold one their mean.",
    "figure28": "Test error: mean over splits and its standard error; hollow: over fewer splits.",
    "figure29": "NLL of the test labels: a thin line a split, the bold one their mean.",
    "figure30": (
        "NLL of the test labels: mean over splits and its standard error; hollow: over fewer splits."
    ),
    "figure33": (
        "Ionosphere: energy and test NLL of EP against the lengthscale, a colour a variance; lines: dense "
        "EP, dots: sparse EP with every training input a pseudo-input. Right: their differences, relative to "
        "the larger of 1 and dense EP's; equal numbers are counted in the legend."
    ),
}
