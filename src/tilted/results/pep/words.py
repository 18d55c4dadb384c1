"""Words about the experiments: claims, introductions, captions."""

from __future__ import annotations

from typing import NamedTuple

TITLES = {
    "PEP1": "as M grows the sparse methods approach the full GP (SMSE, SMLL)",
    "PEP2": "α = 0.8 and 1 overestimate the evidence at M between, much less at M = N",
    "PEP3": "an α of 0.5 to 0.8 predicts best on average (synthetic sets)",
    "PEP4": "who wins on SMSE: α = 0.5 over VFE and EP, VFE over EP",
    "PEP5": "who wins on SMLL: EP over VFE and α = 0.5, this over VFE",
    "PEP6": "ranks: α = 0.5 (SMSE), 0.8 (SMLL) best; EP and VFE, VFE worst",
    "PEP7": "classification: no clear winner; NLL: α = 0.5 over EP",
    "PEP8": "α = 1 is FITC, α to 0 is VFE, one pass converges (Gaussian noise)",
    "PEP9": "M = N, α = 1 is dense EP: evidence and test NLL (ionosphere)",
    "PEP10": "pseudo-points go from the boundary (VFE) to covering the data (EP)",
    "PEP11": "even against odd digits by minibatches (no outcome stated)",
}

MEANINGS = {
    "PEP1": (
        "Holds: for every power and both scores the distance to the full GP on the same synthetic set is "
        "significantly smaller at the largest M than at the smallest, and on no step of M grows by more "
        "than 1e-3 nats (SMLL) or 0.1 % (SMSE). Effects: decrease of the distance."
    ),
    "PEP2": (
        "Holds: for both powers the full GP's NLML is significantly above the sparse one at the M between "
        "the smallest and N where the mean excess is largest, and the excess at M = N is significantly "
        "below half of that. NLML in nats a training point."
    ),
    "PEP3": (
        "Holds: for both scores, the best of the powers from 0.5 to 0.8 is significantly better than VFE "
        "and EP, and not worse than any other outside the range by an amount that matters. A set's score "
        "is its mean over M."
    ),
    "PEP4": (
        "Holds: each printed winner wins significantly more than half of the experiments (data set, "
        "split, M) of the UCI sets. Whether the share is the printed one stands beside."
    ),
    "PEP5": "The same as PEP4, for SMLL.",
    "PEP6": (
        "Holds: no other power has an average rank lower by more than 0.1 than the one said to be best, "
        "and those said to be worst have significantly higher ranks than every other."
    ),
    "PEP8": (
        "Holds: evidence and predictions agree with the dense formulas of FITC and VFE to 1e-8, "
        "differences fall in proportion to α towards VFE, and one pass of the printed procedure (appendix "
        "F.4) reaches the fixed point to 1e-8. For α < 1 the printed step moves a fraction α of the way "
        "only; with the full step one pass is enough at every power, which stands beside."
    ),
    "PEP7": (
        "Holds: α = 0.5 wins significantly more than half of the experiments (data set, split, M) against EP "
        "on NLL, and for the other pairs of α = 0.5, VFE and EP, on NLL and on test error, the share won is "
        "shown to be within 15 points of a half. The paper calls 65 to 35 a narrow margin, so a clear winner "
        "wins more. Ties, which are many in the error, are counted apart."
    ),
    "PEP9": (
        "Holds: energy and test NLL of sparse EP with every training input a pseudo-input equal those of EP "
        "on the dense posterior to 10^-6, relatively to the larger of 1 and the dense one, at every pair of "
        "hyperparameters of a grid."
    ),
    "PEP10": (
        "Holds: on draws of a made-up set, the median distance of the pseudo-points to the decision "
        "boundary, in units of the data's, is significantly below 1 at α = 0, significantly larger at α = 1, "
        "not smaller at 0.5 than at 0 nor at 1 than at 0.5 by more than 0.1, and at 1 not below the data's "
        "by more than a quarter. Beside it: whether at 1 it is not above the data's by more than a quarter "
        "either. Pseudo-points far outside the data pass the first and fail the second."
    ),
    "PEP11": (
        "The paper shows how errors and log-likelihood fall with time for M = 100 and 200, and says nothing "
        "about it, so no verdict is possible; our curves are figures 31 and 32, our numbers in pep_mnist.md. "
        "Beside it: section 3.9 says that with minibatches Power EP is as scalable as variational "
        "inference. That holds if for every M and power, at the same seeds, the seconds until 5 % and 3 % "
        "errors are at most 1.5 times those of α = 0 (median over seeds, of which there are two or more)."
    ),
}

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
