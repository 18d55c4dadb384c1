"""The committed records of the relaxed-EP paper (`papers.core.study`).

`FITS`: one method on one split: score of the test rows, outcome, and ``chosen_on``, the split whose training
rows chose the parameters. `CURVES`: change of the weights sweep by sweep, of fits on the made-up set.
`CHOICES`: cross-validated scores of every lengthscale and parameter. `POINTS`: errors on sets of five points;
`EPSILONS`: on the base set under likelihoods of other error rates.
`EXACT`: methods against the exact posterior of 400 points. `BOUNDARY`: predictive probabilities on a grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from papers.core.study import EXACT as EXACTLY
from papers.core.study import Float, Integer, Study, Text, one_test_point, seconds
from papers.data import relaxed
from papers.rep import boundary, cross_validation, exact, fits, points
from papers.rep.fits import BLOBS, FAILED
from tilted.inference.textbook import DIVERGED, OUTCOMES, UNSETTLED

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Kind, Row, Source
    from papers.data import Dataset

    Pairs = Iterator[tuple[Study, Row]]

FIT = ("dataset", "flips", "chosen_on", "split", "method")
"""Columns that name a fit."""

TRIED = ("dataset", "flips", "split", "method", "value", "lengthscale")
COUNTS = tuple(f"n_{outcome}" for outcome in (*OUTCOMES, FAILED))
ERROR, NLL = Float(8, tolerance=one_test_point, share=True), Float(8, tolerance=1e-3)
"""Scores of a fit are compared to one test point and a thousandth of a nat."""


def _outcome_rules(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    yield ~frame["outcome"].isin((*OUTCOMES, FAILED)), "unknown outcome"


def _fit_rules(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    yield from _outcome_rules(frame)
    yield frame["error"].isna() != (frame["outcome"] == FAILED), "scores do not agree with the outcome"


def _end(row: Row) -> Kind:
    """Return the kind of a row: iterates that do not come to rest are not the same on every processor."""
    return "chaotic" if row["outcome"] in (DIVERGED, UNSETTLED) else "exact"


CHAOTIC = {"ep-engine": 50, "rep-engine": 50, "rep-as-described": 1}
"""Method -> sweeps after which the last bit of a lengthscale decides where a run ends."""


def _end_of_fit(row: Row) -> Kind:
    """Return the kind of a fit: those of `CHAOTIC` methods too depend on rounding."""
    return "chaotic" if row["sweeps"] > CHAOTIC.get(row["method"], row["sweeps"]) else _end(row)


def rows_of_fit(record: Mapping[str, Any]) -> Pairs:
    """Yield the row of a fit, and on the made-up set its curve."""
    yield FITS, record
    if record["dataset"] == BLOBS:
        for sweep, change in enumerate(record["changes"], start=1):
            yield CURVES, {**record, "sweep": sweep, "change": change}


# Rows are repeated at the recorded lengthscale and value; the exact posterior is sampled again.

ROUNDING = 1e-4
"""Largest relative difference between a lengthscale of the grid and its rounded value in a file."""


def _repeat_fits(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat fits with their recorded parameters."""
    for row in rows.to_dict("records"):
        dataset, flips, split, method, value, lengthscale = (row[name] for name in TRIED)
        split_data = fits.parts_of(dataset, split, flips, _data(dataset, source.mirror))
        lengthscale = _unrounded(lengthscale, split_data[0].shape[1])
        epsilon, most = fits.epsilon_of(dataset, flips), fits.max_sweeps_of(dataset)
        fit = fits.run_cell(split_data, method, value, lengthscale, epsilon, most)
        yield from rows_of_fit({**{name: row[name] for name in FIT}, **fit})


def _repeat_choices(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat the cross-validated scores of methods at one lengthscale and value."""
    for row in rows.to_dict("records"):
        dataset, flips, split = (row[name] for name in TRIED[:3])
        X, _, y, _ = fits.parts_of(dataset, split, flips, _data(dataset, source.mirror))
        pair, lengthscale = (row["method"], row["value"]), _unrounded(row["lengthscale"], X.shape[1])
        epsilon = fits.epsilon_of(dataset, flips)
        scores = cross_validation.cross_validated(X, y, split, lengthscale, epsilon, [pair])
        yield CHOICES, {**row, **scores[pair]}


def _repeat_points(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat methods on sets of five points; rows with an error rate are of `EPSILONS`."""
    for row in rows.to_dict("records"):
        epsilon = row.get("epsilon", points.EPS)
        repeated = points.line_of(row["set"], row["method"], row["value"], epsilon)
        yield EPSILONS if "epsilon" in row else POINTS, {**row, **repeated}


def _repeat_exact(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat methods against the exact posterior, sampled (a minute) once for each training set."""
    for row in rows.to_dict("records"):
        settings = (row[name] for name in ("method", "value", "chains", "iterations"))
        lengthscale = _unrounded(row["lengthscale"], 2)
        yield EXACT, {**row, **exact.line_of(row["flips"], row["split"], lengthscale, *settings)}


def _repeat_boundary(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat the probabilities at places of a picture; each inference runs once for all its places."""
    picture = ["flips", "split", "method", "value", "lengthscale"]
    for (flips, split, method, value, lengthscale), of_picture in rows.groupby(picture, dropna=False):
        settings = (None, None) if method == boundary.BAYES else (value, _unrounded(lengthscale, 2))
        places = of_picture[["x", "y"]].to_numpy()
        drawn = boundary.picture_of(places, flips, split, method, *settings)
        for row, probability in zip(of_picture.to_dict("records"), drawn.probability, strict=True):
            end = {"outcome": drawn.outcome, "sweeps": drawn.sweeps, "probability": probability}
            yield BOUNDARY, {**row, **end}


@lru_cache(maxsize=4)
def _data(name: str, mirror: str | None) -> Dataset | None:
    return None if name == fits.BLOBS else relaxed.load(name, mirror=mirror)


def _unrounded(lengthscale: float, n_features: int) -> float:
    """Return the lengthscale of the grid of choices that a file holds with fewer digits."""
    nearest = min(cross_validation.lengthscales(n_features), key=lambda tried: abs(tried - lengthscale))
    return nearest if abs(nearest - lengthscale) <= ROUNDING * nearest else lengthscale


FITS = Study(
    "rep/fits.csv.gz",
    {
        "dataset": Text(),
        "flips": Float(EXACTLY),
        "chosen_on": Integer(),
        "split": Integer(),
        "method": Text(),
        "value": Float(6),
        "lengthscale": Float(8),
        "epsilon": Float(EXACTLY),
        "n_train": Integer(),
        "n_test": Integer(),
        "outcome": Text(),
        "sweeps": Integer(),
        "negative_sites": Integer(),
        "error": ERROR,
        "nll": NLL,
        "seconds": seconds(),
        "reason": Text(),
    },
    key=FIT,
    order=FIT,
    group=("dataset", "flips", "method"),
    checks=_fit_rules,
    kind=_end_of_fit,
    together=FIT[:-1],
    repeat=_repeat_fits,
)
CURVES = Study(
    "rep/curves.csv.gz",
    {**{name: FITS.columns[name] for name in FIT}, "sweep": Integer(), "change": Float(4, tolerance=1e-6)},
    key=(*FIT, "sweep"),
    order=(*FIT, "sweep"),
    unit=FIT,
    group=("dataset", "flips", "method"),
    kind=lambda row: "chaotic" if row["sweep"] > CHAOTIC.get(row["method"], row["sweep"]) else "exact",
)
CHOICES = Study(
    "rep/choices.csv.gz",
    {
        **{name: FITS.columns[name] for name in TRIED},
        # means over validation folds, which only rank parameters
        "error": Float(8, tolerance=1e-2, share=True),
        "nll": Float(8, tolerance=1e-2),
        **dict.fromkeys(COUNTS, Integer()),
        "seconds": seconds(),
    },
    key=TRIED,
    order=TRIED,
    group=("dataset", "flips", "method"),
    kind=lambda row: "chaotic" if row["method"] in CHAOTIC else "exact",
    repeat=_repeat_choices,
)
POINTS = Study(
    "rep/points.csv.gz",
    {
        "set": Integer(signed=True),
        "method": Text(),
        "value": Float(EXACTLY),
        "outcome": Text(),
        "sweeps": Integer(),
        **dict.fromkeys(("mean_error", "covariance_error", "mean_0", "mean_1"), Float(6, tolerance=1e-3)),
        "seconds": seconds(),
    },
    key=("set", "method", "value"),
    order=("set", "method", "value"),
    group=("method",),
    checks=_outcome_rules,
    kind=_end,
    together=("set",),
    repeat=_repeat_points,
)
EPSILONS = Study(
    "rep/epsilons.csv.gz",
    {"epsilon": Float(EXACTLY), **POINTS.columns},
    key=("epsilon", *POINTS.key),
    order=("epsilon", *POINTS.order),
    group=("epsilon",),
    checks=_outcome_rules,
    kind=_end,
    together=("epsilon",),
    repeat=_repeat_points,
)
EXACT = Study(
    "rep/exact.csv.gz",
    {
        "flips": Float(EXACTLY),
        "split": Integer(),
        "lengthscale": Float(5),
        "n_train": Integer(),
        "method": Text(),
        "value": Float(EXACTLY),
        "outcome": Text(),
        **dict.fromkeys(exact.ERRORS, Float(5, tolerance=0.02)),
        "chains": Integer(),
        "iterations": Integer(),
        **dict.fromkeys(("r_hat_max", "bulk_size_min", "monte_carlo_error"), Float(5)),
        "seconds": seconds(5),
    },
    key=("flips", "split", "method"),
    order=("flips", "split", "method"),
    group=("flips",),
    kind="chaotic",  # the truth is sampled by Markov chains
    together=("flips", "split"),
    seconds=60.0,
    repeat=_repeat_exact,
)
BOUNDARY = Study(
    "rep/boundary.csv.gz",
    {
        "flips": Float(EXACTLY),
        "split": Integer(),
        "method": Text(),
        "value": Float(EXACTLY),
        "lengthscale": Float(8),
        "outcome": Text(),
        "sweeps": Integer(),
        "x": Float(EXACTLY),
        "y": Float(EXACTLY),
        "probability": Float(EXACTLY, tolerance=1e-3, share=True),
    },
    key=("flips", "split", "method", "x", "y"),
    order=("flips", "split", "method", "x", "y"),
    group=("flips", "method"),
    kind=_end,
    seconds=0.01,
    repeat=_repeat_boundary,
)
STUDIES = (FITS, CURVES, CHOICES, POINTS, EPSILONS, EXACT, BOUNDARY)

ROWS_OF = {
    "fits/rep/fits": rows_of_fit,
    "fits/rep/own": rows_of_fit,
    "fits/rep/choices": lambda record: [(CHOICES, record)],
    "fits/rep/points": lambda record: [(POINTS, record)],
    "fits/rep/epsilons": lambda record: [(EPSILONS, record)],
    "fits/rep/exact": lambda record: [(EXACT, record)],
    "fits/rep/boundary": lambda record: [(BOUNDARY, record)],
}
"""Folder of files of fits, below ``data`` -> function of a record that yields studies and rows."""
