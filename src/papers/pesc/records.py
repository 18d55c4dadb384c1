"""The committed records of the PESC paper (`papers.evidence.study`).

`ACCURACY`: one random problem (`papers.pesc.accuracy`); `REGRET`: one look at one search
(`papers.pesc.regret`).
"""

from __future__ import annotations

from papers.evidence.study import Study, places
from papers.pesc import accuracy, regret

ACCURACY = Study(
    "pesc/accuracy.csv",
    accuracy.COLUMNS,
    ("family", "problem"),
    dict.fromkeys(accuracy.NUMBERS, 6),
    ("family", "worst_function"),
    flags=("converged",),
    order=("family", "problem"),
    group=("family",),
    again=accuracy.again,
)
REGRET = Study(
    "pesc/regret.csv",
    regret.COLUMNS,
    ("problem", "repeat", "rule", "evaluations"),
    {"observed_gap": 6, "recommended_gap": 6},
    ("problem", "rule"),
    flags=("confident",),
    order=("problem", "repeat", "rule", "evaluations"),
    ranks={"problem": places(tuple(regret.PROBLEMS)), "rule": places(regret.RULES)},
    unit=("problem", "repeat", "rule"),
    along="evaluations",
    group=("problem", "rule"),
    again=regret.again,
)
STUDIES = (ACCURACY, REGRET)
