"""The jobs of the PESC paper: their configuration, the work of each job, and their records.

A job is a family of random problems compared with rejection sampling, or a problem searched by every rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from papers.evidence.jobs import Job, Record, of_study

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
        families = import_module(ACCURACY).FAMILIES
        wanted += [_family(dimension, constraints, problems) for dimension, constraints in families]
    if "searches" in sections:
        for problem, kind in import_module(REGRET).PROBLEMS.items():
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
        record="pesc_accuracy_record",
        part="PESC accuracy",
        fits=problems,
    )


def family(dimension: int, constraints: int, problems: int, log: str) -> Iterator[dict[str, Any]]:
    """Return the rows of a family of random problems: EP against rejection sampling."""
    return import_module(ACCURACY).lines(dimension, constraints, problems)


def _search(problem: str, repeat: int, evaluations: int) -> Job:
    return Job(
        f"{FITS}/searches/{evaluations}/{problem}-{repeat}.jsonl.gz",
        "pesc_searches",
        f"{__name__}:searches",
        {"problem": problem, "repeat": repeat, "evaluations": evaluations},
        (REGRET,),
        record="pesc_searches_record",
        part="PESC searches",
        fits=len(import_module(REGRET).RULES),
    )


def searches(problem: str, repeat: int, evaluations: int, log: str) -> Iterator[dict[str, Any]]:
    """Return the rows of one problem searched by every rule."""
    return import_module(REGRET).lines(problem, repeat, evaluations)


def records(config: Config) -> list[Record]:
    """Return the records into which this paper's fits are folded."""
    study = "papers.pesc.records"
    return [
        of_study("pesc_accuracy_record", "pesc/accuracy", f"{study}:ACCURACY", "pesc/accuracy.csv"),
        of_study("pesc_searches_record", "pesc/searches", f"{study}:REGRET", "pesc/regret.csv"),
    ]


def tables(config: Config) -> list[str]:
    """Return the names of the tables if both studies were asked for."""
    names = ["pesc.md", "pesc_accuracy.csv", "pesc_regret.csv"]
    return names if len(config.get("pesc", {})) == 2 else []


def figures(config: Config) -> list[str]:
    """Return the folder of figures."""
    return ["pesc"] if "pesc" in config else []
