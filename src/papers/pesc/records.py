"""The committed records of the PESC paper (`papers.core.study`).

`ACCURACY`: one random problem (`papers.pesc.accuracy`); `REGRET`: one look at one search
(`papers.pesc.regret`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from papers.core.study import Column, Flag, Float, Integer, Study, Text, ordered_text
from papers.pesc import accuracy, regret

if TYPE_CHECKING:
    from papers.core.study import Kind, Row


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


ACCURACY = Study(
    "pesc/accuracy.csv",
    {name: _accuracy_column(name) for name in accuracy.COLUMNS},
    key=("family", "problem"),
    order=("family", "problem"),
    group=("family",),
    again=accuracy.again,
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
    again=regret.again,
)
STUDIES = (ACCURACY, REGRET)
