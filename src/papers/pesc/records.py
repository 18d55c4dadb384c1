"""The committed records of the PESC paper (`papers.core.study`).

`ACCURACY`: one random problem (`papers.pesc.accuracy`); `REGRET`: one look at one search
(`papers.pesc.regret`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from papers.core.study import Column, Flag, Float, Integer, Study, Text, ordered_text
from papers.pesc import accuracy, regret
from tilted.bayesopt.rules import Settings

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Kind, Row, Source

    Pairs = Iterator[tuple[Study, Row]]


def _accuracy_column(name: str) -> Column:
    if name in ("family", "worst_function"):
        return Text()
    if name == "converged":
        return Flag()
    if name in accuracy.NUMBERS:  # far below the sampling error of the truth, 0.007 standard deviations
        return Float(6, tolerance=1e-3, share=name == "within")
    return Integer(compared=name != "negative_sites")  # the sign of a precision near zero is rounding


def _regret_kind(row: Row) -> Kind:
    chaotic = row["rule"] == regret.CHAOTIC and row["evaluations"] > regret.INITIAL
    return "chaotic" if chaotic else "exact"


def _repeat_accuracy(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat random problems."""
    for row in rows.to_dict("records"):
        yield ACCURACY, accuracy.line_of(row["dimension"], row["constraints"], row["problem"])


def _repeat_searches(rows: pd.DataFrame, source: Source) -> Pairs:
    """Repeat searches, each once, with all looks at it that rows are of."""
    for (name, repeat, rule), of_search in rows.groupby(["problem", "repeat", "rule"], sort=False):
        looks = sorted(of_search["evaluations"].tolist())
        problem = regret.PROBLEMS[name].make(repeat)
        for look in regret.searched(problem, rule, repeat, looks, Settings()):
            yield REGRET, {"problem": name, "repeat": repeat, "rule": rule, **look}


ACCURACY = Study(
    "pesc/accuracy.csv",
    {name: _accuracy_column(name) for name in accuracy.COLUMNS},
    key=("family", "problem"),
    order=("family", "problem"),
    group=("family",),
    seconds=0.25,
    repeat=_repeat_accuracy,
)
REGRET = Study(
    "pesc/regret.csv",
    {
        "problem": ordered_text(tuple(regret.PROBLEMS)),
        "repeat": Integer(),
        "rule": ordered_text(regret.RULES),
        "evaluations": Integer(),
        "observed_gap": Float(6, tolerance=1e-3),  # gaps are read on a logarithmic scale from 1e-5 to 1
        "recommended_gap": Float(6, tolerance=1e-3),
        "confident": Flag(),
    },
    key=("problem", "repeat", "rule", "evaluations"),
    order=("problem", "repeat", "rule", "evaluations"),
    unit=("problem", "repeat", "rule"),
    progress="evaluations",
    group=("problem", "rule"),
    kind=_regret_kind,
    together=("problem", "repeat"),
    seconds=0.6,
    repeat=_repeat_searches,
)
STUDIES = (ACCURACY, REGRET)

ROWS_OF = {
    "fits/pesc/accuracy": lambda record: [(ACCURACY, record)],
    "fits/pesc/searches": lambda record: [(REGRET, record)],
}
"""Folder of files of fits, below ``data`` -> function of a record that yields studies and rows."""
