"""The figures of the relaxed-EP paper: the rows that each needs, how it is drawn, and its caption."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.rep.figures import blobs, points, real
from papers.rep.records import BOUNDARY, CURVES, EXACT, FITS, POINTS

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study


class Figure(NamedTuple):
    """A figure.

    Attributes
    ----------
    studies : tuple of Study
    select : callable
        Rows of the first study -> those that are drawn; without any there is no figure.
    draw : callable
        (selected rows, all rows of the other studies, path without a suffix) -> None.
    caption : str
    """

    studies: tuple[Study, ...]
    select: Callable[[pd.DataFrame], pd.DataFrame]
    draw: Callable[..., None]
    caption: str


_SCORED = "Runs that did not converge are scored at their last proper posterior and never left out; "
FIGURES = {
    "figure1": Figure(
        (POINTS,),
        points.of_base,
        points.base,
        "Five points, one mislabelled (base set). (a) Decision boundaries of the posterior means, each "
        "reading of REP at the c with the smallest error of the mean among runs that converged, which no "
        "user could choose, and below how far each is turned from the exact one. (b) to (e) Mean squared "
        "errors of mean and covariance against u and c; crosses are runs that did not converge, at their "
        "last proper posterior.",
    ),
    "figure1_sets": Figure(
        (POINTS,),
        points.of_random_sets,
        points.over_sets,
        "Random sets of five points. Errors of mean and covariance divided by EP's on the same set: median "
        "and quartiles over all sets, runs that did not converge counted with their last proper posterior; "
        "the lowest panels say on what share of the sets that is so, by outcome.",
    ),
    "figure2": Figure(
        (BOUNDARY,),
        blobs.mapped,
        blobs.maps,
        "Made-up set, 20 % of the training labels flipped, one training set, that on which parameters were "
        "chosen, where nearly every run converges (figure 4 has all sets). Probability that the true label "
        "is +1, with the boundary where it is a half and that of the best classifier; each method "
        "with the parameter and the lengthscale ℓ that its cross-validation chose. A title says whether the "
        "run converged (orange: it did not) and after how many sweeps; a method that failed has no panel.",
    ),
    "figure3": Figure(
        (CURVES, FITS),
        blobs.followed,
        blobs.changes,
        "Made-up set, one training set a rate of flips, that on which parameters were chosen (figure 4 has "
        "all sets). Change of the weights in each sweep until the run converged, diverged or used up its "
        "sweeps, as the mark at its end says. Damping halves the change by itself; runs by the engine have "
        "another measure and are not shown.",
    ),
    "figure4": Figure(
        (FITS,),
        blobs.of_blobs,
        blobs.scores,
        "Made-up set. (a) Sweeps, with the mean over runs that converged (those of the engine are parallel, "
        "to a tolerance on another measure); a cross stands at the last whole sweep; (b) runs that did not "
        "converge, by outcome; (c) test errors, with the mean over all scored runs. A dot is a training "
        f"set. {_SCORED}a failed run has no score.",
    ),
    "figure5": Figure(
        (FITS,),
        real.of_sets,
        real.benchmarks,
        "Test errors on the UCI sets. Above: mean over splits and its 95 % interval, splits taken as "
        "independent. Below: difference from EP's on the same splits with the same interval and, pale, that "
        f"of the corrected resampled t test, for another sample. {_SCORED}the numbers beside a method count "
        "runs by outcome, failed runs having no score.",
    ),
    "figure6": Figure(
        (FITS,),
        real.of_spam,
        real.spam,
        "Spam with flipped labels in the training and the test part. From above: mean test error with its "
        "95 % interval over splits; difference from EP's on the same splits with the same interval (splits "
        "taken as independent); share of runs that did not converge. Markers are shifted sideways to be "
        f"told apart. {_SCORED}failed runs have no score and count as not converged.",
    ),
    "figure_exact": Figure(
        (EXACT,),
        lambda rows: rows,
        blobs.exact,
        "Methods beside the exact posterior of a training set of the made-up set (elliptical slice "
        "sampling), all with EP's lengthscale. Errors of the latent marginals at the training points; grey "
        "is what the sampler's error alone would give the means. Crosses did not converge; a failed run has "
        "no mark.",
    ),
}
"""In order."""

CAPTIONS = {name: figure.caption for name, figure in FIGURES.items()}


def draw(
    frames: Mapping[Study, pd.DataFrame], folder: str | Path, names: Collection[str] = tuple(FIGURES)
) -> None:
    """Draw figures, by default all, for which there are rows; ``frames`` has the rows of each study."""
    for name in names:
        figure = FIGURES[name]
        rows, *of_others = (frames[study] for study in figure.studies)
        selected = figure.select(rows) if len(rows) else rows
        if len(selected):
            figure.draw(selected, *of_others, Path(folder, name))
