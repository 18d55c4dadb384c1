"""The committed records of the relaxed-EP paper (`papers.core.study`).

`FITS`: one method on one split: score of the test rows, outcome, and ``chosen_on``, the split whose training
rows chose the parameters. `CURVES`: change of the weights sweep by sweep, of fits on the made-up set.
`CHOICES`: cross-validated scores of every lengthscale and parameter. `POINTS`: errors on sets of five points;
`EPSILONS`: on the base set under likelihoods of other error rates.
`EXACT`: methods against the exact posterior of 400 points. `BOUNDARY`: predictive probabilities on a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from papers.core.study import EXACT as EXACTLY
from papers.core.study import Float, Integer, Study, Text, one_test_point, seconds
from papers.rep import exact, repeat
from papers.rep.fits import BLOBS, FAILED
from papers.rep.repeat import FIT
from tilted.inference.textbook import DIVERGED, OUTCOMES, UNSETTLED

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Kind, Row

    Pairs = Iterator[tuple[Study, Row]]

TRIED = ("dataset", "flips", "split", "method", "value", "lengthscale")
COUNTS = tuple(f"n_{outcome}" for outcome in (*OUTCOMES, FAILED))
ERROR, NLL = Float(8, tolerance=one_test_point, share=True), Float(8, tolerance=1e-3)
"""Scores of a fit are compared to one test point and a thousandth of a nat."""


def _fit_rules(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    failed = frame["outcome"] == FAILED
    return (
        (~frame["outcome"].isin((*OUTCOMES, FAILED)), "unknown outcome"),
        (frame["error"].isna() != failed, "scores do not agree with the outcome"),
    )


def _point_rules(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    return ((~frame["outcome"].isin(OUTCOMES), "unknown outcome"),)


def _end(row: Row) -> Kind:
    """Return the kind of a row: iterates that do not come to rest are not the same on every processor."""
    return "chaotic" if row["outcome"] in (DIVERGED, UNSETTLED) else "exact"


CHAOTIC = {"ep-engine": 50, "rep-engine": 50, "rep-as-described": 1}
"""Method -> sweeps after which the last bit of a lengthscale decides where a run ends."""


def _end_of_fit(row: Row) -> Kind:
    """Return the kind of a fit: those of `CHAOTIC` methods too depend on rounding."""
    return "chaotic" if row["sweeps"] > CHAOTIC.get(row["method"], row["sweeps"]) else _end(row)


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
    repeat=lambda rows, source: _each(repeat.repeat_fits(rows, source.mirror), rows_of_fit),
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
CHOICES: Study = Study(
    "rep/choices.csv.gz",
    {
        **{name: FITS.columns[name] for name in TRIED},
        "error": Float(
            8, tolerance=1e-2, share=True
        ),  # means over validation folds, which only rank parameters
        "nll": Float(8, tolerance=1e-2),
        **dict.fromkeys(COUNTS, Integer()),
        "seconds": seconds(),
    },
    key=TRIED,
    order=TRIED,
    group=("dataset", "flips", "method"),
    kind=lambda row: "chaotic" if row["method"] in CHAOTIC else "exact",
    repeat=lambda rows, source: _each(
        repeat.repeat_choices(rows, source.mirror), lambda row: [(CHOICES, row)]
    ),
)
POINTS: Study = Study(
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
    checks=_point_rules,
    kind=_end,
    together=("set",),
    repeat=lambda rows, source: _each(repeat.repeat_points(rows), lambda row: [(POINTS, row)]),
)
EPSILONS: Study = Study(
    "rep/epsilons.csv.gz",
    {"epsilon": Float(EXACTLY), **POINTS.columns},
    key=("epsilon", *POINTS.key),
    order=("epsilon", *POINTS.order),
    group=("epsilon",),
    checks=_point_rules,
    kind=_end,
    together=("epsilon",),
    repeat=lambda rows, source: _each(repeat.repeat_points(rows), lambda row: [(EPSILONS, row)]),
)
EXACT: Study = Study(
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
    repeat=lambda rows, source: _each(repeat.repeat_exact(rows), lambda row: [(EXACT, row)]),
)
BOUNDARY: Study = Study(
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
    repeat=lambda rows, source: _each(repeat.repeat_boundary(rows), lambda row: [(BOUNDARY, row)]),
)
STUDIES = (FITS, CURVES, CHOICES, POINTS, EPSILONS, EXACT, BOUNDARY)


def rows_of_fit(record: Mapping[str, Any]) -> Pairs:
    """Yield the row of a fit, and on the made-up set its curve."""
    yield FITS, record
    if record["dataset"] == BLOBS:
        for sweep, change in enumerate(record["changes"], start=1):
            yield CURVES, {**record, "sweep": sweep, "change": change}


def _each(records: Iterable[Row], rows_of: Callable[[Row], Iterable[tuple[Study, Row]]]) -> Pairs:
    for record in records:
        yield from rows_of(record)


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
