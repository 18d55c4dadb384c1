"""A configuration of the workflow: checked before anything runs, and what it asks for.

The Snakefile, the plan and the tests read the same lists; nothing here knows of Snakemake.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence.jobs import Job, Record
from papers.evidence.runs import CHECKOUT, content_hash
from papers.evidence.strict import TOO_DEEP, shortened
from papers.evidence.strict import read as read
from papers.evidence.study import RUN
from papers.pep import jobs as pep
from papers.pesc import jobs as pesc
from papers.qp import jobs as qp
from papers.rep import jobs as rep

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    import pandas as pd
    from jsonschema import ValidationError

    from papers.evidence.runs import Run
    from papers.evidence.slices import Slice
    from papers.evidence.study import Study

    Config = Mapping[str, Any]

SCHEMA = CHECKOUT / "workflow" / "schemas" / "config.schema.yaml"
PAPERS = (qp, pep, rep, pesc)
MOST, DEEPEST, MOST_JOBS = 100_000, 20, 20_000
"""Values and characters that a configuration may hold, how deeply nested, and jobs of a paper."""

COMMITTED = Path("results")
"""Folder of the committed records."""

TARGETS = {
    "qp": ("compact", "truth_record", "nearer_record"),
    "pep": ("regression_records", "toy_record", "classification_records"),
    "digits": ("mnist_record",),
    "rep": tuple(
        f"relaxed_{name}_record" for name in ("fits", "choices", "points", "epsilons", "exact", "boundary")
    ),
    "pesc": ("pesc_accuracy_record", "pesc_searches_record"),
}
"""Target -> records of a part of a configuration that may be asked for alone."""

AUDIT = ("audit.csv", "audit_rows.csv", "audit.md")
"""Tables that are made of what all papers hand over."""

PRINTED = {
    "qp": ("qp_table1.csv",),
    "pep": ("pep_datasets.csv", "pep_set_counts.csv", "pep_win_rates.csv"),
    "rep": (),
    "pesc": (),
}
"""Paper -> files of its printed numbers, in ``data/published``."""

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
    artifacts : dict
        Paper -> its tables and its figures, below their folders; a figure without a suffix is a folder.
    bases : list of str
        Committed records that others are compared with, below their folder.
    config : mapping
        It.
    """

    jobs: dict[str, Job]
    records: dict[str, Record]
    artifacts: dict[str, tuple[list[str], list[str]]]
    bases: list[str]
    config: Config

    @property
    def tables(self) -> list[str]:
        """Tables of all papers, and of the audit if there is one."""
        own = [name for tables, _ in self.artifacts.values() for name in tables]
        return [*own, *(AUDIT if "qp" in self.artifacts else ())]

    @property
    def figures(self) -> list[str]:
        """Figures of all papers."""
        return [name for _, figures in self.artifacts.values() for name in figures]

    @cached_property
    def reused(self) -> frozenset[str]:
        """Paths of the jobs that need not run, with ``reuse``: the records have all that they make."""
        reuse = self.config.get("reuse")
        return self._recorded.whole(self.jobs.values()) if reuse else frozenset()

    @cached_property
    def _recorded(self) -> Recorded:
        return Recorded(self.config)

    def left(self, path: str) -> Job:
        """A job, with ``reuse`` without what the records have as far as it can be left out."""
        job = self.jobs[path]
        return self._recorded.left(job) if self.config.get("reuse") else job

    def paths(self, *names: str) -> list[str]:
        """Paths of the jobs that are to be folded into some records."""
        return [path for path in self._paths(*names) if path not in self.reused]

    def _paths(self, *names: str) -> list[str]:
        return [job.path for job in self.jobs.values() if job.record in names]

    def files(self, *names: str) -> list[str]:
        """Files of some records, below their folder."""
        return [file for name in names for file in self.records[name].files(self._paths(name))]


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
        wanted = list(itertools.islice(paper.jobs(config), MOST_JOBS + 1))
        if len(wanted) > MOST_JOBS:
            raise ValueError(f"more than {MOST_JOBS} jobs")
        for job in itertools.chain(wanted, *(job.chain() for job in wanted)):
            jobs.setdefault(job.path, job)
    names = {job.record for job in jobs.values()}
    used = {record.name: record for record in records(config) if record.name in names}
    named = dict(zip(("qp", "pep", "rep", "pesc"), PAPERS, strict=True))
    shown = named if "qp" in config else {"pep": pep}
    artifacts = {name: (paper.tables(config), paper.figures(config)) for name, paper in shown.items()}
    return Asked(jobs, used, artifacts, qp.bases(config), config)


def records(config: Config) -> list[Record]:
    """Everything that files of jobs are folded into, with what a configuration says about it."""
    return [record for paper in PAPERS for record in paper.records(config)]


def made(jobs: Iterable[Job], config: Config) -> Iterator[tuple[Job, Slice]]:
    """Those of some jobs that make lines of records, with these lines."""
    from papers.pep import reads as pep_reads
    from papers.pesc import reads as pesc_reads
    from papers.qp import reads as qp_reads
    from papers.rep import reads as rep_reads

    of: dict[str, ModuleType] = {}
    for paper, reads in zip(PAPERS, (qp_reads, pep_reads, rep_reads, pesc_reads), strict=True):
        of |= {record.name: reads for record in paper.records(config)}
    for job in jobs:
        lines = of[job.record].made_by(job) if job.record in of else None
        if lines is not None:
            yield job, lines


class Recorded:
    """What the records of a configuration have of its jobs' lines; they are read when first asked for.

    Of a set of one's own (`papers.data.own.described`) those of its data as they are now. Methods raise
    RecordError for a damaged record.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self._frames: dict[Study, pd.DataFrame] = {}

    @cached_property
    def _runs(self) -> dict[str, Run]:
        from papers.evidence import records

        return records.read_runs(self.config["results"])

    def whole(self, jobs: Iterable[Job]) -> frozenset[str]:
        """Paths of those of some jobs all of whose lines are there."""
        asked = made(jobs, self.config)
        return frozenset(
            job.path for job, lines in asked if lines.is_whole(self._frame(job, lines), job.fits)
        )

    def left(self, job: Job) -> Job:
        """A job without powers and pseudo-points whose lines are there, if it is of a grid of them."""
        from papers.pep.reads import lacking

        for _, lines in made([job], self.config):
            return lacking(job, self._frame(job, lines))
        return job

    def _frame(self, job: Job, lines: Slice) -> pd.DataFrame:
        from papers.evidence import records

        if lines.study not in self._frames:
            self._frames[lines.study] = records.load(lines.study, self.config["results"])
        frame = self._frames[lines.study]
        if "data" not in job.choices:
            return frame
        today = content_hash(job.choices)
        return frame[frame[RUN].isin([run for run, made in self._runs.items() if made.protocol == today])]


def retype(config: dict[str, Any], override: Config) -> None:
    """Make what an override says numbers and truth values where it reads so: Snakemake gives them as text.

    Parameters
    ----------
    config : dict
        With the override in it; changed.
    override : mapping
        What was said besides configuration files.
    """
    for key, value in override.items():
        if isinstance(value, Mapping) and isinstance(config.get(key), dict):
            retype(config[key], value)
        else:
            config[key] = _typed(value)


def _typed(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _typed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_typed(part) for part in value]
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def check(config: Config) -> None:
    """Refuse (ValueError) what is no configuration, with the place and what is known there."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import extend

    _refuse_excess(config)
    known = Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": _is_whole, "number": _is_finite})
    validator = extend(Draft202012Validator, type_checker=known)(read(SCHEMA))
    error = best_match(validator.iter_errors(config))
    if error is not None:
        place = shortened(".".join(map(str, error.absolute_path))) or "top level"
        raise ValueError(f"{place}: {_what(error)}")
    folders = {key: Path(config[key].lower()) for key in ("results", "tables", "figures")}
    for (one, first), (other, second) in itertools.permutations(folders.items(), 2):
        if first == second or first in second.parents:
            raise ValueError(f"{one} and {other} need folders of their own, neither in the other")
    if folders["results"] == COMMITTED and not config.get("keep_records") and "begin_anew" not in config:
        raise ValueError(
            f"results: {COMMITTED} has the committed records, and this run would replace them; "
            f"another folder, keep_records: true, or begin_anew: {COMMITTED}"
        )
    require_apart(config["results"], tables=config["tables"], figures=config["figures"])
    if config.get("reuse") and not config.get("keep_records"):
        raise ValueError("reuse: the records that it counts on are kept with keep_records: true alone")


def require_apart(results: str, **made: str) -> None:
    """Refuse (ValueError) to put what is made among sources, below a file, or in place of the committed."""
    for kind, name in {"results": results, **made}.items():
        if file := next((path for path in (Path(name), *Path(name).parents) if path.is_file()), None):
            raise ValueError(f"{kind}: {file} is a file, no folder")
    *_, apart = read(SCHEMA)["$defs"]["folder"]["allOf"]
    for kind, name in made.items():
        below = os.path.relpath(Path(name).resolve(), CHECKOUT)
        first = below.split("/")[0].lower()
        own = first == str(COMMITTED) or (first.startswith(".") and first != "..")
        if own or not re.search(apart["pattern"], below):
            raise ValueError(f"{kind}: {name} is not {apart['description']}, nor of records")
        if _plain(name) == _plain(CHECKOUT / kind) and not are_committed(results):
            raise ValueError(
                f"{kind}: {kind} has those of the committed records, and this run would replace them by "
                f"those of {results}; another folder"
            )


def are_committed(results: str) -> bool:
    """Whether a folder of records is that of the committed ones."""
    return Path(results).resolve() == (CHECKOUT / COMMITTED).resolve()


def _plain(path: str | Path) -> Path:
    """Where a path leads, in small letters: some file systems do not tell them from large ones."""
    return Path(str(Path(path).resolve()).lower())


def _is_whole(checker: object, value: object) -> bool:
    """Not 2.0: it counts nothing."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(checker: object, value: object) -> bool:
    return _is_whole(checker, value) or (isinstance(value, float) and math.isfinite(value))


def _refuse_excess(config: Config) -> None:
    """Refuse (ValueError) more than anybody needs: with aliases a short file may stand for any amount."""
    waiting: list[tuple[Any, int]] = [(config, 0)]
    size = 0
    while waiting:
        value, depth = waiting.pop()
        size += len(value) if isinstance(value, str) else 1
        if size > MOST:
            raise ValueError(f"more than {MOST} values and characters, aliases written out")
        if depth > DEEPEST:
            raise ValueError(TOO_DEEP)
        if isinstance(value, float) and math.isfinite(value) and float(f"{value:g}") != value:
            raise ValueError(f"{value}: files are named by at most 6 digits of a number")
        if isinstance(value, Mapping):
            waiting += [(part, depth + 1) for part in (*value, *value.values())]
        elif isinstance(value, list):
            waiting += [(part, depth + 1) for part in value]


def _what(error: ValidationError) -> str:
    """What is wrong, and what is known there."""
    what = shortened(error.message)
    if error.validator == "additionalProperties":
        return f"{what}; known: {', '.join(error.schema['properties'])}"
    if error.validator == "pattern" and "description" in error.schema:
        return f"{what}: {error.schema['description']}"
    if error.validator == "anyOf":
        parts = [name for choice in error.validator_value for name in choice["required"]]
        return f"{', '.join(parts[:-1])} or {parts[-1]} must say what to run"
    return what
