"""The speed of searches towards the constrained minimum: PESC against expected improvement and chance.

``gramacy`` is the toy problem of [Gramacy et al. 2016, section 2]: x1 + x2 under a sinusoidal and a disc
constraint in the unit square; repeats differ in the first evaluations. ``gp`` are functions drawn from
Gaussian processes with one constraint, another problem a repeat. All functions are observed together, without
noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from papers.core.jobs import Job
from papers.core.slices import Slice
from papers.core.study import Flag, Float, Integer, Study, ordered_text
from tilted.bayesopt import loop, optima, surrogate
from tilted.bayesopt.rules import Settings
from tilted.kernels.squared_exponential import SquaredExponential

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Kind, Row, Source

RULES = ("pesc", "improvement", "random")
CHAOTIC, INITIAL = "pesc", 5
"""The rule by which 1e-16 in a value moves later places by 1e-2; evaluations that all rules begin with."""

EVERY = 5
LENGTHSCALE, FEATURES, GRID = 0.25, 300, 120
UNIT = ((0.0, 1.0), (0.0, 1.0))


class Problem(NamedTuple):
    """Functions, and the constrained minimum of the first."""

    objective: loop.Function
    constraints: Sequence[loop.Function]
    minimum: float


def gramacy(repeat: int) -> Problem:
    """Return min x1 + x2 where 1.5 <= x1 + 2 x2 + sin(2 pi (x1^2 - 2 x2)) / 2 and x1^2 + x2^2 <= 1.5."""

    def sinusoid(x: np.ndarray) -> float:
        return x[0] + 2.0 * x[1] + 0.5 * np.sin(2.0 * np.pi * (x[0] ** 2 - 2.0 * x[1])) - 1.5

    def disc(x: np.ndarray) -> float:
        return 1.5 - x[0] ** 2 - x[1] ** 2

    return _solved(lambda x: x[0] + x[1], [sinusoid, disc])


def gp(repeat: int) -> Problem:
    """Return an objective and a constraint from random features, with at least 5 % of the square feasible.

    Raises
    ------
    RuntimeError
        If none of 100 draws has that.
    """
    rng = np.random.default_rng([0, repeat])
    nothing = np.empty((0, 2)), np.empty(0)
    prior = surrogate.condition(SquaredExponential(1.0, (LENGTHSCALE,) * 2), 1.0, *nothing, np.zeros((1, 2)))
    for _ in range(100):
        objective, constraint = (optima.paths(prior, 1, rng, FEATURES) for _ in range(2))
        if np.mean(constraint(rng.random((1000, 2))) > 0) >= 0.05:
            f, c = (
                lambda x, path=path: float(path(np.atleast_2d(x))[0, 0]) for path in (objective, constraint)
            )
            return _solved(f, [c])
    raise RuntimeError("no draw with a feasible region")


PROBLEMS: dict[str, tuple[Callable[[int], Problem], int]] = {"gramacy": (gramacy, 50), "gp": (gp, 40)}
"""Name -> function from the number of a repeat to its problem, and the length of a search."""


def _solved(objective: loop.Function, constraints: Sequence[loop.Function]) -> Problem:
    """Return the minimum, refined from the best feasible points of a grid."""
    axis = np.linspace(0.0, 1.0, GRID)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    values = np.array([objective(x) for x in grid])
    feasible = np.all([[c(x) >= 0 for x in grid] for c in constraints], axis=0)
    best = np.min(values[feasible])
    rules = [{"type": "ineq", "fun": c} for c in constraints]
    for start in grid[feasible][np.argsort(values[feasible])[:20]]:
        end = minimize(objective, start, bounds=UNIT, constraints=rules, method="SLSQP")
        if all(c(end.x) >= -1e-9 for c in constraints):
            best = min(best, float(end.fun))
    return Problem(objective, constraints, float(best))


def jobs(section: Mapping[str, int]) -> Iterator[Job]:
    """Yield a job for each problem and repeat: searches by every rule."""
    for problem, (_, length) in PROBLEMS.items():
        n = section.get("evaluations", length)
        for repeat in range(section["repeats"]):
            evaluations = list(range(EVERY, n + 1, EVERY))
            where: dict[str, Any] = {"problem": [problem], "repeat": [repeat], "evaluations": evaluations}
            yield Job(
                f"data/fits/pesc/searches/{n}/{problem}-{repeat}.jsonl.gz",
                "pesc_searches",
                f"{__name__}:run",
                {"problem": problem, "repeat": repeat, "evaluations": n},
                (__name__,),
                rows=(Slice(REGRET, where),),
                part="PESC searches",
                fits=len(RULES),
            )


def run(problem: str, repeat: int, evaluations: int, log: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a job."""
    for rule in RULES:
        yield from rows_of(problem, repeat, rule, range(EVERY, evaluations + 1, EVERY))


def rows_of(name: str, repeat: int, rule: str, evaluations: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one search after some numbers of evaluations, of which the last is the longest."""
    make, _ = PROBLEMS[name]
    objective, constraints, minimum = make(repeat)
    settings = Settings()
    search = loop.minimise(
        objective, constraints, UNIT, evaluations[-1], repeat, rule=rule, settings=settings
    )
    for n in evaluations:
        done = search.evaluations[:n]
        values = [value for e in done if e.feasible and (value := e.values[0]) is not None]
        place, confident = loop.recommendation(done, UNIT, settings, repeat)
        holds = all(c(place) >= 0 for c in constraints)
        yield {
            "problem": name,
            "repeat": repeat,
            "rule": rule,
            "evaluations": n,
            "observed_gap": min(values) - minimum if values else None,
            "recommended_gap": float(objective(place)) - minimum if holds else None,
            "confident": confident,
        }


def _repeat(rows: pd.DataFrame, source: Source) -> Iterator[tuple[Study, Row]]:
    """Repeat searches, each once, and yield the recorded numbers of evaluations."""
    for (name, repeat, rule), search in rows.groupby(["problem", "repeat", "rule"], sort=False):
        for row in rows_of(name, repeat, rule, sorted(search["evaluations"].tolist())):
            yield REGRET, row


def _kind(row: Row) -> Kind:
    return "chaotic" if row["rule"] == CHAOTIC and row["evaluations"] > INITIAL else "exact"


GAP = Float(6, tolerance=1e-3)
"""Gaps are read on a logarithmic scale from 1e-5 to 1."""

REGRET = Study(
    "pesc/regret.csv",
    {
        "problem": ordered_text(tuple(PROBLEMS)),
        "repeat": Integer(),
        "rule": ordered_text(RULES),
        "evaluations": Integer(),
        "observed_gap": GAP,
        "recommended_gap": GAP,
        "confident": Flag(),
    },
    key=("problem", "repeat", "rule", "evaluations"),
    order=("problem", "repeat", "rule", "evaluations"),
    unit=("problem", "repeat", "rule"),
    progress="evaluations",
    group=("problem", "rule"),
    kind=_kind,
    together=("problem", "repeat"),
    seconds=0.6,
    repeat=_repeat,
)
"""A row is one search after ``evaluations``: the best feasible value observed minus the minimum, and the
objective at the recommended place minus the minimum; empty where no observation, or not the place, is
feasible."""
