"""The committed records of the relaxed-EP paper (`papers.evidence.study`), and how fits are folded into them.

`FITS`: one method on one split: score of the test part, outcome, and ``chosen_on``, the split whose training
part chose the parameters. `CURVES`: change of the weights sweep by sweep, of fits on the made-up set.
`CHOICES`: cross-validated scores of every lengthscale and parameter. `POINTS`: errors on sets of five points;
`EPSILONS`: on the base set under likelihoods of other error rates.
`EXACT`: methods beside the exact posterior of 400 points. `BOUNDARY`: predictive probabilities on a grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence import records, study
from papers.evidence.merge import Change, collected
from papers.evidence.study import Study
from papers.rep import boundary, exact, points, rerun
from papers.rep.fits import BLOBS, FAILED
from tilted.inference.textbook import OUTCOMES

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

FIT = ("dataset", "flips", "chosen_on", "split", "method")
TRIED = ("dataset", "flips", "split", "method", "value", "lengthscale")
FITTED = tuple(
    "value lengthscale epsilon n_train n_test outcome sweeps negative_sites error nll seconds reason".split()
)
SCORES = {"value": 6, "lengthscale": 8, "error": 8, "nll": 8, "seconds": 3}
COUNTS = tuple(f"n_{outcome}" for outcome in (*OUTCOMES, FAILED))
EXACTLY = study.EXACT


def _fit_rules(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    failed = frame["outcome"] == FAILED
    return (
        (~frame["outcome"].isin((*OUTCOMES, FAILED)), "unknown outcome"),
        (frame["error"].isna() != failed, "scores do not agree with the outcome"),
    )


def _point_rules(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    return ((~frame["outcome"].isin(OUTCOMES), "unknown outcome"),)


FITS = Study(
    "rep/fits.csv.gz",
    (*FIT, *FITTED),
    FIT,
    {"flips": EXACTLY, "epsilon": EXACTLY, **SCORES},
    ("dataset", "method", "outcome", "reason"),
    order=FIT,
    group=("dataset", "flips", "method"),
    rules=_fit_rules,
    again=rerun.again_fits,
)
CURVES = Study(
    "rep/curves.csv.gz",
    (*FIT, "sweep", "change"),
    (*FIT, "sweep"),
    {"flips": EXACTLY, "change": 4},
    ("dataset", "method"),
    order=(*FIT, "sweep"),
    unit=FIT,
    group=("dataset", "flips", "method"),
    again=rerun.again_curves_from(FITS),
)
CHOICES = Study(
    "rep/choices.csv.gz",
    (*TRIED, "error", "nll", *COUNTS, "seconds"),
    TRIED,
    {"flips": EXACTLY, **SCORES},
    ("dataset", "method"),
    order=TRIED,
    group=("dataset", "flips", "method"),
    again=rerun.again_choices,
)
POINTS = Study(
    "rep/points.csv.gz",
    points.COLUMNS,
    ("set", "method", "value"),
    {"value": EXACTLY, "mean_error": 6, "covariance_error": 6, "mean_0": 6, "mean_1": 6, "seconds": 3},
    ("method", "outcome"),
    order=("set", "method", "value"),
    group=("method",),
    rules=_point_rules,
    again=rerun.again_points,
)
EPSILONS = Study(
    "rep/epsilons.csv.gz",
    ("epsilon", *POINTS.columns),
    ("epsilon", *POINTS.key),
    {"epsilon": EXACTLY, **POINTS.digits},
    POINTS.text,
    order=("epsilon", *POINTS.order),
    group=("epsilon",),
    rules=_point_rules,
    again=rerun.again_points,
)
EXACT = Study(
    "rep/exact.csv.gz",
    exact.COLUMNS,
    ("flips", "split", "method"),
    {"flips": EXACTLY, "value": EXACTLY, **dict.fromkeys(exact.MEASURED, 5)},
    ("method", "outcome"),
    order=("flips", "split", "method"),
    group=("flips",),
    again=rerun.again_exact,
)
BOUNDARY = Study(
    "rep/boundary.csv.gz",
    boundary.COLUMNS,
    ("flips", "split", "method", "x", "y"),
    {**dict.fromkeys(("flips", "value", "x", "y", "probability"), EXACTLY), "lengthscale": 8},
    ("method", "outcome"),
    order=("flips", "split", "method", "x", "y"),
    group=("flips", "method"),
    again=rerun.again_boundary,
)
STUDIES = (FITS, CURVES, CHOICES, POINTS, EPSILONS, EXACT, BOUNDARY)


def fold_fits(paths: Iterable[str | Path], folder: str | Path) -> dict[str, Change]:
    """Fold files of `FITS` in, and the curves that come with them, both records or none.

    Parameters
    ----------
    paths, folder : as `papers.evidence.records.fold_in`

    Raises
    ------
    RecordError
        A damaged file or record; nothing is written then.
    """
    paths = list(paths)
    fits = collected(FITS, paths, lambda fit: [fit])
    return records.replace_units(
        folder, {FITS: fits, CURVES: collected(CURVES, paths, _curve)}, settle=_settle
    )


def _curve(fit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if fit["dataset"] == BLOBS:
        for sweep, change in enumerate(fit["changes"], start=1):
            yield {**fit, "sweep": sweep, "change": change}


def _settle(frames: dict[Study, pd.DataFrame]) -> None:
    """Keep the lines of sweeps that the fits have: one made anew may have failed, or be the older one."""
    curves, fits, fit = frames[CURVES], frames[FITS], list(FIT)
    last = curves[fit].merge(fits[[*fit, "sweeps"]], on=fit, how="left")["sweeps"].to_numpy()
    frames[CURVES] = curves[curves["sweep"].to_numpy() <= last]
