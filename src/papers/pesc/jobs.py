"""The jobs of the PESC paper: their configuration and the work of each job.

A job is a family of random problems compared with rejection sampling, or a problem searched by every rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from papers.core.jobs import Job
from papers.core.slices import Slice
from papers.pesc import accuracy, regret
from papers.pesc import records as studies

if TYPE_CHECKING:
    from typing import Any

    Config = Mapping[str, Any]

ACCURACY, REGRET = "papers.pesc.accuracy", "papers.pesc.regret"
"""Modules of the experiments."""

FITS = "data/fits/pesc"


def jobs(config: Config) -> Iterable[Job]:
    """Return every job that a configuration asks for."""
    sections = config.get("pesc", {})
    wanted: list[Job] = []
    if "accuracy" in sections:
        problems = sections["accuracy"]["problems"]
        wanted += [_family(*family, problems) for family in accuracy.FAMILIES]
    if "searches" in sections:
        for problem, kind in regret.PROBLEMS.items():
            n = sections["searches"].get("evaluations", kind.evaluations)
            wanted += [_search(problem, repeat, n) for repeat in range(sections["searches"]["repeats"])]
    return wanted


def _family(dimension: int, constraints: int, problems: int) -> Job:
    return Job(
        f"{FITS}/accuracy/{problems}/{dimension}d-{constraints}c.jsonl.gz",
        "pesc_accuracy",
        f"{__name__}:family",
        {"dimension": dimension, "constraints": constraints, "problems": problems},
        (ACCURACY,),
        keys=(
            Slice(
                studies.ACCURACY,
                {"family": [accuracy.family(dimension, constraints)], "problem": range(problems)},
            ),
        ),
        part="PESC accuracy",
        fits=problems,
    )


def family(dimension: int, constraints: int, problems: int, log: str) -> Iterator[dict[str, Any]]:
    """Return the rows of a family of random problems: EP against rejection sampling."""
    return accuracy.lines(dimension, constraints, problems)


def _search(problem: str, repeat: int, evaluations: int) -> Job:
    return Job(
        f"{FITS}/searches/{evaluations}/{problem}-{repeat}.jsonl.gz",
        "pesc_searches",
        f"{__name__}:searches",
        {"problem": problem, "repeat": repeat, "evaluations": evaluations},
        (REGRET,),
        keys=(
            Slice(
                studies.REGRET,
                {
                    "problem": [problem],
                    "repeat": [repeat],
                    "evaluations": list(range(regret.EVERY, evaluations + 1, regret.EVERY)),
                },
            ),
        ),
        part="PESC searches",
        fits=len(regret.RULES),
    )


def searches(problem: str, repeat: int, evaluations: int, log: str) -> Iterator[dict[str, Any]]:
    """Return the rows of one problem searched by every rule."""
    return regret.lines(problem, repeat, evaluations)


def tables(config: Config) -> list[str]:
    """Return the names of the tables if both studies were asked for."""
    names = ["pesc.md", "pesc_accuracy.csv", "pesc_regret.csv"]
    return names if len(config.get("pesc", {})) == 2 else []


def figures(config: Config) -> list[str]:
    """Return the folder of figures."""
    return ["pesc"] if "pesc" in config else []
