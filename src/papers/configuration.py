"""Check a configuration, and list the jobs, records, tables and figures that it asks for.

The Snakefile, the plan and the tests read these lists. Nothing here imports Snakemake.
"""

from __future__ import annotations

import difflib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from papers import PAPERS
from papers.core.files import read_yaml
from papers.core.runs import CHECKOUT, content_hash
from papers.core.study import RUN
from papers.pep import jobs as pep
from papers.pesc import jobs as pesc
from papers.qp import jobs as qp
from papers.rep import jobs as rep

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd
    from jsonschema import ValidationError

    from papers.core.jobs import Job
    from papers.core.runs import Run
    from papers.core.study import Study

    Config = Mapping[str, Any]

SCHEMA = CHECKOUT / "workflow" / "schemas" / "config.schema.yaml"
JOBS = dict(zip(PAPERS, (qp, pep, rep, pesc), strict=True))
"""Paper -> module that lists its jobs."""
COMMITTED = Path("results")
"""Folder of the committed records."""

AUDIT = ("audit.csv", "audit_rows.csv", "audit.md")
"""Tables that are made from all papers together."""

PRINTED = {
    "qp": ("qp_table1.csv",),
    "pep": ("pep_datasets.csv", "pep_set_counts.csv", "pep_win_rates.csv"),
    "rep": (),
    "pesc": (),
}
"""Paper -> files of its printed numbers, in ``data/published``."""


@dataclass(frozen=True)
class Asked:
    """The jobs, records, tables and figures of a configuration.

    Attributes
    ----------
    jobs : dict
        Path -> job: the jobs of the configuration, and the jobs that these need.
    artifacts : dict
        Paper -> its tables and its figures, below their folders; a figure without a suffix is a folder.
    config : mapping
        The configuration.
    """

    jobs: dict[str, Job]
    artifacts: dict[str, tuple[list[str], list[str]]]
    config: Config

    @property
    def tables(self) -> list[str]:
        """Names of the tables of all papers, and of the audit if there is one."""
        own = [name for tables, _ in self.artifacts.values() for name in tables]
        return [*own, *(AUDIT if "qp" in self.artifacts else ())]

    @property
    def figures(self) -> list[str]:
        """Names of the figures of all papers."""
        return [name for _, figures in self.artifacts.values() for name in figures]

    @cached_property
    def reused(self) -> frozenset[str]:
        """Paths of the jobs that do not run with ``reuse``, because the records have all their rows."""
        reuse = self.config.get("reuse")
        return self._recorded.complete(self.jobs.values()) if reuse else frozenset()

    @cached_property
    def _recorded(self) -> Recorded:
        return Recorded(self.config)

    def remaining(self, path: str) -> Job:
        """Return a job; with ``reuse``, without the powers and pseudo-points whose rows are recorded."""
        job = self.jobs[path]
        return self._recorded.remaining(job) if self.config.get("reuse") else job

    def jobs_of(self, paper: str = "") -> list[Job]:
        """Return the jobs whose rows are wanted, of one paper or of all."""
        wanted = (job for job in self.jobs.values() if job.keep and job.rows)
        return [job for job in wanted if paper in ("", job.studies[0].split("/")[0])]

    def paths(self, paper: str = "") -> list[str]:
        """Return the files of fits to join to tables of rows."""
        return [job.path for job in self.jobs_of(paper) if job.path not in self.reused]

    def files(self, paper: str = "") -> list[str]:
        """Return the tables of rows, below their folder."""
        return list(dict.fromkeys(file for job in self.jobs_of(paper) for file in job.studies))


def asked(config: Config) -> Asked:
    """Return the jobs, tables and figures of a configuration.

    Raises
    ------
    ValueError
        The configuration is wrong (`check`), or names a data set or method that does not exist. The message
        gives the place and the known names.
    """
    check(config)
    jobs: dict[str, Job] = {}
    for paper in JOBS.values():
        wanted = list(paper.jobs(config))
        for job in itertools.chain(wanted, *(job.chain() for job in wanted)):
            if job.keep or job.path not in jobs:
                jobs[job.path] = job
    papers = JOBS if "qp" in config else {"pep": pep}
    artifacts = {name: (paper.tables(config), paper.figures(config)) for name, paper in papers.items()}
    return Asked(jobs, artifacts, config)


class Recorded:
    """The committed rows of the jobs of a configuration, read when they are first needed.

    Rows of a user's own set (`papers.data.registry.user_data`) count only if its file and entry have not
    changed.
    Methods raise RecordError for a damaged record.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self._frames: dict[Study, pd.DataFrame] = {}

    @cached_property
    def _runs(self) -> dict[str, Run]:
        from papers.core import records

        return records.read_runs(COMMITTED)

    def complete(self, jobs: Iterable[Job]) -> frozenset[str]:
        """Return the paths of the jobs all of whose rows are recorded."""
        return frozenset(
            job.path for job in jobs if job.rows and job.rows[0].covers(self._frame(job), job.fits)
        )

    def remaining(self, job: Job) -> Job:
        """Return a job without the powers and pseudo-points whose rows are recorded."""
        return pep.lacking(job, self._frame(job)) if job.rows else job

    def _frame(self, job: Job) -> pd.DataFrame:
        from papers.core import records

        study = job.rows[0].study
        if study not in self._frames:
            self._frames[study] = records.load(study, COMMITTED)
        frame = self._frames[study]
        if "data" not in job.choices:
            return frame
        today = content_hash(job.choices)
        return frame[frame[RUN].isin([name for name, run in self._runs.items() if run.protocol == today])]


def retype(config: dict[str, Any], override: Config) -> None:
    """Turn the texts of an override into numbers and truth values, in place: Snakemake gives all as text.

    Parameters
    ----------
    config : dict
        The configuration, with the override in it.
    override : mapping
        The values of ``--config``.
    """
    for key, value in override.items():
        if isinstance(value, Mapping) and isinstance(config.get(key), dict):
            retype(config[key], value)
        else:
            config[key] = _typed(value)


def _typed(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def check(config: Config) -> None:
    """Raise ValueError for a wrong configuration; the message gives the place and the known names."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(read_yaml(SCHEMA)).iter_errors(config))
    if error is not None:
        place = ".".join(map(str, error.absolute_path)) or "top level"
        raise ValueError(f"{place}: {_sentence(error)}")
    if are_committed(config["results"]):
        raise ValueError(
            f"results: {COMMITTED} has the committed records, which only `tilted records` changes"
        )
    if not config.get("keep_records"):
        require_apart(config["results"], tables=config["tables"], figures=config["figures"])
    if config.get("reuse") and not config.get("keep_records"):
        raise ValueError("reuse: the records that it counts on are kept with keep_records: true alone")


def require_apart(results: str, **folders: str) -> None:
    """Raise ValueError if other tables or figures would replace those of the committed records."""
    for kind, name in folders.items():
        if Path(name).resolve() == (CHECKOUT / kind).resolve() and not are_committed(results):
            raise ValueError(
                f"{kind}: {kind} has those of the committed records, and this run would replace them by "
                f"those of {results}; another folder"
            )


def are_committed(results: str) -> bool:
    """Return whether a folder is that of the committed records."""
    return Path(results).resolve() == (CHECKOUT / COMMITTED).resolve()


def _sentence(error: ValidationError) -> str:
    """Return the error and the allowed values in a sentence."""
    if error.validator == "additionalProperties":
        keys = error.schema["properties"]
        unknown = next(key for key in error.instance if key not in keys)
        return f"unknown key {_with_known(unknown, keys)}"
    if error.validator == "enum":
        return f"unknown {_with_known(error.instance, error.validator_value)}"
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return f"the key '{missing}' is missing"
    if error.validator == "pattern":
        return f"{error.instance!r} must be {error.schema['description']}"
    if error.validator == "anyOf":
        sections = [name for choice in error.validator_value for name in choice["required"]]
        return f"no experiment is asked for; known: {', '.join(sections)}"
    return error.message[:300]


def _with_known(word: object, allowed: Iterable[object]) -> str:
    names = list(map(str, allowed))
    near = difflib.get_close_matches(word, names, 1) if isinstance(word, str) else []
    question = f"; did you mean '{near[0]}'?" if near else ""
    return f"{word!r}; known: {', '.join(names)}{question}"
