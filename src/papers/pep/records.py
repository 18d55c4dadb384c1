"""The committed records of the Power-EP paper: those that jobs add fits to, and `STUDIES`, all of them.

`REGRESSION` has a row for each fit:

``dataset, split, alpha, m, start``
    which fit: "synthetic" (split is the number of the drawn set) or a regression set; the power as text,
    "full" for exact regression, whose m is 0; where the search started (`papers.pep.regression.STARTS`);
``protocol``
    how it searched (`papers.pep.regression.SEARCHES`); rows without it are "as-described";
``nlml, smse, smll``
    the negative log evidence that was minimised, and the scores, of standardised targets; empty if failed;
``evaluations, outcome, message, seconds``
    ``ok``, ``stopped`` (numbers, but the search did not converge) or ``failed`` (no numbers), why, and
    processor seconds.

`CLASSIFICATION` has ``protocol`` (`papers.data.classification`) in place of ``start``. Its set "banana" is
drawn. ``nlml`` is the energy, a bound at power 0. Scores are ``error``, the share of wrong test labels, and
``nll``, nats a test point. `TOY` has exact regressions, whose ``lengthscales`` are text with colons between
them. `DIGITS` has a row for each measurement of a training: the training and its length; steps so far;
processor seconds so far, without the clustering and the measurements; share of errors and mean log p(y*) in
nats on the test set; the last batch's estimate of the log evidence; kernel; skipped updates of sites and
refused steps so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from papers.core import records
from papers.core.study import Float, Integer, Study, Text, one_test_point, ordered_text, seconds
from papers.data import classification as class_data
from papers.data import mnist
from papers.data import regression as regression_data
from papers.pep import banana, classification, dense, digits, limits, regression, toy
from papers.pep.banana import BANANA, MAP
from papers.pep.dense import DENSE
from papers.pep.limits import LIMITS
from papers.pep.regression import FAILED, FULL, OK, OUTCOMES, STOPPED, power

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pandas as pd

    from papers.core.records import Change
    from papers.core.study import Row, Source
    from papers.data import Dataset

    Pairs = Iterator[tuple[Study, Row]]

__all__ = [
    "BANANA", "CLASSIFICATION", "DENSE", "DIGITS", "LIMITS", "MAP", "REGRESSION", "STUDIES", "TOY", "power",
]  # fmt: skip


def _powers(column: pd.Series) -> pd.Series:
    return column.map(lambda text: 2.0 if text == FULL else float(text))


def _ends(frame: pd.DataFrame, scores: Iterable[str]) -> Iterable[tuple[pd.Series, str]]:
    """Return the rules about how fits ended."""
    has_scores = np.isfinite(frame[list(scores)].astype(float)).all(axis=1)
    return (
        (~frame["outcome"].isin(OUTCOMES), "unknown outcome"),
        (has_scores == (frame["outcome"] == FAILED), "scores do not agree with the outcome"),
        ((frame["message"] == "") != (frame["outcome"] == OK), "message does not agree with the outcome"),
    )


# Regressions and classifications


@lru_cache(maxsize=2)
def _data(experiment: ModuleType, dataset: str, protocol: str, mirror: str | None) -> Dataset | None:
    """Return a data set, or None for the sets that the experiment draws."""
    if dataset == experiment.datasets()[0]:
        return None
    if experiment is regression:
        return regression_data.load(dataset, mirror=mirror)
    return class_data.load(dataset, protocol, mirror=mirror)


def _repeat_fits(experiment: ModuleType, rows: pd.DataFrame, source: Source) -> Iterator[Row]:
    """Repeat fits from scratch."""
    for cell in rows[list(experiment.NAMES)].to_dict("records"):
        data = _data(experiment, cell["dataset"], cell["protocol"], source.mirror)
        parts = experiment.parts_of(cell["dataset"], cell["split"], data)
        alpha = cell["alpha"] if cell["alpha"] == FULL else float(cell["alpha"])
        yield experiment.run_cell(parts, **{**cell, "alpha": alpha})


def _fits(
    file: str,
    experiment: ModuleType,
    variants: dict[str, tuple[str, ...]],
    scores: dict[str, Float],
    todays: Callable[[Mapping[str, Any]], str] | None = None,
) -> Study:
    """Return a study of fits; studies differ in the columns of their conditions and in their scores."""
    study = Study(
        file,
        {
            "dataset": ordered_text(experiment.datasets()),
            "split": Integer(),
            "alpha": Text(rank=_powers),
            "m": Integer(),
            **{name: ordered_text(names) for name, names in variants.items()},
            "n_train": Integer(),
            "n_test": Integer(),
            **scores,
            "evaluations": Integer(compared=False),
            "outcome": Text(compared=False),
            "message": Text(compared=False),
            "seconds": seconds(),
        },
        key=("dataset", "alpha", "m", *variants, "split"),
        order=("dataset", *variants, "m", "alpha", "split"),
        group=("protocol", "dataset", "alpha"),
        checks=partial(_ends, scores=tuple(scores)),
        kind=lambda row: "chaotic" if row["outcome"] == STOPPED else "optimum",
        objective="-nlml",
        protocol=todays,
        together=("protocol", *(name for name in variants if name != "protocol"), "dataset", "split", "m"),
        repeat=lambda rows, source: ((study, row) for row in _repeat_fits(experiment, rows, source)),
    )
    return study


NLML, SCORE = Float(12, tolerance=0.01), Float(10, tolerance=1e-3)
"""A hundredth of a nat of evidence tells no two models apart; scores are printed with two digits."""

REGRESSION: Study = _fits(
    "pep/regression.csv.gz",
    regression,
    {"start": tuple(regression.STARTS), "protocol": tuple(regression.SEARCHES)},
    {"nlml": NLML, "smse": SCORE, "smll": SCORE},
)
CLASSIFICATION: Study = _fits(
    "pep/classification.csv.gz",
    classification,
    {"protocol": class_data.PROTOCOLS},
    {"nlml": NLML, "error": Float(10, tolerance=one_test_point, share=True), "nll": SCORE},
    classification.todays,
)


# Exact regressions


def _repeat_toy(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat exact regressions from scratch."""
    for split, n, hyperparameters in rows[["split", "n_train", "hyperparameters"]].itertuples(index=False):
        yield TOY, toy.fit(toy.problem(split, n), split, hyperparameters)


TOY: Study = Study(
    "pep/toy.csv",
    {
        "dataset": Text(),
        **dict.fromkeys(("split", "n_train", "n_test"), Integer()),
        "hyperparameters": ordered_text((toy.TRUE, toy.LEARNED)),
        **dict.fromkeys(toy.SCORES, Float(12, tolerance=1e-3)),
        "nlml": NLML,
        # hyperparameters are compared through the evidence
        "variance": Float(12, compared=False),
        "lengthscales": Text(compared=False),
        "noise": Float(12, compared=False),
        "evaluations": Integer(compared=False),
        **dict.fromkeys(("outcome", "message"), Text(compared=False)),
        "seconds": seconds(),
    },
    key=("dataset", "split", "n_train", "hyperparameters"),
    order=("split", "n_train", "hyperparameters"),
    group=("dataset", "n_train", "hyperparameters"),
    checks=partial(_ends, scores=toy.SCORES),
    kind="optimum",
    objective="-nlml",
    together=("dataset", "split"),
    repeat=_repeat_toy,
)


# Digits


@lru_cache(maxsize=1)
def _images(mirror: str | None) -> mnist.Digits:
    return mnist.load(mirror=mirror)


def _repeat_digits(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat trainings, each once and as far as needed."""
    for (alpha, m, seed, steps), of_training in rows.groupby(["alpha", "m", "seed", "steps"]):
        measurements = digits.run(_images(source.mirror), alpha, int(m), int(seed), int(steps))
        for line in measurements:
            yield DIGITS, line
            if line["step"] >= of_training["step"].max():
                break


DIGITS = Study(
    "pep/mnist.csv",
    {
        "dataset": Text(),
        "alpha": Float(6),
        **dict.fromkeys(("m", "seed", "steps", "step"), Integer()),
        "seconds": seconds(5),
        "error": Float(6, share=True),
        **dict.fromkeys(("log_likelihood", "energy"), Float(7)),
        **dict.fromkeys(digits.KERNEL, Float(6)),
        **dict.fromkeys(digits.COUNTS, Integer(nullable=True)),
        **dict.fromkeys(("outcome", "message"), Text(compared=False)),
    },
    key=(*digits.RUN, "step"),
    order=("m", "alpha", "seed", "step"),
    unit=digits.RUN,
    progress="step",
    group=("dataset", "m", "alpha"),
    checks=partial(_ends, scores=("error", "log_likelihood")),
    together=digits.RUN,
    repeat=_repeat_digits,
)


# All of them

STUDIES = (REGRESSION, CLASSIFICATION, TOY, DIGITS, LIMITS, DENSE, BANANA, MAP)

SMALL: dict[str, Callable[[str | None], Pairs]] = {
    "limits": lambda mirror: limits.study(),
    "dense": lambda mirror: dense.study(dense.load(mirror)),
    "banana": lambda mirror: banana.study(),
}
"""Study that no job makes -> function of a mirror of raw data that yields its rows."""


def make(name: str, folder: str | Path, mirror: str | None = None) -> dict[str, Change]:
    """Run one of `SMALL` and write its rows into a folder of records."""
    rows: dict[Study, list[Row]] = {}
    for study, row in SMALL[name](mirror):
        rows.setdefault(study, []).append(row)
    return records.put(folder, rows, keep=False)


ROWS_OF = {
    "fits/pep": lambda record: [(REGRESSION, record)],
    "fits/pep-classification": lambda record: [(CLASSIFICATION, record)],
    "fits/pep-toy": lambda record: [(TOY, record)],
    "fits/mnist": lambda record: [(DIGITS, record)],
}
"""Folder of files of fits, below ``data`` -> function of a record that yields studies and rows."""
