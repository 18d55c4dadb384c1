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
from papers.pep import banana, classification, dense, limits, made_up, regression, toy
from papers.pep.banana import BANANA, MAP
from papers.pep.dense import DENSE
from papers.pep.digits import training as digits
from papers.pep.limits import LIMITS
from papers.pep.regression import FAILED, FULL, OK, OUTCOMES, STOPPED

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pandas as pd

    from papers.core.records import Change
    from papers.core.study import Row, Source
    from papers.data import Dataset

    Line = dict[str, Any]
    Repeat = Callable[[pd.DataFrame, Source], "Pairs"]
    Pairs = Iterator[tuple[Study, Row]]

__all__ = [
    "BANANA", "CLASSIFICATION", "DENSE", "DIGITS", "LIMITS", "MAP", "REGRESSION", "STUDIES", "TOY",
    "line_of", "power",
]  # fmt: skip


def line_of(record: Line) -> Line:
    """Return a row of `REGRESSION` or `CLASSIFICATION` from a fit record (``run_cell`` of the experiment)."""
    return {**record, "alpha": power(record["alpha"]), **regression.ended(record)}


def power(alpha: float | str) -> str:
    """Return a power as the records name it."""
    return alpha if alpha == FULL else f"{alpha:g}"


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
def _regression_set(name: str, mirror: str | None) -> Dataset | None:
    return None if name == made_up.SYNTHETIC else regression_data.load(name, mirror=mirror)


@lru_cache(maxsize=2)
def _classification_set(name: str, protocol: str, mirror: str | None) -> Dataset | None:
    return None if name == classification.MADE_UP else class_data.load(name, protocol, mirror=mirror)


def _repeat_regressions(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat fits from scratch."""
    names = ["dataset", "split", "alpha", "m", "start", "protocol"]
    for name, split, power, *settings in rows[names].itertuples(index=False):
        data = regression.parts_of(name, split, _regression_set(name, source.mirror))
        alpha = FULL if power == FULL else float(power)
        yield REGRESSION, line_of(regression.run_cell(data, name, split, alpha, *settings))


def _repeat_classifications(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat fits from scratch."""
    names = ["dataset", "split", "alpha", "m", "protocol"]
    for name, split, power, m, protocol in rows[names].itertuples(index=False):
        data = classification.parts_of(name, split, _classification_set(name, protocol, source.mirror))
        fit = classification.run_cell(data, name, split, float(power), m, protocol)
        yield CLASSIFICATION, line_of(fit)


def _fits(
    file: str,
    experiment: ModuleType,
    repeat: Repeat,
    variants: dict[str, tuple[str, ...]],
    scores: dict[str, Float],
    todays: Callable[[Mapping[str, Any]], str] | None = None,
) -> Study:
    """Return a study of fits; studies differ in the columns of their conditions and in their scores."""
    return Study(
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
        repeat=repeat,
    )


NLML, SCORE = Float(12, tolerance=0.01), Float(10, tolerance=1e-3)
"""A hundredth of a nat of evidence tells no two models apart; scores are printed with two digits."""

REGRESSION: Study = _fits(
    "pep/regression.csv.gz",
    regression,
    _repeat_regressions,
    {"start": tuple(regression.STARTS), "protocol": tuple(regression.SEARCHES)},
    {"nlml": NLML, "smse": SCORE, "smll": SCORE},
)
CLASSIFICATION: Study = _fits(
    "pep/classification.csv.gz",
    classification,
    _repeat_classifications,
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

SMALL: dict[str, Callable[[str | None], Mapping[Study, Iterable[Line]]]] = {
    "limits": lambda mirror: {LIMITS: limits.study()},
    "dense": lambda mirror: {DENSE: dense.study(dense.load(mirror))},
    "banana": lambda mirror: banana.study(),
}
"""Study that no job makes -> function of a mirror of raw data that runs it."""


def make(name: str, folder: str | Path, mirror: str | None = None) -> dict[str, Change]:
    """Run one of `SMALL` and write its rows into a folder of records."""
    return records.put(folder, SMALL[name](mirror), keep=False)


ROWS_OF = {
    "fits/pep": lambda record: [(REGRESSION, line_of(record))],
    "fits/pep-classification": lambda record: [(CLASSIFICATION, line_of(record))],
    "fits/pep-toy": lambda record: [(TOY, record)],
    "fits/mnist": lambda record: [(DIGITS, record)],
}
"""Folder of files of fits, below ``data`` -> function of a record that yields studies and rows."""
