"""Make the tables and figures of one paper from its rows, and what it hands to the audit."""

from pathlib import Path

from papers import make
from papers.configuration import COMMITTED
from papers.core import audit, failures, records, store

job = snakemake  # noqa: F821
folder, *_ = job.params.folders
with failures.logged(job.log[0]):
    names = [str(Path(path).relative_to(COMMITTED)) for path in job.input.committed]
    records.begin(folder, names, COMMITTED)
    written = make.write_paper(job.params.paper, *map(Path, job.params.folders))
    lines = [*written.warnings, *make.fill(job.output.artifacts)]
    store.write_text(job.log[0], "".join(f"{line}\n" for line in lines))
    audit.write_chapters(written.audit, job.output.chapter)
