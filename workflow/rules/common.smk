# The configuration, checked before any job starts, and the functions that the rules share.

import os
import sys

from snakemake.exceptions import WorkflowError

from papers import PAPERS, captions
from papers.configuration import AUDIT, COMMITTED, PRINTED, asked, retype
from papers.data.registry import load_registry
from papers.core import claims, records
from papers.core.runs import content_hash, source_hash
from papers.pesc import records as pesc
from papers.qp import protocols

# glibc gives arrays of this size back and faults their pages in again: a fifth of a fit's time at N = 300.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**25))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**28))
os.environ.update(TILTED_DATA=str(Path("data").resolve()))  # jobs and rules read one registry

try:
    retype(config, workflow.config_settings.config)  # Snakemake gives values of --config as text
    ASKED = asked(config)
except ValueError as error:
    paths = f" ({', '.join(map(os.path.relpath, workflow.configfiles))})" if workflow.configfiles else ""
    sys.exit(f"In the configuration{paths}: {error}")

NAME, ROWS, TABLES, FIGURES = (config[name] for name in ("name", "results", "tables", "figures"))
KEEP = config.get("keep_records", False)  # the committed rows beside the new ones
CHAPTERS = f"data/chapters/{NAME}-{content_hash([ROWS, TABLES, FIGURES])}"


def job(pattern, wildcards):
    """Return the job that makes a file."""
    path = pattern.format(**dict(wildcards.items()))
    if path not in ASKED.jobs:
        raise WorkflowError(f"the configuration {NAME} does not ask for {path}")
    return ASKED.remaining(path)


def inputs(pattern):
    """Return the input function of the rule that makes files of a pattern."""
    return lambda wildcards: job(pattern, wildcards).files


def settings(pattern):
    """Return the parameters of the rule that makes files of a pattern; a file is made again if they change."""
    return {
        "function": lambda wildcards: job(pattern, wildcards).function,
        "parameters": lambda wildcards: job(pattern, wildcards).parameters,
        "choices": lambda wildcards: job(pattern, wildcards).choices,
        "source": lambda wildcards: job(pattern, wildcards).source,  # of the code that runs
    }


def rows(paper, folder=ROWS):
    """Return the files of rows of a paper."""
    return [f"{folder}/{file}" for file in ASKED.files(paper)]


def fits(paper):
    """Return the input function of the rule that joins the fits of a paper; paths of fits and of committed rows."""
    committed = [path for path in rows(paper, COMMITTED) if KEEP and Path(path).is_file()]
    return lambda wildcards: {"fits": ASKED.paths(paper), "committed": committed}


def joining(paper):
    """Return the parameters of the rule that joins the fits of a paper."""
    return {
        "folder": lambda wildcards: ROWS,
        "files": ASKED.files(paper),
        "committed": COMMITTED.as_posix() if KEEP else "",
        "source": source_hash(f"papers.{paper}.records", "papers.core.records"),
    }
