"""A configuration of the workflow: checked before anything runs, and what it asks for.

The Snakefile, the plan and the tests read the same lists; nothing here knows of Snakemake.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence.jobs import Job, Record
from papers.evidence.runs import CHECKOUT
from papers.pep import jobs as pep
from papers.pesc import jobs as pesc
from papers.qp import jobs as qp
from papers.rep import jobs as rep

if TYPE_CHECKING:
    from typing import Any

    from jsonschema import ValidationError

    Config = Mapping[str, Any]

SCHEMA = CHECKOUT / "workflow" / "schemas" / "config.schema.yaml"
PAPERS = (qp, pep, rep, pesc)
MOST = 100_000
"""Values and characters that a configuration may hold."""

TARGETS = {
    "pep": ("regression_records", "toy_record", "classification_records"),
    "digits": ("mnist_record",),
    "relaxed": tuple(
        f"relaxed_{name}_record" for name in ("fits", "choices", "points", "epsilons", "exact", "boundary")
    ),
    "pesc": ("pesc_accuracy_record", "pesc_searches_record"),
}
"""Target -> records of a part of a configuration that may be asked for alone."""

APART = ("differences", "lookup_study")
"""Records that no artifact waits for."""


@dataclass(frozen=True)
class Asked:
    """What a configuration asks for.

    Attributes
    ----------
    jobs : dict
        Path -> job, of all jobs that are asked for or needed by others.
    records : dict
        Name -> record, of those that some jobs are folded into.
    tables, figures : list of str
        Below their folders; a figure without a suffix is a folder.
    bases : list of str
        Committed records that others are compared with, below their folder.
    """

    jobs: dict[str, Job]
    records: dict[str, Record]
    tables: list[str]
    figures: list[str]
    bases: list[str]

    def paths(self, *names: str) -> list[str]:
        """Paths of the jobs that are folded into some records."""
        return [job.path for job in self.jobs.values() if job.record in names]

    def files(self, *names: str) -> list[str]:
        """Files of some records, below their folder."""
        return [file for name in names for file in self.records[name].files(self.paths(name))]


def asked(config: Config) -> Asked:
    """What a configuration asks for.

    Raises
    ------
    ValueError
        It is no configuration (`check`), or asks for what does not exist; the message says where and what is
        known there.
    """
    check(config)
    jobs: dict[str, Job] = {}
    for paper in PAPERS:
        wanted = paper.jobs(config)
        for job in itertools.chain(wanted, *(job.chain() for job in wanted)):
            jobs.setdefault(job.path, job)
    names = {job.record for job in jobs.values()}
    used = {record.name: record for record in records(config) if record.name in names}
    papers = PAPERS if "qp" in config else (pep,)
    return Asked(
        jobs,
        used,
        [name for paper in papers for name in paper.tables(config)],
        [name for paper in papers for name in paper.figures(config)],
        qp.bases(config),
    )


def records(config: Config) -> list[Record]:
    """Everything that files of jobs are folded into, with what a configuration says about it."""
    return [record for paper in PAPERS for record in paper.records(config)]


def read(path: str | Path) -> Config:
    """What a YAML file says.

    Raises
    ------
    ValueError
        It is no YAML.
    """
    import yaml

    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no YAML: {error}") from None


def check(config: Config) -> None:
    """Refuse (ValueError) what is no configuration, with the place and what is known there."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    if _is_large(config):
        raise ValueError(f"more than {MOST} values and characters, aliases written out")
    error = best_match(Draft202012Validator(read(SCHEMA)).iter_errors(config))
    if error is not None:
        place = _shortened(".".join(map(str, error.absolute_path))) or "top level"
        raise ValueError(f"{place}: {_what(error)}")
    folders = {key: Path(config[key].lower()) for key in ("results", "tables", "figures")}
    for (one, first), (other, second) in itertools.permutations(folders.items(), 2):
        if first == second or first in second.parents:
            raise ValueError(f"{one} and {other} need folders of their own, neither in the other")


def _is_large(config: Config) -> bool:
    """Whether it holds more than anybody needs: with aliases a short file may stand for any amount."""
    waiting: list[Any] = [config]
    size = 0
    while waiting and size <= MOST:
        value = waiting.pop()
        size += len(value) if isinstance(value, str) else 1
        if isinstance(value, Mapping):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
    return size > MOST


def _what(error: ValidationError) -> str:
    """What is wrong, and what is known there."""
    what = _shortened(error.message)
    if error.validator == "additionalProperties":
        return f"{what}; known: {', '.join(error.schema['properties'])}"
    if error.validator == "pattern" and "description" in error.schema:
        return f"{what}: {error.schema['description']}"
    if error.validator == "anyOf":
        parts = [name for choice in error.validator_value for name in choice["required"]]
        return f"{', '.join(parts[:-1])} or {parts[-1]} must say what to run"
    return what


def _shortened(text: str) -> str:
    """At most 300 characters of a message, in which any value may be quoted."""
    return text if len(text) <= 300 else f"{text[:297]}..."
