# The configuration, checked before any job starts, and what the rules have in common.

import os
import sys

from snakemake.exceptions import WorkflowError

from papers import PAPERS, captions, data
from papers.configuration import AUDIT, COMMITTED, PRINTED, asked, retype
from papers.data import classification, own, regression, relaxed
from papers.data.registry import load_registry
from papers.evidence import claims, records
from papers.evidence.runs import content_hash, source_hash
from papers.qp import protocols

# glibc gives arrays of this size back and faults their pages in again: a fifth of a fit's time at N = 300.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**25))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**28))
os.environ.update(TILTED_DATA=str(Path("data").resolve()))  # jobs and rules read one registry

try:
    retype(config, workflow.config_settings.config)  # Snakemake gives values of --config as text
    ASKED = asked(config)
except ValueError as error:
    named = f" ({', '.join(map(os.path.relpath, workflow.configfiles))})" if workflow.configfiles else ""
    sys.exit(f"In the configuration{named}: {error}")

NAME, ROWS, TABLES, FIGURES = (config[name] for name in ("name", "results", "tables", "figures"))
KEEP = config.get("keep_records", False)  # the committed rows beside the new ones
CHAPTERS = f"data/chapters/{NAME}-{content_hash([ROWS, TABLES, FIGURES])}"


wildcard_constraints:
    block=r"\d+-\d+",
    dataset=r"[a-z0-9_]+",


def job(pattern, wildcards):
    """Return the job that makes a file."""
    path = pattern.format(**dict(wildcards.items()))
    if path not in ASKED.jobs:
        raise WorkflowError(f"the configuration {NAME} does not ask for {path}")
    return ASKED.left(path)


def inputs(pattern):
    """Return the input function of the rule that makes files of a pattern."""
    return lambda wildcards: job(pattern, wildcards).files


def settings(pattern):
    """Return the parameters of the rule that makes files of a pattern; a file is made again if they change."""
    return {
        "function": lambda wildcards: job(pattern, wildcards).function,
        "parameters": lambda wildcards: job(pattern, wildcards).parameters,
        "choices": lambda wildcards: job(pattern, wildcards).choices,
        "key": lambda wildcards: job(pattern, wildcards).key,  # of the code that runs
    }


def reader(variant):
    """Return the module that reads a variant of data sets, and its arguments beside a set's name."""
    family, _, protocol = variant.partition("/")
    modules = {"regression": regression, "relaxed": relaxed, "classification": classification}
    if family in modules:
        return modules[family], [protocol] if protocol else []
    return data.standard, [variant]


def raw_paths(wildcards):
    """Return the raw files of a data set."""
    readers, _ = reader(wildcards.variant)
    entries = data if readers is data.standard else readers
    return [f"data/raw/{file['path']}" for file in entries.raw_files(wildcards.dataset, "data")]


def fits(paper):
    """Return the input function of the rule that joins the fits of a paper; paths of fits and of committed rows."""
    kept = [f"{COMMITTED}/{file}" for file in ASKED.files(paper)] if KEEP else []
    committed = [path for path in kept if Path(path).is_file()]
    return lambda wildcards: {"fits": ASKED.paths(paper), "committed": committed}


def rows(paper):
    """Return the files of rows of a paper."""
    return [f"{ROWS}/{file}" for file in ASKED.files(paper)]


def joining(paper):
    """Return the parameters of the rule that joins the fits of a paper."""
    return {
        "folder": lambda wildcards: ROWS,
        "files": ASKED.files(paper),
        "committed": COMMITTED.as_posix() if KEEP else "",
        "source": source_hash(f"papers.{paper}.records", "papers.evidence.records"),
    }


def clear():
    """Remove the files that a run is to make again, where failed jobs keep theirs: Snakemake takes all files of a failed
    group for new, also those that it did not come to."""
    if workflow.execution_settings.keep_incomplete and not workflow.touch:
        for path in (path for job in workflow.dag.needrun_jobs() for path in job.output):
            if "update" not in path.flags and not Path(path).is_dir():
                Path(path).unlink(missing_ok=True)
